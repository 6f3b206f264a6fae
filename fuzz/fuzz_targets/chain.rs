//! The whole way to the figures: any bytes, taken for a transcript, captures or bundles, keep their order
//! and their tokens under every strategy.
#![no_main]

use cachesim::base::units::Tokens;
use cachesim::read::input::{Discovered, Source};
use cachesim::requests::conversation::read;
use cachesim::simulate::strategy::ALL;
use cachesim::study::{Study, StudyOptions};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let sources = vec![Source::in_memory("fuzz.jsonl", bytes)];
    let discovered = Discovered { sources, ..Discovered::default() };
    let options = StudyOptions::default();
    let Ok(study) = Study::of(read(discovered, options.read.clone(), |_| {}), options) else { return };
    for (index, request) in study.history.requests.iter().enumerate() {
        assert!(request.predecessor.is_none_or(|before| before.0 < index));
    }
    let ledger = study.run(&ALL).expect("everything was kept");
    for column in &ledger.columns {
        for index in study.selection.requests() {
            let Some(row) = ledger.row(column, index) else { continue };
            let billing = row.billing;
            let parts = billing.read + billing.write_5m + billing.write_1h + billing.input;
            let is_same = column.strategy.keeps_content() && row.refusal.is_none();
            let total = ledger.prompt_total(index);
            assert!(!is_same || parts == total || row.iteration.is_some());
            assert!(row.refusal.is_none() || parts == Tokens::ZERO);
        }
    }
});
