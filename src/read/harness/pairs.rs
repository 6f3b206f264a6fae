//! Calls of tools and their results, paired as the service demands it (Claude Code 2.1.88, as
//! documented): each call of an answer has one result in the next message, and each result a call.

use rustc_hash::FxHashSet;

use super::block::{Block, BlockKind, Id};
use super::message::{Message, Role};
use super::normal_form::Repairs;

/// What stands in for a result that is missing. That it is an error is documented, its text is not.
const MISSING_RESULT: &str = "The result of this call is missing.";

/// The messages with each call answered once, in the message after it.
pub(super) fn repaired<'a>(messages: Vec<Message<'a>>, repairs: &mut Repairs) -> Vec<Message<'a>> {
    let mut repaired: Vec<Message<'a>> = Vec::with_capacity(messages.len());
    let mut known = FxHashSet::default();
    let mut open: Vec<Id<'a>> = Vec::new();
    for mut message in messages {
        if message.is_of(Role::User) {
            answer(&mut message, &open, repairs);
            open.clear();
        } else {
            repaired.extend(stand_in(&mut open, repairs));
            if message.is_of(Role::Assistant) {
                open = calls_once(&mut message, &mut known, repairs);
            }
        }
        repaired.push(message);
    }
    repaired.extend(stand_in(&mut open, repairs));
    repaired
}

/// Leaves out calls whose id an earlier one has; the ids of the others.
fn calls_once<'a>(
    message: &mut Message<'a>,
    known: &mut FxHashSet<String>,
    repairs: &mut Repairs,
) -> Vec<Id<'a>> {
    let mut is_new: Vec<bool> = Vec::new();
    let mut ids = Vec::new();
    for (id, _) in message.calls() {
        is_new.push(known.insert(id.text.clone().into_owned()));
        if is_new.last() == Some(&true) {
            ids.push(id.clone());
        }
    }
    let repeated = is_new.len() - ids.len();
    if repeated > 0 {
        let mut is_new = is_new.into_iter();
        let is_call = |block: &Block<'_>| matches!(block.kind, BlockKind::Call { .. });
        message.blocks_mut().retain(|block| !is_call(block) || is_new.next() == Some(true));
        repairs.repeated_calls += repeated;
    }
    ids
}

/// Leaves out the results that no open call asks for, and puts errors in front for those that are
/// missing.
fn answer<'a>(message: &mut Message<'a>, open: &[Id<'a>], repairs: &mut Repairs) {
    let mut missing: FxHashSet<&str> = open.iter().map(|id| &*id.text).collect();
    let is_wanted: Vec<bool> =
        message.results().map(|result| missing.remove(&*result.text)).collect();
    let missing: Vec<&Id<'a>> = open.iter().filter(|id| missing.contains(&*id.text)).collect();
    let surplus = is_wanted.iter().filter(|is_wanted| !**is_wanted).count();
    if surplus > 0 {
        let mut is_wanted = is_wanted.into_iter();
        let is_result = |block: &Block<'_>| matches!(block.kind, BlockKind::Result { .. });
        message.blocks_mut().retain(|block| !is_result(block) || is_wanted.next() == Some(true));
        repairs.surplus_results += surplus;
    }
    if !missing.is_empty() {
        repairs.missing_results += missing.len();
        let errors = missing.into_iter().map(|id| Block::missing_result(id, MISSING_RESULT));
        message.blocks_mut().splice(0..0, errors);
    }
}

/// The message that answers calls after which no user message stands.
fn stand_in<'a>(open: &mut Vec<Id<'a>>, repairs: &mut Repairs) -> Option<Message<'a>> {
    if open.is_empty() {
        return None;
    }
    let mut message = Message::of_user(Vec::new());
    answer(&mut message, open, repairs);
    open.clear();
    Some(message)
}
