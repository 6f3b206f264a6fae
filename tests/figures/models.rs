//! Models: their names, what is known of each, and what a price file adds.

use std::fs;

use cachesim::base::model::{Facts, Models, Platform, canonical_name, platform};
use cachesim::base::units::{Millis, Tokens};
use cachesim::simulate::pricing::PriceTable;
use serde_json::json;

use crate::common::{json, ledger, project, run, stdout, text};

#[test]
fn what_platforms_add_is_taken_off() {
    for (name, canonical) in [
        ("claude-opus-5", "claude-opus-5"),
        ("claude-opus-5[1m]", "claude-opus-5"),
        ("us.anthropic.claude-opus-4-5-20251101-v1:0", "claude-opus-4-5-20251101"),
        ("anthropic.claude-sonnet-4-20250514-v1:0", "claude-sonnet-4-20250514"),
        ("claude-opus-4-5@20251101", "claude-opus-4-5"),
        ("anthropic/claude-sonnet-4.5", "claude-sonnet-4-5"),
        ("arn:aws:bedrock:us-east-1:1:p/global.anthropic.claude-haiku-4-5-v1", "claude-haiku-4-5"),
        ("gpt-5", "gpt-5"),
        ("", ""),
    ] {
        assert_eq!(canonical_name(name), canonical, "{name}");
    }
}

#[test]
fn regional_endpoints_show_in_the_name() {
    assert_eq!(platform("eu.anthropic.claude-opus-5-v1:0"), Platform::Regional);
    assert_eq!(platform("global.anthropic.claude-opus-5-v1:0"), Platform::Global);
    assert_eq!(platform("claude-opus-5"), Platform::Global);
}

fn at(day: &str) -> Millis {
    let timestamp: jiff::Timestamp = format!("{day}T12:00:00Z").parse().expect("a day");
    Millis::new(timestamp.as_millisecond())
}

/// What was known of a name before it stood in a table, on 2026-10-10: minimum, tokenizer, tokens of the
/// prompt for tools, frame, tokens elsewhere for a thousand, and by letters whether it drops thinking (d),
/// keeps its cache at another effort (e), and is left out by the client's rule for breaks (h).
#[rustfmt::skip]
const KNOWN: &[(&str, u64, &str, u64, u64, u64, &str)] = &[
    ("claude-fable-5", 512, "claude-4.7", 354, 6, 770, ""),
    ("claude-fable-5-1", 512, "claude-4.7", 354, 6, 770, "e"),
    ("claude-fable-6", 512, "claude-4.7", 354, 6, 770, ""),
    ("claude-mythos-5", 512, "claude-4.7", 354, 6, 770, ""),
    ("claude-mythos-5-1", 512, "claude-4.7", 354, 6, 770, ""),
    ("claude-mythos-preview", 2_048, "claude-4.7", 354, 6, 770, ""),
    ("claude-opus-5", 512, "claude-4.7", 286, 6, 770, ""),
    ("claude-opus-5[1m]", 512, "claude-4.7", 286, 6, 770, ""),
    ("claude-opus-5-5", 512, "claude-4.7", 286, 6, 770, "e"),
    ("claude-opus-5-20260724", 512, "claude-4.7", 286, 6, 770, ""),
    ("us.anthropic.claude-opus-5-v1:0", 512, "claude-4.7", 286, 6, 770, ""),
    ("claude-opus-4-8", 1_024, "claude-4.7", 290, 6, 770, ""),
    ("claude-opus-4-7", 2_048, "claude-4.7", 675, 11, 770, ""),
    ("us.anthropic.claude-opus-4-7-v1:0", 2_048, "claude-4.7", 675, 11, 770, ""),
    ("claude-opus-4-6", 4_096, "claude-3", 497, 7, 1_000, ""),
    ("claude-opus-4-5", 4_096, "claude-3", 496, 7, 1_000, ""),
    ("claude-opus-4-5-20251101", 4_096, "claude-3", 496, 7, 1_000, ""),
    ("claude-opus-4-5@20251101", 4_096, "claude-3", 496, 7, 1_000, ""),
    ("claude-opus-4-1", 1_024, "claude-3", 313, 7, 1_000, "d"),
    ("claude-opus-4-1-20250805", 1_024, "claude-3", 313, 7, 1_000, "d"),
    ("claude-opus-4", 1_024, "claude-3", 313, 7, 1_000, "d"),
    ("claude-opus-4-0", 1_024, "claude-3", 313, 7, 1_000, ""),
    ("claude-opus-4-20250514", 1_024, "claude-3", 313, 7, 1_000, "d"),
    ("claude-opus-4-latest", 1_024, "claude-4.7", 313, 11, 770, ""),
    ("claude-opus-4-9", 1_024, "claude-4.7", 313, 11, 770, ""),
    ("claude-opus-4.5", 4_096, "claude-3", 496, 7, 1_000, ""),
    ("claude-4-opus-20250514", 1_024, "claude-3", 313, 7, 1_000, "d"),
    ("claude-3-opus-20240229", 1_024, "claude-3", 346, 7, 1_000, "d"),
    ("claude-3-opus-latest", 1_024, "claude-3", 346, 7, 1_000, "d"),
    ("claude-sonnet-6", 1_024, "claude-4.7", 354, 6, 770, ""),
    ("claude-sonnet-5-5", 512, "claude-4.7", 354, 6, 770, "e"),
    ("claude-sonnet-5", 1_024, "claude-4.7", 354, 6, 770, ""),
    ("claude-sonnet-4-6", 1_024, "claude-3", 497, 7, 1_000, ""),
    ("claude-sonnet-4-5", 1_024, "claude-3", 496, 7, 1_000, "d"),
    ("claude-sonnet-4-5-20250929", 1_024, "claude-3", 496, 7, 1_000, "d"),
    ("claude-sonnet-4", 1_024, "claude-3", 313, 7, 1_000, "d"),
    ("claude-sonnet-4-0", 1_024, "claude-3", 313, 7, 1_000, ""),
    ("claude-sonnet-4-20250514", 1_024, "claude-3", 313, 7, 1_000, "d"),
    ("claude-sonnet-4-latest", 1_024, "claude-3", 313, 7, 1_000, ""),
    ("anthropic.claude-sonnet-4-20250514-v1:0", 1_024, "claude-3", 313, 7, 1_000, "d"),
    ("claude-4-sonnet-20250514", 1_024, "claude-3", 313, 7, 1_000, "d"),
    ("claude-3-7-sonnet-20250219", 1_024, "claude-3", 346, 7, 1_000, "d"),
    ("claude-3-7-sonnet-latest", 1_024, "claude-3", 346, 7, 1_000, "d"),
    ("claude-3-5-sonnet-20240620", 1_024, "claude-3", 346, 7, 1_000, "d"),
    ("claude-3-5-sonnet@20240620", 1_024, "claude-3", 346, 7, 1_000, "d"),
    ("claude-3-sonnet-20240229", 1_024, "claude-3", 346, 7, 1_000, "d"),
    ("claude-haiku-5-5", 512, "claude-4.7", 354, 6, 770, "eh"),
    ("claude-haiku-5", 1_024, "claude-4.7", 354, 6, 770, "h"),
    ("claude-haiku-4-5", 4_096, "claude-3", 496, 7, 1_000, "dh"),
    ("claude-haiku-4-5-20251001", 4_096, "claude-3", 496, 7, 1_000, "dh"),
    ("arn:aws:bedrock:us-east-1:1:p/global.anthropic.claude-haiku-4-5-v1", 4_096, "claude-3", 496, 7, 1_000, "dh"),
    ("claude-3-5-haiku-20241022", 2_048, "claude-3", 264, 7, 1_000, "dh"),
    ("claude-3-5-haiku-latest", 2_048, "claude-3", 264, 7, 1_000, "dh"),
    ("claude-3-haiku-20240307", 2_048, "claude-3", 264, 7, 1_000, "dh"),
    ("claude-2.1", 1_024, "claude-3", 354, 7, 1_000, ""),
    ("claude-instant-1.2", 1_024, "claude-3", 354, 7, 1_000, ""),
    ("claude-new-9", 1_024, "claude-4.7", 354, 6, 770, ""),
    ("my-claude", 1_024, "claude-4.7", 354, 6, 770, ""),
    ("my-haiku", 1_024, "claude-4.7", 354, 6, 1_000, "h"),
    ("claude-proxy/gpt-5", 1_024, "claude-4.7", 354, 6, 770, ""),
    ("gpt-5.6-sol", 1_024, "claude-4.7", 354, 6, 1_000, ""),
    ("deepseek-v3", 1_024, "claude-4.7", 354, 6, 1_000, ""),
    ("glm-4.7", 1_024, "claude-4.7", 354, 6, 1_000, ""),
    ("<synthetic>", 1_024, "claude-4.7", 354, 6, 1_000, ""),
    ("unknown", 1_024, "claude-4.7", 354, 6, 1_000, ""),
    ("", 1_024, "claude-4.7", 354, 6, 1_000, ""),
];

#[test]
fn every_name_has_the_facts_that_it_had() {
    let models = Models::built_in();
    for (name, minimum, tokenizer, tools, frame, elsewhere, letters) in KNOWN {
        let facts = models.facts(name);
        assert_eq!(facts.minimum(at("2026-10-10")), Tokens(*minimum), "{name}");
        assert_eq!(facts.tokenizer.id, *tokenizer, "{name}");
        assert_eq!((facts.tools_prompt.0, facts.frame.0), (*tools, *frame), "{name}");
        assert_eq!(facts.elsewhere_per_1000, *elsewhere, "{name}");
        let has = |letter| letters.contains(letter);
        assert_eq!(facts.drops_thinking, has('d'), "{name}");
        assert_eq!(facts.effort_keeps_cache, has('e'), "{name}");
        assert_eq!(facts.client_reports_breaks, !has('h'), "{name}");
    }
}

#[test]
fn minimums_follow_the_documentation_of_the_day() {
    let models = Models::built_in();
    for (model, day, tokens) in [
        ("claude-opus-5", "2026-08-01", 512),
        ("claude-opus-5-5", "2026-10-01", 512),
        ("claude-opus-4-8", "2026-06-01", 1_024),
        ("claude-opus-4-7", "2025-01-01", 4_096),
        ("claude-opus-4-7", "2026-06-07", 4_096),
        ("claude-opus-4-7", "2026-06-08", 2_048),
        ("claude-mythos-preview", "2026-06-07", 4_096),
        ("claude-mythos-preview", "2026-06-08", 2_048),
        ("claude-sonnet-4-6", "2026-02-26", 1_024),
        ("claude-sonnet-4-6", "2026-02-27", 2_048),
        ("claude-sonnet-4-6", "2026-05-12", 2_048),
        ("claude-sonnet-4-6", "2026-05-13", 1_024),
        ("claude-opus-4-1-20250805", "2026-01-01", 1_024),
        ("claude-haiku-4-5-20251001", "2026-01-01", 4_096),
        ("claude-sonnet-5", "2026-07-01", 1_024),
        ("another-model", "2026-07-01", 1_024),
    ] {
        let minimum = models.facts(model).minimum(at(day));
        assert_eq!(minimum, Tokens(tokens), "{model} on {day}");
    }
    // No day at all: what held before every day that is named.
    assert_eq!(models.facts("claude-opus-4-7").minimum(Millis::new(i64::MAX)), Tokens(4_096));
}

/// A price file with the given entries.
fn price_file(entries: &str) -> String {
    format!("schema = \"cachesim.prices/v1\"\nid = \"mine\"\nas_of = \"2027-02-01\"\n{entries}")
}

const NEW_MODEL: &str = r#"
    [[model]]
    id = "claude-new-9"
    [model.facts]
    minimum = [{ tokens = 8192 }, { from = 2027-02-01, tokens = 2048 }]
    drops_thinking = true
    tools_prompt = 1000
    frame = 20
    tokenizer = "own"
    [[model.rate]]
    input = "2"
    cache_write_5m = "2.5"
    cache_write_1h = "4"
    cache_read = "0.2"
    output = "10"

    [[tokenizer]]
    id = "own"
    bytes_per_1000_tokens = 2000
    image_edge = 1000
    image_tokens = 900
    elsewhere_per_1000 = 800
    [tokenizer.characters_per_100_tokens]
    prose = 200
    code = 200
    json = 200
    listing = 200
    identifiers = 200
    ideographs = 200
    base64 = 200
"#;

fn laid_over(entries: &str) -> impl Fn(&str) -> Facts {
    let mut models = Models::built_in();
    models.overlay(&price_file(entries), "mine.toml").expect("facts");
    move |name| models.facts(name)
}

#[test]
fn a_file_adds_a_model_under_every_form_of_its_name() {
    let facts = laid_over(NEW_MODEL);
    for name in ["claude-new-9", "claude-new-9-20270101", "us.anthropic.claude-new-9-v1:0"] {
        let facts = facts(name);
        assert_eq!(facts.minimum(at("2027-01-31")), Tokens(8_192), "{name}");
        assert_eq!(facts.minimum(at("2027-02-01")), Tokens(2_048), "{name}");
        assert_eq!((facts.tools_prompt, facts.frame), (Tokens(1_000), Tokens(20)), "{name}");
        assert_eq!((facts.tokenizer.id.as_str(), facts.elsewhere_per_1000), ("own", 800), "{name}");
        assert!(facts.drops_thinking && !facts.effort_keeps_cache, "{name}");
    }
    let built_in = Models::built_in();
    for name in ["claude-new-8", "claude-opus-5", ""] {
        assert_eq!(facts(name), built_in.facts(name), "{name}");
    }
}

#[test]
fn what_a_file_does_not_say_stays() {
    let facts = laid_over(
        r#"
        [[model]]
        id = "claude-opus-5"
        aliases = ["house-opus"]
        facts.frame = 9
        [[family]]
        prefix = "claude-opus-5"
        frame = 8
        tools_prompt = 1
        [[family]]
        prefix = "claude-opus"
        minimum = 1
        [[family]]
        name = "claude-opus-5"
        effort_keeps_cache = true
        [[model]]
        id = "acme-v3"
        facts.frame = 33
        "#,
    );
    let opus = facts("claude-opus-5");
    // A longer beginning goes before a shorter one, a file before the built-in table, and a model before a
    // family of the same beginning.
    assert_eq!(opus.minimum(at("2026-10-10")), Tokens(512));
    assert_eq!((opus.frame, opus.tools_prompt), (Tokens(9), Tokens(1)));
    // A name is that one alone.
    assert!(opus.effort_keeps_cache);
    assert!(!facts("claude-opus-5-1").effort_keeps_cache);
    assert_eq!(facts("claude-opus-9").minimum(at("2026-10-10")), Tokens(1));
    assert_eq!(facts("house-opus-20270101").frame, Tokens(9));
    // The end of an id may look like the version of a platform.
    assert_eq!(facts("acme-v3").frame, Tokens(33));
    assert_eq!(facts("acme-r1").frame, Tokens(6));
}

#[test]
fn errors_name_file_model_and_key() {
    let error = |entries: &str| {
        let mut models = Models::built_in();
        let error = models.overlay(&price_file(entries), "mine.toml").expect_err("no fact");
        assert_eq!(models.facts("m"), Models::built_in().facts("m"), "nothing of it is used");
        error.to_string()
    };
    let of_model = |facts: &str| error(&format!("[[model]]\nid = \"m\"\n[model.facts]\n{facts}"));
    for (facts, expected) in [
        ("minimum = \"many\"", "`minimum` is a number of tokens, or a list of rows"),
        ("minimum = -1", "`minimum` is a number of tokens, or a list of rows"),
        ("minimum = []", "`minimum` is a number of tokens, or a list of rows"),
        ("minimum = [{ tokens = 1 }, { tokens = 2 }]", "after the first row, a later day"),
        ("minimum = [{ from = 2027-01-01 }]", "`minimum` is a number of tokens"),
        ("minimum = [{ from = \"2027\", tokens = 1 }]", "a later day `from`, not \"2027\""),
        (
            "minimum = [{ from = 2027-01-02, tokens = 1 }, { from = 2027-01-02, tokens = 2 }]",
            "a later day `from`",
        ),
        (
            "minimum = [{ tokens = 1, until = 2027-01-01 }]",
            "`until` is no key of a row of `minimum`",
        ),
        ("frame = 1000000001", "`frame` is a whole number from 0 to 1,000,000,000, not 1000000001"),
        ("drops_thinking = 1", "`drops_thinking` is true or false, not 1"),
        ("tokenizer = \"x\"", "`tokenizer` is `claude-3` or `claude-4.7`, not \"x\""),
        ("minimun = 5", "`minimun` is no key of what is known of models (did you mean `minimum`"),
    ] {
        let error = of_model(facts);
        assert!(error.starts_with("mine.toml:7:"), "{error}");
        assert!(error.contains("model `m`: ") && error.contains(expected), "{error}");
    }
    let tokenizer = NEW_MODEL.replace("prose = 200", "prose = 0");
    let zero = "tokenizer `own`: `prose` is a whole number from 1 to 1,000,000,000, not 0";
    assert!(error(&tokenizer).contains(zero), "{}", error(&tokenizer));
    let tokenizer = NEW_MODEL.replace("prose = 200", "");
    assert!(error(&tokenizer).contains("tokenizer `own`: `prose` is missing"));
    assert!(error("[[family]]\nframe = 1").contains("needs one of `part`, `prefix` and `name`"));
    assert!(error("[usual]\nframe = 1").contains("for the built-in table alone"));
    assert!(error("model = 1").contains("`model` is a list of tables, not 1"));
}

/// Two requests that share a marked system prompt of 4,000 bytes.
fn capture(model: &str) -> String {
    let system = json!([{
        "type": "text", "text": "word ".repeat(800), "cache_control": {"type": "ephemeral"},
    }]);
    let line = |minute: u32| {
        json!({
            "timestamp": format!("2026-12-01T10:0{minute}:00.000Z"),
            "request_id": format!("r{minute}"),
            "session_id": "s",
            "request": {
                "model": model,
                "system": system,
                "tools": [{"name": "Read", "input_schema": {"type": "object"}}],
                "messages": [{"role": "user", "content": format!("question {minute}")}],
            },
        })
    };
    format!("{}\n{}\n", line(1), line(2))
}

#[test]
fn a_capture_of_a_new_model_is_cached_by_its_entry() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, content: &str| {
        let path = folder.path().join(name);
        fs::write(&path, content).expect("a file");
        path
    };
    let session = write("session.jsonl", &capture("claude-new-9"));
    let prices = write("prices.toml", &price_file(NEW_MODEL));
    let prices = ["--prices", prices.to_str().expect("plain")];
    let exact = ["--strategy", "replay", "--tokens", "bytes:1"];
    let read = |more: &[&str]| -> Vec<u64> {
        let rows = ledger(&session, &[&exact[..], more].concat());
        rows.iter().map(|row| row["cache_read_input_tokens"].as_u64().expect("tokens")).collect()
    };
    // 4,000 bytes and what frames them: more than the usual 1,024, and less than 8,192.
    let usual = read(&[]);
    assert!(usual[0] == 0 && usual[1] > 4_000, "{usual:?}");
    assert_eq!(read(&prices), [0, 0]);
    // The tokens of a prompt are its tokenizer's.
    let estimated = |more: &[&str]| -> u64 {
        let rows = ledger(&session, &[&["--strategy", "none"], more].concat());
        rows[0]["input_tokens"].as_u64().expect("tokens")
    };
    assert!(
        estimated(&prices) > estimated(&[]) + 600,
        "more for tools, and two characters a token"
    );
    let path = session.to_str().expect("plain");
    let strict = [&["analyze", path, "-q", "--strict-prices"], &prices[..]].concat();
    stdout(&strict);
}

/// `fixtures/below-minimum` with another minimum than its model's 512: what it writes is too short then.
#[test]
fn a_transcript_follows_the_entry_of_its_model() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("prices.toml");
    let family = "[[family]]\nprefix = \"claude-opus-5\"\nminimum = 601\n";
    fs::write(&file, price_file(family)).expect("a file");
    let fixture = project("fixtures/below-minimum");
    let written = |more: &[&str]| {
        let arguments = ["analyze", fixture.to_str().expect("plain"), "--format", "json", "-q"];
        json(&[&arguments[..], more].concat())["totals"]["5m"]["ephemeral_5m_input_tokens"].clone()
    };
    assert_eq!(written(&[]), 600);
    assert_eq!(written(&["--prices", file.to_str().expect("plain")]), 0);
}

/// A model with facts alone keeps its prices; one with neither is an error.
#[test]
fn facts_need_no_prices() {
    let mut table = PriceTable::built_in();
    let before = table.find("claude-opus-5").cloned();
    let facts = "[[model]]\nid = \"claude-opus-5\"\nfacts.frame = 9\n";
    table.overlay(&price_file(facts), "mine.toml").expect("facts alone");
    assert!(before.is_some() && table.find("claude-opus-5").cloned() == before);
    let error = table.overlay(&price_file("[[model]]\nid = \"m\"\n"), "mine.toml");
    let error = error.expect_err("nothing is said").to_string();
    assert_eq!(error, "mine.toml: model `m` has neither a `rate` nor `facts`; add one");
}

#[test]
fn a_wrong_entry_ends_the_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("prices.toml");
    let entries = NEW_MODEL.replace("frame = 20", "frame = \"wide\"");
    fs::write(&file, price_file(&entries)).expect("a file");
    let file = file.to_str().expect("plain");
    let output = run(&["prices", "list", "--prices", file]);
    assert_eq!(output.status.code(), Some(2));
    let error = text(&output.stderr);
    assert!(error.contains(&format!("{file}:11:")), "{error}");
    assert!(error.contains("model `claude-new-9`: `frame` is a whole number"), "{error}");
}
