//! Blocks of a template in its text.

use jsonc_parser::ast::{Object, Value as Node};

use super::super::root::Root;
use super::super::text::SettingsError;
use super::form::Form;
use super::{Change, MarkerChange, MarkerPlace, PatchError};
use crate::base::Ttl;
use crate::read::log::RESULT;

/// Blocks of a prompt, in prompt order.
pub(super) struct Blocks<'a> {
    pub(super) root: &'a Root<'a>,
    pub(super) form: Form,
    all: Vec<Block<'a>>,
}

/// Reason for which a marker cannot stay.
const ELSEWHERE: &str = "a marker where the API takes none";

/// A block in the text of the template.
pub(super) struct Block<'a> {
    /// Path in the body, such as `system[0]`.
    pub path: String,
    pub node: &'a Node<'a>,
    pub place: Place<'a>,
}

/// Place of a block's marker.
#[derive(Clone, Copy)]
pub(super) enum Place<'a> {
    /// In the block.
    Inside,
    /// In a block that the text has to become.
    OfText,
    /// In a block of a message that the text has to become.
    OfMessage,
    /// Behind the block, as a block of its own: the present one, if there is one.
    Behind(Option<&'a Node<'a>>),
    /// Nowhere: the API has no marker for such a block.
    Nowhere,
}

impl<'a> Blocks<'a> {
    /// Finds the blocks of a template.
    ///
    /// # Errors
    /// A key on the way to a block is there twice, or a marker has a form that cannot be moved.
    pub(super) fn of(root: &'a Root<'a>, form: Form) -> Result<Self, PatchError> {
        let mut found = Self { root, form, all: Vec::new() };
        match form {
            Form::Messages => found.add_messages()?,
            Form::Converse => found.add_converse()?,
            Form::Chat | Form::Gateway => found.add_chat()?,
            Form::Responses => found.add_responses()?,
        }
        found.all.iter().try_for_each(|block| found.know_markers(block))?;
        Ok(found)
    }

    /// Adds the blocks of a body of the Messages API.
    fn add_messages(&mut self) -> Result<(), PatchError> {
        self.know_marker(self.root.object)?;
        for (index, tool) in self.list(self.root.object, "tools")?.iter().enumerate() {
            let is_deferred = self.value(tool.as_object(), "defer_loading")?;
            // A tool that is loaded later is not part of the prompt.
            if matches!(is_deferred, Some(Node::BooleanLit(deferred)) if deferred.value) {
                self.refuse_marker(tool, "a marker on a tool that is loaded later")?;
            } else {
                self.add(format!("tools[{index}]"), tool, Place::Inside);
            }
        }
        let system = self.value(self.root.object, "system")?;
        self.add_content(system, "system", Place::Inside);
        for (index, message) in self.list(self.root.object, "messages")?.iter().enumerate() {
            let content = self.value(message.as_object(), "content")?;
            self.add_content(content, &format!("messages[{index}].content"), Place::Inside);
        }
        Ok(())
    }

    /// Adds the blocks of a body of the Converse API.
    fn add_converse(&mut self) -> Result<(), PatchError> {
        let tools = self.value(self.root.object, "toolConfig")?;
        let tools = self.list(tools.and_then(Node::as_object), "tools")?;
        self.add_pointed(tools, "toolConfig.tools")?;
        self.refuse_text(self.root.object, "system")?;
        self.add_pointed(self.list(self.root.object, "system")?, "system")?;
        for (index, message) in self.list(self.root.object, "messages")?.iter().enumerate() {
            self.refuse_text(message.as_object(), "content")?;
            let content = self.list(message.as_object(), "content")?;
            self.add_pointed(content, &format!("messages[{index}].content"))?;
        }
        Ok(())
    }

    /// Refuses a text where the Converse API has lists alone.
    fn refuse_text(&self, object: Option<&'a Object<'a>>, name: &str) -> Result<(), PatchError> {
        match self.value(object, name)? {
            Some(text @ Node::StringLit(_)) => {
                Err(PatchError::at(self.root, text, "a text in place of a list of blocks"))
            }
            _ => Ok(()),
        }
    }

    /// Adds the blocks of a list in which cache points stand behind what they mark.
    fn add_pointed(&mut self, list: &'a [Node<'a>], path: &str) -> Result<(), PatchError> {
        let first = self.all.len();
        for (index, node) in list.iter().enumerate() {
            let object = node.as_object();
            if object.is_none() {
                return Err(PatchError::at(self.root, node, "a block is no object"));
            }
            if self.marker(object)?.is_none() {
                // The documentation has no cache point behind thinking.
                let is_thinking = self.value(object, "reasoningContent")?.is_some();
                let place = if is_thinking { Place::Nowhere } else { Place::Behind(None) };
                self.add(format!("{path}[{index}]"), node, place);
                let result = self.value(object, "toolResult")?.and_then(Node::as_object);
                for part in self.list(result, "content")? {
                    self.refuse_marker(
                        part,
                        "a marker inside of a result; put it behind the result",
                    )?;
                }
                continue;
            }
            let place = self.all[first..].last_mut().map(|block| &mut block.place);
            let Some(place @ Place::Behind(None)) = place else {
                let why = "a cache point that does not stand behind a block that takes one";
                return Err(PatchError::at(self.root, node, why));
            };
            *place = Place::Behind(Some(node));
        }
        Ok(())
    }

    /// Adds the blocks of a body of chat completions.
    fn add_chat(&mut self) -> Result<(), PatchError> {
        self.add_unmarkable(self.root.object, "tools", "")?;
        for (index, message) in self.list(self.root.object, "messages")?.iter().enumerate() {
            self.refuse_marker(message, ELSEWHERE)?;
            let object = message.as_object();
            let path = format!("messages[{index}].content");
            let content = self.value(object, "content")?;
            if self.value(object, "tool_call_id")?.is_some() {
                self.add_result(content.unwrap_or(message), path)?;
            } else {
                self.add_content(content, &path, Place::Inside);
                self.add_unmarkable(object, "tool_calls", &format!("messages[{index}]."))?;
            }
        }
        Ok(())
    }

    /// Adds the blocks of a body of the Responses API.
    fn add_responses(&mut self) -> Result<(), PatchError> {
        self.add_unmarkable(self.root.object, "tools", "")?;
        if let Some(instructions) = self.value(self.root.object, "instructions")? {
            self.add("instructions".to_owned(), instructions, Place::Nowhere);
        }
        if let Some(text @ Node::StringLit(_)) = self.value(self.root.object, "input")? {
            self.add("input".to_owned(), text, Place::OfMessage);
        }
        for (index, item) in self.list(self.root.object, "input")?.iter().enumerate() {
            let object = item.as_object();
            if object.is_none() {
                continue;
            }
            self.refuse_marker(item, ELSEWHERE)?;
            let path = format!("input[{index}]");
            match self.text(object, "type")? {
                None | Some("message") => {
                    let content = self.value(object, "content")?;
                    self.add_content(content, &format!("{path}.content"), Place::Inside);
                }
                Some(kind) if kind.ends_with(RESULT) => {
                    let output = self.value(object, "output")?.unwrap_or(item);
                    self.add_result(output, format!("{path}.output"))?;
                }
                Some(_) => self.add(path, item, Place::Nowhere),
            }
        }
        Ok(())
    }

    /// Adds each element of a list as a block that takes no marker.
    fn add_unmarkable(
        &mut self,
        object: Option<&'a Object<'a>>,
        name: &str,
        path: &str,
    ) -> Result<(), PatchError> {
        for (index, node) in self.list(object, name)?.iter().enumerate() {
            self.add(format!("{path}{name}[{index}]"), node, Place::Nowhere);
        }
        Ok(())
    }

    /// Adds a result of a call to a tool: a block whose marker is that of its last part.
    fn add_result(&mut self, content: &'a Node<'a>, path: String) -> Result<(), PatchError> {
        let parts = content.as_array().map(|parts| parts.elements.as_slice());
        match (content, parts.and_then(<[_]>::split_last)) {
            (_, Some((last, before))) => {
                for part in before {
                    let why = "a marker inside of a result; put it on the last part";
                    self.refuse_marker(part, why)?;
                }
                self.add(format!("{path}[{}]", before.len()), last, Place::Inside);
            }
            (Node::StringLit(_), None) => self.add(path, content, Place::OfText),
            _ => self.add(path, content, Place::Nowhere),
        }
        Ok(())
    }

    /// Adds the blocks of a content. A plain text is one block.
    fn add_content(&mut self, content: Option<&'a Node<'a>>, path: &str, place: Place<'a>) {
        match content {
            Some(Node::Array(blocks)) => {
                for (index, node) in blocks.elements.iter().enumerate() {
                    self.add(format!("{path}[{index}]"), node, place);
                }
            }
            Some(node @ Node::StringLit(_)) => self.add(path.to_owned(), node, Place::OfText),
            _ => {}
        }
    }

    fn add(&mut self, path: String, node: &'a Node<'a>, place: Place<'a>) {
        let kind = || self.text(node.as_object(), "type").ok().flatten();
        let is_taken = !matches!(place, Place::Inside) || self.form.takes(kind());
        let place = if is_taken { place } else { Place::Nowhere };
        self.all.push(Block { path, node, place });
    }

    /// Refuses a block whose marker is unknown, another API's, nested in a tool result, or where none may be.
    fn know_markers(&self, block: &Block<'a>) -> Result<(), PatchError> {
        let object = block.node.as_object();
        for key in self.form.foreign_keys() {
            if let Some(marker) = self.value(object, key)? {
                return Err(PatchError::at(self.root, marker, "a marker of another API"));
            }
        }
        match block.place {
            Place::Behind(Some(point)) => self.know_marker(point.as_object())?,
            Place::Nowhere => self.refuse_marker(block.node, ELSEWHERE)?,
            _ => self.know_marker(object)?,
        }
        let is_result = self.text(object, "type")? == Some("tool_result");
        let parts = if is_result { self.list(object, "content")? } else { &[] };
        parts.iter().try_for_each(|part| {
            self.refuse_marker(part, "a marker inside of a result; put it on the result itself")
        })
    }

    /// Refuses an object whose marker has a form unknown to the service.
    fn know_marker(&self, object: Option<&'a Object<'a>>) -> Result<(), PatchError> {
        let Some(marker) = self.marker(object)? else { return Ok(()) };
        let [key, value] = self.form.marker().kind;
        let ttl = self.value(marker.as_object(), "ttl")?;
        let lifetimes = self.form.marker().lifetimes;
        let is_known = self.text(marker.as_object(), key)? == Some(value)
            && ttl.is_none_or(|ttl| text_of(ttl).is_some_and(|ttl| lifetimes.contains(&ttl)));
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

    fn marker(&self, object: Option<&'a Object<'a>>) -> Result<Option<&'a Node<'a>>, PatchError> {
        Ok(self.value(object, self.form.marker().key)?)
    }

    /// Text of a key of an object.
    fn text(
        &self,
        object: Option<&'a Object<'a>>,
        name: &str,
    ) -> Result<Option<&'a str>, SettingsError> {
        Ok(self.value(object, name)?.and_then(text_of))
    }

    /// Checks that the number of blocks is the one of the simulation.
    pub(super) fn counted(self, known: u32) -> Result<Self, PatchError> {
        // The simulation names blocks by number: a different count would put markers on the wrong blocks.
        if self.all.len() == known as usize { Ok(self) } else { Err(PatchError::NotAlone) }
    }

    /// A change with the path of its block, and its lifetimes in words.
    pub(super) fn told(&self, change: &Change) -> Result<MarkerChange, PatchError> {
        let place = match change.blocks {
            None => MarkerPlace::Request,
            Some(blocks) => MarkerPlace::Block(self.last_of(blocks)?.path.clone()),
        };
        let [before, after] = [change.before, change.after]
            .map(|ttl: Option<Ttl>| Some(self.form.marker().lifetime(ttl?)));
        Ok(MarkerChange { place, before, after })
    }

    /// Last of the first `blocks` blocks.
    pub(super) fn last_of(&self, blocks: u32) -> Result<&Block<'a>, PatchError> {
        let last = (blocks as usize).checked_sub(1).and_then(|last| self.all.get(last));
        last.ok_or(PatchError::NotAlone)
    }

    /// List of a key of an object; empty unless it is one.
    fn list(
        &self,
        object: Option<&'a Object<'a>>,
        name: &str,
    ) -> Result<&'a [Node<'a>], SettingsError> {
        let list = self.value(object, name)?.and_then(Node::as_array);
        Ok(list.map_or(&[], |list| list.elements.as_slice()))
    }

    /// Value of a key of an object; `null` counts as none.
    pub(super) fn value(
        &self,
        object: Option<&'a Object<'a>>,
        name: &str,
    ) -> Result<Option<&'a Node<'a>>, SettingsError> {
        let inner = Root { object, ..*self.root };
        let value = inner.find(&[name])?.map(|(_, property)| &property.value);
        Ok(value.filter(|value| !matches!(value, Node::NullKeyword(_))))
    }
}

/// Text of a value.
fn text_of<'a>(node: &'a Node<'_>) -> Option<&'a str> {
    if let Node::StringLit(text) = node { Some(&text.value) } else { None }
}
