//! Snapshot of a run. It has everything that a snapshot of the same sessions has, except for the parts about captured
//! prompts: their blocks, their figures by their bytes, and the findings of `lint`.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::{RunBreak, RunBreaks, RunRequest};
use crate::base::ByKey;
use crate::explain::snapshot::{Figures, Snapshot, SnapshotSession, SnapshotTurn, TurnBreak};
use crate::simulate::strategy::Applicability;

/// Snapshot in the making from rows, which come session by session.
#[derive(Debug, Default)]
pub struct SnapshotOfRows {
    strategies: Vec<Arc<str>>,
    sessions: Vec<SnapshotSession>,
    /// Domain and files of the last session.
    domain: String,
    files: FxHashSet<Arc<str>>,
}

impl SnapshotOfRows {
    /// Empty snapshot for these strategies.
    pub fn new(strategies: &[String]) -> Self {
        let strategies = strategies.iter().map(|name| name.as_str().into()).collect();
        Self { strategies, ..Self::default() }
    }

    /// Adds a request, with its break taken out of its domain's breaks.
    pub fn add(&mut self, request: &RunRequest<'_>, breaks: &mut RunBreaks) {
        // Two domains may have a session of the same id.
        let is_of_last = self.domain == request.domain
            && self.sessions.last().is_some_and(|last| last.id == request.session);
        if !is_of_last {
            request.domain.clone_into(&mut self.domain);
            self.files.clear();
            let turns = Some(Vec::new());
            let id = request.session.to_owned();
            self.sessions.push(SnapshotSession { id, turns, ..SnapshotSession::default() });
        }
        let Some(session) = self.sessions.last_mut() else { return };
        let known = self.files.get(request.file).cloned();
        let file = known.unwrap_or_else(|| {
            let file: Arc<str> = Arc::from(request.file);
            session.files.push(Arc::clone(&file));
            self.files.insert(Arc::clone(&file));
            file
        });
        if session.project.is_none() {
            session.project = request.project.map(str::to_owned);
        }
        let broken = breaks.take(request);
        let figures = |(place, name): (usize, &Arc<str>)| {
            Some((Arc::clone(name), Figures::of_rows(request.under(place).copied())?))
        };
        let turn = SnapshotTurn {
            request_id: request.request.map(str::to_owned),
            agent_id: request.agent.map(str::to_owned),
            model: request.model.to_owned(),
            file,
            line: request.line,
            start: request.start,
            figures: self.strategies.iter().enumerate().filter_map(figures).collect(),
            counted: None,
            broken: broken.map(turn_break),
            block: None,
            front: None,
            markers: Vec::new(),
            settings: None,
            answer_settings: None,
            refused: None,
        };
        session.turns.get_or_insert_default().push(turn);
    }

    /// Snapshot of all requests. The applicability of each strategy is known over all domains.
    pub fn finish(mut self, strategies: &[(String, Applicability)]) -> Snapshot {
        for session in &mut self.sessions {
            let turns = session.turns.as_deref().unwrap_or_default();
            session.totals = Figures::of_turns(turns);
        }
        let idle = strategies.iter().filter(|(_, applicability)| !applicability.is_applicable());
        let reason = |(name, applicability): &(String, Applicability)| {
            (name.clone(), applicability.reasons())
        };
        Snapshot {
            strategies: strategies.iter().map(|(name, _)| name.clone()).collect(),
            inapplicable: idle.map(reason).collect::<ByKey<_, _>>(),
            sessions: self.sessions,
            is_of_rows: true,
            ..Snapshot::default()
        }
    }
}

fn turn_break(found: RunBreak) -> TurnBreak {
    let RunBreak { cause, rewritten, excess, evidence, .. } = found;
    let surest = evidence.into_iter().find(|evidence| evidence.cause == cause);
    TurnBreak { cause, rewritten, excess, evidence: surest.map(|evidence| evidence.meaning) }
}
