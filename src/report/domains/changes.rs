//! Advised changes of several histories.

use std::cmp::Reverse;

use super::{DomainSums, Figure};
use crate::base::{Order as _, Picodollars};
use crate::explain::advice::{Advice, AdviceEntry, Change, Who};
use crate::explain::analysis::Answer;
use crate::report::advice::{by_rules, tone};
use crate::report::{Columns, Document, Grid, counted, dollars, part, percent};

/// Changes that would have saved something in any domain. Each domain ranks and simulates them on top of each other on
/// its own, so that all of them add up.
#[derive(Clone, Debug)]
pub struct ChangeSums {
    /// Number of listed changes.
    top: usize,
    domains: u64,
    /// Number of domains with advice: others have no price, or nothing under the rules of markers.
    advised: u64,
    spent: Picodollars,
    /// True if all of the spending was billed.
    is_billed: bool,
    /// Part of the savings that the bills support.
    supported: Picodollars,
    changes: Vec<ChangeSum>,
    /// Number of domains without changes because their records support none.
    unsupported: u64,
    out_of_reach: Vec<ChangeSum>,
}

/// A change, and its saving.
#[derive(Clone, Debug)]
struct ChangeSum {
    code: &'static str,
    label: &'static str,
    who: Who,
    saving: Picodollars,
    is_at_most: bool,
    /// Number of domains that have the change.
    domains: u64,
}

impl ChangeSum {
    fn of(entry: &AdviceEntry) -> Self {
        let Change { code, label, who, is_at_most, .. } = entry.change;
        Self { code, label, who, saving: entry.saving, is_at_most, domains: 1 }
    }
}

impl ChangeSums {
    /// Changes of a history; empty without advice, or if it is withheld. `top` of each kind are listed.
    pub fn of(advice: Option<&Advice>, top: usize) -> Self {
        let advice = advice.filter(|advice| advice.withheld.is_none());
        let all = |entries: fn(&Advice) -> &[AdviceEntry]| {
            let entries = advice.map(entries).unwrap_or_default();
            let mut sums = Vec::new();
            add(&mut sums, entries.iter().map(ChangeSum::of).collect());
            sums
        };
        Self {
            top,
            domains: 1,
            advised: u64::from(advice.is_some()),
            spent: advice.map(|advice| advice.bill.spent()).unwrap_or_default(),
            // A domain without advice adds no spending, so none that was not billed.
            is_billed: advice.is_none_or(|advice| advice.bill.unrecorded == Picodollars::ZERO),
            supported: advice.map(Advice::supported).unwrap_or_default(),
            changes: all(|advice| &advice.changes),
            unsupported: advice.map_or(0, |advice| u64::from(advice.unsupported.is_some())),
            out_of_reach: all(|advice| &advice.out_of_reach),
        }
    }

    fn saving(&self) -> Picodollars {
        self.changes.iter().map(|one| one.saving).sum()
    }

    /// Shows the first changes, if there are any.
    pub(super) fn show_first(&self, document: &mut Document) {
        if !self.changes.is_empty() {
            document.heading("What to change first");
            document.grid(self.grid(&self.changes));
            document.text("`cachesim advise` over a domain says how, and what each rests on.");
        }
    }

    /// Savings of all changes together, in a sentence.
    fn answer(&self) -> String {
        let of = dollars(Some(self.spent));
        let of = if self.is_billed {
            format!("Of {of} that was spent")
        } else {
            format!("Of {of} that was spent, or that the rules charge where nothing was recorded")
        };
        let saving = self.saving();
        let most = if self.changes.iter().any(|one| one.is_at_most) { "at most " } else { "" };
        let saved = match (self.advised, saving) {
            (0, _) => return NOTHING_RANKED.to_owned(),
            (_, Picodollars::ZERO) if self.unsupported > 0 => {
                format!("{of}, no change is advised.")
            }
            (_, Picodollars::ZERO) => {
                format!("{of}, no change would have saved as much as 0.5 % of a domain, or a cent.")
            }
            _ => format!(
                "{of}, the changes of each domain together would have saved {most}{} ({}{}).",
                dollars(Some(self.supported)),
                percent(part(Some(self.supported), Some(self.spent))),
                by_rules(saving, self.supported),
            ),
        };
        let saved = match self.unsupported {
            0 => saved,
            unsupported => format!(
                "{saved} In {} the rules charge as much more than was billed as the best change saves, so none is \
                 listed.",
                counted(unsupported, "domain", "domains"),
            ),
        };
        match self.domains - self.advised {
            0 => saved,
            left_out => format!(
                "{saved} {} without a price, or where the rules of markers do not hold, {} left out.",
                counted(left_out, "domain", "domains"),
                if left_out == 1 { "is" } else { "are" }
            ),
        }
    }

    fn grid(&self, changes: &[ChangeSum]) -> Grid {
        let mut columns = Columns::<(usize, &ChangeSum)>::new();
        columns.right("#", |(number, _)| number.to_string());
        columns.wrapped("change", |(_, one)| one.label);
        columns.right("domains", |(_, one)| one.domains);
        columns.right("would save", |(_, one)| {
            let most = if one.is_at_most { "at most " } else { "" };
            format!("{most}{}", dollars(Some(one.saving)))
        });
        columns.right("of spent", |(_, one)| part(Some(one.saving), Some(self.spent))).hidden(1);
        columns.left("who", |(_, one)| one.who.label()).hidden(2);
        columns.toned(|(_, one)| tone(one.who));
        columns.grid((1..).zip(changes.iter().take(self.top)))
    }
}

/// Answer if no domain has advice.
const NOTHING_RANKED: &str = "No domain has a request under the rules of markers whose model has a price, so nothing can be \
                              ranked.";

/// Merges changes into others, the best first.
fn add(own: &mut Vec<ChangeSum>, others: Vec<ChangeSum>) {
    for other in others {
        let same = own.iter_mut().find(|one| (one.code, one.label) == (other.code, other.label));
        match same {
            Some(same) => {
                same.saving += other.saving;
                same.is_at_most |= other.is_at_most;
                same.domains += other.domains;
            }
            None => own.push(other),
        }
    }
    own.order_by_key(|one| (Reverse(one.saving), one.code, one.label));
}

impl DomainSums for ChangeSums {
    const COLUMN: Option<&'static str> = Some("would save");

    fn figure(&self) -> Figure {
        // Without advice the saving is unknown rather than zero.
        Figure::Dollars(Some(self.supported).filter(|_| self.advised > 0))
    }

    fn absorb(&mut self, other: Self) {
        self.domains += other.domains;
        self.advised += other.advised;
        self.spent += other.spent;
        self.is_billed &= other.is_billed;
        self.supported += other.supported;
        self.unsupported += other.unsupported;
        add(&mut self.changes, other.changes);
        add(&mut self.out_of_reach, other.out_of_reach);
    }

    fn show(&self, _: &Answer, document: &mut Document) {
        document.text(self.answer());
        if self.advised == 0 {
            return;
        }
        for (heading, changes) in [
            ("What to change", &self.changes),
            ("What nobody but the service could change", &self.out_of_reach),
        ] {
            if !changes.is_empty() {
                document.heading(heading);
                document.grid(self.grid(changes));
            }
        }
        document.text(
            "In each domain changes are ranked and simulated on top of each other by themselves; searches choose for \
             each domain. `cachesim advise` over a domain says how, and what each rests on.",
        );
    }
}
