//! The whole way to the simulator: any bytes, taken for a transcript, captures or bundles, keep their
//! order and their tokens.
#![no_main]

use cachesim::simulate::cache::{Lookback, simulate};
use cachesim::requests::conversation::{ReadOptions, read};
use cachesim::read::input::{Discovered, Source};
use cachesim::requests::prompt::{self, SharedPrefix};
use cachesim::simulate::strategy::{ALL, Assumptions};
use cachesim::base::units::Tokens;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let sources = vec![Source::in_memory("fuzz.jsonl", bytes)];
    let discovered = Discovered { sources, ..Discovered::default() };
    let options = ReadOptions { keeps_titles: true, ..ReadOptions::default() };
    let history = read(discovered, options, |_| {});
    for (index, request) in history.requests.iter().enumerate() {
        assert!(request.predecessor.is_none_or(|before| before.0 < index));
    }
    let shared_prefix = SharedPrefix::Auto;
    let trace = prompt::build(&history, &prompt::steps(&history), shared_prefix);
    for strategy in ALL {
        let lookback = Lookback::Positions;
        let assumptions = Assumptions { keeps_breaks: true, shared_prefix, ttl_grace: 0, lookback };
        let Some(policy) = strategy.policy(&assumptions) else { continue };
        for (prompt, outcome) in trace.prompts.iter().zip(simulate(&trace, &policy)) {
            let total = if outcome.refusal.is_some() { Tokens::ZERO } else { prompt.total };
            assert_eq!(outcome.total(), total);
        }
    }
});
