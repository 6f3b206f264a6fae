//! `cachesim.fork/v1`: what each way to fork is charged, for programs.

use std::io::{self, Write};

use schemars::JsonSchema;
use serde::Serialize;

use super::json::write_document;
use super::report_json::Prices;
use crate::base::ttl::Ttl;
use crate::base::units::{Picodollars, Tokens};
use crate::simulate::fork::{
    Charge, Comparison, Equivalents, ForkPlan, ForkPrices, ForkTable, Variant,
};

pub(super) const SCHEMA: &str = "cachesim.fork/v1";

#[derive(JsonSchema, Serialize)]
pub(super) struct Fork<'a> {
    /// The format and its version.
    schema: &'static str,
    /// The version of the program.
    tool_version: &'static str,
    /// The table of list prices; null without --model.
    prices: Option<Prices<'a>>,
    /// The model; null where none was given.
    model: Option<&'a str>,
    /// The sizes that were given.
    plan: PlanObject<'a>,
    /// What a token that is not sent in full weighs.
    multipliers: MultipliersObject,
    /// The ways to fork, the one that shares nothing first.
    variants: Vec<VariantObject>,
}

#[derive(JsonSchema, Serialize)]
struct PlanObject<'a> {
    /// Tokens of the parent's prompt.
    parent_tokens: Tokens,
    /// Tokens of its last answer.
    assistant_tokens: Tokens,
    /// Tokens of the placeholders for the results of its calls, all together.
    placeholder_tokens: Tokens,
    /// Tokens of each child's directive.
    directive_tokens: &'a [Tokens],
    /// Tokens of the parent's prompt that children still share where they replace other results.
    kept_tokens: Tokens,
    /// Whether the parent's prompt is still cached.
    parent_is_warm: bool,
    /// How long what is written lives.
    #[schemars(with = "Ttl")]
    ttl: &'static str,
    /// Tokens that a prefix needs to be cached.
    minimum_prefix_tokens: Tokens,
}

impl<'a> PlanObject<'a> {
    fn of(plan: &'a ForkPlan) -> Self {
        Self {
            parent_tokens: plan.parent,
            assistant_tokens: plan.assistant,
            placeholder_tokens: plan.placeholders,
            directive_tokens: &plan.directives,
            kept_tokens: plan.kept,
            parent_is_warm: plan.parent_is_warm,
            ttl: plan.ttl.name(),
            minimum_prefix_tokens: plan.minimum,
        }
    }
}

#[derive(JsonSchema, Serialize)]
struct MultipliersObject {
    /// Of a token that is read.
    read: Equivalents,
    /// Of a token that is written.
    write: Equivalents,
}

#[derive(JsonSchema, Serialize)]
struct VariantObject {
    /// The way to fork.
    #[schemars(with = "Variant")]
    variant: &'static str,
    /// What it is, in words.
    meaning: &'static str,
    /// All children together.
    total: ChargeObject,
    /// Each child, in the order in which they start.
    children: Vec<ChargeObject>,
}

impl VariantObject {
    fn of(comparison: &Comparison, ttl: Ttl) -> Self {
        let children = comparison.children.iter();
        Self {
            variant: comparison.variant.name,
            meaning: comparison.variant.meaning,
            total: ChargeObject::of(&comparison.total(), ttl),
            children: children.map(|child| ChargeObject::of(child, ttl)).collect(),
        }
    }
}

#[derive(JsonSchema, Serialize)]
struct ChargeObject {
    /// Tokens neither read from cache nor written to it.
    input_tokens: Tokens,
    /// Tokens read from cache.
    cache_read_input_tokens: Tokens,
    /// Tokens written for five minutes.
    ephemeral_5m_input_tokens: Tokens,
    /// Tokens written for an hour.
    ephemeral_1h_input_tokens: Tokens,
    /// Tokens sent in full that would cost as much.
    input_token_equivalents: Equivalents,
    /// What it costs, in dollars; null without a model.
    cost_usd: Option<Picodollars>,
}

impl ChargeObject {
    fn of(charge: &Charge, ttl: Ttl) -> Self {
        let written = |one: Ttl| if one == ttl { charge.written } else { Tokens::ZERO };
        Self {
            input_tokens: charge.input,
            cache_read_input_tokens: charge.read,
            ephemeral_5m_input_tokens: written(Ttl::FiveMinutes),
            ephemeral_1h_input_tokens: written(Ttl::OneHour),
            input_token_equivalents: charge.equivalents,
            cost_usd: charge.cost,
        }
    }
}

/// Writes every way to fork, in all and child by child.
///
/// # Errors
/// What `out` says.
pub fn write_fork(table: &ForkTable<'_>, out: &mut dyn Write) -> io::Result<()> {
    let of_model = table.prices.as_ref();
    let variants = table.comparisons.iter();
    let fork = Fork {
        schema: SCHEMA,
        tool_version: env!("CARGO_PKG_VERSION"),
        prices: of_model.map(|ForkPrices { table, .. }| Prices::of(table)),
        model: of_model.map(|prices| prices.model),
        plan: PlanObject::of(table.plan),
        multipliers: MultipliersObject {
            read: table.multipliers.read,
            write: table.multipliers.write,
        },
        variants: variants.map(|one| VariantObject::of(one, table.plan.ttl)).collect(),
    };
    write_document(&fork, out)
}
