//! Blocks of a template in its text, and the edits that set or remove a marker.

use jsonc_parser::ast::{Object, Value as Node};

use super::super::root::Root;
use super::super::text::{Edits, SettingsError, range};
use super::{Change, MARKER, MarkerChange, MarkerPlace, PatchError};
use crate::base::{Order as _, Ttl};

/// Blocks of a prompt, in prompt order.
pub(super) struct Blocks<'a> {
    root: &'a Root<'a>,
    blocks: Vec<Block<'a>>,
}

/// A block in the text of the template.
struct Block<'a> {
    /// Path in the body, such as `system[0]`.
    path: String,
    node: &'a Node<'a>,
    /// True for a content that is a plain text instead of a list.
    is_content: bool,
}

impl<'a> Blocks<'a> {
    /// Finds the blocks of a template.
    ///
    /// # Errors
    /// A key on the way to a block is there twice, or a marker has a form that cannot be moved.
    pub(super) fn of(root: &'a Root<'a>) -> Result<Self, PatchError> {
        let mut found = Self { root, blocks: Vec::new() };
        found.know_marker(root.object)?;
        if let Some(Node::Array(tools)) = found.value(root.object, "tools")? {
            for (index, tool) in tools.elements.iter().enumerate() {
                let is_deferred = found.value(tool.as_object(), "defer_loading")?;
                // A tool that is loaded later is not part of the prompt.
                if matches!(is_deferred, Some(Node::BooleanLit(deferred)) if deferred.value) {
                    found.refuse_marker(tool, "a marker on a tool that is loaded later")?;
                } else {
                    let path = format!("tools[{index}]");
                    found.blocks.push(Block { path, node: tool, is_content: false });
                }
            }
        }
        let system = found.value(root.object, "system")?;
        found.add(system, "system");
        if let Some(Node::Array(messages)) = found.value(root.object, "messages")? {
            for (index, message) in messages.elements.iter().enumerate() {
                let content = found.value(message.as_object(), "content")?;
                found.add(content, &format!("messages[{index}].content"));
            }
        }
        found.blocks.iter().try_for_each(|block| found.know_markers(block))?;
        Ok(found)
    }

    /// Refuses a block whose marker is unknown or nested in a tool result.
    fn know_markers(&self, block: &Block<'a>) -> Result<(), PatchError> {
        self.know_marker(block.node.as_object())?;
        let kind = self.value(block.node.as_object(), "type")?;
        let is_result = matches!(kind, Some(Node::StringLit(kind)) if kind.value == "tool_result");
        let parts = if is_result { self.value(block.node.as_object(), "content")? } else { None };
        let parts = parts.and_then(Node::as_array).into_iter().flat_map(|parts| &parts.elements);
        parts.into_iter().try_for_each(|part| {
            self.refuse_marker(part, "a marker inside of a result; put it on the result itself")
        })
    }

    /// Refuses an object whose marker has a form unknown to the service.
    fn know_marker(&self, object: Option<&'a Object<'a>>) -> Result<(), PatchError> {
        let Some(marker) = self.marker(object)? else { return Ok(()) };
        let kind = self.value(marker.as_object(), "type")?;
        let ttl = self.value(marker.as_object(), "ttl")?;
        let is = |node: &Node<'_>, names: &[&str]| matches!(node, Node::StringLit(text) if names.contains(&&*text.value));
        let is_known = kind.is_some_and(|kind| is(kind, &["ephemeral"]))
            && ttl.is_none_or(|ttl| is(ttl, &["5m", "1h"]));
        if is_known {
            Ok(())
        } else {
            Err(PatchError::at(self.root, marker, "a marker of a form that is not known"))
        }
    }

    fn refuse_marker(&self, node: &'a Node<'a>, why: &'static str) -> Result<(), PatchError> {
        let marker = self.marker(node.as_object())?;
        marker.map_or(Ok(()), |marker| Err(PatchError::at(self.root, marker, why)))
    }

    /// Marker of an object. `null` counts as no marker.
    fn marker(&self, object: Option<&'a Object<'a>>) -> Result<Option<&'a Node<'a>>, PatchError> {
        let marker = self.value(object, MARKER)?;
        Ok(marker.filter(|marker| !matches!(marker, Node::NullKeyword(_))))
    }

    /// Adds the blocks of a content. A plain text is one block.
    fn add(&mut self, content: Option<&'a Node<'a>>, path: &str) {
        match content {
            Some(Node::Array(blocks)) => {
                let blocks = blocks.elements.iter().enumerate();
                let named = blocks.map(|(index, node)| Block {
                    path: format!("{path}[{index}]"),
                    node,
                    is_content: false,
                });
                self.blocks.extend(named);
            }
            Some(node @ Node::StringLit(_)) => {
                self.blocks.push(Block { path: path.to_owned(), node, is_content: true });
            }
            _ => {}
        }
    }

    /// Checks that the number of blocks is the one of the simulation.
    pub(super) fn counted(self, known: u32) -> Result<Self, PatchError> {
        // The simulation names blocks by number: a different count would put markers on the wrong blocks.
        if self.blocks.len() == known as usize { Ok(self) } else { Err(PatchError::NotAlone) }
    }

    /// A change with the path of its block.
    pub(super) fn told(&self, change: &Change) -> Result<MarkerChange, PatchError> {
        let place = match change.blocks {
            None => MarkerPlace::Request,
            Some(blocks) => MarkerPlace::Block(self.last_of(blocks)?.path.clone()),
        };
        Ok(MarkerChange { place, before: change.before, after: change.after })
    }

    /// Last of the first `blocks` blocks.
    fn last_of(&self, blocks: u32) -> Result<&Block<'a>, PatchError> {
        let last = (blocks as usize).checked_sub(1).and_then(|last| self.blocks.get(last));
        last.ok_or(PatchError::NotAlone)
    }

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
        match (block.node, ttl) {
            (Node::Object(object), _) => self.in_object(Some(object), ttl),
            (Node::StringLit(text), Some(ttl)) if block.is_content => {
                // Only a block takes a marker, so a plain text becomes a list of one text block.
                let source = &self.root.text[range(text)];
                let list = format!(
                    "[{{\"type\": \"text\", \"text\": {source}, \"{MARKER}\": {}}}]",
                    marker(ttl)
                );
                let edits = vec![(range(text), list)];
                Ok([edits.clone(), edits])
            }
            _ => Err(PatchError::NoBlock(block.path.clone())),
        }
    }

    /// Returns true for a block with an empty text.
    fn is_empty(&self, block: &Block<'a>) -> Result<bool, SettingsError> {
        let text = if block.is_content {
            Some(block.node)
        } else {
            self.value(block.node.as_object(), "text")?
        };
        Ok(matches!(text, Some(Node::StringLit(text)) if text.value.is_empty()))
    }

    /// Alternative edits that give an object a marker or remove it.
    fn in_object(
        &self,
        object: Option<&'a Object<'a>>,
        ttl: Option<Ttl>,
    ) -> Result<[Edits; 2], PatchError> {
        let inner = Root { object, ..*self.root };
        let own = self.value(object, MARKER)?;
        let edits = match (own, ttl) {
            (Some(Node::Object(_)), Some(ttl)) => {
                inner.putting(&[MARKER, "ttl"], &format!("\"{}\"", ttl.name()))?
            }
            (_, Some(ttl)) => inner.putting(&[MARKER], &marker(ttl))?,
            (_, None) => return Ok(inner.removing(&[MARKER])?),
        };
        Ok([edits.clone(), edits])
    }

    /// Value of a key of an object.
    fn value(
        &self,
        object: Option<&'a Object<'a>>,
        name: &str,
    ) -> Result<Option<&'a Node<'a>>, SettingsError> {
        let inner = Root { object, ..*self.root };
        Ok(inner.find(&[name])?.map(|(_, property)| &property.value))
    }
}

/// JSON source of a marker.
fn marker(ttl: Ttl) -> String {
    match ttl {
        // Five minutes is the default of the service and needs no `ttl`.
        Ttl::FiveMinutes => "{\"type\": \"ephemeral\"}".to_owned(),
        Ttl::OneHour => "{\"type\": \"ephemeral\", \"ttl\": \"1h\"}".to_owned(),
    }
}
