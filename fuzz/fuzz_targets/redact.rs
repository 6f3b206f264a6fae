#![no_main]

#[allow(dead_code)] // other targets use the rest
#[path = "../targets/reading.rs"]
mod reading;

#[path = "../targets/redact.rs"]
mod target;

libfuzzer_sys::fuzz_target!(init: cachesim_fuzz::run_on_one_thread(), |bytes: &[u8]| target::check(bytes));
