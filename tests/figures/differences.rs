//! In what two captured requests differ: each kind of difference on requests made for it, with the
//! first differing byte counted by hand; and where the first one stands, on random ones.

use cachesim::read::capture::AttributionKey;
use cachesim::read::capture::WireNodeId;
use cachesim::read::input::{Discovered, Source};
use cachesim::requests::conversation::{History, ReadOptions, RequestIndex, read};
use cachesim::requests::difference::{Difference, DifferenceKind, differences};
use proptest::prelude::*;

const READ: &str =
    r#"{"name":"Read","description":"Reads a file.","input_schema":{"type":"object"}}"#;
const BASH: &str =
    r#"{"name":"Bash","description":"Runs a command.","input_schema":{"type":"object"}}"#;

/// A request, as JSON.
#[derive(Clone, Debug)]
struct Sent {
    model: &'static str,
    tools: Vec<String>,
    system: Vec<String>,
    messages: Vec<String>,
    /// Further fields of the body, each with a comma after it.
    fields: String,
    /// Headers, where they were captured.
    headers: Option<String>,
}

impl Default for Sent {
    fn default() -> Self {
        Self {
            model: "claude-opus-5",
            tools: vec![READ.to_owned(), BASH.to_owned()],
            system: vec![text("You are an agent."), text("Be brief.")],
            messages: vec![user(&[&text("Go on.")])],
            fields: String::new(),
            headers: None,
        }
    }
}

impl Sent {
    fn with_tools(tools: &[&str]) -> Self {
        Self { tools: owned(tools), ..Self::default() }
    }

    fn with_system(system: &[&str]) -> Self {
        Self { system: owned(system), ..Self::default() }
    }

    fn with_messages(messages: &[&str]) -> Self {
        Self { messages: owned(messages), ..Self::default() }
    }

    fn with_fields(fields: &str) -> Self {
        Self { fields: fields.to_owned(), ..Self::default() }
    }

    fn with_betas(names: &str) -> Self {
        let headers = format!(r#"{{"Anthropic-Beta":"{names}"}}"#);
        Self { headers: Some(headers), ..Self::default() }
    }

    fn record(&self, number: usize) -> String {
        let headers = self.headers.as_deref().unwrap_or("null");
        format!(
            r#"{{"timestamp":"2026-09-01T10:00:{number:02}.000Z","request_id":"r{number}",
                "headers":{headers},"request":{{"model":"{}","tools":[{}],"system":[{}],{}
                "messages":[{}]}}}}"#,
            self.model,
            self.tools.join(","),
            self.system.join(","),
            self.fields,
            self.messages.join(","),
        )
        .replace('\n', " ")
    }
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

fn text(words: &str) -> String {
    format!(r#"{{"type":"text","text":"{words}"}}"#)
}

/// A text block with a marker.
fn marked(words: &str, more: &str) -> String {
    format!(r#"{{"type":"text","text":"{words}","cache_control":{{"type":"ephemeral"{more}}}}}"#)
}

fn message(role: &str, blocks: &[&str]) -> String {
    format!(r#"{{"role":"{role}","content":[{}]}}"#, blocks.join(","))
}

fn user(blocks: &[&str]) -> String {
    message("user", blocks)
}

fn assistant(blocks: &[&str]) -> String {
    message("assistant", blocks)
}

fn history(requests: &[&Sent]) -> History {
    let lines: Vec<String> =
        requests.iter().enumerate().map(|(number, sent)| sent.record(number)).collect();
    read_history(&lines.join("\n"))
}

fn read_history(lines: &str) -> History {
    let sources = vec![Source::in_memory("capture.jsonl", lines.as_bytes())];
    let options = ReadOptions {
        keeps_bytes: true,
        attribution: AttributionKey::Literal,
        ..ReadOptions::default()
    };
    read(Discovered { sources, ..Discovered::default() }, options, |_| ())
}

fn between(before: &Sent, after: &Sent) -> Vec<Difference> {
    let history = history(&[before, after]);
    assert_eq!(history.captured.requests.len(), 2);
    differences(&history, RequestIndex::new(0), RequestIndex::new(1))
}

/// The only difference: its kind, its place, and its first differing byte.
fn only(before: &Sent, after: &Sent) -> (DifferenceKind, String, Option<usize>) {
    let found = between(before, after);
    assert_eq!(found.len(), 1, "{found:#?}");
    shown(&found[0])
}

fn shown(one: &Difference) -> (DifferenceKind, String, Option<usize>) {
    (one.kind, one.place.clone(), one.bytes.as_ref().map(|bytes| bytes.byte))
}

fn found(
    kind: DifferenceKind,
    place: &str,
    byte: Option<usize>,
) -> (DifferenceKind, String, Option<usize>) {
    (kind, place.to_owned(), byte)
}

#[test]
fn the_system_prompt() {
    let after = Sent::with_system(&[&text("You are an agent."), &text("Be short.")]);
    // 23 bytes in front of the text, and "Be ".
    let expected = found(DifferenceKind::SystemPrompt, "system[1]", Some(26));
    assert_eq!(only(&Sent::default(), &after), expected);
    let difference = &between(&Sent::default(), &after)[0];
    assert_eq!(difference.detail, "the text differs");
    let bytes = difference.bytes.as_ref().expect("bytes");
    assert_eq!(bytes.before, r#"{"type":"text","text":"Be brief."}"#);
    assert_eq!(bytes.after, r#"{"type":"text","text":"Be short."}"#);

    let after = Sent::with_system(&[&text("You are an agent.")]);
    let expected = found(DifferenceKind::SystemPrompt, "system[1]", None);
    assert_eq!(only(&Sent::default(), &after), expected);
    assert_eq!(between(&Sent::default(), &after)[0].detail, "2 blocks before, 1 now");
}

#[test]
fn the_attribution_line_is_told_apart() {
    let line = |end: &str| text(&format!("x-anthropic-billing-header: cc_version=2.1.295.{end};"));
    let (before, after) = (Sent::with_system(&[&line("a1b")]), Sent::with_system(&[&line("a2b")]));
    // 23 + 28 + 11 + 8 bytes, and "a".
    let expected = found(DifferenceKind::Attribution, "system[0]", Some(71));
    assert_eq!(only(&before, &after), expected);
}

#[test]
fn tools_one_by_one() {
    let one = |after: &[&str]| {
        let found = between(&Sent::default(), &Sent::with_tools(after));
        assert_eq!(found.len(), 1, "{found:#?}");
        (shown(&found[0]), found[0].tool.clone().expect("a tool"))
    };
    let grep = r#"{"name":"Grep","input_schema":{}}"#;
    let expected = (found(DifferenceKind::ToolAdded, "tools[2]", None), "Grep".to_owned());
    assert_eq!(one(&[READ, BASH, grep]), expected);
    // `{"name":"` is 9 bytes; Bash stands where Read stood.
    let expected = (found(DifferenceKind::ToolRemoved, "tools[0]", Some(9)), "Read".to_owned());
    assert_eq!(one(&[BASH]), expected);
    let expected = (found(DifferenceKind::ToolMoved, "tools[0]", Some(9)), "Bash".to_owned());
    assert_eq!(one(&[BASH, READ]), expected);
    // `{"name":"Bash",` and `"description":"` are 15 bytes each, and "Runs " five.
    let other = BASH.replace("a command", "one command");
    let expected = found(DifferenceKind::ToolChanged, "tools[1]", Some(35));
    assert_eq!(one(&[READ, &other]), (expected, "Bash: description".to_owned()));
    let turned =
        r#"{"name":"Bash","input_schema":{"type":"object"},"description":"Runs a command."}"#;
    let expected = found(DifferenceKind::ToolRespelled, "tools[1]", Some(16));
    assert_eq!(one(&[READ, turned]), (expected, "Bash".to_owned()));
}

#[test]
fn a_deferred_tool_is_no_part_of_the_prefix() {
    let deferred = r#"{"name":"Grep","defer_loading":true}"#;
    let after = Sent::with_tools(&[READ, BASH, deferred]);
    assert_eq!(between(&Sent::default(), &after), []);
}

#[test]
fn the_model() {
    let after = Sent { model: "claude-opus-4-8", ..Sent::default() };
    let expected = found(DifferenceKind::Model, "model", Some("claude-opus-".len()));
    assert_eq!(only(&Sent::default(), &after), expected);
    let history = history(&[&Sent::default(), &after]);
    let parting = Parting::of(&history);
    assert_eq!(parting.shared, None);
    assert_eq!(parting.first.expect("one").kind, DifferenceKind::Model);
}

#[test]
fn fast_mode() {
    // `"standard"` and `"fast"` part after the quotation mark.
    let expected = found(DifferenceKind::FastMode, "speed", Some(1));
    assert_eq!(only(&Sent::default(), &Sent::with_fields(r#""speed":"fast","#)), expected);
    let (before, after) = (Sent::with_betas("a-1"), Sent::with_betas("a-1,fast-mode-2026-02-01"));
    let expected = found(DifferenceKind::FastMode, "anthropic-beta", Some(0));
    assert_eq!(only(&before, &after), expected);
}

#[test]
fn cache_control() {
    let sent = |system: &str, last: &str| {
        let messages = vec![user(&[last])];
        Sent { system: vec![text("a"), system.to_owned()], messages, ..Sent::default() }
    };
    let hour = r#","ttl":"1h""#;
    let (before, after) =
        (sent(&marked("b", hour), &marked("c", "")), sent(&marked("b", hour), &marked("c", hour)));
    let expected = found(DifferenceKind::TtlTier, "messages[0].content[0]", None);
    assert_eq!(only(&before, &after), expected);
    assert_eq!(between(&before, &after)[0].detail, "5m before, 1h now");

    let after = sent(&text("b"), &marked("c", ""));
    let expected = found(DifferenceKind::MarkersMoved, "system[1]", None);
    assert_eq!(only(&before, &after), expected);
    assert_eq!(between(&before, &after)[0].detail, "2 markers before, 1 now");
}

#[test]
fn a_marker_that_moves_on_with_the_conversation_is_no_difference() {
    let before = Sent::with_messages(&[&user(&[&marked("c", "")])]);
    let after = Sent::with_messages(&[
        &user(&[&text("c")]),
        &assistant(&[&text("d")]),
        &user(&[&marked("e", "")]),
    ]);
    assert_eq!(between(&before, &after), []);
}

#[test]
fn the_scope() {
    let sent = |more: &str| Sent::with_system(&[&text("a"), &marked("b", more)]);
    let global = sent(r#","scope":"global""#);
    let expected = found(DifferenceKind::Scope, "system[1]", None);
    assert_eq!(only(&sent(""), &global), expected);
    assert_eq!(only(&global, &sent("")), expected);
    assert_eq!(between(&global, &sent(""))[0].detail, "no marker is global any more");
}

#[test]
fn overage_is_every_marker_falling_to_five_minutes() {
    let sent = |more: &str| Sent {
        system: vec![marked("b", more)],
        messages: vec![user(&[&marked("c", more)])],
        ..Sent::default()
    };
    let (hour, five) = (sent(r#","ttl":"1h""#), sent(r#","ttl":"5m""#));
    assert_eq!(only(&hour, &five), found(DifferenceKind::Overage, "system[0]", None));
    assert_eq!(only(&five, &hour), found(DifferenceKind::TtlTier, "system[0]", None));
}

#[test]
fn beta_features() {
    let (before, after) = (Sent::with_betas("a-1,b-1"), Sent::with_betas("c-1, a-1"));
    // "a-1,b-1" and "a-1,c-1".
    let expected = found(DifferenceKind::Betas, "anthropic-beta", Some(4));
    assert_eq!(only(&before, &after), expected);
    assert_eq!(between(&before, &after)[0].detail, "added: c-1; removed: b-1");
    // Another order is the same set, and what was not captured is not known.
    assert_eq!(between(&before, &Sent::with_betas("b-1,a-1")), []);
    assert_eq!(between(&before, &Sent::default()), []);
}

#[test]
fn beta_features_of_a_log() {
    let line = |second: u32, names: &str| {
        format!(
            r#"{{"request":{{"timestamp":178843{second},"url":"https://api.example/v1/messages",
            "headers":{{"anthropic-beta":["{names}"]}},"body":{{"model":"claude-opus-5",
            "messages":[{{"role":"user","content":"Go on."}}]}}}},"response":{{"status_code":200,
            "body":{{"id":"msg_{second}","usage":{{"input_tokens":7}}}}}}}}"#
        )
        .replace('\n', " ")
    };
    let history = read_history(&[line(2800, "a-1"), line(2801, "a-1,b-1")].join("\n"));
    let found = differences(&history, RequestIndex::new(0), RequestIndex::new(1));
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0].detail, "added: b-1");
}

#[test]
fn auto_mode_shows_in_its_beta_features() {
    let before = Sent::with_betas("a-1");
    let after = Sent::with_betas("a-1,dangerous-tool-use-2026-09-03,afk-mode-2026-01-31");
    let expected = found(DifferenceKind::AutoMode, "anthropic-beta", Some(0));
    assert_eq!(only(&before, &after), expected);
    let detail = "added: afk-mode-2026-01-31, dangerous-tool-use-2026-09-03";
    assert_eq!(between(&before, &after)[0].detail, detail);
}

#[test]
fn cached_microcompaction() {
    let result =
        |more: &str| format!(r#"{{"type":"tool_result","tool_use_id":"t","content":"ok"{more}}}"#);
    let call = assistant(&[r#"{"type":"tool_use","id":"t","name":"Bash","input":{}}"#]);
    let sent =
        |blocks: &[&str]| Sent::with_messages(&[&user(&[&text("Go.")]), &call, &user(blocks)]);
    // A name for later deletions is no content.
    let before = sent(&[&result("")]);
    let after = sent(&[&result(r#","cache_reference":"t""#)]);
    assert_eq!(between(&before, &after), []);

    let edits = r#"{"type":"cache_edits","edits":[{"type":"delete","cache_reference":"t"}]}"#;
    let before = sent(&[&result(""), &text("Next.")]);
    let after = sent(&[&result(""), edits, &text("Next.")]);
    let expected = found(DifferenceKind::CachedMicrocompaction, "cache_edits", None);
    assert_eq!(only(&before, &after), expected);

    let keep = |keep: u32| {
        Sent::with_fields(&format!(r#""context_management":{{"edits":[{{"keep":{keep}}}]}},"#))
    };
    // `{"edits":[{"keep":`
    let expected = found(DifferenceKind::CachedMicrocompaction, "context_management", Some(18));
    assert_eq!(only(&keep(1), &keep(2)), expected);
}

#[test]
fn effort() {
    let effort =
        |value: &str| Sent::with_fields(&format!(r#""output_config":{{"effort":"{value}"}},"#));
    let expected = found(DifferenceKind::Effort, "output_config.effort", Some(1));
    assert_eq!(only(&effort("low"), &effort("medium")), expected);
    // The default may be given or not.
    assert_eq!(between(&Sent::default(), &effort("high")), []);
}

#[test]
fn extra_body() {
    let tier = |value: &str| Sent::with_fields(&format!(r#""service_tier":"{value}","#));
    let expected = found(DifferenceKind::ExtraBody, "service_tier", Some(1));
    assert_eq!(only(&tier("auto"), &tier("standard_only")), expected);
    let expected = found(DifferenceKind::ExtraBody, "service_tier", None);
    assert_eq!(only(&Sent::default(), &tier("auto")), expected);
    let harmless = r#""max_tokens":7,"temperature":1,"metadata":{"user_id":"u"},"stream":true,
        "safeguards":[{}],"diagnostics":{"previous_message_id":"m"},"#;
    assert_eq!(between(&Sent::default(), &Sent::with_fields(harmless)), []);
}

#[test]
fn the_settings_in_front_of_the_messages() {
    let with = |fields: &str| only(&Sent::default(), &Sent::with_fields(fields));
    let thinking = with(r#""thinking":{"type":"disabled"},"#);
    assert_eq!(thinking, found(DifferenceKind::Thinking, "thinking", Some(0)));
    let choice = with(r#""tool_choice":{"type":"any"},"#);
    assert_eq!(choice, found(DifferenceKind::ToolChoice, "tool_choice", Some(0)));
    let format = with(r#""output_config":{"format":{"type":"json_schema"}},"#);
    assert_eq!(format, found(DifferenceKind::OutputFormat, "output_config.format", Some(0)));
}

#[test]
fn images_and_citations_anywhere_change_what_stands_in_front() {
    let image = r#"{"type":"image","source":{"type":"base64","data":""}}"#;
    let document =
        r#"{"type":"document","source":{"type":"text","data":"x"},"citations":{"enabled":true}}"#;
    let with = |block: &str| {
        Sent::with_messages(&[
            &user(&[&text("Go on.")]),
            &assistant(&[&text("Yes.")]),
            &user(&[block]),
        ])
    };
    let expected = found(DifferenceKind::Image, "images", Some(0));
    assert_eq!(only(&Sent::default(), &with(image)), expected);
    let expected = found(DifferenceKind::Citations, "citations", Some(0));
    assert_eq!(only(&Sent::default(), &with(document)), expected);
}

#[test]
fn an_image_that_is_gone_while_others_stay() {
    let image =
        |data: &str| format!(r#"{{"type":"image","source":{{"type":"base64","data":"{data}"}}}}"#);
    let sent = |second: &str| {
        Sent::with_messages(&[
            &user(&[&image("AA")]),
            &assistant(&[second]),
            &user(&[&text("And?")]),
        ])
    };
    // `{"type":"`
    let expected = found(DifferenceKind::Image, "messages[1].content[0]", Some(9));
    assert_eq!(only(&sent(&image("BB")), &sent(&text("[image]"))), expected);
}

/// A conversation whose third message holds `blocks`, and that goes on after it.
fn long(blocks: &[&str]) -> Sent {
    Sent::with_messages(&[
        &user(&[&text("Look at it.")]),
        &assistant(&[&text("I do.")]),
        &user(blocks),
        &assistant(&[&text("Done.")]),
        &user(&[&text("And the rest?")]),
    ])
}

#[test]
fn a_rewritten_block() {
    let (before, after) = (long(&[&text("Now 10:00.")]), long(&[&text("Now 10:05.")]));
    // 23 bytes, and "Now 10:0".
    let expected = found(DifferenceKind::MessageRewritten, "messages[2].content[0]", Some(31));
    assert_eq!(only(&before, &after), expected);
}

#[test]
fn a_message_from_another_role() {
    let before = long(&[&text("Go on.")]);
    let mut after = before.clone();
    after.messages[2] = message("system", &[&text("Go on.")]);
    let found = between(&before, &after);
    assert_eq!((found.len(), found[0].kind), (1, DifferenceKind::MessageRewritten));
    assert_eq!(found[0].place, "messages[2].content[0]");
    assert!(found[0].detail.contains("another role"));
}

#[test]
fn an_old_result_that_was_cleared() {
    let result = |content: &str| {
        format!(r#"{{"type":"tool_result","tool_use_id":"t","content":"{content}"}}"#)
    };
    let before = long(&[&result("many lines")]);
    let after = long(&[&result("[Old tool result content cleared]")]);
    // `{"type":"tool_result",`, `"tool_use_id":"t",` and `"content":"` are 22, 18 and 11 bytes.
    let expected = found(DifferenceKind::ResultsCleared, "messages[2].content[0]", Some(51));
    assert_eq!(only(&before, &after), expected);
}

#[test]
fn thinking_that_was_stripped() {
    let thinking = r#"{"type":"thinking","thinking":"","signature":"abc"}"#;
    let call = r#"{"type":"tool_use","id":"t","name":"Bash","input":{}}"#;
    let result = user(&[r#"{"type":"tool_result","tool_use_id":"t","content":"ok"}"#]);
    let (first, last) = (user(&[&text("Go.")]), user(&[&text("And now?")]));
    let before = Sent::with_messages(&[&first, &assistant(&[thinking, call]), &result]);
    let after = Sent::with_messages(&[
        &first,
        &assistant(&[call]),
        &result,
        &assistant(&[&text("Done.")]),
        &last,
    ]);
    // Nothing stands for it now: the call behind it is another block.
    let expected = found(DifferenceKind::ThinkingStripped, "messages[1].content[0]", None);
    assert_eq!(only(&before, &after), expected);
}

#[test]
fn a_conversation_that_was_rewound() {
    let before = long(&[&text("Go on.")]);
    let mut after = before.clone();
    after.messages.truncate(3);
    let expected = found(DifferenceKind::Rewound, "messages[3].content[0]", None);
    assert_eq!(only(&before, &after), expected);
    after.messages[2] = user(&[&text("Stop.")]);
    // 23 bytes: "Go on." and "Stop.".
    let expected = found(DifferenceKind::Rewound, "messages[2].content[0]", Some(23));
    assert_eq!(only(&before, &after), expected);
}

#[test]
fn a_conversation_that_was_compacted() {
    let summary = "This session goes on from an earlier one. ".repeat(5);
    let after = Sent::with_messages(&[&user(&[&text(&summary)])]);
    // 23 bytes: "Look" and "This".
    let expected = found(DifferenceKind::MessagesReplaced, "messages[0].content[0]", Some(23));
    assert_eq!(only(&long(&[&text("Go on.")]), &after), expected);
}

#[test]
fn differences_come_in_the_order_of_the_prefix() {
    let mut before = long(&[&text("Go on.")]);
    before.headers = Some("{}".to_owned());
    let mut after = Sent {
        model: "claude-sonnet-5",
        fields: r#""service_tier":"auto","thinking":{},"speed":"fast","#.to_owned(),
        ..Sent::with_betas("a-1")
    };
    after.tools.reverse();
    after.system[0] = marked("Other.", r#","scope":"global""#);
    let kinds: Vec<DifferenceKind> =
        between(&before, &after).iter().map(|difference| difference.kind).collect();
    let expected = [
        DifferenceKind::Model,
        DifferenceKind::ToolMoved,
        DifferenceKind::FastMode,
        DifferenceKind::SystemPrompt,
        DifferenceKind::Thinking,
        DifferenceKind::MessagesReplaced,
        DifferenceKind::Scope,
        DifferenceKind::Betas,
        DifferenceKind::ExtraBody,
    ];
    assert_eq!(kinds, expected);
}

#[test]
fn no_detail_holds_a_word_of_the_prompt() {
    let secret = "zugzwang";
    let mut before = long(&[&text(secret)]);
    let mut after = long(&[&text("other")]);
    before.tools.push(format!(r#"{{"name":"{secret}","input_schema":{{"{secret}":1}}}}"#));
    after.tools.push(format!(r#"{{"name":"{secret}","input_schema":{{"{secret}":2}}}}"#));
    before.system.push(text(secret));
    after.system[1] = text(secret);
    let found = between(&before, &after);
    assert_eq!(found.len(), 3);
    for difference in found {
        let shown = format!("{} {}", difference.place, difference.detail);
        assert!(!shown.contains(secret), "{shown}");
    }
}

/// What random requests are made of.
fn random() -> impl Strategy<Value = Sent> {
    let tool = prop::sample::select(vec![
        READ.to_owned(),
        BASH.to_owned(),
        BASH.replace("a command", "one"),
        r#"{"input_schema":{},"name":"Bash"}"#.to_owned(),
        "{}".to_owned(),
        "null".to_owned(),
        r#"["name"]"#.to_owned(),
    ]);
    let system = prop::sample::select(vec![
        text("a"),
        text("b"),
        marked("c", r#","scope":"global""#),
        marked("c", r#","ttl":"1h""#),
        "7".to_owned(),
    ]);
    let fields = prop::sample::select(vec![
        "",
        r#""speed":"fast","#,
        r#""thinking":{"type":"disabled"},"#,
        r#""tool_choice":{"type":"any"},"output_config":{"effort":"low"},"#,
        r#""x":[1],"cache_control":{"type":"ephemeral"},"#,
        r#""betas":["afk-mode-1","b"],"#,
        r#""betas":{"a":[1]},"output_config":[],"speed":7,"thinking":null,"#,
        r#""output_config":{"effort":[],"x":null},"x":1,"x":2,"":"","cache_control":7,"#,
    ]);
    let headers = prop::sample::select(vec![
        None,
        Some("[[1]]"),
        Some(r#"{"anthropic-beta":[7,",,b"],"ANTHROPIC-BETA":"a"}"#),
    ]);
    let model = prop::sample::select(vec!["claude-opus-5", "claude-opus-5", "claude-sonnet-5"]);
    let messages = prop::collection::vec(random_message(true), 1..5);
    (
        model,
        prop::collection::vec(tool, 0..4),
        prop::collection::vec(system, 0..4),
        (fields, headers),
        messages,
    )
        .prop_map(|(model, tools, system, (fields, headers), messages)| Sent {
            model,
            tools,
            system,
            messages,
            fields: fields.to_owned(),
            headers: headers.map(str::to_owned),
        })
}

fn random_message(has_images: bool) -> impl Strategy<Value = String> {
    let mut blocks = vec![
        text("a"),
        text("b"),
        marked("a", ""),
        r#"{"type":"thinking","thinking":"t","signature":"s"}"#.to_owned(),
        r#"{"type":"tool_use","id":"t","name":"Bash","input":{}}"#.to_owned(),
        r#"{"type":"tool_result","tool_use_id":"t","content":"ok"}"#.to_owned(),
        r#"{"type":"tool_result","tool_use_id":"t","content":"ok","cache_reference":"t"}"#
            .to_owned(),
        r#"{"type":"cache_edits","edits":[]}"#.to_owned(),
        r#"{"type":"tool_result","content":[{"type":7},null,"[Old tool result content cleared]"]}"#
            .to_owned(),
        "7".to_owned(),
    ];
    if has_images {
        blocks.push(r#"{"type":"image","source":{}}"#.to_owned());
        blocks.push(r#"{"type":"document","citations":{"enabled":true}}"#.to_owned());
    }
    let role = prop::sample::select(vec!["user", "assistant", "system"]);
    (role, prop::collection::vec(prop::sample::select(blocks), 0..4)).prop_map(|(role, blocks)| {
        message(role, &blocks.iter().map(String::as_str).collect::<Vec<_>>())
    })
}

/// Whether a node stands right after another one.
fn stands_behind(history: &History, node: Option<WireNodeId>, shared: Option<WireNodeId>) -> bool {
    node.is_some_and(|node| history.captured.tree.node(node).parent == shared)
}

/// Where the prompts of two requests part.
#[derive(Debug)]
struct Parting {
    /// Last node that both share, or `None` if even the model differs.
    shared: Option<WireNodeId>,
    first: Option<Difference>,
}

impl Parting {
    fn of(history: &History) -> Self {
        let leaf = |request: usize| history.captured.requests[request].leaf;
        let found = differences(history, RequestIndex::new(0), RequestIndex::new(1));
        let shared = history.captured.tree.shared(leaf(0), leaf(1));
        Self { shared, first: found.into_iter().next() }
    }
}

fn check_place(history: &History, parting: &Parting) -> Result<(), TestCaseError> {
    let leaves: Vec<WireNodeId> =
        history.captured.requests.iter().map(|request| request.leaf).collect();
    if parting.shared == Some(leaves[0]) {
        let is_beside = parting.first.as_ref().is_none_or(|first| !first.is_of_prefix());
        prop_assert!(is_beside, "{parting:#?}");
        return Ok(());
    }
    let first = parting.first.as_ref();
    let is_there = first.is_some_and(|first| {
        stands_behind(history, first.before, parting.shared)
            || stands_behind(history, first.after, parting.shared)
    });
    prop_assert!(is_there, "{parting:#?}");
    Ok(())
}

proptest! {
    #[test]
    fn a_request_does_not_differ_from_itself(sent in random()) {
        let history = history(&[&sent, &sent]);
        prop_assert_eq!(history.captured.requests.len(), 2);
        prop_assert_eq!(differences(&history, RequestIndex::new(0), RequestIndex::new(1)), []);
        let parting = Parting::of(&history);
        prop_assert_eq!(parting.shared, Some(history.captured.requests[0].leaf));
    }

    #[test]
    fn messages_that_are_added_are_no_difference(
        sent in random(),
        added in prop::collection::vec(random_message(false), 1..4),
    ) {
        let mut later = sent.clone();
        later.messages.extend(added);
        let history = history(&[&sent, &later]);
        let found = differences(&history, RequestIndex::new(0), RequestIndex::new(1));
        // The markers in what was added may be more than one.
        let beside = |one: &Difference| {
            matches!(one.kind, DifferenceKind::TtlTier | DifferenceKind::MarkersMoved)
        };
        prop_assert!(found.iter().all(beside), "{found:#?}");
    }

    #[test]
    fn the_first_difference_stands_where_the_paths_part(before in random(), after in random()) {
        let history = history(&[&before, &after]);
        let parting = Parting::of(&history);
        check_place(&history, &parting)?;
    }

    #[test]
    fn a_change_at_one_place_is_found_there(sent in random(), other in random(), which in 0_usize..5) {
        let mut later = sent.clone();
        match which {
            0 => later.tools = other.tools,
            1 => later.system = other.system,
            2 => later.fields = other.fields,
            3 => later.messages = other.messages,
            _ => { later.messages.pop(); }
        }
        let history = history(&[&sent, &later]);
        let parting = Parting::of(&history);
        check_place(&history, &parting)?;
    }
}
