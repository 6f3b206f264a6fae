//! `cachesim.check/v1`: outcome of each budget, and differences from the baseline.

use std::io::{self, Write};

use serde::Serialize;

use super::check_view::CheckView;
use super::check_words::reasons;
use super::{Inputs, Prices, is_zero, write_versioned};
use crate::base::{Picodollars, Tokens};
use crate::explain::budget::{Amount, BudgetLevel, Limit, LimitChange, Selector, Unit};
use crate::explain::check::{
    BudgetOutcome, CountedSession, Exceeded, MatchedBy, PromptChange, PromptDifference,
    RunDifference, SessionChange, SettingChange, Status, TurnChange, UsageFault, Verdict,
};
use crate::explain::snapshot::{Snapshot, SnapshotSession};

pub(super) const SCHEMA: &str = "cachesim.check/v1";

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct CheckObject<'a> {
    /// Table of list prices.
    prices: Prices<'a>,
    /// Input read.
    inputs: &'a Inputs,
    /// Verdict on the run.
    verdict: Verdict,
    /// Strategy of budgets that name none.
    strategy: &'static str,
    /// Cost of everything under it.
    cost_usd: Option<Picodollars>,
    /// Outcome of each budget, in the order of their file.
    budgets: Vec<BudgetObject<'a>>,
    /// Differences to the baseline; null without.
    difference: Option<DifferenceObject<'a>>,
}

/// Outcome of a budget.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct BudgetObject<'a> {
    /// Name, which no other has.
    name: &'a str,
    /// Figure that has a limit.
    #[cfg_attr(test, schemars(with = "crate::explain::budget::Metric"))]
    metric: &'static str,
    /// Limit.
    limit: LimitObject,
    /// Effect of an exceeded limit.
    level: BudgetLevel,
    /// True if it is built in, and no configuration asks for it.
    is_built_in: bool,
    /// Requests it is about; all if it is empty.
    selector: &'a Selector,
    /// Status of the limit.
    status: Status,
    /// Figure farthest beyond the limit, or nearest to it.
    figure: Option<AmountObject>,
    /// Baseline's figure, if the limit needs it.
    baseline: Option<AmountObject>,
    /// Number of figures compared with the limit.
    compared: usize,
    /// Sessions or requests beyond the limit, the farthest in front.
    exceeded: Vec<ExceededObject<'a>>,
    /// Message in the configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
    /// Requests without a price, which the figure lacks.
    #[serde(skip_serializing_if = "is_zero")]
    unpriced_requests: u64,
    /// Requests without a record, which the figure lacks.
    #[serde(skip_serializing_if = "is_zero")]
    unrecorded_requests: u64,
    /// Requests in the figure that the service refuses, which fails a budget on a cost; left out if there are none.
    #[serde(skip_serializing_if = "is_zero")]
    refused_requests: u64,
    /// Changes that a budget on unlisted changes counts; left out if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unlisted: Vec<&'a str>,
    /// Requests that are selected on one side alone, with which nothing is compared.
    one_sided_requests: u64,
    /// Reason why an unasked budget does not apply.
    #[serde(skip_serializing_if = "Option::is_none")]
    left_out: Option<String>,
}

/// Limit of a figure.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct LimitObject {
    /// Key in the configuration.
    #[cfg_attr(test, schemars(with = "Limit"))]
    kind: &'static str,
    #[serde(flatten)]
    amount: AmountObject,
}

/// Exact decimal number with its unit.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct AmountObject {
    /// Decimal number without exponent.
    value: String,
    /// `usd`, `percent`, `tokens`, `bytes` or `count`; of a change also `percent_of_baseline`.
    unit: &'static str,
}

impl From<Amount> for AmountObject {
    fn from(amount: Amount) -> Self {
        let unit = match amount.unit {
            Unit::Dollars => "usd",
            Unit::Percent => "percent",
            Unit::Tokens => "tokens",
            Unit::Bytes => "bytes",
            Unit::Count => "count",
        };
        // Without trailing zeros, so that equal amounts are written alike.
        Self { value: amount.value.normalize().to_string(), unit }
    }
}

impl From<Limit> for LimitObject {
    fn from(limit: Limit) -> Self {
        let amount = match limit {
            Limit::Max(amount) | Limit::Min(amount) => amount.into(),
            Limit::MaxIncrease(change) | Limit::MaxDecrease(change) => match change {
                LimitChange::Absolute(amount) => amount.into(),
                LimitChange::Relative(percent) => AmountObject {
                    value: percent.normalize().to_string(),
                    unit: "percent_of_baseline",
                },
            },
        };
        Self { kind: limit.key(), amount }
    }
}

/// Session, or a request of one, beyond a limit.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ExceededObject<'a> {
    /// Session.
    session_id: &'a str,
    /// Request; left out if the limit is one of sessions.
    #[serde(skip_serializing_if = "Option::is_none")]
    request: Option<ComparedRequestObject<'a>>,
    /// Figure.
    figure: AmountObject,
    /// Baseline's.
    baseline: Option<AmountObject>,
}

/// Request by its place.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "RequestObject"))]
struct ComparedRequestObject<'a> {
    /// In its session, from 1 on.
    number: usize,
    /// Id.
    request_id: Option<&'a str>,
    /// File that has it, relative to the given paths.
    file: &'a str,
    /// Line in the file.
    line: u64,
}

impl<'a> ComparedRequestObject<'a> {
    fn new(session: &'a SnapshotSession, at: usize) -> Option<Self> {
        let turn = session.turns.as_ref()?.get(at)?;
        Some(Self {
            number: at + 1,
            request_id: turn.request_id.as_deref(),
            file: &turn.file,
            line: turn.line,
        })
    }
}

/// Differences to the baseline.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct DifferenceObject<'a> {
    /// Strategy whose costs are compared.
    strategy: &'a str,
    /// Number of sessions found in the baseline, by match.
    matched: Matched,
    /// Cost of the sessions on both sides in the baseline.
    cost_before_usd: Option<Picodollars>,
    /// Their cost now.
    cost_usd: Option<Picodollars>,
    /// Their extra cost.
    difference_usd: Option<Picodollars>,
    /// Sessions whose figures come from the rules and the bytes of their prompts on both sides; left out if
    /// empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    counted: Vec<CountedSessionObject<'a>>,
    /// Requests of the baseline that the run lacks, of sessions that both have. They are in no comparison.
    gone_requests: usize,
    /// Requests without a captured prompt that have the id of one of the baseline's and another usage.
    edited_requests: usize,
    /// Settings of requests other than in the baseline.
    settings: Vec<SettingChangeObject<'a>>,
    /// Captured requests whose settings the baseline does not know.
    unknown_settings_requests: usize,
    /// Number of places of lost input beyond the baseline's.
    damage: u64,
    /// Parts of captured prompts.
    prompts: Vec<PromptObject<'a>>,
    /// Sessions with a difference.
    sessions: Vec<ComparedSessionObject<'a>>,
    /// `sessionId`s of the run alone.
    new: Vec<&'a str>,
    /// `sessionId`s of the baseline alone.
    gone: Vec<&'a str>,
}

/// Session whose recorded usage does not count.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct CountedSessionObject<'a> {
    /// Id.
    session_id: &'a str,
    /// Fault of its recorded usage.
    usage: UsageFault,
    /// First request with that fault.
    first: Option<ComparedRequestObject<'a>>,
    /// True if its figures include output, known on both sides.
    has_output: bool,
}

/// Setting that differs from the baseline.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct SettingChangeObject<'a> {
    /// Field of the request's body, `betas`, or `other fields` of all without a name of their own here.
    name: &'a str,
    /// Number of its requests.
    requests: u64,
    /// Number of these of which nothing recorded shows what that costs.
    unshown_requests: u64,
    /// First of them.
    first: Option<ComparedRequestObject<'a>>,
}

/// Number of sessions found in the baseline.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Matched {
    /// By their ids.
    id: usize,
    /// By the files they are in.
    file: usize,
    /// By their order.
    order: usize,
}

/// Part of captured prompts that differs.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct PromptObject<'a> {
    #[serde(flatten)]
    change: &'a PromptChange,
    /// Number of requests.
    requests: u64,
    /// Sessions with it.
    sessions: Vec<&'a str>,
    /// First of the requests.
    first: Option<ComparedRequestObject<'a>>,
    /// Increase of these sessions' cost over the baseline, for whatever reason.
    difference_usd: Option<Picodollars>,
}

/// Session that differs.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "SessionObject"))]
struct ComparedSessionObject<'a> {
    /// Id.
    session_id: &'a str,
    /// Id in the baseline.
    baseline_session_id: &'a str,
    /// Match with the baseline.
    matched_by: MatchedBy,
    /// Cost in the baseline.
    cost_before_usd: Option<Picodollars>,
    /// Cost now.
    cost_usd: Option<Picodollars>,
    /// Extra cost.
    difference_usd: Option<Picodollars>,
    /// Requests that differ, those that changed the cost most in front.
    turns: Vec<TurnChangeObject<'a>>,
}

/// Request that differs.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct TurnChangeObject<'a> {
    /// Place in the baseline; null if only the run has it.
    before: Option<ComparedRequestObject<'a>>,
    /// Place in the run; null if only the baseline has it.
    now: Option<ComparedRequestObject<'a>>,
    /// Cost in the baseline.
    cost_before_usd: Option<Picodollars>,
    /// Cost now.
    cost_usd: Option<Picodollars>,
    /// Extra cost.
    difference_usd: Picodollars,
    /// Read from cache in the baseline.
    cache_read_input_tokens_before: Option<Tokens>,
    /// Read from cache now.
    cache_read_input_tokens: Option<Tokens>,
    /// Written to cache in the baseline.
    cache_creation_input_tokens_before: Option<Tokens>,
    /// Written to cache now.
    cache_creation_input_tokens: Option<Tokens>,
    /// Differences, in words.
    reasons: String,
}

/// Writes the result of a check as JSON.
///
/// # Errors
/// Writing to `out` fails.
pub fn write_check(view: CheckView<'_>, out: &mut dyn Write) -> io::Result<()> {
    let check = view.check;
    // Names of the baseline's sessions are in its snapshot, not in the difference.
    let difference = check.difference.as_ref().zip(view.before);
    let document = CheckObject {
        prices: Prices::named(view.prices),
        inputs: view.inputs,
        verdict: check.verdict,
        strategy: check.strategy,
        cost_usd: check.total.known_cost(),
        budgets: check.outcomes.iter().map(|outcome| budget(view.now, outcome)).collect(),
        difference: difference.map(|(difference, before)| differences(view, difference, before)),
    };
    write_versioned(SCHEMA, &document, out)
}

fn budget<'a>(now: &'a Snapshot, outcome: &'a BudgetOutcome) -> BudgetObject<'a> {
    let budget = &outcome.budget;
    let exceeded = |one: &Exceeded| {
        // Places of exceeded limits are those of the run.
        let session = &now.sessions[one.session];
        ExceededObject {
            session_id: &session.id,
            request: one.turn.and_then(|turn| ComparedRequestObject::new(session, turn)),
            figure: one.figure.into(),
            baseline: one.baseline.map(AmountObject::from),
        }
    };
    BudgetObject {
        name: &budget.name,
        metric: budget.metric.name,
        limit: budget.limit.into(),
        level: budget.level,
        is_built_in: budget.is_default,
        selector: &budget.selector,
        status: outcome.status,
        figure: outcome.figure.map(AmountObject::from),
        baseline: outcome.baseline.map(AmountObject::from),
        compared: outcome.compared,
        exceeded: outcome.exceeded.iter().map(exceeded).collect(),
        message: budget.message.as_deref(),
        unpriced_requests: outcome.unpriced,
        unrecorded_requests: outcome.unrecorded,
        refused_requests: outcome.refused,
        unlisted: outcome.unlisted.iter().map(|change| change.place.as_str()).collect(),
        one_sided_requests: outcome.one_sided,
        left_out: outcome.left_out.as_ref().map(ToString::to_string),
    }
}

fn differences<'a>(
    view: CheckView<'a>,
    difference: &'a RunDifference,
    before: &'a Snapshot,
) -> DifferenceObject<'a> {
    let (now, pairing) = (view.now, &difference.pairing);
    let costs = difference.costs();
    let ids = |side: &'a Snapshot, places: &[usize]| -> Vec<&'a str> {
        places.iter().map(|at| side.sessions[*at].id.as_str()).collect()
    };
    DifferenceObject {
        strategy: &difference.strategy,
        matched: Matched {
            id: pairing.count(MatchedBy::Id),
            file: pairing.count(MatchedBy::File),
            order: pairing.count(MatchedBy::Order),
        },
        cost_before_usd: costs.map(|(before, _)| before),
        cost_usd: costs.map(|(_, now)| now),
        difference_usd: costs.map(|(before, now)| now.minus(before)),
        counted: view.check.counted.iter().map(|one| counted_session(now, one)).collect(),
        gone_requests: view.check.gone,
        edited_requests: view.check.edited,
        settings: view.check.settings.iter().map(|one| setting_object(now, one)).collect(),
        unknown_settings_requests: view.check.unknown_settings,
        damage: view.check.damage,
        prompts: difference.prompts.iter().map(|prompt| prompt_object(now, prompt)).collect(),
        sessions: difference
            .changed()
            .map(|session| session_object(now, before, session))
            .collect(),
        new: ids(now, &pairing.new),
        gone: ids(before, &pairing.gone),
    }
}

fn counted_session<'a>(now: &'a Snapshot, counted: &CountedSession) -> CountedSessionObject<'a> {
    let session = &now.sessions[counted.session];
    CountedSessionObject {
        session_id: &session.id,
        usage: counted.fault,
        first: ComparedRequestObject::new(session, counted.turn),
        has_output: counted.has_output,
    }
}

fn setting_object<'a>(now: &'a Snapshot, change: &'a SettingChange) -> SettingChangeObject<'a> {
    let first = ComparedRequestObject::new(&now.sessions[change.session], change.turn);
    SettingChangeObject {
        name: &change.name,
        requests: change.requests,
        unshown_requests: change.unshown,
        first,
    }
}

fn prompt_object<'a>(now: &'a Snapshot, prompt: &'a PromptDifference) -> PromptObject<'a> {
    PromptObject {
        change: &prompt.change,
        requests: prompt.requests,
        sessions: prompt.sessions.iter().map(|at| now.sessions[*at].id.as_str()).collect(),
        first: ComparedRequestObject::new(&now.sessions[prompt.first.0], prompt.first.1),
        difference_usd: prompt.difference,
    }
}

fn session_object<'a>(
    now: &'a Snapshot,
    before: &'a Snapshot,
    change: &'a SessionChange,
) -> ComparedSessionObject<'a> {
    let (new, old) = (&now.sessions[change.pair.now], &before.sessions[change.pair.before]);
    ComparedSessionObject {
        session_id: &new.id,
        baseline_session_id: &old.id,
        matched_by: change.pair.by,
        cost_before_usd: change.cost_before(),
        cost_usd: change.cost_now(),
        difference_usd: change.difference(),
        turns: change.turns.iter().map(|turn| turn_object(new, old, turn)).collect(),
    }
}

fn turn_object<'a>(
    new: &'a SnapshotSession,
    old: &'a SnapshotSession,
    change: &'a TurnChange,
) -> TurnChangeObject<'a> {
    let (before, now) = (change.tokens_before, change.tokens_now);
    TurnChangeObject {
        before: change.before.and_then(|at| ComparedRequestObject::new(old, at)),
        now: change.now.and_then(|at| ComparedRequestObject::new(new, at)),
        cost_before_usd: change.cost_before,
        cost_usd: change.cost_now,
        difference_usd: change.difference(),
        cache_read_input_tokens_before: before.map(|tokens| tokens.read),
        cache_read_input_tokens: now.map(|tokens| tokens.read),
        cache_creation_input_tokens_before: before.map(|tokens| tokens.written),
        cache_creation_input_tokens: now.map(|tokens| tokens.written),
        reasons: reasons(change),
    }
}
