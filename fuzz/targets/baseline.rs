//! Saved reports: any bytes are a baseline whose parts fit together, or an error with a place; and
//! findings that were accepted.

use cachesim::explain::snapshot::Figures;
use cachesim::report::{BaselineError, parse_accepted, parse_baseline};

pub(crate) fn check(bytes: &[u8]) {
    let _either = parse_accepted(bytes);
    let snapshot = match parse_baseline(bytes) {
        Ok(snapshot) => snapshot,
        Err(BaselineError::Malformed { line, column, .. }) => {
            let lines = bytes.split(|byte| *byte == b'\n').count();
            assert!(line <= lines && column <= bytes.len() + 1, "line {line}, column {column}");
            return;
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    let turns = snapshot.sessions.iter().flat_map(|session| session.turns.iter().flatten());
    for turn in turns {
        assert!(turn.figures.0.iter().all(|(_, figures)| figures.requests == 1));
        assert!(turn.block.is_none_or(|block| block.0 < snapshot.blocks.list.len()));
    }
    for strategy in &snapshot.strategies {
        let totals = snapshot.sessions.iter().filter_map(|session| session.totals.get(strategy));
        if let Some(sum) = Figures::sum(totals) {
            assert!(sum.prompt() >= sum.written());
        }
    }
}
