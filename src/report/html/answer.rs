//! First figures of the page: spending, its avoidable part, the causes, and the advised changes.

use crate::base::{Basis, Picodollars, capitalized};
use crate::explain::advice::Advice;
use crate::explain::analysis::Answer;
use crate::explain::breaks::Sum;
use crate::explain::compare::{Compared, Comparison};
use crate::report::advice::unsupported;
use crate::report::{
    counted, dollar_difference, dollars, grouped, part, percent, percent_difference, relative,
    tokens,
};
use crate::simulate::ledger::Totals;

/// Sources of the figures.
pub(super) struct AnswerView<'a> {
    pub(super) answer: &'a Answer,
    /// Strategies to compare.
    pub(super) comparison: &'a Comparison<'a>,
    /// Advised changes, if they are known.
    pub(super) advice: Option<&'a Advice>,
}

/// A figure with its meaning.
pub(super) struct Figure {
    pub(super) name: &'static str,
    pub(super) value: String,
    /// Basis of the figure.
    pub(super) basis: &'static str,
    /// Remarks in sentences.
    pub(super) meaning: String,
}

/// Figures of the page, most important first.
pub(super) fn answer(view: &AnswerView<'_>) -> Vec<Figure> {
    let mut figures = vec![spent(view, &view.answer.billed)];
    figures.extend(agents(view));
    figures.extend(hit_rate(view));
    figures.push(lost(view));
    figures.extend(biggest_cause(view));
    figures.extend(change(view));
    figures.extend(cheapest(view));
    figures.extend(best_caching(view));
    figures
}

fn spent(view: &AnswerView<'_>, billed: &Totals) -> Figure {
    let of = format!(
        "{} in {}",
        counted(billed.requests, "request", "requests"),
        counted(view.answer.sessions as u64, "session", "sessions"),
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
    // A simulation takes the place of the bill only if it covers every request.
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

/// Reason for an unknown cost.
fn unknown(billed: &Totals) -> &'static str {
    match (billed.unrecorded > 0, billed.costs.unknown > 0) {
        (true, true) => "usage or prices are missing; --prices FILE gives prices",
        (true, false) => "no usage was recorded",
        (false, _) => "no model of these requests has a price; --prices FILE gives one",
    }
}

/// Omissions of a sum, in sentences.
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

fn agents(view: &AnswerView<'_>) -> Option<Figure> {
    let (agents, spent) = (view.answer.agents(), view.answer.spent());
    let basis = if view.answer.is_recorded() { Basis::Measured.name() } else { "simulated" };
    (agents.requests > 0).then(|| Figure {
        name: "Sub-agents",
        value: dollars(agents.cost()),
        basis,
        meaning: format!(
            "{} of what was spent, in {}.",
            percent(part(agents.cost(), spent.cost())),
            counted(agents.requests, "request", "requests"),
        ),
    })
}

fn hit_rate(view: &AnswerView<'_>) -> Option<Figure> {
    let billed = &view.answer.billed;
    billed.hit_rate().map(|rate| Figure {
        name: "Hit rate",
        value: percent(Some(rate)),
        basis: Basis::Measured.name(),
        meaning: format!(
            "{} of {} prompt tokens were read from cache.",
            tokens(billed.read),
            tokens(billed.prompt()),
        ),
    })
}

fn best_caching(view: &AnswerView<'_>) -> Option<Figure> {
    let waterfall = view.answer.waterfall.as_ref()?;
    let best = waterfall.best_caching()?;
    let share = part(Some(waterfall.spent.minus(best)), Some(waterfall.spent));
    Some(Figure {
        name: "Best caching",
        value: dollars(Some(best)),
        basis: "simulated bound",
        meaning: format!(
            "What the best markers, lifetimes and pings would have cost for the same prompts, without \
             breaks and with every gap known in advance: {} less. No client can avoid all of it. A change \
             of the prompts themselves can save more.",
            percent(share),
        ),
    })
}

fn lost(view: &AnswerView<'_>) -> Figure {
    let answer = view.answer;
    let (total, expected) = (&answer.breaks, &answer.expected_breaks);
    let compared = answer.compared;
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
        name: "Breaks cost",
        // Without a compared request the loss is unknown rather than zero.
        value: dollars(total.excess().filter(|_| compared > 0)),
        basis: answer.breaks_basis.name(),
        meaning,
    }
}

/// Sentence on breaks that are in no sum of dollars.
fn without_price(sum: &Sum) -> String {
    match sum.costs.unknown {
        0 => String::new(),
        unpriced => format!(" {} of them have no price.", grouped(unpriced)),
    }
}

fn biggest_cause(view: &AnswerView<'_>) -> Option<Figure> {
    let (cause, sum) = view.answer.by_cause.first()?;
    let share = part(sum.excess(), view.answer.breaks.excess());
    let share = share.map_or_else(String::new, |share| format!(", {}", percent(Some(share))));
    Some(Figure {
        name: "Biggest cause",
        value: dollars(sum.excess()),
        basis: "inferred",
        meaning: format!(
            "{}. {}{share} of what breaks cost.{}",
            capitalized(cause.meaning()),
            counted(sum.breaks, "break", "breaks"),
            without_price(sum),
        ),
    })
}

fn change(view: &AnswerView<'_>) -> Option<Figure> {
    let advice = view.advice?;
    if let Some(best) = &advice.unsupported {
        return Some(Figure {
            name: "Best change",
            value: dollars(None),
            basis: "simulated",
            meaning: unsupported(advice, best),
        });
    }
    let first = advice.changes.first()?;
    let most = if first.change.is_at_most { "at most " } else { "" };
    Some(Figure {
        name: "Best change",
        value: format!("{most}{}", dollars(Some(advice.bill.supported(first.saving)))),
        basis: "simulated",
        meaning: format!("{} {}", first.change.observation, first.change.advice),
    })
}

/// Cheapest of the strategies that a client could follow with the same prompts.
fn cheapest(view: &AnswerView<'_>) -> Option<Figure> {
    let comparison = view.comparison;
    let candidates = comparison.strategies.iter().filter(|one| one.strategy.is_ranked());
    let priced = candidates.filter_map(|one| Some((one.totals.cost()?, one)));
    let (cost, cheapest) = priced.min_by_key(|(cost, _)| *cost)?;
    let base = comparison.base()?;
    let name = &cheapest.strategy.name;
    let costs = format!("costs {}{}", dollars(Some(cost)), against(cost, base, name));
    // A base that costs no more than the cheapest simulation is the answer itself.
    let is_rival = base.strategy.is_ranked() || base.strategy.is_record();
    let is_whole = base.totals.unrecorded == 0 && base.totals.cost().is_some();
    let (value, meaning) = if is_rival && is_whole && base.totals.cost() <= Some(cost) {
        let base = base.strategy.label().to_owned();
        (base, format!("No strategy simulated costs less; {name}, the next, {costs}."))
    } else {
        (name.to_string(), format!("{}. It {costs}.", capitalized(&cheapest.strategy.summary)))
    };
    Some(Figure { name: "Cheapest strategy", value, basis: "simulated", meaning })
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
