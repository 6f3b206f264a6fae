//! Names for projects: as much of a folder's path as tells it from the others, and never the whole
//! way from the root where less will do.

use std::collections::{BTreeMap, BTreeSet};

use super::history::History;
use crate::base::id::Symbol;

/// The name of every project of a history.
pub(crate) fn project_names(history: &History) -> BTreeMap<Symbol, String> {
    let projects: BTreeSet<Symbol> =
        history.requests.iter().filter_map(|request| request.project).collect();
    let projects: Vec<Symbol> = projects.into_iter().collect();
    let paths: Vec<&str> = projects.iter().map(|project| history.symbols.text(*project)).collect();
    projects.into_iter().zip(distinct_names(&paths)).collect()
}

/// Projects whose folders have so many last parts in common count as one.
const MOST_PARTS: usize = 16;

/// For each path its last parts, one more wherever two paths would have the same name.
fn distinct_names(paths: &[&str]) -> Vec<String> {
    let parts: Vec<Vec<&str>> = paths.iter().map(|path| last_parts(path)).collect();
    let mut lengths = vec![1; paths.len()];
    let mut names = Vec::new();
    for _ in 0..MOST_PARTS {
        names = parts.iter().zip(&lengths).map(|(parts, length)| name(parts, *length)).collect();
        let mut counts: BTreeMap<&String, usize> = BTreeMap::new();
        for name in &names {
            *counts.entry(name).or_default() += 1;
        }
        for (name, length) in names.iter().zip(&mut lengths) {
            *length += usize::from(counts[name] > 1);
        }
    }
    names
}

fn last_parts(path: &str) -> Vec<&str> {
    let parts = path.rsplit(['/', '\\']).filter(|part| !part.is_empty());
    let mut parts: Vec<&str> = parts.take(MOST_PARTS).collect();
    parts.reverse();
    parts
}

fn name(parts: &[&str], length: usize) -> String {
    if parts.is_empty() {
        return "/".to_owned();
    }
    parts[parts.len().saturating_sub(length)..].join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_as_long_as_it_has_to_be() {
        let paths = ["/home/ann/work/api", "/home/ann/play/api", "/srv/web", "C:\\code\\tool", "/"];
        assert_eq!(distinct_names(&paths), ["work/api", "play/api", "web", "tool", "/"]);
        assert_eq!(distinct_names(&["/a/x", "a/x"]), ["a/x", "a/x"]);
    }
}
