//! The requests that a design sends: those recorded, as it would have sent them, and those it adds.

use std::borrow::Cow;

use super::run::Sent;
use crate::base::units::Tokens;
use crate::requests::prompt::{Prompt, PromptTrace};
use crate::simulate::design::ToolSearch;
use crate::simulate::management::{AddedPrompt, Reason};

/// What the answer with a search for tools is taken to have.
pub(super) const SEARCH_OUTPUT: Tokens = Tokens(100);

/// Why a design sends a request that was not recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Purpose {
    /// To keep the cache alive.
    KeepAlive,
    /// To summarise the conversation.
    Compaction,
    /// To write the conversation's memory.
    SessionMemory,
    /// To search for deferred tools.
    ToolSearch,
}

/// What a prompt of a plan is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// The recorded request of this place in the history.
    Recorded(usize),
    /// One that the design adds.
    Added {
        /// The recorded request that it follows.
        after: usize,
        purpose: Purpose,
        output: Tokens,
    },
}

/// What a design sends, in the order in which it is sent.
pub(super) struct Plan<'a> {
    pub(super) trace: Cow<'a, PromptTrace>,
    /// Of each prompt; empty where every prompt is the recorded one of its place.
    pub(super) roles: Vec<Role>,
    /// For each recorded request the one whose model it is sent to; empty where it is its own.
    pub(super) priced_as: Vec<usize>,
}

impl<'a> Plan<'a> {
    /// The recorded requests as they are.
    pub(super) fn recorded(trace: &'a PromptTrace) -> Self {
        Self { trace: Cow::Borrowed(trace), roles: Vec::new(), priced_as: Vec::new() }
    }

    /// Sends other prompts instead of those recorded.
    pub(super) fn rewrite(&mut self, trace: PromptTrace) {
        self.priced_as = (0..trace.prompts.len()).collect();
        self.trace = Cow::Owned(trace);
    }

    /// The recorded requests as they are sent, where that is not as recorded; before any is added.
    pub(super) fn totals(&self) -> Option<Vec<Sent>> {
        (!self.priced_as.is_empty()).then(|| {
            let sent = self.trace.prompts.iter().zip(&self.priced_as);
            sent.map(|(prompt, priced_as)| Sent { total: prompt.total, priced_as: *priced_as })
                .collect()
        })
    }

    /// Adds what context management sends itself.
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

    /// Adds what a prompt design sends besides.
    pub(super) fn add_searches(&mut self, searches: Vec<ToolSearch>) {
        let added = searches.into_iter().map(|ToolSearch { after, prompt }| {
            let purpose = Purpose::ToolSearch;
            (prompt, Role::Added { after, purpose, output: SEARCH_OUTPUT })
        });
        self.add(added.collect());
    }

    /// What the prompt at a place is.
    pub(super) fn role(&self, place: usize) -> Role {
        self.roles.get(place).copied().unwrap_or(Role::Recorded(place))
    }

    /// Adds prompts, each where its time belongs; after those of the same time.
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
