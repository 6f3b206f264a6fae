//! Variants of the prefixes that conversations begin with, and the conditions that multiply them: parts that
//! some variants lack, and places with one of a few texts. Only the parts of each variant are known, not the
//! conditions.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};

use super::run::Trace;
use super::{Finding, Rule};
use crate::base::by_key::ByKey;
use crate::base::id::Symbol;
use crate::base::order::Order as _;
use crate::base::units::Tokens;
use crate::read::capture::{ATTRIBUTION, WireNodeId};
use crate::read::harness::IDENTITIES;
use crate::requests::conversation::RequestIndex;
use crate::requests::difference::{PromptView, tool_name};

/// Separator of paragraphs in canonical bytes.
const BLANK_LINE: &str = r"\n\n";

/// Beginning and end of a text block's canonical bytes, with its keys in either order.
const TEXT_BLOCKS: [(&str, &str); 2] =
    [(r#"{"type":"text","text":""#, r#""}"#), (r#"{"text":""#, r#"","type":"text"}"#)];

/// Limit on variants: more are not conditional but change every time. [`Having`] has a bit for each.
const MOST_VARIANTS: usize = 64;

/// Limit on the parts of one interval for a search for alternatives. Among more, only pairs are found.
const MOST_ALTERNATIVES: usize = 256;

/// Prefix of conversations.
#[derive(Debug)]
struct PrefixVariant<'a> {
    first: RequestIndex,
    /// True if a request had it again without continuing one that had it.
    has_returned: bool,
    /// Tools, with their sizes.
    tools: Vec<(&'a str, Tokens)>,
    /// Paragraphs before the boundary.
    paragraphs: Vec<Paragraph<'a>>,
    end: Tokens,
}

/// Paragraph of a system prompt.
#[derive(Debug)]
struct Paragraph<'a> {
    text: &'a str,
    /// Place of its beginning.
    place: String,
    tokens: Tokens,
}

/// Prompts that may be variants of each other: of one model and agent.
type Family = (Symbol, Option<Symbol>);

/// Findings about the prefix variants of each model and agent. Requests with a price are added to `priced`.
pub(super) fn prefix_variants(
    trace: &Trace<'_>,
    priced: &mut FxHashSet<RequestIndex>,
) -> Vec<Finding> {
    let mut fronts: FxHashMap<RequestIndex, WireNodeId> = FxHashMap::default();
    let mut known: FxHashMap<(Family, WireNodeId), usize> = FxHashMap::default();
    let mut families: ByKey<Family, Vec<PrefixVariant<'_>>> = ByKey::new();
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
            finding(trace, trace.history.symbols.text(model), &related(variants), priced)
        })
        .collect()
}

/// Number of the system prompt's blocks before the boundary, and the end of that whole part. The
/// boundary is the last marker of the system prompt, or its end without a marker.
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
) -> PrefixVariant<'a> {
    let system = &view.system[..front];
    let sizes = |ids: &[WireNodeId]| ids.iter().map(|id| trace.size(*id)).collect::<Vec<_>>();
    let blocks = view.texts(system).into_iter().zip(sizes(system)).enumerate();
    let last = view.system[..front].last().or(view.tools.last());
    PrefixVariant {
        first: index,
        has_returned: false,
        tools: view.texts(&view.tools).into_iter().zip(sizes(&view.tools)).collect(),
        paragraphs: blocks
            .flat_map(|(block, (text, tokens))| paragraphs(block, text, tokens))
            .collect(),
        end: last.map_or(Tokens::ZERO, |id| trace.end(*id)),
    }
}

fn paragraphs(block: usize, bytes: &str, tokens: Tokens) -> impl Iterator<Item = Paragraph<'_>> {
    let inside = TEXT_BLOCKS.iter().find_map(|(start, end)| {
        Some((start.len(), bytes.strip_prefix(start)?.strip_suffix(end)?))
    });
    let (start, inside) = inside.unwrap_or((0, bytes));
    inside.split(BLANK_LINE).scan(start, move |position, paragraph| {
        let place = format!("system[{block}] from byte {position}");
        let length = paragraph.len() + BLANK_LINE.len();
        *position += length;
        let tokens = tokens.share(length as u64, bytes.len() as u64);
        Some(Paragraph { text: paragraph, place, tokens })
    })
}

impl PrefixVariant<'_> {
    /// Parts that it may share with others: names of tools, and paragraphs, except for paragraphs that only
    /// identify the client.
    fn parts(&self) -> FxHashSet<String> {
        let tools = self.tools.iter().map(|(tool, _)| format!("tool {}", tool_name(tool)));
        let says_something = |text: &&str| !is_identity(text);
        let texts = self.paragraphs.iter().map(|one| one.text).filter(says_something);
        tools.chain(texts.map(|text| format!("text {text}"))).collect()
    }
}

impl<'a> PrefixVariant<'a> {
    /// Sizes of tools and paragraphs.
    fn sizes(&self) -> FxHashMap<&'a str, Tokens> {
        let paragraphs = self.paragraphs.iter().map(|one| (one.text, one.tokens));
        self.tools.iter().copied().chain(paragraphs).collect()
    }
}

/// Returns true for a paragraph of every prompt of the client, whatever its purpose.
fn is_identity(paragraph: &str) -> bool {
    paragraph.starts_with(ATTRIBUTION) || IDENTITIES.contains(&paragraph)
}

/// The largest variant, and variants that share most of the smaller one's parts with it or with
/// another of these, by depth-first search. A variant without any of the conditional parts belongs to them.
/// Another prompt of the same model, such as a side question's, does not.
fn related(variants: Vec<PrefixVariant<'_>>) -> Vec<PrefixVariant<'_>> {
    let parts: Vec<FxHashSet<String>> = variants.iter().map(PrefixVariant::parts).collect();
    let Some(largest) = (0..parts.len()).rev().max_by_key(|number| parts[*number].len()) else {
        return variants;
    };
    let is_near = |one: usize, other: usize| {
        let common = parts[one].intersection(&parts[other]).count();
        // Of the smaller one, so that a variant without conditional parts is near to a fuller one.
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

fn finding(
    trace: &Trace<'_>,
    model: &str,
    variants: &[PrefixVariant<'_>],
    priced: &mut FxHashSet<RequestIndex>,
) -> Option<Finding> {
    let second = variants.get(1)?;
    let tools = optional_tools(variants);
    let paragraphs = conditional_paragraphs(variants);
    // Text that differs each time is not conditional.
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
    let own = own_sizes(variants);
    for (number, variant) in variants.iter().enumerate().skip(1) {
        let (from, to) = lost(trace, &variants[..number], variant);
        let to = to.saturating_sub(own[number]);
        if from < to {
            priced.insert(variant.first);
        }
        finding.tokens += to.saturating_sub(from);
        let cost = trace.rewrite_cost(variant.first, from, from.max(to));
        finding.cost = finding.cost.zip(cost).map(|(one, other)| one + other);
        finding.is_priced = true;
    }
    Some(finding)
}

/// Range of tokens that a conversation's first request had to write for its own variant, although another
/// variant could have been read. Changes within a conversation are priced separately.
fn lost(
    trace: &Trace<'_>,
    earlier: &[PrefixVariant<'_>],
    variant: &PrefixVariant<'_>,
) -> (Tokens, Tokens) {
    let index = variant.first;
    let is_opening = trace.history.request(index).predecessor.is_none();
    let is_marked = !trace.effective(index).is_empty();
    let readable = earlier.iter().filter_map(|other| trace.readable_until(other.first, index));
    let until = readable.max().filter(|_| is_opening && is_marked);
    let read = trace.read(index);
    (read, until.map_or(read, |until| until.min(variant.end)))
}

/// Sizes of the parts of each variant that not all have: these are written behind the boundary as well as in front of it.
fn own_sizes(variants: &[PrefixVariant<'_>]) -> Vec<Tokens> {
    let parts = variants.iter().map(PrefixVariant::sizes);
    let parts: Vec<FxHashMap<&str, Tokens>> = parts.collect();
    let is_everywhere = |text: &str| parts.iter().all(|part| part.contains_key(text));
    let own = |part: &FxHashMap<&str, Tokens>| {
        part.iter().filter(|(text, _)| !is_everywhere(text)).map(|(_, tokens)| *tokens).sum()
    };
    parts.iter().map(own).collect()
}

/// Tools that some variants have and others lack.
fn optional_tools(variants: &[PrefixVariant<'_>]) -> BTreeSet<String> {
    let names = |variant: &PrefixVariant<'_>| {
        variant.tools.iter().map(|(tool, _)| tool_name(tool)).collect()
    };
    let sets: Vec<BTreeSet<String>> = variants.iter().map(names).collect();
    let is_optional = |tool: &&String| sets.iter().any(|set| !set.contains(*tool));
    sets.iter().flatten().filter(is_optional).map(|tool| format!("tool `{tool}`")).collect()
}

/// Conditions that paragraphs depend on.
fn conditional_paragraphs(variants: &[PrefixVariant<'_>]) -> Vec<Conditional> {
    let mut having: FxHashMap<&str, Having> = FxHashMap::default();
    for (number, variant) in variants.iter().enumerate() {
        for Paragraph { text, .. } in &variant.paragraphs {
            *having.entry(text).or_default() |= 1 << number;
        }
    }
    let is_everywhere = |text: &str| having[text].count_ones() as usize == variants.len();
    let places = fullest_places(variants);
    let mut parts = Vec::new();
    let mut known = FxHashSet::default();
    for variant in variants {
        // Counted in paragraphs that all variants have, so that intervals agree between variants.
        let mut interval = 0;
        for Paragraph { text, .. } in &variant.paragraphs {
            if is_everywhere(text) {
                interval += 1;
            } else if known.insert(*text) {
                parts.push(PrefixPart {
                    having: having[text],
                    interval,
                    place: places[text].to_owned(),
                });
            }
        }
    }
    let returned = variants.iter().enumerate().filter(|(_, variant)| variant.has_returned);
    let returned = returned.map(|(number, _)| 1 << number).fold(0, |all, one: Having| all | one);
    conditionals(variants.len(), returned, &parts)
}

/// Place of each paragraph, in the variant with most paragraphs that has it, so that its
/// neighbours have places of their own.
fn fullest_places<'v>(variants: &'v [PrefixVariant<'_>]) -> FxHashMap<&'v str, &'v str> {
    let mut fullest: Vec<&PrefixVariant<'_>> = variants.iter().collect();
    fullest.order_by_key(|variant| Reverse(variant.paragraphs.len()));
    let mut places = FxHashMap::default();
    for one in fullest.iter().flat_map(|variant| &variant.paragraphs) {
        places.entry(one.text).or_insert(one.place.as_str());
    }
    places
}

/// Place of a conditional part, and the number of its alternative texts.
fn named(conditional: &Conditional) -> String {
    let place = conditional.places.first().cloned().unwrap_or_default();
    match conditional.places.len() {
        0 | 1 => place,
        texts => format!("{place} (one of {texts} texts)"),
    }
}

/// Number of possible prefixes, as powers, and as a product unless that is too large.
fn possible(ways: impl Iterator<Item = u64>) -> String {
    let mut counts: ByKey<u64, u32> = ByKey::new();
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

/// Variants that have a part, as bits.
pub(super) type Having = u64;

/// Part of a prefix, such as a paragraph.
#[derive(Clone, Debug)]
pub(super) struct PrefixPart {
    /// Variants that have it.
    pub(super) having: Having,
    /// Interval between parts that all variants have.
    pub(super) interval: usize,
    /// Place, in words.
    pub(super) place: String,
}

/// Parts that depend on one condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Conditional {
    /// Places of these parts, one for each possible text.
    pub(super) places: Vec<String>,
    /// Number of possible choices.
    pub(super) ways: u64,
}

/// Conditional parts of some variants, in the order of their places. `returned` are the variants that
/// came back, which text that differs each time never does.
pub(super) fn conditionals(
    variants: usize,
    returned: Having,
    parts: &[PrefixPart],
) -> Vec<Conditional> {
    let all = Having::MAX >> (Having::BITS as usize - variants.clamp(1, Having::BITS as usize));
    let mut intervals: ByKey<usize, Vec<PrefixPart>> = ByKey::new();
    let mut known = FxHashSet::default();
    for part in parts.iter().filter(|part| part.having != all) {
        // Parts that come and go together depend on one condition.
        if known.insert((part.interval, part.having)) {
            intervals.entry(part.interval).or_default().push(part.clone());
        }
    }
    intervals.into_values().flat_map(|parts| of_interval(all, returned, parts)).collect()
}

fn of_interval(all: Having, returned: Having, mut parts: Vec<PrefixPart>) -> Vec<Conditional> {
    let mut chosen = take_pairs(all, &mut parts);
    while let Some(alternatives) = alternatives(all, &parts) {
        let (cover, rest) = split(parts, &alternatives);
        chosen.push(cover);
        parts = rest;
    }
    chosen.retain(|parts| !differs_each_time(all, returned, parts));
    let conditional = |parts: Vec<PrefixPart>| {
        let ways = parts.len() as u64;
        Conditional { places: parts.into_iter().map(|part| part.place).collect(), ways }
    };
    let mut conditionals: Vec<Conditional> = chosen.into_iter().map(conditional).collect();
    // A text that differs each time, and that some variants lack, is either there or not.
    let singles = |part: &PrefixPart| part.having.is_power_of_two() && part.having & returned == 0;
    if parts.iter().filter(|part| singles(part)).count() > 2 {
        let mut is_first = true;
        parts.retain(|part| !singles(part) || std::mem::take(&mut is_first));
    }
    let optional = parts.into_iter().map(|part| Conditional { places: vec![part.place], ways: 2 });
    conditionals.extend(optional);
    conditionals
}

/// Takes out the pairs with exactly one part in each variant.
fn take_pairs(all: Having, parts: &mut Vec<PrefixPart>) -> Vec<Vec<PrefixPart>> {
    let places: FxHashMap<Having, usize> =
        parts.iter().enumerate().map(|(at, part)| (part.having, at)).collect();
    let mut left: Vec<Option<PrefixPart>> = parts.drain(..).map(Some).collect();
    let mut pairs = Vec::new();
    for at in 0..left.len() {
        let Some(part) = &left[at] else { continue };
        let Some(other) = places.get(&(all & !part.having)) else { continue };
        pairs.push([at, *other].into_iter().filter_map(|at| left[at].take()).collect());
    }
    parts.extend(left.into_iter().flatten());
    pairs
}

/// Parts with exactly one in each variant, if no pair is left.
fn alternatives(all: Having, parts: &[PrefixPart]) -> Option<Vec<Having>> {
    if parts.len() > MOST_ALTERNATIVES {
        return None;
    }
    // Greedy from the rarest part on, as a search for every exact cover would take exponential
    // time.
    let mut rarest: Vec<Having> = parts.iter().map(|part| part.having).collect();
    rarest.order_by_key(|having| having.count_ones());
    (0..rarest.len()).find_map(|first| {
        let mut covered = 0;
        let mut chosen = Vec::new();
        for having in &rarest[first..] {
            if having & covered == 0 {
                covered |= having;
                chosen.push(*having);
            }
        }
        (covered == all).then_some(chosen)
    })
}

/// Returns true if no text occurs twice, so that it differs each time.
fn differs_each_time(all: Having, returned: Having, alternatives: &[PrefixPart]) -> bool {
    alternatives.len() == all.count_ones() as usize && returned == 0
}

fn split(parts: Vec<PrefixPart>, chosen: &[Having]) -> (Vec<PrefixPart>, Vec<PrefixPart>) {
    parts.into_iter().partition(|part| chosen.contains(&part.having))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Conditional parts of variants, which are given as their parts. Parts that all have
    /// separate the intervals.
    fn found(returned: Having, variants: &[&[&str]]) -> Vec<(String, u64)> {
        let mut parts: Vec<PrefixPart> = Vec::new();
        for (number, texts) in variants.iter().enumerate() {
            let mut interval = 0;
            for text in *texts {
                if variants.iter().all(|variant| variant.contains(text)) {
                    interval += 1;
                    continue;
                }
                match parts.iter_mut().find(|part| part.place == *text) {
                    Some(part) => part.having |= 1 << number,
                    None => parts.push(PrefixPart {
                        having: 1 << number,
                        interval,
                        place: (*text).to_owned(),
                    }),
                }
            }
        }
        let found = conditionals(variants.len(), returned, &parts);
        found.into_iter().map(|one| (one.places.join("/"), one.ways)).collect()
    }

    fn expected(pairs: &[(&str, u64)]) -> Vec<(String, u64)> {
        pairs.iter().map(|(places, ways)| ((*places).to_owned(), *ways)).collect()
    }

    #[test]
    fn what_is_missing_is_conditional_and_what_differs_is_not() {
        assert_eq!(found(0, &[&["a", "b", "c"], &["a", "c"]]), expected(&[("b", 2)]));
        assert_eq!(found(0, &[&["a", "now 1", "c"], &["a", "now 2", "c"]]), []);
        let three: [&[&str]; 3] = [&["a", "b", "c"], &["a", "b"], &["b", "c"]];
        assert_eq!(found(0, &three), expected(&[("a", 2), ("c", 2)]));
        // Several paragraphs that belong together depend on one condition.
        assert_eq!(found(0, &[&["a", "b", "b2"], &["a"]]), expected(&[("b", 2)]));
    }

    #[test]
    fn texts_that_take_turns_are_alternatives() {
        let four: [&[&str]; 4] =
            [&["s", "if", "x"], &["s", "else", "x"], &["s", "if", "y"], &["s", "else", "y"]];
        assert_eq!(found(0, &four), expected(&[("if/else", 2), ("x/y", 2)]));
        let three: [&[&str]; 6] = [
            &["s", "1", "t", "o"],
            &["s", "2", "t", "o"],
            &["s", "3", "t", "o"],
            &["s", "1", "t"],
            &["s", "2", "t"],
            &["s", "3", "t"],
        ];
        assert_eq!(found(0, &three), expected(&[("1/2/3", 3), ("o", 2)]));
        // One of the two came back, which a clock does not.
        assert_eq!(found(1, &[&["s", "if"], &["s", "else"]]), expected(&[("if/else", 2)]));
    }

    #[test]
    fn a_clock_that_some_lack_is_there_or_not() {
        let clocks: [&[&str]; 4] = [&["s", "1"], &["s", "2"], &["s", "3"], &["s"]];
        assert_eq!(found(0, &clocks), expected(&[("1", 2)]));
    }
}
