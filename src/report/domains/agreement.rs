//! Agreement of the rules with the records of several histories.

use super::{DomainSums, Figure};
use crate::explain::analysis::{Answer, Counts, Verification};
use crate::explain::breaks::Summary;
use crate::report::verify::{Shown, agreement, conclusion};
use crate::report::{Document, Inputs};
use crate::requests::conversation::History;

/// Verification of some histories.
#[derive(Debug)]
pub struct AgreementSums {
    inputs: Inputs,
    verification: Verification,
    breaks: Summary,
    /// True if the measured rules are shown.
    shows_rules: bool,
    counts: Option<Counts>,
}

impl AgreementSums {
    /// The verification of a history.
    pub fn of(
        history: &History,
        (verification, breaks): (Verification, Summary),
        shown: Shown<'_>,
    ) -> Self {
        Self {
            breaks,
            inputs: Inputs::of(history),
            verification,
            shows_rules: shown.rules,
            counts: shown.counts.cloned(),
        }
    }
}

impl DomainSums for AgreementSums {
    const COLUMN: Option<&'static str> = Some("within 1 %");

    fn figure(&self) -> Figure {
        let all = &self.verification.all;
        Figure::Share(all.within, all.requests)
    }

    fn absorb(&mut self, other: Self) {
        self.inputs.add(&other.inputs);
        self.verification.absorb(other.verification);
        self.breaks.absorb(other.breaks);
        // All domains are worked under the same options: counts are there for all or for none.
        if let Some((own, others)) = self.counts.as_mut().zip(other.counts) {
            for (key, tally) in others {
                own.entry(key).or_default().absorb(tally);
            }
        }
    }

    fn show(&self, _: &Answer, document: &mut Document) {
        let shown = Shown { rules: self.shows_rules, counts: self.counts.as_ref() };
        document.text(conclusion(&self.verification));
        agreement(document, &self.inputs, (&self.verification, &self.breaks), shown);
    }
}
