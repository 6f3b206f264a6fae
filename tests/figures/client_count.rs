//! Clients' own counts beside the sums of lines, on a fixture worked out by hand.

use crate::common::{cachesim, fixture, json, stdout, text};

/// Lines of the answer about the client's count, with single spaces.
fn count(file: &str) -> Vec<String> {
    let page = stdout(&["analyze", &fixture(&format!("client-count/{file}")), "-q"]);
    let answer = page.lines().take_while(|line| !line.is_empty());
    let lines = answer.skip_while(|line| !line.starts_with("Client's count"));
    let own = lines.enumerate().take_while(|(at, line)| *at == 0 || line.starts_with("  "));
    own.map(|(_, line)| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn each_difference_has_its_reason() {
    for (file, expected) in [
        ("same.jsonl", &["Client's count $0.0138 the same as the lines of 1 session"][..]),
        (
            "without-line.jsonl",
            &[
                "Client's count $0.0168 against $0.0138 by the lines of 1 session",
                "no line $0.0030 requests that leave no line: claude-sonnet-4-5-20250929",
            ],
        ),
        (
            "cut-output.jsonl",
            &[
                "Client's count $0.0143 against $0.0138 by the lines of 1 session",
                "cut output $0.0005 output that the lines do not have",
            ],
        ),
        (
            "another-price.jsonl",
            &[
                "Client's count $0.0238 against $0.0138 by the lines of 1 session",
                "unexplained $0.0100 claude-haiku-4-5-20251001 after line 5 of c057a7e0",
            ],
        ),
        ("counted-anew.jsonl", &["Client's count $0.0138 the same as the lines of 1 session"]),
    ] {
        assert_eq!(count(file), expected, "{file}");
    }
}

#[test]
fn counts_of_sessions_add_up() {
    assert_eq!(
        count(""),
        [
            "Client's count $0.0824 against $0.0689 by the lines of 5 sessions",
            "no line $0.0030 requests that leave no line: claude-sonnet-4-5-20250929",
            "cut output $0.0005 output that the lines do not have",
            "unexplained $0.0100 claude-haiku-4-5-20251001 after line 5 of c057a7e0",
        ]
    );
}

#[test]
fn verify_has_the_count_of_each_session() {
    let of = |file: &str| {
        let page = json(&["verify", &fixture(&format!("client-count/{file}")), "--format", "json"]);
        let counts = page["client_counts"].as_object().expect("counts").clone();
        assert_eq!(counts.len(), 1, "{file}");
        counts.into_values().next().expect("a count")
    };
    let whole = of("same.jsonl");
    assert_eq!(
        (&whole["counted_usd"], &whole["of_lines_usd"]),
        (&"0.01377".into(), &"0.01377".into())
    );
    assert_eq!(whole["differences"], serde_json::json!([]));
    let other = of("another-price.jsonl");
    assert_eq!(other["counted_usd"], "0.02377");
    let found = &other["differences"][0];
    assert_eq!((&found["cost_usd"], &found["line"]), (&"0.01".into(), &5.into()));
    let without = of("without-line.jsonl");
    assert_eq!(without["without_line_usd"]["claude-sonnet-4-5-20250929"], "0.003");
}

#[test]
fn a_difference_can_have_a_budget() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = folder.path().join("config.toml");
    let budget = "[[budget]]\nmetric = \"client_difference\"\nmax = \"0.001 USD\"\n";
    std::fs::write(&config, budget).expect("a file");
    for (path, code) in [
        ("client-count/same.jsonl", 0),
        ("client-count/without-line.jsonl", 0),
        ("client-count/another-price.jsonl", 1),
        // A budget on what is not there is a mistake.
        ("first-look", 3),
    ] {
        let mut command = cachesim();
        command.args(["check", &fixture(path), "--config"]).arg(&config);
        let output = command.output().expect("the program runs");
        assert_eq!(output.status.code(), Some(code), "{path}: {}", text(&output.stderr));
    }
}
