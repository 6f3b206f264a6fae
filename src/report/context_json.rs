//! `cachesim.context/v1`: share of each kind of content in the prompts, and its cost.

use std::io::{self, Write};

use serde::Serialize;

use super::{Inputs, Prices, is_zero, write_versioned};
use crate::base::{Basis, Picodollars, Tokens};
use crate::explain::context::{Bill, CarriedItem, Carrying, Context, KindTotals, SessionContext};
use crate::requests::conversation::History;
use crate::simulate::ledger::Ledger;

pub(super) const SCHEMA: &str = "cachesim.context/v1";

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct ContextObject<'a> {
    /// Table of list prices.
    prices: Prices<'a>,
    /// Input read.
    inputs: Inputs,
    /// Every kind of content, the most expensive first.
    kinds: Vec<KindObject<'a>>,
    /// Sums of all requests.
    totals: ContextTotalsObject,
    /// Most expensive items.
    items: Vec<ItemObject<'a>>,
    /// Same for each session.
    sessions: Vec<SessionContextObject<'a>>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "SessionObject"))]
struct SessionContextObject<'a> {
    /// Session.
    session_id: &'a str,
    /// Every kind of content in it.
    kinds: Vec<KindObject<'a>>,
    /// Sums of its requests.
    totals: ContextTotalsObject,
}

impl<'a> SessionContextObject<'a> {
    fn new(history: &'a History, session: &SessionContext) -> Self {
        Self {
            session_id: history.symbols.text(session.id),
            kinds: kinds(history, &session.kinds),
            totals: (&session.bill).into(),
        }
    }
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct KindObject<'a> {
    /// Kind of content.
    #[cfg_attr(test, schemars(with = "crate::explain::context::ContextKind"))]
    kind: &'static str,
    /// Tool, of results whose tool is known.
    tool: Option<&'a str>,
    /// Number of its items.
    items: u64,
    /// Their tokens, each counted once in each session.
    tokens: Tokens,
    #[serde(flatten)]
    carried: CarriedObject,
    /// Basis of the figures.
    basis: Basis,
}

pub(super) fn kinds<'a>(history: &'a History, kinds: &[KindTotals]) -> Vec<KindObject<'a>> {
    let object = |one: &KindTotals| KindObject {
        kind: one.kind.name(),
        tool: history.text(one.kind.tool()),
        items: one.items,
        tokens: one.tokens,
        carried: (&one.carried).into(),
        basis: one.basis,
    };
    kinds.iter().map(object).collect()
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct CarriedObject {
    /// Tokens neither read from cache nor written to it.
    input_tokens: Tokens,
    /// Tokens read from cache.
    cache_read_input_tokens: Tokens,
    /// Tokens written for five minutes.
    ephemeral_5m_input_tokens: Tokens,
    /// Tokens written for an hour.
    ephemeral_1h_input_tokens: Tokens,
    /// Cost of reading them, in dollars; null if nothing has a price.
    read_cost_usd: Option<Picodollars>,
    /// Cost of writing them, in dollars.
    write_cost_usd: Option<Picodollars>,
    /// Cost of carrying them in all, in dollars.
    cost_usd: Option<Picodollars>,
}

impl From<&Carrying> for CarriedObject {
    fn from(carried: &Carrying) -> Self {
        Self {
            input_tokens: carried.input.tokens,
            cache_read_input_tokens: carried.read.tokens,
            ephemeral_5m_input_tokens: carried.write_5m.tokens,
            ephemeral_1h_input_tokens: carried.write_1h.tokens,
            read_cost_usd: carried.read_cost(),
            write_cost_usd: carried.write_cost(),
            cost_usd: carried.cost(),
        }
    }
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "TotalsObject"))]
pub(super) struct ContextTotalsObject {
    /// Requests in these sums.
    requests: u64,
    /// Their prompts.
    prompts: CarriedObject,
    /// Tokens of their answers.
    output_tokens: Tokens,
    /// Cost of these, in dollars; null if nothing has a price.
    output_cost_usd: Option<Picodollars>,
    /// Cost of web searches, in dollars.
    searches_cost_usd: Option<Picodollars>,
    /// Cost of samplings billed apart, prompts and answers, in dollars.
    apart_usd: Option<Picodollars>,
    /// Cost of all of it, in dollars.
    cost_usd: Option<Picodollars>,
    /// Basis of the sums.
    basis: Basis,
    /// Requests whose model has no price; left out if there are none.
    #[serde(skip_serializing_if = "is_zero")]
    unpriced_requests: u64,
    /// Requests without recorded usage, which are left out of the sums; left out if there are none.
    #[serde(skip_serializing_if = "is_zero")]
    requests_without_usage: u64,
}

impl From<&Bill> for ContextTotalsObject {
    fn from(bill: &Bill) -> Self {
        let cost = bill.totals.cost();
        Self {
            requests: bill.prompts.requests,
            prompts: (&bill.prompts).into(),
            output_tokens: bill.output,
            // With no price at all these would be zero, which would pass for free of charge.
            output_cost_usd: cost.map(|_| bill.output_cost),
            searches_cost_usd: cost.map(|_| bill.searches_cost),
            apart_usd: cost.map(|_| bill.totals.apart),
            cost_usd: cost,
            basis: Basis::Measured,
            unpriced_requests: bill.totals.costs.unknown,
            requests_without_usage: bill.totals.unrecorded,
        }
    }
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ItemObject<'a> {
    /// Kind of content.
    #[cfg_attr(test, schemars(with = "crate::explain::context::ContextKind"))]
    kind: &'static str,
    /// Tool, of results whose tool is known.
    tool: Option<&'a str>,
    /// Session.
    session_id: &'a str,
    /// File, relative to the given path.
    file: &'a str,
    /// Line of the file, from 1 on.
    line: u64,
    /// Tokens.
    tokens: Tokens,
    /// Requests whose prompts held it.
    requests: u64,
    #[serde(flatten)]
    carried: CarriedObject,
    /// Basis of the figures.
    basis: Basis,
}

impl<'a> ItemObject<'a> {
    fn new(history: &'a History, item: &CarriedItem) -> Self {
        Self {
            kind: item.kind.name(),
            tool: history.text(item.kind.tool()),
            session_id: history.symbols.text(item.session),
            file: &history.files[item.file].label,
            line: item.line,
            tokens: item.tokens,
            requests: item.carried.requests,
            carried: (&item.carried).into(),
            basis: item.basis,
        }
    }
}

/// Writes the contents of the prompts as JSON.
///
/// # Errors
/// Writing to `out` fails.
pub fn write_context(
    ledger: &Ledger<'_>,
    context: &Context,
    out: &mut dyn Write,
) -> io::Result<()> {
    let history = ledger.history;
    let session = |one| SessionContextObject::new(history, one);
    let object = ContextObject {
        prices: Prices::of(ledger.prices),
        inputs: Inputs::of(history),
        kinds: kinds(history, &context.kinds),
        totals: (&context.bill).into(),
        items: context.items.iter().map(|item| ItemObject::new(history, item)).collect(),
        sessions: context.sessions.iter().map(session).collect(),
    };
    write_versioned(SCHEMA, &object, out)
}
