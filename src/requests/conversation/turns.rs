//! Messages of a captured prompt by their content, without tools and system prompt: they show which request another
//! one continues, also if a setting changed or a step came back altered.

use crate::read::capture::{BlockKind, BlockSketch, Part, WireNodeId, WireTree};

/// Most blocks of a last message that are looked for in a later prompt. A side query has one, and hostile messages
/// stay linear.
const MOST_SOUGHT: usize = 64;

/// Blocks of a prompt's messages.
#[derive(Debug)]
pub(super) struct Turns {
    blocks: Vec<Turn>,
    /// First block of the last message.
    last: usize,
    messages: usize,
}

#[derive(Clone, Copy, Debug)]
struct Turn {
    sketch: BlockSketch,
    /// True for a block that was sent to the model and not answered by it.
    is_sent: bool,
}

/// Part of an earlier request's messages that comes back in a later one, in the order by which the later one
/// continues one of several.
///
/// Blocks of the client count first, since side queries repeat answers as well; then a last message that comes back,
/// as a side query's never does; then the length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Return {
    sent: usize,
    /// True if the last message comes back, as it was or altered.
    pub(super) is_continued: bool,
    shared: usize,
}

impl Turns {
    /// Messages of the prompt that ends at a node.
    pub(super) fn new(tree: &WireTree, leaf: WireNodeId) -> Self {
        let is_message = |id: &WireNodeId| tree.node(*id).part.is_message();
        let mut blocks = Vec::new();
        let (mut last, mut messages) = (0, 0);
        for id in tree.path(leaf).take_while(is_message) {
            let node = tree.node(id);
            let answers = [BlockKind::Answer, BlockKind::ToolUse, BlockKind::Thinking];
            blocks.push(Turn { sketch: node.sketch, is_sent: !answers.contains(&node.kind) });
            if node.part == Part::MessageStart {
                messages += 1;
                // Counted from the end, as the path leads from it.
                last = if messages == 1 { blocks.len() } else { last };
            }
        }
        blocks.reverse();
        let last = blocks.len() - last;
        Self { blocks, last, messages }
    }

    /// Part of these messages that comes back in those of a later request.
    pub(super) fn returning_in(&self, later: &Self) -> Return {
        let pairs = self.blocks.iter().zip(&later.blocks);
        let shared = pairs.take_while(|(one, other)| one.sketch.has_bytes_of(other.sketch)).count();
        let sent = |blocks: &[Turn]| blocks.iter().filter(|block| block.is_sent).count();
        let goes_on = later.blocks[shared..].iter().any(|block| block.is_sent);
        let is_continued = shared == self.blocks.len() || self.last_returns(later, shared);
        Return {
            // A request that ends where both part was not sent after a longer one.
            sent: if goes_on || is_continued { sent(&self.blocks[..shared]) } else { 0 },
            is_continued,
            shared,
        }
    }

    /// Returns true if a block of the last message comes back after both part: the same one, or in a longer
    /// conversation an edited one.
    fn last_returns(&self, later: &Self, shared: usize) -> bool {
        let is_longer = later.messages > self.messages;
        if is_longer && self.last < shared {
            return true;
        }
        let after = &later.blocks[shared..];
        let sought = self.blocks[self.last.max(shared)..].iter().take(MOST_SOUGHT);
        let returns = |one: &Turn| {
            after.iter().any(|other| {
                one.sketch.is_same(other.sketch)
                    || (is_longer
                        && one.is_sent
                        && other.is_sent
                        && one.sketch.is_alike(other.sketch))
            })
        };
        sought.filter(|one| one.is_sent).any(returns)
    }
}
