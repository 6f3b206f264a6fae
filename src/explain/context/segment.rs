//! Prompts as paths through a tree of segments, and the kinds of their content.
//!
//! A segment is the part of an item in a prompt. A prompt's segments are on the path from the root to
//! its last one, so prompts of one conversation and its branches share their common segments. Jump
//! pointers find a position in O(log n) steps.

use crate::base::{Basis, Symbol, Symbols, Tokens};
use crate::read::transcript::{ContentKind, ContentSource};

/// Index of a segment in a [`SegmentTree`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct SegmentId(pub(super) usize);

/// Index of an item in a [`SegmentTree`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct ItemId(pub(super) usize);

/// Piece of content that came in once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Item {
    pub(super) kind: ContextKind,
    /// File that it came in with, as an index into the history's files.
    pub(super) file: usize,
    /// Line in that file.
    pub(super) line: u64,
}

/// Part of an item in the prompts below it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment {
    pub(super) parent: Option<SegmentId>,
    pub(super) item: ItemId,
    /// Range of positions in the prompt, in tokens, which is never empty.
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) basis: Basis,
    /// Number of segments before it.
    pub(super) depth: usize,
    /// Segment further up; for the root, itself.
    jump: SegmentId,
}

impl Segment {
    pub(super) fn tokens(&self) -> u64 {
        self.end - self.start
    }
}

/// Prompts of one session.
#[derive(Debug, Default)]
pub(super) struct SegmentTree {
    /// Segments, parents before their children.
    pub(super) segments: Vec<Segment>,
    pub(super) items: Vec<Item>,
}

impl SegmentTree {
    pub(super) fn segment(&self, id: SegmentId) -> &Segment {
        &self.segments[id.0]
    }

    pub(super) fn item(&self, id: SegmentId) -> &Item {
        &self.items[self.segment(id).item.0]
    }

    pub(super) fn add_item(&mut self, item: Item) -> ItemId {
        self.items.push(item);
        ItemId(self.items.len() - 1)
    }

    /// End of a prompt, in tokens.
    pub(super) fn end(&self, last: Option<SegmentId>) -> u64 {
        last.map_or(0, |last| self.segment(last).end)
    }

    /// Adds a segment after `before` and returns the prompt's last one, which an empty prompt lacks.
    pub(super) fn add(
        &mut self,
        before: Option<SegmentId>,
        item: ItemId,
        tokens: Tokens,
        basis: Basis,
    ) -> Option<SegmentId> {
        if tokens == Tokens::ZERO {
            return before;
        }
        let start = self.end(before);
        let own = SegmentId(self.segments.len());
        let (depth, jump) = before.map_or((0, own), |before| self.behind(before));
        self.segments.push(Segment {
            parent: before,
            item,
            start,
            end: start + tokens.0,
            basis,
            depth,
            jump,
        });
        Some(own)
    }

    /// Depth and jump pointer of a segment after `before`. If the last two jumps have equal lengths, one
    /// jump replaces both, like a carry in a skew-binary number.
    fn behind(&self, before: SegmentId) -> (usize, SegmentId) {
        let depth = |id: SegmentId| self.segment(id).depth;
        let first = self.segment(before).jump;
        let second = self.segment(first).jump;
        let is_equal = depth(before) - depth(first) == depth(first) - depth(second);
        (depth(before) + 1, if is_equal { second } else { before })
    }

    /// Segments of a prompt, last one first.
    pub(super) fn path(&self, last: Option<SegmentId>) -> impl Iterator<Item = SegmentId> + '_ {
        std::iter::successors(last, |id| self.segment(*id).parent)
    }

    /// Last segment of a prompt that begins before a position.
    pub(super) fn beginning_before(
        &self,
        last: Option<SegmentId>,
        position: u64,
    ) -> Option<SegmentId> {
        let begins_before = |id: SegmentId| self.segment(id).start < position;
        let mut here = last.filter(|_| position > 0)?;
        while !begins_before(here) {
            let jump = self.segment(here).jump;
            // A jump to before the position may skip the segment, so it is one step instead.
            here = if begins_before(jump) { self.segment(here).parent? } else { jump };
        }
        Some(here)
    }

    /// Last segment of a prompt that ends at or before a position.
    pub(super) fn ending_by(&self, last: Option<SegmentId>, position: u64) -> Option<SegmentId> {
        let begun = self.beginning_before(last, position)?;
        let segment = self.segment(begun);
        if segment.end <= position { Some(begun) } else { segment.parent }
    }

    /// Prompt up to a position. A segment around the position is cut.
    pub(super) fn cut(&mut self, last: Option<SegmentId>, position: u64) -> Option<SegmentId> {
        let begun = self.beginning_before(last, position)?;
        let segment = *self.segment(begun);
        if segment.end <= position {
            return Some(begun);
        }
        let tokens = Tokens(position - segment.start);
        self.add(segment.parent, segment.item, tokens, Basis::Estimated)
    }

    /// Returns true if `one` is later in a prompt than `other`.
    pub(super) fn is_behind(&self, one: Option<SegmentId>, other: Option<SegmentId>) -> bool {
        let depth = |id: SegmentId| self.segment(id).depth;
        one.map(depth) > other.map(depth)
    }
}

/// Kind of content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ContextKind {
    /// Tools, system prompt and project context, which a transcript does not contain.
    HiddenPrefix,
    /// Definitions of tools, in a captured prompt.
    Tools,
    /// System prompt, in a captured prompt.
    SystemPrompt,
    /// Text of a user; in a sub-agent, its task.
    UserText,
    /// Images and documents.
    Media,
    /// Files that a tool read or the client attached.
    Files,
    /// Reports of sub-agents and background tasks.
    AgentReports,
    /// Results of other tools, by the tool's name if known.
    ToolResults(Option<Symbol>),
    /// Additions of the client for the model alone.
    Reminders,
    /// Commands given to the client, and their output.
    Commands,
    /// Summaries of compacted conversations.
    Summaries,
    /// Answers of the model: text, thinking and calls.
    Answers,
    /// Tokens that no line of the input accounts for.
    Unattributed,
}

/// Tools whose results are files. Results of others may be files, too, but do not say so.
const READING_TOOLS: [&str; 5] = ["Read", "NotebookRead", "read_file", "ReadFile", "read"];

/// Tools whose results are the reports of sub-agents.
const AGENT_TOOLS: [&str; 6] =
    ["Task", "Agent", "TaskOutput", "AgentOutputTool", "task", "wait_agent"];

impl ContextKind {
    /// Kind of a content that a client added to a conversation.
    pub(crate) fn of(source: ContentSource, symbols: &Symbols) -> Self {
        match source {
            ContentSource::Media => Self::Media,
            ContentSource::Tool(tool) => {
                let name = tool.map_or("", |tool| symbols.text(tool));
                if READING_TOOLS.contains(&name) {
                    Self::Files
                } else if AGENT_TOOLS.contains(&name) {
                    Self::AgentReports
                } else {
                    Self::ToolResults(tool)
                }
            }
            ContentSource::Text(kind) => match kind {
                ContentKind::UserText => Self::UserText,
                ContentKind::File => Self::Files,
                ContentKind::AgentReport => Self::AgentReports,
                ContentKind::Reminder | ContentKind::Skill => Self::Reminders,
                ContentKind::Command => Self::Commands,
                ContentKind::Summary => Self::Summaries,
            },
        }
    }

    /// Name in machine formats; for results, without the tool's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::HiddenPrefix => "hidden_prefix",
            Self::Tools => "tools",
            Self::SystemPrompt => "system_prompt",
            Self::UserText => "user_text",
            Self::Media => "media",
            Self::Files => "files",
            Self::AgentReports => "agent_reports",
            Self::ToolResults(_) => "tool_results",
            Self::Reminders => "reminders",
            Self::Commands => "commands",
            Self::Summaries => "summaries",
            Self::Answers => "answers",
            Self::Unattributed => "unattributed",
        }
    }

    /// Tool of a kind that is its results.
    pub fn tool(self) -> Option<Symbol> {
        match self {
            Self::ToolResults(tool) => tool,
            _ => None,
        }
    }

    /// Returns true if its pieces came in on lines of their own and can be named one by one.
    pub(super) fn has_places(self) -> bool {
        !matches!(self, Self::HiddenPrefix | Self::Tools | Self::SystemPrompt | Self::Unattributed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ITEM: Item = Item { kind: ContextKind::Answers, file: 0, line: 1 };

    #[test]
    fn positions_are_found_on_long_paths_and_branches() {
        let mut tree = SegmentTree::default();
        let item = tree.add_item(ITEM);
        let mut last = None;
        let mut halfway = None;
        for number in 0..1_000 {
            last = tree.add(last, item, Tokens(1 + number % 7), Basis::Derived);
            if number == 500 {
                halfway = last;
            }
        }
        let branch = tree.add(halfway, item, Tokens(10), Basis::Derived);
        let cut = tree.cut(last, 1_234);
        assert_eq!(tree.end(cut), 1_234);
        assert_eq!(tree.cut(last, 9_999), last);
        for last in [last, branch] {
            for position in 0..=tree.end(last) {
                let slow = tree.path(last).find(|id| tree.segment(*id).start < position);
                assert_eq!(tree.beginning_before(last, position), slow, "{position}");
                let slow = tree.path(last).find(|id| tree.segment(*id).end <= position);
                assert_eq!(tree.ending_by(last, position), slow, "{position}");
            }
        }
    }

    #[test]
    fn nothing_leaves_no_segment() {
        let mut tree = SegmentTree::default();
        let item = tree.add_item(ITEM);
        assert_eq!(tree.add(None, item, Tokens::ZERO, Basis::Derived), None);
        assert_eq!((tree.end(None), tree.beginning_before(None, 5)), (0, None));
    }
}
