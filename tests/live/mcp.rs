//! The server of the Model Context Protocol: the protocol's reference client is answered as the command line
//! is; calls are cancelled; nothing outside of the folders is read, whatever a client says; it ends with its client.
//!
//! The reference client is an npm package; what it was asked and told passes through `mcp/client.cjs`.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use walkdir::WalkDir;

use crate::common::{
    json as json_of, names, project, run, shared, signal, skip, stdout, text, utf8,
};

/// The program with these arguments, in an environment that holds nothing of the user's.
fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cachesim"));
    command.args(arguments).env_clear().env("HOME", "/nonexistent");
    command.env("CACHESIM_NO_CONFIG", "1").env("SOURCE_DATE_EPOCH", "1796083200");
    command
}

/// What steps of the reference client came to; `None`, noted, where it is not there.
fn reference_client(folders: &[&Path], steps: &Value) -> Option<Vec<Value>> {
    let modules = project("target/mcp/node_modules");
    let node = Command::new("node").arg("--version").output();
    if !modules.exists() || !node.is_ok_and(|node| node.status.success()) {
        skip("@modelcontextprotocol/sdk");
        return None;
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut client = Command::new("node")
        .arg(project("tests/live/mcp/client.cjs"))
        .args([env!("CARGO_BIN_EXE_cachesim"), "mcp"])
        .args(folders)
        .env_clear()
        .envs([("HOME", "/nonexistent"), ("CACHESIM_NO_CONFIG", "1")])
        .envs([("NODE_PATH", modules.as_os_str()), ("PATH", &path)])
        .env("SOURCE_DATE_EPOCH", "1796083200")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("node runs");
    let mut input = client.stdin.take().expect("an input");
    input.write_all(steps.to_string().as_bytes()).expect("it reads");
    drop(input);
    let output = client.wait_with_output().expect("it ends");
    assert_eq!(text(&output.stderr), "", "nothing is said beside the protocol");
    let mut results: Vec<Value> = serde_json::from_slice(&output.stdout).expect("results");
    assert_eq!(results.pop(), Some(json!({"isGone": true})), "the server ends with its client");
    Some(results)
}

fn call(tool: &str, arguments: &Value) -> Value {
    json!({"do": "call", "call": {"name": tool, "arguments": arguments}})
}

/// The blocks of text of an answer, and whether it is an error.
fn told(answer: &Value) -> (bool, Vec<&str>) {
    let blocks = answer["content"].as_array().unwrap_or_else(|| panic!("no content: {answer}"));
    let texts = blocks.iter().map(|block| block["text"].as_str().expect("text"));
    (answer["isError"] == true, texts.collect())
}

/// A folder with a session, a folder beside it with a secret one, and links from the one to the other.
struct Folders(TempDir);

impl Folders {
    fn new() -> Self {
        let folders = Self(tempfile::tempdir().expect("a folder"));
        let (inside, outside) = (folders.inside(), folders.at("out"));
        fs::create_dir_all(inside.join("project")).expect("folders");
        fs::create_dir(&outside).expect("a folder");
        let session = fs::read_to_string(project("fixtures/first-look/session.jsonl"));
        let session = session.expect("a session");
        fs::write(inside.join("project/session.jsonl"), &session).expect("a file");
        let secret = session.replace("5e1f0000", "5ec2e700");
        fs::write(outside.join("secret.jsonl"), secret).expect("a file");
        symlink(outside.join("secret.jsonl"), inside.join("link.jsonl")).expect("a link");
        symlink(&outside, inside.join("elsewhere")).expect("a link");
        folders
    }

    /// A file in the folder that takes minutes to read: a terabyte of nothing, which takes no place on the disk.
    fn with_endless_file(self) -> Self {
        let file = File::create(self.inside().join("endless.jsonl")).expect("a file");
        file.set_len(1 << 40).expect("a file with a hole");
        self
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().canonicalize().expect("a folder").join(name)
    }

    fn inside(&self) -> PathBuf {
        self.at("in")
    }
}

#[test]
fn the_reference_client_lists_the_tools() {
    let folders = Folders::new();
    let steps = json!([{"do": "initialized"}, {"do": "list"}]);
    let Some(results) = reference_client(&[&folders.inside()], &steps) else { return };
    assert_eq!(results[0]["server"]["name"], "cachesim");
    assert_eq!(results[0]["server"]["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(results[0]["capabilities"], json!({"tools": {}}));
    let tools = results[1]["tools"].as_array().expect("tools");
    let names: Vec<_> = tools.iter().map(|tool| tool["name"].as_str().expect("a name")).collect();
    assert_eq!(names, ["analyze", "breaks", "advise", "explain"]);
    for tool in tools {
        let hints = &tool["annotations"];
        assert_eq!(
            (&hints["readOnlyHint"], &hints["openWorldHint"]),
            (&json!(true), &json!(false))
        );
        let schema = &tool["inputSchema"];
        jsonschema::meta::validate(schema).expect("a schema");
        let help = stdout(&[tool["name"].as_str().expect("a name"), "--help"]);
        for (name, told) in schema["properties"].as_object().expect("properties") {
            let is_own = ["path", "request"].contains(&name.as_str());
            assert!(is_own || help.contains(&format!("--{name}")), "{name}");
            assert!(told["description"].as_str().is_some_and(|words| !words.is_empty()), "{name}");
        }
        let is_valid = |call: &Value| jsonschema::is_valid(schema, call);
        assert_eq!(is_valid(&json!({"request": "req_D"})), tool["name"] == "explain");
        assert_eq!(is_valid(&json!({})), tool["name"] != "explain");
        assert!(!is_valid(&json!({"request": "req_D", "output": "x"})));
    }
}

/// Each tool answers, in each format, with the bytes of its command.
#[test]
fn tools_answer_as_their_commands_do() {
    let folders = Folders::new();
    let root = folders.inside();
    let root = utf8(&root);
    let asked = [
        ("analyze", json!({}), vec!["--turns=events"]),
        ("analyze", json!({"turns": "all"}), vec!["--turns=all"]),
        (
            "analyze",
            json!({"by": "model", "strategy": ["none", "5m"]}),
            vec!["--by=model", "--strategy=none,5m", "--turns=events"],
        ),
        ("breaks", json!({"top": 1}), vec!["--top=1"]),
        (
            "advise",
            json!({"since": "2026-08-03", "live": true}),
            vec!["--since=2026-08-03", "--live"],
        ),
        ("explain", json!({"request": "req_D"}), vec!["req_D"]),
        ("explain", json!({"request": "project/session.jsonl:9"}), vec!["project/session.jsonl:9"]),
    ];
    let mut steps = Vec::new();
    let mut expected = Vec::new();
    for (tool, arguments, words) in &asked {
        for format in ["table", "markdown", "json"] {
            let mut arguments = arguments.clone();
            arguments["path"] = "project".into();
            arguments["format"] = format.into();
            steps.push(call(tool, &arguments));
            let whole = format!("{root}/project");
            let mut line = vec![*tool];
            line.extend(words);
            line.extend([&*whole, "--root", root, "--format", format]);
            expected.push((format, stdout(&line)));
        }
    }
    let Some(results) = reference_client(&[&folders.inside()], &steps.into()) else { return };
    assert_eq!(results.len(), expected.len());
    for (answer, (format, expected)) in results.iter().zip(expected) {
        assert_eq!(told(answer), (false, vec![&*expected]));
        let structured = if format == "json" { json!(true) } else { Value::Null };
        assert_eq!(answer["isAsTold"], structured);
    }
}

#[test]
fn a_call_that_is_cancelled_ends() {
    let folders = Folders::new().with_endless_file();
    let pipe = json!({"name": "analyze", "arguments": {"path": "endless.jsonl"}});
    let steps = json!([
        {"do": "cancel", "call": pipe},
        call("breaks", &json!({"path": "project/session.jsonl"})),
        {"do": "cancel", "call": pipe},
        {"do": "together", "calls": vec![json!({"name": "advise", "arguments": {"path": "project/session.jsonl"}}); 8]},
    ]);
    let Some(results) = reference_client(&[&folders.inside()], &steps) else { return };
    let cancelled = json!({"hasBegun": true, "call": "cancelled", "hasEnded": true});
    assert_eq!((&results[0], &results[2]), (&cancelled, &cancelled));
    assert!(!told(&results[1]).0);
    let together = results[3].as_array().expect("answers");
    assert!(together.iter().all(|answer| !told(answer).0 && answer == &together[0]));
}

#[test]
fn hostile_paths_and_arguments_are_refused() {
    let folders = Folders::new();
    let outside = folders.at("out/secret.jsonl");
    let pipe = folders.inside().join("project/pipe.jsonl");
    assert!(Command::new("mkfifo").arg(pipe).status().expect("mkfifo runs").success());
    let before = (names(&folders.inside()), names(&folders.at("out")));
    let no_file = |path: &str| (json!({"path": path}), "is not in");
    let refused = [
        no_file(utf8(&outside)),
        no_file("../out"),
        no_file("../out/secret.jsonl"),
        no_file("project/../../out/secret.jsonl"),
        no_file("link.jsonl"),
        no_file("elsewhere"),
        no_file("elsewhere/secret.jsonl"),
        no_file("elsewhere/missing.jsonl"),
        no_file("/"),
        no_file("/etc/passwd"),
        no_file("/proc/self/environ"),
        no_file("~/.ssh/id_rsa"),
        (json!({"path": "project/pipe.jsonl"}), "it is a pipe"),
        (json!({"path": "missing.jsonl"}), "No such file"),
        (json!({"path": "--output=written.json"}), "No such file"),
        (json!({"path": "-"}), "No such file"),
        (json!({"path": "a\u{0}b"}), "nul byte"),
        (json!({"path": ""}), "path: give"),
        (json!({"path": 7}), "path: give"),
        (json!({"path": ["project"]}), "path: give"),
        (json!({"output": "written.json"}), "`output` is unknown"),
        (json!({"\u{1b}[3m": 1}), "is unknown"),
        (json!({"strategy": "\u{1b}[3m"}), "is unknown"),
        (json!({"root": "/"}), "`root` is unknown"),
        (json!({"inside": ["/"]}), "`inside` is unknown"),
        (json!({"show-text": true}), "`show-text` is unknown"),
        (json!({"paths_from": "/etc/passwd"}), "`paths_from` is unknown"),
        (json!({"prices": "/etc/passwd"}), "`prices` is unknown"),
        (json!({"session": ["--inside=/"]}), "--session"),
        (json!({"since": "--output=written.json"}), "--since"),
        (json!({"timezone": "../../etc/passwd"}), "no time zone"),
        (json!({"top": -1}), "--top"),
        (json!({"top": "3 --output=written.json"}), "--top"),
        (json!({"format": "parquet"}), "format: give one of"),
        (json!({"strategy": utf8(&folders.at("out/own.toml"))}), "is unknown"),
        (json!({"session": "x".repeat(300_000)}), "cannot run"),
        (json!({"project": "\u{1b}]0;owned\u{7}"}), "is not in the input"),
    ];
    let mut steps: Vec<Value> =
        refused.iter().map(|(call, _)| self::call("analyze", call)).collect();
    steps.push(call("explain", &json!({"request": "--inside=/", "path": "project/session.jsonl"})));
    steps.push(call("explain", &json!({"request": ["a"]})));
    steps.push(call("analyze", &json!({"format": "json"})));
    steps.push(call("rm", &json!({"path": "project"})));
    steps.push(json!({"do": "request", "request": {"method": "resources/read", "params": {"uri": "file:///etc/passwd"}}}));
    steps.push(json!({"do": "request", "request": {"method": "made/up", "params": {}}}));
    let Some(results) = reference_client(&[&folders.inside()], &steps.into()) else { return };
    for ((call, why), answer) in refused.iter().zip(&results) {
        let (is_error, texts) = told(answer);
        assert!(is_error && texts.concat().contains(why), "{call:.200}: {texts:?}");
        assert!(!texts.concat().contains(['\u{1b}', '\u{7}']), "{call:.200}");
        assert!(!texts.concat().contains("--help"), "{texts:?}");
    }
    let [option, list, all, unknown, resource, made_up] = &results[refused.len()..] else {
        panic!("{} answers", results.len());
    };
    assert!(told(option).0 && told(list).0);
    assert_eq!(unknown["failed"]["code"], -32602);
    assert_eq!(
        (&resource["failed"]["code"], &made_up["failed"]["code"]),
        (&json!(-32601), &json!(-32601))
    );
    // Of all folders the session inside is read, and nothing that a link leads to.
    assert_eq!(all["structuredContent"]["inputs"]["files"], 1);
    assert_eq!(all["structuredContent"]["inputs"]["skipped"]["link_outside"], 2);
    assert!(!results.iter().any(|answer| answer.to_string().contains("5ec2e700")));
    assert_eq!((names(&folders.inside()), names(&folders.at("out"))), before);
}

/// An answer fills a model's window: text is cut at a line, and JSON is refused.
#[test]
fn long_answers_are_cut_with_a_word() {
    let Some(corpus) = shared("corpus") else { return };
    let corpus = corpus.canonicalize().expect("a folder");
    let files = WalkDir::new(&corpus).into_iter().map(|entry| entry.expect("an entry").into_path());
    let sessions = files.filter(|path| path.extension().is_some_and(|ending| ending == "jsonl"));
    let largest =
        sessions.max_by_key(|path| fs::metadata(path).map(|metadata| metadata.len()).ok());
    let largest = largest.expect("a session");
    let turns = json!({"path": utf8(&largest), "turns": "all"});
    let steps = json!([call("analyze", &json!({"format": "json"})), call("analyze", &turns)]);
    let Some(results) = reference_client(&[&corpus], &steps) else { return };
    let (is_error, texts) = told(&results[0]);
    assert!(is_error && texts[0].contains("longer than 100000 bytes"), "{texts:?}");
    let (is_error, texts) = told(&results[1]);
    let whole = stdout(&["analyze", utf8(&largest), "--turns=all"]);
    assert!(!is_error && whole.starts_with(texts[0]) && texts[0].ends_with('\n'));
    if whole.len() > 100_000 {
        let line = whole[texts[0].len()..].split_inclusive('\n').next().expect("a line");
        assert!(texts[0].len() <= 100_000 && texts[0].len() + line.len() > 100_000);
        assert!(texts.last().expect("a word").starts_with("cut after 100000 bytes"));
    } else {
        assert_eq!(texts[0], whole);
    }
}

#[test]
fn several_folders_have_one_root() {
    let folders = Folders::new();
    let both = [folders.at("in/project"), folders.at("out")];
    let steps = json!([
        call("breaks", &json!({"format": "json"})),
        call("breaks", &json!({"format": "json", "path": "out"})),
        call("breaks", &json!({"format": "json", "path": "in/project/session.jsonl"})),
        call("breaks", &json!({"format": "json", "path": "in/link.jsonl"})),
        call("breaks", &json!({"format": "json", "path": "in"})),
    ]);
    let Some(results) = reference_client(&both.each_ref().map(PathBuf::as_path), &steps) else {
        return;
    };
    let files = |at: usize| results[at]["structuredContent"]["inputs"]["files"].clone();
    assert_eq!([files(0), files(1), files(2), files(3)], [2, 1, 1, 1].map(|files| json!(files)));
    assert!(told(&results[4]).0, "a folder that was not named, though two in it were");
}

/// A server and its streams.
struct Server {
    process: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Server {
    fn start(folder: &Path) -> Self {
        Self::begin(program(&["mcp", utf8(folder)]))
    }

    fn begin(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn().expect("it starts");
        let output = BufReader::new(process.stdout.take().expect("an output"));
        Self { input: process.stdin.take(), process, output }
    }

    fn initialized(folder: &Path) -> Self {
        let mut server = Self::start(folder);
        server.initialize();
        server
    }

    fn initialize(&mut self) {
        let about = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
        self.send(
            &json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": about})
                .to_string(),
        );
        assert_eq!(self.answer()["id"], 0);
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string());
    }

    fn send(&mut self, line: &str) {
        let input = self.input.as_mut().expect("it is open");
        input.write_all(line.as_bytes()).and_then(|()| input.write_all(b"\n")).expect("it reads");
    }

    fn answer(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("an answer");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    fn children(&self) -> String {
        let pid = self.process.id();
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
        children.expect("children").trim().to_owned()
    }

    /// How it ends, within ten seconds.
    fn ended(mut self) -> Option<i32> {
        drop(self.input.take());
        let began = Instant::now();
        loop {
            if let Some(status) = self.process.try_wait().expect("it is there") {
                return status.code();
            }
            assert!(began.elapsed() < Duration::from_secs(10), "it does not end");
            thread::sleep(Duration::from_millis(5));
        }
    }
}

#[test]
fn whatever_a_client_sends_the_next_call_is_answered() {
    let folders = Folders::new();
    let mut server = Server::initialized(&folders.inside());
    let long = format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"{}\"}}", "x".repeat(17 << 20));
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    for line in [
        "",
        "not JSON",
        "\u{0}\u{1b}[31m",
        "{}",
        "[]",
        "null",
        r#"{"jsonrpc":"2.0"}"#,
        r#"{"jsonrpc":"2.0","id":{},"method":"tools/call"}"#,
        r#"{"jsonrpc":"1.0","id":1,"method":"tools/list"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":5}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}"#,
        r#"{"jsonrpc":"2.0","id":99,"result":{}}"#,
        &long,
        &deep,
    ] {
        server.send(line);
    }
    server.send(r#"{"jsonrpc":"2.0","id":"last","method":"tools/list"}"#);
    let last = (0..20).map(|_| server.answer()).find(|answer| answer["id"] == "last");
    let tools = last.expect("an answer")["result"]["tools"].as_array().map(Vec::len);
    assert_eq!(tools, Some(4));
    assert_eq!(server.ended(), Some(0));
}

#[test]
fn it_ends_with_its_client_and_at_a_signal_and_so_do_calls() {
    let folders = Folders::new().with_endless_file();
    let pipe = json!({"name": "analyze", "arguments": {"path": "endless.jsonl"}});
    let call =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": pipe}).to_string();
    for name in [None, Some("TERM"), Some("INT"), Some("HUP"), Some("QUIT")] {
        let mut server = Server::initialized(&folders.inside());
        server.send(&call);
        let began = Instant::now();
        while server.children().is_empty() {
            assert!(began.elapsed() < Duration::from_secs(10), "no call runs");
            thread::sleep(Duration::from_millis(5));
        }
        let running = server.children();
        let pid = server.process.id().to_string();
        if let Some(name) = name {
            signal(name, &pid);
        }
        assert_eq!(server.ended(), Some(0), "{name:?}");
        let began = Instant::now();
        while Path::new("/proc").join(&running).join("exe").exists() {
            assert!(began.elapsed() < Duration::from_secs(10), "{name:?}: the call goes on");
            thread::sleep(Duration::from_millis(5));
        }
    }
    assert_eq!(Server::start(&folders.inside()).ended(), Some(0), "nobody said anything");
}

#[test]
fn folders_are_named_and_are_there() {
    let folders = Folders::new();
    let file = folders.at("out/secret.jsonl");
    for arguments in [&["mcp"][..], &["mcp", "/nonexistent"], &["mcp", utf8(&file)]] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(output.stdout.is_empty() && !output.stderr.is_empty(), "{arguments:?}");
    }
    let mut server = Server::start(&folders.inside());
    server
        .send(r#"{"jsonrpc":"2.0","method":"notifications/made-up","params":{"text":"private"}}"#);
    assert_eq!(server.ended(), Some(2), "the first message initializes");
}

/// What lies where the server runs is a stranger's: a configuration there would name any file.
#[test]
fn no_configuration_is_found_where_it_runs() {
    let folders = Folders::new();
    let configuration = folders.at("cachesim.toml");
    fs::write(&configuration, "[defaults]\nprices = [\"/etc/passwd\"]\npaths = [\"out\"]\n")
        .expect("a file");
    let about = |arguments: &[&str]| {
        let mut command = program(&[arguments, &[utf8(&folders.inside())]].concat());
        command.env_remove("CACHESIM_NO_CONFIG").current_dir(folders.at(""));
        let mut server = Server::begin(command);
        server.initialize();
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "breaks"}});
        server.send(&call.to_string());
        let answer = server.answer()["result"].clone();
        assert_eq!(server.ended(), Some(0));
        answer
    };
    let answer = about(&["mcp"]);
    assert!(!told(&answer).0, "{answer}");
    let answer = about(&["mcp", "--config", utf8(&configuration)]);
    assert!(
        told(&answer).0 && told(&answer).1.concat().contains("/etc/passwd"),
        "one that is named applies"
    );
}

/// A home may be a link, and a path be written through it.
#[test]
fn paths_through_links_lead_inside() {
    let folders = Folders::new();
    let link = folders.at("link");
    symlink(folders.inside(), &link).expect("a link");
    let by_link = link.join("project/session.jsonl");
    let steps = json!([
        call("breaks", &json!({"path": utf8(&by_link)})),
        call("breaks", &json!({"path": "project/session.jsonl"})),
        call("breaks", &json!({"path": utf8(&folders.inside().join("project/session.jsonl"))})),
    ]);
    let Some(results) = reference_client(&[&link], &steps) else { return };
    assert!(!told(&results[0]).0, "{:?}", told(&results[0]));
    assert!(results.iter().all(|answer| answer == &results[0]));
}

/// The option that keeps a call in its folders does so on the command line, too.
#[test]
fn nothing_is_read_outside_of_a_folder() {
    let folders = Folders::new();
    let (inside, secret) = (folders.inside(), folders.at("out/secret.jsonl"));
    let (inside, secret) = (utf8(&inside), utf8(&secret));
    let files = |arguments: &[&str]| {
        let all = [&["analyze", "--json", "--inside", inside], arguments].concat();
        json_of(&all)["inputs"]["files"].as_u64()
    };
    assert_eq!(files(&[]), Some(1), "without a path the folder is read");
    assert_eq!(files(&[inside]), Some(1));
    assert_eq!(files(&["--root", inside]), Some(1));
    assert_eq!(files(&[inside, secret, "--inside", utf8(&folders.at("out"))]), Some(2));
    let list = folders.at("list");
    fs::write(&list, format!("{secret}\n")).expect("a list");
    for refused in [
        &[secret][..],
        &[inside, secret],
        &["--paths-from", utf8(&list)],
        &["--root", inside, "../out"],
        &["--inside", "/nonexistent"],
    ] {
        let all = [&["analyze", "--inside", inside], refused].concat();
        assert_eq!(run(&all).status.code(), Some(2), "{refused:?}");
    }
    let output = run(&["breaks", inside, "--inside", inside]);
    assert!(
        text(&output.stderr).contains("2 × link that leads outside"),
        "{}",
        text(&output.stderr)
    );
}
