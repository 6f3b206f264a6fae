//! The markers of a prompt as a design sends it, and what stands in front of them.

use super::blocks::BlockTree;
use super::layout::{Layout, MarkerPlace};
use crate::base::units::Tokens;
use crate::requests::prompt::{Marker, NodeId};

/// The sizes of a prompt as sent and as a design sends it.
pub(super) struct Ends {
    sent: Vec<Tokens>,
    designed: Vec<Tokens>,
}

impl Ends {
    pub(super) fn new(tree: &BlockTree<'_>, layout: &Layout) -> Self {
        let ends = |sizes: &mut dyn Iterator<Item = Tokens>| {
            let add = |end: &mut Tokens, size| {
                *end += size;
                Some(*end)
            };
            sizes.scan(Tokens::ZERO, add).collect()
        };
        Self {
            sent: ends(&mut layout.sent.iter().map(|id| tree.size(*id))),
            designed: ends(&mut layout.blocks.iter().map(|block| tree.size_of(block))),
        }
    }

    /// The size of what ends with a block, of which is known how large what ended with another one was as
    /// sent: both differ by the blocks in front of them.
    fn moved(&self, known: Tokens, sent: usize, designed: usize) -> Tokens {
        (known + self.designed[designed]).saturating_sub(self.sent[sent])
    }

    /// The size of the whole prompt, of which is known how large it was as sent.
    pub(super) fn total(&self, known: Tokens) -> Tokens {
        self.moved(known, self.sent.len() - 1, self.designed.len() - 1)
    }

    /// Where a block of the design ends.
    pub(super) fn end(&self, designed: usize) -> Tokens {
        self.designed[designed]
    }

    /// Whether as much stands in front of a block as stood in front of another one as sent.
    fn is_same(&self, sent: usize, designed: usize) -> bool {
        self.sent[sent] == self.designed[designed]
    }
}

/// The markers of a request on the path of its layout, in the order of the prefix.
pub(super) fn markers(
    tree: &BlockTree<'_>,
    layout: &Layout,
    path: &[NodeId],
    ends: &Ends,
    as_sent: &[Marker],
) -> Vec<Marker> {
    let marker = |place: &MarkerPlace| {
        let MarkerPlace { like, sent, designed, is_added } = *place;
        let marker = as_sent[like];
        let node = path[designed];
        let own = tree.nodes[node.index()].basis;
        let is_same = ends.is_same(sent, designed);
        Marker {
            node,
            end: ends.moved(marker.end, sent, designed),
            basis: if is_same { marker.basis } else { marker.basis.max(own) },
            is_global: marker.is_global && !is_added,
            is_automatic: marker.is_automatic && !is_added,
            is_markable: tree.is_markable(node),
            ..marker
        }
    };
    let mut markers: Vec<Marker> = layout.markers.iter().map(marker).collect();
    // Ids rise on a path.
    markers.sort_by_key(|marker| (marker.node, marker.is_automatic));
    markers
}
