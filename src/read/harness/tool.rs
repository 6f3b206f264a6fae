//! The order of tools: built-in ones by name, then those of MCP servers by name, so that a server
//! that connects does not move the built-in ones. Tools carry no marker. (Claude Code 2.1.88, as
//! documented.)

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::block::Block;
use super::error::BundleError;
use super::raw::{Object, unexpected};

/// What the names of tools begin with that come from an MCP server.
const MCP_PREFIX: &str = "mcp__";

/// Tools whose results are cleared by microcompactions: those that can be called again.
pub(crate) const COMPACTABLE_TOOLS: [&str; 9] =
    ["Read", "Bash", "PowerShell", "Grep", "Glob", "WebSearch", "WebFetch", "Edit", "Write"];

/// Where a tool stands, for errors.
const PATH: &str = "prompt.tools[…]";

/// The tools in the order in which they are sent. One without a name counts as one of the empty
/// name.
pub(super) fn sorted(tools: Vec<&RawValue>) -> Result<Vec<Block<'_>>, BundleError> {
    let mut blocks = Vec::with_capacity(tools.len());
    for tool in tools {
        let block = Block::read(tool, PATH);
        let object = block.object().ok_or_else(|| unexpected(PATH, Some(tool), "an object"))?;
        let name = object.string("name")?.unwrap_or_default();
        blocks.push((rank(name), block));
    }
    blocks.sort_by(|one, other| one.0.cmp(&other.0));
    Ok(blocks.into_iter().map(|(_, block)| block).collect())
}

/// By what tools are ordered: whether it is of an MCP server, then its name.
pub(crate) type ToolRank<'a> = (bool, Cow<'a, str>);

fn rank(name: Cow<'_, str>) -> ToolRank<'_> {
    (is_of_server(&name), name)
}

/// Whether a tool of this name comes from an MCP server.
pub(super) fn is_of_server(name: &str) -> bool {
    name.starts_with(MCP_PREFIX)
}

/// By what a tool, given as JSON, is ordered; anything without a name that is text as one of the empty
/// name.
pub(crate) fn tool_rank(tool: &str) -> ToolRank<'_> {
    let object = serde_json::from_str(tool).ok().and_then(|tool| Object::read(tool, PATH));
    let name = object.and_then(|object| object.string("name").ok().flatten());
    rank(name.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::harness::writer::write_list;

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
}
