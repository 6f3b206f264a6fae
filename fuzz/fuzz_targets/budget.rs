#![no_main]

#[allow(dead_code)] // other targets use the rest
#[path = "../targets/place.rs"]
mod place;
#[path = "../targets/budget.rs"]
mod target;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| target::check(bytes));
