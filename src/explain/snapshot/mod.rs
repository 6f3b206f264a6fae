//! Snapshot of a run, which can be saved and compared with a later one: each session's turns with their
//! figures, and fingerprints of all blocks of captured prompts, without text. It is made from a
//! ledger or a saved report, so that the figures of both sides are computed in one way.

mod fingerprint;
mod settings;

pub use fingerprint::{BlockId, BlockPrefix, Blocks, Digest, Fingerprint, Pieces, SnapshotBlock};
pub use settings::{Settings, changed_settings};

use std::collections::BTreeMap;
use std::sync::Arc;

use derive_more::with_trait::AddAssign;
use rustc_hash::FxHashMap;
#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::settings;

use crate::base::id::Symbol;
use crate::base::known::KnownSum;
use crate::base::ttl::Ttl;
use crate::base::units::{Millis, Picodollars, Tokens};
use crate::explain::breaks::{Break, Breaks, Cause};
use crate::explain::lint::{Finding, Linted, Rule, Severity};
use crate::read::capture::{Part, WireNodeId, WireRequest, WireTree};
use crate::requests::conversation::{History, RequestIndex, project_names};
use crate::simulate::ledger::{Ledger, Row, Selection, Session, StrategyColumn};

/// Snapshot of a run.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// Strategies of every [`SnapshotTurn::figures`], in this order.
    pub strategies: Vec<String>,
    /// Reasons why some strategies are not applicable, in words.
    pub inapplicable: BTreeMap<String, String>,
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
#[cfg_attr(test, derive(JsonSchema), schemars(rename = "LintObject"))]
pub struct LintCount {
    /// Rule of the findings.
    pub rule: Rule,
    /// Severity of these findings.
    pub severity: Severity,
    /// Number of places in the prompts.
    pub findings: u64,
}

/// Session of a run.
#[derive(Clone, Debug, Default)]
pub struct SnapshotSession {
    /// Session id, from `sessionId`.
    pub id: String,
    /// Files, relative to the given paths, first one first.
    pub files: Vec<Arc<str>>,
    /// Name of its project, if recorded.
    pub project: Option<String>,
    /// Totals under each strategy, or `None` if nothing is recorded.
    pub totals: Vec<Option<Figures>>,
    /// Requests, or `None` in a report that was saved without them.
    pub turns: Option<Vec<SnapshotTurn>>,
}

/// Request of a session.
#[derive(Clone, Debug)]
pub struct SnapshotTurn {
    /// Request id, from `request_id`.
    pub request_id: Option<String>,
    /// Sub-agent, or `None` on the main chain.
    pub agent_id: Option<String>,
    /// Model that it was sent to.
    pub model: String,
    /// File, relative to the given paths.
    pub file: Arc<str>,
    /// Line of the file.
    pub line: u64,
    /// Start time of the request, if known, else the best estimate.
    pub start: Millis,
    /// Sum of its rows under each strategy, or `None` if it is not recorded.
    pub figures: Vec<Option<Figures>>,
    /// Figures by the rules and the bytes of its prompt, if captured.
    pub counted: Option<Counted>,
    /// Break, if it is one.
    pub broken: Option<TurnBreak>,
    /// Last block of its prompt, if captured.
    pub block: Option<BlockId>,
    /// Last block of the part that should be the same in every conversation: the last marked block of
    /// the system prompt, or the last block of system prompt and tools.
    pub front: Option<BlockId>,
    /// Markers, if the prompt was captured.
    pub markers: Vec<TurnMarker>,
    /// Settings besides its prompt. `None` if it was not captured, or a report does not have them.
    pub settings: Option<Settings>,
}

/// Figures of a captured request by the rules and the bytes of its prompt, whatever usage is
/// recorded for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counted {
    /// Prompt under each strategy, the record's place taken by its replay; without output.
    pub prompts: Vec<Option<Figures>>,
    /// Cost of its recorded output, or `None` if the output or its price is unknown.
    pub output: Option<Picodollars>,
}

/// Marker of a captured prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(rename = "MarkerObject"))]
pub struct TurnMarker {
    /// Block with the marker, by its place in the list of blocks.
    pub block: BlockId,
    /// Lifetime that it asks for.
    pub ttl: Ttl,
}

/// Break of the cache.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(rename = "BreakObject"))]
pub struct TurnBreak {
    /// Cause of the break.
    pub cause: Cause,
    /// Tokens that were sent again.
    #[serde(rename = "rewritten_tokens")]
    pub rewritten: Tokens,
    /// Cost beyond reading these tokens, in dollars; unknown if the model has no price.
    #[serde(rename = "excess_usd")]
    pub excess: Option<Picodollars>,
    /// Evidence for the cause, without words of the prompt. Not saved.
    #[serde(skip)]
    pub evidence: Option<String>,
}

/// Tokens and cost of some rows of one strategy.
#[derive(AddAssign, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Number of requests.
    pub requests: u64,
    /// Tokens sent in full.
    pub input: Tokens,
    /// Tokens read from cache.
    pub read: Tokens,
    /// Tokens written for five minutes.
    pub write_5m: Tokens,
    /// Tokens written for an hour.
    pub write_1h: Tokens,
    /// Tokens of the answers.
    pub output: Tokens,
    /// Costs of the requests; that of a request is unknown if a row of it has no price.
    pub costs: KnownSum,
}

impl Figures {
    /// Sum of the rows of one request without output, or `None` without rows.
    fn of_prompts<'a>(rows: impl Iterator<Item = Row<'a>>) -> Option<Self> {
        Self::of_rows(rows.map(|mut row| {
            row.billing.output = Tokens::ZERO;
            row.cost = row.charges.map(|charges| charges.total().minus(charges.output));
            row
        }))
    }

    /// Sum of the rows of one request, or `None` without rows.
    pub(crate) fn of_rows<'a>(rows: impl Iterator<Item = Row<'a>>) -> Option<Self> {
        let mut rows = rows.peekable();
        rows.peek()?;
        let mut sum = Self { requests: 1, ..Self::default() };
        let mut costs = KnownSum::default();
        for row in rows {
            let billing = row.billing;
            sum.input += billing.input;
            sum.read += billing.read;
            sum.write_5m += billing.write_5m;
            sum.write_1h += billing.write_1h;
            sum.output += billing.output;
            costs.add(row.cost);
        }
        // The cost of a part of a request is not the cost of the request.
        sum.costs.add(costs.whole());
        Some(sum)
    }

    /// Sums of some turns, under each strategy.
    pub(crate) fn of_turns(turns: &[SnapshotTurn], strategies: usize) -> Vec<Option<Self>> {
        let sum = |at: usize| Self::sum(turns.iter().filter_map(|turn| turn.figures[at].as_ref()));
        (0..strategies).map(sum).collect()
    }

    /// Sum of several figures, or `None` without any.
    pub fn sum<'a>(all: impl IntoIterator<Item = &'a Self>) -> Option<Self> {
        all.into_iter().fold(None, |sum: Option<Self>, one| {
            let mut sum = sum.unwrap_or_default();
            sum += *one;
            Some(sum)
        })
    }

    /// Tokens written to cache, at either TTL.
    #[must_use]
    pub fn written(&self) -> Tokens {
        self.write_5m + self.write_1h
    }

    /// Tokens of the whole prompts.
    #[must_use]
    pub fn prompt(&self) -> Tokens {
        self.input + self.read + self.written()
    }

    /// Cost, or `None` if no request has a price.
    #[must_use]
    pub fn known_cost(&self) -> Option<Picodollars> {
        self.costs.value().filter(|_| self.costs.known > 0)
    }
}

impl Snapshot {
    /// Index of a strategy in [`Self::strategies`].
    #[must_use]
    pub fn strategy(&self, name: &str) -> Option<usize> {
        self.strategies.iter().position(|strategy| strategy == name)
    }
}

/// Snapshot of the selected requests. The captures must be read with their bytes kept.
/// `counted` simulates the same strategies over prompts sized by their bytes alone.
#[must_use]
pub fn snapshot(
    ledger: &Ledger<'_>,
    counted: Option<&Ledger<'_>>,
    selection: &Selection,
    breaks: &Breaks,
    linted: Option<&Linted>,
) -> Snapshot {
    let history = ledger.history;
    let recorder = Recorder {
        ledger,
        counted,
        history,
        projects: project_names(history),
        breaks: breaks.list.iter().map(|found| (found.request, found)).collect(),
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

fn inapplicable(ledger: &Ledger<'_>) -> BTreeMap<String, String> {
    let idle = ledger.columns.iter().filter(|column| !column.applicability().is_applicable());
    let reason = |column: &StrategyColumn| {
        (column.strategy.name.to_string(), column.applicability().reasons())
    };
    idle.map(reason).collect()
}

fn lint_counts(findings: &[Finding]) -> Vec<LintCount> {
    let mut counts: BTreeMap<(Rule, Severity), u64> = BTreeMap::new();
    for finding in findings {
        *counts.entry((finding.rule, finding.severity())).or_default() += 1;
    }
    let count = |((rule, severity), findings)| LintCount { rule, severity, findings };
    counts.into_iter().map(count).collect()
}

struct Recorder<'a> {
    ledger: &'a Ledger<'a>,
    counted: Option<&'a Ledger<'a>>,
    history: &'a History,
    projects: BTreeMap<Symbol, String>,
    breaks: FxHashMap<RequestIndex, &'a Break>,
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
            totals: Figures::of_turns(&turns, self.ledger.columns.len()),
            turns: Some(turns),
        }
    }

    fn turn(&self, index: RequestIndex) -> SnapshotTurn {
        let request = self.history.request(index);
        let wire = self.history.wire(index);
        let tree = &self.history.captured.tree;
        let figures = |column| Figures::of_rows(self.ledger.rows(column, index));
        SnapshotTurn {
            request_id: self.history.text(request.request).map(str::to_owned),
            agent_id: self.history.text(request.agent).map(str::to_owned),
            model: self.history.model(index).to_owned(),
            file: Arc::clone(&self.history.files[request.file].label),
            line: request.line,
            start: request.start,
            figures: self.ledger.columns.iter().map(figures).collect(),
            counted: wire.and_then(|_| self.counted(index)),
            broken: self.breaks.get(&index).map(|found| turn_break(found)),
            block: wire.map(|wire| block_id(wire.leaf)),
            front: wire.and_then(|wire| front(tree, wire)).map(block_id),
            markers: wire.map(markers).unwrap_or_default(),
            settings: wire.and_then(|wire| settings(self.history, wire)),
        }
    }
}

impl Recorder<'_> {
    fn counted(&self, index: RequestIndex) -> Option<Counted> {
        let ledger = self.counted?;
        let expected = ledger.expected()?;
        let prompts = ledger.columns.iter().map(|column| {
            // The record has no outcomes by the rules, so the replay takes its place.
            let column = if column.outcomes().is_none() { expected } else { column };
            // Samplings that were billed separately are not of this prompt.
            Figures::of_prompts(ledger.rows(column, index).filter(|row| row.iteration.is_none()))
        });
        let mut rows = ledger.rows(expected, index).filter(|row| row.is_output_known);
        let output = rows.next().and_then(|row| Some(row.charges?.output));
        Some(Counted { prompts: prompts.collect(), output })
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
        ttl: marker.ttl,
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
