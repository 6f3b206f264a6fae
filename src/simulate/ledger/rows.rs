//! Rows of the ledger: one request under one strategy.

use super::{Ledger, StrategyColumn};
use crate::base::{Basis, Millis, Picodollars, Tokens};
use crate::read::input::Usage;
use crate::requests::conversation::RequestIndex;
use crate::simulate::cache::{Outcome, Refusal};
use crate::simulate::pricing::{Billing, Charges, PriceContext};
use crate::simulate::provider::token_ratio;
use crate::simulate::strategy::Purpose;

/// Tokens of one request under one strategy.
#[derive(Clone, Copy, Debug)]
pub struct RowTokens {
    /// Tokens of each class.
    pub billing: Billing,
    /// Basis of the prompt's split.
    pub basis: Basis,
    /// Reason of a refusal by the service, as in [`Row::refusal`].
    pub refusal: Option<Refusal>,
}

/// Request under one strategy.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// Name of the strategy.
    pub strategy: &'a str,
    /// Index of the request.
    pub request: RequestIndex,
    /// Number of requests in the row: several for a sum, zero for added ones and earlier samplings.
    pub requests: u32,
    /// Model that is billed.
    pub model: &'a str,
    /// Tokens of each class.
    pub billing: Billing,
    /// True if the output is known; an unknown one is in neither the tokens nor the cost.
    pub is_output_known: bool,
    /// Reason of a refusal by the service, for a simulated row; all its figures are then zero.
    pub refusal: Option<Refusal>,
    /// Basis of the prompt's split.
    pub basis: Basis,
    /// Number of an earlier sampling that was billed separately; `None` for the request itself.
    pub iteration: Option<usize>,
    /// Purpose and time of a request that the strategy adds.
    pub added: Option<(Purpose, Millis)>,
    /// Cost of the tokens of each class, or `None` if the model has no price.
    pub charges: Option<Charges>,
    /// Cost, including web searches, or `None` if the model has no price.
    pub cost: Option<Picodollars>,
}

impl<'a> Ledger<'a> {
    /// Row of a request under a strategy.
    ///
    /// The record has none if its usage is unknown. A strategy has none if it is not applicable, as
    /// its figures would be those of the record.
    pub fn row<'s>(&'s self, column: &'s StrategyColumn, index: RequestIndex) -> Option<Row<'s>> {
        let RowTokens { billing, basis, refusal } = self.row_tokens(column, index)?;
        let history = self.history;
        let request = history.request(index);
        let usage = request.usage.as_ref();
        let searches = usage.filter(|_| refusal.is_none()).map_or(0, |usage| usage.web_searches);
        let fee = self.prices.web_searches(searches);
        let charges = self.rates_under(column, index).map(|rates| billing.charges(rates));
        Some(Row {
            strategy: &column.strategy.name,
            request: index,
            requests: request.sum_of,
            model: self.model_under(column, index),
            billing,
            is_output_known: usage.is_some() || refusal.is_some(),
            basis,
            refusal,
            iteration: None,
            added: None,
            charges,
            cost: charges.map(|charges| charges.total() + fee),
        })
    }

    /// Model to which a strategy sends a request.
    fn model_under(&self, column: &StrategyColumn, index: RequestIndex) -> &'a str {
        let history = self.history;
        let own = || history.model(column.priced_as(index));
        column.provider().map_or_else(own, |provider| provider.model)
    }

    /// Tokens of [`row`](Self::row), in less time than the whole row.
    pub fn row_tokens(&self, column: &StrategyColumn, index: RequestIndex) -> Option<RowTokens> {
        if !column.applicability().is_applicable() {
            return None;
        }
        let history = self.history;
        let request = history.request(index);
        let usage = request.usage.as_ref();
        let (billing, basis, refusal) = match (column.outcomes(), column.provider()) {
            (None, _) => (Billing::recorded(usage?.prompt, usage?.output), basis_of(usage?), None),
            (Some(outcomes), Some(_)) => {
                let outcome = &outcomes[index.get()];
                let output = usage.map_or(Tokens::ZERO, |usage| usage.output);
                let output = token_ratio(history.facts(request.model)).of(output);
                // Another vocabulary is converted by an estimated ratio, so nothing here is measured.
                (Billing::of(outcome, output), outcome.basis.max(Basis::Estimated), None)
            }
            (Some(outcomes), None) => {
                let outcome = &outcomes[index.get()];
                (simulated_billing(usage, outcome), outcome.basis, outcome.refusal)
            }
        };
        Some(RowTokens { billing, basis, refusal })
    }

    /// Rows of the requests that a strategy adds after a request.
    pub(super) fn added_rows<'s>(
        &'s self,
        column: &'s StrategyColumn,
        index: RequestIndex,
    ) -> impl Iterator<Item = Row<'s>> + use<'a, 's> {
        column.added_after(index).into_iter().map(move |added| {
            let billing = Billing::of(&added.outcome, added.output);
            let charges = self.rates_under(column, index).map(|rates| billing.charges(rates));
            Row {
                strategy: &column.strategy.name,
                request: index,
                requests: 0,
                model: self.model_under(column, index),
                billing,
                is_output_known: true,
                basis: added.outcome.basis.max(Basis::Estimated),
                refusal: added.outcome.refusal,
                iteration: None,
                added: Some((added.purpose, added.at)),
                charges,
                cost: charges.map(|charges| charges.total() + added.storage),
            }
        })
    }

    /// Rows of the samplings that were billed apart, the same under every strategy: none changes them.
    fn earlier_rows<'s>(
        &'s self,
        column: &'s StrategyColumn,
        index: RequestIndex,
    ) -> impl Iterator<Item = Row<'s>> + use<'a, 's> {
        let history = self.history;
        let request = history.request(index);
        let iterations =
            request.usage.as_ref().map_or(&[][..], |usage| usage.iterations_apart.as_slice());
        let strategy = column.strategy.name.as_ref();
        iterations.iter().enumerate().map(move |(number, iteration)| {
            // A sampling without a model of its own was by the model that refused the request first.
            let refused = request.request.and_then(|id| history.refusals.get(&id).copied());
            let model = match (&iteration.model, refused) {
                (Some(model), _) => model,
                (None, Some(refused)) => history.symbols.text(refused),
                (None, None) => history.symbols.text(request.model),
            };
            let billing = Billing::recorded(iteration.prompt, iteration.output);
            let context = PriceContext {
                model,
                prompt: iteration.prompt.total(),
                ..self.price_context(index)
            };
            let charges = self.prices.rates(&context).map(|rates| billing.charges(&rates));
            Row {
                strategy,
                request: index,
                requests: 0,
                model,
                billing,
                is_output_known: true,
                basis: Basis::Measured,
                refusal: None,
                iteration: Some(number),
                added: None,
                charges,
                cost: charges.map(|charges| charges.total()),
            }
        })
    }

    /// All rows of a request under a strategy: its earlier samplings, its own, and the additions
    /// before the next one.
    pub fn rows<'s>(
        &'s self,
        column: &'s StrategyColumn,
        index: RequestIndex,
    ) -> impl Iterator<Item = Row<'s>> + use<'a, 's> {
        let own = self.row(column, index);
        let earlier = own.iter().flat_map(move |_| self.earlier_rows(column, index));
        let earlier: Vec<Row<'s>> = earlier.collect();
        earlier.into_iter().chain(own).chain(self.added_rows(column, index))
    }

    /// Calls `each` for these rows, and returns true if there are any.
    pub(super) fn each_row<'s>(
        &'s self,
        column: &'s StrategyColumn,
        index: RequestIndex,
        mut each: impl FnMut(&Row<'s>),
    ) -> bool {
        let mut has_rows = false;
        // A chain of iterators would copy each row several times.
        if let Some(row) = self.row(column, index) {
            self.earlier_rows(column, index).for_each(|earlier| each(&earlier));
            each(&row);
            has_rows = true;
        }
        for row in self.added_rows(column, index) {
            each(&row);
            has_rows = true;
        }
        has_rows
    }
}

/// Basis of a record's figures.
fn basis_of(usage: &Usage) -> Basis {
    if usage.lifetime_is_assumed { Basis::Estimated } else { Basis::Measured }
}

fn simulated_billing(usage: Option<&Usage>, outcome: &Outcome) -> Billing {
    let output = usage.filter(|_| outcome.refusal.is_none()).map(|usage| usage.output);
    Billing::of(outcome, output.unwrap_or_default())
}
