//! Links between pages and into the project, and the list of the book's pages.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use super::page::pages;
use crate::common::{project, utf8};

/// A path without `.` and `..`.
fn plain(path: &Path) -> String {
    let mut parts = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                assert!(parts.pop(), "{} leads out of the project", path.display());
            }
            Component::CurDir => {}
            other => parts.push(other),
        }
    }
    utf8(&parts).to_owned()
}

#[test]
fn every_link_leads_somewhere() {
    let pages = pages();
    let anchors: BTreeMap<&str, BTreeSet<String>> =
        pages.iter().map(|page| (page.name.as_str(), page.anchors())).collect();
    let mut wrong = Vec::new();
    for page in &pages {
        let folder = Path::new(&page.name).parent().unwrap_or(Path::new(""));
        for link in page.links() {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            let (path, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target =
                if path.is_empty() { page.name.clone() } else { plain(&folder.join(path)) };
            let is_there = project(&target).exists();
            let is_named = anchor.is_empty()
                || anchors.get(target.as_str()).is_none_or(|known| known.contains(anchor));
            if !is_there || !is_named {
                wrong.push(format!("{}: {link}", page.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Every page of `docs/` is in the book, once, but for what belongs to the sample repository.
#[test]
fn the_book_has_every_page() {
    let pages = pages();
    let summary = pages.iter().find(|page| page.name == "docs/SUMMARY.md").expect("a summary");
    let mut listed: Vec<String> =
        summary.links().iter().map(|link| plain(&Path::new("docs").join(link))).collect();
    listed.sort();
    let is_of_book = |name: &&str| {
        name.starts_with("docs/")
            && *name != "docs/SUMMARY.md"
            && !name.starts_with("docs/ci/sample/")
    };
    let mut there: Vec<&str> =
        pages.iter().map(|page| page.name.as_str()).filter(is_of_book).collect();
    there.sort_unstable();
    assert_eq!(listed, there);
}
