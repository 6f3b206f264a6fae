//! Normal form of a bundle's messages, as the client sends them (Claude Code 2.1.88, as documented): user messages in
//! a row are merged, answers that say nothing are left out, calls and results are paired, and of many images and
//! documents only the newest stay.
//!
//! Steps that need the client's own records are done before a bundle is made: attachments are text, and the lines of
//! one answer are one message. Thinking at the end of the last answer stays, as in the placement cases.
//!
//! Calls and results are paired as the service demands it (Claude Code 2.1.88, as documented): each call of an
//! answer has one result in the next message, and each result a call.

use std::fmt;

use rustc_hash::FxHashSet;

use super::block::{Block, BlockKind, Id};
use super::message::{Message, Role};
use crate::base::counted;

/// Largest number of images and documents in a request.
const MOST_MEDIA: usize = 100;

/// Repairs of messages that could not have been sent as they were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Repairs {
    /// Calls without a result, which got an error as one.
    pub missing_results: usize,
    /// Results that were left out: without a call in the message before, or repeated.
    pub surplus_results: usize,
    /// Calls that were left out: with the id of an earlier one.
    pub repeated_calls: usize,
    /// Answers that were left out: white space or thinking alone.
    pub answers: usize,
    /// Images and documents that were left out: the oldest beyond the limit of a request.
    pub media: usize,
    /// Messages without content, which got some.
    pub fillers: usize,
}

impl Repairs {
    /// Returns true if nothing was repaired.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl fmt::Display for Repairs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = [
            (
                self.missing_results,
                "call",
                "calls",
                "without a result, given an error of assumed text",
            ),
            (self.surplus_results, "result", "results", "without a call, left out"),
            (self.repeated_calls, "call", "calls", "with an id used before, left out"),
            (self.answers, "answer", "answers", "without text or calls, left out"),
            (self.media, "image or document", "images and documents", "beyond 100, left out"),
            (self.fillers, "message", "messages", "without content, given an assumed filler"),
        ];
        let counts = counts.iter().filter(|(count, ..)| *count > 0);
        let texts: Vec<String> = counts
            .map(|(count, one, many, what)| format!("{} {what}", counted(*count as u64, one, many)))
            .collect();
        f.write_str(&texts.join("; "))
    }
}

/// Messages in their normal form, and the repairs that they needed.
pub(super) fn normalised<'a>(messages: Vec<Message<'a>>) -> (Vec<Message<'a>>, Repairs) {
    let mut repairs = Repairs::default();
    let messages = merged(messages);
    let said = messages.len();
    let is_said =
        |message: &Message<'_>| !(message.is_of(Role::Assistant) && message.says_nothing());
    let messages: Vec<Message<'a>> = messages.into_iter().filter(is_said).collect();
    repairs.answers = said - messages.len();
    // Merged again: an answer that was left out may have separated two user messages.
    let mut messages = repaired(merged(messages), &mut repairs);
    repairs.media = drop_oldest_media(&mut messages);
    fill(&mut messages, &mut repairs);
    (messages, repairs)
}

/// Messages with user messages in a row merged.
fn merged(messages: Vec<Message<'_>>) -> Vec<Message<'_>> {
    let mut merged: Vec<Message<'_>> = Vec::with_capacity(messages.len());
    for message in messages {
        match merged.last_mut() {
            Some(last) if last.is_of(Role::User) && message.is_of(Role::User) => {
                last.absorb(message);
            }
            _ => merged.push(message),
        }
    }
    merged
}

/// Leaves out the oldest images and documents beyond the limit, and returns their number.
fn drop_oldest_media(messages: &mut [Message<'_>]) -> usize {
    let media = messages.iter().map(media_of).sum::<usize>();
    let surplus = media.saturating_sub(MOST_MEDIA);
    let mut left = surplus;
    for message in messages {
        if left == 0 {
            break;
        }
        // To open a message for a change costs it its original bytes.
        if media_of(message) > 0 {
            drop_media(message, &mut left);
        }
    }
    surplus
}

/// Number of images and documents in a message, those in results of tools included.
fn media_of(message: &Message<'_>) -> usize {
    let blocks = message.blocks().iter();
    blocks
        .map(|block| match block.kind {
            BlockKind::Media => 1,
            BlockKind::Result { .. } => {
                let parts = block.parts().unwrap_or_default();
                parts.iter().filter(|part| part.kind == BlockKind::Media).count()
            }
            _ => 0,
        })
        .sum()
}

fn drop_media(message: &mut Message<'_>, left: &mut usize) {
    let mut is_dropped = |kind: &BlockKind<'_>| {
        let is_dropped = *kind == BlockKind::Media && *left > 0;
        *left -= usize::from(is_dropped);
        is_dropped
    };
    message.blocks_mut().retain_mut(|block| {
        if matches!(block.kind, BlockKind::Result { .. })
            && let Some(mut parts) = block.parts()
        {
            let given = parts.len();
            parts.retain(|part| !is_dropped(&part.kind));
            if parts.len() < given {
                block.set_parts(&parts);
            }
        }
        !is_dropped(&block.kind)
    });
}

/// Fills all messages without content, except a last answer, which the model is to continue.
fn fill(messages: &mut [Message<'_>], repairs: &mut Repairs) {
    let last = messages.len().saturating_sub(1);
    for (index, message) in messages.iter_mut().enumerate() {
        let is_begun = index == last && message.is_of(Role::Assistant);
        if !is_begun && message.fill() {
            repairs.fillers += 1;
        }
    }
}

/// Text in place of a missing result. The error is documented, its text is assumed.
const MISSING_RESULT: &str = "The result of this call is missing.";

/// Messages with each call answered once, in the message after it.
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

/// Leaves out calls with the id of an earlier one, and returns the ids of the others.
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

/// Leaves out results that no open call asks for, and puts errors in front for missing ones.
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

/// Message that answers open calls if no user message follows.
fn stand_in<'a>(open: &mut Vec<Id<'a>>, repairs: &mut Repairs) -> Option<Message<'a>> {
    if open.is_empty() {
        return None;
    }
    let mut message = Message::of_user(Vec::new());
    answer(&mut message, open, repairs);
    open.clear();
    Some(message)
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::*;
    use crate::read::harness::raw::write_list;

    fn sent(json: &str) -> (String, Repairs) {
        let given: Vec<&RawValue> = serde_json::from_str(json).expect("a list");
        let given = given.into_iter().map(|message| Message::read(message).expect("a message"));
        let (messages, repairs) = normalised(given.collect());
        let mut text = String::new();
        write_list(&mut text, &messages, |text, message| message.write(text, None));
        (text, repairs)
    }

    #[test]
    fn what_needs_no_change_is_copied() {
        let json = concat!(
            r#"[{"x": 1.0,"role":"user","content":"\u00e9"},{"role":"assistant","content":[ ]},"#,
            r#"{"role":"system","content":"s"},{"role":"user","content":7},"#,
            r#"{"role":"user","content":[{"type":"text","text":"a", "n":1e2}]}]"#
        );
        let (text, repairs) = sent(&json.replace("[ ]", r#"[{"type":"text","text":"b"}]"#));
        assert_eq!(text, json.replace("[ ]", r#"[{"type":"text","text":"b"}]"#));
        assert!(repairs.is_empty());
    }

    #[test]
    fn merged_blocks_keep_their_bytes() {
        let json = concat!(
            r#"[{"x": 1.0,"content":"\u00e9","role":"user"},"#,
            r#"{"role":"user","content":[{"n":1e2, "type":"tool_result","tool_use_id":"t"}]},"#,
            r#"{"role":"user","content":[{"b":1.50}]}]"#
        );
        let calling = format!(
            r#"[{{"role":"assistant","content":[{{"type":"tool_use","id":"t"}}]}},{}"#,
            &json[1..]
        );
        let (text, repairs) = sent(&calling);
        assert!(repairs.is_empty());
        let merged = concat!(
            r#"{"x":1.0,"content":[{"n":1e2, "type":"tool_result","tool_use_id":"t"},"#,
            r#"{"type":"text","text":"\u00e9"},{"b":1.50}],"role":"user"}]"#
        );
        assert!(text.ends_with(merged), "{text}");
    }

    /// 104 pictures: two in a result in front, 101 in a message, one after.
    #[test]
    fn the_oldest_pictures_beyond_a_hundred_are_left_out() {
        let picture = r#"{"type":"image","source":{}}"#;
        let many = vec![picture; 101].join(",");
        let json = format!(
            r#"[{{"role":"assistant","content":[{{"type":"tool_use","id":"t"}}]}},
            {{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t","n": 1.0,
                "content":[{{"type":"text","text":"a"}},{picture},{picture}]}}]}},
            {{"role":"assistant","content":"b"}},{{"role":"user","content":[{many}]}},
            {{"role":"assistant","content":"c"}},{{"role":"user","content":[{picture}]}}]"#
        );
        let (text, repairs) = sent(&json);
        assert_eq!(repairs, Repairs { media: 4, ..Repairs::default() });
        assert_eq!(text.matches("image").count(), 100);
        let result = r#"{"type":"tool_result","tool_use_id":"t","n":1.0,"content":[{"type":"text","text":"a"}]}"#;
        assert!(text.contains(result), "{text}");
        assert!(text.ends_with(&format!("[{picture}]}}]")));
    }
}
