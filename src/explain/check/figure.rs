//! Figure of a budget on either side.

use rust_decimal::Decimal;
use rustc_hash::FxHashSet;

use crate::base::{KnownSum, Picodollars, Tokens};
use crate::explain::budget::{Budget, Quantity, Selector};
use crate::explain::lint::Rule;
use crate::explain::snapshot::{
    BlockId, Figures, Snapshot, SnapshotSession, SnapshotTurn, TurnBreak,
};

/// Reason why a figure is not known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unknown {
    /// No request matches the budget.
    #[error("selects no request")]
    NothingSelected,
    /// No selected request has a price.
    #[error("no selected request has a price; give one with --prices FILE")]
    NoPrice,
    /// A strategy that cannot act on the requests of a side.
    #[error("the strategy `{strategy}` is not applicable: {reason}")]
    NotApplicable {
        /// Name of the strategy.
        strategy: String,
        /// Reason why the strategy cannot act on them.
        reason: String,
    },
    /// A saved report without requests.
    #[error(
        "the baseline has no single requests; save it with `cachesim check PATH --save-baseline FILE`"
    )]
    NoTurns,
    /// A strategy that was not simulated when the baseline was saved.
    #[error("the baseline lacks the strategy `{0}`; save it again with this configuration")]
    NoStrategy(String),
    /// No prompts were captured, so their bytes are unknown.
    #[error("there is no captured prompt; a transcript does not hold system prompt and tools")]
    NoCaptures,
    /// The baseline is saved from this very run.
    #[error("there is no baseline yet; this run saves it")]
    NoBaselineYet,
    /// The baseline was saved without the findings of `lint`.
    #[error("the baseline has no findings of lint; save it again")]
    NoLint,
    /// Captured requests, none of them a successor of another.
    #[error(
        "no request follows another, so none could be compared with the one before it; capture two requests of a \
         conversation, or name `rules` that need one alone"
    )]
    NothingCompared,
    /// No session has a count of the client's.
    #[error(
        "no session, or none of the baseline, has a count of the client's own; clients of Claude Code since 26 August \
         2026 write one"
    )]
    NoClientCount,
    /// A division by zero.
    #[error("the prompts have no tokens")]
    NoTokens,
    /// Too large to compute with.
    #[error("the amount is too large")]
    TooLarge,
}

impl Unknown {
    /// Returns true if the figure does not apply to the input, or to a report that has only sums. Otherwise
    /// something is missing.
    pub(super) fn is_inapplicable(&self) -> bool {
        matches!(
            self,
            Self::NoCaptures
                | Self::NoTurns
                | Self::NoLint
                | Self::NoClientCount
                | Self::NothingCompared
                | Self::NoTokens
        )
    }
}

/// Selection of a budget from one session.
pub(super) struct Selected<'a> {
    /// Index of the session.
    pub(super) session: usize,
    /// Selected turns with their indexes, or `None` if the report has no turns.
    pub(super) turns: Option<Vec<(usize, &'a SnapshotTurn)>>,
    figures: Option<Figures>,
    /// Requests that are not recorded under the strategy.
    pub(super) unrecorded: u64,
}

impl Selected<'_> {
    /// Requests without a price, which are missing in the cost.
    pub(super) fn unpriced(&self) -> u64 {
        self.figures.map_or(0, |figures| figures.costs.unknown)
    }
}

/// Snapshot as seen by a budget.
pub(super) struct View<'a> {
    snapshot: &'a Snapshot,
    budget: &'a Budget,
    strategy: &'a str,
}

impl<'a> View<'a> {
    /// View under a strategy, or under the one that the budget names.
    pub(super) fn new(
        snapshot: &'a Snapshot,
        budget: &'a Budget,
        strategy: &'a str,
    ) -> Result<Self, Unknown> {
        let name = budget.selector.strategy.as_deref().unwrap_or(strategy);
        if let Some(reason) = snapshot.inapplicable.get(name) {
            return Err(Unknown::NotApplicable {
                strategy: name.to_owned(),
                reason: reason.clone(),
            });
        }
        if !snapshot.has(name) {
            return Err(Unknown::NoStrategy(name.to_owned()));
        }
        Ok(Self { snapshot, budget, strategy: name })
    }

    /// Selection from some sessions. Sessions without selected requests are left out.
    pub(super) fn selected(
        &self,
        sessions: impl IntoIterator<Item = usize>,
    ) -> Result<Vec<Selected<'a>>, Unknown> {
        let selected: Vec<Selected<'a>> = sessions
            .into_iter()
            .filter_map(|at| self.of_session(at, &self.snapshot.sessions[at]).transpose())
            .collect::<Result<_, _>>()?;
        if selected.is_empty() { Err(Unknown::NothingSelected) } else { Ok(selected) }
    }

    fn of_session(
        &self,
        at: usize,
        session: &'a SnapshotSession,
    ) -> Result<Option<Selected<'a>>, Unknown> {
        let selector = &self.budget.selector;
        if !selector.has_session(&session.id, session.project.as_deref()) {
            return Ok(None);
        }
        let Some(turns) = &session.turns else {
            return self.of_whole_session(at, session, selector).map(Some);
        };
        let turns: Vec<(usize, &SnapshotTurn)> = turns
            .iter()
            .enumerate()
            .filter(|(_, turn)| selector.has_request(&turn.model, &turn.file))
            .collect();
        if turns.is_empty() {
            return Ok(None);
        }
        let recorded = turns.iter().filter_map(|(_, turn)| turn.figures.get(self.strategy));
        let figures = Figures::sum(recorded);
        let unrecorded = turns.len() as u64 - figures.map_or(0, |figures| figures.requests);
        Ok(Some(Selected { session: at, turns: Some(turns), figures, unrecorded }))
    }

    /// Selection of a session whose requests were not saved: the whole session or nothing.
    fn of_whole_session(
        &self,
        at: usize,
        session: &SnapshotSession,
        selector: &Selector,
    ) -> Result<Selected<'a>, Unknown> {
        if selector.model.is_some() || selector.files.is_some() {
            return Err(Unknown::NoTurns);
        }
        let figures = session.totals.get(self.strategy).copied();
        Ok(Selected { session: at, turns: None, figures, unrecorded: 0 })
    }

    /// Figure over some sessions together.
    pub(super) fn total(&self, selected: &[Selected<'_>]) -> Result<Decimal, Unknown> {
        let figures = Figures::sum(selected.iter().filter_map(|one| one.figures.as_ref()));
        let cost = || known_cost(figures.as_ref());
        match self.budget.metric.quantity {
            Quantity::Cost => cost(),
            Quantity::MeanCostOfSessions => {
                // Sessions without a price are in neither the sum nor the divisor.
                let costs = selected.iter().filter_map(|one| one.figures?.known_cost());
                divided(cost()?, costs.count() as u64)
            }
            Quantity::MeanCostOfRequests => {
                divided(cost()?, figures.map_or(0, |figures| figures.costs.known))
            }
            Quantity::HitRate => hit_rate(figures.as_ref()),
            Quantity::WrittenTokens => {
                Ok(Decimal::from(figures.ok_or(Unknown::NothingSelected)?.written().0))
            }
            Quantity::Breaks => Ok(Decimal::from(self.breaks(selected)?.len())),
            Quantity::BreaksCost => self.breaks_cost(selected),
            Quantity::BreaksShare => {
                let share = divide(self.breaks_cost(selected)?, cost()?)?;
                share.checked_mul(Decimal::ONE_HUNDRED).ok_or(Unknown::TooLarge)
            }
            Quantity::PrefixVariants => Self::prefix_variants(selected),
            Quantity::PromptBytes | Quantity::ToolBytes => {
                let turns = selected.iter().map(|one| one.turns.as_ref().ok_or(Unknown::NoTurns));
                let mut sizes = Vec::new();
                for (_, turn) in turns.collect::<Result<Vec<_>, _>>()?.into_iter().flatten() {
                    sizes.extend(self.size(turn));
                }
                sizes.into_iter().max().ok_or(Unknown::NoCaptures)
            }
            Quantity::LintFindings => self.lint_findings(),
            Quantity::ClientDifference => self.client_difference(selected),
            Quantity::Damage => Ok(Decimal::from(self.snapshot.damage)),
            // It is no figure of one side (`unlisted.rs`).
            Quantity::UnlistedChanges => Err(Unknown::NothingSelected),
        }
    }

    /// Figure of a request: its cost, or the size of its prompt.
    pub(super) fn of_turn(&self, turn: &SnapshotTurn) -> Result<Decimal, Unknown> {
        if self.budget.metric.is_size() {
            return self.size(turn).ok_or(Unknown::NothingSelected);
        }
        known_cost(turn.figures.get(self.strategy))
    }

    /// Returns true if the service refuses a request, by the figures that count, and the budget does not allow it.
    pub(super) fn refuses(&self, turn: &SnapshotTurn) -> bool {
        let is_billed = |figures: &Figures| figures.prompt() > Tokens::ZERO;
        turn.refused.is_some_and(|refusal| !self.budget.allow_refused.contains(&refusal))
            && !turn.figures.get(self.strategy).is_some_and(is_billed)
    }

    /// Bytes of a captured prompt, or of its tools.
    fn size(&self, turn: &SnapshotTurn) -> Option<Decimal> {
        let prefix = self.snapshot.blocks.prefix(turn.block?);
        let is_of_tools = self.budget.metric.quantity == Quantity::ToolBytes;
        Some(Decimal::from(if is_of_tools { prefix.tool_bytes } else { prefix.bytes }))
    }

    /// Costs of the breaks beyond reading.
    pub(super) fn breaks_costs(&self, selected: &[Selected<'_>]) -> Result<KnownSum, Unknown> {
        Ok(self.breaks(selected)?.iter().map(|broken| broken.excess).collect())
    }

    fn breaks<'t>(&self, selected: &[Selected<'t>]) -> Result<Vec<&'t TurnBreak>, Unknown> {
        let mut breaks = Vec::new();
        for one in selected {
            let turns = one.turns.as_ref().ok_or(Unknown::NoTurns)?;
            let of_session = turns.iter().filter_map(|(_, turn)| turn.broken.as_ref());
            breaks.extend(of_session.filter(|broken| self.budget.breaks.has(broken.cause)));
        }
        Ok(breaks)
    }

    /// Cost of the breaks that have a price.
    fn breaks_cost(&self, selected: &[Selected<'_>]) -> Result<Decimal, Unknown> {
        let sum = self.breaks_costs(selected)?.value().ok_or(Unknown::NoPrice)?;
        sum.to_decimal().ok_or(Unknown::TooLarge)
    }

    /// Unexplained differences of the sessions that have a count of the client's.
    fn client_difference(&self, selected: &[Selected<'_>]) -> Result<Decimal, Unknown> {
        let sessions = selected.iter().map(|one| &self.snapshot.sessions[one.session]);
        let differences = sessions.filter_map(|one| Some(one.client_count.as_ref()?.unexplained()));
        let sum: Option<Picodollars> =
            differences.fold(None, |sum, one| Some(sum.unwrap_or_default() + one));
        sum.ok_or(Unknown::NoClientCount)?.to_decimal().ok_or(Unknown::TooLarge)
    }

    fn prefix_variants(selected: &[Selected<'_>]) -> Result<Decimal, Unknown> {
        let mut fronts: FxHashSet<BlockId> = FxHashSet::default();
        let mut is_captured = false;
        for one in selected {
            for (_, turn) in one.turns.as_ref().ok_or(Unknown::NoTurns)? {
                is_captured |= turn.block.is_some();
                fronts.extend(turn.front);
            }
        }
        // Without any captured prompt, no variants at all would look perfectly stable.
        if is_captured { Ok(Decimal::from(fronts.len())) } else { Err(Unknown::NoCaptures) }
    }

    fn lint_findings(&self) -> Result<Decimal, Unknown> {
        let Some(counts) = &self.snapshot.lint else {
            let is_captured = !self.snapshot.blocks.list.is_empty();
            return Err(if is_captured { Unknown::NoLint } else { Unknown::NoCaptures });
        };
        let counted =
            counts.iter().filter(|count| self.budget.lint.has(count.rule, count.severity));
        let findings: u64 = counted.map(|count| count.findings).sum();
        let is_of_comparing =
            |rule: &Rule| rule.compares() && self.budget.lint.has(*rule, rule.severity());
        // Findings in a single request count even if no request could be compared.
        if findings == 0 && self.snapshot.is_uncompared && Rule::ALL.iter().any(is_of_comparing) {
            return Err(Unknown::NothingCompared);
        }
        Ok(Decimal::from(findings))
    }
}

fn known_cost(figures: Option<&Figures>) -> Result<Decimal, Unknown> {
    let figures = figures.ok_or(Unknown::NothingSelected)?;
    figures.known_cost().ok_or(Unknown::NoPrice)?.to_decimal().ok_or(Unknown::TooLarge)
}

/// Hit rate in per cent.
fn hit_rate(figures: Option<&Figures>) -> Result<Decimal, Unknown> {
    let figures = figures.ok_or(Unknown::NothingSelected)?;
    let read = Decimal::from(figures.read.0) * Decimal::ONE_HUNDRED;
    divide(read, Decimal::from(figures.prompt().0))
}

fn divided(value: Decimal, by: u64) -> Result<Decimal, Unknown> {
    divide(value, Decimal::from(by))
}

fn divide(value: Decimal, by: Decimal) -> Result<Decimal, Unknown> {
    value.checked_div(by).ok_or(Unknown::NoTokens)
}
