//! Which rules the tools of two requests touch: their order, their definitions, the set.

use super::rule::Rule;
use crate::requests::difference::{
    SAME_IN_OTHER_BYTES, ToolChange, ToolChangeKind, tool_changes, tool_name,
};

/// What a rule has to say of two tool lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ToolFinding {
    pub(super) rule: Rule,
    /// The position in the later list.
    pub(super) position: usize,
    pub(super) detail: String,
    /// The same without names.
    pub(super) plain_detail: &'static str,
}

/// What there is to say of the tools of two requests, given by their canonical bytes.
pub(super) fn tool_findings(before: &[&str], after: &[&str]) -> Vec<ToolFinding> {
    let changes = tool_changes(before, after);
    let mut findings: Vec<ToolFinding> = set_finding(&changes, before, after).into_iter().collect();
    findings.extend(changes.iter().filter_map(|change| finding(change, before)));
    findings.sort_by_key(|finding| finding.position);
    findings
}

/// One finding for all tools that came or went, where the names begin to differ.
fn set_finding(changes: &[ToolChange], before: &[&str], after: &[&str]) -> Option<ToolFinding> {
    let named = |kind: ToolChangeKind, words: &'static str| {
        let such = changes.iter().filter(move |change| change.kind == kind);
        such.map(move |change| format!("`{}` {words}", change.name))
    };
    let words: Vec<String> = named(ToolChangeKind::Gone, "is gone")
        .chain(named(ToolChangeKind::New, "is new"))
        .collect();
    if words.is_empty() {
        return None;
    }
    let pairs = before.iter().zip(after);
    let position = pairs.take_while(|(old, new)| tool_name(old) == tool_name(new)).count();
    let plain_detail = "tools came or went";
    Some(ToolFinding { rule: Rule::ToolSet, position, detail: words.join(", "), plain_detail })
}

fn finding(change: &ToolChange, before: &[&str]) -> Option<ToolFinding> {
    let name = &change.name;
    let (rule, detail, plain_detail) = match &change.kind {
        ToolChangeKind::Gone | ToolChangeKind::New => return None,
        ToolChangeKind::Moved => {
            let other = tool_name(before[change.before?]);
            let detail = format!("`{name}` stands where `{other}` stood");
            (Rule::ToolOrder, detail, "a tool stands where another one stood")
        }
        ToolChangeKind::Changed(field) => {
            (Rule::ToolSchema, format!("`{name}`: {field} changed"), "a field changed")
        }
        ToolChangeKind::Respelled => {
            (Rule::KeyOrder, format!("`{name}`: {SAME_IN_OTHER_BYTES}"), SAME_IN_OTHER_BYTES)
        }
    };
    Some(ToolFinding { rule, position: change.position(), detail, plain_detail })
}

#[cfg(test)]
mod tests {
    use super::*;

    const READ: &str = r#"{"name":"Read","input_schema":{"type":"object"}}"#;
    const BASH: &str = r#"{"name":"Bash","input_schema":{"type":"object"}}"#;

    fn rules(before: &[&str], after: &[&str]) -> Vec<(Rule, usize)> {
        let findings = tool_findings(before, after);
        findings.iter().map(|finding| (finding.rule, finding.position)).collect()
    }

    #[test]
    fn each_kind_of_change_has_its_rule() {
        assert_eq!(rules(&[READ, BASH], &[READ, BASH]), []);
        assert_eq!(rules(&[READ, BASH], &[BASH, READ]), [(Rule::ToolOrder, 0)]);
        assert_eq!(rules(&[READ], &[READ, BASH]), [(Rule::ToolSet, 1)]);
        assert_eq!(rules(&[READ, BASH], &[BASH]), [(Rule::ToolSet, 0)]);
        let turned = r#"{"input_schema":{"type":"object"},"name":"Read"}"#;
        assert_eq!(rules(&[READ], &[turned]), [(Rule::KeyOrder, 0)]);
    }

    #[test]
    fn tools_are_named_with_what_became_of_them() {
        let other = r#"{"name":"Read","input_schema":{"type":"object","required":["path"]}}"#;
        let detail =
            |before: &[&str], after: &[&str]| tool_findings(before, after)[0].detail.clone();
        assert_eq!(detail(&[READ], &[other]), "`Read`: input_schema.required changed");
        assert_eq!(detail(&[READ], &[BASH]), "`Read` is gone, `Bash` is new");
        assert_eq!(detail(&[READ, BASH], &[BASH, READ]), "`Bash` stands where `Read` stood");
    }
}
