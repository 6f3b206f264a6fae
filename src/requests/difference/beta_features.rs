//! How the beta features that two requests ask for differ.

use std::collections::BTreeSet;

use super::compare::{Difference, DifferenceKind};
use crate::read::capture::BETA_HEADER;

/// What certain beta features stand for, by how their names begin. Claude Code sends those of auto mode
/// in that mode alone.
pub(crate) const BETA_FAMILIES: [(&str, DifferenceKind); 4] = [
    ("fast-mode-", DifferenceKind::FastMode),
    ("afk-mode-", DifferenceKind::AutoMode),
    ("dangerous-tool-use-", DifferenceKind::AutoMode),
    ("cache-editing-", DifferenceKind::CachedMicrocompaction),
];

/// The kinds of differences that beta features show.
const KINDS: [DifferenceKind; 4] = [
    DifferenceKind::Betas,
    DifferenceKind::FastMode,
    DifferenceKind::AutoMode,
    DifferenceKind::CachedMicrocompaction,
];

/// The differences between two sets of beta features, each given by its names in alphabetical order,
/// joined by commas; one difference for each kind. Where either set is not known there are none.
pub(crate) fn beta_differences(before: Option<&str>, after: Option<&str>) -> Vec<Difference> {
    let (Some(before), Some(after)) = (before, after) else { return Vec::new() };
    KINDS.into_iter().filter_map(|kind| difference(kind, before, after)).collect()
}

fn kind_of(name: &str) -> DifferenceKind {
    let family = BETA_FAMILIES.iter().find(|(beginning, _)| name.starts_with(beginning));
    family.map_or(DifferenceKind::Betas, |(_, kind)| *kind)
}

fn difference(kind: DifferenceKind, before: &str, after: &str) -> Option<Difference> {
    let (old, new) = (names_of_kind(before, kind), names_of_kind(after, kind));
    let lacking = |names: &BTreeSet<&str>, others: &BTreeSet<&str>, word: &str| {
        let lacking: Vec<&str> = names.difference(others).copied().collect();
        (!lacking.is_empty()).then(|| format!("{word}: {}", lacking.join(", ")))
    };
    let words: Vec<String> = [lacking(&new, &old, "added"), lacking(&old, &new, "removed")]
        .into_iter()
        .flatten()
        .collect();
    if words.is_empty() {
        return None;
    }
    let joined = |names: BTreeSet<&str>| names.into_iter().collect::<Vec<_>>().join(",");
    let difference = Difference::new(kind, BETA_HEADER, words.join("; "));
    Some(difference.with_bytes(Some(&joined(old)), Some(&joined(new))))
}

fn names_of_kind(names: &str, kind: DifferenceKind) -> BTreeSet<&str> {
    names.split(',').filter(|name| !name.is_empty() && kind_of(name) == kind).collect()
}
