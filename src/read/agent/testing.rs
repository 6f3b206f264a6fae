//! Sessions for tests: a text as if it were in a file.

use std::fs;

use super::AgentFile;
use crate::read::Format;
use crate::read::input::{OpenSource, discover};

/// File read from a text, which a format has to recognise, under this path.
pub(super) fn read_at(path: &str, text: &str) -> AgentFile {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(path);
    fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
    fs::write(&path, text).expect("a file");
    let found = discover(&[path]);
    let mut open = OpenSource::open(&found.sources[0]).expect("the file");
    let Some(Format::Agent(format)) = open.first_lines().map(Format::of) else {
        panic!("no agent's: {text}")
    };
    (format.read)(&mut open)
}

/// File read from a text, which a format has to recognise.
pub(super) fn read(text: &str) -> AgentFile {
    read_at("session.jsonl", text)
}
