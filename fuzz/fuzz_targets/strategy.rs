#![no_main]

#[path = "../targets/place.rs"]
mod place;
#[path = "../targets/strategy.rs"]
mod target;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| target::check(bytes));
