//! The chain builder and the simulator: any transcript keeps its order and its tokens.
#![no_main]

use cachesim::cache::simulate;
use cachesim::conversation::{build, join};
use cachesim::prompt::{self, SharedPrefix};
use cachesim::strategy::{ALL, Assumptions};
use cachesim::input::Source;
use cachesim::transcript::load;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let history = join(vec![build(load(&Source::in_memory("fuzz.jsonl", bytes)))]);
    for (index, request) in history.requests.iter().enumerate() {
        assert!(request.predecessor.is_none_or(|before| before.0 < index));
    }
    let shared_prefix = SharedPrefix::Auto;
    let trace = prompt::build(&history, &prompt::steps(&history), shared_prefix);
    for strategy in ALL {
        let assumptions = Assumptions { keeps_breaks: true, shared_prefix, ttl_grace: 0 };
        let Some(policy) = strategy.policy(&assumptions) else { continue };
        for (request, outcome) in history.requests.iter().zip(simulate(&trace, &policy)) {
            assert_eq!(outcome.total(), request.prompt_total());
        }
    }
});
