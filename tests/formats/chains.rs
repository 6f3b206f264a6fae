//! Chains and trails are the same whether they are made while a file is read, or when all of it is
//! there: on random files, damaged in every way that makes a later line change what was known of an
//! earlier one.

use cachesim::read::input::{Discovered, Source};
use cachesim::read::transcript::ContentSource;
use cachesim::requests::conversation::{History, ReadOptions, Request, read};
use proptest::prelude::*;

use crate::common::cases;

/// A line of a random file.
#[derive(Clone, Debug)]
struct RandomLine {
    kind: Kind,
    /// Which line it names as its parent, before it or after it; one beyond the file is missing.
    parent: Option<i64>,
    /// Whether it has the identity of the line before it.
    is_repeated: bool,
    is_sidechain: bool,
}

#[derive(Clone, Debug)]
enum Kind {
    Prompt,
    Result {
        call: usize,
    },
    Response {
        message: usize,
        call: usize,
        has_usage: bool,
    },
    Compaction,
    Snip,
    TurnEnd,
    Leaf,
    Microcompaction {
        call: usize,
    },
    /// Context that a hook gave, in a line that may come later than its time.
    Hook {
        is_late: bool,
    },
    Replacement {
        call: usize,
    },
}

fn kind() -> impl Strategy<Value = Kind> {
    let response = (0_usize..12, 0_usize..16, prop::bool::weighted(0.8))
        .prop_map(|(message, call, has_usage)| Kind::Response { message, call, has_usage });
    prop_oneof![
        2 => Just(Kind::Prompt),
        4 => (0_usize..16).prop_map(|call| Kind::Result { call }),
        8 => response,
        1 => prop_oneof![
            Just(Kind::Compaction),
            Just(Kind::Snip),
            Just(Kind::TurnEnd),
            Just(Kind::Leaf),
            any::<bool>().prop_map(|is_late| Kind::Hook { is_late }),
            (0_usize..16).prop_map(|call| Kind::Microcompaction { call }),
        ],
    ]
}

fn lines() -> impl Strategy<Value = Vec<RandomLine>> {
    let parent = prop_oneof![
        20 => Just(Some(-1)),
        4 => (-6_i64..0).prop_map(Some),
        1 => Just(None),
        1 => (0_i64..5).prop_map(Some),
        1 => Just(Some(1_000_000)),
    ];
    let line = (kind(), parent, prop::bool::weighted(0.03), prop::bool::weighted(0.15)).prop_map(
        |(kind, parent, is_repeated, is_sidechain)| RandomLine {
            kind,
            parent,
            is_repeated,
            is_sidechain,
        },
    );
    // Replacements come at the end, and seldom: they make everything be looked at again.
    let replacement = prop::option::weighted(0.2, 0_usize..16);
    (prop::collection::vec(line, 1..80), replacement).prop_map(|(mut lines, replacement)| {
        lines.extend(replacement.map(|call| RandomLine {
            kind: Kind::Replacement { call },
            parent: None,
            is_repeated: false,
            is_sidechain: false,
        }));
        lines
    })
}

fn transcript(lines: &[RandomLine]) -> String {
    lines.iter().enumerate().map(|(number, line)| text(number, line) + "\n").collect()
}

fn text(number: usize, line: &RandomLine) -> String {
    let own = if line.is_repeated { number.saturating_sub(1) } else { number };
    let parent = line.parent.map_or_else(
        || "null".to_owned(),
        |offset| format!("\"u{}\"", i64::try_from(number).expect("few lines") + offset),
    );
    let frame = |kind: &str, rest: &str| {
        let is_late = matches!(line.kind, Kind::Hook { is_late: true });
        let moment = if is_late { number.saturating_sub(20) } else { number };
        let (minute, second) = (moment / 60, moment % 60);
        let is_sidechain = line.is_sidechain;
        format!(
            r#"{{"type":"{kind}","uuid":"u{own}","parentUuid":{parent},"sessionId":"s","isSidechain":{is_sidechain},"timestamp":"2026-08-01T10:{minute:02}:{second:02}.000Z",{rest}}}"#
        )
    };
    match &line.kind {
        Kind::Prompt => frame("user", r#""message":{"role":"user","content":"go on"}"#),
        Kind::Result { call } => frame(
            "user",
            &format!(
                r#""message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t{call}","content":"some output"}}]}}"#
            ),
        ),
        Kind::Response { message, call, has_usage } => {
            // Another answer may call it by another name.
            let tool = ["Read", "Bash", "Grep"][message % 3];
            let usage = if *has_usage {
                r#","usage":{"input_tokens":2,"cache_read_input_tokens":900,"cache_creation_input_tokens":10,"output_tokens":9}"#
            } else {
                ""
            };
            frame(
                "assistant",
                &format!(
                    r#""requestId":"r{message}","message":{{"id":"m{message}","model":"claude-opus-5","stop_reason":"tool_use","content":[{{"type":"tool_use","id":"t{call}","name":"{tool}","input":{{}}}}]{usage}}}"#
                ),
            )
        }
        Kind::Compaction => frame("system", r#""subtype":"compact_boundary""#),
        Kind::Snip => frame("system", r#""removedUuids":["u1"]"#),
        Kind::TurnEnd => frame("system", r#""subtype":"turn_duration""#),
        Kind::Microcompaction { call } => frame(
            "system",
            &format!(
                r#""subtype":"microcompact_boundary","microcompactMetadata":{{"compactedToolIds":["t{call}"]}}"#
            ),
        ),
        Kind::Hook { .. } => frame(
            "attachment",
            r#""attachment":{"type":"hook_additional_context","content":["Mind the style."],"hookEvent":"PostToolUse"}"#,
        ),
        Kind::Leaf => format!(r#"{{"type":"last-prompt","leafUuid":"u{own}"}}"#),
        Kind::Replacement { call } => format!(
            r#"{{"type":"content-replacement","uuid":"u{own}","replacements":[{{"toolUseId":"t{call}","replacement":"a preview that is longer"}}]}}"#
        ),
    }
}

fn history(text: &str, leaves_out_trails: bool) -> History {
    let sources = vec![Source::in_memory("random.jsonl", text.as_bytes())];
    let discovered = Discovered { sources, ..Discovered::default() };
    read(discovered, ReadOptions { leaves_out_trails, ..ReadOptions::default() }, |_| {})
}

/// The requests with everything that is known of them but where their trails are.
fn without_trails(history: &History) -> Vec<String> {
    let mut requests: Vec<Request> = history.requests.clone();
    for request in &mut requests {
        request.between.trail = None;
    }
    requests.iter().map(|request| format!("{request:?}")).collect()
}

/// What lies between the requests: lines, and what came in with them.
fn trails(history: &History) -> Vec<String> {
    let of = |request: &Request| {
        let (trail, last) = (&history.files[request.file].trail, request.between.trail);
        let shown = trail.back_from(last);
        let shown: Vec<_> = shown
            .map(|entry| (entry.line, entry.signs, trail.lines_named_by(entry).to_vec()))
            .collect();
        let tool = |source| match source {
            ContentSource::Tool(Some(tool)) => history.symbols.text(tool).to_owned(),
            other => format!("{other:?}"),
        };
        let contents = trail.contents_back_from(last);
        let contents: Vec<_> =
            contents.map(|(line, one)| (line, tool(one.source), one.size.bytes())).collect();
        format!("{shown:?} {contents:?}")
    };
    history.requests.iter().map(of).collect()
}

/// The replacement of a result that nobody sent: it changes nothing, but all is looked at again.
const IDLE: &str =
    r#"{"type":"content-replacement","replacements":[{"toolUseId":"t999","replacement":"none"}]}"#;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(2_000)))]

    #[test]
    fn chains_made_while_reading_are_those_made_when_all_is_there(lines in lines()) {
        let text = transcript(&lines);
        let afterwards = history(&format!("{text}{IDLE}\n"), false);
        let with_trails = history(&text, false);
        prop_assert_eq!(without_trails(&with_trails), without_trails(&afterwards));
        prop_assert_eq!(trails(&with_trails), trails(&afterwards));
        let while_reading = history(&text, true);
        prop_assert_eq!(without_trails(&while_reading), without_trails(&afterwards));
        let counts = |history: &History| history.diagnostics.counts().collect::<Vec<_>>();
        prop_assert_eq!(counts(&while_reading), counts(&with_trails));
    }
}

/// The reads lead the message behind the progress line to the newest one, which hangs off the answer to that message.
#[test]
fn a_detour_that_the_reads_contradict_closes_no_circle() {
    let id = |number: u32| format!("00000000-0000-4000-8000-{number:012}");
    let line = |number: u32, parent: u32, rest: &str| {
        let parent = if parent == 0 { "null".to_owned() } else { format!("\"{}\"", id(parent)) };
        format!(
            r#"{{"uuid":"{}","parentUuid":{parent},"sessionId":"s","timestamp":"2026-08-03T10:00:0{number}.000Z",{rest}}}"#,
            id(number)
        )
    };
    let user = |number, parent| {
        line(number, parent, r#""type":"user","message":{"role":"user","content":"go on"}"#)
    };
    let answer = |number: u32, parent, read: u32, written: u32| {
        let usage = format!(
            r#""usage":{{"input_tokens":3,"cache_read_input_tokens":{read},"cache_creation_input_tokens":{written},"output_tokens":5}}"#
        );
        let message =
            format!(r#"{{"id":"msg_{number}","model":"claude-opus-4-5-20251101",{usage}}}"#);
        line(
            number,
            parent,
            &format!(r#""type":"assistant","requestId":"req_{number}","message":{message}"#),
        )
    };
    let lines = [
        user(1, 0),
        answer(2, 1, 0, 5_000),
        user(3, 6),
        line(4, 2, r#""type":"progress","data":{"type":"hook_progress"}"#),
        user(5, 4),
        answer(6, 5, 5_000, 3_000),
        answer(7, 6, 8_000, 100),
    ];
    let sources = vec![Source::in_memory("session.jsonl", lines.join("\n").as_bytes())];
    let discovered = Discovered { sources, ..Discovered::default() };
    let history = read(discovered, ReadOptions::default(), |_| ());
    assert_eq!(history.requests.len(), 3);
}
