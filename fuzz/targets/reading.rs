//! Bytes in memory as files, and what holds of whatever was read.

use std::num::NonZeroU64;

use cachesim::base::units::Tokens;
use cachesim::read::capture::TokenCounting;
use cachesim::read::input::{Discovered, Source};
use cachesim::report::{LedgerFile, RowEncoding};
use cachesim::requests::conversation::{History, read};
use cachesim::simulate::strategy::Strategy;
use cachesim::study::{Study, StudyOptions};

/// How everything is read, at so many bytes a token, or estimated.
pub(crate) fn options(bytes_per_token: Option<NonZeroU64>) -> StudyOptions {
    let mut options = StudyOptions::default();
    options.read.keeps_titles = true;
    options.read.counting = bytes_per_token.map_or(TokenCounting::Estimated, TokenCounting::Bytes);
    options
}

/// Sources with these bytes.
pub(crate) fn sources(files: &[&[u8]]) -> Vec<Source> {
    let files = files.iter().enumerate();
    files.map(|(number, bytes)| Source::in_memory(&format!("{number}.jsonl"), bytes)).collect()
}

/// What sources hold.
pub(crate) fn history(sources: Vec<Source>, options: &StudyOptions) -> History {
    let discovered = Discovered { sources, ..Discovered::default() };
    let history = read(discovered, options.read.clone(), |_| {});
    let bytes = history.bytes;
    for (index, request) in history.requests.iter().enumerate() {
        assert!(request.line > 0 && request.line <= history.lines, "{request:?}");
        assert!(request.file < history.files.len(), "{request:?}");
        assert!(request.predecessor.is_none_or(|before| before.get() < index), "{request:?}");
        assert!(history.predecessor(request).is_none_or(|before| before.start <= request.start));
    }
    let examples = history.diagnostics.examples();
    assert!(examples.iter().all(|example| example.line <= history.lines), "{examples:?}");
    assert!(history.lines <= bytes + history.files.len() as u64);
    history
}

/// The study of what sources hold, if they have a request and no more tokens than figures have room for.
pub(crate) fn study(sources: Vec<Source>, options: StudyOptions) -> Option<Study> {
    Study::of(history(sources, &options), options).ok()
}

/// The rows of these strategies: every token of a prompt is read, written or sent in full, and a
/// request that is refused costs nothing.
pub(crate) fn rows(study: &Study, strategies: &[Strategy]) -> Vec<u8> {
    let ledger = study.run(strategies).expect("everything was kept");
    for column in &ledger.columns {
        for index in study.selection.requests() {
            let Some(row) = ledger.row(column, index) else { continue };
            let billing = row.billing;
            let parts = billing.read + billing.write_5m + billing.write_1h + billing.input;
            let is_same = column.strategy.keeps_content() && row.refusal.is_none();
            let total = ledger.prompt_total(index);
            assert!(!is_same || parts == total || row.iteration.is_some(), "{row:?}");
            assert!(row.refusal.is_none() || parts == Tokens::ZERO, "{row:?}");
        }
    }
    let mut written = Vec::new();
    let mut file =
        LedgerFile::new(RowEncoding::Jsonl, false, &mut written).expect("memory takes all");
    file.write(&ledger, &study.selection, None).expect("memory takes all");
    file.finish().expect("memory takes all");
    assert!(!written.contains(&0x1b), "an escape sequence");
    written
}
