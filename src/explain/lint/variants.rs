//! How many prefixes there are in front of the conversations, and which conditionals multiply them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::{FxHashMap, FxHashSet};

use super::conditionals::{Conditional, Having, Part, conditionals};
use super::finding::Finding;
use super::rule::Rule;
use super::trace::Trace;
use crate::base::id::Symbol;
use crate::base::units::Tokens;
use crate::read::capture::{ATTRIBUTION, WireNodeId};
use crate::read::harness::IDENTITIES;
use crate::requests::conversation::RequestIndex;
use crate::requests::difference::{PromptView, tool_name};

/// What separates paragraphs in canonical bytes.
const BLANK_LINE: &str = r"\n\n";

/// How the canonical bytes of a text block begin and end, in either order of its keys.
const TEXT_BLOCKS: [(&str, &str); 2] =
    [(r#"{"type":"text","text":""#, r#""}"#), (r#"{"text":""#, r#"","type":"text"}"#)];

/// More variants than this are no conditionals but text that changes every time.
const MOST_VARIANTS: usize = 64;

/// A prefix in front of conversations.
#[derive(Debug)]
struct Variant<'a> {
    first: RequestIndex,
    /// Whether a request had it again that did not go on from one that had it.
    has_returned: bool,
    tools: Vec<&'a str>,
    /// The paragraphs in front of the boundary, with the places where each begins.
    paragraphs: Vec<(&'a str, String)>,
    end: Tokens,
}

/// Prompts that may be variants of one another: of one model, and of one agent.
type Family = (Symbol, Option<Symbol>);

/// The prefix variants of each model and agent.
pub(super) fn prefix_variants(trace: &Trace<'_>) -> Vec<Finding> {
    let mut fronts: FxHashMap<RequestIndex, WireNodeId> = FxHashMap::default();
    let mut known: FxHashMap<(Family, WireNodeId), usize> = FxHashMap::default();
    let mut families: BTreeMap<Family, Vec<Variant<'_>>> = BTreeMap::new();
    for index in trace.indices() {
        let wire = trace.wire(index);
        let family = (wire.model, wire.agent);
        let view = PromptView::new(trace.tree(), wire.leaf);
        let (front, last) = front(trace, &view, index);
        fronts.insert(index, last);
        let variants = families.entry(family).or_default();
        if let Some(number) = known.get(&(family, last)) {
            let predecessor = trace.history.request(index).predecessor;
            let before = predecessor.and_then(|predecessor| fronts.get(&predecessor));
            variants[*number].has_returned |= before != Some(&last);
        } else if variants.len() < MOST_VARIANTS {
            known.insert((family, last), variants.len());
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
        has_returned: false,
        tools: view.texts(&view.tools),
        paragraphs: blocks.flat_map(|(block, text)| paragraphs(block, text)).collect(),
        end: last.map_or(Tokens::ZERO, |id| trace.end(*id)),
    }
}

fn paragraphs(block: usize, bytes: &str) -> impl Iterator<Item = (&str, String)> {
    let inside = TEXT_BLOCKS.iter().find_map(|(start, end)| {
        Some((start.len(), bytes.strip_prefix(start)?.strip_suffix(end)?))
    });
    let (start, inside) = inside.unwrap_or((0, bytes));
    inside.split(BLANK_LINE).scan(start, move |position, paragraph| {
        let place = format!("system[{block}] from byte {position}");
        *position += paragraph.len() + BLANK_LINE.len();
        Some((paragraph, place))
    })
}

impl Variant<'_> {
    /// What it can have in common with others: names of tools, and paragraphs but for those that only
    /// say what the client is.
    fn parts(&self) -> FxHashSet<String> {
        let tools = self.tools.iter().map(|tool| format!("tool {}", tool_name(tool)));
        let says_something = |text: &&str| !is_identity(text);
        let texts = self.paragraphs.iter().map(|(text, _)| *text).filter(says_something);
        tools.chain(texts.map(|text| format!("text {text}"))).collect()
    }
}

/// Whether a paragraph is in every prompt of the client, whatever it is for.
fn is_identity(paragraph: &str) -> bool {
    paragraph.starts_with(ATTRIBUTION) || IDENTITIES.contains(&paragraph)
}

/// The largest variant and those that have, with it or with another of these, most of the smaller
/// one's parts in common: a variant without any of the conditional parts is one, another prompt of
/// the same model, such as that of a side question, is none.
fn related(variants: Vec<Variant<'_>>) -> Vec<Variant<'_>> {
    let parts: Vec<FxHashSet<String>> = variants.iter().map(Variant::parts).collect();
    let Some(largest) = (0..parts.len()).rev().max_by_key(|number| parts[*number].len()) else {
        return variants;
    };
    let is_near = |one: usize, other: usize| {
        let common = parts[one].intersection(&parts[other]).count();
        common * 2 > parts[one].len().min(parts[other].len())
    };
    let mut is_related = vec![false; parts.len()];
    is_related[largest] = true;
    let mut to_visit = vec![largest];
    while let Some(one) = to_visit.pop() {
        for (other, is_related) in is_related.iter_mut().enumerate() {
            if !*is_related && is_near(one, other) {
                *is_related = true;
                to_visit.push(other);
            }
        }
    }
    let mut is_related = is_related.into_iter();
    variants.into_iter().filter(|_| is_related.next() == Some(true)).collect()
}

fn finding(trace: &Trace<'_>, model: &str, variants: &[Variant<'_>]) -> Option<Finding> {
    let second = variants.get(1)?;
    let tools = optional_tools(variants);
    let paragraphs = conditional_paragraphs(variants);
    // Text that is another one each time is no conditional.
    if tools.is_empty() && paragraphs.is_empty() {
        return None;
    }
    let ways = tools.iter().map(|_| 2).chain(paragraphs.iter().map(|one| one.ways));
    let seen = format!("{} prefixes of {model} seen, {} possible", variants.len(), possible(ways));
    let places: Vec<String> = paragraphs.iter().map(named).collect();
    let with = |tools: Vec<String>| {
        let named: Vec<String> = tools.into_iter().chain(places.iter().cloned()).collect();
        format!("{seen}; conditional: {}", named.join(", "))
    };
    let count = (!tools.is_empty()).then(|| match tools.len() {
        1 => "1 tool".to_owned(),
        count => format!("{count} tools"),
    });
    let plain_detail = with(count.into_iter().collect());
    let detail = with(tools.into_iter().collect());
    let place = "tools and system prompt".to_owned();
    let mut finding = Finding::new(Rule::PrefixVariants, place, detail, second.first);
    finding.plain_detail = Some(plain_detail);
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

/// The conditions on which paragraphs depend.
fn conditional_paragraphs(variants: &[Variant<'_>]) -> Vec<Conditional> {
    let mut having: FxHashMap<&str, Having> = FxHashMap::default();
    for (number, variant) in variants.iter().enumerate() {
        for (text, _) in &variant.paragraphs {
            *having.entry(text).or_default() |= 1 << number;
        }
    }
    let is_everywhere = |text: &str| having[text].count_ones() as usize == variants.len();
    let places = fullest_places(variants);
    let mut parts = Vec::new();
    let mut known = FxHashSet::default();
    for variant in variants {
        let mut interval = 0;
        for (text, _) in &variant.paragraphs {
            if is_everywhere(text) {
                interval += 1;
            } else if known.insert(*text) {
                parts.push(Part { having: having[text], interval, place: places[text].to_owned() });
            }
        }
    }
    let returned = variants.iter().enumerate().filter(|(_, variant)| variant.has_returned);
    let returned = returned.map(|(number, _)| 1 << number).fold(0, |all, one: Having| all | one);
    conditionals(variants.len(), returned, &parts)
}

/// Where each paragraph stands in the variant that has most of them and has it, so that neighbours in
/// one are told apart.
fn fullest_places<'v>(variants: &'v [Variant<'_>]) -> FxHashMap<&'v str, &'v str> {
    let mut fullest: Vec<&Variant<'_>> = variants.iter().collect();
    fullest.sort_by_key(|variant| Reverse(variant.paragraphs.len()));
    let mut places = FxHashMap::default();
    for (text, place) in fullest.iter().flat_map(|variant| &variant.paragraphs) {
        places.entry(*text).or_insert(place.as_str());
    }
    places
}

/// Where a conditional stands, and how many texts it decides among.
fn named(conditional: &Conditional) -> String {
    let place = conditional.places.first().cloned().unwrap_or_default();
    match conditional.places.len() {
        0 | 1 => place,
        texts => format!("{place} (one of {texts} texts)"),
    }
}

/// How many prefixes there can be, as powers and as their product where that is a number of a
/// common size.
fn possible(ways: impl Iterator<Item = u64>) -> String {
    let mut counts: BTreeMap<u64, u32> = BTreeMap::new();
    for ways in ways {
        *counts.entry(ways).or_default() += 1;
    }
    let factors: Vec<String> =
        counts.iter().map(|(ways, count)| format!("{ways}^{count}")).collect();
    let product = counts
        .iter()
        .try_fold(1_u64, |product, (ways, count)| product.checked_mul(ways.checked_pow(*count)?));
    let product = product.map_or_else(String::new, |product| format!(" = {product}"));
    format!("{}{product}", factors.join(" x "))
}
