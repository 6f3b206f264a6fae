//! Hostile names in every field that can carry one, through every command and format. What is printed
//! is read back: names are text there, and nothing that a terminal, a runner, a page or a spreadsheet
//! acts on.

use std::collections::BTreeSet;
use std::fs;

use pulldown_cmark::{Event, Options, Parser, Tag, TextMergeStream};
use rayon::prelude::*;
use serde_json::{Value, json};

use crate::common::{cachesim, is_thorough, project, text};

/// A character that JSON cannot hold. It stands for an escaped lone surrogate.
const LONE: char = '\u{e000}';

/// Names that mean something to a terminal, a runner, a spreadsheet, Markdown, HTML or XML.
const NAMES: [&str; 62] = [
    "\u{1b}[31mred\u{1b}[0m",
    "\u{1b}]0;title\u{7}",
    "\u{9b}2J",
    "a\r::error::x",
    "a\n::error::x",
    "::error::x",
    "::add-mask::x",
    " ::error file=a::x",
    "a ::warning::x ::error::y",
    "\u{a0}::error::x",
    "##[error]x",
    "a##[add-mask]x",
    "##vso[task.setvariable variable=a]b",
    "##teamcity[message text='x']",
    "=1+1",
    "=HYPERLINK(\"http://evil.example\",\"x\")",
    "+x",
    "-x",
    "@x",
    "\t=1+1",
    "\r=1+1",
    " =1+1",
    "＝1+1",
    "＠x",
    "www.evil.example",
    "(www.evil.example)",
    "*www.evil.example",
    "WWW.evil.example",
    "a@b.example",
    "mailto:a@b.example",
    "xmpp:a@b.example/x",
    "http://evil.example",
    "https://evil.example/?a=b|c",
    "ftp://evil.example",
    "<http://evil.example>",
    "[x](http://evil.example)",
    "![x](http://evil.example/x.png)",
    "[x]: http://evil.example",
    "[x][y]",
    "@somebody",
    "#12",
    "owner/repo#12",
    "GH-12",
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "</details><b>x",
    "<!-- x -->",
    "&lt;b&gt;&#60;",
    "]]>",
    "<![CDATA[x",
    "`a`",
    "``a@b`c",
    "a`@x` `http://x`",
    "a|b",
    "a|www.x.example\\|b@c",
    "\\",
    "# x",
    "- x",
    "1. x",
    "\"'",
    "אבג abc",
    "e\u{301}\u{301}\u{301}\u{301}\u{301}",
];

/// Characters that no output may hold.
const CHARACTERS: [char; 40] = [
    '\0',
    '\u{1}',
    '\u{7}',
    '\u{8}',
    '\t',
    '\n',
    '\u{b}',
    '\u{c}',
    '\r',
    '\u{e}',
    '\u{1b}',
    '\u{7f}',
    '\u{80}',
    '\u{85}',
    '\u{9b}',
    '\u{9d}',
    '\u{ad}',
    '\u{61c}',
    '\u{180e}',
    '\u{200b}',
    '\u{200c}',
    '\u{200d}',
    '\u{200e}',
    '\u{200f}',
    '\u{2028}',
    '\u{2029}',
    '\u{202a}',
    '\u{202b}',
    '\u{202c}',
    '\u{202d}',
    '\u{202e}',
    '\u{2060}',
    '\u{2066}',
    '\u{2069}',
    '\u{206f}',
    '\u{feff}',
    '\u{fff9}',
    '\u{fffe}',
    '\u{ffff}',
    '\u{e0041}',
];

/// A hundred names and a few more.
fn names() -> Vec<String> {
    let mut names: Vec<String> = NAMES.iter().map(|name| (*name).to_owned()).collect();
    names.extend(CHARACTERS.iter().map(|c| format!("a{c}b")));
    names.extend(["x".repeat(300), format!("a{LONE}b"), "日本 語".repeat(40)]);
    names
}

/// Fields whose values are names. Values that have to differ still do.
const FIELDS: [&str; 20] = [
    "sessionId",
    "session_id",
    "agentId",
    "agent_id",
    "agentType",
    "subagent_type",
    "agentSetting",
    "requestId",
    "request_id",
    "message_id",
    "cwd",
    "gitBranch",
    "version",
    "name",
    "effort",
    "user_id",
    "aiTitle",
    "slug",
    "originalModel",
    "service_tier",
];

/// Puts a name before every name of a line, and a suffix behind it. A model is the name alone.
fn plant(value: &mut Value, name: &str, suffix: &str) {
    match value {
        Value::Object(fields) => {
            for (field, value) in fields.iter_mut() {
                match value {
                    Value::String(old) if FIELDS.contains(&field.as_str()) => {
                        *old = format!("{name}{old}{suffix}");
                    }
                    Value::String(model) if field == "model" => name.clone_into(model),
                    _ => plant(value, name, suffix),
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| plant(value, name, suffix)),
        _ => {}
    }
}

/// Folders with sessions of several kinds under a few names, in files of these names.
struct Sessions(tempfile::TempDir);

impl Sessions {
    fn new(names: &[String]) -> Self {
        let sessions = Self(tempfile::tempdir().expect("a folder"));
        sessions.write("config.toml", CONFIG);
        let model = |name: &String| {
            format!(
                "[[model]]\nid = {}\n[[model.rate]]\ninput = \"1\"\ncache_read = \"1\"\noutput = \"2\"\n",
                toml_string(name)
            )
        };
        let head =
            "schema = \"cachesim.prices/v1\"\nid = \"\\u001Bwww.x\"\nas_of = \"2026-08-01\"\n";
        sessions.write(
            "prices.toml",
            &(head.to_owned() + &names.iter().map(model).collect::<String>()),
        );
        for (number, name) in names.iter().enumerate() {
            let plain = name.chars().filter(|c| !matches!(*c, '/' | '\0' | LONE));
            let file = format!("{}{number}.jsonl", plain.take(40).collect::<String>());
            for (folder, fixture) in [
                ("transcripts/breaks", "break-inside-ttl"),
                ("transcripts/agents", "sub-agents"),
                ("captures/tools", "unsorted-tools"),
                ("captures/logs", "claude-trace-log"),
                ("captures/clock", "captured-clock"),
                ("bundles", "bundled-session"),
            ] {
                // A known model has prices.
                let is_known = matches!(fixture, "break-inside-ttl" | "captured-clock");
                let lines = lines(fixture, name, fixture, is_known);
                sessions.write(&format!("{folder}/{file}"), &lines);
            }
            // The ids of its requests stay as they are, so that one can be named.
            let escaped = json!(name).to_string().replace(LONE, "\\ud800");
            let of_request = format!("{}req", escaped.trim_matches('"'));
            let told = lines("break-inside-ttl", name, "", true).replace(&of_request, "req");
            sessions.write(&format!("told{number}/{file}"), &told);
        }
        sessions
    }

    fn write(&self, name: &str, content: &str) {
        let path = self.0.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, content).expect("a file");
    }

    /// The files of a folder.
    fn files(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.0.path().join(folder)).expect("a folder");
        let name = |entry: std::io::Result<fs::DirEntry>| entry.expect("an entry").file_name();
        entries.map(|entry| format!("{folder}/{}", name(entry).display())).collect()
    }

    /// What a run prints on both streams. It may fail, but not by a bug.
    fn run(&self, arguments: &[&str]) -> [String; 2] {
        let output = cachesim().current_dir(self.0.path()).args(arguments).output();
        let output = output.expect("the program runs");
        let code = output.status.code();
        let streams = [text(&output.stdout), text(&output.stderr)];
        assert!(code.is_some_and(|code| code < 70), "{arguments:?}: {}", streams[1]);
        streams
    }
}

/// The lines of a fixture with a name planted, and a title.
fn lines(fixture: &str, name: &str, suffix: &str, has_known_model: bool) -> String {
    let all = fs::read_to_string(project("fixtures").join(fixture).join("session.jsonl"));
    let mut lines = String::new();
    for line in all.expect("a fixture").lines() {
        let mut value: Value = serde_json::from_str(line).expect("JSON");
        let model = value.pointer("/message/model").or(value.pointer("/request/model")).cloned();
        plant(&mut value, name, suffix);
        for place in ["/message/model", "/request/model"] {
            if let (true, Some(model), Some(planted)) =
                (has_known_model, &model, value.pointer_mut(place))
            {
                model.clone_into(planted);
            }
        }
        lines += &value.to_string().replace(LONE, "\\ud800");
        lines.push('\n');
        if let Some(session) = value.get("sessionId") {
            let title = json!({"type": "ai-title", "aiTitle": name, "sessionId": session});
            lines += &title.to_string().replace(LONE, "\\ud800");
            lines.push('\n');
        }
    }
    lines
}

const CONFIG: &str = "
[[budget]]
metric = \"cost_per_session\"
max = \"0.0001 USD\"
message = \"\\u001B[31m::error::x www.evil.example \\uFFFE a@b.example\"

[[budget]]
metric = \"breaks\"
max = 0

[[budget]]
metric = \"lint_findings\"
max = 0
level = \"warn\"
";

/// Commands over sessions with their formats. `table` is what a terminal shows.
const RUNS: [(&str, &str); 27] = [
    ("analyze transcripts captures --show-text", "table markdown json jsonl csv"),
    ("analyze transcripts --by session", "table markdown json csv"),
    ("analyze transcripts --by model", "table markdown json csv"),
    ("analyze transcripts --by project", "table markdown json csv"),
    ("analyze transcripts --by agent-type", "table markdown json csv"),
    ("analyze transcripts --by branch", "table markdown json csv"),
    ("analyze transcripts --by client", "table markdown json csv"),
    ("compare transcripts captures", "table markdown json jsonl csv"),
    ("breaks transcripts captures --show-text --top 1000", "table markdown json jsonl csv"),
    ("advise transcripts captures", "table markdown json"),
    ("context transcripts captures --top 1000", "table markdown json"),
    ("blocks transcripts captures --top 1000", "table markdown json"),
    ("verify transcripts captures", "table markdown json"),
    ("lint captures bundles", "text markdown json sarif"),
    (
        "check captures --config config.toml --show-text",
        "text markdown summary json junit sarif report",
    ),
    ("config show --config config.toml", "table json markdown"),
    ("chart turns transcripts", "svg"),
    ("chart cost transcripts captures", "svg"),
    ("chart strategies transcripts captures", "svg"),
    ("chart breaks transcripts captures", "svg"),
    ("chart context transcripts", "svg"),
    ("chart daily transcripts captures", "svg"),
    ("chart waterfall transcripts captures", "svg"),
    ("prices list --prices prices.toml", "table markdown json"),
    ("compare transcripts captures --prices prices.toml", "table markdown json csv"),
    ("place bundles", ""),
    ("report transcripts captures --show-text -o -", ""),
];

/// A string of TOML, with every character escaped.
fn toml_string(text: &str) -> String {
    let escaped: Vec<String> = text.chars().map(|c| format!("\\U{:08X}", u32::from(c))).collect();
    format!("\"{}\"", escaped.concat())
}

/// Whether a character controls a terminal, hides text or changes its direction.
fn is_hostile(c: char) -> bool {
    CHARACTERS.contains(&c) || c.is_control() || ('\u{200b}'..='\u{200f}').contains(&c)
}

/// A terminal shows all of it, and a runner takes no line for a command.
fn assert_inert(page: &str, run: &str) {
    let hostile: BTreeSet<char> = page.chars().filter(|c| *c != '\n' && is_hostile(*c)).collect();
    assert!(hostile.is_empty(), "{run}: {hostile:?}");
    for line in page.lines() {
        let start = line.trim_start();
        let is_command =
            ["::", "##[", "##vso[", "##teamcity["].iter().any(|key| start.starts_with(key));
        assert!(!is_command, "{run}: {line}");
    }
}

/// Nothing of it is a link, a picture or markup, here or where a code host looks for more.
fn assert_plain_markdown(page: &str, run: &str) {
    let mut is_ours = false;
    for event in TextMergeStream::new(Parser::new_ext(page, Options::all())) {
        match event {
            Event::Start(Tag::Link { .. } | Tag::Image { .. } | Tag::CodeBlock(_)) => {
                panic!("{run}: {event:?}")
            }
            Event::Start(Tag::HtmlBlock) => is_ours = true,
            Event::Html(html) => {
                let html = html.trim();
                is_ours &= ["<details><summary>", "</details>", "<!-- cachesim"]
                    .iter()
                    .any(|own| html.starts_with(own));
                assert!(is_ours, "{run}: {html}");
            }
            Event::InlineHtml(html) => panic!("{run}: {html}"),
            Event::Text(words) => {
                let words = words.to_lowercase();
                let is_link =
                    ["@", "://", "www.", "gh-1", "#1"].iter().any(|key| words.contains(key));
                assert!(!is_link, "{run}: {words}");
            }
            _ => {}
        }
    }
}

/// No cell is a formula.
fn assert_plain_cells(page: &str, run: &str) {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(page.as_bytes());
    for record in reader.records() {
        for cell in &record.expect("a record") {
            let is_formula =
                cell.trim_start().starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠']);
            assert!(!is_formula || cell.parse::<f64>().is_ok(), "{run}: {cell}");
        }
    }
}

/// What a format is read back as.
fn assert_read_back(format: &str, page: &str, run: &str) {
    match format {
        "markdown" | "summary" => assert_plain_markdown(page, run),
        "csv" => assert_plain_cells(page, run),
        "json" | "sarif" | "report" => {
            serde_json::from_str::<Value>(page).unwrap_or_else(|error| panic!("{run}: {error}"));
        }
        "jsonl" => {
            for line in page.lines() {
                serde_json::from_str::<Value>(line)
                    .unwrap_or_else(|error| panic!("{run}: {error}"));
            }
        }
        "junit" | "svg" => {
            roxmltree::Document::parse(page).unwrap_or_else(|error| panic!("{run}: {error}"));
        }
        _ => {}
    }
}

/// All names, as many at once as tables show.
fn batches() -> Vec<Vec<String>> {
    names().chunks(5).map(<[String]>::to_vec).collect()
}

/// Runs a command in each of its formats, and reads back what it prints.
fn assert_names_are_text(sessions: &Sessions, command: &str, formats: &str, names: &[String]) {
    let words: Vec<&str> = command.split(' ').collect();
    for format in formats.split(' ') {
        let asked = if format.is_empty() { vec![] } else { vec!["--format", format] };
        let run = format!("{command} {format} {names:?}");
        let [page, errors] = sessions.run(&[&words[..], &asked].concat());
        assert!(!page.is_empty(), "{run}: {errors}");
        assert_inert(&page, &run);
        assert_inert(&errors, &run);
        assert_read_back(format, &page, &run);
    }
}

#[test]
fn a_hundred_names_are_text_in_every_output() {
    if !is_thorough() {
        return;
    }
    assert!(names().len() > 100);
    batches().par_iter().for_each(|names| {
        let sessions = Sessions::new(names);
        for (command, formats) in RUNS {
            assert_names_are_text(&sessions, command, formats, names);
        }
        for file in sessions.files("captures/tools") {
            let [page, errors] = sessions.run(&["redact", &file, "-o", "-"]);
            assert!(!page.is_empty(), "{file}: {errors}");
            // Its lines are as long as those of the input, so names of tools keep their bytes.
            let whole = page.replace("\\ud800", "");
            assert_read_back("jsonl", &whole, &format!("redact {file}"));
            assert_inert(&errors, &format!("redact {file}"));
        }
        for number in 0..names.len() {
            let command = format!("explain req_B told{number} --show-text");
            assert_names_are_text(&sessions, &command, "table markdown json", names);
        }
    });
}

/// Options whose values a runner may take from a pull request.
#[test]
fn errors_quote_names_as_text() {
    if !is_thorough() {
        return;
    }
    let batches = batches();
    batches.par_iter().for_each(|names| {
        let sessions = Sessions::new(names);
        for name in names.iter().filter(|name| !name.contains('\0')) {
            let strategies = format!(
                "schema = \"cachesim.strategy/v1\"\n[[strategy]]\nname = {}\nttl = \"5m\"\n",
                toml_string(name)
            );
            sessions.write("named.toml", &strategies);
            let own = format!("--strategy={name}");
            for arguments in [
                &["analyze", "told0", &own][..],
                &["analyze", "told0", "--strategy", "named.toml"],
                &["analyze", "told0", &format!("--session={name}none")],
                &["analyze", "told0", &format!("--model={name}none")],
                &["analyze", "told0", &format!("--format={name}")],
                &["analyze", "told0", &format!("--by={name}")],
                &["analyze", "--", &format!("none/{name}")],
                &["analyze", "told0", &format!("--prices=none/{name}")],
                &["analyze", "told0", &format!("--strategy=none/{name}.toml")],
                &["analyze", "told0", &format!("--config=none/{name}")],
                &["analyze", "told0", &format!("--output=none/{name}")],
                &["check", "told0", &format!("--baseline=none/{name}")],
                &["check", "told0", &format!("--tag={name}!")],
                &["compare", "told0", &format!("--fail-if={name}")],
                &["explain", "--", name, "told0"],
                &["prices", "show", "--", name],
                &[&format!("x{name}")],
            ] {
                let streams = sessions.run(arguments);
                for stream in &streams {
                    assert_inert(stream, &format!("{arguments:?}"));
                }
            }
        }
    });
}
