//! Which blocks of system prompts are static: those that every request of a conversation has.

use rustc_hash::{FxHashMap, FxHashSet};

use super::contents::ContentId;
use crate::conversation::RequestIndex;

/// The blocks of the system prompts of each conversation, which is known by its first request.
#[derive(Default)]
pub(super) struct StaticTexts {
    conversations: FxHashMap<RequestIndex, Conversation>,
}

struct Conversation {
    /// What every request has.
    common: FxHashSet<ContentId>,
    /// Whether any has something else.
    has_changes: bool,
}

impl StaticTexts {
    /// Takes the system prompt of a request of a conversation into account.
    pub(super) fn add(&mut self, opening: RequestIndex, system: &[ContentId]) {
        let blocks: FxHashSet<ContentId> = system.iter().copied().collect();
        let Some(conversation) = self.conversations.get_mut(&opening) else {
            let conversation = Conversation { common: blocks, has_changes: false };
            self.conversations.insert(opening, conversation);
            return;
        };
        conversation.has_changes |= conversation.common != blocks;
        conversation.common.retain(|block| blocks.contains(block));
    }

    /// The static blocks of a conversation; `None` where none of its blocks ever changes.
    pub(super) fn of(&self, opening: RequestIndex) -> Option<&FxHashSet<ContentId>> {
        let conversation = self.conversations.get(&opening)?;
        conversation.has_changes.then_some(&conversation.common)
    }
}
