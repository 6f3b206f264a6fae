//! Quick test for any occasion of context management to act, without managing the requests.

use super::pieces::rough;
use super::{Management, Microcompaction, Parts, Trigger};
use crate::base::Tokens;
use crate::read::transcript::ContentSource;
use crate::requests::conversation::{History, Request};

impl Management {
    /// Returns true if the rule may act on some request.
    ///
    /// Otherwise every prompt is sent as recorded, and nothing in addition; a rule that may act need not.
    pub fn may_act(&self, history: &History) -> bool {
        let any = |is_one: &dyn Fn(&Request) -> bool| {
            let requests = history.of_transcripts().iter();
            let is_concerned = |is_agent| self.parts().of(is_agent) != Parts::default();
            requests.filter(|one| is_concerned(one.agent.is_some())).any(is_one)
        };
        match self {
            Self::Several(parts) => parts.each().any(|one| one.may_act(history)),
            Self::Microcompaction(Microcompaction { by_service: Some(_), .. })
            | Self::SessionMemory(_) => any(&|_| true),
            Self::Microcompaction(Microcompaction { by_time, .. }) => by_time.is_some_and(|rule| {
                any(&|request| {
                    let before = history.predecessor(request);
                    before.is_some_and(|before| request.start.since(before.finished) > rule.gap)
                })
            }),
            Self::ToolResultClearing(clearing) => {
                any(&|request| request.prompt_total() > clearing.trigger)
            }
            Self::ResultBudget(budget) => {
                // The sum of all results may exceed the lower limit without any single result doing
                // so; then nothing is replaced.
                let most = budget.each.min(budget.message);
                any(&|request| {
                    let contents = history.contents_before(request).map(|(_, one)| one);
                    let results =
                        contents.filter(|one| matches!(one.source, ContentSource::Tool(_)));
                    results.map(|one| one.size.characters()).sum::<u64>() > most
                })
            }
            Self::Compaction(compaction) => {
                any(&|request| may_compact(history, request, compaction.trigger()))
            }
        }
    }
}

/// Returns true if a conversation may be compacted before a request, or the record has a compaction
/// there, which is undone.
fn may_compact(history: &History, request: &Request, trigger: Trigger) -> bool {
    let Some(before) = history.predecessor(request) else { return false };
    let came_in: Tokens = history.contents_before(request).map(|(_, one)| rough(one)).sum();
    let size = before.prompt_total() + before.recorded().output + came_in;
    request.between.has_compaction || size >= trigger.threshold()
}
