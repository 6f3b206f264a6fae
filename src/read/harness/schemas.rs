//! The definitions of tools that a session has sent (Claude Code 2.1.88, as documented): each keeps
//! the bytes of its first appearance, so that a description that changes later does not change the
//! prefix. A tool of an MCP server is known by its name and its input schema, any other by its name.

use rustc_hash::FxHashMap;

use super::block::Block;
use super::marker::CACHE_CONTROL;
use super::raw::{Member, Object};
use super::tool::is_of_server;
use super::writer::write_object;

/// Whether a tool is sent in front or found by a search; told anew for each request.
const DEFER_LOADING: &str = "defer_loading";

/// Keys and values, as JSON.
type Members = Vec<(String, String)>;

/// The definitions that a session has sent.
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

/// What a definition is known by; nothing where it has no name.
fn key(tool: &Object<'_>) -> Option<String> {
    let name = tool.string("name").ok().flatten()?;
    let schema = tool.get("input_schema").filter(|_| is_of_server(&name));
    // A name has no line end.
    Some(format!("{name}\n{}", schema.map_or("", |schema| schema.get())))
}

/// What the session keeps of a definition.
fn fixed(tool: &Object<'_>) -> impl Iterator<Item = (String, String)> {
    let is_fixed = |member: &&Member<'_>| !member.is(DEFER_LOADING) && !member.is(CACHE_CONTROL);
    let members = tool.members.iter().filter(is_fixed);
    members.map(|member| (member.key.get().to_owned(), member.value.get().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

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
