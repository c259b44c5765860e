#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    clip_fuzz::read_flesh(bytes);
    clip_fuzz::read_flesh(&clip_fuzz::summed(bytes, clip_fuzz::flesh_sum));
});
