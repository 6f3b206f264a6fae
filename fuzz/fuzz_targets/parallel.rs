#![no_main]

#[allow(dead_code)] // other targets use the rest
#[path = "../targets/reading.rs"]
mod reading;

#[path = "../targets/parallel.rs"]
mod target;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| target::check(bytes));
