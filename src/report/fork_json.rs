//! `cachesim.fork/v1`: what each way to fork is charged, for programs.

use std::io::{self, Write};

use serde::Serialize;

use super::escape::SafeJson;
use super::report_json::Prices;
use crate::fork::{Charge, Comparison, Equivalents, ForkPlan, ForkPrices, ForkTable};
use crate::ttl::Ttl;
use crate::units::{Picodollars, Tokens};

const SCHEMA: &str = "cachesim.fork/v1";

#[derive(Serialize)]
struct Fork<'a> {
    schema: &'static str,
    tool_version: &'static str,
    prices: Option<Prices<'a>>,
    model: Option<&'a str>,
    plan: PlanObject<'a>,
    multipliers: MultipliersObject,
    variants: Vec<VariantObject>,
}

#[derive(Serialize)]
struct PlanObject<'a> {
    parent_tokens: Tokens,
    assistant_tokens: Tokens,
    placeholder_tokens: Tokens,
    directive_tokens: &'a [Tokens],
    parent_is_warm: bool,
    ttl: &'static str,
    minimum_prefix_tokens: Tokens,
}

impl<'a> PlanObject<'a> {
    fn of(plan: &'a ForkPlan) -> Self {
        Self {
            parent_tokens: plan.parent,
            assistant_tokens: plan.assistant,
            placeholder_tokens: plan.placeholders,
            directive_tokens: &plan.directives,
            parent_is_warm: plan.parent_is_warm,
            ttl: plan.ttl.name(),
            minimum_prefix_tokens: plan.minimum,
        }
    }
}

#[derive(Serialize)]
struct MultipliersObject {
    read: Equivalents,
    write: Equivalents,
}

#[derive(Serialize)]
struct VariantObject {
    variant: &'static str,
    meaning: &'static str,
    total: ChargeObject,
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

#[derive(Serialize)]
struct ChargeObject {
    input_tokens: Tokens,
    cache_read_input_tokens: Tokens,
    ephemeral_5m_input_tokens: Tokens,
    ephemeral_1h_input_tokens: Tokens,
    input_token_equivalents: Equivalents,
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
    serde_json::to_writer_pretty(SafeJson(&mut *out), &fork)?;
    out.write_all(b"\n")
}
