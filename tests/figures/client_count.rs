//! Clients' own counts beside the sums of lines, on a fixture worked out by hand.

use crate::common::{fixture, stdout};

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
