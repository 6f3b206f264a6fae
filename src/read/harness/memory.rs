//! Instruction files (`CLAUDE.md`) as the client shows them to the model: files of the levels in the user context,
//! files of folders further down at their first mention, each once.
//!
//! The order of the levels and the rule that no file is repeated are documented. The words around a file are assumed.

use std::borrow::Cow;

use rustc_hash::FxHashSet;
use serde_json::value::RawValue;

use super::block::{Block, BlockKind};
use super::message::{Message, reminder};
use super::place::BundleError;
use super::raw::{Object, quoted};
use crate::base::Order as _;

/// Levels in the order of their files, the most general first.
const LEVELS: [&str; 4] = ["managed", "user", "project", "local"];

/// Path of a file, for errors.
const PATH: &str = "prompt.memory_files[…]";

/// Instruction file.
#[derive(Debug)]
pub(super) struct MemoryFile<'a> {
    level: usize,
    pub(super) path: Cow<'a, str>,
    content: Cow<'a, str>,
}

impl<'a> MemoryFile<'a> {
    fn read(raw: &'a RawValue) -> Result<Self, BundleError> {
        let file = Object::read_or_fail(raw, PATH)?;
        let expected = "managed, user, project or local";
        let level = file.string("level")?;
        let level = level.and_then(|level| LEVELS.iter().position(|known| **known == level));
        let (path, content) = path_and_content(&file)?;
        Ok(Self { level: level.ok_or_else(|| file.unexpected("level", expected))?, path, content })
    }

    /// Files in the order of their levels. The first file of a path counts; one without text is left out.
    pub(super) fn read_all(files: Vec<&'a RawValue>) -> Result<Vec<Self>, BundleError> {
        let mut files = files.into_iter().map(Self::read).collect::<Result<Vec<_>, _>>()?;
        // Before paths are compared: an empty file must not hide another one of its path.
        files.retain(|file| !file.content.trim().is_empty());
        // Stable: files of a level stay in the order given.
        files.order_by_key(|file| file.level);
        let mut known = FxHashSet::default();
        files.retain(|file| known.insert(file.path.clone()));
        Ok(files)
    }
}

/// Path and text of a file.
fn path_and_content<'a>(file: &Object<'a>) -> Result<(Cow<'a, str>, Cow<'a, str>), BundleError> {
    let path = file.string("path")?.ok_or_else(|| file.unexpected("path", "a string"))?;
    Ok((path, file.string("content")?.unwrap_or_default()))
}

/// Text of the user context about the files, if there are any.
pub(super) fn text(files: &[MemoryFile<'_>]) -> Option<String> {
    let texts = files.iter().map(|file| {
        let MemoryFile { level, path, content } = file;
        format!("Contents of {path} ({}):\n\n{content}", LEVELS[*level])
    });
    let texts: Vec<String> = texts.collect();
    (!texts.is_empty()).then(|| texts.join("\n\n"))
}

/// Turns nested files into reminders at their first mention.
///
/// Files that the user context or an earlier message has are left out, with the messages that hold nothing else.
pub(super) fn tell_nested(
    messages: &mut Vec<Message<'_>>,
    files: &[MemoryFile<'_>],
) -> Result<(), BundleError> {
    let mut known: FxHashSet<String> =
        files.iter().map(|file| file.path.clone().into_owned()).collect();
    let mut is_left_out = Vec::with_capacity(messages.len());
    for message in &mut *messages {
        is_left_out.push(tell_nested_of(message, &mut known)?);
    }
    let mut is_left_out = is_left_out.into_iter();
    messages.retain(|_| is_left_out.next() != Some(true));
    Ok(())
}

/// Does the same in one message. Returns true if nothing of it is left.
fn tell_nested_of(
    message: &mut Message<'_>,
    known: &mut FxHashSet<String>,
) -> Result<bool, BundleError> {
    if !message.blocks().iter().any(|block| block.kind == BlockKind::NestedMemory) {
        return Ok(false);
    }
    let blocks = message.blocks_mut();
    for block in std::mem::take(blocks) {
        match block.object().filter(|_| block.kind == BlockKind::NestedMemory) {
            Some(file) => {
                let (path, content) = path_and_content(file)?;
                if known.insert(path.clone().into_owned()) {
                    let text = reminder(&format!("Contents of {path}:\n\n{content}\n"));
                    blocks.push(Block::text(quoted(&text), false));
                }
            }
            None => blocks.push(block),
        }
    }
    Ok(blocks.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(json: &str) -> Result<Option<String>, BundleError> {
        let files: Vec<&RawValue> = serde_json::from_str(json).expect("a list");
        Ok(text(&MemoryFile::read_all(files)?))
    }

    #[test]
    fn levels_have_an_order_and_paths_count_once() {
        let json = r#"[{"level":"local","path":"/w/L","content":"l"},
            {"level":"project","path":"/w/b","content":"b"},
            {"level":"user","path":"/u","content":"u"},
            {"level":"project","path":"/w/a","content":"a"},
            {"level":"project","path":"/u","content":"again"},
            {"level":"project","path":"/w/e","content":" "},
            {"level":"managed","path":"/m","content":"m"}]"#;
        let expected = "Contents of /m (managed):\n\nm\n\nContents of /u (user):\n\nu\n\n\
            Contents of /w/b (project):\n\nb\n\nContents of /w/a (project):\n\na\n\n\
            Contents of /w/L (local):\n\nl";
        assert_eq!(files(json).expect("files").as_deref(), Some(expected));
        assert_eq!(files("[]").expect("files"), None);
    }

    #[test]
    fn a_file_has_a_level_and_a_path() {
        for (json, expected) in [
            ("[7]", "`prompt.memory_files[…]` is a number; expected an object"),
            (
                r#"[{"level":"team","path":"p"}]"#,
                "`prompt.memory_files[…].level` is a string; expected managed, user, project or local",
            ),
            (
                r#"[{"level":"user"}]"#,
                "`prompt.memory_files[…].path` is missing; expected a string",
            ),
        ] {
            assert_eq!(files(json).expect_err(json).to_string(), expected);
        }
    }
}
