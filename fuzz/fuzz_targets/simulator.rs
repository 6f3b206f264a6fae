#![no_main]

/// The second simulator and the random capture files of the tests.
#[path = "../../tests/figures"]
#[allow(dead_code)] // tests use the rest
mod of_tests {
    pub(crate) mod capture_file;
    pub(crate) mod naive;
}
use of_tests::{capture_file, naive};

#[path = "../targets/reading.rs"]
mod reading;

#[path = "../targets/simulator.rs"]
mod target;

libfuzzer_sys::fuzz_target!(init: cachesim_fuzz::run_on_one_thread(), |bytes: &[u8]| target::check(bytes));
