//! Differences between the tools of two requests (new, gone, moved, changed), and between their system
//! prompts.

use rustc_hash::FxHashMap;
use serde::Deserialize;
use serde_json::Value;

use super::altered::reordered;
use super::view::changed_field;
use super::{Difference, DifferenceKind, Pair, differing};
use crate::base::Order as _;
use crate::read::capture::ATTRIBUTION;
use crate::read::input::{Text, only_value};

/// Way in which a tool differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ToolChangeKind {
    /// Tool that is gone.
    Gone,
    /// Tool that is new.
    New,
    /// Tool in the place of another one. Only the first such tool is listed.
    Moved,
    /// Changed field of the definition, by its name.
    Changed(String),
    /// Definition with the same content in other bytes.
    Respelled,
}

/// Difference between two tool lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ToolChange {
    pub(crate) kind: ToolChangeKind,
    pub(crate) name: String,
    /// Position in the earlier list. For a moved tool, the position of the tool that it displaced.
    pub(crate) before: Option<usize>,
    /// Position in the later list.
    pub(crate) after: Option<usize>,
}

impl ToolChange {
    /// Position at which the difference takes effect.
    pub(crate) fn position(&self) -> usize {
        self.after.or(self.before).unwrap_or(0)
    }
}

/// Name of a tool, from its canonical bytes.
pub(crate) fn tool_name(text: &str) -> String {
    name_of(&parsed(text))
}

/// Differences between the tools of two requests, in the order of the prefix.
///
/// Tools are given by their canonical bytes. There is a difference exactly if the lists differ, and the first
/// one is at the first place that differs.
pub(crate) fn tool_changes(before: &[&str], after: &[&str]) -> Vec<ToolChange> {
    if before == after {
        return Vec::new();
    }
    let (old, new) = (ToolList::read(before), ToolList::read(after));
    let gone = missing(&old, &new).map(|(position, name)| ToolChange {
        kind: ToolChangeKind::Gone,
        name,
        before: Some(position),
        after: None,
    });
    let come = missing(&new, &old).map(|(position, name)| ToolChange {
        kind: ToolChangeKind::New,
        name,
        before: None,
        after: Some(position),
    });
    let mut changes: Vec<ToolChange> = gone.chain(come).collect();
    changes.extend(moved(&old, &new));
    changes.extend(redefined(&old, &new));
    changes.order_by_key(ToolChange::position);
    changes
}

/// Name, with the number of earlier tools of the same name: names can repeat.
type Key = (String, usize);

struct Tool<'a> {
    key: Key,
    text: &'a str,
    value: Value,
}

struct ToolList<'a> {
    tools: Vec<Tool<'a>>,
    positions: FxHashMap<Key, usize>,
}

impl<'a> ToolList<'a> {
    fn read(texts: &[&'a str]) -> Self {
        let mut list = Self { tools: Vec::new(), positions: FxHashMap::default() };
        let mut seen: FxHashMap<String, usize> = FxHashMap::default();
        for (position, text) in texts.iter().enumerate() {
            let value = parsed(text);
            let name = name_of(&value);
            let count = seen.entry(name.clone()).or_default();
            let key = (name, *count);
            *count += 1;
            list.positions.insert(key.clone(), position);
            list.tools.push(Tool { key, text, value });
        }
        list
    }

    fn position(&self, tool: &Tool<'_>) -> Option<usize> {
        self.positions.get(&tool.key).copied()
    }

    /// Positions of the tools that another list has as well.
    fn kept<'l>(&'l self, other: &'l Self) -> impl Iterator<Item = usize> + 'l {
        let is_kept = |position: &usize| other.position(&self.tools[*position]).is_some();
        (0..self.tools.len()).filter(is_kept)
    }
}

fn parsed(text: &str) -> Value {
    only_value(text).unwrap_or_default()
}

fn name_of(tool: &Value) -> String {
    tool["name"].as_str().unwrap_or("without a name").to_owned()
}

/// Tools that another list lacks, by position and name.
fn missing(list: &ToolList<'_>, other: &ToolList<'_>) -> impl Iterator<Item = (usize, String)> {
    let tools = list.tools.iter().enumerate();
    let missing = tools.filter(|(_, tool)| other.position(tool).is_none());
    missing.map(|(position, tool)| (position, tool.key.0.clone()))
}

/// First tool, among those in both lists, that is in the place of another one.
fn moved(old: &ToolList<'_>, new: &ToolList<'_>) -> Option<ToolChange> {
    // Without the new and the missing tools, equal orders pair equal keys.
    let mut pairs = old.kept(new).zip(new.kept(old));
    let (before, after) =
        pairs.find(|(one, other)| old.tools[*one].key != new.tools[*other].key)?;
    Some(ToolChange {
        kind: ToolChangeKind::Moved,
        name: new.tools[after].key.0.clone(),
        before: Some(before),
        after: Some(after),
    })
}

fn redefined(old: &ToolList<'_>, new: &ToolList<'_>) -> Vec<ToolChange> {
    let change = |(position, tool): (usize, &Tool<'_>)| {
        let before = old.position(tool)?;
        let earlier = &old.tools[before];
        if earlier.text == tool.text {
            return None;
        }
        let kind = match changed_field(&earlier.value, &tool.value) {
            Some(field) => ToolChangeKind::Changed(field),
            None => ToolChangeKind::Respelled,
        };
        let name = tool.key.0.clone();
        Some(ToolChange { kind, name, before: Some(before), after: Some(position) })
    };
    new.tools.iter().enumerate().filter_map(change).collect()
}

/// Returns true if a text block of the system prompt is the client's attribution line.
pub(crate) fn is_attribution(text: &str) -> bool {
    text.contains(ATTRIBUTION)
}

/// Field of a text block that the attribution line is read from.
#[derive(Default, Deserialize)]
#[serde(default)]
struct TextBlock<'a> {
    #[serde(borrow)]
    text: Text<'a>,
}

/// Returns true if a block of the system prompt, given by its canonical bytes, begins with the client's
/// attribution line.
pub(crate) fn begins_with_attribution(block: &str) -> bool {
    let read = || only_value::<TextBlock<'_>>(block).unwrap_or_default();
    // The search in the raw bytes is cheap, and rules out nearly all blocks before any JSON is parsed.
    is_attribution(block) && read().text.as_str().is_some_and(|text| text.starts_with(ATTRIBUTION))
}

/// Differences of the changed blocks, or one difference for all if the number of blocks differs.
pub(super) fn system_differences(pair: Pair<'_>) -> Vec<Difference> {
    let before = pair.before.texts(&pair.before.system);
    let after = pair.after.texts(&pair.after.system);
    let Some((old, new)) = differing(&before, &after) else { return Vec::new() };
    if old.len() == new.len() {
        let changed = new.filter(|place| before[*place] != after[*place]);
        return changed
            .map(|place| {
                let (before, after) = (before[place], after[place]);
                if is_attribution(before) && is_attribution(after) {
                    let detail = "the attribution line differs";
                    return block_difference(pair, DifferenceKind::Attribution, place, detail);
                }
                let detail = "the text differs";
                block_difference(pair, DifferenceKind::SystemPrompt, place, detail)
                    .altered(reordered(before, after))
            })
            .collect();
    }
    let detail = format!("{} blocks before, {} now", before.len(), after.len());
    vec![block_difference(pair, DifferenceKind::SystemPrompt, new.start, detail)]
}

fn block_difference(
    pair: Pair<'_>,
    kind: DifferenceKind,
    place: usize,
    detail: impl Into<String>,
) -> Difference {
    let (before, after) = (pair.before.system.get(place), pair.after.system.get(place));
    Difference::new(kind, format!("system[{place}]"), detail)
        .between(before.copied(), after.copied())
        .with_bytes(before.map(|id| pair.before.text(*id)), after.map(|id| pair.after.text(*id)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const READ: &str = r#"{"name":"Read","input_schema":{"type":"object"}}"#;
    const BASH: &str = r#"{"name":"Bash","input_schema":{"type":"object"}}"#;
    const EDIT: &str = r#"{"name":"Edit","input_schema":{"type":"object"}}"#;

    type Place = (ToolChangeKind, Option<usize>, Option<usize>);

    fn changes(before: &[&str], after: &[&str]) -> Vec<Place> {
        let changes = tool_changes(before, after).into_iter();
        changes.map(|change| (change.kind, change.before, change.after)).collect()
    }

    #[test]
    fn each_kind_of_change_is_named_with_its_places() {
        use ToolChangeKind::{Changed, Gone, Moved, New, Respelled};
        assert_eq!(changes(&[READ, BASH], &[READ, BASH]), []);
        assert_eq!(changes(&[READ, BASH], &[BASH, READ]), [(Moved, Some(0), Some(0))]);
        assert_eq!(changes(&[READ], &[READ, BASH]), [(New, None, Some(1))]);
        assert_eq!(changes(&[READ, BASH], &[BASH]), [(Gone, Some(0), None)]);
        let turned = r#"{"input_schema":{"type":"object"},"name":"Read"}"#;
        assert_eq!(changes(&[READ], &[turned]), [(Respelled, Some(0), Some(0))]);
        let other = r#"{"name":"Read","input_schema":{"type":"object","required":["path"]}}"#;
        let field = Changed("input_schema.required".to_owned());
        assert_eq!(changes(&[READ], &[other]), [(field, Some(0), Some(0))]);
    }

    #[test]
    fn several_changes_come_in_the_order_of_the_prefix() {
        use ToolChangeKind::{Gone, Moved, New};
        let expected = [(New, None, Some(0)), (Gone, Some(1), None), (Moved, Some(0), Some(1))];
        assert_eq!(changes(&[READ, EDIT, BASH], &["{}", BASH, READ]), expected);
    }

    #[test]
    fn tools_of_one_name_are_told_apart_by_their_order() {
        let other = r#"{"name":"Read","input_schema":{}}"#;
        assert_eq!(changes(&[READ], &[READ, READ]), [(ToolChangeKind::New, None, Some(1))]);
        let field = ToolChangeKind::Changed("input_schema.type".to_owned());
        assert_eq!(changes(&[READ, READ], &[READ, other]), [(field, Some(1), Some(1))]);
    }
}
