//! Requests that a design sends: the recorded ones in its form, and the added ones.

use std::borrow::Cow;

use super::run::Sent;
use crate::base::{Tokens, words};
use crate::requests::prompt::{Prompt, PromptTrace};
use crate::simulate::cache::Repeats;
use crate::simulate::design::ToolSearch;
use crate::simulate::management::{AddedPrompt, Reason};

/// Assumed size of the answer that searches for tools.
pub(super) const SEARCH_OUTPUT: Tokens = Tokens(100);

words! {
    /// Purpose of an additional request.
    pub enum Purpose {
        /// Keeps the cache alive.
        KeepAlive = "keep_alive";
        /// Summarises the conversation.
        Compaction = "compaction";
        /// Writes the conversation's memory.
        SessionMemory = "session_memory";
        /// Searches for deferred tools.
        ToolSearch = "tool_search";
        /// Stores a context.
        Store = "store";
    }
}

/// Role of a prompt in a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Recorded request with this index in the history.
    Recorded(usize),
    /// Request that the design adds.
    Added {
        /// Index of the recorded request before it.
        after: usize,
        purpose: Purpose,
        output: Tokens,
    },
}

/// Requests of a design, in the order of sending.
pub(super) struct Plan<'a> {
    pub(super) trace: Cow<'a, PromptTrace>,
    /// Role of each prompt; empty if every prompt is the recorded one at its index.
    pub(super) roles: Vec<Role>,
    /// Request whose model each recorded request is sent to; empty if that is its own.
    pub(super) priced_as: Vec<usize>,
    /// Pings, which are not among the prompts: there may be many after each.
    pub(super) pings: Option<Repeats>,
}

impl<'a> Plan<'a> {
    /// Plan of the recorded requests as they are.
    pub(super) fn recorded(trace: &'a PromptTrace) -> Self {
        Self { trace: Cow::Borrowed(trace), roles: Vec::new(), priced_as: Vec::new(), pings: None }
    }

    /// Replaces the recorded prompts.
    pub(super) fn rewrite(&mut self, trace: PromptTrace) {
        self.priced_as = (0..trace.prompts.len()).collect();
        self.trace = Cow::Owned(trace);
    }

    /// Recorded requests as sent, if they differ from the record; to be called before any are added.
    pub(super) fn totals(&self) -> Option<Vec<Sent>> {
        (!self.priced_as.is_empty()).then(|| {
            let sent = self.trace.prompts.iter().zip(&self.priced_as);
            sent.map(|(prompt, priced_as)| Sent { total: prompt.total, priced_as: *priced_as })
                .collect()
        })
    }

    /// Adds the requests of context management.
    pub(super) fn add_managed(&mut self, added: Vec<AddedPrompt>) {
        let added = added.into_iter().map(|AddedPrompt { after, reason, prompt, output }| {
            let purpose = match reason {
                Reason::Summary => Purpose::Compaction,
                Reason::Memory => Purpose::SessionMemory,
            };
            (prompt, Role::Added { after, purpose, output })
        });
        self.add(added.collect());
    }

    /// Adds the requests of a prompt design.
    pub(super) fn add_searches(&mut self, searches: Vec<ToolSearch>) {
        let added = searches.into_iter().map(|ToolSearch { after, prompt }| {
            let purpose = Purpose::ToolSearch;
            (prompt, Role::Added { after, purpose, output: SEARCH_OUTPUT })
        });
        self.add(added.collect());
    }

    /// Role of the prompt at an index.
    pub(super) fn role(&self, place: usize) -> Role {
        self.roles.get(place).copied().unwrap_or(Role::Recorded(place))
    }

    /// Inserts prompts by time, after those of the same time.
    pub(super) fn add(&mut self, added: Vec<(Prompt, Role)>) {
        if added.is_empty() {
            return;
        }
        let recorded = 0..self.trace.prompts.len();
        let mut roles: Vec<Role> = recorded.map(|place| self.role(place)).collect();
        let prompts = &mut self.trace.to_mut().prompts;
        prompts.reserve_exact(added.len());
        for (prompt, role) in added {
            prompts.push(prompt);
            roles.push(role);
        }
        // Both sorts are stable, so the order of the indexes is that of the prompts.
        let mut order: Vec<usize> = (0..prompts.len()).collect();
        order.sort_by_key(|place| prompts[*place].start);
        let mut moved = vec![0; order.len()];
        for (place, before) in order.iter().enumerate() {
            moved[*before] = place;
        }
        prompts.sort_by_key(|prompt| prompt.start);
        for prompt in prompts {
            prompt.predecessor = prompt.predecessor.map(|before| moved[before]);
        }
        self.roles = order.into_iter().map(|before| roles[before]).collect();
    }
}
