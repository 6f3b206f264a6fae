//! Requests held against the rules, so that nothing is advised by rules that the record contradicts.

use crate::base::{capitalized, words};
use crate::requests::prompt::{Step, StepKind, is_break};
use crate::simulate::ledger::{Ledger, Selection};
use crate::simulate::provider::OWN_CACHE;

/// Least number of wrong predictions that are no accident.
const LEAST_WRONG: u64 = 3;

words! {
    /// Reason why no saving by the rules of markers is to be believed.
    #[cfg_attr(test, derive(schemars::JsonSchema))]
    pub enum Contradiction {
        /// No request used Anthropic's cache.
        OwnCache = "own_cache", OWN_CACHE;
        /// The rules predict less than half of the reads within 1 % of the prompt, without large misses.
        Reads = "reads",
            "the rules predict less than half of these reads within 1 % of the prompt, large misses left out \
             (`cachesim verify`): no saving by these rules is to be believed";
    }
    /// Reason in words.
    pub fn reason;
}

impl Contradiction {
    /// Reason in a sentence.
    pub fn sentence(self) -> String {
        format!("{}.", capitalized(self.reason()))
    }
}

/// Contradiction between the record of some requests and the rules of markers, as `verify` shows it.
pub(super) fn contradiction(
    ledger: &Ledger<'_>,
    steps: &[Step],
    selection: &Selection,
) -> Option<Contradiction> {
    let (history, replay) = (ledger.history, ledger.expected()?);
    let (mut under_rules, mut of_own, mut all, mut wrong) = (0_u64, 0_u64, 0_u64, 0_u64);
    for index in selection.requests() {
        if ledger.has_own_cache(index) {
            of_own += 1;
            continue;
        }
        under_rules += 1;
        if !history.is_marked(index) {
            continue;
        }
        let Some(request) = history.of_transcripts().get(index.get()) else { continue };
        let Some(row) = ledger.row_tokens(replay, index) else { continue };
        let step = &steps[index.get()];
        if matches!(step.kind, StepKind::Opening | StepKind::ModelChange) || is_break(request, step)
        {
            continue;
        }
        let error = request.recorded().prompt.read.abs_diff(row.billing.read);
        all += 1;
        wrong += u64::from(error.0.saturating_mul(100) > request.prompt_total().0);
    }
    if of_own > 0 && under_rules == 0 {
        return Some(Contradiction::OwnCache);
    }
    (wrong >= LEAST_WRONG && wrong * 2 > all).then_some(Contradiction::Reads)
}
