#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    clip_fuzz::read_prior(bytes);
    clip_fuzz::read_prior(&clip_fuzz::summed(bytes, clip_fuzz::fnv_1a));
});
