//! Sums of breaks by cause, class, project, client version and week, and the part of the difference between
//! the record and the rules that they explain.
//!
//! [`Analysis`] has all of it together with the breaks and their patterns.

use std::cmp::Reverse;

use derive_more::with_trait::AddAssign;
use serde::Serialize;

use super::Cause;
use super::find::{Break, Breaks, Options, find};
use super::held::{Contradiction, contradiction};
use super::patterns::{Pattern, patterns};
use super::readable::Class;
use crate::base::{ByKey, KnownSum, Millis, Order as _, Picodollars, Tokens, Zone};
use crate::requests::conversation::{History, project_names};
use crate::requests::prompt::{LARGE_MISS, PromptTrace, Step};
use crate::simulate::ledger::{Ledger, Selection};

/// Sum of some breaks.
#[derive(AddAssign, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// Number of breaks.
    pub breaks: u64,
    /// Tokens sent again.
    pub rewritten: Tokens,
    /// Costs of these tokens beyond reading them.
    pub costs: KnownSum,
}

impl Sum {
    /// Adds a break.
    pub(crate) fn add(&mut self, found: &Break) {
        self.add_figures(found.rewritten, found.excess);
    }

    /// Adds a break by the tokens sent again and their cost beyond reading.
    pub(crate) fn add_figures(&mut self, rewritten: Tokens, excess: Option<Picodollars>) {
        self.breaks += 1;
        self.rewritten += rewritten;
        self.costs.add(excess);
    }

    /// Excess, or `None` if no break has a price.
    pub fn excess(&self) -> Option<Picodollars> {
        self.costs.value()
    }
}

/// Reconciliation of the amount billed with the rules' charge: the part of the difference that the breaks
/// explain.
///
/// billed − apart − replay = (excess − predicted) + unexplained, exactly. The rules charge for
/// expiries and compactions, too, so that part of the excess is in both.
#[derive(AddAssign, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reconciliation {
    /// Amount billed.
    pub billed: Picodollars,
    /// Part billed for separate samplings, the same under every strategy.
    pub apart: Picodollars,
    /// The rules' charge.
    pub replay: Picodollars,
    /// Excess of all breaks.
    pub excess: Picodollars,
    /// Part of the excess that the rules charge as well.
    pub predicted: Picodollars,
    /// Number of requests in the sums.
    pub priced: u64,
    /// Number of requests in none of the sums, without a price or a record.
    pub left_out: u64,
}

impl Reconciliation {
    /// Returns true if the sums mean anything: no requests at all, or some with a record and a price.
    pub fn is_known(&self) -> bool {
        self.priced > 0 || self.left_out == 0
    }

    /// Excess that the rules do not charge.
    pub fn beyond_rules(&self) -> Picodollars {
        self.excess.minus(self.predicted)
    }

    /// Amount billed beyond the rules' charge for the same samplings. May be negative.
    pub fn difference(&self) -> Picodollars {
        self.billed.minus(self.apart).minus(self.replay)
    }

    /// Amount that neither the rules nor the breaks explain. May be negative.
    pub fn unexplained(&self) -> Picodollars {
        self.difference().minus(self.beyond_rules())
    }

    /// Share that is explained, 1 − |unexplained| / (billed − apart), or `None` if nothing was billed that a
    /// simulation has.
    pub fn explained(&self) -> Option<f64> {
        let unexplained = Picodollars(self.unexplained().0.abs());
        let simulated = self.billed.minus(self.apart);
        (simulated.0 > 0)
            .then(|| 1.0 - unexplained.to_dollars_lossy() / simulated.to_dollars_lossy())
    }

    fn new(ledger: &Ledger<'_>, selection: &Selection, breaks: &Breaks) -> Self {
        let mut sums = Self::default();
        let (Some(billed), Some(replay)) = (ledger.billed(), ledger.expected()) else {
            return sums;
        };
        for index in selection.requests() {
            let cost = |column| ledger.row(column, index).and_then(|row| row.cost);
            match (cost(billed), cost(replay)) {
                (Some(own), Some(replay)) => {
                    let apart = ledger.totals(billed, [index]).apart;
                    sums.priced += 1;
                    // The cost of a row is without its separate samplings.
                    sums.billed += own + apart;
                    sums.apart += apart;
                    sums.replay += replay;
                }
                _ => sums.left_out += 1,
            }
        }
        for found in &breaks.list {
            // Without a record a break is in no billed amount.
            let is_billed = ledger.row(billed, found.request).is_some();
            if let (Some(excess), Some(predicted), true) =
                (found.excess, found.predicted, is_billed)
            {
                sums.excess += excess;
                sums.predicted += predicted;
            }
        }
        sums
    }
}

/// Agreement of inferred causes with the service's verdicts, over misses of more than 2,000 tokens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerdictAgreement {
    /// Numbers of misses with each verdict and inferred cause, inside the TTL and beyond it.
    pub table: ByKey<(String, Cause), Counted>,
    /// Number of verdicts that name a cause.
    pub named: Counted,
    /// Number of these that agree with the inferred cause.
    pub agreeing: Counted,
}

/// Adds each sum to the one with the same name.
pub fn add_each<K: Ord, S: Default + AddAssign>(own: &mut ByKey<K, S>, other: ByKey<K, S>) {
    for (name, sum) in other {
        *own.entry(name).or_default() += sum;
    }
}

/// Number of misses, with its part inside the entries' lifetime.
#[derive(AddAssign, Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "CountObject"))]
pub struct Counted {
    /// All misses.
    #[serde(rename = "misses")]
    pub all: u64,
    /// Misses inside the entries' lifetime.
    pub inside_ttl: u64,
}

impl Counted {
    fn add(&mut self, is_inside_ttl: bool) {
        self.all += 1;
        self.inside_ttl += u64::from(is_inside_ttl);
    }
}

impl VerdictAgreement {
    fn new(history: &History, breaks: &Breaks) -> Self {
        let mut agreement = Self::default();
        for found in breaks.list.iter().filter(|found| found.shortfall() > LARGE_MISS) {
            let verdict = history.request(found.request).verdict;
            let Some(verdict) = verdict else { continue };
            let reason = history.symbols.text(verdict.reason);
            let key = (reason.to_owned(), found.inferred);
            agreement.table.entry(key).or_default().add(found.is_inside_ttl);
            if let Some(agrees) = found.inferred.agrees_with(reason) {
                agreement.named.add(found.is_inside_ttl);
                if agrees {
                    agreement.agreeing.add(found.is_inside_ttl);
                }
            }
        }
        agreement
    }
}

/// Sums of breaks, in all and by each property.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Sum of all breaks.
    pub total: Sum,
    /// Sum of the breaks that follow from what was done: compactions and expiries.
    pub expected: Sum,
    /// Sums by cause, most expensive first.
    pub by_cause: Vec<(Cause, Sum)>,
    /// Sums by outcome for the cache.
    pub by_class: ByKey<Class, Sum>,
    /// Sums by project: as much of the end of its folder as distinguishes it from the others.
    pub by_project: ByKey<String, Sum>,
    /// Sums by the client's version.
    pub by_client_version: ByKey<String, Sum>,
    /// Sums by ISO week, as `2026-W07`, in the time zone of the history.
    pub by_week: ByKey<String, Sum>,
    /// Part of the difference to the rules that they explain.
    pub reconciliation: Reconciliation,
    /// Agreement of causes with verdicts.
    pub agreement: VerdictAgreement,
}

impl Summary {
    /// Sums the breaks up.
    pub fn new(ledger: &Ledger<'_>, selection: &Selection, breaks: &Breaks) -> Self {
        let history = ledger.history;
        let projects = project_names(history);
        let mut summary = Self {
            reconciliation: Reconciliation::new(ledger, selection, breaks),
            agreement: VerdictAgreement::new(history, breaks),
            ..Self::default()
        };
        let mut by_cause: ByKey<Cause, Sum> = ByKey::new();
        for found in &breaks.list {
            let request = history.request(found.request);
            let project = request.project.and_then(|project| projects.get(&project));
            let unknown = || "unknown".to_owned();
            let version = history.text(request.client_version).map_or_else(unknown, str::to_owned);
            summary.total.add(found);
            if found.cause.is_expected() {
                summary.expected.add(found);
            }
            by_cause.entry(found.cause).or_default().add(found);
            summary.by_class.entry(found.class).or_default().add(found);
            let project = project.cloned().unwrap_or_else(unknown);
            summary.by_project.entry(project).or_default().add(found);
            summary.by_client_version.entry(version).or_default().add(found);
            summary.by_week.entry(week(&history.zone, request.time())).or_default().add(found);
        }
        summary.by_cause = most_expensive_first(by_cause);
        summary
    }

    /// Adds the sums of another history, but for projects, whose names are distinct within one history alone.
    pub fn absorb(&mut self, other: Self) {
        self.total += other.total;
        self.expected += other.expected;
        self.by_cause = by_cause_of_both(&self.by_cause, &other.by_cause);
        add_each(&mut self.by_class, other.by_class);
        self.by_project = ByKey::new();
        add_each(&mut self.by_client_version, other.by_client_version);
        add_each(&mut self.by_week, other.by_week);
        self.reconciliation += other.reconciliation;
        add_each(&mut self.agreement.table, other.agreement.table);
        self.agreement.named += other.agreement.named;
        self.agreement.agreeing += other.agreement.agreeing;
    }

    /// Sums of breaks whose causes alone are known.
    pub(crate) fn of_causes(total: Sum, expected: Sum, by_cause: ByKey<Cause, Sum>) -> Self {
        let reconciliation =
            Reconciliation { excess: total.costs.sum, ..Reconciliation::default() };
        Self {
            total,
            expected,
            by_cause: most_expensive_first(by_cause),
            reconciliation,
            ..Self::default()
        }
    }
}

/// Causes of two histories together, most expensive first.
pub fn by_cause_of_both(one: &[(Cause, Sum)], other: &[(Cause, Sum)]) -> Vec<(Cause, Sum)> {
    let mut by_cause: ByKey<Cause, Sum> = ByKey::new();
    for (cause, sum) in one.iter().chain(other) {
        *by_cause.entry(*cause).or_default() += *sum;
    }
    most_expensive_first(by_cause)
}

fn most_expensive_first(by_cause: ByKey<Cause, Sum>) -> Vec<(Cause, Sum)> {
    let mut by_cause: Vec<(Cause, Sum)> = by_cause.into_iter().collect();
    by_cause.order_by_key(|(_, sum)| (Reverse(sum.costs.sum), Reverse(sum.rewritten)));
    by_cause
}

/// Everything known of the breaks of a selection.
#[derive(Debug)]
pub struct Analysis {
    /// Breaks of the selection.
    pub breaks: Breaks,
    /// Sums of the breaks.
    pub summary: Summary,
    /// Recurring breaks, largest saving first.
    pub patterns: Vec<Pattern>,
    /// Reason why no saving by the rules of markers is to be believed, if there is one.
    pub contradiction: Option<Contradiction>,
}

impl Analysis {
    /// Finds the breaks of a ledger and sums them up; `None` unless the ledger has `billed` and `replay`.
    ///
    /// Without `5m` and `1h`, the savings of these strategies stay unknown.
    pub fn new(
        ledger: &Ledger<'_>,
        trace: &PromptTrace,
        steps: &[Step],
        selection: &Selection,
        options: Options,
    ) -> Option<Self> {
        let breaks = find(ledger, trace, steps, selection, options)?;
        let summary = Summary::new(ledger, selection, &breaks);
        let patterns = patterns(ledger, steps, selection, &breaks);
        let contradiction = contradiction(ledger, steps, selection);
        Some(Self { breaks, summary, patterns, contradiction })
    }
}

/// ISO week in a time zone, as `2026-W07`, or `unknown` outside of the calendar.
pub(super) fn week(zone: &Zone, at: Millis) -> String {
    let Some(day) = zone.day(at) else { return "unknown".to_owned() };
    let week = day.iso_week_date();
    format!("{:04}-W{:02}", week.year(), week.week())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weeks_are_those_of_the_calendar() {
        // 2026-02-14 is a Saturday, and 2027-01-01 a Friday in a week that began in 2026.
        let at = |text: &str| {
            let at: jiff::Timestamp = text.parse().expect("a moment");
            week(&Zone::default(), Millis::new(at.as_millisecond()))
        };
        assert_eq!(at("2026-02-14T23:59:59Z"), "2026-W07");
        assert_eq!(at("2027-01-01T00:00:00Z"), "2026-W53");
        assert_eq!(week(&Zone::default(), Millis::new(i64::MAX)), "unknown");
    }
}
