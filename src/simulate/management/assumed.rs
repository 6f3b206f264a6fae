//! Assumptions and unknowns of the simulation of a rule, in short sentences without full stops.

use super::compaction::{Compaction, MemoryUpdates, SessionMemory};
use super::{Management, Microcompaction, ResultBudget};
use crate::base::{Tokens, counted, grouped};

const BEHAVIOUR: &str = "the agent may have acted differently, and have read again what was taken \
                         away";
const SIZES: &str = "the sizes of single results are estimates by their bytes, and what stood in \
                     front of a recorded rewrite is left as it was";
const UNDONE: &str = "recorded compactions are undone as far as sizes show; most of the requests \
                      that they took are not in the record, and those that are stay";
const TOGETHER: &str = "results that came in before a compaction are not cleared after it";
const CAPTURED: &str = "captured requests are left as they are";

impl Management {
    /// Facts that the simulation does not know.
    pub fn unknowns(&self) -> Vec<&'static str> {
        if let Self::Several(parts) = self {
            let mut all = vec![BEHAVIOUR, TOGETHER];
            for unknown in parts.each().flat_map(|one| one.unknowns()) {
                if !all.contains(&unknown) {
                    all.push(unknown);
                }
            }
            return all;
        }
        let mut all = vec![BEHAVIOUR];
        all.extend_from_slice(match self {
            Self::Several(_) => &[],
            Self::Microcompaction(_) | Self::ToolResultClearing { .. } => &[SIZES],
            Self::ResultBudget(_) => &[
                SIZES,
                "results that were replaced in the record stay so",
                "the limits that single tools have of their own are not known; results of `Read` \
                 are never replaced",
            ],
            Self::Compaction(_) => &[
                "a request for a summary that is too long is refused and costs nothing; that one \
                 fails for another reason is not simulated",
                UNDONE,
            ],
            Self::SessionMemory(_) => &[
                "the memory is taken to be up to date whenever the conversation is compacted",
                "each update is taken to be one request, and it is not known whether the recorded \
                 client sent such updates already",
                "reminders and attached files do not count as messages with text",
                UNDONE,
            ],
        });
        if let Self::Microcompaction(Microcompaction { by_time, by_service: Some(_) }) = self {
            all.push(
                "deleted tokens are taken to cost nothing, also where an expired prefix is written \
                 anew",
            );
            if by_time.is_some() {
                all.push("results cleared by time no more count towards the service's trigger");
            }
        }
        all.push(CAPTURED);
        all
    }

    /// Assumed sizes and numbers.
    pub fn assumptions(&self) -> Vec<String> {
        if let Self::Several(parts) = self {
            return parts.each().flat_map(|one| one.assumptions()).collect();
        }
        let trigger = self.trigger();
        let mut all: Vec<String> = trigger
            .map(|trigger| format!("conversations are compacted from {trigger} on"))
            .into_iter()
            .collect();
        all.extend(match self {
            Self::Microcompaction(_) | Self::ToolResultClearing { .. } | Self::Several(_) => {
                Vec::new()
            }
            Self::ResultBudget(budget) => budget.assumptions(),
            Self::Compaction(compaction) => compaction.assumptions(),
            Self::SessionMemory(memory) => memory.assumptions(),
        });
        all
    }
}

fn tokens(tokens: Tokens) -> String {
    grouped(tokens.0)
}

impl ResultBudget {
    fn assumptions(&self) -> Vec<String> {
        vec![format!("a preview with its pointer has {} characters", grouped(self.preview))]
    }
}

impl Compaction {
    fn assumptions(&self) -> Vec<String> {
        let mut all = vec![
            format!("a summary has {} tokens", tokens(self.summary)),
            format!(
                "its request adds {} to the conversation, and its answer has {} more than the \
                 summary",
                tokens(self.request),
                tokens(self.analysis),
            ),
            self.attached_in_words(),
        ];
        all.push(self.longest_prompt().map_or_else(
            || "the service takes a request of any length".to_owned(),
            |window| {
                let dropped = if self.is_gap_reported {
                    "the oldest rounds that cover the gap"
                } else {
                    "the oldest fifth of the rounds"
                };
                format!(
                    "beyond {} tokens a request is too long; {} without {dropped} follow, and {} \
                     in a row stop it",
                    tokens(window),
                    counted(self.retries.into(), "retry", "retries"),
                    counted(self.failures.into(), "failure", "failures"),
                )
            },
        ));
        all
    }

    fn attached_in_words(&self) -> String {
        let within = |each, all| format!("of up to {} within {}", tokens(each), tokens(all));
        format!(
            "put in again are {} {}, skills {}, {} tokens of plan, {} of agents, {} of deferred tools \
             and {} of MCP instructions",
            counted(self.files.count.into(), "file", "files"),
            within(self.files.each, self.files.all),
            within(self.skills.each, self.skills.all),
            tokens(self.plan),
            tokens(self.agents),
            tokens(self.tools),
            tokens(self.mcp),
        )
    }
}

impl SessionMemory {
    fn assumptions(&self) -> Vec<String> {
        let MemoryUpdates { first, growth, calls, request, output } = self.updates;
        vec![
            format!("the memory has {} tokens", tokens(self.memory)),
            format!(
                "it is written at {} tokens and then after {} more and {}, by a fork that adds {} to \
                 the conversation and answers with {}",
                tokens(first),
                tokens(growth),
                counted(calls.into(), "result", "results"),
                tokens(request),
                tokens(output),
            ),
        ]
    }
}
