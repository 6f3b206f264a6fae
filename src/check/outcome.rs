//! A budget held against a run.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use rust_decimal::Decimal;

use super::figure::{Selected, Unknown, View};
use super::pairing::{Pairing, pair_turns};
use crate::budget::{Amount, Budget, Change, Level, Limit, Quantity, Scope, Unit};
use crate::snapshot::{Snapshot, Turn};

/// Whether a limit is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// It is.
    Passed,
    /// It does not apply here; only budgets that nobody asked for can be left out.
    LeftOut,
    /// It is not, and the budget only warns; or it is, as far as is known.
    Warned,
    /// It is not.
    Failed,
}

impl Status {
    /// The word in outputs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Passed => "pass",
            Self::LeftOut => "left_out",
            Self::Warned => "warn",
            Self::Failed => "fail",
        }
    }
}

/// A session or a request that does not keep to a limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exceeded {
    /// The place of the session.
    pub session: usize,
    /// The place of the request in it.
    pub turn: Option<usize>,
    /// Its figure.
    pub figure: Amount,
    /// The baseline's.
    pub baseline: Option<Amount>,
}

/// What became of a budget.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The budget.
    pub budget: Budget,
    /// Whether its limit is kept.
    pub status: Status,
    /// The figure: of each session or request that which is nearest to the limit, or farthest beyond.
    pub figure: Option<Amount>,
    /// The same of the baseline, where the limit is about it.
    pub baseline: Option<Amount>,
    /// The sessions or requests beyond the limit, the farthest in front.
    pub exceeded: Vec<Exceeded>,
    /// How many figures were held against the limit.
    pub compared: usize,
    /// Requests (or breaks) of both sides without a price, which the figures lack.
    pub unpriced: u64,
    /// Requests of both sides that are not recorded, which the figures lack.
    pub unrecorded: u64,
    /// Why it does not apply.
    pub left_out: Option<Unknown>,
}

impl Outcome {
    /// That of a budget that does not apply.
    pub(super) fn left_out(budget: &Budget, why: Unknown) -> Self {
        Self {
            budget: budget.clone(),
            status: Status::LeftOut,
            figure: None,
            baseline: None,
            exceeded: Vec::new(),
            compared: 0,
            unpriced: 0,
            unrecorded: 0,
            left_out: Some(why),
        }
    }
}

/// Both sides of a run.
pub(super) struct Sides<'a> {
    pub(super) now: &'a Snapshot,
    pub(super) before: Option<(&'a Snapshot, &'a Pairing)>,
    /// The strategy of budgets that name none.
    pub(super) strategy: &'a str,
}

/// A figure, whose it is, and that of the baseline.
struct Candidate {
    session: usize,
    turn: Option<usize>,
    now: Decimal,
    before: Option<Decimal>,
}

impl Candidate {
    /// How far it is towards the limit and beyond, for a limit of its kind: the largest is the worst.
    fn margin(&self, limit: Limit) -> Decimal {
        let before = self.before.unwrap_or_default();
        let growth = match limit {
            Limit::Max(_) => Some(self.now),
            Limit::Min(_) => Decimal::ZERO.checked_sub(self.now),
            Limit::MaxIncrease(_) => self.now.checked_sub(before),
            Limit::MaxDecrease(_) => before.checked_sub(self.now),
        };
        let growth = growth.unwrap_or(Decimal::MAX);
        match limit {
            Limit::MaxIncrease(Change::Relative(_)) | Limit::MaxDecrease(Change::Relative(_))
                if !growth.is_zero() =>
            {
                growth.checked_div(before).unwrap_or(Decimal::MAX)
            }
            _ => growth,
        }
    }

    fn is_exceeding(&self, limit: Limit) -> bool {
        limit.is_kept(self.now, self.before) != Some(true)
    }
}

impl Sides<'_> {
    /// Holds a budget against the run.
    pub(super) fn outcome(&self, budget: &Budget) -> Result<Outcome, Unknown> {
        let mut candidates = match budget.metric.scope {
            Scope::Total => vec![self.total(budget)?],
            Scope::EachSession => self.each_session(budget)?,
            Scope::EachRequest => self.each_request(budget)?,
        };
        let limit = budget.limit;
        let rank = |one: &Candidate| (one.is_exceeding(limit), one.margin(limit));
        candidates.sort_by_key(|one| Reverse(rank(one)));
        let unit = budget.metric.unit();
        let (unpriced, unrecorded) = self.lacking(budget)?;
        let is_money = unit == Unit::Dollars || budget.metric.quantity == Quantity::BreaksShare;
        let is_lacking = (unpriced > 0 && is_money) || unrecorded > 0;
        let nothing = if unpriced > 0 { Unknown::NoPrice } else { Unknown::NothingSelected };
        let worst = candidates.first().ok_or(nothing)?;
        let amount = |value| Amount { value, unit };
        let (figure, baseline) = (amount(worst.now), worst.before.map(amount));
        let exceeded: Vec<&Candidate> =
            candidates.iter().filter(|one| one.is_exceeding(limit)).collect();
        let status = match (exceeded.is_empty(), budget.level) {
            (true, _) if is_lacking => Status::Warned,
            (true, _) => Status::Passed,
            (false, Level::Warn) => Status::Warned,
            (false, Level::Fail) => Status::Failed,
        };
        let exceeded = exceeded.into_iter().filter(|_| budget.metric.scope != Scope::Total);
        let exceeded = exceeded.map(|one| Exceeded {
            session: one.session,
            turn: one.turn,
            figure: amount(one.now),
            baseline: one.before.map(amount),
        });
        Ok(Outcome {
            budget: budget.clone(),
            status,
            figure: Some(figure),
            baseline,
            exceeded: exceeded.collect(),
            compared: candidates.len(),
            unpriced,
            unrecorded,
            left_out: None,
        })
    }

    fn view<'s>(&'s self, budget: &'s Budget) -> Result<View<'s>, Unknown> {
        View::new(self.now, budget, self.strategy)
    }

    /// The baseline as the budget looks at it, where its limit is about it.
    fn baseline<'s>(
        &'s self,
        budget: &'s Budget,
    ) -> Result<Option<(View<'s>, &'s Pairing)>, Unknown> {
        let Some((before, pairing)) = self.before.filter(|_| budget.limit.needs_baseline()) else {
            return Ok(None);
        };
        Ok(Some((View::new(before, budget, self.strategy)?, pairing)))
    }

    /// What is selected of the run: where the limit is about the baseline, of the sessions that it has.
    fn selected<'s>(
        &'s self,
        view: &View<'s>,
        pairing: Option<&Pairing>,
    ) -> Result<Vec<Selected<'s>>, Unknown> {
        match pairing {
            Some(pairing) => view.selected(pairing.pairs.iter().map(|pair| pair.now)),
            None => view.selected(0..self.now.sessions.len()),
        }
    }

    /// How many requests have no price, and how many are not recorded, of those that the figures of
    /// both sides are about; for the cost of breaks, how many breaks have no price.
    fn lacking(&self, budget: &Budget) -> Result<(u64, u64), Unknown> {
        let (view, baseline) = (self.view(budget)?, self.baseline(budget)?);
        let pairing = baseline.as_ref().map(|(_, pairing)| *pairing);
        let mut lacking = lacking_of(budget, &view, &self.selected(&view, pairing)?)?;
        if let Some((view, pairing)) = baseline {
            let selected = view.selected(pairing.pairs.iter().map(|pair| pair.before))?;
            let before = lacking_of(budget, &view, &selected)?;
            lacking = (lacking.0 + before.0, lacking.1 + before.1);
        }
        Ok(lacking)
    }

    fn total(&self, budget: &Budget) -> Result<Candidate, Unknown> {
        let (view, baseline) = (self.view(budget)?, self.baseline(budget)?);
        let pairing = baseline.as_ref().map(|(_, pairing)| *pairing);
        let now = view.total(&self.selected(&view, pairing)?)?;
        let before = baseline.map(|(view, pairing)| {
            let selected = view.selected(pairing.pairs.iter().map(|pair| pair.before))?;
            view.total(&selected)
        });
        Ok(Candidate { session: 0, turn: None, now, before: before.transpose()? })
    }

    fn each_session(&self, budget: &Budget) -> Result<Vec<Candidate>, Unknown> {
        let (view, baseline) = (self.view(budget)?, self.baseline(budget)?);
        let pairing = baseline.as_ref().map(|(_, pairing)| *pairing);
        let mut candidates = Vec::new();
        for selected in self.selected(&view, pairing)? {
            let session = selected.session;
            let before = match &baseline {
                None => None,
                Some((view, pairing)) => match known(view.before(pairing, session))? {
                    Some(before) => Some(before),
                    // Nothing of it was selected then.
                    None => continue,
                },
            };
            let Some(now) = known(view.total(&[selected]))? else { continue };
            candidates.push(Candidate { session, turn: None, now, before });
        }
        Ok(candidates)
    }

    fn each_request(&self, budget: &Budget) -> Result<Vec<Candidate>, Unknown> {
        let (view, baseline) = (self.view(budget)?, self.baseline(budget)?);
        let pairing = baseline.as_ref().map(|(_, pairing)| *pairing);
        let mut candidates = Vec::new();
        for selected in self.selected(&view, pairing)? {
            let session = selected.session;
            let earlier = match &baseline {
                None => None,
                Some((view, pairing)) => Some((view, self.earlier_turns(pairing, session)?)),
            };
            for (at, turn) in selected.turns.ok_or(Unknown::NoTurns)? {
                let Some(now) = known(view.cost_of_turn(turn))? else { continue };
                let before = match &earlier {
                    None => None,
                    Some((view, turns)) => {
                        let Some(turn) = turns.get(&at) else { continue };
                        let Some(before) = known(view.cost_of_turn(turn))? else { continue };
                        Some(before)
                    }
                };
                candidates.push(Candidate { session, turn: Some(at), now, before });
            }
        }
        Ok(candidates)
    }

    /// The turns of the baseline by the places of those of the run.
    fn earlier_turns(
        &self,
        pairing: &Pairing,
        session: usize,
    ) -> Result<BTreeMap<usize, &Turn>, Unknown> {
        let before = self
            .before
            .and_then(|(before, _)| before.sessions[pairing.before(session)?].turns.as_ref());
        let before = before.ok_or(Unknown::NoTurns)?;
        let now = self.now.sessions[session].turns.as_ref().ok_or(Unknown::NoTurns)?;
        let pairs = pair_turns(before, now).into_iter();
        Ok(pairs.map(|(old, new)| (new, &before[old])).collect())
    }
}

fn lacking_of(
    budget: &Budget,
    view: &View<'_>,
    selected: &[Selected<'_>],
) -> Result<(u64, u64), Unknown> {
    let metric = budget.metric;
    if metric.is_of_breaks() && metric.quantity != Quantity::Breaks {
        return Ok((view.unpriced_breaks(selected)?, 0));
    }
    if !metric.is_of_strategy() {
        return Ok((0, 0));
    }
    let unpriced = selected.iter().map(Selected::unpriced).sum();
    Ok((unpriced, selected.iter().map(|one| one.unrecorded).sum()))
}

impl View<'_> {
    /// The figure of the session of the baseline that one of the run is.
    fn before(&self, pairing: &Pairing, now: usize) -> Result<Decimal, Unknown> {
        let before = pairing.before(now).ok_or(Unknown::NothingSelected)?;
        self.total(&self.selected([before])?)
    }
}

/// What is not known of one session or request does not count against it; that nothing is known of the
/// report as such ends the run.
fn known(figure: Result<Decimal, Unknown>) -> Result<Option<Decimal>, Unknown> {
    match figure {
        Ok(figure) => Ok(Some(figure)),
        Err(Unknown::NothingSelected | Unknown::NoTokens | Unknown::NoPrice) => Ok(None),
        Err(other) => Err(other),
    }
}
