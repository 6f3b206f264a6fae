//! Domains: the parts of an input that share no history.
//!
//! Effects across files (copies of a session, parents in other files, prefixes that others keep warm, calibrations)
//! end at the edge of a domain, so that a domain has the same figures by itself as among others. For transcripts it
//! is the whole tree of one developer, for captured requests the organisation whose cache they share.

use std::sync::Arc;

use super::discover::Source;
use crate::base::{ByKey, Order as _};

/// Rule that gives each file its domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DomainRule {
    /// First folders of the label, in this number, or all of them if it has fewer.
    Depth(usize),
    /// Longest path in a table that leads to the file.
    Listed(ByKey<String, String>),
}

/// Files that are read together, and apart from all others.
#[derive(Debug)]
pub struct Domain {
    /// Name of the domain.
    pub name: String,
    /// Files in the order of their labels, byte by byte.
    pub sources: Vec<Source>,
}

/// Reason why an input has no domains.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DomainError {
    /// A line of a table has no domain and path.
    #[error("{file}:{line}: expected a domain, a tab and a path")]
    NotARow {
        /// Name of the table's file.
        file: String,
        /// Number of the line, from 1 on.
        line: usize,
    },
    /// A table has a path in two domains.
    #[error("{file}:{line}: {path} is in {one}, and in {other}; leave one of the lines out")]
    Twice {
        /// Name of the table's file.
        file: String,
        /// Number of the second line, from 1 on.
        line: usize,
        /// Path with two domains.
        path: String,
        /// The domain of the first line.
        one: String,
        /// Domain of the second line.
        other: String,
    },
    /// No line of a table leads to a file.
    #[error("{0} is in no domain; add a line with its domain, a tab and a path that leads to it")]
    InNone(Arc<str>),
}

/// Domain of files that are in no folder.
const TOP: &str = ".";

impl DomainRule {
    /// Reads a table of lines `domain<TAB>path`. Paths lead from the same folder as labels; the longest counts.
    ///
    /// # Errors
    /// A line has another form, or a path has two domains.
    pub fn parse(table: &str, file: &str) -> Result<Self, DomainError> {
        let mut paths = ByKey::new();
        let table = table.strip_prefix('\u{feff}').unwrap_or(table);
        for (number, line) in table.lines().enumerate().filter(|(_, line)| !line.is_empty()) {
            let (file, line, row) = (file.to_owned(), number + 1, line.split_once('\t'));
            let Some((domain, path)) =
                row.filter(|(domain, path)| !domain.is_empty() && !path.is_empty())
            else {
                return Err(DomainError::NotARow { file, line });
            };
            // Labels have neither of the two.
            let path = path.trim_start_matches("./").trim_end_matches('/');
            let path = if path.is_empty() { TOP } else { path };
            match paths.insert(path.to_owned(), domain.to_owned()) {
                Some(other) if other != domain => {
                    let (path, one, other) = (path.to_owned(), other, domain.to_owned());
                    return Err(DomainError::Twice { file, line, path, one, other });
                }
                _ => {}
            }
        }
        Ok(Self::Listed(paths))
    }

    /// Divides files into domains, in the order of their names, byte by byte.
    ///
    /// # Errors
    /// A file is in no domain.
    pub fn divide(&self, sources: Vec<Source>) -> Result<Vec<Domain>, DomainError> {
        let mut domains: ByKey<String, Vec<Source>> = ByKey::new();
        for source in sources {
            let name = self.domain_of(&source.label);
            let name = name.ok_or_else(|| DomainError::InNone(Arc::clone(&source.label)))?;
            domains.entry(name.to_owned()).or_default().push(source);
        }
        let domain = |(name, mut sources): (String, Vec<Source>)| {
            sources.order_by(|one, other| one.label.cmp(&other.label));
            Domain { name, sources }
        };
        Ok(domains.into_iter().map(domain).collect())
    }

    /// Paths of a table that lead to none of these files.
    pub fn unused(&self, sources: &[Source]) -> Vec<&str> {
        let Self::Listed(paths) = self else { return Vec::new() };
        let leads_to = |path: &str, label: &str| {
            path == TOP
                || label
                    .strip_prefix(path)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let is_unused = |path: &&str| !sources.iter().any(|source| leads_to(path, &source.label));
        paths.keys().map(String::as_str).filter(is_unused).collect()
    }

    /// Domain of a file, by its label.
    fn domain_of<'r>(&'r self, label: &'r str) -> Option<&'r str> {
        match self {
            Self::Depth(depth) => {
                let folders = label.match_indices('/').map(|(at, _)| &label[..at]);
                Some(folders.take(*depth).last().unwrap_or(TOP))
            }
            Self::Listed(paths) => {
                // From the longest path to the shortest: the first hit is the longest.
                let folders = label.rmatch_indices('/').map(|(at, _)| &label[..at]);
                let mut leading = std::iter::once(label).chain(folders).chain([TOP]);
                leading.find_map(|path| paths.get(path)).map(String::as_str)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn divided(rule: &DomainRule, labels: &[&str]) -> Vec<String> {
        let sources = labels.iter().map(|label| Source::in_memory(label, b"")).collect();
        let domains = rule.divide(sources).expect("every file is in a domain");
        let shown = |domain: &Domain| {
            let labels: Vec<&str> = domain.sources.iter().map(|source| &*source.label).collect();
            format!("{}: {}", domain.name, labels.join(" "))
        };
        domains.iter().map(shown).collect()
    }

    #[test]
    fn a_depth_is_a_number_of_folders() {
        let labels = ["b/x/2.jsonl", "a/x/1.jsonl", "a/1.jsonl", "0.jsonl"];
        let one = divided(&DomainRule::Depth(1), &labels);
        assert_eq!(one, [".: 0.jsonl", "a: a/1.jsonl a/x/1.jsonl", "b: b/x/2.jsonl"]);
        let two = divided(&DomainRule::Depth(2), &labels);
        assert_eq!(two, [".: 0.jsonl", "a: a/1.jsonl", "a/x: a/x/1.jsonl", "b/x: b/x/2.jsonl"]);
    }

    #[test]
    fn the_longest_path_of_a_table_counts() {
        let table = "all\t.\nann\tteam/a/\nbob\t./team/b\n\nann\tteam/b/shared/1.jsonl\n";
        let rule = DomainRule::parse(table, "domains.tsv").expect("a table");
        let labels = [
            "team/b/shared/1.jsonl",
            "team/b/2.jsonl",
            "team/a/x/3.jsonl",
            "4.jsonl",
            "team/ab/5.jsonl",
        ];
        assert_eq!(
            divided(&rule, &labels),
            [
                "all: 4.jsonl team/ab/5.jsonl",
                "ann: team/a/x/3.jsonl team/b/shared/1.jsonl",
                "bob: team/b/2.jsonl"
            ]
        );
    }

    #[test]
    fn what_is_wrong_with_a_table_is_named() {
        let error = |table| DomainRule::parse(table, "d.tsv").expect_err("an error").to_string();
        assert_eq!(error("ann\ta\nbob"), "d.tsv:2: expected a domain, a tab and a path");
        assert_eq!(error("\ta"), "d.tsv:1: expected a domain, a tab and a path");
        let twice = error("ann\ta\nann\ta/\nbob\ta");
        assert_eq!(twice, "d.tsv:3: a is in ann, and in bob; leave one of the lines out");
        let rule = DomainRule::parse("ann\ta", "d.tsv").expect("a table");
        let sources = vec![Source::in_memory("b/1.jsonl", b"")];
        let error = rule.divide(sources).expect_err("an error");
        assert_eq!(error, DomainError::InNone("b/1.jsonl".into()));
    }
}
