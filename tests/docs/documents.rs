//! The documents: every command that they show is run and its output compared, every link leads somewhere, sentences and
//! pages are short, and what follows from the program is made anew.

mod links;
mod page;
mod sandbox;
mod words;

use std::fs;
use std::process::Command;

use page::{Page, pages};
use sandbox::Sandbox;

use crate::common::{cachesim, has, project, skip, text};

/// The language of a block whose commands are run.
const CONSOLE: &str = "console";

/// Languages of blocks that hold no command, or commands that install something or need a network: `packaging/test` has
/// these run.
const OTHERS: [&str; 12] = [
    "dockerfile",
    "javascript",
    "json",
    "jsonc",
    "markdown",
    "python",
    "sh",
    "sql",
    "text",
    "toml",
    "typescript",
    "yaml",
];

/// Commands and the output that stands below each.
fn commands(block: &str) -> Vec<(String, String)> {
    let mut commands: Vec<(String, String)> = Vec::new();
    let mut is_continued = false;
    for line in block.lines() {
        match (line.strip_prefix("$ "), commands.last_mut()) {
            (Some(command), _) => commands.push((command.to_owned(), String::new())),
            (None, Some((command, _))) if is_continued => *command += &["\n", line].concat(),
            (None, Some((_, output))) => *output += &[line, "\n"].concat(),
            (None, None) => panic!("a block begins with a command: {line}"),
        }
        is_continued = line.ends_with(['\\', '|']) && (is_continued || line.starts_with("$ "));
    }
    commands
}

/// Runs the commands of a page, and says where an output is another.
fn differences(page: &Page) -> Vec<String> {
    let blocks = page.blocks();
    let consoles = blocks.iter().filter(|block| block.language == CONSOLE);
    let shown: Vec<(String, String)> = consoles.flat_map(|block| commands(&block.text)).collect();
    if shown.is_empty() {
        return Vec::new();
    }
    if cfg!(not(feature = "fleet")) && page.name == "docs/fleet.md" {
        skip("--features full");
        return Vec::new();
    }
    let sandbox = Sandbox::new();
    let differs = |(command, expected): &(String, String)| {
        let run = sandbox.run(command);
        let printed = text(&run.stdout);
        let is_same = expected.is_empty() || printed.trim_end() == expected.trim_end();
        // A gate that is shown may fail.
        let is_done = matches!(run.status.code(), Some(0 | 1));
        let problem = || {
            let (name, said) = (&page.name, text(&run.stderr));
            format!("{name}: $ {command}\n{}\n{printed}\n{said}", run.status)
        };
        (!is_same || !is_done).then(problem)
    };
    shown.iter().filter(|(command, _)| sandbox.has_inputs_of(command)).filter_map(differs).collect()
}

#[test]
fn every_command_prints_what_is_shown() {
    if !has(&["grep", "sed"]) {
        return;
    }
    let pages = pages();
    let shown = |page: &Page| page.blocks().iter().filter(|one| one.language == CONSOLE).count();
    assert!(pages.iter().map(shown).sum::<usize>() > 40);
    let wrong: Vec<String> = pages.iter().flat_map(differences).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn every_block_says_what_it_is() {
    let mut unknown = Vec::new();
    for page in pages() {
        let blocks = page.blocks().into_iter().map(|block| block.language);
        let others = blocks.filter(|one| one != CONSOLE && !OTHERS.contains(&one.as_str()));
        unknown.extend(others.map(|language| format!("{}: `{language}`", page.name)));
    }
    assert!(unknown.is_empty(), "{unknown:#?}");
}

/// `docs/generate.py` makes the pages that follow from the program.
#[test]
fn what_follows_from_the_program_is_current() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut generate = Command::new("python3");
    generate.arg(project("docs/generate.py")).arg(cachesim().get_program()).arg(folder.path());
    let Ok(made) = generate.output() else {
        return skip("python3");
    };
    assert!(made.status.success(), "{}", text(&made.stderr));
    for name in ["commands.md", "formats.md"] {
        let made = fs::read_to_string(folder.path().join(name)).expect("a page");
        let kept = fs::read_to_string(project("docs").join(name)).expect("a page");
        assert!(made == kept, "docs/{name} is not current; docs/generate.py makes it anew");
    }
}
