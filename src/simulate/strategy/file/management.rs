//! What a strategy says of context management: at most one way, with what it sets of it.

use super::error::Contradiction;
use crate::base::units::Tokens;
use crate::simulate::management::{
    Compaction, Management, Microcompaction, ResultBudget, SessionMemory, Trigger, WindowEnd,
};

/// The ways, each as far as something was said of it.
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

/// A compaction, and what was said of its threshold.
#[derive(Default)]
pub(super) struct CompactionDraft {
    pub(super) compaction: Compaction,
    pub(super) trigger: TriggerDraft,
}

/// A session-memory compaction, and what was said of its threshold.
#[derive(Default)]
pub(super) struct MemoryDraft {
    pub(super) memory: SessionMemory,
    pub(super) trigger: TriggerDraft,
}

/// A threshold, or what it follows from.
#[derive(Default)]
pub(super) struct TriggerDraft {
    pub(super) threshold: Option<Tokens>,
    /// The window, where one was given.
    pub(super) window: Option<Tokens>,
    /// The last key besides the window that a threshold follows from, and what such keys said.
    pub(super) worked_out: Option<(&'static str, WindowEnd)>,
}

impl Default for ClearingDraft {
    /// What the client asks for (F.3).
    fn default() -> Self {
        Self { trigger: Tokens(180_000), keep: Tokens(40_000), clear_at_least: Tokens(140_000) }
    }
}

impl TriggerDraft {
    /// Says something that a threshold follows from.
    pub(super) fn say(&mut self, key: &'static str, say: impl FnOnce(&mut WindowEnd)) {
        let (_, end) = self.worked_out.get_or_insert_with(|| (key, WindowEnd::default()));
        say(end);
    }

    /// The threshold, if anything was said of it.
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
        compaction.attempt.window = match compaction.trigger {
            Trigger::At(_) => self.trigger.window,
            Trigger::Below(end) => Some(end.window),
        };
        Ok(Management::Compaction(compaction))
    }
}

impl MemoryDraft {
    fn finish(&self) -> Result<Management, Contradiction> {
        if self.trigger.threshold.is_some() && self.trigger.window.is_some() {
            return Err(Contradiction::ThresholdGiven("context.session_memory.window"));
        }
        let mut memory = self.memory;
        memory.trigger = self.trigger.finish()?.unwrap_or(memory.trigger);
        Ok(Management::SessionMemory(memory))
    }
}

impl ManagementDraft {
    /// The way that was chosen, if any.
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
