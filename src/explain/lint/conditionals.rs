//! What is conditional in the variants of a prefix: parts that some of them lack, and places where
//! they have one of a few texts. Nothing is known but which variants have which parts.

use std::collections::BTreeMap;

/// The variants that have a part, one bit each.
pub(super) type Having = u64;

/// A part of a prefix, such as a paragraph.
#[derive(Clone, Debug)]
pub(super) struct Part {
    /// The variants that have it.
    pub(super) having: Having,
    /// The place between parts that all variants have.
    pub(super) interval: usize,
    /// Where it stands, in words.
    pub(super) place: String,
}

/// What depends on a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Conditional {
    /// The places of what depends on it, one for each text that may stand there.
    pub(super) places: Vec<String>,
    /// In how many ways it can be decided.
    pub(super) ways: u64,
}

/// The conditionals of so many variants, in the order of their places. `returned` are the variants
/// that came back, which text that is another one each time does not.
pub(super) fn conditionals(variants: usize, returned: Having, parts: &[Part]) -> Vec<Conditional> {
    let all = Having::MAX >> (Having::BITS as usize - variants.clamp(1, Having::BITS as usize));
    let mut intervals: BTreeMap<usize, Vec<Part>> = BTreeMap::new();
    for part in parts.iter().filter(|part| part.having != all) {
        let parts = intervals.entry(part.interval).or_default();
        // What comes and goes together depends on one condition.
        if parts.iter().all(|known| known.having != part.having) {
            parts.push(part.clone());
        }
    }
    intervals.into_values().flat_map(|parts| of_interval(all, returned, parts)).collect()
}

fn of_interval(all: Having, returned: Having, mut parts: Vec<Part>) -> Vec<Conditional> {
    let mut conditionals = Vec::new();
    while let Some(alternatives) = alternatives(all, &parts) {
        let (chosen, rest) = split(parts, &alternatives);
        parts = rest;
        if !differs_each_time(all, returned, &chosen) {
            let ways = chosen.len() as u64;
            let places = chosen.into_iter().map(|part| part.place).collect();
            conditionals.push(Conditional { places, ways });
        }
    }
    // A text that is another one each time, and that some variants lack, is there or not.
    let singles = |part: &Part| part.having.is_power_of_two() && part.having & returned == 0;
    if parts.iter().filter(|part| singles(part)).count() > 2 {
        let mut is_first = true;
        parts.retain(|part| !singles(part) || std::mem::take(&mut is_first));
    }
    let optional = parts.into_iter().map(|part| Conditional { places: vec![part.place], ways: 2 });
    conditionals.extend(optional);
    conditionals
}

/// Parts of which each variant has exactly one: two of them, or else as many as it takes.
fn alternatives(all: Having, parts: &[Part]) -> Option<Vec<Having>> {
    let is_there = |having: Having| parts.iter().any(|part| part.having == having);
    let pair = parts.iter().find(|part| is_there(all & !part.having));
    if let Some(part) = pair {
        return Some(vec![part.having, all & !part.having]);
    }
    let mut rarest: Vec<Having> = parts.iter().map(|part| part.having).collect();
    rarest.sort_by_key(|having| having.count_ones());
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

/// Whether no text occurs twice, so that it is another one each time.
fn differs_each_time(all: Having, returned: Having, alternatives: &[Part]) -> bool {
    alternatives.len() == all.count_ones() as usize && returned == 0
}

fn split(parts: Vec<Part>, chosen: &[Having]) -> (Vec<Part>, Vec<Part>) {
    parts.into_iter().partition(|part| chosen.contains(&part.having))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The conditionals of variants given as their parts; what all have parts the intervals.
    fn found(returned: Having, variants: &[&[&str]]) -> Vec<(String, u64)> {
        let mut parts: Vec<Part> = Vec::new();
        for (number, texts) in variants.iter().enumerate() {
            let mut interval = 0;
            for text in *texts {
                if variants.iter().all(|variant| variant.contains(text)) {
                    interval += 1;
                    continue;
                }
                match parts.iter_mut().find(|part| part.place == *text) {
                    Some(part) => part.having |= 1 << number,
                    None => parts.push(Part {
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
        // A part of several paragraphs depends on one condition.
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
        // One of two came back, which a clock does not.
        assert_eq!(found(1, &[&["s", "if"], &["s", "else"]]), expected(&[("if/else", 2)]));
    }

    #[test]
    fn a_clock_that_some_lack_is_there_or_not() {
        let clocks: [&[&str]; 4] = [&["s", "1"], &["s", "2"], &["s", "3"], &["s"]];
        assert_eq!(found(0, &clocks), expected(&[("1", 2)]));
    }
}
