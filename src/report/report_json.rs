//! `cachesim.report/v1`: totals by strategy, by model and by session.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::applicability::{ApplicabilityObject, ManagedObject, applicability, managed};
use super::baseline::{BlockObject, TurnObject};
use super::inputs::Inputs;
use super::json::write_document;
use super::key_notes::key_notes;
use crate::base::order::{Ordered as _, side_by_side};
use crate::base::units::{Picodollars, Tokens};
use crate::explain::snapshot::{Figures, LintCount, Snapshot};
use crate::simulate::ledger::{Breakdown, Ledger, Selection, Session, Totals};
use crate::simulate::pricing::PriceTable;

pub(super) const SCHEMA: &str = "cachesim.report/v1";

/// Prices of a run.
#[derive(Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(super) struct Prices<'a> {
    /// Name of the table.
    #[serde(borrow)]
    pub(super) id: Cow<'a, str>,
    /// Day on which it was last checked.
    #[serde(skip_deserializing)]
    #[cfg_attr(test, schemars(!skip_deserializing))]
    as_of: &'a str,
}

impl<'a> Prices<'a> {
    /// Prices of a table.
    pub(super) fn of(table: &'a PriceTable) -> Self {
        Self::named((&table.id, &table.as_of))
    }

    /// Prices of a table by its name and the day on which it was last checked.
    pub(super) fn named((id, as_of): (&'a str, &'a str)) -> Self {
        Self { id: Cow::from(id), as_of }
    }
}

#[derive(Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(super) struct Report<'a> {
    /// Format and its version.
    #[serde(skip_deserializing)]
    #[cfg_attr(test, schemars(!skip_deserializing))]
    schema: &'static str,
    /// Version of the program.
    #[serde(skip_deserializing)]
    #[cfg_attr(test, schemars(!skip_deserializing))]
    tool_version: &'static str,
    /// Table of list prices.
    #[serde(borrow)]
    #[cfg_attr(test, schemars(with = "Prices<'a>"))]
    pub(super) prices: Option<Prices<'a>>,
    /// Input read.
    #[serde(skip_deserializing)]
    #[cfg_attr(test, schemars(!skip_deserializing))]
    inputs: Inputs,
    /// Assumptions on the cache key if the documentation leaves it open, in words; left out if nothing in the
    /// input rests on it.
    #[serde(skip_deserializing, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, schemars(!skip_deserializing))]
    assumptions: Vec<String>,
    /// Options of the simulation that are not the default, as on the command line; left out if all are.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub(super) options: Option<Cow<'a, str>>,
    /// Number of places with lost input; left out if zero.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) damage: Option<u64>,
    /// Sums of all requests.
    pub(super) totals: ByStrategy<'a>,
    /// Sums of the requests on live branches: without rewound, edited or retried ones.
    #[serde(skip_deserializing)]
    #[cfg_attr(test, schemars(!skip_deserializing))]
    live: ByStrategy<'a>,
    /// Strategies that can do nothing to these requests, or only a part of their meaning; left out if there
    /// are none.
    #[serde(borrow, default, skip_serializing_if = "Vec::is_empty")]
    pub(super) applicability: Vec<ApplicabilityObject<'a>>,
    /// Effects of strategies that keep contexts small; left out if none.
    #[serde(skip_deserializing, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, schemars(!skip_deserializing))]
    context_management: Vec<ManagedObject<'a>>,
    /// Sums of the rows that each model was billed for.
    #[serde(skip_deserializing)]
    #[cfg_attr(test, schemars(!skip_deserializing))]
    by_model: BTreeMap<&'a str, ByStrategy<'a>>,
    /// Sums of each session, in the order of their first requests.
    #[serde(borrow)]
    pub(super) sessions: Vec<SessionTotals<'a>>,
    /// Measurement of captured prompts, as `--tokens` takes it; in a baseline of captured prompts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tokens: Option<Cow<'a, str>>,
    /// Blocks of captured prompts, each prefix once; in a baseline.
    #[serde(borrow, default, skip_serializing_if = "Vec::is_empty")]
    pub(super) blocks: Vec<BlockObject<'a>>,
    /// Violations of each rule of `lint`; in a baseline of captured prompts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) lint: Option<Vec<LintCount>>,
}

#[derive(Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(super) struct SessionTotals<'a> {
    /// Session.
    #[serde(borrow)]
    pub(super) session_id: Cow<'a, str>,
    /// Files it is in, relative to the given paths.
    #[serde(default)]
    #[cfg_attr(test, schemars(!default))]
    pub(super) files: Vec<Cow<'a, str>>,
    /// Name of its project, if one is recorded; in a baseline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) project: Option<Cow<'a, str>>,
    /// Sums of its requests.
    pub(super) totals: ByStrategy<'a>,
    /// Its requests; in a baseline.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub(super) turns: Option<Vec<TurnObject<'a>>>,
}

/// Totals with their strategies' names, in the order of the strategies.
#[derive(Default)]
#[cfg_attr(test, derive(JsonSchema))]
#[cfg_attr(test, schemars(transparent))]
pub(super) struct ByStrategy<'a>(
    #[cfg_attr(test, schemars(with = "BTreeMap<&'a str, TotalsObject>"))]
    pub(super)  Vec<(Cow<'a, str>, TotalsObject)>,
);

impl ByStrategy<'_> {
    /// Totals of a strategy.
    pub(super) fn get(&self, strategy: &str) -> Option<&TotalsObject> {
        self.0.iter().find(|(name, _)| name == strategy).map(|(_, totals)| totals)
    }
}

impl Serialize for ByStrategy<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, totals)| (name, totals)))
    }
}

impl<'de> Deserialize<'de> for ByStrategy<'_> {
    /// Sorted by the names, as the order of the strategies is not saved.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let totals: BTreeMap<String, TotalsObject> = BTreeMap::deserialize(deserializer)?;
        Ok(Self(totals.into_iter().map(|(name, totals)| (name.into(), totals)).collect()))
    }
}

#[derive(Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(super) struct TotalsObject {
    /// Requests in these sums.
    pub(super) requests: u64,
    /// Tokens neither read from cache nor written to it.
    pub(super) input_tokens: Tokens,
    /// Tokens read from cache.
    pub(super) cache_read_input_tokens: Tokens,
    /// Tokens written for five minutes, or for the usual lifetime of another service.
    pub(super) ephemeral_5m_input_tokens: Tokens,
    /// Tokens written for an hour, or for the longer lifetime of another service.
    pub(super) ephemeral_1h_input_tokens: Tokens,
    /// Tokens of the answers, if they are known.
    pub(super) output_tokens: Tokens,
    /// Cost of all of it, in dollars; null if nothing has a price.
    pub(super) cost_usd: Option<Picodollars>,
    /// Requests that the strategy added; left out if there are none.
    #[serde(skip_deserializing, skip_serializing_if = "is_zero")]
    #[cfg_attr(test, schemars(!skip_deserializing))]
    added_requests: u64,
    /// Requests whose model has no price, which the cost leaves out; left out if there are none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) unpriced_requests: u64,
    /// Requests whose output is unknown; left out if there are none.
    #[serde(skip_deserializing, skip_serializing_if = "is_zero")]
    #[cfg_attr(test, schemars(!skip_deserializing))]
    requests_without_output: u64,
    /// Requests that the service would refuse; left out if there are none.
    #[serde(skip_deserializing, skip_serializing_if = "is_zero")]
    #[cfg_attr(test, schemars(!skip_deserializing))]
    invalid_requests: u64,
    /// Requests without figures, as their usage was not recorded or the strategy is not applicable; left out
    /// if there are none.
    #[serde(skip_deserializing, skip_serializing_if = "is_zero")]
    #[cfg_attr(test, schemars(!skip_deserializing))]
    unrecorded_requests: u64,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde passes a reference
pub(super) fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl From<Totals> for TotalsObject {
    fn from(totals: Totals) -> Self {
        Self {
            requests: totals.requests,
            input_tokens: totals.input,
            cache_read_input_tokens: totals.read,
            ephemeral_5m_input_tokens: totals.write_5m,
            ephemeral_1h_input_tokens: totals.write_1h,
            output_tokens: totals.output,
            cost_usd: totals.cost(),
            added_requests: totals.added,
            unpriced_requests: totals.costs.unknown,
            requests_without_output: totals.without_output,
            invalid_requests: totals.refused,
            unrecorded_requests: totals.unrecorded,
        }
    }
}

impl From<&Figures> for TotalsObject {
    /// Totals of the figures of a snapshot.
    ///
    /// A sum that a snapshot does not count separately is zero, and left out.
    fn from(figures: &Figures) -> Self {
        Self {
            requests: figures.requests,
            input_tokens: figures.input,
            cache_read_input_tokens: figures.read,
            ephemeral_5m_input_tokens: figures.write_5m,
            ephemeral_1h_input_tokens: figures.write_1h,
            output_tokens: figures.output,
            cost_usd: figures.known_cost(),
            added_requests: 0,
            unpriced_requests: figures.costs.unknown,
            requests_without_output: 0,
            invalid_requests: 0,
            unrecorded_requests: 0,
        }
    }
}

/// Totals of each strategy, in the order of the columns.
fn by_strategy<'l>(
    ledger: &'l Ledger<'_>,
    totals: impl IntoIterator<Item = Totals>,
) -> ByStrategy<'l> {
    let names = ledger.columns.iter().map(|column| column.strategy.name.as_ref());
    ByStrategy(names.map(Cow::from).zip(totals.into_iter().map(TotalsObject::from)).collect())
}

fn by_model<'l>(
    ledger: &'l Ledger<'_>,
    breakdowns: &[Breakdown<'l>],
) -> BTreeMap<&'l str, ByStrategy<'l>> {
    // A column may lack models that another one has.
    let names: BTreeSet<&'l str> =
        breakdowns.iter().flat_map(|column| column.models.keys().copied()).ordered();
    let of_model = |model| {
        let of_columns = breakdowns.iter().map(move |column| column.models.get(model).copied());
        (model, by_strategy(ledger, of_columns.map(Option::unwrap_or_default)))
    };
    names.into_iter().map(of_model).collect()
}

/// Writes the report as JSON.
///
/// With a snapshot of the same selection it can serve as a baseline.
///
/// # Errors
/// Writing to `out` fails.
pub fn write_report(
    ledger: &Ledger<'_>,
    selection: &Selection,
    snapshot: Option<&Snapshot>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let history = ledger.history;
    let breakdowns: Vec<Breakdown<'_>> =
        side_by_side(&ledger.columns, |column| ledger.breakdown(column, selection));
    // Snapshot and breakdowns have the sessions in the order of the selection.
    let session = |(at, session): (usize, &Session)| {
        let saved = snapshot.map(|snapshot| &snapshot.sessions[at]);
        let turns = saved.and_then(|session| session.turns.as_ref()).zip(snapshot);
        SessionTotals {
            session_id: history.symbols.text(session.id).into(),
            files: session
                .files(history)
                .into_iter()
                .map(|file| Cow::from(&*history.files[file].label))
                .collect(),
            project: saved.and_then(|session| session.project.as_deref()).map(Cow::from),
            totals: by_strategy(ledger, breakdowns.iter().map(|column| column.sessions[at])),
            turns: turns.map(|(turns, snapshot)| {
                turns.iter().map(|turn| TurnObject::new(snapshot, turn)).collect()
            }),
        }
    };
    // If nothing could be compared, an empty list would look like a clean result.
    let lint = snapshot.filter(|snapshot| !snapshot.is_uncompared);
    let lint = lint.and_then(|snapshot| snapshot.lint.as_ref());
    let blocks = snapshot.map(|snapshot| snapshot.blocks.list.as_slice()).unwrap_or_default();
    let report = Report {
        schema: SCHEMA,
        tool_version: env!("CARGO_PKG_VERSION"),
        prices: Some(Prices::of(ledger.prices)),
        inputs: Inputs::of(history),
        assumptions: key_notes(history, ledger.steps, &ledger.assumptions),
        options: Some(ledger.assumptions.options()).filter(|all| !all.is_empty()).map(Cow::from),
        damage: Some(history.diagnostics.damaged_places()).filter(|places| *places > 0),
        totals: by_strategy(ledger, breakdowns.iter().map(|column| column.all)),
        live: by_strategy(ledger, breakdowns.iter().map(|column| column.live)),
        applicability: applicability(ledger),
        context_management: managed(ledger),
        by_model: by_model(ledger, &breakdowns),
        sessions: selection.sessions.iter().enumerate().map(session).collect(),
        tokens: snapshot.and_then(|snapshot| snapshot.counting.as_deref()).map(Cow::from),
        blocks: blocks.iter().map(BlockObject::from).collect(),
        lint: lint.cloned(),
    };
    write_document(&report, out)
}
