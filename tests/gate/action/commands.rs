//! The commands that the guide, the examples and the hook show: the program's own help knows every
//! one of them, with its options.

use std::fs;

use serde_json::Value;

use super::document::read;
use super::examples::SAMPLE;
use crate::common::{project, run, text};

/// The words after `cachesim` of every command in these files.
fn commands() -> Vec<Vec<String>> {
    let texts = ["docs/ci.md", "docs/ci/sample/README.md", "docs/ci/sample/cachesim.toml"];
    let texts = texts.map(|name| fs::read_to_string(project(name)).expect("a text"));
    let in_text = texts.iter().flat_map(|text| {
        let on_lines = text.lines().map(|line| line.strip_prefix("$ ").unwrap_or(line));
        on_lines.chain(text.split('`').skip(1).step_by(2)).map(str::to_owned).collect::<Vec<_>>()
    });
    let pipeline: Value = read(&project(SAMPLE).join(".gitlab-ci.yml"));
    let hooks: Value = read(&project(".pre-commit-hooks.yaml"));
    let lines = pipeline["cachesim"]["script"].as_array().expect("a script").iter();
    let entries = lines.chain([&hooks[0]["entry"]]).map(|line| line.as_str().expect("a line"));
    let of_the_action = fs::read_to_string(project("integrations/github-action/check.sh"));
    let of_the_action = of_the_action.expect("the script");
    let options = of_the_action.split('"').filter(|word| word.starts_with("--"));
    let of_the_action = options.fold("cachesim check".to_owned(), |line, word| line + " " + word);

    let all = in_text.chain(entries.map(str::to_owned)).chain([of_the_action]);
    let words = |line: String| -> Option<Vec<String>> {
        let rest = line.strip_prefix("cachesim ")?;
        Some(rest.split_whitespace().map(str::to_owned).collect())
    };
    all.filter_map(words).collect()
}

#[test]
fn the_program_knows_every_command_of_the_examples() {
    let commands = commands();
    assert!(commands.len() >= 8, "{commands:?}");
    for command in &commands {
        let help = run(&[&command[0], "--help"]);
        assert!(help.status.success(), "{command:?}");
        let help = text(&help.stdout);
        let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
        let known: Vec<&str> = help.split(|letter| !is_part(letter)).collect();
        for word in command.iter().filter(|word| word.starts_with('-')) {
            let option = word.split('=').next().expect("a name");
            assert!(known.contains(&option), "{option} of {command:?}");
        }
    }
}
