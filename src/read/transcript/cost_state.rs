//! Client's own count of the cost of a session so far, by model: a `cost-state` line.
//!
//! It has the requests that leave no line of their own (titles, recaps, compactions), too. Source: the reference session
//! of 2.1.289, whose count equals the sum of its lines to the last digit.

use super::wire::Line;
use crate::base::{ByKey, Picodollars, Symbol, Symbols, Tokens, has_symbols};
use crate::read::input::{Count, Dollars, Flag, Shape, lenient, only_value};

/// Count of a client at a line of its transcript.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CostState {
    /// Line in its file, from 1 on.
    pub line: u64,
    /// `sessionId`.
    pub session: Option<Symbol>,
    /// `totalCostUSD`: cost of all requests so far.
    pub total: Picodollars,
    /// `modelUsage`, by the names of the models.
    pub models: Vec<CostOfModel>,
    /// `hasUnknownModelCost`: some model has no price, so that the total leaves its requests out.
    pub is_partial: bool,
}

/// Sums of a model's requests so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CostOfModel {
    /// Name of the model.
    pub model: Symbol,
    /// `inputTokens`: neither read from cache nor written to it.
    pub input: Tokens,
    /// `cacheReadInputTokens`.
    pub read: Tokens,
    /// `cacheCreationInputTokens`, for either lifetime.
    pub written: Tokens,
    /// `outputTokens`, thinking included.
    pub output: Tokens,
    /// `costUSD`, at the client's prices.
    pub cost: Picodollars,
}

has_symbols!(CostState { session, models } beside { line, total, is_partial });
has_symbols!(CostOfModel { model } beside { input, read, written, output, cost });

lenient! {
    #[serde(rename_all = "camelCase")]
    struct CostLine<'a> {
        #[serde(rename = "totalCostUSD")]
        total: Dollars,
        model_usage: Shape<ByKey<&'a str, Shape<ModelUsage>>>,
        has_unknown_model_cost: Flag,
    }

    #[serde(rename_all = "camelCase")]
    struct ModelUsage {
        input_tokens: Count,
        output_tokens: Count,
        cache_read_input_tokens: Count,
        cache_creation_input_tokens: Count,
        #[serde(rename = "costUSD")]
        cost: Dollars,
    }
}

/// Count on a line; `json` is the whole line. `None` for another line, or without a total.
pub(super) fn cost_state(
    line: &Line<'_>,
    json: &str,
    number: u64,
    symbols: &mut Symbols,
) -> Option<CostState> {
    if !line.r#type.is("cost-state") {
        return None;
    }
    let read: CostLine<'_> = only_value(json).ok()?;
    let models = read.model_usage.0.unwrap_or_default();
    Some(CostState {
        line: number,
        session: line.session_id.as_str().map(|session| symbols.intern(session)),
        total: read.total.0?,
        models: models
            .into_iter()
            .filter_map(|(model, usage)| Some(usage.0?.of(symbols.intern(model))))
            .collect(),
        is_partial: read.has_unknown_model_cost.0,
    })
}

impl ModelUsage {
    fn of(&self, model: Symbol) -> CostOfModel {
        let tokens = |count: Count| Tokens(count.value().unwrap_or_default());
        CostOfModel {
            model,
            input: tokens(self.input_tokens),
            read: tokens(self.cache_read_input_tokens),
            written: tokens(self.cache_creation_input_tokens),
            output: tokens(self.output_tokens),
            cost: self.cost.0.unwrap_or_default(),
        }
    }
}
