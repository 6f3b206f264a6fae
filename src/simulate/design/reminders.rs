//! Placement of reminders and notifications at the end of the messages.

use rustc_hash::{FxHashMap, FxHashSet};

use super::blocks::{ContentId, Contents, PromptBlock};
use crate::read::capture::{BlockKind, Part, WireNode, WireTree, plain_text};
use crate::read::transcript::{BEGINNINGS, ContentKind};
use crate::requests::conversation::RequestIndex;

const USER: &[u8] = b"\"user\"";

/// Reminder and its place: the number of other blocks of the messages before it.
type Place = (usize, ContentId);

/// Reminders of each conversation, by the first request of the conversation.
#[derive(Default)]
pub(super) struct Reminders {
    conversations: FxHashMap<RequestIndex, Conversation>,
}

#[derive(Default)]
struct Conversation {
    requests: u32,
    /// Number of requests before each reminder at a place first occurred, and number of requests that had it.
    seen: FxHashMap<Place, (u32, u32)>,
}

impl Reminders {
    /// Adds the messages of a request of a conversation.
    pub(super) fn add(&mut self, opening: RequestIndex, tree: &WireTree, messages: &[PromptBlock]) {
        let conversation = self.conversations.entry(opening).or_default();
        let before = conversation.requests;
        conversation.requests += 1;
        // A set, as a request may have the same reminder at a place twice and still counts once.
        let places: FxHashSet<Place> = places(tree, messages).into_iter().flatten().collect();
        for place in places {
            conversation.seen.entry(place).or_insert((before, 0)).1 += 1;
        }
    }

    /// Returns true if every later request of the conversation has the reminder in its place.
    fn stays(&self, opening: RequestIndex, place: Place) -> bool {
        self.conversations.get(&opening).is_none_or(|conversation| {
            let (before, had) = conversation.seen.get(&place).copied().unwrap_or_default();
            // If the requests before the first occurrence and those with the reminder are all
            // requests, none since has lacked it.
            before + had == conversation.requests
        })
    }

    /// Messages of a request with the moving reminders at the end, and the new place of each block,
    /// counted from 1.
    ///
    /// A reminder that moved has the place of the block before it. `None` if nothing moves.
    pub(super) fn lay_out<'a>(
        &self,
        opening: RequestIndex,
        tree: &'a WireTree,
        messages: &[PromptBlock],
        contents: &mut Contents<'a>,
    ) -> Option<(Vec<PromptBlock>, Vec<usize>)> {
        let moves = |place: Option<Place>| place.is_some_and(|place| !self.stays(opening, place));
        let moves: Vec<bool> = places(tree, messages).into_iter().map(moves).collect();
        if !moves.contains(&true) {
            return None;
        }
        let mut laid_out = Vec::with_capacity(messages.len());
        let mut places = Vec::with_capacity(messages.len());
        let mut late = Vec::new();
        // Role of the current message, and true if its first block has stayed.
        let mut role: &[u8] = USER;
        let mut has_begun = false;
        let mut last_role = role;
        for (block, moves) in messages.iter().zip(moves) {
            let wire = tree.node(block.source);
            if wire.part == Part::MessageStart {
                role = wire.role.as_deref().unwrap_or_default();
                has_begun = false;
            }
            if moves {
                late.push(*block);
            } else {
                let begins = (!has_begun).then_some(role);
                laid_out.push(at_place(*block, wire, begins, contents));
                (has_begun, last_role) = (true, role);
            }
            places.push(laid_out.len());
        }
        // Reminders are blocks of a user message: the last one, or a new one after an answer.
        let mut begins = (laid_out.is_empty() || last_role != USER).then_some(USER);
        for block in late {
            laid_out.push(at_place(block, tree.node(block.source), begins.take(), contents));
        }
        Some((laid_out, places))
    }
}

/// Block as the first one of a message, or after another block.
fn at_place<'a>(
    block: PromptBlock,
    wire: &WireNode,
    begins: Option<&'a [u8]>,
    contents: &mut Contents<'a>,
) -> PromptBlock {
    if begins.is_some() == (wire.part == Part::MessageStart) {
        return block;
    }
    PromptBlock { content: contents.moved(block.content, begins), ..block }
}

/// Place of each block that is a reminder.
fn places(tree: &WireTree, messages: &[PromptBlock]) -> Vec<Option<Place>> {
    let mut others = 0;
    let place = |block: &PromptBlock| {
        let is_reminder = is_reminder(tree.node(block.source));
        others += usize::from(!is_reminder);
        is_reminder.then_some((others, block.content))
    };
    messages.iter().map(place).collect()
}

fn is_reminder(node: &WireNode) -> bool {
    let begins = |text: &str| {
        BEGINNINGS.iter().any(|(beginning, kind)| {
            let moves = matches!(kind, ContentKind::Reminder | ContentKind::AgentReport);
            moves && text.starts_with(beginning)
        })
    };
    node.kind == BlockKind::Other && plain_text(node.text()).is_some_and(|text| begins(&text))
}
