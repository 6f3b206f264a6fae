//! Gaps and assumptions of figures, counted so that those of several histories add up.

use derive_more::AddAssign;

use super::counted;
use super::money_notes::{Doubt, assumed_lifetimes, unknown_writes};
use crate::base::ByKey;
use crate::explain::breaks::add_each;
use crate::requests::conversation::RequestIndex;
use crate::simulate::ledger::{Ledger, Selection};
use crate::simulate::provider::{NotSimulated, expectation};

/// Number of requests that each of the notes is about.
#[derive(Clone, Debug)]
pub(super) struct Caveats {
    /// Requests whose model has a price, and requests whose model has none.
    priced: u64,
    unpriced: u64,
    /// Requests without recorded usage.
    unrecorded: u64,
    /// Requests whose recorded output may be less than the real one.
    snapshots: u64,
    lifetimes: Doubt,
    writes: Doubt,
    /// Rows without an expectation, and the requests in them.
    not_simulated: ByKey<NotSimulated, Unexpected>,
}

/// Number of rows without an expectation, and of the requests that they sum.
#[derive(AddAssign, Clone, Copy, Debug, Default)]
struct Unexpected {
    rows: u64,
    requests: u64,
}

impl Caveats {
    pub(super) fn of(ledger: &Ledger<'_>, selection: &Selection) -> Self {
        let history = ledger.history;
        let count = |is: &dyn Fn(RequestIndex) -> bool| {
            selection.requests().filter(|index| is(*index)).count() as u64
        };
        let priced = count(&|index| ledger.rates_of(index).is_some());
        Self {
            priced,
            unpriced: count(&|_| true) - priced,
            unrecorded: count(&|index| history.request(index).usage.is_none()),
            snapshots: count(&|index| history.request(index).output_is_lower_bound),
            lifetimes: assumed_lifetimes(ledger, selection),
            writes: unknown_writes(ledger, selection),
            not_simulated: not_simulated(ledger, selection),
        }
    }

    /// Adds the counts of another history.
    pub(super) fn absorb(&mut self, other: Self) {
        self.priced += other.priced;
        self.unpriced += other.unpriced;
        self.unrecorded += other.unrecorded;
        self.snapshots += other.snapshots;
        self.lifetimes += other.lifetimes;
        self.writes += other.writes;
        add_each(&mut self.not_simulated, other.not_simulated);
    }

    /// Meaning of a plus after a sum, if there is one.
    fn plus(&self) -> Option<String> {
        // If nothing has a price no sum is shown, so that none has a plus.
        let has_unpriced = self.priced > 0 && self.unpriced > 0;
        let lacks = [(has_unpriced, "without a price"), (self.unrecorded > 0, "without a record")];
        let lacks: Vec<&str> = lacks.iter().filter(|(is, _)| *is).map(|(_, what)| *what).collect();
        let lacks = (!lacks.is_empty()).then(|| lacks.join(" or "));
        lacks.map(|lacks| format!("A plus after a sum: requests {lacks} are in none of it."))
    }

    /// Number of requests without a known usage, in a sentence.
    fn unrecorded(&self) -> Option<String> {
        (self.unrecorded > 0).then(|| {
            format!(
                "The usage of {} was not recorded: what was billed is unknown, and the costs are those \
                 of the prompts alone, without output.",
                counted(self.unrecorded, "request", "requests")
            )
        })
    }

    /// Requests without an expectation, and the reasons.
    pub(super) fn not_simulated(&self) -> Vec<String> {
        let note = |(reason, count): (&NotSimulated, &Unexpected)| {
            let what = if *reason == NotSimulated::Sum {
                let sums = counted(count.rows, "row", "rows");
                format!("{sums} with the sum of {}", counted(count.requests, "request", "requests"))
            } else {
                counted(count.rows, "request", "requests")
            };
            let label = reason.label();
            format!(
                "Not simulated, and as recorded under every strategy but `none`: {what}, since {label}."
            )
        };
        self.not_simulated.iter().map(note).collect()
    }

    /// Number of requests with incomplete output, in a sentence.
    pub(super) fn snapshots(&self) -> Option<String> {
        (self.snapshots > 0).then(|| {
            format!(
                "The output of {} is a snapshot in mid-stream: it and its cost are lower bounds.",
                counted(self.snapshots, "request", "requests")
            )
        })
    }

    /// Sentences about costs.
    pub(super) fn of_costs(&self) -> impl Iterator<Item = String> {
        let notes = [
            self.plus(),
            self.unrecorded(),
            self.lifetimes.of_lifetimes(),
            self.writes.of_writes(),
        ];
        notes.into_iter().flatten()
    }

    /// All sentences.
    pub(super) fn notes(&self) -> Vec<String> {
        self.of_costs().chain(self.not_simulated()).chain(self.snapshots()).collect()
    }
}

fn not_simulated(ledger: &Ledger<'_>, selection: &Selection) -> ByKey<NotSimulated, Unexpected> {
    let history = ledger.history;
    let reason = |index| {
        if history.is_marked(index) {
            ledger.has_own_cache(index).then_some(NotSimulated::OwnCache)
        } else {
            expectation(history, index).err()
        }
    };
    let mut counts: ByKey<NotSimulated, Unexpected> = ByKey::new();
    for index in selection.requests() {
        if let Some(reason) = reason(index) {
            // A row may be the sum of several requests.
            let requests = u64::from(history.request(index).sum_of);
            *counts.entry(reason).or_default() += Unexpected { rows: 1, requests };
        }
    }
    counts
}
