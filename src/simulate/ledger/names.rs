//! The names of one kind that an input has, and what somebody may mean who writes one.

use rustc_hash::FxHashSet;

use crate::base::id::Symbol;
use crate::base::nearest::nearest;
use crate::requests::conversation::{History, Request};

/// A name, and what it stands for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Named<'a> {
    /// What it stands for.
    pub(super) symbol: Symbol,
    /// The name that is shown.
    pub(super) name: &'a str,
    /// Another name by which it is known.
    pub(super) other_name: Option<&'a str>,
}

/// The names of one kind, in the order in which the requests have them.
#[derive(Clone, Debug)]
pub(super) struct Names<'a>(Vec<Named<'a>>);

impl<'a> Names<'a> {
    pub(super) fn new(names: Vec<Named<'a>>) -> Self {
        Self(names)
    }

    /// Those that the requests have.
    pub(super) fn of(history: &'a History, symbol: impl Fn(&'a Request) -> Option<Symbol>) -> Self {
        let mut known = FxHashSet::default();
        let symbols = history.requests.iter().filter_map(symbol);
        let named = |symbol| Named { symbol, name: history.symbols.text(symbol), other_name: None };
        Self(symbols.filter(|symbol| known.insert(*symbol)).map(named).collect())
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Those of this name; where there is none, those that have it as a part.
    pub(super) fn called(&self, name: &str) -> Vec<Symbol> {
        let is_called = |one: &&Named<'_>| {
            one.name == name || one.other_name.is_some_and(|other| other == name)
        };
        let has_part = |one: &&Named<'_>| !name.is_empty() && one.name.contains(name);
        let of_name = |is_meant: &dyn Fn(&&Named<'a>) -> bool| -> Vec<Symbol> {
            self.0.iter().filter(is_meant).map(|one| one.symbol).collect()
        };
        let exact = of_name(&is_called);
        if exact.is_empty() { of_name(&has_part) } else { exact }
    }

    /// That of exactly this name.
    pub(super) fn exactly(&self, name: &str) -> Option<Symbol> {
        self.0.iter().find(|one| one.name == name).map(|one| one.symbol)
    }

    /// That of this name; where there is none, those that begin like this, or end like this after a
    /// `…`, which is how long ones are printed.
    pub(super) fn begun(&self, name: &str) -> Vec<Named<'a>> {
        if let Some(exact) = self.0.iter().find(|one| one.name == name) {
            return vec![*exact];
        }
        let end = name.strip_prefix('…').or_else(|| name.strip_prefix("..."));
        let is_meant = |one: &&Named<'_>| match end {
            Some(end) => !end.is_empty() && one.name.ends_with(end),
            None => !name.is_empty() && one.name.starts_with(name),
        };
        self.0.iter().filter(is_meant).copied().collect()
    }

    /// Both kinds.
    pub(super) fn and(&self, other: &Self) -> Self {
        Self(self.0.iter().chain(&other.0).copied().collect())
    }

    /// One more name, which stands for nothing of its own.
    pub(super) fn and_name(mut self, name: &'a str) -> Self {
        if let Some(first) = self.0.first().copied() {
            self.0.push(Named { name, ..first });
        }
        self
    }

    /// The three names nearest to one that is none of them.
    pub(super) fn nearest(&self, name: &str) -> Vec<String> {
        let names = nearest(name, self.0.iter().map(|one| one.name));
        names.into_iter().map(str::to_owned).collect()
    }
}
