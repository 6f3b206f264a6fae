//! The titles in all files → the title of each session.

use rustc_hash::FxHashMap;

use super::files::Files;
use super::origin::Copies;
use crate::base::id::{EntryId, Symbol, Symbols};
use crate::read::transcript::{TitleKind, Titled};

/// The title of each session that has one: of several the one whose author is nearest to the user,
/// then the last in the order of the files.
pub(super) fn session_titles(
    files: &Files,
    copies: &Copies,
    symbols: &mut Symbols,
) -> FxHashMap<Symbol, String> {
    let leaves = sessions_of_leaves(files, copies);
    let mut best: FxHashMap<Symbol, (TitleKind, &str)> = FxHashMap::default();
    for title in &files.titles {
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
fn sessions_of_leaves(files: &Files, copies: &Copies) -> FxHashMap<EntryId, Option<Symbol>> {
    let mut sessions: FxHashMap<EntryId, Option<Symbol>> = files
        .titles
        .iter()
        .filter_map(|title| match title.of {
            Titled::Leaf(leaf) => Some((leaf, None)),
            Titled::Session(_) => None,
        })
        .collect();
    if sessions.is_empty() {
        return sessions;
    }
    for (entry, response, _) in &files.index {
        if let Some(session @ None) = sessions.get_mut(entry) {
            *session = files.responses[copies.origin_of(*response as usize)].session;
        }
    }
    for (entry, named) in &files.entry_sessions {
        if let Some(session @ None) = sessions.get_mut(entry) {
            *session = Some(*named);
        }
    }
    sessions
}
