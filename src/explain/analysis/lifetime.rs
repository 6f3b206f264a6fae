//! Comparison of the two lifetimes: the cheaper one for all requests, by session, and by kind of agent.

use crate::base::ttl::Ttl;
use crate::base::units::{Picodollars, Tokens};
use crate::requests::conversation::RequestIndex;
use crate::simulate::ledger::{Ledger, Selection};

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
    #[must_use]
    pub fn better(self) -> Ttl {
        if self.five_minutes < self.hour { Ttl::FiveMinutes } else { Ttl::OneHour }
    }

    /// Cost of the cheaper lifetime.
    #[must_use]
    pub fn least(self) -> Picodollars {
        self.five_minutes.min(self.hour)
    }

    /// Cost of the other lifetime beyond it.
    #[must_use]
    pub fn difference(self) -> Picodollars {
        self.five_minutes.max(self.hour).minus(self.least())
    }

    fn add(&mut self, other: Self) {
        self.five_minutes += other.five_minutes;
        self.hour += other.hour;
    }
}

/// Comparison of both lifetimes, over the requests that were sent with markers and have a price.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    #[must_use]
    pub fn of(ledger: &Ledger<'_>, selection: &Selection) -> Option<Self> {
        let [five, hour] = [Ttl::FiveMinutes, Ttl::OneHour].map(|ttl| ledger.lifetime(ttl));
        let (five, hour) = (five?, hour?);
        if [five, hour].iter().any(|column| !column.applicability().is_applicable()) {
            return None;
        }
        let history = ledger.history;
        let cost = |column, requests: &[RequestIndex]| {
            let totals = ledger.totals(column, requests.iter().copied());
            totals.cost().filter(|_| totals.unpriced == 0 && totals.unrecorded == 0)
        };
        let has_price = |request: &RequestIndex| ledger.totals(five, [*request]).cost().is_some();
        let both = |requests: &[RequestIndex]| {
            Some(ByLifetime { five_minutes: cost(five, requests)?, hour: cost(hour, requests)? })
        };
        let (mut by_agent, mut by_session) = ([None; 2], Vec::new());
        let mut all = Vec::new();
        for session in &selection.sessions {
            let marked = session.requests.iter().copied().filter(|one| history.is_marked(*one));
            let marked = marked.filter(has_price);
            let (agents, main): (Vec<_>, Vec<_>) =
                marked.partition(|one| history.request(*one).agent.is_some());
            let mut of_session = ByLifetime::default();
            for (sum, requests) in by_agent.iter_mut().zip([&main, &agents]) {
                if !requests.is_empty() {
                    let costs = both(requests)?;
                    sum.get_or_insert_with(ByLifetime::default).add(costs);
                    of_session.add(costs);
                }
            }
            if !(main.is_empty() && agents.is_empty()) {
                by_session.push(of_session);
            }
            all.extend(main.into_iter().chain(agents));
        }
        let billed = ledger.billed().and_then(|column| cost(column, &all));
        let record = ledger.billed().map(|column| ledger.totals(column, all.iter().copied()));
        let is_mixed = record
            .is_some_and(|totals| totals.write_5m > Tokens::ZERO && totals.write_1h > Tokens::ZERO);
        (!by_session.is_empty()).then_some(Self { by_agent, by_session, billed, is_mixed })
    }

    /// Costs of all requests.
    #[must_use]
    pub fn all(&self) -> ByLifetime {
        let mut all = ByLifetime::default();
        self.by_agent.iter().flatten().for_each(|one| all.add(*one));
        all
    }
}
