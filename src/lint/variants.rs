//! How many prefixes there are in front of the conversations, and which conditionals multiply them.

use std::collections::{BTreeMap, BTreeSet};

use super::finding::Finding;
use super::markers::marked_system_blocks;
use super::rule::Rule;
use super::trace::Trace;
use super::view::PromptView;
use crate::conversation::RequestIndex;
use crate::units::{Picodollars, Tokens};

/// What separates paragraphs in canonical bytes.
const BLANK_LINE: &str = r"\n\n";

/// How the canonical bytes of a text block begin and end.
const TEXT_BLOCK: (&str, &str) = (r#"{"type":"text","text":""#, r#""}"#);

/// A prefix in front of conversations.
#[derive(Debug)]
struct Variant<'a> {
    first: RequestIndex,
    tools: Vec<&'a str>,
    /// The paragraphs in front of the boundary, with the places where each begins.
    paragraphs: Vec<(&'a str, String)>,
    end: Tokens,
}

/// The prefix variants of each model.
pub(super) fn prefix_variants(trace: &Trace<'_>) -> Vec<Finding> {
    let mut by_model: BTreeMap<&str, Vec<Variant<'_>>> = BTreeMap::new();
    for index in trace.indices() {
        let view = PromptView::new(trace.tree(), trace.wire(index).leaf);
        let variant = variant(trace, &view, index);
        let variants = by_model.entry(view.text(view.model)).or_default();
        if !variants.iter().any(|known| known.is_same(&variant)) {
            variants.push(variant);
        }
    }
    by_model.into_iter().filter_map(|(model, variants)| finding(trace, model, &variants)).collect()
}

/// The boundary is the last marker of the system prompt, or its end where it has none.
fn variant<'a>(trace: &Trace<'a>, view: &PromptView<'a>, index: RequestIndex) -> Variant<'a> {
    let marked = marked_system_blocks(trace, index);
    let boundary = if marked > 0 { marked } else { view.system.len() };
    let front = &view.system[..boundary];
    let last = front.last().or(view.tools.last());
    let blocks = view.texts(front).into_iter().enumerate();
    Variant {
        first: index,
        tools: view.texts(&view.tools),
        paragraphs: blocks.flat_map(|(block, text)| paragraphs(block, text)).collect(),
        end: last.map_or(Tokens::ZERO, |id| trace.end(*id)),
    }
}

fn paragraphs(block: usize, bytes: &str) -> impl Iterator<Item = (&str, String)> {
    let inside = bytes.strip_prefix(TEXT_BLOCK.0).and_then(|rest| rest.strip_suffix(TEXT_BLOCK.1));
    let start = inside.map_or(0, |_| TEXT_BLOCK.0.len());
    inside.unwrap_or(bytes).split(BLANK_LINE).scan(start, move |position, paragraph| {
        let place = format!("system[{block}] from byte {position}");
        *position += paragraph.len() + BLANK_LINE.len();
        Some((paragraph, place))
    })
}

impl Variant<'_> {
    fn is_same(&self, other: &Self) -> bool {
        let texts = |variant: &Self| -> Vec<String> {
            variant.paragraphs.iter().map(|(text, _)| (*text).to_owned()).collect()
        };
        self.tools == other.tools && texts(self) == texts(other)
    }

    fn position(&self, paragraph: &str) -> Option<usize> {
        self.paragraphs.iter().position(|(text, _)| *text == paragraph)
    }
}

fn finding(trace: &Trace<'_>, model: &str, variants: &[Variant<'_>]) -> Option<Finding> {
    let second = variants.get(1)?;
    let mut conditionals = optional_tools(variants);
    conditionals.extend(optional_paragraphs(variants));
    // Text that is another one each time is no conditional.
    if conditionals.is_empty() {
        return None;
    }
    let count = conditionals.len();
    let possible = u32::try_from(count).ok().and_then(|count| 2_u64.checked_pow(count));
    let possible = possible.map_or_else(String::new, |possible| format!(" = {possible}"));
    let conditionals: Vec<String> = conditionals.into_iter().collect();
    let detail = format!(
        "{} prefixes of {model} seen, 2^{count}{possible} possible; conditional: {}",
        variants.len(),
        conditionals.join(", "),
    );
    let place = "in front of the messages".to_owned();
    let mut finding = Finding::new(Rule::PrefixVariants, place, detail, second.first);
    finding.requests = variants.len() as u64 - 1;
    finding.tokens = variants[1..].iter().map(|variant| variant.end).sum();
    finding.cost = variants[1..]
        .iter()
        .map(|variant| trace.rewrite_cost(variant.first, variant.end))
        .sum::<Option<Picodollars>>();
    Some(finding)
}

/// The tools that some variants have and others lack.
fn optional_tools(variants: &[Variant<'_>]) -> BTreeSet<String> {
    let name = |tool: &&str| {
        let tool: serde_json::Value = serde_json::from_str(tool).unwrap_or_default();
        tool["name"].as_str().unwrap_or("without a name").to_owned()
    };
    let sets: Vec<BTreeSet<String>> =
        variants.iter().map(|variant| variant.tools.iter().map(name).collect()).collect();
    let is_optional = |tool: &&String| sets.iter().any(|set| !set.contains(*tool));
    sets.iter().flatten().filter(is_optional).map(|tool| format!("tool `{tool}`")).collect()
}

/// The paragraphs of the longest variant that another one lacks, with nothing in their place.
fn optional_paragraphs(variants: &[Variant<'_>]) -> BTreeSet<String> {
    let Some(longest) = variants.iter().max_by_key(|variant| variant.paragraphs.len()) else {
        return BTreeSet::new();
    };
    let missing = variants.iter().flat_map(|variant| missing_from(variant, longest));
    missing.cloned().collect()
}

fn missing_from<'v>(variant: &Variant<'_>, longest: &'v Variant<'_>) -> Vec<&'v String> {
    let positions: Vec<Option<usize>> =
        longest.paragraphs.iter().map(|(text, _)| variant.position(text)).collect();
    let is_gap = |index: usize| {
        let before = positions[..index].iter().rev().find_map(|position| *position);
        let after = positions[index + 1..].iter().find_map(|position| *position);
        let next = before.map_or(0, |before| before + 1);
        after.unwrap_or(variant.paragraphs.len()) == next
    };
    let missing =
        (0..positions.len()).filter(|index| positions[*index].is_none() && is_gap(*index));
    missing.map(|index| &longest.paragraphs[index].1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variant(texts: &'static [&'static str]) -> Variant<'static> {
        let paragraphs = texts.iter().map(|text| (*text, format!("at {text}"))).collect();
        let first = RequestIndex(0);
        Variant { first, tools: Vec::new(), paragraphs, end: Tokens::ZERO }
    }

    #[test]
    fn what_is_missing_is_conditional_and_what_differs_is_not() {
        let optional = |variants: &[Variant<'_>]| -> Vec<String> {
            optional_paragraphs(variants).into_iter().collect()
        };
        let (all, without) = (variant(&["a", "b", "c"]), variant(&["a", "c"]));
        assert_eq!(optional(&[all, without]), ["at b"]);
        let (old, new) = (variant(&["a", "now 1", "c"]), variant(&["a", "now 2", "c"]));
        assert!(optional(&[old, new]).is_empty());
        let (all, last) = (variant(&["a", "b", "c"]), variant(&["a", "b"]));
        assert_eq!(optional(&[all, last, variant(&["b", "c"])]), ["at a", "at c"]);
    }
}
