//! Charges of each way to fork, for people and for programs (`cachesim.fork/v1`).

use std::io;
use std::io::Write;

use serde::Serialize;

use super::{
    Columns, Document, Grid, Prices, Value, counted, equivalents, grouped, tokens, write_versioned,
};
use crate::base::{Picodollars, Tokens, Ttl};
use crate::simulate::fork::{
    Equivalents, ForkCharge, ForkComparison, ForkPlan, ForkPrices, ForkTable, Multipliers,
};

/// Every way to fork, in total and by child.
pub fn fork_document(table: &ForkTable<'_>) -> Document {
    let plan = table.plan;
    let mut document = Document::default();
    let children = counted(plan.directives.len() as u64, "fork", "forks");
    document.heading(format!("{children} of a parent of {} tokens", tokens(plan.parent)));
    document.text(sizes(plan));
    document.text(weights(table));
    document.grid(totals(table));
    document.heading("Child by child");
    document.grid(each_child(table));
    document.text(
        "All figures follow from the sizes and the rules (derived). The output of the children is \
         in none of them.",
    );
    document
}

fn sizes(plan: &ForkPlan) -> String {
    let state = if plan.parent < plan.minimum {
        format!("shorter than any cached prefix ({} tokens)", tokens(plan.minimum))
    } else if plan.parent_is_warm {
        "still cached".to_owned()
    } else {
        "no longer cached".to_owned()
    };
    format!(
        "After the parent's prompt, which is {state}: its last answer of {} tokens, placeholders \
         of {}, {}.",
        tokens(plan.assistant),
        tokens(plan.placeholders),
        directives(&plan.directives)
    )
}

fn directives(sizes: &[Tokens]) -> String {
    match sizes {
        [one] => format!("a directive of {}", tokens(*one)),
        [first, ..] if sizes.iter().all(|size| size == first) => {
            format!("directives of {} each", tokens(*first))
        }
        _ => format!("directives of {} in all", tokens(sizes.iter().copied().sum())),
    }
}

fn weights(table: &ForkTable<'_>) -> String {
    let prices = table.prices.as_ref().map_or_else(String::new, |prices| {
        format!(", by the prices of {} in table {}", prices.model, prices.table.id)
    });
    format!(
        "A token sent in full counts 1, one read {}, one written for {} {}{prices}.",
        table.multipliers.read,
        table.plan.ttl.name(),
        table.multipliers.write
    )
}

fn written(ttl: Ttl) -> &'static str {
    match ttl {
        Ttl::FiveMinutes => "written 5m",
        Ttl::OneHour => "written 1h",
    }
}

/// Adds the figures of charges.
fn figures<'c, R: 'c>(
    columns: &mut Columns<'c, R>,
    table: &'c ForkTable<'_>,
    charge: fn(&R) -> &ForkCharge,
) {
    columns.right("read", move |row| charge(row).read);
    columns.right(written(table.plan.ttl), move |row| charge(row).written);
    columns.right("input", move |row| charge(row).input);
    columns.right("equivalents", move |row| equivalents(charge(row).equivalents));
    // Without prices there are weights alone, and no column of dollars.
    if table.prices.is_some() {
        columns.right("cost", move |row| charge(row).cost);
    }
}

fn totals(table: &ForkTable<'_>) -> Grid {
    // The first variant shares nothing, so the others are compared with it.
    let base = table.comparisons.first();
    let base_sum = base.map(|comparison| comparison.total().equivalents);
    let is_base = |one: &ForkComparison| base.is_some_and(|base| std::ptr::eq(base, one));
    let mut columns = Columns::<(&ForkComparison, ForkCharge)>::new();
    columns.left("variant", |(comparison, _)| comparison.variant.name);
    columns.wrapped("what it is", |(comparison, _)| comparison.variant.meaning);
    figures(&mut columns, table, |(_, total)| total);
    columns.right("difference", |(comparison, total)| {
        let base = base_sum.filter(|_| !is_base(comparison))?;
        Some(Value::relative(relative(total.equivalents, base)))
    });
    columns.grid(table.comparisons.iter().map(|comparison| (comparison, comparison.total())))
}

/// Relative difference of two sums.
///
/// No prompt is empty, so neither sum is zero.
fn relative(sum: Equivalents, base: Equivalents) -> Option<f64> {
    (base.0 > 0).then(|| sum.to_tokens_lossy() / base.to_tokens_lossy() - 1.0)
}

/// A row for each child; neighbours with the same charges share one.
fn each_child(table: &ForkTable<'_>) -> Grid {
    let mut rows: Vec<(&str, String, &ForkCharge)> = Vec::new();
    for comparison in &table.comparisons {
        let mut number = 1;
        for run in comparison.children.chunk_by(PartialEq::eq) {
            // The name of a variant is in the first of its rows alone.
            let name = if number == 1 { comparison.variant.name } else { "" };
            rows.push((name, numbers(number, run.len() as u64), &run[0]));
            number += run.len() as u64;
        }
    }
    let mut columns = Columns::<(&str, String, &ForkCharge)>::new();
    columns.left("variant", |(name, ..)| (*name).to_owned());
    columns.right("children", |(_, numbers, _)| numbers.clone());
    figures(&mut columns, table, |(.., charge)| charge);
    columns.grid(rows)
}

fn numbers(first: u64, count: u64) -> String {
    match count {
        1 => grouped(first),
        _ => format!("{}–{}", grouped(first), grouped(first + count - 1)),
    }
}

pub(super) const SCHEMA: &str = "cachesim.fork/v1";

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct ForkObject<'a> {
    /// Table of list prices; null without --model.
    prices: Option<Prices<'a>>,
    /// Model; null if none was given.
    model: Option<&'a str>,
    /// Sizes that were given.
    plan: &'a ForkPlan,
    /// Weights of tokens that are not sent in full.
    multipliers: Multipliers,
    /// Ways to fork, the one that shares nothing first.
    variants: Vec<VariantObject>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct VariantObject {
    /// Way to fork.
    #[cfg_attr(test, schemars(with = "crate::simulate::fork::Variant"))]
    variant: &'static str,
    /// Meaning, in words.
    meaning: &'static str,
    /// All children together.
    total: ChargeObject,
    /// Each child, in the order of their starts.
    children: Vec<ChargeObject>,
}

impl VariantObject {
    fn of(comparison: &ForkComparison, ttl: Ttl) -> Self {
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
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
    /// Cost, in dollars; null without a model.
    cost_usd: Option<Picodollars>,
}

impl ChargeObject {
    fn of(charge: &ForkCharge, ttl: Ttl) -> Self {
        // All markers of a plan have one lifetime.
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

/// Writes every way to fork, in total and by child, as JSON.
///
/// # Errors
/// Writing to `out` fails.
pub fn write_fork(table: &ForkTable<'_>, out: &mut dyn Write) -> io::Result<()> {
    let of_model = table.prices.as_ref();
    let variants = table.comparisons.iter();
    let fork = ForkObject {
        prices: of_model.map(|ForkPrices { table, .. }| Prices::of(table)),
        model: of_model.map(|prices| prices.model),
        plan: table.plan,
        multipliers: table.multipliers,
        variants: variants.map(|one| VariantObject::of(one, table.plan.ttl)).collect(),
    };
    write_versioned(SCHEMA, &fork, out)
}
