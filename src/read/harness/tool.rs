//! Order of tools: built-in ones by name, then those of MCP servers by name, so that a server
//! that connects does not move the built-in ones. Tools carry no marker. (Claude Code 2.1.88, as
//! documented.)
//!
//! Definitions of tools that a session has sent (Claude Code 2.1.88, as documented): each keeps
//! the bytes of its first appearance, so that a description that changes later does not change the
//! prefix. A tool of an MCP server is known by its name and its input schema, any other by its name.
//! prefix. A tool of an MCP server is known by its name and its input schema, any other by its name.

use std::borrow::Cow;

use rustc_hash::FxHashMap;
use serde_json::value::RawValue;

use super::block::Block;
use super::place::BundleError;
use super::raw::{Member, Object, unexpected, write_object};
use super::ttl::CACHE_CONTROL;
use crate::base::Order as _;

/// Prefix of the names of tools from MCP servers.
const MCP_PREFIX: &str = "mcp__";

/// Tools whose results are cleared by microcompactions: those that can be called again.
pub(crate) const COMPACTABLE_TOOLS: [&str; 9] =
    ["Read", "Bash", "PowerShell", "Grep", "Glob", "WebSearch", "WebFetch", "Edit", "Write"];

/// Path of a tool, for errors.
const PATH: &str = "prompt.tools[…]";

/// Tools in the order of the request. A tool without a name counts as one of the empty name.
pub(super) fn sorted(tools: Vec<&RawValue>) -> Result<Vec<Block<'_>>, BundleError> {
    let mut blocks = Vec::with_capacity(tools.len());
    for tool in tools {
        let block = Block::read(tool, PATH);
        let object = block.object().ok_or_else(|| unexpected(PATH, Some(tool), "an object"))?;
        let name = object.string("name")?.unwrap_or_default();
        blocks.push((rank(name), block));
    }
    blocks.order_by(|one, other| one.0.cmp(&other.0));
    Ok(blocks.into_iter().map(|(_, block)| block).collect())
}

/// Sort key of tools: true for a tool of an MCP server, then the name.
pub(crate) type ToolRank<'a> = (bool, Cow<'a, str>);

fn rank(name: Cow<'_, str>) -> ToolRank<'_> {
    (is_of_server(&name), name)
}

/// Returns true if a tool of this name comes from an MCP server.
pub(super) fn is_of_server(name: &str) -> bool {
    name.starts_with(MCP_PREFIX)
}

/// Sort key of a tool, given as JSON. Anything without a text as its name counts as one of the empty name.
pub(crate) fn tool_rank(tool: &str) -> ToolRank<'_> {
    let object = serde_json::from_str(tool).ok().and_then(|tool| Object::read(tool, PATH));
    let name = object.and_then(|object| object.string("name").ok().flatten());
    rank(name.unwrap_or_default())
}

/// Key of a tool that is found by a search instead of sent in front; taken from each request.
const DEFER_LOADING: &str = "defer_loading";

/// Keys and values, as JSON.
type Members = Vec<(String, String)>;

/// Definitions that a session has sent.
#[derive(Debug, Default)]
pub(super) struct Schemas {
    first: FxHashMap<String, Members>,
}

impl Schemas {
    /// Appends a tool as this session has first sent it.
    pub(super) fn write(&mut self, text: &mut String, tool: &Block<'_>) {
        let definition = tool.object().and_then(|object| Some((object, key(object)?)));
        let Some((object, key)) = definition else { return tool.write(text, None) };
        let given = fixed(object);
        let first = self.first.entry(key).or_insert_with(|| given.collect());
        if fixed(object).eq(first.iter().cloned()) {
            // The same members: the tool is copied as written, white space included.
            return tool.write(text, None);
        }
        write_object(text, |tool| {
            for (key, value) in first {
                tool.copy(key, value);
            }
            for member in object.members.iter().filter(|member| member.is(DEFER_LOADING)) {
                tool.copy(member.key.get(), member.value.get());
            }
        });
    }
}

/// Identity of a definition; nothing without a name.
fn key(tool: &Object<'_>) -> Option<String> {
    let name = tool.string("name").ok().flatten()?;
    let schema = tool.get("input_schema").filter(|_| is_of_server(&name));
    // A name has no line end.
    Some(format!("{name}\n{}", schema.map_or("", |schema| schema.get())))
}

/// Members of a definition that the session keeps.
fn fixed(tool: &Object<'_>) -> impl Iterator<Item = (String, String)> {
    let is_fixed = |member: &&Member<'_>| !member.is(DEFER_LOADING) && !member.is(CACHE_CONTROL);
    let members = tool.members.iter().filter(is_fixed);
    members.map(|member| (member.key.get().to_owned(), member.value.get().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::harness::raw::write_list;

    fn in_order(tools: &str) -> Result<String, BundleError> {
        let tools: Vec<&RawValue> = serde_json::from_str(tools).expect("a list");
        let mut text = String::new();
        write_list(&mut text, sorted(tools)?, |text, tool| tool.write(text, None));
        Ok(text)
    }

    #[test]
    fn tools_of_the_same_name_keep_their_order() {
        let tools = r#"[{"name":"mcp__a","n":1},{"name":"b","n":2.0},{"name":"mcp__a","n":3},
            {"name":"b","n":4},{"n":5,"cache_control":{}},{"name":"B"},{"name":"mcp_"}]"#;
        assert_eq!(
            in_order(tools).expect("tools"),
            concat!(
                r#"[{"n":5},{"name":"B"},{"name":"b","n":2.0},{"name":"b","n":4},{"name":"mcp_"},"#,
                r#"{"name":"mcp__a","n":1},{"name":"mcp__a","n":3}]"#
            )
        );
    }

    #[test]
    fn a_tool_is_an_object_with_a_name_that_is_text() {
        for tools in ["[7]", r#"[{"name":7}]"#] {
            assert!(in_order(tools).is_err(), "{tools}");
        }
    }

    fn written(schemas: &mut Schemas, tool: &str) -> String {
        let mut text = String::new();
        let raw = serde_json::from_str(tool).expect("JSON");
        schemas.write(&mut text, &Block::read(raw, "it"));
        text
    }

    #[test]
    fn a_definition_keeps_its_first_bytes() {
        let mut schemas = Schemas::default();
        let first = r#"{"name":"A", "description":"1","n": 1.0,"input_schema":{}}"#;
        let members = r#""name":"A","description":"1","n":1.0,"input_schema":{}"#;
        let kept = format!("{{{members}}}");
        assert_eq!(written(&mut schemas, first), first);
        let other = r#"{"description":"2","name":"A","input_schema":{"a":1}}"#;
        assert_eq!(written(&mut schemas, other), kept);
        assert_eq!(written(&mut schemas, first), first);
        let deferred = r#"{"name":"A","defer_loading":true,"description":"2"}"#;
        let expected = format!("{{{members},\"defer_loading\":true}}");
        assert_eq!(written(&mut schemas, deferred), expected);
        assert_eq!(written(&mut schemas, r#"{"name":"B"}"#), r#"{"name":"B"}"#);
        assert_eq!(written(&mut schemas, r#"{"n":1}"#), r#"{"n":1}"#);
        assert_eq!(written(&mut schemas, r#"{"n":2}"#), r#"{"n":2}"#);
    }

    #[test]
    fn a_tool_of_a_server_is_known_by_its_schema_too() {
        let mut schemas = Schemas::default();
        let tool = |description: &str, schema: &str| {
            format!(r#"{{"name":"mcp__a","description":"{description}","input_schema":{schema}}}"#)
        };
        assert_eq!(written(&mut schemas, &tool("1", "{}")), tool("1", "{}"));
        assert_eq!(written(&mut schemas, &tool("2", "{}")), tool("1", "{}"));
        assert_eq!(written(&mut schemas, &tool("3", "[]")), tool("3", "[]"));
        assert_eq!(written(&mut schemas, &tool("4", "[]")), tool("3", "[]"));
    }
}
