//! Weights of the parts of a prompt, counted from its bytes alone, sent or not.

use serde::Serialize;

use crate::base::{ByKey, Order as _, Tokens, words};
use crate::read::capture::{BlockKind, Part, WireRequest};
use crate::requests::conversation::History;
use crate::requests::difference::{PromptView, tool_name};

words! {
    /// Division of a prompt.
    #[derive(Default)]
    pub enum Division {
        /// By kind of part: tools, system prompt, texts, calls, results.
        #[default]
        Part = "part";
        /// By the tools it defines.
        Tool = "tool";
        /// By the servers of these tools.
        Server = "server";
        /// By block, in the order of the prompt.
        Block = "block";
    }
}

/// One part of a prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Weight {
    /// Name of the part.
    pub name: String,
    /// Number of pieces in it.
    pub pieces: u64,
    /// Size in tokens.
    pub tokens: Tokens,
}

/// Weights of a prompt and of its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weights {
    /// Tokens of the whole prompt.
    pub total: Tokens,
    /// Parts asked for: of the whole prompt or of its tools alone, heaviest first; blocks in their order.
    pub parts: Vec<Weight>,
}

/// Name of the part that the service writes around tools.
const TOOLS_PROMPT: &str = "the service's prompt for tools";

/// Name of the part with the tools of no server.
const OWN_TOOLS: &str = "no MCP server";

/// Weighs the prompt of a captured request.
pub fn weigh(history: &History, wire: &WireRequest, division: Division) -> Weights {
    let tree = &history.captured.tree;
    let view = PromptView::new(tree, wire.leaf);
    let mut path: Vec<_> = tree.path(wire.leaf).collect();
    path.reverse();
    let total = path.iter().map(|id| Tokens(tree.node(*id).tokens)).sum();
    let mut parts: Vec<Weight> = Vec::new();
    let mut places: ByKey<String, usize> = ByKey::new();
    for id in path {
        let node = tree.node(id);
        let name = match division {
            Division::Tool => of_tools(node.part, || tool_name(view.text(id))),
            Division::Server => of_tools(node.part, || server_of(&tool_name(view.text(id)))),
            Division::Block if node.part.is_block() => Some(view.place(id)),
            Division::Block | Division::Part => Some(part_name(node.part, node.kind).to_owned()),
        };
        // Without tokens a part would be an empty row.
        let Some(name) = name.filter(|_| node.tokens > 0) else { continue };
        let place = *places.entry(name.clone()).or_insert(parts.len());
        if place == parts.len() {
            parts.push(Weight { name, pieces: 0, tokens: Tokens::ZERO });
        }
        parts[place].pieces += 1;
        parts[place].tokens += Tokens(node.tokens);
    }
    if division != Division::Block {
        parts.order_by_key(|part| std::cmp::Reverse(part.tokens));
    }
    Weights { total, parts }
}

fn of_tools(part: Part, name: impl FnOnce() -> String) -> Option<String> {
    match part {
        Part::Tool => Some(name()),
        Part::SystemSettings => Some(TOOLS_PROMPT.to_owned()),
        _ => None,
    }
}

/// MCP server of a tool, by the tool's name: `mcp__SERVER__TOOL`.
fn server_of(tool: &str) -> String {
    let server = tool.strip_prefix("mcp__").and_then(|rest| rest.split_once("__"));
    server.map_or(OWN_TOOLS, |(server, _)| server).to_owned()
}

fn part_name(part: Part, kind: BlockKind) -> &'static str {
    match (part, kind) {
        (Part::Model, _) => "the frame of the prompt",
        (Part::Tool, _) => "tools",
        (Part::SystemSettings, _) => TOOLS_PROMPT,
        (Part::System, _) => "system prompt",
        (Part::MessageSettings, _) => "settings",
        (_, BlockKind::Tool | BlockKind::Other) => "texts",
        (_, BlockKind::Answer) => "answers",
        (_, BlockKind::ToolUse) => "calls",
        (_, BlockKind::ToolResult) => "results",
        (_, BlockKind::Thinking) => "thinking",
        (_, BlockKind::Media) => "images and documents",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_named_by_their_tools() {
        assert_eq!(server_of("mcp__github__search_issues"), "github");
        assert_eq!(server_of("mcp__plugin_a_b__do__it"), "plugin_a_b");
        assert_eq!(server_of("Read"), OWN_TOOLS);
        assert_eq!(server_of("mcp__odd"), OWN_TOOLS);
    }
}
