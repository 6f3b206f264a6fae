//! The steps of the action, run one after the other: verdicts, files, the page of the run, and values
//! that would do harm if a shell or the runner read them.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::program::{arguments, programs, script, stand_in};
use super::runner::{Run, Runner};
use crate::common::{has, project};

/// The session costs $0.5753.
const PASSES: &str = "[[budget]]\nmetric = \"cost_per_session\"\nmax = \"0.80 USD\"\n";
const FAILS: &str = "[[budget]]\nmetric = \"cost_per_session\"\nmax = \"0.10 USD\"\n";
const WARNS: &str =
    "[[budget]]\nmetric = \"cost_per_session\"\nmax = \"0.10 USD\"\nlevel = \"warn\"\n";
const UNUSABLE: &str = "[[budget]]\nmetric = \"no_such_metric\"\nmax = \"0.10 USD\"\n";

/// A repository with a session and a configuration, to be checked by a program.
fn repository(program: &Path, config: &str) -> Runner {
    let session = fs::read(project("fixtures/first-look/session.jsonl")).expect("a session");
    Runner::new()
        .with("install", "none")
        .with("binary", program.to_str().expect("a plain path"))
        .with("paths", "sessions")
        .with_file("sessions/session.jsonl", session)
        .with_file("cachesim.toml", config)
}

/// Plays a scenario with every program.
fn with_each_program(scenario: impl Fn(&Path)) {
    let folder = tempfile::tempdir().expect("a folder");
    for program in programs(folder.path()) {
        scenario(&program);
    }
}

/// All files that a check with a verdict leaves, in the form that each has to have.
fn assert_files(run: &Run, verdict: &str) {
    assert_eq!(run.output("verdict"), verdict, "{}", run.log);
    assert_eq!(run.file("comment").lines().next(), Some("<!-- cachesim-check:default -->"));
    let check: Value = serde_json::from_str(&run.file("json")).expect("JSON");
    assert_eq!(
        (&check["schema"], &check["verdict"]),
        (&"cachesim.check/v1".into(), &verdict.into())
    );
    let report: Value = serde_json::from_str(&run.file("report")).expect("JSON");
    assert_eq!(report["schema"], "cachesim.report/v1");
    let sarif: Value = serde_json::from_str(&run.file("sarif")).expect("JSON");
    assert_eq!(sarif["version"], "2.1.0");
    assert!(run.file("junit").contains("<testsuites"));

    let folder = Path::new(run.output("comment")).parent().expect("a folder");
    let summary = fs::read_to_string(folder.join("summary.md")).expect("a summary");
    assert!(!summary.is_empty());
    assert_eq!(run.summary, summary);
    let upload = run.given("actions/upload-artifact@");
    assert_eq!(upload["path"], folder.to_str().expect("a plain path"));
    assert_eq!(upload["name"], "cachesim-check");
}

#[test]
fn a_check_that_passes() {
    with_each_program(|program| {
        let run = repository(program, PASSES).run();
        assert_files(&run, "pass");
        assert_eq!((run.output("exit-code"), run.failed), ("0", None));
        assert_eq!(run.commands, Vec::<String>::new());
    });
}

#[test]
fn a_check_that_warns() {
    if !has(&["grep"]) {
        return;
    }
    with_each_program(|program| {
        let run = repository(program, WARNS).run();
        assert_files(&run, "warn");
        assert_eq!((run.output("exit-code"), run.failed), ("0", None));
    });
}

#[test]
fn a_budget_that_fails_fails_the_last_step_behind_all_files() {
    with_each_program(|program| {
        let run = repository(program, FAILS).run();
        assert_files(&run, "fail");
        assert_eq!((run.output("exit-code"), run.failed), ("1", Some(1)));
        assert_eq!(run.commands, ["::error title=cachesim check::A budget failed."]);

        let run = repository(program, FAILS).with("fail", "false").run();
        assert_files(&run, "fail");
        assert_eq!((run.output("exit-code"), run.failed), ("1", None));
        assert!(run.commands[0].starts_with("::warning "));
    });
}

#[test]
fn a_configuration_that_cannot_be_used_is_no_verdict() {
    if !has(&["grep"]) {
        return;
    }
    with_each_program(|program| {
        for fail in ["true", "false"] {
            let run = repository(program, UNUSABLE).with("fail", fail).run();
            assert_eq!((run.output("exit-code"), run.failed), ("2", Some(2)));
            assert_eq!(run.output("verdict"), "error");
            let error = "::error title=cachesim check::There is no verdict (exit code 2).";
            assert_eq!(run.commands, [error]);
            assert!(run.log.contains("no_such_metric"), "{}", run.log);
            assert!(run.summary.contains("Exit code 2"), "{}", run.summary);
            assert!(run.summary.contains("\n    cachesim: "), "the messages are a block of code");
            assert!(run.summary.contains("no_such_metric"));
            // The comment takes the place of an earlier one, and has its marker.
            let comment = run.file("comment");
            assert_eq!(comment, format!("<!-- cachesim-check:default -->\n{}", run.summary));
            for output in ["json", "report", "junit", "sarif"] {
                assert_eq!(run.output(output), "", "{output} was not written");
            }
        }
    });
}

#[test]
fn messages_of_an_error_leave_the_comment_below_its_limit() {
    if !has(&["grep"]) {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let many = "for i in {1..9000}; do echo \"cachesim: line $i\"; done >&2; exit 2\n";
    let text = format!("#!/bin/bash\n[[ $1 != --version ]] || exit 0\n{many}");
    let program = super::program::script(folder.path(), "talkative", &text);
    let run = repository(&program, PASSES).run();
    assert!(run.file("comment").len() < 65_536);
    assert!(run.summary.contains("\n    cachesim: line 1\n"));
    assert!(run.log.contains("cachesim: line 9000\n"));
}

#[test]
fn the_marker_of_the_comment_holds_the_tag() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = repository(&stand_in(folder.path()), PASSES).with("tag", "nightly.2").run();
    assert_eq!(run.file("comment").lines().next(), Some("<!-- cachesim-check:nightly.2 -->"));
}

#[test]
fn without_a_name_nothing_is_uploaded() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = repository(&stand_in(folder.path()), PASSES).with("artifact-name", "").run();
    assert!(run.used.is_empty(), "{:?}", run.used);
}

#[test]
fn a_summary_is_shown_if_it_fits_what_is_left_of_a_mebibyte() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = stand_in(folder.path());
    let shown = |bytes: usize, taken: usize| {
        let config = format!("{PASSES}# summary of {bytes}\n");
        let mut runner = repository(&program, &config);
        runner.summary_taken = taken;
        let run = runner.run();
        assert_eq!((run.failed, run.output("verdict")), (None, "pass"));
        run.summary
    };
    assert_eq!(shown(1_048_576, 0).len(), 1_048_576);
    assert!(shown(1_048_577, 0).contains("too long for this page"));
    assert_eq!(shown(576, 1_048_000).len(), 576);
    assert!(shown(577, 1_048_000).contains("too long for this page"));
    assert_eq!(shown(577, 1_048_576), "", "not even the note fits");
}

/// Texts that do something if a shell reads them, or the runner.
const HOSTILE: [&str; 12] = [
    "with spaces  twice",
    "$(touch touched)",
    "`touch touched`",
    "; touch touched;",
    "\" && touch touched && \"",
    "' ; touch touched ; '",
    "${IFS}",
    "*",
    "-x",
    "::error::from a path",
    "verdict=pass",
    "ünïcode\t\u{1b}[31m",
];

#[test]
fn hostile_values_reach_the_program_as_they_are_and_run_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = stand_in(folder.path());
    let lines = HOSTILE.join("\n");
    let name = "a b'\"$(touch touched)`touch touched`";
    let further: Vec<String> = HOSTILE.iter().map(|text| format!("--note={text}")).collect();
    let run = repository(&program, "")
        .with_file(&format!("{name}/{name}.toml"), PASSES)
        .with("working-directory", name)
        .with("config", &format!("{name}.toml"))
        .with("baseline", "two\nlines=$(touch touched)")
        .with("arguments", &further.join("\r\n"))
        .with("paths", &format!("\n{lines}\n\n"))
        .with("artifact-name", name)
        .run();
    assert_eq!((run.output("verdict"), run.failed), ("pass", None), "{}", run.log);
    assert_eq!(run.commands, Vec::<String>::new());
    assert_eq!(run.given("actions/upload-artifact@")["name"], name);

    let given = arguments(&program);
    let of_the_action = [
        "check".to_owned(),
        "--tag=default".to_owned(),
        format!("--config={name}.toml"),
        "--baseline=two\nlines=$(touch touched)".to_owned(),
    ];
    assert_eq!(given[..4], of_the_action);
    assert!(given[4..10].iter().all(|argument| argument.starts_with("--export=")), "{given:?}");
    assert_eq!(given[10..22], further);
    assert_eq!(given[22], "--");
    assert_eq!(given[23..], HOSTILE);
    assert_touched_nothing(&run.workspace());
}

#[test]
fn hostile_paths_of_the_program_name_no_other_output() {
    let folder = tempfile::tempdir().expect("a folder");
    let odd = folder.path().join("bin\nbinary=evil\nEOF\n$(touch touched)");
    let program = stand_in(&odd);
    let run = repository(&program, PASSES).run();
    assert_eq!((run.output("verdict"), run.failed), ("pass", None), "{}", run.log);
    assert_eq!(arguments(&program)[0], "check");
    assert_touched_nothing(&run.workspace());
}

/// Whether a command in a value was run.
fn assert_touched_nothing(workspace: &Path) {
    for entry in walkdir::WalkDir::new(workspace) {
        let entry = entry.expect("an entry");
        assert_ne!(entry.file_name(), "touched", "{}", entry.path().display());
    }
}

#[test]
fn inputs_that_cannot_be_used_are_refused_with_a_message() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = stand_in(folder.path());
    let refused = |input: &str, value: &str| {
        let run = repository(&program, PASSES).with(input, value).run();
        // Where the program could not be installed, nothing was checked.
        let is_checked = ["tag", "working-directory"].contains(&input);
        let verdict = if is_checked { "error" } else { "" };
        assert_eq!((run.failed, run.output("verdict")), (Some(2), verdict), "{input}: {value}");
        let [message] = run.commands.as_slice() else { panic!("{:?}", run.commands) };
        message.strip_prefix("::error title=cachesim check::").expect("an error").to_owned()
    };
    assert_eq!(
        refused("tag", "x --> 100%\n::error::y"),
        "tag: up to 64 letters, digits, '.' and '_' with single '-' between, \
         not 'x --> 100%25%0A::error::y'"
    );
    for tag in ["", "a--b", "-a", &"a".repeat(65)] {
        let message = refused("tag", tag);
        assert!(message.ends_with(&format!("with single '-' between, not '{tag}'")), "{message}");
    }
    assert_eq!(
        refused("working-directory", "no/such"),
        "working-directory: there is no folder 'no/such'"
    );
    assert_eq!(refused("install", "magic"), "install: magic is none of build, download, none");
    assert_eq!(refused("binary", "no-such-program"), "binary: no-such-program is not on the PATH");
    assert_eq!(refused("binary", "./cachesim.toml"), "binary: ./cachesim.toml is no program");
}

#[test]
fn the_comment_is_left_where_it_is_asked_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = stand_in(folder.path());
    let asked_by = |runner: Runner| {
        script(
            &runner.path(),
            "gh",
            "#!/bin/bash\nprintf '%s ' \"$@\" >>\"$(dirname \"$0\")/asked\"\n",
        );
        let asked = runner.path().join("asked");
        let run = runner.run();
        assert_eq!(run.failed, None, "{}", run.log);
        fs::read_to_string(asked).unwrap_or_default()
    };
    assert_eq!(asked_by(repository(&program, PASSES)), "");
    let asked = asked_by(repository(&program, PASSES).with("comment", "true"));
    assert!(asked.contains("--method POST repos/me/mine/issues/7/comments"), "{asked}");
    // The token of a fork's run can write no comment.
    let mut forked = repository(&program, PASSES).with("comment", "true");
    forked.head = "other/mine";
    assert_eq!(asked_by(forked), "");
}
