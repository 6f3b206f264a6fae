//! Patterns: recurring breaks, each with a change and its saving here.
//!
//! They are found independently, so their savings overlap and do not add up.

mod habits;
mod lifetime;
mod prefix;

use std::cmp::Reverse;

use rustc_hash::FxHashSet;
use serde::Serialize;

use super::Cause;
use super::find::{Break, Breaks};
use crate::base::{Order as _, Picodollars, Symbol, wording, words};
use crate::read::transcript::Sign;
use crate::requests::conversation::{ConversationKey, History, RequestIndex};
use crate::requests::prompt::Step;
use crate::simulate::ledger::{Ledger, Selection};

/// A recurring break.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "PatternObject"))]
pub struct Pattern {
    /// Name of the pattern.
    #[serde(rename = "pattern")]
    pub name: &'static str,
    /// Observation, in a sentence.
    pub observation: String,
    /// Change to make, in a sentence.
    pub advice: String,
    /// Number of occurrences.
    pub occurrences: u64,
    /// Number of sessions with an occurrence.
    pub sessions: u64,
    /// Saving of the change, in dollars; unknown without prices.
    #[serde(rename = "saving_usd")]
    pub saving: Option<Picodollars>,
    /// Basis of the saving.
    #[serde(rename = "saving_rests_on")]
    pub ground: Ground,
}

words! {
    /// Basis of a saving.
    pub enum Ground {
        /// The excess of these breaks, avoided in full.
        Excess = "excess";
        /// The excess, avoided in an unknown part.
        AtMostExcess = "at_most_excess";
        /// The difference between the rules and a simulated strategy on the same requests.
        Simulated = "simulated";
    }
}

/// Data to search for patterns.
struct PatternEvidence<'a> {
    ledger: &'a Ledger<'a>,
    history: &'a History,
    steps: &'a [Step],
    selection: &'a Selection,
    breaks: &'a Breaks,
}

/// Every pattern found, largest saving first.
pub fn patterns(
    ledger: &Ledger<'_>,
    steps: &[Step],
    selection: &Selection,
    breaks: &Breaks,
) -> Vec<Pattern> {
    let evidence = PatternEvidence { ledger, history: ledger.history, steps, selection, breaks };
    let mut patterns: Vec<Pattern> = Vec::new();
    patterns.extend(lifetime::short_lived(&evidence));
    patterns.extend(lifetime::long_pauses(&evidence));
    patterns.extend(lifetime::shortened(&evidence));
    patterns.extend(lifetime::uncached(&evidence));
    patterns.extend(prefix::pinned_reads(&evidence));
    patterns.extend(prefix::loaded_tools(&evidence));
    patterns.extend(prefix::changed_tools(&evidence));
    patterns.extend(prefix::stripped_thinking(&evidence));
    patterns.extend(prefix::siblings(&evidence));
    patterns.extend(habits::resumes(&evidence));
    patterns.extend(habits::updates(&evidence));
    patterns.extend(habits::switches(&evidence));
    patterns.order_by_key(|pattern| (Reverse(pattern.saving), pattern.name));
    patterns
}

impl<'a> PatternEvidence<'a> {
    fn conversation(&self, index: RequestIndex) -> ConversationKey {
        self.history.request(index).conversation()
    }

    /// Breaks of a kind.
    fn breaks_that<'s>(
        &'s self,
        is_such: impl Fn(&Break) -> bool + 's,
    ) -> impl Iterator<Item = &'a Break> + 's {
        let breaks: &'a Breaks = self.breaks;
        breaks.list.iter().filter(move |found| is_such(found))
    }

    /// Number of sessions with these breaks.
    fn sessions(&self, breaks: &[&Break]) -> u64 {
        let sessions: FxHashSet<Symbol> =
            breaks.iter().map(|found| self.history.request(found.request).session).collect();
        sessions.len() as u64
    }

    /// Cost of some requests by the rules beyond their cost under a strategy, or `None` if none has a price.
    ///
    /// The record is no reference, so that the strategy gets no credit for anything else that went wrong.
    fn saved_by(
        &self,
        strategy: &str,
        is_meant: impl Fn(RequestIndex) -> bool,
    ) -> Option<Picodollars> {
        let (replay, other) = (self.ledger.expected()?, self.ledger.column(strategy)?);
        let cost = |column, index| self.ledger.row(column, index).and_then(|row| row.cost);
        let saved = |index| Some(cost(replay, index)?.minus(cost(other, index)?));
        let mut saved =
            self.selection.requests().filter(|index| is_meant(*index)).filter_map(saved).peekable();
        saved.peek()?;
        Some(saved.sum())
    }

    /// Pattern of the breaks of a kind, whose saving is their excess. `None` without any.
    fn of_kind(
        &self,
        (name, ground): (&'static str, Ground),
        is_such: impl Fn(&Break) -> bool,
        observation: impl FnOnce(&[&Break]) -> String,
        advice: &str,
    ) -> Option<Pattern> {
        let breaks: Vec<&Break> = self.breaks_that(is_such).collect();
        (!breaks.is_empty())
            .then(|| self.of_excess(name, &breaks, ground, observation(&breaks), advice))
    }

    /// Pattern whose saving is the excess of its breaks.
    fn of_excess(
        &self,
        name: &'static str,
        breaks: &[&Break],
        ground: Ground,
        observation: String,
        advice: impl Into<String>,
    ) -> Pattern {
        let mut priced = breaks.iter().filter_map(|found| found.excess).peekable();
        let saving = priced.peek().is_some().then(|| priced.sum());
        Pattern {
            name,
            observation,
            advice: advice.into(),
            occurrences: breaks.len() as u64,
            sessions: self.sessions(breaks),
            saving,
            ground,
        }
    }
}

/// Returns true if the evidence for a cause of a break has a sign.
fn rests_on(found: &Break, cause: Cause, sign: Sign) -> bool {
    let candidate = found.candidates.iter().find(|one| one.cause == cause);
    found.cause == cause
        && candidate.is_some_and(|one| one.evidence.iter().any(|seen| seen.sign == Some(sign)))
}

/// Count with its noun: `1 request`, `2,000 requests`.
fn counted(count: usize, singular: &str, plural: &str) -> String {
    wording::counted(count as u64, singular, plural)
}
