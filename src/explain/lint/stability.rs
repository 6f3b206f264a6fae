//! Differences between two consecutive requests of a chain before the end of the cached part, and the
//! rules that changed tools break: their order, their definitions, the set.

use super::volatile_text::changing_word;
use super::{Finding, Rule};
use crate::base::order::Order as _;
use crate::read::capture::WireNodeId;
use crate::requests::conversation::RequestIndex;
use crate::requests::difference::{
    Alteration, ByteDifference, PromptView, SAME_IN_OTHER_BYTES, Setting, ToolChange,
    ToolChangeKind, common_end, differing, first_difference, is_attribution, message_change,
    other_order, reordered, setting_changes, tool_changes, tool_name,
};

/// Largest difference of one word, in bytes.
const LONGEST_WORD: usize = 64;

/// Two requests; the earlier one left a part of its prompt in the cache.
pub(super) struct PromptPair<'a> {
    pub(super) before: &'a PromptView<'a>,
    pub(super) after: &'a PromptView<'a>,
    /// End of the earlier one's cached part, if any of it was cached.
    pub(super) cached_until: Option<WireNodeId>,
    /// Number of blocks of the later one's system prompt up to its last marker there.
    pub(super) marked_system: usize,
    /// True if the earlier messages come back, as they were or altered.
    pub(super) comes_back: bool,
    /// True if the model drops the thinking of turns before the last, whatever is sent.
    pub(super) drops_thinking: bool,
    /// Later request.
    pub(super) request: RequestIndex,
}

impl PromptPair<'_> {
    /// All differences, in the order of the prefix. Only the first one can have cost anything.
    pub(super) fn differences(&self) -> Vec<Finding> {
        // Every model has caches of its own, so no other difference matters.
        if self.before.model != self.after.model {
            return vec![Finding::of_model(self.request)];
        }
        let mut findings = self.tools();
        findings.extend(self.settings(self.before.system_settings, self.after.system_settings));
        findings.extend(self.system());
        let messages = self.messages();
        let (before, after) = (self.before.message_settings, self.after.message_settings);
        // Whether there is an image follows from the block that lost it.
        let is_of_block = messages.as_ref().is_some_and(|(_, alteration)| alteration.is_of_image());
        let settings = self.settings(before, after);
        findings
            .extend(settings.filter(|one| !(is_of_block && one.place == Setting::Images.name())));
        findings.extend(messages.map(|(finding, _)| finding));
        findings
    }

    /// Returns true if a part of the earlier prompt was cached. If nothing was, everything is examined, since
    /// it would matter with a cache.
    fn was_cached(&self, id: Option<WireNodeId>) -> bool {
        // Ids rise along a path.
        match (self.cached_until, id) {
            (Some(until), Some(id)) => id <= until,
            (None, _) => true,
            (Some(_), None) => false,
        }
    }

    fn finding(&self, rule: Rule, place: String, detail: String) -> Finding {
        Finding::new(rule, place, detail, self.request)
    }

    fn tools(&self) -> Vec<Finding> {
        let before = self.before.texts(&self.before.tools);
        let after = self.after.texts(&self.after.tools);
        let finding = |found: ToolFinding| {
            let place = match found.rule {
                Rule::ToolOrder | Rule::ToolSet => "tools".to_owned(),
                _ => format!("tools[{}]", found.position),
            };
            let mut finding = self.finding(found.rule, place, found.detail);
            finding.plain_detail = Some(found.plain_detail);
            let position = found.position;
            if let (Some(before), Some(after)) = (before.get(position), after.get(position)) {
                finding.difference = Some(ByteDifference::between(before, after));
            }
            finding
        };
        let is_felt = |found: &ToolFinding| {
            let id = self.before.tools.get(found.position).copied();
            self.was_cached(id.or(self.before.system_settings))
        };
        tool_findings(&before, &after).into_iter().filter(is_felt).map(finding).collect()
    }

    /// Difference in settings, if any.
    fn settings(&self, before: Option<WireNodeId>, after: Option<WireNodeId>) -> Option<Finding> {
        let id = before?;
        let (before, after) = (self.before.text(id), self.after.text(after?));
        let changes = setting_changes(before, after);
        if changes.is_empty() || !self.was_cached(Some(id)) {
            return None;
        }
        let names: Vec<&str> = changes.iter().map(|change| change.setting.name()).collect();
        let detail = format!("{} changed", names.join(", "));
        let mut finding = self.finding(Rule::SettingChanged, names.join(", "), detail);
        let [first, ..] = changes.as_slice() else { return None };
        let [before, after] = [first.before, first.after].map(shown_value);
        finding.difference = Some(ByteDifference::between(before, after));
        Some(finding)
    }

    fn system(&self) -> Vec<Finding> {
        let before = self.before.texts(&self.before.system);
        let after = self.after.texts(&self.after.system);
        let Some((old, new)) = differing(&before, &after) else { return Vec::new() };
        let same = new.start;
        let first = self.before.system.get(same).copied().or(self.before.message_settings);
        if !self.was_cached(first) {
            return Vec::new();
        }
        // Equal numbers of blocks are compared place by place. Other numbers leave no certain counterparts.
        if old.len() == new.len() {
            let changed = new.filter(|place| before[*place] != after[*place]);
            return changed
                .map(|place| self.system_block(place, before[place], after[place]))
                .collect();
        }
        let words = if new.is_empty() { "blocks are gone" } else { "blocks came, went or changed" };
        let detail = format!("{words}: {} before, {} now", before.len(), after.len());
        vec![self.finding(self.system_rule(same), format!("system[{same}]"), detail)]
    }

    fn system_block(&self, position: usize, before: &str, after: &str) -> Finding {
        let at = first_difference(before, after);
        let (rule, detail) = if is_attribution(before) && is_attribution(after) {
            (Rule::AttributionChanges, "the attribution line differs".to_owned())
        } else if let Some(alteration) = reordered(before, after) {
            (rule_of(alteration).unwrap_or(Rule::SystemChanged), alteration.to_string())
        } else {
            let (rule, detail) = match changing_word(before, after, at) {
                Some(Rule::Timestamp) => (Rule::Timestamp, "a moment differs"),
                Some(Rule::Counter) => (Rule::Counter, "a number differs"),
                Some(Rule::Hash) => (Rule::Hash, "a hash differs"),
                Some(rule) => (rule, "an id differs"),
                None => (self.system_rule(position), "the text differs"),
            };
            (rule, detail.to_owned())
        };
        let mut finding = self.finding(rule, format!("system[{position}]"), detail);
        finding.difference = Some(ByteDifference::between(before, after));
        finding
    }

    /// Rule for a changed block. A block before the last marker of the system prompt takes stable text
    /// with it.
    fn system_rule(&self, position: usize) -> Rule {
        if position < self.marked_system {
            Rule::DynamicBeforeBoundary
        } else {
            Rule::SystemChanged
        }
    }

    /// Difference of the first cached block that came back with other bytes, or not at all.
    fn messages(&self) -> Option<(Finding, Alteration)> {
        let blocks = &self.before.blocks;
        let cached = blocks.iter().take_while(|id| self.was_cached(Some(**id))).count();
        let change = message_change(self.before, self.after, cached)?;
        let alteration = change.alteration;
        let is_dropped = self.drops_thinking && alteration.is_of_earlier_thinking();
        if !self.comes_back || is_dropped || alteration.is_of_another_conversation() {
            return None;
        }
        let (old, new) = (blocks[change.position], self.after.blocks[change.position]);
        let (old, new) = (self.before.text(old), self.after.text(new));
        let is_same_block = alteration.has_counterpart() && old != new;
        let word = || {
            let at = first_difference(old, new);
            // The data of an image is no word.
            let is_text = is_same_block && !alteration.is_of_image();
            let is_word = is_text && is_one_word_apart(old, new, at);
            is_word.then(|| changing_word(old, new, at)).flatten()
        };
        let rule = rule_of(alteration).or_else(word).unwrap_or(Rule::HistoryRewritten);
        let mut finding = self.finding(rule, change.place, alteration.to_string());
        finding.difference = is_same_block.then(|| ByteDifference::between(old, new));
        Some((finding, alteration))
    }
}

/// Value of a setting as it is shown: that of one that is not given, or that spells its default out, is the default.
fn shown_value(canonical: &str) -> &str {
    if canonical == "null" { "the default" } else { canonical }
}

/// Rule of an alteration that keeps what is said, if it is one.
fn rule_of(alteration: Alteration) -> Option<Rule> {
    match alteration {
        Alteration::KeyOrder | Alteration::Spelling => Some(Rule::KeyOrder),
        Alteration::LineOrder | Alteration::WordOrder => Some(Rule::LineOrder),
        _ => None,
    }
}

/// Returns true if two texts agree again soon after their first difference.
fn is_one_word_apart(before: &str, after: &str, at: usize) -> bool {
    let (old, new) = (&before.as_bytes()[at..], &after.as_bytes()[at..]);
    old.len().max(new.len()) - common_end(old, new) <= LONGEST_WORD
}

/// Finding of a rule about two tool lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ToolFinding {
    pub(super) rule: Rule,
    /// Position in the later list.
    pub(super) position: usize,
    pub(super) detail: String,
    /// Description without names.
    pub(super) plain_detail: String,
}

/// Findings about the tools of two requests, given by their canonical bytes.
pub(super) fn tool_findings(before: &[&str], after: &[&str]) -> Vec<ToolFinding> {
    let changes = tool_changes(before, after);
    let mut findings: Vec<ToolFinding> = set_finding(&changes, before, after).into_iter().collect();
    findings.extend(changes.iter().filter_map(|change| finding(change, before, after)));
    findings.order_by_key(|finding| finding.position);
    findings
}

/// Finding for all tools that came or went, at the first name that differs.
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
    let plain_detail = "tools came or went".to_owned();
    Some(ToolFinding { rule: Rule::ToolSet, position, detail: words.join(", "), plain_detail })
}

fn finding(change: &ToolChange, before: &[&str], after: &[&str]) -> Option<ToolFinding> {
    let name = &change.name;
    let (rule, detail, plain_detail) = match &change.kind {
        ToolChangeKind::Gone | ToolChangeKind::New => return None,
        ToolChangeKind::Moved => {
            let other = tool_name(before[change.before?]);
            let detail = format!("`{name}` stands where `{other}` stood");
            (Rule::ToolOrder, detail, "a tool stands where another one stood".to_owned())
        }
        ToolChangeKind::Changed(field) => {
            if let Some(order) = other_order(before[change.before?], after[change.after?]) {
                (Rule::LineOrder, format!("`{name}`: {field}: {order}"), order.to_string())
            } else {
                let detail = format!("`{name}`: {field} changed");
                (Rule::ToolSchema, detail, "a field changed".to_owned())
            }
        }
        ToolChangeKind::Respelled => {
            let plain = SAME_IN_OTHER_BYTES.to_owned();
            (Rule::KeyOrder, format!("`{name}`: {plain}"), plain)
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
