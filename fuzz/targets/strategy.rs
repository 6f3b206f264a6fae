//! Strategy files: any text gives strategies with names of their own, or an error with a place in
//! the text and without control characters.

use std::collections::BTreeSet;

use cachesim::simulate::strategy::{RequestKinds, parse_strategies};

use super::place::{assert_in, assert_plain};

pub(crate) fn check(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let file = match parse_strategies(text, "fuzz.toml") {
        Ok(file) => file,
        Err(error) => {
            assert_in(text, error.line, error.column);
            assert_plain(&error.message);
            return;
        }
    };
    let names: BTreeSet<&str> = file.strategies.iter().map(|strategy| &*strategy.name).collect();
    assert_eq!(names.len(), file.strategies.len());
    for strategy in &file.strategies {
        assert!(!strategy.name.is_empty());
        assert_plain(strategy.label());
        let all = RequestKinds {
            has_claude: true,
            has_captures: true,
            has_unreported_writes: true,
            ..RequestKinds::default()
        };
        for unknown in strategy.unknowns(&all) {
            assert_plain(&unknown);
        }
    }
    for left_out in &file.left_out {
        assert!(!names.contains(&*left_out.name), "{left_out:?}");
        assert_plain(&left_out.contradiction.to_string());
    }
}
