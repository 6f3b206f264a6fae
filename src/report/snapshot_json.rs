//! What a saved report has beyond totals, so that it can be a baseline: the turns of each session, and
//! fingerprints of the blocks of captured prompts.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::report_json::ByStrategy;
use crate::base::ttl::Ttl;
use crate::base::units::{Millis, Picodollars, Tokens};
use crate::explain::breaks::Cause;
use crate::explain::lint::{Rule, Severity};
use crate::explain::snapshot::{
    LintCount, Snapshot, SnapshotBlock, SnapshotTurn, TurnBreak, TurnMarker,
};
use crate::read::capture::Part;

/// A request, with its sums under each strategy that it is recorded under.
#[derive(JsonSchema, Serialize)]
pub(super) struct TurnObject<'a> {
    /// Its id.
    request_id: Option<&'a str>,
    /// The sub-agent that sent it; null on the main chain.
    agent_id: Option<&'a str>,
    /// The model it was sent to.
    model: &'a str,
    /// The file it stands in, relative to the given paths.
    file: &'a str,
    /// The line of the file.
    line: u64,
    /// When it was sent, as far as can be told.
    #[schemars(with = "Millis")]
    start: String,
    /// The sums of its rows under each strategy that it is recorded under.
    totals: ByStrategy<'a>,
    /// The break, where it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    r#break: Option<BreakObject>,
    /// The last block of its prompt, by its place in `blocks`.
    #[serde(skip_serializing_if = "Option::is_none")]
    block: Option<usize>,
    /// The last block that conversations are meant to share.
    #[serde(skip_serializing_if = "Option::is_none")]
    front: Option<usize>,
    /// The markers of its prompt.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    markers: Vec<MarkerObject>,
}

/// A request that read less than it could have.
#[derive(JsonSchema, Serialize)]
struct BreakObject {
    /// Why.
    #[schemars(with = "Cause")]
    cause: &'static str,
    /// What was sent again.
    rewritten_tokens: Tokens,
    /// What that cost more than reading it; null where the model has no price.
    excess_usd: Option<Picodollars>,
}

impl From<&TurnBreak> for BreakObject {
    fn from(broken: &TurnBreak) -> Self {
        Self {
            cause: broken.cause.name(),
            rewritten_tokens: broken.rewritten,
            excess_usd: broken.excess,
        }
    }
}

/// A marker.
#[derive(JsonSchema, Serialize)]
struct MarkerObject {
    /// The block it stands on, by its place in `blocks`.
    block: usize,
    /// Its TTL.
    #[schemars(with = "Ttl")]
    ttl: &'static str,
}

impl From<&TurnMarker> for MarkerObject {
    fn from(marker: &TurnMarker) -> Self {
        Self { block: marker.block.0, ttl: marker.ttl.name() }
    }
}

impl<'a> TurnObject<'a> {
    /// A turn of a snapshot.
    pub(super) fn new(snapshot: &'a Snapshot, turn: &'a SnapshotTurn) -> Self {
        let figures = snapshot.strategies.iter().zip(&turn.figures);
        let figures = figures
            .filter_map(|(name, figures)| Some((name.as_str(), figures.as_ref()?.into())))
            .collect();
        Self {
            request_id: turn.request_id.as_deref(),
            agent_id: turn.agent_id.as_deref(),
            model: &turn.model,
            file: &turn.file,
            line: turn.line,
            start: turn.start.to_string(),
            totals: ByStrategy(figures),
            r#break: turn.broken.as_ref().map(BreakObject::from),
            block: turn.block.map(|block| block.0),
            front: turn.front.map(|block| block.0),
            markers: turn.markers.iter().map(MarkerObject::from).collect(),
        }
    }
}

/// A block of a captured prompt, by what it is known by.
#[derive(JsonSchema, Serialize)]
pub(super) struct BlockObject<'a> {
    /// The one in front, by its place in `blocks`.
    parent: Option<usize>,
    /// The part of the prompt.
    #[schemars(with = "Part")]
    part: &'static str,
    /// Of a tool its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    /// Digests of the fields of a tool.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    fields: BTreeMap<&'a str, String>,
    /// The length of its canonical bytes.
    bytes: u64,
    /// The first 64 bits of their BLAKE2b.
    digest: String,
    /// Digests of up to 64 pieces of equal length, of tools and the system prompt.
    #[serde(skip_serializing_if = "String::is_empty")]
    pieces: String,
}

impl<'a> From<&'a SnapshotBlock> for BlockObject<'a> {
    fn from(block: &'a SnapshotBlock) -> Self {
        let fields = block.fields.iter();
        Self {
            parent: block.parent.map(|parent| parent.0),
            part: block.part.name(),
            name: block.name.as_deref(),
            fields: fields.map(|(name, digest)| (name.as_str(), digest.to_string())).collect(),
            bytes: block.fingerprint.bytes,
            digest: block.fingerprint.digest.to_string(),
            pieces: block.pieces.to_string(),
        }
    }
}

/// How often a rule of `lint` was broken.
#[derive(JsonSchema, Serialize)]
pub(super) struct LintObject {
    /// The rule.
    #[schemars(with = "Rule")]
    rule: &'static str,
    /// How much it matters.
    #[schemars(with = "Severity")]
    severity: &'static str,
    /// At how many places of the prompts.
    findings: u64,
}

impl From<&LintCount> for LintObject {
    fn from(count: &LintCount) -> Self {
        Self {
            rule: count.rule.name(),
            severity: count.rule.severity().name(),
            findings: count.findings,
        }
    }
}
