#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| clip_fuzz::read_table("a.mot", bytes));
