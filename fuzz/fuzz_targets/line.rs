//! The line parser: any bytes give entries or diagnostics, never a panic.
#![no_main]

use cachesim::read::input::Source;
use cachesim::read::transcript::load;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let transcript = load(&Source::in_memory("fuzz.jsonl", bytes));
    assert!(transcript.bytes == bytes.len() as u64);
});
