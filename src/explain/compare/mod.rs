//! Comparison of a ledger's strategies: the cost of each, its difference from the first one session by
//! session, and its distance from the bound. Expressions take their figures from here.

mod draws;
mod expression;
mod paired;
mod since;

pub use expression::{Expression, ExpressionError, ExpressionProblem, Reference, StrategyMetric};
pub use paired::{Decisive, Paired, PairedVerdict, TimesLess};
pub use since::{KindOfSession, LEAST_SESSIONS, Side, SinceChange, SinceVerdict};

use std::borrow::Cow;

use paired::{SessionCost, pair};
use rayon::prelude::*;
use rust_decimal::Decimal;
use serde::Serialize;

use crate::base::{ByKey, Picodollars, Symbol, Tokens, side_by_side};
use crate::read::agent::Vendor;
use crate::simulate::ledger::{Ledger, ManagedColumn, Row, Selection, StrategyColumn, Totals};
use crate::simulate::provider::{expectation, has_unreported_writes};
use crate::simulate::strategy::{Applicability, Assumptions, RequestKinds, Strategy, StrategyKind};

/// Figures of a strategy, with its comparison.
#[derive(Debug)]
pub struct Compared<'l> {
    /// Strategy with its name and kind.
    pub strategy: &'l Strategy,
    /// Applicability to the requests. A strategy that cannot act on them has no figures.
    pub applicability: &'l Applicability,
    /// Choice of a search; `None` for other strategies.
    pub chosen: Option<String>,
    /// Totals of all requests.
    pub totals: Totals,
    /// Totals of main conversations.
    pub main: Totals,
    /// Totals of sub-agents.
    pub agents: Totals,
    /// Totals by billed model.
    pub by_model: ByKey<String, Totals>,
    /// Comparison with the first strategy, session by session. `None` for the first one, and if either
    /// is not applicable.
    pub paired: Option<Paired>,
    /// Work of context management, in a strategy that has it.
    pub managed: Option<ManagedColumn>,
    /// Facts that no simulation of it can know, and the assumptions made instead.
    pub unknowns: Vec<Cow<'static, str>>,
}

/// Least possible cost of the same prompts under any markers, TTLs and pings.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "BoundObject"))]
pub struct Bound {
    /// Bound under the reading that the strategies are simulated with, in dollars, if known.
    #[serde(rename = "cost_usd")]
    pub own_reading: Option<Picodollars>,
    /// Bound under the other reading, in dollars.
    #[serde(rename = "other_reading_cost_usd")]
    pub other_reading: Option<Picodollars>,
}

/// Strategies side by side. The others are compared with the first one.
#[derive(Debug)]
pub struct Comparison<'l> {
    /// Assumptions of every simulation.
    pub assumptions: Assumptions,
    /// Strategies, in the order of the request.
    pub strategies: Vec<Compared<'l>>,
    /// Bound of all strategies.
    pub bound: Bound,
    /// Number of sessions that are compared.
    pub sessions: usize,
    /// Number of sessions that are left out, because their cost under some strategy is unknown.
    pub incomparable: usize,
    /// Position of the base among the strategies.
    base: usize,
}

impl<'l> Comparison<'l> {
    /// Compares the columns of a ledger with the first one whose cost is known, and with its bounds.
    pub fn new(ledger: &'l Ledger<'_>, selection: &Selection) -> Self {
        let kinds = kinds_of_requests(ledger, selection);
        let columns =
            side_by_side(&ledger.columns, |column| sums(ledger, column, selection, &kinds));
        let own = ledger.assumptions.reading;
        let bound = |reading| ledger.totals(ledger.bound(reading)?, selection.requests()).cost();
        Self {
            assumptions: ledger.assumptions,
            bound: Bound { own_reading: bound(own), other_reading: bound(own.other()) },
            ..Self::paired(columns)
        }
    }

    /// Compares sums of rows that were made under these assumptions. Their bound is a strategy among them, or
    /// unknown.
    pub(crate) fn of_sums(columns: Vec<ColumnSums<'l>>, assumptions: Assumptions) -> Self {
        let compared = |(strategy, applicability, sums, sessions): ColumnSums<'l>| {
            let costs = sessions.iter().map(|(id, totals)| SessionCost::of(*id, totals));
            (Compared::of(strategy, applicability, sums.clone()), costs.collect())
        };
        let all = Self::paired(columns.into_iter().map(compared).collect());
        let is_bound = |one: &&Compared<'_>| matches!(one.strategy.kind, StrategyKind::Optimal(_));
        let own_reading =
            all.strategies.iter().find(is_bound).and_then(|bound| bound.totals.cost());
        Self { assumptions, bound: Bound { own_reading, other_reading: None }, ..all }
    }

    /// Compares columns, each with the costs of all sessions, with the first whose cost is known.
    fn paired(columns: Vec<(Compared<'l>, Vec<SessionCost>)>) -> Self {
        let sessions = columns.first().map_or(0, |(_, costs)| costs.len());
        let (mut strategies, costs): (Vec<Compared<'l>>, Vec<Vec<SessionCost>>) =
            columns.into_iter().unzip();
        let has_cost = |strategy: &Compared<'_>| {
            strategy.applicability.is_applicable() && strategy.totals.cost().is_some()
        };
        let is_known = |(strategy, costs): (&Compared<'_>, &Vec<SessionCost>), session: usize| {
            !has_cost(strategy) || costs[session].cost.is_some()
        };
        // One set of sessions for all strategies, so that their differences can be compared.
        let is_complete =
            |session: usize| strategies.iter().zip(&costs).all(|one| is_known(one, session));
        let found = strategies.iter().position(has_cost);
        let complete: Vec<usize> =
            (0..sessions).filter(|at| found.is_some() && is_complete(*at)).collect();
        let base = found.unwrap_or(0);
        strategies.par_iter_mut().zip(&costs).enumerate().for_each(|(place, (strategy, own))| {
            let is_paired = found.is_some() && place != base && has_cost(strategy);
            strategy.paired = is_paired.then(|| pair(&costs[base], own, &complete));
        });
        Self {
            assumptions: Assumptions::default(),
            strategies,
            bound: Bound::default(),
            sessions: complete.len(),
            incomparable: sessions - complete.len(),
            base,
        }
    }

    /// Base of the comparison: the first strategy whose cost is known.
    pub fn base(&self) -> Option<&Compared<'l>> {
        self.strategies.get(self.base)
    }

    /// Strategies other than the base.
    pub fn others(&self) -> impl Iterator<Item = &Compared<'l>> {
        self.strategies
            .iter()
            .enumerate()
            .filter(|(place, _)| *place != self.base)
            .map(|(_, one)| one)
    }

    /// Strategy of a name.
    pub fn strategy(&self, name: &str) -> Option<&Compared<'l>> {
        self.strategies.iter().find(|compared| compared.strategy.name == name)
    }

    /// Cost of a strategy beyond its bound. `None` if its prompts are not the recorded ones, or a cost is
    /// unknown.
    pub fn beyond_bound(&self, compared: &Compared<'_>) -> Option<Picodollars> {
        Some(compared.totals.cost()?.minus(self.bound_of(compared)?))
    }

    /// Least possible cost of a strategy's prompts at the service that it sends them to. `None` if they are not the
    /// recorded ones.
    pub fn bound_of(&self, compared: &Compared<'_>) -> Option<Picodollars> {
        if compared.strategy.keeps_content() {
            return self.bound.own_reading;
        }
        let bound = compared.strategy.bound_elsewhere()?;
        let is_bound = |other: &&Compared<'_>| other.strategy.kind == bound;
        self.strategies.iter().find(is_bound)?.totals.cost()
    }
}

/// Kinds of requests in a selection.
fn kinds_of_requests(ledger: &Ledger<'_>, selection: &Selection) -> RequestKinds {
    let history = ledger.history;
    let is_claude = |index| history.request(index).vendor == Vendor::Anthropic;
    let mut kinds = RequestKinds {
        has_claude: selection.requests().any(is_claude),
        has_captures: selection.requests().any(|index| history.is_captured(index)),
        has_unreported_writes: selection
            .requests()
            .any(|index| has_unreported_writes(history, index)),
        ..RequestKinds::default()
    };
    // Requests with markers follow the rules of Claude's cache, so their provider needs no simulation.
    for index in selection.requests().filter(|index| !history.is_marked(*index)) {
        match expectation(history, index) {
            Ok(service) if kinds.providers.contains(&service.provider) => {}
            Ok(service) => kinds.providers.push(service.provider),
            Err(_) => kinds.not_simulated += 1,
        }
    }
    kinds
}

/// Sums of a strategy's rows.
#[derive(Clone, Debug, Default)]
pub struct StrategySums {
    /// Totals of all requests.
    pub totals: Totals,
    /// Totals of main conversations.
    pub main: Totals,
    /// Totals of sub-agents.
    pub agents: Totals,
    /// Totals by billed model.
    pub by_model: ByKey<String, Totals>,
}

/// Strategy with its applicability, its sums, and the totals of each session.
pub(crate) type ColumnSums<'l> =
    (&'l Strategy, &'l Applicability, &'l StrategySums, Vec<(Symbol, &'l Totals)>);

impl StrategySums {
    /// Adds the rows of a request that was sent to a model.
    pub fn add<'r, 'm: 'r>(
        &mut self,
        is_agent: bool,
        model: &str,
        rows: impl Iterator<Item = &'r Row<'m>>,
    ) {
        let mut has_rows = false;
        for row in rows {
            self.of_chain(is_agent).add(row);
            self.totals.add(row);
            self.of_model(row.model, |totals| totals.add(row));
            has_rows = true;
        }
        // Without a row the model of the request is the only one known.
        if !has_rows {
            self.of_chain(is_agent).unrecorded += 1;
            self.totals.unrecorded += 1;
            self.of_model(model, |totals| totals.unrecorded += 1);
        }
    }

    fn of_chain(&mut self, is_agent: bool) -> &mut Totals {
        if is_agent { &mut self.agents } else { &mut self.main }
    }

    /// Changes the totals of a model. The name is copied only once.
    fn of_model(&mut self, model: &str, change: impl FnOnce(&mut Totals)) {
        match self.by_model.get_mut(model) {
            Some(totals) => change(totals),
            None => change(self.by_model.entry(model.to_owned()).or_default()),
        }
    }
}

impl<'l> Compared<'l> {
    /// Figures of a strategy by its sums, not compared yet.
    fn of(strategy: &'l Strategy, applicability: &'l Applicability, sums: StrategySums) -> Self {
        let StrategySums { totals, main, agents, by_model } = sums;
        Self {
            strategy,
            applicability,
            chosen: None,
            totals,
            main,
            agents,
            by_model,
            paired: None,
            managed: None,
            unknowns: Vec::new(),
        }
    }
}

/// Figures of a strategy, not compared yet, and the cost of each session.
fn sums<'l>(
    ledger: &'l Ledger<'_>,
    column: &'l StrategyColumn,
    selection: &Selection,
    kinds: &RequestKinds,
) -> (Compared<'l>, Vec<SessionCost>) {
    let mut sums = StrategySums::default();
    let mut costs = Vec::with_capacity(selection.sessions.len());
    let mut rows: Vec<Row<'_>> = Vec::new();
    for session in &selection.sessions {
        let mut of_session = Totals::default();
        for index in session.requests.iter().copied() {
            rows.clear();
            rows.extend(ledger.rows(column, index));
            let is_agent = ledger.history.request(index).agent.is_some();
            sums.add(is_agent, ledger.history.model(index), rows.iter());
            of_session.add_request(rows.iter());
        }
        costs.push(SessionCost::of(session.id, &of_session));
    }
    let applicability = column.applicability();
    let unknowns =
        if applicability.is_applicable() { column.strategy.unknowns(kinds) } else { Vec::new() };
    let compared = Compared {
        chosen: column.chosen(),
        managed: ledger.managed(column),
        unknowns,
        ..Compared::of(&column.strategy, applicability, sums)
    };
    (compared, costs)
}

impl Comparison<'_> {
    /// Figure of a strategy. `None` if it is unknown, or if the strategy is not compared or not applicable.
    pub fn figure(&self, strategy: &str, metric: StrategyMetric) -> Option<Decimal> {
        let compared = self.strategy(strategy)?;
        if !compared.applicability.is_applicable() {
            return None;
        }
        let totals = &compared.totals;
        let tokens = |tokens: Tokens| Some(Decimal::from(tokens.0));
        match metric {
            StrategyMetric::Cost => totals.cost()?.to_decimal(),
            StrategyMetric::PerRequest => {
                totals.cost()?.to_decimal()?.checked_div(Decimal::from(totals.requests))
            }
            StrategyMetric::Input => tokens(totals.input),
            StrategyMetric::Read => tokens(totals.read),
            StrategyMetric::Written => tokens(totals.write_5m + totals.write_1h),
            StrategyMetric::WrittenFiveMinutes => tokens(totals.write_5m),
            StrategyMetric::WrittenOneHour => tokens(totals.write_1h),
            StrategyMetric::Output => tokens(totals.output),
            StrategyMetric::HitRate => {
                Decimal::from(totals.read.0).checked_div(Decimal::from(totals.prompt().0))
            }
            StrategyMetric::Requests => Some(Decimal::from(totals.requests)),
            StrategyMetric::AddedRequests => Some(Decimal::from(totals.added)),
            StrategyMetric::Gap => {
                let beyond = self.beyond_bound(compared)?.to_decimal()?;
                beyond.checked_div(self.bound_of(compared)?.to_decimal()?)
            }
        }
    }
}
