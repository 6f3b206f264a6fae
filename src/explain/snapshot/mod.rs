//! Snapshot of a run, which can be saved and compared with a later one: each session's turns with their
//! figures, and fingerprints of all blocks of captured prompts, without text. It is made from a
//! ledger or a saved report, so that the figures of both sides are computed in one way.

mod by_strategy;
mod figures;
mod fingerprint;
mod settings;

pub use by_strategy::ByStrategy;
pub use figures::Figures;
pub(crate) use figures::is_zero;
pub use fingerprint::{BlockId, BlockPrefix, Blocks, Digest, Fingerprint, Pieces, SnapshotBlock};
pub use settings::{Settings, changed_settings};

use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use settings::{of_answer, settings};

use crate::base::{ByKey, Millis, Picodollars, Refusal, Symbol, Tokens, Ttl};
use crate::explain::breaks::{Break, Breaks, Cause};
use crate::explain::client_count::ClientCount;
use crate::explain::lint::{Finding, Linted, Rule, Severity};
use crate::read::capture::{Part, WireNodeId, WireRequest, WireTree};
use crate::requests::conversation::{History, RequestIndex, project_names};
use crate::simulate::ledger::{Ledger, Selection, Session, StrategyColumn};

/// Snapshot of a run.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// Strategies under which it has figures.
    pub strategies: Vec<String>,
    /// Reasons why some strategies are not applicable, in words.
    pub inapplicable: ByKey<String, String>,
    /// Sessions, in the order of their starts.
    pub sessions: Vec<SnapshotSession>,
    /// Blocks of captured prompts, each prefix once.
    pub blocks: Blocks,
    /// Id of the prices, or `None` if a report does not have it.
    pub prices: Option<String>,
    /// Measure of captured prompts, in the form of `--tokens`. `None` if none was captured, or a report
    /// does not have it.
    pub counting: Option<String>,
    /// Options of the simulation that are not the default, as on the command line.
    pub options: String,
    /// Number of places with lost input.
    pub damage: u64,
    /// True if it was made of rows, which hold no captured prompts.
    pub is_of_rows: bool,
    /// Findings of `lint`, or `None` if no prompt was captured or lint did not run.
    pub lint: Option<Vec<LintCount>>,
    /// True if no captured request follows another, so that `lint` had nothing to compare.
    pub is_uncompared: bool,
}

/// Number of violations of a rule of `lint`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "LintObject"))]
pub struct LintCount {
    /// Rule of the findings.
    pub rule: Rule,
    /// Severity of these findings.
    pub severity: Severity,
    /// Number of places in the prompts.
    pub findings: u64,
}

/// Session of a run.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct SnapshotSession {
    /// Session id, from `sessionId`.
    #[serde(rename = "session_id")]
    pub id: String,
    /// Files, relative to the given paths, first one first.
    #[serde(default)]
    pub files: Vec<Arc<str>>,
    /// Name of its project, if recorded.
    pub project: Option<String>,
    /// Totals under each strategy under which something is recorded.
    pub totals: ByStrategy<Figures>,
    /// Client's own count of its cost, if there is one.
    pub client_count: Option<ClientCount>,
    /// Requests, or `None` in a report that was saved without them.
    pub turns: Option<Vec<SnapshotTurn>>,
}

/// Request, with its sums under each strategy that it is recorded under.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "TurnObject"))]
pub struct SnapshotTurn {
    /// Its id.
    pub request_id: Option<String>,
    /// Sub-agent that sent it; null on the main chain.
    pub agent_id: Option<String>,
    /// Model it was sent to.
    pub model: String,
    /// File that has it, relative to the given paths.
    pub file: Arc<str>,
    /// Line in the file.
    pub line: u64,
    /// Time of sending, as well as it is known.
    pub start: Millis,
    /// Sums of its rows under each strategy that it is recorded under.
    #[serde(rename = "totals")]
    #[cfg_attr(test, schemars(with = "ByKey<String, Figures>"))]
    pub figures: ByStrategy<Figures>,
    /// Figures by the rules and the bytes of its prompt alone, if it is captured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counted: Option<Counted>,
    /// Break, if it is one.
    #[serde(rename = "break", skip_serializing_if = "Option::is_none")]
    pub broken: Option<TurnBreak>,
    /// Last block of its prompt, by its place in `blocks`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block: Option<BlockId>,
    /// Last block that conversations are meant to share.
    // The last marked block of the system prompt, or the last block of system prompt and tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub front: Option<BlockId>,
    /// Markers of its prompt.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub markers: Vec<TurnMarker>,
    /// Of a captured request, first 64 bits of the BLAKE2b of each setting besides its prompt, by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settings: Option<Settings>,
    /// The same of each setting that changes its answer alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer_settings: Option<Settings>,
    /// Reason for which the service refuses it, by the rules.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<Refusal>,
}

/// Figures of a captured request by the rules and the bytes of its prompt, whatever usage is
/// recorded for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "CountedObject"))]
pub struct Counted {
    /// Prompt under each strategy, without output; `billed` is the replay.
    #[serde(rename = "prompt")]
    #[cfg_attr(test, schemars(with = "ByKey<String, Figures>"))]
    pub prompts: ByStrategy<Figures>,
    /// Cost of its recorded output, in dollars; null if the output or its price is unknown.
    #[serde(rename = "output_usd")]
    pub output: Option<Picodollars>,
}

/// Marker of a captured prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "MarkerObject"))]
pub struct TurnMarker {
    /// Block with the marker, by its place in `blocks`.
    pub block: BlockId,
    /// Lifetime that it asks for.
    pub ttl: Ttl,
    /// True for the scope `global`; left out if not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_global: bool,
}

/// Break of the cache.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "BreakObject"))]
pub struct TurnBreak {
    /// Cause of the break.
    pub cause: Cause,
    /// Tokens that were sent again.
    #[serde(rename = "rewritten_tokens")]
    pub rewritten: Tokens,
    /// Cost beyond reading these tokens, in dollars; null if the model has no price.
    #[serde(rename = "excess_usd")]
    pub excess: Option<Picodollars>,
    /// Evidence for the cause, without words of the prompt. Not saved.
    #[serde(skip)]
    pub evidence: Option<String>,
}

impl Snapshot {
    /// Returns true if it has figures of a strategy.
    pub fn has(&self, strategy: &str) -> bool {
        self.strategies.iter().any(|name| name == strategy)
    }
}

/// Snapshot of the selected requests. The captures must be read with their bytes kept.
/// `counted` simulates the same strategies over prompts sized by their bytes alone.
pub fn snapshot(
    ledger: &Ledger<'_>,
    counted: Option<&Ledger<'_>>,
    selection: &Selection,
    breaks: &Breaks,
    linted: Option<&Linted>,
) -> Snapshot {
    let history = ledger.history;
    let names = ledger.columns.iter().map(|column| &*column.strategy.name);
    let recorder = Recorder {
        strategies: names.map(Arc::from).collect(),
        ledger,
        counted,
        history,
        projects: project_names(history),
        breaks: breaks.list.iter().map(|found| (found.request, found)).collect(),
        counts: ClientCount::by_session(ledger, selection),
    };
    let tree = &history.captured.tree;
    Snapshot {
        strategies: ledger.columns.iter().map(|column| column.strategy.name.to_string()).collect(),
        inapplicable: inapplicable(ledger),
        sessions: selection.sessions.iter().map(|session| recorder.session(session)).collect(),
        // All nodes in their order, since a block has the index of its node.
        blocks: Blocks::new(tree.nodes.iter().map(SnapshotBlock::of_node).collect()),
        prices: Some(ledger.prices.id.clone()),
        counting: (!tree.nodes.is_empty()).then(|| history.captured.counting.to_string()),
        options: ledger.assumptions.options(),
        damage: history.diagnostics.damaged_places(),
        is_of_rows: false,
        lint: linted.map(|linted| lint_counts(&linted.findings)),
        is_uncompared: linted.is_some_and(|linted| linted.compared == 0),
    }
}

fn inapplicable(ledger: &Ledger<'_>) -> ByKey<String, String> {
    let idle = ledger.columns.iter().filter(|column| !column.applicability().is_applicable());
    let reason = |column: &StrategyColumn| {
        (column.strategy.name.to_string(), column.applicability().reasons())
    };
    idle.map(reason).collect()
}

fn lint_counts(findings: &[Finding]) -> Vec<LintCount> {
    let mut counts: ByKey<(Rule, Severity), u64> = ByKey::new();
    for finding in findings {
        *counts.entry((finding.rule, finding.severity())).or_default() += 1;
    }
    let count = |((rule, severity), findings)| LintCount { rule, severity, findings };
    counts.into_iter().map(count).collect()
}

struct Recorder<'a> {
    /// Names of the strategies.
    strategies: Vec<Arc<str>>,
    ledger: &'a Ledger<'a>,
    counted: Option<&'a Ledger<'a>>,
    history: &'a History,
    projects: ByKey<Symbol, String>,
    breaks: FxHashMap<RequestIndex, &'a Break>,
    counts: ByKey<String, ClientCount>,
}

impl Recorder<'_> {
    fn session(&self, session: &Session) -> SnapshotSession {
        let turns: Vec<SnapshotTurn> =
            session.requests.iter().map(|index| self.turn(*index)).collect();
        let files = session.files(self.history).into_iter();
        let files = files.map(|file| Arc::clone(&self.history.files[file].label)).collect();
        let project =
            session.requests.iter().find_map(|index| self.history.request(*index).project);
        SnapshotSession {
            id: self.history.symbols.text(session.id).to_owned(),
            files,
            project: project.and_then(|project| self.projects.get(&project)).cloned(),
            totals: Figures::of_turns(&turns),
            client_count: self.counts.get(self.history.symbols.text(session.id)).cloned(),
            turns: Some(turns),
        }
    }

    fn turn(&self, index: RequestIndex) -> SnapshotTurn {
        let request = self.history.request(index);
        let wire = self.history.wire(index);
        let tree = &self.history.captured.tree;
        SnapshotTurn {
            request_id: self.history.text(request.request).map(str::to_owned),
            agent_id: self.history.text(request.agent).map(str::to_owned),
            model: self.history.model(index).to_owned(),
            file: Arc::clone(&self.history.files[request.file].label),
            line: request.line,
            start: request.start,
            figures: self.by_strategy(&self.ledger.columns, |column| {
                Figures::of_rows(self.ledger.rows(column, index))
            }),
            counted: wire.and_then(|_| self.counted(index)),
            broken: self.breaks.get(&index).map(|found| turn_break(found)),
            block: wire.map(|wire| block_id(wire.leaf)),
            front: wire.and_then(|wire| front(tree, wire)).map(block_id),
            markers: wire.map(markers).unwrap_or_default(),
            settings: wire.and_then(|wire| settings(self.history, wire)),
            answer_settings: wire.and_then(|wire| of_answer(self.history, wire)),
            refused: self.refused(index),
        }
    }

    fn refused(&self, index: RequestIndex) -> Option<Refusal> {
        self.ledger.row_tokens(self.ledger.expected()?, index)?.refusal
    }

    fn counted(&self, index: RequestIndex) -> Option<Counted> {
        let ledger = self.counted?;
        let expected = ledger.expected()?;
        let prompts = self.by_strategy(&ledger.columns, |column| {
            // The record has no outcomes by the rules, so the replay takes its place.
            let column = if column.outcomes().is_none() { expected } else { column };
            // Samplings that were billed separately are not of this prompt.
            Figures::of_prompts(ledger.rows(column, index).filter(|row| row.iteration.is_none()))
        });
        let own = ledger.row(expected, index).filter(|row| row.is_output_known);
        let output = own.and_then(|row| Some(row.charges?.output));
        Some(Counted { prompts, output })
    }

    /// Figures under each strategy of a ledger's columns that has some.
    fn by_strategy(
        &self,
        columns: &[StrategyColumn],
        figures: impl Fn(&StrategyColumn) -> Option<Figures>,
    ) -> ByStrategy<Figures> {
        let all = self.strategies.iter().zip(columns);
        all.filter_map(|(name, column)| Some((Arc::clone(name), figures(column)?))).collect()
    }
}

fn turn_break(found: &Break) -> TurnBreak {
    let surest = found.candidates.iter().find(|candidate| candidate.cause == found.cause);
    let evidence = surest.and_then(|candidate| candidate.evidence.first());
    TurnBreak {
        cause: found.cause,
        rewritten: found.rewritten,
        excess: found.excess,
        evidence: evidence.map(|evidence| evidence.meaning.clone()),
    }
}

fn block_id(node: WireNodeId) -> BlockId {
    BlockId(node.0 as usize)
}

fn markers(wire: &WireRequest) -> Vec<TurnMarker> {
    let marker = |marker: &crate::read::capture::WireMarker| TurnMarker {
        block: block_id(marker.node),
        ttl: marker.asked,
        is_global: marker.is_global,
    };
    wire.markers.iter().map(marker).collect()
}

/// Last block that conversations are supposed to share.
fn front(tree: &WireTree, wire: &WireRequest) -> Option<WireNodeId> {
    let is_system = |id: &WireNodeId| tree.node(*id).part == Part::System;
    let marked = wire.markers.iter().rev().map(|marker| marker.node).find(is_system);
    let is_front = |id: &WireNodeId| matches!(tree.node(*id).part, Part::System | Part::Tool);
    marked.or_else(|| tree.path(wire.leaf).find(is_front))
}
