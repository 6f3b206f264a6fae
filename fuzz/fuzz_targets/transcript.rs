#![no_main]

#[path = "../targets/transcript.rs"]
mod target;

libfuzzer_sys::fuzz_target!(init: cachesim_fuzz::run_on_one_thread(), |bytes: &[u8]| target::check(bytes));
