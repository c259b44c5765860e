#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    clip_fuzz::read_weights("w.json", bytes);
    clip_fuzz::read_weights("w.csv", bytes);
});
