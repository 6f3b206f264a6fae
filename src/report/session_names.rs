//! Short names of sessions, which `--session` takes.

use rustc_hash::FxHashSet;

use crate::base::{Ordered as _, Symbol, Symbols};
use crate::requests::conversation::History;

/// Length of ids such as `6fe4e511-70ab-4c00-8000-00000000000a`, in bytes.
const UUID_LENGTH: usize = 36;

/// Ends of the first parts of a UUID.
///
/// Beginnings that end with a later part would be longer than the last part, which serves as well.
const UUID_PARTS: [usize; 2] = [8, 13];

/// Position of the version digit in a UUID.
const UUID_VERSION_AT: usize = 14;

/// Length of the longest name of a session whose id is no UUID, in characters; longer ones are cut.
const LONGEST_NAME: usize = 28;

/// Names of a history's sessions, each as short as still distinguishes it from all others.
pub(super) struct SessionNames<'h> {
    symbols: &'h Symbols,
    /// Ids in their order.
    ids: Vec<&'h str>,
    /// Ids from their ends, in their order, for a search by suffix.
    turned: Vec<String>,
}

impl<'h> SessionNames<'h> {
    /// Names of all sessions.
    pub(super) fn of(history: &'h History) -> Self {
        Self::among(&history.symbols, history.requests.iter().map(|request| request.session))
    }

    /// Names of sessions by the symbols of their ids.
    pub(super) fn among(symbols: &'h Symbols, sessions: impl Iterator<Item = Symbol>) -> Self {
        let sessions: FxHashSet<Symbol> = sessions.collect();
        Self::of_ids(symbols, sessions.into_iter().map(|symbol| symbols.text(symbol)))
    }

    /// Names of sessions with these ids.
    pub(super) fn of_ids(symbols: &'h Symbols, ids: impl Iterator<Item = &'h str>) -> Self {
        let ids = ids.ordered();
        let turned = ids.iter().map(|id| turned(id)).ordered();
        Self { symbols, ids, turned }
    }

    /// Name of a session.
    pub(super) fn name(&self, session: Symbol) -> String {
        self.of_id(self.symbols.text(session))
    }

    /// Name of the session with an id: the beginning of a UUID; for other long ids the end, which is more
    /// distinct.
    pub(super) fn of_id(&self, id: &str) -> String {
        let length = id.chars().count();
        if length == UUID_LENGTH && id.len() == length && id.matches('-').count() == 4 {
            return self.of_uuid(id);
        }
        if length <= LONGEST_NAME {
            return id.to_owned();
        }
        // The ellipsis takes one character of the longest name.
        let end: String = id.chars().skip(length + 1 - LONGEST_NAME).collect();
        if self.end_with(&end) < 2 { format!("…{end}") } else { id.to_owned() }
    }

    /// Shortest beginning of a UUID that no other id has, else its last part, else all of it.
    fn of_uuid(&self, id: &str) -> String {
        // If a UUID begins with its time, sessions of one minute share the first eight digits.
        let begins_with_time = id.as_bytes().get(UUID_VERSION_AT) == Some(&b'7');
        let parts = UUID_PARTS.iter().skip(usize::from(begins_with_time));
        let mut beginnings = parts.filter_map(|end| id.get(..*end));
        if let Some(beginning) = beginnings.find(|beginning| self.begin_with(beginning) < 2) {
            return beginning.to_owned();
        }
        let end = id.rsplit('-').next().filter(|end| self.end_with(end) < 2);
        end.map_or_else(|| id.to_owned(), |end| format!("…{end}"))
    }

    /// Number of ids with a beginning, at most two.
    fn begin_with(&self, beginning: &str) -> usize {
        let from = self.ids.partition_point(|id| *id < beginning);
        self.ids[from..].iter().take(2).take_while(|id| id.starts_with(beginning)).count()
    }

    /// Number of ids with an end, at most two.
    fn end_with(&self, end: &str) -> usize {
        let end = turned(end);
        let from = self.turned.partition_point(|id| *id < end);
        self.turned[from..].iter().take(2).take_while(|id| id.starts_with(&end)).count()
    }
}

/// A text from its end.
fn turned(text: &str) -> String {
    text.chars().rev().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_as_long_as_it_must_be() {
        let ids = [
            "6fe4e511-70ab-4c00-8000-00000000000a",
            "5e1f0000-0000-4000-8000-000000000001",
            "5e1f0000-0000-4000-8000-000000000002",
            "5e1f0000-1111-4000-8000-000000000002",
            "5e1f0000-0000-4000-8000-000000000003",
            "0197b2c4-0000-7000-8000-000000000001",
            "short",
            "a/folder/of/some/agent/session-1.jsonl",
            "another/folder/of/some/agent/session-1.jsonl",
            "another/folder/of/some/agent/session-2.jsonl",
        ];
        let symbols = Symbols::default();
        let names = SessionNames::of_ids(&symbols, ids.into_iter());
        let shown = ids.map(|id| names.of_id(id));
        assert_eq!(
            shown,
            [
                "6fe4e511",
                // Another one ends so, too.
                "5e1f0000-0000-4000-8000-000000000001",
                "5e1f0000-0000-4000-8000-000000000002",
                "5e1f0000-1111",
                "…000000000003",
                "0197b2c4-0000",
                "short",
                "a/folder/of/some/agent/session-1.jsonl",
                "another/folder/of/some/agent/session-1.jsonl",
                "…/some/agent/session-2.jsonl",
            ]
        );
    }
}
