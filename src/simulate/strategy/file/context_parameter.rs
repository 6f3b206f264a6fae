//! Parameters of context management, and the resulting method: at most one, with its settings.

use super::parameter::{Parameter, parameter};
use super::parse::Contradiction;
use super::value::{Characters, Count, Duration, Number, Percent, Size, Value};
use crate::base::units::Tokens;
use crate::simulate::management::{
    Budget, ByService, ByTime, Compaction, Management, MemoryUpdates, Microcompaction,
    ResultBudget, SessionMemory, Trigger, WindowEnd,
};

/// All parameters of context management.
pub(super) fn context_parameters() -> Vec<Parameter> {
    let mut all = microcompaction();
    all.extend(clearing());
    all.extend(budget());
    all.extend(compaction());
    all.extend(put_in_again());
    all.extend(memory());
    all
}

/// Parameter that sets a value once, since no other key has the same meaning.
fn of_context<T: Value>(
    key: &'static str,
    set: impl Fn(&mut ManagementDraft, T) + Copy + Send + Sync + 'static,
) -> Parameter {
    parameter(key, move |draft, value| {
        set(&mut draft.context, value);
        Ok(())
    })
}

fn microcompaction() -> Vec<Parameter> {
    fn by_time(draft: &mut ManagementDraft) -> &mut ByTime {
        draft.microcompaction.by_time.get_or_insert_default()
    }
    fn by_service(draft: &mut ManagementDraft) -> &mut ByService {
        draft.microcompaction.by_service.get_or_insert_default()
    }
    vec![
        of_context("context.microcompact.gap", |draft, gap: Duration| by_time(draft).gap = gap.0),
        of_context("context.microcompact.keep_recent", |draft, kept: Count| {
            by_time(draft).keep_recent = kept.0;
        }),
        of_context("context.cached_microcompact.trigger", |draft, results: Count| {
            by_service(draft).trigger = results.0;
        }),
        of_context("context.cached_microcompact.keep_recent", |draft, kept: Count| {
            by_service(draft).keep_recent = kept.0;
        }),
    ]
}

fn clearing() -> Vec<Parameter> {
    vec![
        of_context("context.clear_results.trigger", |draft, size: Tokens| {
            draft.clearing.get_or_insert_default().trigger = size;
        }),
        of_context("context.clear_results.keep", |draft, size: Tokens| {
            draft.clearing.get_or_insert_default().keep = size;
        }),
        of_context("context.clear_results.clear_at_least", |draft, size: Tokens| {
            draft.clearing.get_or_insert_default().clear_at_least = size;
        }),
    ]
}

fn budget() -> Vec<Parameter> {
    fn budget(draft: &mut ManagementDraft) -> &mut ResultBudget {
        draft.budget.get_or_insert_default()
    }
    vec![
        of_context("context.result_budget.each", |draft, size: Characters| {
            budget(draft).each = size.0;
        }),
        of_context("context.result_budget.message", |draft, size: Characters| {
            budget(draft).message = size.0;
        }),
        of_context("context.result_budget.preview", |draft, size: Characters| {
            budget(draft).preview = size.0;
        }),
    ]
}

fn compact(draft: &mut ManagementDraft) -> &mut Compaction {
    &mut draft.compaction.get_or_insert_default().compaction
}

fn compaction() -> Vec<Parameter> {
    let mut all = trigger(
        [
            "context.compact.threshold",
            "context.compact.window",
            "context.compact.max_output",
            "context.compact.reserve",
            "context.compact.buffer",
            "context.compact.percent",
        ],
        |draft| &mut draft.compaction.get_or_insert_default().trigger,
    );
    all.extend([
        of_context("context.compact.summary", |draft, size: Tokens| compact(draft).summary = size),
        of_context("context.compact.request", |draft, size: Size| {
            compact(draft).attempt.request = size.0;
        }),
        of_context("context.compact.analysis", |draft, size: Size| {
            compact(draft).attempt.analysis = size.0;
        }),
        of_context("context.compact.retries", |draft, count: Number| {
            compact(draft).attempt.retries = count.0;
        }),
        of_context("context.compact.gap_reported", |draft, is_reported: bool| {
            compact(draft).attempt.is_gap_reported = is_reported;
        }),
        of_context("context.compact.failures", |draft, count: Count| {
            compact(draft).attempt.failures = count.0;
        }),
    ]);
    all
}

fn put_in_again() -> Vec<Parameter> {
    fn files(draft: &mut ManagementDraft) -> &mut Budget {
        &mut compact(draft).again.files
    }
    fn skills(draft: &mut ManagementDraft) -> &mut Budget {
        &mut compact(draft).again.skills
    }
    vec![
        of_context("context.compact.files.count", |draft, count: Number| {
            files(draft).pieces = count.0;
        }),
        of_context("context.compact.files.each", |draft, size: Size| files(draft).each = size.0),
        of_context("context.compact.files.all", |draft, size: Size| files(draft).all = size.0),
        of_context("context.compact.skills.each", |draft, size: Size| skills(draft).each = size.0),
        of_context("context.compact.skills.all", |draft, size: Size| skills(draft).all = size.0),
        of_context("context.compact.plan", |draft, size: Size| compact(draft).again.plan = size.0),
        of_context("context.compact.agents", |draft, size: Size| {
            compact(draft).again.agents = size.0;
        }),
        of_context("context.compact.tools", |draft, size: Size| {
            compact(draft).again.tools = size.0;
        }),
        of_context("context.compact.mcp", |draft, size: Size| compact(draft).again.mcp = size.0),
    ]
}

fn memory() -> Vec<Parameter> {
    fn memory(draft: &mut ManagementDraft) -> &mut SessionMemory {
        &mut draft.memory.get_or_insert_default().memory
    }
    fn updates(draft: &mut ManagementDraft) -> &mut MemoryUpdates {
        &mut memory(draft).updates
    }
    let mut all = trigger(
        [
            "context.session_memory.threshold",
            "context.session_memory.window",
            "context.session_memory.max_output",
            "context.session_memory.reserve",
            "context.session_memory.buffer",
            "context.session_memory.percent",
        ],
        |draft| &mut draft.memory.get_or_insert_default().trigger,
    );
    all.extend([
        of_context("context.session_memory.memory", |draft, size: Tokens| {
            memory(draft).memory = size;
        }),
        of_context("context.session_memory.minimum", |draft, size: Tokens| {
            memory(draft).minimum = size;
        }),
        of_context("context.session_memory.minimum_messages", |draft, count: Count| {
            memory(draft).minimum_messages = count.0;
        }),
        of_context("context.session_memory.maximum", |draft, size: Tokens| {
            memory(draft).maximum = size;
        }),
        of_context("context.session_memory.updates.first", |draft, size: Tokens| {
            updates(draft).first = size;
        }),
        of_context("context.session_memory.updates.growth", |draft, size: Tokens| {
            updates(draft).growth = size;
        }),
        of_context("context.session_memory.updates.calls", |draft, count: Number| {
            updates(draft).calls = count.0;
        }),
        of_context("context.session_memory.updates.request", |draft, size: Size| {
            updates(draft).request = size.0;
        }),
        of_context("context.session_memory.updates.output", |draft, size: Size| {
            updates(draft).output = size.0;
        }),
    ]);
    all
}

/// Threshold and its determinants, under the keys of one method.
fn trigger(
    [threshold, window, max_output, reserve, buffer, percent]: [&'static str; 6],
    of: fn(&mut ManagementDraft) -> &mut TriggerDraft,
) -> Vec<Parameter> {
    vec![
        of_context(threshold, move |draft, size: Tokens| of(draft).threshold = Some(size)),
        of_context(window, move |draft, size: Tokens| of(draft).window = Some(size)),
        of_context(max_output, move |draft, size: Size| {
            of(draft).say(max_output, |end| end.max_output = size.0);
        }),
        of_context(reserve, move |draft, size: Size| {
            of(draft).say(reserve, |end| end.reserve = size.0);
        }),
        of_context(buffer, move |draft, size: Size| {
            of(draft).say(buffer, |end| end.buffer = size.0);
        }),
        of_context(percent, move |draft, share: Percent| {
            of(draft).say(percent, |end| end.percent = Some(share.0));
        }),
    ]
}

/// Methods, each with the values of the keys so far.
#[derive(Default)]
pub(super) struct ManagementDraft {
    pub(super) microcompaction: Microcompaction,
    pub(super) clearing: Option<ClearingDraft>,
    pub(super) budget: Option<ResultBudget>,
    pub(super) compaction: Option<CompactionDraft>,
    pub(super) memory: Option<MemoryDraft>,
}

/// Results that the service clears.
pub(super) struct ClearingDraft {
    pub(super) trigger: Tokens,
    pub(super) keep: Tokens,
    pub(super) clear_at_least: Tokens,
}

/// Compaction, with the keys of its threshold so far.
#[derive(Default)]
pub(super) struct CompactionDraft {
    pub(super) compaction: Compaction,
    pub(super) trigger: TriggerDraft,
}

/// Session-memory compaction, with the keys of its threshold so far.
#[derive(Default)]
pub(super) struct MemoryDraft {
    pub(super) memory: SessionMemory,
    pub(super) trigger: TriggerDraft,
}

/// Threshold, or the values that determine it.
#[derive(Default)]
pub(super) struct TriggerDraft {
    pub(super) threshold: Option<Tokens>,
    /// Window, if given.
    pub(super) window: Option<Tokens>,
    /// Last key besides the window that determines a threshold, and the values of such keys.
    pub(super) worked_out: Option<(&'static str, WindowEnd)>,
}

impl Default for ClearingDraft {
    /// Values that the client requests (F.3).
    fn default() -> Self {
        Self { trigger: Tokens(180_000), keep: Tokens(40_000), clear_at_least: Tokens(140_000) }
    }
}

impl TriggerDraft {
    /// Sets a value that determines a threshold.
    pub(super) fn say(&mut self, key: &'static str, say: impl FnOnce(&mut WindowEnd)) {
        let (_, end) = self.worked_out.get_or_insert_with(|| (key, WindowEnd::default()));
        say(end);
    }

    /// Threshold, if any of its keys was set.
    fn finish(&self) -> Result<Option<Trigger>, Contradiction> {
        let end = self.worked_out.map(|(_, end)| end);
        match (self.threshold, self.worked_out) {
            (Some(_), Some((key, _))) => Err(Contradiction::ThresholdGiven(key)),
            (Some(threshold), None) => Ok(Some(Trigger::At(threshold))),
            (None, None) if self.window.is_none() => Ok(None),
            (None, _) => {
                let end = end.unwrap_or_default();
                let window = self.window.unwrap_or(end.window);
                let trigger = Trigger::Below(WindowEnd { window, ..end });
                if trigger.threshold() == Tokens::ZERO {
                    return Err(Contradiction::NothingFits { window: window.0 });
                }
                Ok(Some(trigger))
            }
        }
    }
}

impl CompactionDraft {
    fn finish(&self) -> Result<Management, Contradiction> {
        let mut compaction = self.compaction;
        compaction.trigger = self.trigger.finish()?.unwrap_or(compaction.trigger);
        // A fixed threshold says nothing of the window, which then limits the request for the
        // summary only if given.
        compaction.attempt.window = match compaction.trigger {
            Trigger::At(_) => self.trigger.window,
            Trigger::Below(end) => Some(end.window),
        };
        Ok(Management::Compaction(compaction))
    }
}

impl MemoryDraft {
    fn finish(&self) -> Result<Management, Contradiction> {
        // Without a request for a summary, a window has no other use than to derive the threshold.
        if self.trigger.threshold.is_some() && self.trigger.window.is_some() {
            return Err(Contradiction::ThresholdGiven("context.session_memory.window"));
        }
        let mut memory = self.memory;
        memory.trigger = self.trigger.finish()?.unwrap_or(memory.trigger);
        Ok(Management::SessionMemory(memory))
    }
}

impl ManagementDraft {
    /// Chosen method, if any.
    pub(super) fn finish(&self) -> Result<Option<Management>, Contradiction> {
        let micro = self.microcompaction;
        let micro = (micro != Microcompaction::default()).then_some(micro);
        let clearing = self.clearing.as_ref().map(|clearing| {
            let ClearingDraft { trigger, keep, clear_at_least } = *clearing;
            Management::ToolResultClearing { trigger, keep, clear_at_least }
        });
        let ways = [
            micro.map(Management::Microcompaction),
            clearing,
            self.budget.map(Management::ResultBudget),
            self.compaction.as_ref().map(CompactionDraft::finish).transpose()?,
            self.memory.as_ref().map(MemoryDraft::finish).transpose()?,
        ];
        let mut chosen = ways.into_iter().flatten();
        let first = chosen.next();
        if chosen.next().is_some() {
            return Err(Contradiction::SeveralManagements);
        }
        Ok(first)
    }
}
