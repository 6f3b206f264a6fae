#![no_main]

// What the reader's files ask for.
use cachesim::base;

/// The reader is no public item, and so its files are a part of this program.
#[path = "../../src/read/input"]
#[allow(dead_code, unused_imports, unused_macros)] // other modules of the library use the rest
mod input {
    pub(crate) mod escape;
    pub(crate) mod lenient;
    mod lines;
    mod skim;

    #[path = "../../../fuzz/targets/line.rs"]
    pub(crate) mod target;
}

/// Where macros of these files look for their functions.
mod read {
    pub(crate) mod input {
        pub(crate) use crate::input::lenient::{ignore_list, ignore_object};
    }
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| input::target::check(bytes));
