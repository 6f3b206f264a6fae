//! How many prefixes there are in front of the conversations, and which conditionals multiply them.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::{FxHashMap, FxHashSet};

use super::finding::Finding;
use super::rule::Rule;
use super::trace::Trace;
use crate::capture::WireNodeId;
use crate::conversation::RequestIndex;
use crate::difference::{PromptView, tool_name};
use crate::id::Symbol;
use crate::units::Tokens;

/// What separates paragraphs in canonical bytes.
const BLANK_LINE: &str = r"\n\n";

/// How the canonical bytes of a text block begin and end.
const TEXT_BLOCK: (&str, &str) = (r#"{"type":"text","text":""#, r#""}"#);

/// More variants than this are no conditionals but text that changes every time.
const MOST_VARIANTS: usize = 64;

/// A prefix in front of conversations.
#[derive(Debug)]
struct Variant<'a> {
    first: RequestIndex,
    tools: Vec<&'a str>,
    /// The paragraphs in front of the boundary, with the places where each begins.
    paragraphs: Vec<(&'a str, String)>,
    end: Tokens,
}

/// Prompts that may be variants of one another: of one model, and of one agent.
type Family = (Symbol, Option<Symbol>);

/// The prefix variants of each model and agent.
pub(super) fn prefix_variants(trace: &Trace<'_>) -> Vec<Finding> {
    let mut known: FxHashSet<WireNodeId> = FxHashSet::default();
    let mut families: BTreeMap<Family, Vec<Variant<'_>>> = BTreeMap::new();
    for index in trace.indices() {
        let wire = trace.wire(index);
        let view = PromptView::new(trace.tree(), wire.leaf);
        let (front, last) = front(trace, &view, index);
        if !known.insert(last) {
            continue;
        }
        let variants = families.entry((wire.model, wire.agent)).or_default();
        if variants.len() < MOST_VARIANTS {
            variants.push(variant(trace, &view, index, front));
        }
    }
    let models = families.into_iter();
    models
        .filter_map(|((model, _), variants)| {
            finding(trace, trace.history.symbols.text(model), &related(variants))
        })
        .collect()
}

/// The blocks of the system prompt in front of the boundary, and where the whole front ends. The
/// boundary is the last marker of the system prompt, or its end where it has none.
fn front(trace: &Trace<'_>, view: &PromptView<'_>, index: RequestIndex) -> (usize, WireNodeId) {
    let marked = trace.marked_system_blocks(index);
    let blocks = if marked > 0 { marked } else { view.system.len() };
    let last = blocks.checked_sub(1).map(|last| view.system[last]);
    (blocks, last.or(view.tools.last().copied()).unwrap_or(view.model))
}

fn variant<'a>(
    trace: &Trace<'a>,
    view: &PromptView<'a>,
    index: RequestIndex,
    front: usize,
) -> Variant<'a> {
    let blocks = view.texts(&view.system[..front]).into_iter().enumerate();
    let last = view.system[..front].last().or(view.tools.last());
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
    fn size(&self) -> usize {
        self.tools.len() + self.paragraphs.len()
    }

    /// The positions of the paragraphs by their text.
    fn positions(&self) -> FxHashMap<&str, usize> {
        let texts = self.paragraphs.iter().enumerate();
        texts.map(|(position, (text, _))| (*text, position)).collect()
    }
}

/// The variants that have at least half in common with the longest: other prompts of the same model,
/// such as those of a side question, are no variants of it.
fn related(variants: Vec<Variant<'_>>) -> Vec<Variant<'_>> {
    let Some(longest) = variants.iter().max_by_key(|variant| variant.size()) else {
        return variants;
    };
    let size = longest.size();
    let tools: FxHashSet<String> = longest.tools.iter().map(|tool| tool_name(tool)).collect();
    let paragraphs: FxHashSet<String> =
        longest.paragraphs.iter().map(|(text, _)| (*text).to_owned()).collect();
    let common = |variant: &Variant<'_>| {
        let tools = variant.tools.iter().filter(|tool| tools.contains(&tool_name(tool))).count();
        let texts = variant.paragraphs.iter().filter(|(text, _)| paragraphs.contains(*text));
        tools + texts.count()
    };
    variants.into_iter().filter(|variant| common(variant) * 2 >= size).collect()
}

fn finding(trace: &Trace<'_>, model: &str, variants: &[Variant<'_>]) -> Option<Finding> {
    let second = variants.get(1)?;
    let tools = optional_tools(variants);
    let paragraphs = optional_paragraphs(variants);
    let count = tools.len() + paragraphs.len();
    // Text that is another one each time is no conditional.
    if count == 0 {
        return None;
    }
    let possible = u32::try_from(count).ok().and_then(|count| 2_u64.checked_pow(count));
    let possible = possible.map_or_else(String::new, |possible| format!(" = {possible}"));
    let seen = format!("{} prefixes of {model} seen, 2^{count}{possible} possible", variants.len());
    let named: Vec<String> = tools.into_iter().chain(paragraphs.iter().cloned()).collect();
    let place = "in front of the messages".to_owned();
    let detail = format!("{seen}; conditional: {}", named.join(", "));
    let mut finding = Finding::new(Rule::PrefixVariants, place, detail, second.first);
    let places: Vec<String> = paragraphs.into_iter().collect();
    finding.plain_detail = Some(format!("{seen}; conditional: tools, {}", places.join(", ")));
    finding.requests = variants.len() as u64 - 1;
    for (number, variant) in variants.iter().enumerate().skip(1) {
        let (from, to) = lost(trace, &variants[..number], variant);
        finding.tokens += to.saturating_sub(from);
        let cost = trace.rewrite_cost(variant.first, from, from.max(to));
        finding.cost = finding.cost.zip(cost).map(|(one, other)| one + other);
    }
    Some(finding)
}

/// The stretch that a conversation's first request had to write for a variant of its own, although
/// another variant was there to be read. What happens within a conversation is a change, with a
/// price of its own.
fn lost(trace: &Trace<'_>, earlier: &[Variant<'_>], variant: &Variant<'_>) -> (Tokens, Tokens) {
    let index = variant.first;
    let is_opening = trace.history.request(index).predecessor.is_none();
    let is_marked = !trace.effective(index).is_empty();
    let is_warm = earlier.iter().any(|other| trace.is_readable_from(other.first, index));
    let read = trace.outcome(index).read;
    if is_opening && is_marked && is_warm { (read, variant.end) } else { (read, read) }
}

/// The tools that some variants have and others lack.
fn optional_tools(variants: &[Variant<'_>]) -> BTreeSet<String> {
    let names = |variant: &Variant<'_>| variant.tools.iter().map(|tool| tool_name(tool)).collect();
    let sets: Vec<BTreeSet<String>> = variants.iter().map(names).collect();
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
    let known = variant.positions();
    let positions: Vec<Option<usize>> =
        longest.paragraphs.iter().map(|(text, _)| known.get(text).copied()).collect();
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
