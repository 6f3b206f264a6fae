//! What of system prompts several sessions share, and the marker that caches it for everyone.

use rustc_hash::FxHashMap;

use super::blocks::BlockTree;
use crate::base::id::Symbol;
use crate::base::units::Tokens;
use crate::requests::prompt::{Marker, NodeId};

/// The blocks of a system prompt: the prefixes that end with them, and how large these are.
pub(super) type System = Vec<(NodeId, Tokens)>;

/// Which sessions have the prefixes that end in system prompts.
#[derive(Default)]
pub(super) struct Sessions {
    /// The only session; nothing where there are several.
    by_node: FxHashMap<NodeId, Option<Symbol>>,
}

impl Sessions {
    /// Takes a request of a session into account.
    pub(super) fn add(&mut self, session: Symbol, system: &System) {
        for (node, _) in system {
            let only = self.by_node.entry(*node).or_insert(Some(session));
            *only = only.filter(|only| *only == session);
        }
    }

    fn are_several(&self, node: NodeId) -> bool {
        self.by_node.get(&node) == Some(&None)
    }

    /// The markers of a request with one for everyone after what is static of its system prompt, in the
    /// place of all on the system prompt.
    pub(super) fn mark_static(
        &self,
        tree: &BlockTree<'_>,
        system: &System,
        markers: &mut Vec<Marker>,
    ) {
        let Some((end_of_static, end)) =
            system.iter().rfind(|(node, _)| self.are_several(*node)).copied()
        else {
            return;
        };
        let (Some((first, _)), Some((last, _))) = (system.first(), system.last()) else { return };
        // Ids rise on a path.
        let of_system =
            |marker: &Marker| !marker.is_automatic && (*first..=*last).contains(&marker.node);
        let Some(place) = markers.iter().position(of_system) else { return };
        if markers.iter().any(|marker| marker.is_global) {
            return;
        }
        let replaced = markers[place];
        markers.retain(|marker| !of_system(marker));
        let node = tree.nodes[end_of_static.index()];
        let global = Marker {
            node: end_of_static,
            end,
            basis: node.basis,
            is_global: true,
            is_markable: tree.is_markable(end_of_static),
            ..replaced
        };
        markers.insert(place, global);
    }
}
