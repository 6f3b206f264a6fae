//! Cached microcompaction (Claude Code 2.1.88, as documented): the service is told to delete old
//! results from the cached prefix, whose bytes stay as they are. What was deleted once stands in the
//! same message of every later request, so that these bytes stay the same, too.

use rustc_hash::FxHashSet;

use super::block::Block;
use super::message::{Message, Role};
use super::tool::COMPACTABLE_TOOLS;

/// Which results are to be deleted, as a bundle says it.
#[derive(Debug)]
pub(super) enum Deletion {
    /// When more results of tools that can be called again are there than a trigger, all but the
    /// newest.
    Beyond { trigger: usize, keep_recent: usize },
    /// Those of these calls.
    Of(Vec<String>),
}

/// What a session has told the service to delete.
#[derive(Debug, Default)]
pub(super) struct CacheEdits {
    /// Once on, it stays so.
    is_on: bool,
    pinned: Vec<Pinned>,
}

/// Deletions, and the index of the message that holds them in every request.
#[derive(Debug)]
struct Pinned {
    message: usize,
    references: Vec<String>,
}

impl CacheEdits {
    /// Puts the deletions of earlier requests and those of this one into the messages, and has the
    /// results in front of the marked message say by what name they can be deleted.
    pub(super) fn apply(
        &mut self,
        messages: &mut [Message<'_>],
        marked: Option<usize>,
        deletion: Option<&Deletion>,
    ) {
        self.is_on |= deletion.is_some();
        if !self.is_on {
            return;
        }
        let references = deletion.map_or_else(Vec::new, |deletion| self.chosen(messages, deletion));
        let last = messages.iter().rposition(|message| message.is_of(Role::User));
        if let Some(message) = last.filter(|_| !references.is_empty()) {
            self.pinned.push(Pinned { message, references });
        }
        for Pinned { message, references } in &self.pinned {
            let message = messages.get_mut(*message).filter(|message| message.is_of(Role::User));
            if let Some(message) = message {
                message.insert_behind_results(Block::cache_edits(references));
            }
        }
        for message in &mut messages[..marked.unwrap_or(0)] {
            message.refer_to_results();
        }
    }

    /// The results that are to be deleted now, none of them for the second time.
    fn chosen(&self, messages: &[Message<'_>], deletion: &Deletion) -> Vec<String> {
        let pinned = self.pinned.iter().flat_map(|pinned| &pinned.references);
        let mut deleted: FxHashSet<&str> = pinned.map(String::as_str).collect();
        match deletion {
            Deletion::Of(calls) => {
                let calls = calls.iter().filter(|call| deleted.insert(call));
                calls.cloned().collect()
            }
            Deletion::Beyond { trigger, keep_recent } => {
                let mut active = compactable_results(messages);
                active.retain(|call| !deleted.contains(call.as_str()));
                let kept = if active.len() > *trigger { *keep_recent } else { active.len() };
                active.truncate(active.len().saturating_sub(kept));
                active
            }
        }
    }
}

/// The calls of the results that a microcompaction may clear, the oldest first.
fn compactable_results(messages: &[Message<'_>]) -> Vec<String> {
    let calls = messages.iter().flat_map(Message::calls);
    let compactable =
        calls.filter(|(_, tool)| tool.is_some_and(|tool| COMPACTABLE_TOOLS.contains(&tool)));
    let compactable: FxHashSet<&str> = compactable.map(|(id, _)| &*id.text).collect();
    let results = messages.iter().flat_map(Message::results);
    let results = results.filter(|call| compactable.contains(&*call.text));
    results.map(|call| call.text.clone().into_owned()).collect()
}
