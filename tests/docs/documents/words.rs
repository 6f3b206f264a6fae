//! How long pages and sentences are.

use super::page::{Page, pages};

/// Pages that one looks something up in.
const REFERENCES: [&str; 17] = [
    "docs/accuracy.md",
    "docs/ci.md",
    "docs/commands.md",
    "docs/fleet.md",
    "docs/formats.md",
    "docs/glossary.md",
    "docs/lint.md",
    "docs/mechanisms.md",
    "docs/rules/anthropic.md",
    "docs/rules/openai.md",
    "docs/rules/others.md",
    "docs/sources.md",
    "docs/strategies.md",
    "docs/configuration.md",
    "docs/privacy.md",
    "docs/rules/README.md",
    "ARCHITECTURE.md",
];

/// Everything between spaces, code and tables included.
fn words(page: &Page) -> usize {
    page.text.split_whitespace().count()
}

#[test]
fn pages_are_short() {
    for page in pages() {
        let most = if page.name == "README.md" { 1_000 } else { 1_500 };
        let is_reference = REFERENCES.contains(&page.name.as_str());
        let words = words(&page);
        assert!(is_reference || words <= most, "{}: {words} words", page.name);
    }
}

/// Those who come first read short sentences.
#[test]
fn sentences_are_short() {
    let is_for_first = |page: &Page| {
        let starts = ["README.md", "docs/start/", "docs/causes/", "SECURITY.md"];
        starts.iter().any(|start| page.name.starts_with(start))
    };
    let pages = pages();
    let sentences = pages.iter().filter(|page| is_for_first(page)).flat_map(|page| {
        page.sentences().into_iter().map(|sentence| (page.name.clone(), sentence))
    });
    let is_long = |(_, sentence): &(String, String)| sentence.split_whitespace().count() > 30;
    let long: Vec<(String, String)> = sentences.filter(is_long).collect();
    assert!(long.is_empty(), "{long:#?}");
}
