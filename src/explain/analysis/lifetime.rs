//! Comparison of the two lifetimes: the cheaper one for all requests, by session, and by kind of agent.

use crate::base::{Picodollars, Tokens, Ttl};
use crate::simulate::ledger::{Ledger, Selection, Totals};

/// Costs of the same requests, if every marker asked for one lifetime.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByLifetime {
    /// Cost with five minutes.
    pub five_minutes: Picodollars,
    /// Cost with an hour.
    pub hour: Picodollars,
}

impl ByLifetime {
    /// The cheaper lifetime, or an hour if they cost the same.
    pub fn better(self) -> Ttl {
        if self.five_minutes < self.hour { Ttl::FiveMinutes } else { Ttl::OneHour }
    }

    /// Cost of the cheaper lifetime.
    pub fn least(self) -> Picodollars {
        self.five_minutes.min(self.hour)
    }

    /// Cost of the other lifetime beyond it.
    pub fn difference(self) -> Picodollars {
        self.five_minutes.max(self.hour).minus(self.least())
    }

    fn add(&mut self, other: Self) {
        self.five_minutes += other.five_minutes;
        self.hour += other.hour;
    }
}

/// Comparison of both lifetimes, over the requests that were sent with markers and have a price.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lifetimes {
    /// Costs of main conversations, and of sub-agents; `None` if there are none.
    pub by_agent: [Option<ByLifetime>; 2],
    /// Costs of each session with any.
    pub by_session: Vec<ByLifetime>,
    /// Amount billed for the same requests, if it is known for all of them.
    pub billed: Option<Picodollars>,
    /// Whether the record has writes of both lifetimes.
    pub is_mixed: bool,
}

impl Lifetimes {
    /// Compares both strategies of a ledger; `None` if one of them is missing or cannot act.
    pub fn of(ledger: &Ledger<'_>, selection: &Selection) -> Option<Self> {
        let [five, hour] = [Ttl::FiveMinutes, Ttl::OneHour].map(|ttl| ledger.lifetime(ttl));
        let (five, hour) = (five?, hour?);
        if [five, hour].iter().any(|column| !column.applicability().is_applicable()) {
            return None;
        }
        let history = ledger.history;
        let mut all = Self { billed: Some(Picodollars::ZERO), ..Self::default() };
        let mut record = Totals::default();
        for session in &selection.sessions {
            let mut of_session = None;
            for index in session.requests.iter().copied().filter(|one| history.is_marked(*one)) {
                let under = |column| ledger.totals(column, [index]);
                let short = under(five);
                // A request without a price is in neither sum.
                if short.cost().is_none() {
                    continue;
                }
                let costs = ByLifetime {
                    five_minutes: short.whole_cost()?,
                    hour: under(hour).whole_cost()?,
                };
                let is_of_agent = history.request(index).agent.is_some();
                for sum in [&mut all.by_agent[usize::from(is_of_agent)], &mut of_session] {
                    sum.get_or_insert_with(ByLifetime::default).add(costs);
                }
                let billed = ledger.billed().map(under);
                all.billed = all
                    .billed
                    .zip(billed.and_then(|one| one.whole_cost()))
                    .map(|(sum, one)| sum + one);
                record += billed.unwrap_or_default();
            }
            all.by_session.extend(of_session);
        }
        all.is_mixed = record.write_5m > Tokens::ZERO && record.write_1h > Tokens::ZERO;
        (!all.by_session.is_empty()).then_some(all)
    }

    /// Costs of all requests.
    pub fn all(&self) -> ByLifetime {
        let mut all = ByLifetime::default();
        self.by_agent.iter().flatten().for_each(|one| all.add(*one));
        all
    }
}
