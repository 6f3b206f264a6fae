//! Counts of what sessions show, from which a session can be left out: what is learnt for a
//! request must not come from the request itself.

use std::hash::Hash;

use rustc_hash::FxHashMap;

use crate::base::id::Symbol;

/// How often something was seen, and how often not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) seen: u32,
    pub(super) not_seen: u32,
}

impl Tally {
    fn add(&mut self, was_seen: bool) {
        if was_seen {
            self.seen += 1;
        } else {
            self.not_seen += 1;
        }
    }
}

/// Tallies by a kind of circumstance.
pub(super) struct Tallies<K> {
    all: FxHashMap<K, Tally>,
    by_session: FxHashMap<(K, Symbol), Tally>,
}

impl<K> Default for Tallies<K> {
    fn default() -> Self {
        Self { all: FxHashMap::default(), by_session: FxHashMap::default() }
    }
}

impl<K: Copy + Eq + Hash> Tallies<K> {
    pub(super) fn add(&mut self, kind: K, session: Symbol, was_seen: bool) {
        self.all.entry(kind).or_default().add(was_seen);
        self.by_session.entry((kind, session)).or_default().add(was_seen);
    }

    /// What all sessions but this one show.
    pub(super) fn elsewhere(&self, kind: K, session: Symbol) -> Tally {
        let all = self.all.get(&kind).copied().unwrap_or_default();
        let own = self.by_session.get(&(kind, session)).copied().unwrap_or_default();
        Tally { seen: all.seen - own.seen, not_seen: all.not_seen - own.not_seen }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::id::Symbols;

    #[test]
    fn a_session_does_not_learn_from_itself() {
        let mut symbols = Symbols::default();
        let (a, b) = (symbols.intern("a"), symbols.intern("b"));
        let mut tallies = Tallies::default();
        for (session, was_seen) in [(a, true), (a, false), (b, true)] {
            tallies.add("kind", session, was_seen);
        }
        assert_eq!(tallies.elsewhere("kind", a), Tally { seen: 1, not_seen: 0 });
        assert_eq!(tallies.elsewhere("kind", b), Tally { seen: 1, not_seen: 1 });
        assert_eq!(tallies.elsewhere("other", a), Tally::default());
    }
}
