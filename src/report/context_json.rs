//! `cachesim.context/v1`: what each kind of content held of the prompts, and what it cost.

use std::io::{self, Write};

use serde::Serialize;

use super::escape::SafeJson;
use super::report_json::{Prices, ReportInputs, is_zero};
use crate::basis::Basis;
use crate::context::{Bill, CarriedItem, Carrying, Context, KindTotals, SessionContext};
use crate::conversation::History;
use crate::ledger::Ledger;
use crate::units::{Picodollars, Tokens};

const SCHEMA: &str = "cachesim.context/v1";

#[derive(Serialize)]
struct ContextObject<'a> {
    schema: &'static str,
    tool_version: &'static str,
    prices: Prices<'a>,
    inputs: ReportInputs,
    kinds: Vec<KindObject<'a>>,
    totals: TotalsObject,
    items: Vec<ItemObject<'a>>,
    sessions: Vec<SessionObject<'a>>,
}

#[derive(Serialize)]
struct SessionObject<'a> {
    session_id: &'a str,
    kinds: Vec<KindObject<'a>>,
    totals: TotalsObject,
}

impl<'a> SessionObject<'a> {
    fn new(history: &'a History, session: &SessionContext) -> Self {
        Self {
            session_id: history.symbols.text(session.id),
            kinds: kinds(history, &session.kinds),
            totals: (&session.bill).into(),
        }
    }
}

#[derive(Serialize)]
struct KindObject<'a> {
    kind: &'static str,
    tool: Option<&'a str>,
    items: u64,
    tokens: Tokens,
    #[serde(flatten)]
    carried: CarriedObject,
    basis: Basis,
}

fn kinds<'a>(history: &'a History, kinds: &[KindTotals]) -> Vec<KindObject<'a>> {
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
struct CarriedObject {
    input_tokens: Tokens,
    cache_read_input_tokens: Tokens,
    ephemeral_5m_input_tokens: Tokens,
    ephemeral_1h_input_tokens: Tokens,
    read_cost_usd: Option<Picodollars>,
    write_cost_usd: Option<Picodollars>,
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
struct TotalsObject {
    requests: u64,
    prompts: CarriedObject,
    output_tokens: Tokens,
    output_cost_usd: Option<Picodollars>,
    other_cost_usd: Option<Picodollars>,
    cost_usd: Option<Picodollars>,
    basis: Basis,
    #[serde(skip_serializing_if = "is_zero")]
    unpriced_requests: u64,
    #[serde(skip_serializing_if = "is_zero")]
    requests_without_usage: u64,
}

impl From<&Bill> for TotalsObject {
    fn from(bill: &Bill) -> Self {
        let cost = bill.totals.cost();
        Self {
            requests: bill.prompts.requests,
            prompts: (&bill.prompts).into(),
            output_tokens: bill.output,
            output_cost_usd: cost.map(|_| bill.output_cost),
            other_cost_usd: cost.map(|_| bill.other_cost),
            cost_usd: cost,
            basis: Basis::Measured,
            unpriced_requests: bill.totals.unpriced,
            requests_without_usage: bill.totals.unrecorded,
        }
    }
}

#[derive(Serialize)]
struct ItemObject<'a> {
    kind: &'static str,
    tool: Option<&'a str>,
    session_id: &'a str,
    file: &'a str,
    line: u64,
    tokens: Tokens,
    requests: u64,
    #[serde(flatten)]
    carried: CarriedObject,
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

/// Writes where the context comes from.
///
/// # Errors
/// What `out` says.
pub fn write_context(
    ledger: &Ledger<'_>,
    context: &Context,
    out: &mut dyn Write,
) -> io::Result<()> {
    let history = ledger.history;
    let session = |one| SessionObject::new(history, one);
    let object = ContextObject {
        schema: SCHEMA,
        tool_version: env!("CARGO_PKG_VERSION"),
        prices: Prices::of(ledger.prices),
        inputs: ReportInputs::of(history),
        kinds: kinds(history, &context.kinds),
        totals: (&context.bill).into(),
        items: context.items.iter().map(|item| ItemObject::new(history, item)).collect(),
        sessions: context.sessions.iter().map(session).collect(),
    };
    serde_json::to_writer_pretty(SafeJson(&mut *out), &object)?;
    out.write_all(b"\n")
}
