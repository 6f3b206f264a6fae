//! The titles in all files → the title of each session.

use rustc_hash::FxHashMap;

use super::file::FileConversation;
use super::origin::Copies;
use crate::id::{EntryId, Symbol, Symbols};
use crate::transcript::{Title, TitleKind, Titled};

/// The title of each session that has one: of several the one whose author is nearest to the user,
/// then the last in the order of the files.
pub(super) fn session_titles(
    files: &[FileConversation],
    copies: &Copies,
    symbols: &mut Symbols,
) -> FxHashMap<Symbol, String> {
    let titles: Vec<&Title> = files.iter().flat_map(|file| &file.titles).collect();
    let leaves = sessions_of_leaves(files, copies, &titles);
    let mut best: FxHashMap<Symbol, (TitleKind, &str)> = FxHashMap::default();
    for title in titles {
        let session = match &title.of {
            Titled::Session(name) => symbols.intern(name),
            Titled::Leaf(leaf) => match leaves.get(leaf) {
                Some(Some(session)) => *session,
                _ => continue,
            },
        };
        let known = best.entry(session).or_insert((title.kind, &title.text));
        if title.kind >= known.0 {
            *known = (title.kind, &title.text);
        }
    }
    best.into_iter().map(|(session, (_, text))| (session, text.to_owned())).collect()
}

/// Leaves that titles name → the session in which the answer at or before each began, else the one
/// that its own line names.
fn sessions_of_leaves(
    files: &[FileConversation],
    copies: &Copies,
    titles: &[&Title],
) -> FxHashMap<EntryId, Option<Symbol>> {
    let mut sessions: FxHashMap<EntryId, Option<Symbol>> = titles
        .iter()
        .filter_map(|title| match title.of {
            Titled::Leaf(leaf) => Some((leaf, None)),
            Titled::Session(_) => None,
        })
        .collect();
    if sessions.is_empty() {
        return sessions;
    }
    for (number, file) in files.iter().enumerate() {
        for (entry, response, _) in &file.index {
            if let Some(session @ None) = sessions.get_mut(entry) {
                let (file, index) = copies.origin_of(number, *response);
                *session = files[file].responses[index].session;
            }
        }
    }
    for (entry, named) in files.iter().flat_map(|file| &file.entry_sessions) {
        if let Some(session @ None) = sessions.get_mut(entry) {
            *session = Some(*named);
        }
    }
    sessions
}
