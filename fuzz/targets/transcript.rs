//! Transcripts: any bytes give entries or diagnostics with places in them, and a conversation whose
//! parts fit together.

use cachesim::read::input::Source;
use cachesim::read::transcript::load;
use cachesim::requests::conversation::build;

pub(crate) fn check(bytes: &[u8]) {
    let transcript = load(&Source::in_memory("fuzz.jsonl", bytes));
    if !may_be_relined(bytes) {
        assert_eq!(transcript.bytes, bytes.len() as u64);
        let newlines = bytes.split(|byte| *byte == b'\n').count() - 1;
        let has_open_line = bytes.last().is_some_and(|byte| *byte != b'\n');
        assert_eq!(transcript.lines, newlines as u64 + u64::from(has_open_line));
    }
    assert!(transcript.entries.is_sorted_by_key(|entry| entry.line));
    let places = transcript.diagnostics.examples().iter().map(|example| example.line);
    assert!(
        places
            .chain(transcript.entries.iter().map(|entry| entry.line))
            .all(|line| line <= transcript.lines)
    );
    let lines = transcript.lines;
    let conversation = build(transcript);
    let count = conversation.responses.len();
    for (index, response) in conversation.responses.iter().enumerate() {
        assert!(
            response
                .predecessor
                .is_none_or(|before| before.index() < count && before.index() != index)
        );
    }
    assert_eq!(conversation.lines, lines);
    assert!(conversation.index.iter().all(|(_, response, _)| (*response as usize) <= count));
}

/// Returns true for a beginning of UTF-16 or of objects that span lines: their lines are those of another text.
fn may_be_relined(bytes: &[u8]) -> bool {
    matches!(
        bytes,
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [b'{', 0 | b'\r' | b'\n', ..] | [0, b'{', ..]
    )
}
