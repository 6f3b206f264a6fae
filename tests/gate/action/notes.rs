//! The comments that the examples leave: one, found again by its marker. Stand-ins for `gh` and `curl`
//! keep what they were asked.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::document::read;
use super::examples::SAMPLE;
use super::program::script;
use crate::common::{has, project, text, utf8};

const COMMENT: &str = "<!-- cachesim-check:default -->\nA \"comment\" with $(touch touched)\n";

/// Keeps its arguments in `asked`, a call a line, and answers the first listing as it was told to.
const STAND_IN: &str = r#"#!/bin/bash
here="$(dirname "$0")"
printf '%q ' "$@" >>"$here/asked"
printf '\n' >>"$here/asked"
"#;

/// Runs a script with these programs in front on the PATH and returns what they were asked.
fn asked(folder: &Path, shell: &str, text_of_script: &str, env: &[(&str, &str)]) -> Vec<String> {
    let path = std::env::var("PATH").expect("a PATH");
    let mut command = Command::new(shell);
    command
        .args(["-c", text_of_script])
        .current_dir(folder)
        .env_clear()
        .env("PATH", format!("{}:{path}", folder.display()))
        .envs(env.iter().copied());
    let output = command.output().expect("a shell");
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(!folder.join("touched").exists());
    let asked = fs::read_to_string(folder.join("asked")).unwrap_or_default();
    asked.lines().map(|line| line.trim_end().to_owned()).collect()
}

/// The calls of the step that comments, where these comments of it are found.
fn calls_to_github(found: &str) -> Vec<String> {
    let folder = tempfile::tempdir().expect("a folder");
    let listing = format!("{STAND_IN}if [[ $* == *--paginate* ]]; then printf '{found}'; fi\n");
    script(folder.path(), "gh", &listing);
    fs::write(folder.path().join("comment.md"), COMMENT).expect("written");
    let env = [
        ("COMMENT", "comment.md"),
        ("GH_TOKEN", "a token"),
        ("GITHUB_REPOSITORY", "me/mine"),
        ("GITHUB_SERVER_URL", "https://git.example"),
        ("PULL_REQUEST", "7"),
    ];
    let comment = project("integrations/github-action/comment.sh");
    let calls = asked(folder.path(), "bash", utf8(&comment), &env);
    assert!(
        calls[0].starts_with("api --paginate repos/me/mine/issues/7/comments --jq "),
        "{calls:?}"
    );
    calls
}

#[test]
fn a_pull_request_has_one_comment() {
    let calls = calls_to_github("");
    let post =
        "api --silent --method POST repos/me/mine/issues/7/comments --field body=@comment.md";
    assert_eq!(calls[1..], [post]);

    let calls = calls_to_github(r"41\n52\n");
    let patch =
        "api --silent --method PATCH repos/me/mine/issues/comments/41 --field body=@comment.md";
    assert_eq!(calls[1..], [patch]);
}

/// The calls of the job that leaves a note, over two pages of notes of which the second has these;
/// `None` where `jq`, which the job installs, is missing here.
fn calls_to_gitlab(second_page: &str) -> Option<Vec<String>> {
    if !has(&["jq", "sed"]) {
        return None;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let first_page = r#"[{"id":1,"author":{"id":9},"body":"<!-- cachesim-check:default -->"}]"#;
    let answers = format!(
        r#"{STAND_IN}
case "$*" in
*/user) echo '{{"id":3}}' ;;
*page=1) echo '{first_page}' >notes.json; printf 'HTTP/2 200\r\nx-next-page: 2\r\n' >headers ;;
*page=2) echo '{second_page}' >notes.json; printf 'HTTP/1.1 200\r\nX-Next-Page: \r\n' >headers ;;
esac
"#
    );
    script(folder.path(), "curl", &answers);
    fs::create_dir(folder.path().join("report")).expect("a folder");
    fs::write(folder.path().join("report/comment.md"), COMMENT).expect("written");
    let pipeline: Value = read(&project(SAMPLE).join(".gitlab-ci.yml"));
    let job = pipeline["note"]["script"][0].as_str().expect("a script");
    let env = [("NOTE_TOKEN", "t"), ("CI_API_V4_URL", "api"), ("NOTES", "api/notes")];
    let calls = asked(folder.path(), "sh", job, &env);
    assert_eq!(calls.len(), 4, "{calls:?}");
    Some(calls)
}

#[test]
fn a_merge_request_has_one_note() {
    let others = r#"[{"id":4,"author":{"id":3},"body":"Thanks"}]"#;
    let Some(calls) = calls_to_gitlab(others) else { return };
    let post = "--request POST api/notes --data-urlencode body@report/comment.md";
    assert!(calls[3].contains(post), "{calls:?}");

    // The note of the first page has the marker, but is someone else's.
    let own = r#"[{"id":5,"author":{"id":3},"body":"<!-- cachesim-check:default -->\nold"}]"#;
    let Some(calls) = calls_to_gitlab(own) else { return };
    let put = "--request PUT api/notes/5 --data-urlencode body@report/comment.md";
    assert!(calls[3].contains(put), "{calls:?}");
}
