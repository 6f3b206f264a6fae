//! What a run finds beside its ledger: breaks, what to change, and what is said first.

use super::prepared::{Prepared, named};
use crate::explain::advice::Advice;
use crate::explain::analysis::Answer;
use crate::explain::breaks::{Analysis, Options};
use crate::requests::prompt::PromptTrace;
use crate::simulate::cache::Reading;
use crate::simulate::ledger::{Ledger, Selection};

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

    /// What people are told where changes are listed. Advice takes many simulations, so machine formats do
    /// without.
    pub(super) fn told(&self) -> Told {
        self.told_under(Reading::Conservative)
    }

    /// The same with advice that is simulated under a reading.
    pub(super) fn told_under(&self, reading: Reading) -> Told {
        let Self { run, ledger, analysis } = self;
        let advice = seen_under(reading, run, analysis, Advice::new);
        let first = advice.as_ref().and_then(|advice| advice.changes.first());
        let answer = Answer::new(ledger, analysis, &run.selection).with_change(first);
        Told { advice, answer }
    }

    /// What people are told first, with the change alone that would be the first of the list.
    pub(super) fn answer(self) -> Answer {
        let Self { run, ledger, analysis } = self;
        let answer = Answer::new(&ledger, &analysis, &run.selection);
        // Changes are simulated too, and memory need not hold both.
        drop(ledger);
        let first = seen_under(Reading::Conservative, run, &analysis, Advice::first);
        answer.with_change(first.as_ref())
    }
}

/// Advice begins with the record under a reading, breaks included.
fn seen_under<T>(
    reading: Reading,
    run: &Prepared<'_>,
    analysis: &Analysis,
    advise: impl FnOnce(&Ledger<'_>, &PromptTrace, &Selection, &Analysis) -> T,
) -> T {
    let as_recorded = run.ledger_under(&named(&["billed"]), &run.as_recorded(reading));
    advise(&as_recorded, &run.trace, &run.selection, analysis)
}
