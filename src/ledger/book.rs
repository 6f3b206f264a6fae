//! The ledger: a history under several strategies, priced.

use std::collections::BTreeMap;

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::row::Row;
use super::totals::Totals;
use crate::basis::Basis;
use crate::cache::{Outcome, simulate};
use crate::conversation::{History, RequestIndex};
use crate::input::{PriceTier, PromptSplit, Usage};
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
    pub outcomes: Option<Vec<Outcome>>,
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
    /// The whole prompt of each request.
    totals: Vec<Tokens>,
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
        let totals = trace.prompts.iter().map(|prompt| prompt.total).collect();
        let (rates, rate_of) = (Vec::new(), Vec::new());
        let mut ledger = Self { history, prices, columns, totals, rates, rate_of };
        ledger.look_rates_up();
        ledger
    }

    /// Requests of a model and day mostly share their rates, which are kept once.
    fn look_rates_up(&mut self) {
        let mut known: FxHashMap<Rates, u32> = FxHashMap::default();
        for index in (0..self.history.requests.len()).map(RequestIndex) {
            let rates = self.prices.rates(&self.price_context(index));
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

    /// The whole prompt of a request.
    #[must_use]
    pub fn prompt_total(&self, index: RequestIndex) -> Tokens {
        self.totals[index.0]
    }

    /// The row of a request under a strategy; the record has none where its usage is unknown.
    #[must_use]
    pub fn row(&self, column: &StrategyColumn, index: RequestIndex) -> Option<Row<'a>> {
        let history = self.history;
        let request = history.request(index);
        let usage = request.usage.as_ref();
        let (billing, basis, refusal) = match &column.outcomes {
            None => (billing_of(&usage?.prompt, usage?.output), Basis::Measured, None),
            Some(outcomes) => {
                let outcome = &outcomes[index.0];
                (simulated_billing(usage, outcome), outcome.basis, outcome.refusal)
            }
        };
        let searches = usage.filter(|_| refusal.is_none()).map_or(0, |usage| usage.web_searches);
        let fee = self.prices.web_searches(searches);
        Some(Row {
            strategy: column.strategy.name,
            request: index,
            model: history.symbols.text(request.model),
            billing,
            is_output_known: usage.is_some() || refusal.is_some(),
            basis,
            refusal,
            iteration: None,
            cost: self.rates_of(index).map(|rates| billing.cost(rates) + fee),
        })
    }

    /// The rows of earlier samplings that were billed apart; only the record has them.
    fn earlier_rows(
        &self,
        column: &StrategyColumn,
        index: RequestIndex,
    ) -> impl Iterator<Item = Row<'a>> + use<'a, '_> {
        let history = self.history;
        let request = history.request(index);
        let recorded = request.usage.as_ref().filter(|_| column.outcomes.is_none());
        let iterations = recorded.map_or(&[][..], |usage| usage.earlier_iterations.as_slice());
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
                ..self.price_context(index)
            };
            Row {
                strategy,
                request: index,
                model,
                billing,
                is_output_known: true,
                basis: Basis::Measured,
                refusal: None,
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
        self.earlier_rows(column, index).chain(self.row(column, index))
    }

    /// The sum over requests.
    pub fn totals(
        &self,
        column: &StrategyColumn,
        requests: impl IntoIterator<Item = RequestIndex>,
    ) -> Totals {
        let mut totals = Totals::default();
        for index in requests {
            let mut is_recorded = false;
            for row in self.rows(column, index) {
                totals.add(&row);
                is_recorded = true;
            }
            totals.unrecorded += u64::from(!is_recorded);
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
        for index in requests {
            // The record has the most rows of a request; where it has none, any simulation will do.
            let mut columns = self.column("billed").into_iter().chain(&self.columns);
            let column = columns.find(|column| self.row(column, index).is_some());
            let rows = column.into_iter().flat_map(|column| self.rows(column, index));
            for row in rows.filter(|row| row.cost.is_none()) {
                *counts.entry(row.model).or_default() += 1;
            }
        }
        counts.into_iter().collect()
    }

    fn price_context(&self, index: RequestIndex) -> PriceContext<'a> {
        let request = self.history.request(index);
        let fast = PriceTier { fast: self.history.is_sent_fast(index), ..PriceTier::default() };
        PriceContext {
            model: self.history.symbols.text(request.model),
            at: request.start,
            prompt: self.prompt_total(index),
            tier: request.usage.as_ref().map_or(fast, |usage| usage.tier),
        }
    }

    /// What the tokens of a request cost; `None` where its model has no price.
    #[must_use]
    pub fn rates_of(&self, index: RequestIndex) -> Option<&Rates> {
        self.rate_of[index.0].map(|rate| &self.rates[rate as usize])
    }
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

fn simulated_billing(usage: Option<&Usage>, outcome: &Outcome) -> Billing {
    let output = usage.filter(|_| outcome.refusal.is_none()).map(|usage| usage.output);
    Billing {
        input: outcome.input,
        read: outcome.read,
        write_5m: outcome.write_5m,
        write_1h: outcome.write_1h,
        output: output.unwrap_or_default(),
    }
}
