//! The ledger: a history under several strategies, priced.

use std::collections::BTreeMap;

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::row::Row;
use super::totals::Totals;
use crate::basis::Basis;
use crate::cache::{Outcome, simulate};
use crate::conversation::{History, Request, RequestIndex};
use crate::input::PromptSplit;
use crate::pricing::{Billing, PriceContext, PriceTable, Rates};
use crate::prompt::PromptTrace;
use crate::strategy::{Assumptions, Strategy};
use crate::units::Tokens;

/// A strategy's figures.
#[derive(Debug)]
pub struct StrategyColumn {
    /// The strategy.
    pub strategy: Strategy,
    /// An outcome for each request; `None` for the record itself.
    outcomes: Option<Vec<Outcome>>,
}

/// Rows for every request and strategy, made when they are asked for.
#[derive(Debug)]
pub struct Ledger<'a> {
    /// The requests.
    pub history: &'a History,
    /// The prices.
    pub prices: &'a PriceTable,
    /// The strategies, in output order.
    pub columns: Vec<StrategyColumn>,
    rates: Vec<Rates>,
    rate_of: Vec<Option<u32>>,
}

impl<'a> Ledger<'a> {
    /// Simulates every strategy over the trace of `history`.
    #[must_use]
    pub fn new(
        history: &'a History,
        trace: &PromptTrace,
        prices: &'a PriceTable,
        strategies: &[Strategy],
        assumptions: &Assumptions,
    ) -> Self {
        let columns = strategies
            .par_iter()
            .map(|&strategy| StrategyColumn {
                strategy,
                outcomes: strategy.policy(assumptions).map(|policy| simulate(trace, &policy)),
            })
            .collect();
        let mut ledger = Self { history, prices, columns, rates: Vec::new(), rate_of: Vec::new() };
        ledger.look_rates_up();
        ledger
    }

    /// Requests of a model and day mostly share their rates, which are kept once.
    fn look_rates_up(&mut self) {
        let mut known: FxHashMap<Rates, u32> = FxHashMap::default();
        for request in &self.history.requests {
            let rates = self.prices.rates(&price_context(self.history, request));
            let index = rates.map(|rates| {
                *known.entry(rates).or_insert_with(|| {
                    self.rates.push(rates);
                    u32::try_from(self.rates.len() - 1).expect("fewer than 2^32 price rows")
                })
            });
            self.rate_of.push(index);
        }
    }

    /// The column of a strategy, if it was asked for.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<&StrategyColumn> {
        self.columns.iter().find(|column| column.strategy.name == name)
    }

    /// The row of a request under a strategy.
    #[must_use]
    pub fn row(&self, column: &StrategyColumn, index: RequestIndex) -> Row<'a> {
        let history = self.history;
        let request = history.request(index);
        let (billing, basis) = match &column.outcomes {
            None => (recorded_billing(request), Basis::Measured),
            Some(outcomes) => {
                (simulated_billing(request, &outcomes[index.0]), outcomes[index.0].basis)
            }
        };
        let fee = self.prices.web_searches(request.usage.web_searches);
        Row {
            strategy: column.strategy.name,
            request: index,
            model: history.symbols.text(request.model),
            billing,
            basis,
            iteration: None,
            cost: self.rates_of(index).map(|rates| billing.cost(rates) + fee),
        }
    }

    /// The rows of earlier samplings that were billed apart; only the record has them.
    fn earlier_rows(
        &self,
        column: &StrategyColumn,
        index: RequestIndex,
    ) -> impl Iterator<Item = Row<'a>> + use<'a, '_> {
        let history = self.history;
        let request = history.request(index);
        let iterations = match column.outcomes {
            None => request.usage.earlier_iterations.as_slice(),
            Some(_) => &[],
        };
        let strategy = column.strategy.name;
        iterations.iter().enumerate().map(move |(number, iteration)| {
            let refused = request.request.and_then(|id| history.refusals.get(&id).copied());
            let model = match (&iteration.model, refused) {
                (Some(model), _) => model,
                (None, Some(refused)) => history.symbols.text(refused),
                (None, None) => history.symbols.text(request.model),
            };
            let billing = billing_of(&iteration.prompt, iteration.output);
            let context = PriceContext {
                model,
                prompt: iteration.prompt.total(),
                ..price_context(history, request)
            };
            Row {
                strategy,
                request: index,
                model,
                billing,
                basis: Basis::Measured,
                iteration: Some(number),
                cost: self.prices.rates(&context).map(|rates| billing.cost(&rates)),
            }
        })
    }

    /// All rows of a request under a strategy, the request's own last.
    pub fn rows<'s>(
        &'s self,
        column: &'s StrategyColumn,
        index: RequestIndex,
    ) -> impl Iterator<Item = Row<'a>> + use<'a, 's> {
        self.earlier_rows(column, index).chain(std::iter::once(self.row(column, index)))
    }

    /// The sum over requests.
    pub fn totals(
        &self,
        column: &StrategyColumn,
        requests: impl IntoIterator<Item = RequestIndex>,
    ) -> Totals {
        let mut totals = Totals::default();
        for index in requests {
            self.rows(column, index).for_each(|row| totals.add(&row));
        }
        totals
    }

    /// The models without a price, each with how many of the requests it served, in order of their
    /// names.
    #[must_use]
    pub fn unpriced_models(
        &self,
        requests: impl IntoIterator<Item = RequestIndex>,
    ) -> Vec<(&'a str, usize)> {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        let Some(first) = self.columns.first() else { return Vec::new() };
        let column = self.column("billed").unwrap_or(first);
        for index in requests {
            for row in self.rows(column, index).filter(|row| row.cost.is_none()) {
                *counts.entry(row.model).or_default() += 1;
            }
        }
        counts.into_iter().collect()
    }

    fn rates_of(&self, index: RequestIndex) -> Option<&Rates> {
        self.rate_of[index.0].map(|rate| &self.rates[rate as usize])
    }
}

fn price_context<'a>(history: &'a History, request: &Request) -> PriceContext<'a> {
    PriceContext {
        model: history.symbols.text(request.model),
        at: request.start,
        prompt: request.prompt_total(),
        tier: request.usage.tier,
    }
}

fn recorded_billing(request: &Request) -> Billing {
    billing_of(&request.usage.prompt, request.usage.output)
}

fn billing_of(prompt: &PromptSplit, output: Tokens) -> Billing {
    Billing {
        input: prompt.input,
        read: prompt.read,
        write_5m: prompt.write_5m,
        write_1h: prompt.write_1h,
        output,
    }
}

fn simulated_billing(request: &Request, outcome: &Outcome) -> Billing {
    Billing {
        input: outcome.input,
        read: outcome.read,
        write_5m: outcome.write_5m,
        write_1h: outcome.write_1h,
        output: request.usage.output,
    }
}
