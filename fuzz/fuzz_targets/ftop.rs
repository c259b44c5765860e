#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    clip_fuzz::read_operator(bytes);
    clip_fuzz::read_operator(&clip_fuzz::sealed(bytes));
});
