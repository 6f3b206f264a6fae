//! Composition of the contexts of several histories.

use std::cmp::Reverse;

use super::{DomainSums, Figure};
use crate::base::{ByKey, Order as _};
use crate::explain::analysis::Answer;
use crate::explain::context::{Bill, Context, KindTotals};
use crate::report::Document;
use crate::report::context_view::{NamedKind, contents, named, summed};
use crate::requests::conversation::History;

/// Prompt contents of some histories by kind. Tools of one name are one kind.
#[derive(Clone, Debug)]
pub struct ContentSums {
    bill: Bill,
    kinds: ByKey<String, KindTotals>,
    /// Number of requests that are known only in sums.
    summed: u64,
    /// Number of listed kinds.
    top: usize,
}

impl ContentSums {
    /// Contents of a history, whose `top` most expensive kinds are to be listed.
    pub fn of(history: &History, context: &Context, top: usize) -> Self {
        let mut kinds = ByKey::new();
        for (name, kind) in named(history, &context.kinds) {
            add(&mut kinds, name, &kind);
        }
        Self { bill: context.bill, kinds, summed: summed(history), top }
    }
}

/// Adds a kind to the one of its name. A tool may have the name of a kind.
fn add(kinds: &mut ByKey<String, KindTotals>, name: String, kind: &KindTotals) {
    match kinds.get_mut(&name) {
        Some(own) => own.add(kind),
        None => {
            kinds.insert(name, *kind);
        }
    }
}

impl DomainSums for ContentSums {
    const COLUMN: Option<&'static str> = Some("sent");

    fn figure(&self) -> Figure {
        Figure::Count(self.bill.prompts.tokens().0)
    }

    fn absorb(&mut self, other: Self) {
        self.bill += other.bill;
        for (name, kind) in other.kinds {
            add(&mut self.kinds, name, &kind);
        }
        self.summed += other.summed;
    }

    fn show(&self, _: &Answer, document: &mut Document) {
        let mut kinds: Vec<NamedKind> =
            self.kinds.iter().map(|(name, kind)| (name.clone(), *kind)).collect();
        kinds.order_by_key(|(_, one)| Reverse((one.carried.cost(), one.carried.tokens())));
        document.heading("What the prompts held");
        contents(document, &kinds, &self.bill, (self.top, self.summed), "session");
    }
}
