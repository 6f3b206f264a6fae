//! Edits that set or remove the markers of a template.

use jsonc_parser::ast::{Object, Value as Node};

use super::super::root::{LINE_ENDS, Root};
use super::super::text::{Edits, SPACE, SettingsError, range};
use super::blocks::{Block, Blocks, Place};
use super::{Change, PatchError};
use crate::base::{Order as _, Ttl};

impl<'a> Blocks<'a> {
    /// Alternative edits for a list of changes, the best first.
    pub(super) fn edits(&self, changes: &[Change]) -> Result<Vec<Edits>, PatchError> {
        let mut ways = vec![Edits::new(), Edits::new()];
        for change in changes {
            let own = match change.blocks {
                None => self.in_object(self.root.object, change.after)?,
                Some(blocks) => self.in_block(self.last_of(blocks)?, change.after)?,
            };
            for (all, own) in ways.iter_mut().zip(own) {
                all.extend(own);
            }
        }
        for edits in &mut ways {
            edits.order_by_key(|(range, _)| range.start);
        }
        Ok(ways)
    }

    fn in_block(&self, block: &Block<'a>, ttl: Option<Ttl>) -> Result<[Edits; 2], PatchError> {
        if ttl.is_some() && self.is_empty(block)? {
            return Err(PatchError::Empty(block.path.clone()));
        }
        match (block.place, block.node, ttl) {
            (Place::Inside, Node::Object(object), _) => self.in_object(Some(object), ttl),
            (Place::OfText | Place::OfMessage, text, Some(ttl)) => {
                // Only a block takes a marker, so a plain text becomes a list of one text block.
                let source = &self.root.text[range(text)];
                let block_of = self.form.block_of(source, &self.form.marker().with_key(ttl));
                let list = match block.place {
                    Place::OfMessage => {
                        format!("[{{\"role\": \"user\", \"content\": [{block_of}]}}]")
                    }
                    _ => format!("[{block_of}]"),
                };
                let edits = vec![(range(text), list)];
                Ok(one_way(edits))
            }
            (Place::Behind(point), node, _) => self.behind(node, point, ttl),
            (Place::Nowhere, ..) => Err(PatchError::Unmarkable(block.path.clone())),
            _ => Err(PatchError::NoBlock(block.path.clone())),
        }
    }

    /// Returns true for a block with an empty text.
    fn is_empty(&self, block: &Block<'a>) -> Result<bool, SettingsError> {
        let text = match block.place {
            Place::OfText | Place::OfMessage => Some(block.node),
            _ => self.value(block.node.as_object(), "text")?,
        };
        Ok(matches!(text, Some(Node::StringLit(text)) if text.value.is_empty()))
    }

    /// Alternative edits that put a marker behind a block or remove it.
    fn behind(
        &self,
        node: &'a Node<'a>,
        point: Option<&'a Node<'a>>,
        ttl: Option<Ttl>,
    ) -> Result<[Edits; 2], PatchError> {
        let edits = match (point, ttl) {
            (Some(point), Some(ttl)) => {
                let inner = Root { object: point.as_object(), ..*self.root };
                self.lifetime(&inner, ttl)?
            }
            (Some(point), None) => {
                let own = range(node).end..range(point).end;
                let between = &self.root.text[own.start..range(point).start];
                if between.trim_matches(SPACE) != "," {
                    let why = "a comment in front of a cache point; take both out by hand";
                    return Err(PatchError::at(self.root, point, why));
                }
                vec![(own, String::new())]
            }
            (None, Some(ttl)) => {
                let own = self.root.space_before(range(node).start);
                let space = if own.contains(LINE_ENDS) { own } else { " " };
                let end = range(node).end;
                vec![(end..end, format!(",{space}{{{}}}", self.form.marker().with_key(ttl)))]
            }
            (None, None) => Edits::new(),
        };
        Ok(one_way(edits))
    }

    /// Alternative edits that give an object a marker or remove it.
    fn in_object(
        &self,
        object: Option<&'a Object<'a>>,
        ttl: Option<Ttl>,
    ) -> Result<[Edits; 2], PatchError> {
        let inner = Root { object, ..*self.root };
        let marker = self.form.marker();
        let edits = match (self.value(object, marker.key)?, ttl) {
            (Some(Node::Object(_)), Some(ttl)) => self.lifetime(&inner, ttl)?,
            (_, Some(ttl)) => inner.putting(&[marker.key], &marker.source(ttl))?,
            (_, None) => return Ok(inner.removing(&[marker.key])?),
        };
        Ok(one_way(edits))
    }

    /// Edits that set the lifetime of the marker of an object.
    fn lifetime(&self, object: &Root<'_>, ttl: Ttl) -> Result<Edits, SettingsError> {
        let marker = self.form.marker();
        object.putting(&[marker.key, "ttl"], &format!("\"{}\"", marker.name(ttl)))
    }
}

/// Edits without an alternative.
fn one_way(edits: Edits) -> [Edits; 2] {
    [edits.clone(), edits]
}
