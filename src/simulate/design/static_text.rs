//! Which parts of system prompts are static: those that every request of a conversation has.

use std::hash::Hash;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::requests::conversation::RequestIndex;

/// The parts of the system prompts of each conversation, which is known by its first request: blocks, or
/// pieces of them.
pub(super) struct StaticTexts<T> {
    conversations: FxHashMap<RequestIndex, Conversation<T>>,
}

struct Conversation<T> {
    /// What every request has.
    common: FxHashSet<T>,
    /// Whether any has something else.
    has_changes: bool,
}

impl<T> Default for StaticTexts<T> {
    fn default() -> Self {
        Self { conversations: FxHashMap::default() }
    }
}

impl<T: Copy + Eq + Hash> StaticTexts<T> {
    /// Takes the system prompt of a request of a conversation into account.
    pub(super) fn add(&mut self, opening: RequestIndex, system: impl Iterator<Item = T>) {
        let parts: FxHashSet<T> = system.collect();
        let Some(conversation) = self.conversations.get_mut(&opening) else {
            let conversation = Conversation { common: parts, has_changes: false };
            self.conversations.insert(opening, conversation);
            return;
        };
        conversation.has_changes |= conversation.common != parts;
        conversation.common.retain(|part| parts.contains(part));
    }

    /// The static parts of a conversation; `None` where none of its parts ever changes.
    pub(super) fn of(&self, opening: RequestIndex) -> Option<&FxHashSet<T>> {
        let conversation = self.conversations.get(&opening)?;
        conversation.has_changes.then_some(&conversation.common)
    }

    /// Whether every request of a conversation has a part.
    pub(super) fn is_static(&self, opening: RequestIndex, part: T) -> bool {
        self.conversations
            .get(&opening)
            .is_some_and(|conversation| conversation.common.contains(&part))
    }

    /// The parts that are static in several conversations.
    pub(super) fn shared(&self) -> FxHashSet<T> {
        let mut seen = FxHashSet::default();
        let all = self.conversations.values().flat_map(|conversation| &conversation.common);
        all.filter(|part| !seen.insert(**part)).copied().collect()
    }
}
