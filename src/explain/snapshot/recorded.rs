//! The snapshot of a ledger.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::block::{Block, BlockId, Blocks};
use super::session::{Figures, LintCount, Session, Snapshot, Turn, TurnBreak, TurnMarker};
use crate::base::id::Symbol;
use crate::explain::breaks::{Break, Breaks};
use crate::explain::lint::{Finding, Rule};
use crate::read::capture::{Part, WireNodeId, WireRequest, WireTree};
use crate::requests::conversation::{History, RequestIndex, project_names};
use crate::simulate::ledger::{Ledger, Selection, StrategyColumn};

/// The snapshot of the selected requests. The captures have to be read with their bytes kept.
#[must_use]
pub fn snapshot(
    ledger: &Ledger<'_>,
    selection: &Selection,
    breaks: &Breaks,
    findings: Option<&[Finding]>,
) -> Snapshot {
    let history = ledger.history;
    let recorder = Recorder {
        ledger,
        history,
        projects: project_names(history),
        breaks: breaks.list.iter().map(|found| (found.request, found)).collect(),
    };
    let tree = &history.captured.tree;
    Snapshot {
        strategies: ledger.columns.iter().map(|column| column.strategy.name.to_string()).collect(),
        inapplicable: inapplicable(ledger),
        sessions: selection.sessions.iter().map(|session| recorder.session(session)).collect(),
        blocks: Blocks::new(tree.nodes.iter().map(Block::of_node).collect()),
        prices: Some(ledger.prices.id.clone()),
        counting: (!tree.nodes.is_empty()).then(|| history.captured.counting.to_string()),
        lint: findings.map(lint_counts),
    }
}

fn inapplicable(ledger: &Ledger<'_>) -> BTreeMap<String, String> {
    let idle = ledger.columns.iter().filter(|column| !column.applicability().is_applicable());
    let reason = |column: &StrategyColumn| {
        let reasons: Vec<&str> =
            column.applicability().obstacles().iter().map(|one| one.reason()).collect();
        (column.strategy.name.to_string(), reasons.join("; "))
    };
    idle.map(reason).collect()
}

fn lint_counts(findings: &[Finding]) -> Vec<LintCount> {
    let mut counts: BTreeMap<Rule, u64> = BTreeMap::new();
    for finding in findings {
        *counts.entry(finding.rule).or_default() += 1;
    }
    counts.into_iter().map(|(rule, findings)| LintCount { rule, findings }).collect()
}

struct Recorder<'a> {
    ledger: &'a Ledger<'a>,
    history: &'a History,
    projects: BTreeMap<Symbol, String>,
    breaks: FxHashMap<RequestIndex, &'a Break>,
}

impl Recorder<'_> {
    fn session(&self, session: &crate::simulate::ledger::Session) -> Session {
        let turns: Vec<Turn> = session.requests.iter().map(|index| self.turn(*index)).collect();
        let files = session.files(self.history).into_iter();
        let files = files.map(|file| Arc::clone(&self.history.files[file].label)).collect();
        let project =
            session.requests.iter().find_map(|index| self.history.request(*index).project);
        Session {
            id: self.history.symbols.text(session.id).to_owned(),
            files,
            project: project.and_then(|project| self.projects.get(&project)).cloned(),
            totals: Figures::of_turns(&turns, self.ledger.columns.len()),
            turns: Some(turns),
        }
    }

    fn turn(&self, index: RequestIndex) -> Turn {
        let request = self.history.request(index);
        let wire = self.history.wire(index);
        let tree = &self.history.captured.tree;
        let figures = |column| Figures::of_rows(self.ledger.rows(column, index));
        Turn {
            request_id: self.history.text(request.request).map(str::to_owned),
            agent_id: self.history.text(request.agent).map(str::to_owned),
            model: self.history.model(index).to_owned(),
            file: Arc::clone(&self.history.files[request.file].label),
            line: request.line,
            start: request.start,
            figures: self.ledger.columns.iter().map(figures).collect(),
            broken: self.breaks.get(&index).map(|found| turn_break(found)),
            block: wire.map(|wire| block_id(wire.leaf)),
            front: wire.and_then(|wire| front(tree, wire)).map(block_id),
            markers: wire.map(markers).unwrap_or_default(),
        }
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

/// The last block that conversations are meant to share.
fn front(tree: &WireTree, wire: &WireRequest) -> Option<WireNodeId> {
    let is_system = |id: &WireNodeId| tree.node(*id).part == Part::System;
    let marked = wire.markers.iter().rev().map(|marker| marker.node).find(is_system);
    let is_front = |id: &WireNodeId| matches!(tree.node(*id).part, Part::System | Part::Tool);
    marked.or_else(|| tree.path(wire.leaf).find(is_front))
}
