//! Words of the command line in the form that is parsed: with a command if none is typed, current names of
//! commands, assumptions as the options that they set, and files whose names begin as options do.

use std::env;
use std::ffi::OsString;
use std::path::Path;

use super::args::{ASSUME, assumed};

/// Command of a line that names none.
const DEFAULT_COMMAND: &str = "analyze";

/// Command that took some others in.
const FLEET: &str = "fleet";

/// Commands of `fleet` that were once commands of their own.
const OF_FLEET: [&str; 3] = ["domains", "part", "gather"];

/// Commands that are followed by the name of another one.
const ABOUT: [&str; 2] = ["help", "man"];

/// Options of the program itself.
const OF_PROGRAM: [&str; 4] = ["-h", "--help", "-V", "--version"];

/// Words of this run.
pub(super) fn words() -> Vec<OsString> {
    parsed(env::args_os().collect())
}

/// Words of a command line in the form that is parsed.
fn parsed(mut words: Vec<OsString>) -> Vec<OsString> {
    let first = command_of(&words);
    let is_about = words.get(first).is_some_and(|word| ABOUT.iter().any(|about| word == about));
    let command = if is_about { first + 1 } else { first };
    let word = words.get(command).map(|word| word.to_string_lossy());
    let put_in = match word.as_deref() {
        Some(word) if OF_FLEET.contains(&word) => Some(FLEET),
        // No command has such a name.
        Some(word) if word.contains(['/', '.']) && Path::new(word).exists() => {
            Some(DEFAULT_COMMAND)
        }
        Some(word) if is_about || !word.starts_with('-') || OF_PROGRAM.contains(&word) => None,
        None if is_about || first > words.len() => None,
        _ => Some(DEFAULT_COMMAND),
    };
    if let Some(word) = put_in {
        words.insert(command, word.into());
    }
    with_assumptions(words)
}

/// Word as a path of this folder, if it is one and begins as an option does: Claude Code's folders of
/// projects have names such as `-home-me-project`.
fn file(word: OsString) -> OsString {
    let may_be = word.to_str().filter(|word| word.len() > "-o".len() && word.starts_with('-'));
    let is_file = may_be.is_some_and(|word| {
        // A place in a file ends in `:LINE`.
        let place = word.rsplit_once(':').map_or(word, |(file, _line)| file);
        Path::new(word).exists() || Path::new(place).exists()
    });
    if is_file { Path::new(".").join(word).into() } else { word }
}

/// Place of the command, after the options that every command takes. Beyond the end if the last of them lacks
/// its value.
fn command_of(words: &[OsString]) -> usize {
    let mut place = 1;
    while let Some(word) = words.get(place).map(|word| word.to_string_lossy()) {
        match word.as_ref() {
            "--config" => place += 2,
            "--no-config" => place += 1,
            word if word.starts_with("--config=") => place += 1,
            _ => break,
        }
    }
    place
}

/// Replaces each assumption by the option that it sets, and puts a folder before files that begin as options
/// do.
///
/// After `--` there are no options.
fn with_assumptions(words: Vec<OsString>) -> Vec<OsString> {
    let option = format!("--{ASSUME}");
    let joined = format!("{option}=");
    let mut parsed = Vec::with_capacity(words.len());
    let mut rest = words.into_iter().peekable();
    while let Some(word) = rest.next() {
        if word == "--" {
            parsed.push(word);
            break;
        }
        let value = match word.to_str().and_then(|word| word.strip_prefix(&joined)) {
            Some(value) => Some(value.into()),
            None => rest.next_if(|next| word == *option && assumed(next).is_some()),
        };
        parsed.push(value.and_then(|value| assumed(&value)).unwrap_or_else(|| file(word)));
    }
    parsed.extend(rest);
    parsed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> String {
        let words = line.split(' ').map(OsString::from).collect();
        let words = super::parsed(words);
        words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_line_without_a_command_analyzes() {
        assert_eq!(parsed("cachesim"), "cachesim analyze");
        assert_eq!(parsed("cachesim --no-config"), "cachesim --no-config analyze");
        assert_eq!(parsed("cachesim --config a"), "cachesim --config a analyze");
        assert_eq!(parsed("cachesim --since 7d"), "cachesim analyze --since 7d");
        for typed in [
            "cachesim -h",
            "cachesim --version",
            "cachesim help",
            "cachesim --config",
            "cachesim brekas",
        ] {
            assert_eq!(parsed(typed), typed);
        }
    }

    #[test]
    fn renamed_commands_are_known_by_both_names() {
        assert_eq!(parsed("cachesim part --out x"), "cachesim fleet part --out x");
        assert_eq!(parsed("cachesim --no-config gather"), "cachesim --no-config fleet gather");
        assert_eq!(parsed("cachesim help domains"), "cachesim help fleet domains");
        assert_eq!(parsed("cachesim man part"), "cachesim man fleet part");
        for typed in
            ["cachesim fleet part", "cachesim breaks part", "cachesim man", "cachesim help"]
        {
            assert_eq!(parsed(typed), typed);
        }
    }

    #[test]
    fn assumptions_are_the_options_that_they_set() {
        assert_eq!(
            parsed("cachesim breaks --assume lookback=blocks --assume=ttl_grace=60 x"),
            "cachesim breaks --lookback=blocks --ttl-grace=60 x"
        );
        let kept = "cachesim breaks --assume other=1 --assume=one -- --assume lookback=blocks";
        assert_eq!(parsed(kept), kept);
        assert_eq!(parsed("cachesim breaks --assume"), "cachesim breaks --assume");
    }
}
