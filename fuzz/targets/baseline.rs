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
    let strategies = snapshot.strategies.len();
    for session in &snapshot.sessions {
        assert_eq!(session.totals.len(), strategies);
        let turns = session.turns.iter().flatten();
        for turn in turns {
            assert_eq!(turn.figures.len(), strategies);
        }
    }
    for index in 0..strategies {
        let totals = snapshot.sessions.iter().filter_map(|session| session.totals[index].as_ref());
        if let Some(sum) = Figures::sum(totals) {
            assert!(sum.prompt() >= sum.written());
        }
    }
}
