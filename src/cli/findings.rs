//! What a run finds beside its ledger: breaks, what to change, and what is said first.

use super::prepared::{EVIDENCE, Prepared, named};
use crate::advice::Advice;
use crate::analysis::Answer;
use crate::breaks::{Analysis, Options};
use crate::cache::Reading;
use crate::ledger::Ledger;

/// What a run finds. It looks at all that `breaks` looks at, so the input has to be read with the bytes
/// of captures and with trails.
pub(super) struct Findings<'r> {
    run: &'r Prepared<'r>,
    pub(super) ledger: Ledger<'r>,
    pub(super) analysis: Analysis,
}

/// What people are told of it.
pub(super) struct Told {
    /// `None` where nothing has a price.
    pub(super) advice: Option<Advice>,
    pub(super) answer: Answer,
}

impl<'r> Findings<'r> {
    /// Those of a run, as every command has them.
    pub(super) fn of(run: &'r Prepared<'_>) -> Self {
        Self::with(run, run.evidence(), Options::default())
    }

    /// Those in a ledger of [`Prepared::evidence`], with the breaks that `options` lets count.
    ///
    /// # Panics
    /// Never: the record and its replay are simulated.
    pub(super) fn with(run: &'r Prepared<'_>, ledger: Ledger<'r>, options: Options) -> Self {
        let Prepared { trace, steps, selection, .. } = run;
        let analysis = Analysis::new(&ledger, trace, steps, selection, options)
            .expect("the record and its replay are simulated");
        Self { run, ledger, analysis }
    }

    /// What people are told. Advice takes many simulations, so machine formats do without.
    pub(super) fn told(&self) -> Told {
        self.told_under(Reading::Conservative)
    }

    /// The same with advice that is simulated under a reading.
    pub(super) fn told_under(&self, reading: Reading) -> Told {
        let Self { run, ledger, analysis } = self;
        let as_recorded = run.ledger_under(&named(&EVIDENCE), &run.as_recorded(reading));
        let advice = Advice::new(&as_recorded, &run.trace, &run.selection, analysis);
        let answer = Answer::new(ledger, analysis, advice.as_ref(), &run.selection);
        Told { advice, answer }
    }
}
