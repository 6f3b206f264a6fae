//! What the page says first: what was spent, what of it was avoidable, why, and what to change.

use super::PageView;
use crate::basis::Basis;
use crate::breaks::{Ground, Sum};
use crate::compare::Compared;
use crate::ledger::Totals;
use crate::report::breaks_view::saving;
use crate::report::number::{
    counted, dollar_difference, dollars, grouped, part, percent, percent_difference, relative,
    tokens,
};
use crate::strategy::StrategyKind;
use crate::units::Picodollars;

/// A figure with what it means.
pub(super) struct Figure {
    /// What it is of.
    pub(super) name: &'static str,
    /// The figure.
    pub(super) value: String,
    /// What it rests on.
    pub(super) basis: &'static str,
    /// What to know of it, in sentences.
    pub(super) meaning: String,
}

/// The figures, the most important first.
pub(super) fn answer(view: &PageView<'_>) -> Vec<Figure> {
    let billed = view.billed_totals();
    let mut figures = vec![spent(view, &billed), avoidable(view, &billed), lost(view)];
    figures.extend(biggest_cause(view));
    figures.extend(change(view));
    figures.extend(cheapest(view));
    figures
}

fn spent(view: &PageView<'_>, billed: &Totals) -> Figure {
    let of = format!(
        "{} in {}",
        counted(billed.requests, "request", "requests"),
        counted(view.selection.sessions.len() as u64, "session", "sessions"),
    );
    if let Some(cost) = billed.cost() {
        let missing = missing(billed);
        let meaning = format!("{of}: what the recorded usage costs at list prices.{missing}");
        return Figure {
            name: "Spent",
            value: dollars(Some(cost)),
            basis: Basis::Measured.name(),
            meaning,
        };
    }
    let is_complete = |compared: &&Compared<'_>| {
        compared.totals.cost().is_some() && compared.totals.unrecorded == 0
    };
    match view.comparison.strategies.iter().find(is_complete) {
        Some(compared) => Figure {
            name: "Cost, simulated",
            value: dollars(compared.totals.cost()),
            basis: "simulated",
            meaning: format!(
                "What was billed is unknown: {}. This is what `{}` would have cost, without output \
                 where that is not known.",
                unknown(billed),
                compared.strategy.name,
            ),
        },
        None => Figure {
            name: "Spent",
            value: dollars(None),
            basis: Basis::Measured.name(),
            meaning: format!("What was billed is unknown: {}.", unknown(billed)),
        },
    }
}

/// Why nothing is known of a cost.
fn unknown(billed: &Totals) -> &'static str {
    match (billed.unrecorded > 0, billed.unpriced > 0) {
        (true, true) => "usage or prices are missing; --prices FILE gives prices",
        (true, false) => "no usage was recorded",
        (false, _) => "no model of these requests has a price; --prices FILE gives one",
    }
}

/// What a sum leaves out, in sentences.
fn missing(totals: &Totals) -> String {
    let counted = |count| counted(count, "request", "requests");
    let unpriced = (totals.unpriced_requests > 0).then(|| {
        let requests = counted(totals.unpriced_requests);
        format!(" Without the cost of {requests} of models without a price.")
    });
    let unrecorded = (totals.unrecorded > 0)
        .then(|| format!(" Without {} whose usage was not recorded.", counted(totals.unrecorded)));
    unpriced.into_iter().chain(unrecorded).collect()
}

fn avoidable(view: &PageView<'_>, billed: &Totals) -> Figure {
    let is_comparable = billed.unrecorded == 0 && !view.ledger.history.is_counted_in_bytes();
    // What was billed apart is in no simulation, and so not in the bound.
    let cost = billed.cost().filter(|_| is_comparable).map(|cost| cost.minus(billed.apart));
    let bound = view.comparison.bound.own_reading;
    let amount = cost.zip(bound).map(|(cost, bound)| cost.minus(bound));
    let of_cost = part(amount, cost).map_or_else(String::new, |share| {
        format!(" That is {} of what was billed.", percent(Some(share)))
    });
    let kept = if view.assumptions.keeps_breaks {
        ", the recorded breaks inside the TTL kept"
    } else {
        ""
    };
    let apart = if billed.apart > Picodollars::ZERO {
        format!(", without the {} of samplings billed apart", dollars(Some(billed.apart)))
    } else {
        String::new()
    };
    let meaning = match amount {
        Some(_) => format!(
            "What was billed{apart}, less the {} that the cheapest markers, TTLs and pings would have \
             cost for the same prompts, with every gap known in advance{kept}.{of_cost} No client can \
             avoid all of it.",
            dollars(bound),
        ),
        None => "Not all of what was billed can be held against the cheapest possible.".to_owned(),
    };
    Figure { name: "Avoidable", value: dollars(amount), basis: "simulated bound", meaning }
}

fn lost(view: &PageView<'_>) -> Figure {
    let summary = &view.analysis.summary;
    let (total, expected) = (&summary.total, &summary.expected);
    let basis = view.analysis.breaks.list.iter().map(|found| found.basis).max();
    let compared = view.analysis.breaks.compared;
    let meaning = match (total.breaks, compared) {
        (0, 0) => "No request could be compared with one before it.".to_owned(),
        (0, compared) => format!(
            "None of {} compared read less than it could have.",
            counted(compared, "request", "requests"),
        ),
        (breaks, _) => format!(
            "{} sent {} tokens again instead of reading them. Compactions and expiries are {} of \
             them, {}.{}",
            counted(breaks, "break", "breaks"),
            tokens(total.rewritten),
            grouped(expected.breaks),
            dollars(expected.excess()),
            without_price(total),
        ),
    };
    Figure {
        name: "Lost by cache breaks",
        value: dollars(total.excess().filter(|_| compared > 0)),
        basis: basis.unwrap_or(Basis::Derived).name(),
        meaning,
    }
}

/// How many breaks are in no sum of dollars.
fn without_price(sum: &Sum) -> String {
    match sum.unpriced {
        0 => String::new(),
        unpriced => format!(" {} of them have no price.", grouped(unpriced)),
    }
}

fn biggest_cause(view: &PageView<'_>) -> Option<Figure> {
    let summary = &view.analysis.summary;
    let (cause, sum) = summary.by_cause.first()?;
    let share = part(sum.excess(), summary.total.excess());
    let share = share.map_or_else(String::new, |share| format!(", {}", percent(Some(share))));
    Some(Figure {
        name: "Biggest cause",
        value: dollars(sum.excess()),
        basis: "inferred",
        meaning: format!(
            "{}: {}. {}{share} of what breaks lost.{}",
            cause.name(),
            cause.meaning(),
            counted(sum.breaks, "break", "breaks"),
            without_price(sum),
        ),
    })
}

fn change(view: &PageView<'_>) -> Option<Figure> {
    let pattern = view.analysis.best_change()?;
    Some(Figure {
        name: "Change first",
        value: saving(pattern),
        basis: match pattern.ground {
            Ground::Excess | Ground::AtMostExcess => Basis::Estimated.name(),
            Ground::Simulated => "simulated",
        },
        meaning: format!("{} {}", pattern.observation, pattern.advice),
    })
}

/// The cheapest of the strategies that a client could follow with the same prompts.
fn cheapest(view: &PageView<'_>) -> Option<Figure> {
    let comparison = view.comparison;
    let can_be_followed = |compared: &&Compared<'_>| {
        matches!(
            compared.strategy.kind,
            StrategyKind::Counterfactual(_) | StrategyKind::Cheapest(_)
        ) && compared.strategy.keeps_content()
    };
    let candidates = comparison.strategies.iter().filter(can_be_followed);
    let priced = candidates.filter_map(|one| Some((one.totals.cost()?, one)));
    let (cost, cheapest) = priced.min_by_key(|(cost, _)| *cost)?;
    let base = comparison.base()?;
    let against = against(cost, base, &cheapest.strategy.name);
    Some(Figure {
        name: "Cheapest strategy simulated",
        value: cheapest.strategy.name.to_string(),
        basis: "simulated",
        meaning: format!(
            "{}. It costs {}{against}.",
            cheapest.strategy.summary,
            dollars(Some(cost))
        ),
    })
}

fn against(cost: Picodollars, base: &Compared<'_>, name: &str) -> String {
    let is_whole = base.totals.unrecorded == 0 && base.strategy.name != name;
    match base.totals.cost().filter(|_| is_whole) {
        Some(base_cost) => format!(
            ", {} ({}) against {}",
            dollar_difference(Some(cost.minus(base_cost))),
            percent_difference(relative(Some(cost), Some(base_cost))),
            base.strategy.name,
        ),
        None => String::new(),
    }
}
