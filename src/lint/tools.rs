//! How the tools of two requests differ: their order, their definitions, the set.

use serde_json::Value;

use super::rule::Rule;
use crate::difference::changed_field;

/// A difference between two tool lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ToolChange {
    pub(super) rule: Rule,
    /// The position in the later list.
    pub(super) position: usize,
    pub(super) detail: String,
    /// The same without names.
    pub(super) plain_detail: &'static str,
}

/// The differences between the tools of two requests, given by their canonical bytes.
pub(super) fn tool_changes(before: &[&str], after: &[&str]) -> Vec<ToolChange> {
    if before == after {
        return Vec::new();
    }
    let (old, new): (Vec<Tool<'_>>, Vec<Tool<'_>>) = (tools(before), tools(after));
    let mut changes = set_changes(&old, &new);
    let kept = |tools: &[Tool<'_>], others: &[Tool<'_>]| -> Vec<String> {
        let names = tools.iter().map(|tool| tool.name.clone());
        names.filter(|name| others.iter().any(|other| other.name == *name)).collect()
    };
    let (old_order, new_order) = (kept(&old, &new), kept(&new, &old));
    let moved = old_order.iter().zip(&new_order).find(|(old, new)| old != new);
    if let Some((old, name)) = moved {
        let position = new.iter().position(|tool| tool.name == *name).unwrap_or(0);
        let detail = format!("`{name}` stands where `{old}` stood");
        let plain_detail = "a tool stands where another one stood";
        changes.push(ToolChange { rule: Rule::ToolOrder, position, detail, plain_detail });
    }
    changes.extend(definition_changes(&old, &new));
    changes.sort_by_key(|change| change.position);
    changes
}

struct Tool<'a> {
    name: String,
    text: &'a str,
    value: Value,
}

/// The name of a tool, given by its canonical bytes.
pub(super) fn tool_name(text: &str) -> String {
    let value: Value = serde_json::from_str(text).unwrap_or_default();
    name_of(&value)
}

fn name_of(tool: &Value) -> String {
    tool["name"].as_str().unwrap_or("without a name").to_owned()
}

fn tools<'a>(texts: &[&'a str]) -> Vec<Tool<'a>> {
    let tool = |text: &&'a str| {
        let value: Value = serde_json::from_str(text).unwrap_or_default();
        Tool { name: name_of(&value), text, value }
    };
    texts.iter().map(tool).collect()
}

fn set_changes(old: &[Tool<'_>], new: &[Tool<'_>]) -> Vec<ToolChange> {
    let lacks = |tools: &[Tool<'_>], name: &str| tools.iter().all(|tool| tool.name != name);
    let gone = old.iter().filter(|tool| lacks(new, &tool.name));
    let come = new.iter().filter(|tool| lacks(old, &tool.name));
    let gone: Vec<String> = gone.map(|tool| format!("`{}` is gone", tool.name)).collect();
    let come: Vec<String> = come.map(|tool| format!("`{}` is new", tool.name)).collect();
    let words: Vec<String> = gone.into_iter().chain(come).collect();
    if words.is_empty() {
        return Vec::new();
    }
    let same = old.iter().zip(new).take_while(|(old, new)| old.name == new.name).count();
    let plain_detail = "tools came or went";
    vec![ToolChange { rule: Rule::ToolSet, position: same, detail: words.join(", "), plain_detail }]
}

fn definition_changes(old: &[Tool<'_>], new: &[Tool<'_>]) -> Vec<ToolChange> {
    let mut changes = Vec::new();
    for (position, tool) in new.iter().enumerate() {
        let Some(before) = old.iter().find(|before| before.name == tool.name) else { continue };
        if before.text == tool.text {
            continue;
        }
        changes.push(match changed_field(&before.value, &tool.value) {
            Some(field) => ToolChange {
                rule: Rule::ToolSchema,
                position,
                detail: format!("`{}`: {field} changed", tool.name),
                plain_detail: "a field changed",
            },
            None => ToolChange {
                rule: Rule::KeyOrder,
                position,
                detail: format!("`{}`: the same in other bytes", tool.name),
                plain_detail: "the same in other bytes",
            },
        });
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    const READ: &str = r#"{"name":"Read","input_schema":{"type":"object"}}"#;
    const BASH: &str = r#"{"name":"Bash","input_schema":{"type":"object"}}"#;

    fn rules(before: &[&str], after: &[&str]) -> Vec<(Rule, usize)> {
        tool_changes(before, after).iter().map(|change| (change.rule, change.position)).collect()
    }

    #[test]
    fn each_kind_of_change_is_named() {
        assert_eq!(rules(&[READ, BASH], &[READ, BASH]), []);
        assert_eq!(rules(&[READ, BASH], &[BASH, READ]), [(Rule::ToolOrder, 0)]);
        assert_eq!(rules(&[READ], &[READ, BASH]), [(Rule::ToolSet, 1)]);
        assert_eq!(rules(&[READ, BASH], &[BASH]), [(Rule::ToolSet, 0)]);
        let turned = r#"{"input_schema":{"type":"object"},"name":"Read"}"#;
        assert_eq!(rules(&[READ], &[turned]), [(Rule::KeyOrder, 0)]);
    }

    #[test]
    fn the_changed_field_is_named() {
        let other = r#"{"name":"Read","input_schema":{"type":"object","required":["path"]}}"#;
        let changes = tool_changes(&[READ], &[other]);
        assert_eq!(changes[0].detail, "`Read`: input_schema.required changed");
    }
}
