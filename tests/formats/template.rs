//! `advise --apply CODE --template FILE`: the patch is one that `patch` takes, leaves all else of real requests as it is,
//! and gives them the markers of the strategy.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::common::{files, json as json_of, project, run, shared, skip, stdout, text, utf8};

/// The strategies that only place markers, or say how long these last.
const STRATEGIES: [&str; 11] = [
    "none",
    "5m",
    "1h",
    "1h-main-5m-agents",
    "5m-main-1h-agents",
    "mixed",
    "system-only",
    "last-message",
    "last-two",
    "every-10",
    "four-even",
];

/// What a template becomes under what the program printed; `None`, noted, without `patch`.
fn patched(file: &Path, printed: &str) -> Option<String> {
    let to = file.with_extension("new");
    let patch = Command::new("patch")
        .args(["--quiet", "-o", utf8(&to), utf8(file)])
        .stdin(Stdio::piped())
        .spawn();
    let Ok(mut patch) = patch else {
        skip("patch");
        return None;
    };
    patch.stdin.take().expect("an input").write_all(printed.as_bytes()).expect("it reads");
    assert!(patch.wait().expect("it ends").success(), "{printed}");
    Some(fs::read_to_string(to).expect("a file"))
}

/// The blocks of a body in the order of its prompt, each with its marker apart.
fn blocks(body: &Value) -> Vec<(Value, Value)> {
    let list = |content: &Value| match content {
        Value::String(text) => vec![json!({"type": "text", "text": text})],
        other => other.as_array().cloned().unwrap_or_default(),
    };
    let tools = list(&body["tools"]).into_iter().filter(|tool| tool["defer_loading"] != true);
    let messages = body["messages"].as_array().expect("messages").iter();
    let all = tools
        .chain(list(&body["system"]))
        .chain(messages.flat_map(|message| list(&message["content"])));
    let apart = |mut block: Value| {
        let marker = block.as_object_mut().and_then(|fields| fields.remove("cache_control"));
        (block, marker.unwrap_or_default())
    };
    all.map(apart).collect()
}

/// Every request of recorded exchanges, each once.
fn recorded() -> Vec<Value> {
    let Some(folder) = shared("captures") else { return Vec::new() };
    let mut bodies: Vec<Value> = Vec::new();
    for file in files(folder, ".jsonl") {
        for line in fs::read_to_string(file).expect("a capture").lines() {
            let record: Value = serde_json::from_str(line).expect("a line");
            let body = &record["request"];
            if body["messages"].is_array() && !bodies.contains(body) {
                bodies.push(body.clone());
            }
        }
    }
    bodies
}

#[test]
fn patches_of_real_requests_change_markers_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("request.json");
    let (mut made, mut bodies) = (0, 0);
    for body in recorded() {
        bodies += 1;
        fs::write(&file, serde_json::to_string_pretty(&body).expect("JSON")).expect("a file");
        for name in STRATEGIES {
            let arguments = ["advise", "--apply", name, "--template", utf8(&file)];
            let output = run(&arguments);
            let said = text(&output.stderr);
            if said.contains("it has no marker whose lifetime could be set") {
                continue;
            }
            assert!(output.status.success(), "{name}: {said}");
            let printed = text(&output.stdout);
            if printed.contains("there is no patch") {
                assert!(!printed.contains("@@"), "{printed}");
                continue;
            }
            let Some(after) = patched(&file, &printed) else { return };
            let after: Value = serde_json::from_str(&after).expect("JSON");
            let (before, blocks) = (blocks(&body), blocks(&after));
            let content = |blocks: &[(Value, Value)]| {
                blocks.iter().map(|(block, _)| block.clone()).collect::<Vec<_>>()
            };
            assert_eq!(content(&before), content(&blocks), "{name}");
            let marked: Vec<usize> =
                (0..blocks.len()).filter(|at| blocks[*at].1.is_object()).collect();
            let own = usize::from(after["cache_control"].is_object());
            assert!(marked.len() + own <= 4, "{name}: {marked:?}");
            let hours = blocks
                .iter()
                .filter(|(_, marker)| marker.is_object())
                .map(|(_, marker)| marker["ttl"] == "1h");
            assert!(
                hours.is_sorted_by(|one, next| one >= next),
                "{name}: an hour after five minutes"
            );
            // What each of them says, from the rules.
            let system = blocks.len()
                - body["messages"].as_array().map_or(0, |messages| {
                    messages
                        .iter()
                        .map(|message| message["content"].as_array().map_or(1, Vec::len))
                        .sum()
                });
            for (at, (_, marker)) in
                blocks.iter().enumerate().filter(|(_, (_, marker))| marker.is_object())
            {
                let hour = marker["ttl"] == "1h";
                match name {
                    "1h" | "1h-main-5m-agents" => assert!(hour, "{marker}"),
                    "5m" | "5m-main-1h-agents" => assert!(!hour, "{marker}"),
                    "mixed" => assert_eq!(hour, at < system, "{marker}"),
                    _ => {}
                }
            }
            match name {
                "none" => assert!(marked.is_empty() && own == 0),
                "system-only" => assert_eq!((marked.len(), marked[0] < system), (1, true)),
                "last-message" => assert_eq!(marked, [blocks.len() - 1]),
                "last-two" | "four-even" => assert_eq!(marked.last(), Some(&(blocks.len() - 1))),
                _ => {}
            }
            made += 1;
            let done = folder.path().join("request.new");
            assert!(
                stdout(&["advise", "--apply", name, "--template", utf8(&done)])
                    .contains("no patch"),
                "{name}"
            );
        }
    }
    assert!(bodies == 0 || made >= 2 * bodies, "{made} patches of {bodies} requests");
}

/// Whatever the lines of a template look like, `patch` applies what is printed, and nothing but the marker is new.
#[test]
fn every_form_of_lines_can_be_patched() {
    let folder = tempfile::tempdir().expect("a folder");
    let lines = "{\n\t// of the agent\n\t\"system\": [\n\t\t{\"type\": \"text\", \"text\": \"You act.\"},\n\t],\n}";
    let one = r#"{"system":[{"type":"text","text":"You act."}]}"#;
    let forms = [
        lines.to_owned(),
        lines.to_owned() + "\n",
        lines.replace('\n', "\r\n"),
        lines.replace('\n', "\r\n") + "\r\n",
        format!("\u{feff}{lines}\n"),
        one.to_owned(),
        format!("{one}\n"),
        format!("{one}\r"),
        format!("{one}\r\r"),
        format!("\r\n\r{one}\n\n"),
    ];
    for (number, form) in forms.iter().enumerate() {
        let file = folder.path().join(format!("a request {number}.json"));
        fs::write(&file, form).expect("a file");
        let printed = stdout(&["advise", "--apply", "system-only", "--template", utf8(&file)]);
        let Some(after) = patched(&file, &printed) else { return };
        // It is spaced as its neighbours are.
        let space = if form.contains(r#"", "text""#) { " " } else { "" };
        let joined = format!(r#",{space}"cache_control": {{"type": "ephemeral"}}}}"#);
        assert_eq!(after, form.replace("act.\"}", &format!("act.\"{joined}")), "{form:?}");
    }
}

#[test]
fn a_number_of_the_list_is_as_good_as_its_code() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("request.json");
    let system = json!([{"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}]);
    let body = json!({"model": "claude-opus-5", "system": system, "messages": []});
    fs::write(&file, serde_json::to_string_pretty(&body).expect("JSON")).expect("a file");
    let session = project("fixtures/advised");
    let advice = json_of(&["advise", utf8(&session), "--json"]);
    let changes = advice["advice"]["changes"].as_array().expect("changes");
    let codes: Vec<&str> =
        changes.iter().map(|change| change["code"].as_str().expect("a code")).collect();
    for (place, code) in codes.iter().enumerate() {
        let number = (place + 1).to_string();
        let template = ["--template", utf8(&file)];
        let by_number =
            run(&[&["advise", utf8(&session), "--apply", &number][..], &template].concat());
        let by_code = run(&[&["advise", "--apply", code][..], &template].concat());
        assert_eq!(by_number.status.code(), by_code.status.code(), "{code}");
        assert_eq!(text(&by_number.stdout), text(&by_code.stdout), "{code}");
        assert_eq!(by_code.status.success(), STRATEGIES.contains(code), "{code}");
    }
}

#[test]
fn what_is_no_change_of_markers_is_refused_and_nothing_is_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("request.json");
    fs::write(&file, "{\"model\": \"m\", \"messages\": []}").expect("a file");
    let refused = |code: &str, file: &Path| {
        let output = run(&["advise", "--apply", code, "--template", utf8(file)]);
        assert!(output.stdout.is_empty(), "{code}");
        (output.status.code(), text(&output.stderr))
    };
    for (code, why) in [
        ("tools-sorted", "tools-sorted is more than a place or a lifetime of markers"),
        ("latched-ttl", "latched-ttl is more"),
        ("cheapest-layout", "cheapest-layout is more"),
        ("optimal", "optimal is more"),
        ("last-too", "`last-too` is unknown (did you mean `last-two`"),
    ] {
        let (status, said) = refused(code, &file);
        assert!(status == Some(2) && said.contains(why), "{code}: {said}");
    }
    let (status, said) = refused("last-two", &folder.path().join("missing.json"));
    assert!(status == Some(3) && said.contains("cannot read it"), "{said}");
    let output = run(&["advise", "--template", utf8(&file)]);
    assert_eq!(output.status.code(), Some(2), "a change is named");
    let left = fs::read_dir(folder.path()).expect("a folder").count();
    assert_eq!(left, 1);
}
