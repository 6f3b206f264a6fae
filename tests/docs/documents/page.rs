//! A page of Markdown, taken apart.

use std::collections::BTreeSet;
use std::fs;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use walkdir::WalkDir;

use crate::common::{project, utf8};

/// A page of the project.
pub(super) struct Page {
    /// Its path in the project.
    pub(super) name: String,
    pub(super) text: String,
}

/// A block of code.
pub(super) struct Block {
    pub(super) language: String,
    pub(super) text: String,
}

/// Where pages stand, below the project.
const PLACES: [&str; 8] = [
    "README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "ARCHITECTURE.md",
    "docs",
    "integrations",
    "packaging",
    "reports",
];

/// Every page that people read.
pub(super) fn pages() -> Vec<Page> {
    let root = project("");
    let files = PLACES.iter().flat_map(|place| WalkDir::new(root.join(place)).sort_by_file_name());
    let paths = files.map(|entry| entry.expect("it is there").into_path());
    let pages = paths.filter(|path| path.extension().is_some_and(|one| one == "md"));
    // Texts of licences are the words of others.
    let pages = pages.filter(|path| !path.components().any(|one| one.as_os_str() == "licenses"));
    let page = |path: std::path::PathBuf| {
        let name = utf8(path.strip_prefix(&root).expect("below it")).to_owned();
        Page { name, text: fs::read_to_string(&path).expect("a page") }
    };
    pages.map(page).collect()
}

impl Page {
    fn events(&self) -> impl Iterator<Item = Event<'_>> {
        Parser::new_ext(&self.text, Options::ENABLE_TABLES)
    }

    /// The blocks of code, in order.
    pub(super) fn blocks(&self) -> Vec<Block> {
        let mut blocks = Vec::new();
        let mut open: Option<Block> = None;
        for event in self.events() {
            match event {
                Event::Start(Tag::CodeBlock(kind)) => {
                    let language = match kind {
                        CodeBlockKind::Fenced(language) => language.into_string(),
                        CodeBlockKind::Indented => "text".to_owned(),
                    };
                    open = Some(Block { language, text: String::new() });
                }
                Event::Text(text) => {
                    if let Some(block) = &mut open {
                        block.text += &text;
                    }
                }
                Event::End(TagEnd::CodeBlock) => blocks.extend(open.take()),
                _ => {}
            }
        }
        blocks
    }

    /// Where links and pictures lead.
    pub(super) fn links(&self) -> Vec<String> {
        let target = |event| match event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                Some(dest_url.into_string())
            }
            _ => None,
        };
        self.events().filter_map(target).collect()
    }

    /// The anchors of its headings, as they are made of the words.
    pub(super) fn anchors(&self) -> BTreeSet<String> {
        let mut anchors = BTreeSet::new();
        let mut open: Option<String> = None;
        for event in self.events() {
            match event {
                Event::Start(Tag::Heading { .. }) => open = Some(String::new()),
                Event::Text(text) | Event::Code(text) => {
                    if let Some(heading) = &mut open {
                        *heading += &text;
                    }
                }
                Event::End(TagEnd::Heading(_)) => {
                    anchors.extend(open.take().map(|one| anchor(&one)));
                }
                _ => {}
            }
        }
        anchors
    }

    /// Its sentences outside of code, tables and headings.
    pub(super) fn sentences(&self) -> Vec<String> {
        let mut paragraphs = Vec::new();
        let mut open: Option<String> = None;
        for event in self.events() {
            match event {
                Event::Start(Tag::Paragraph | Tag::Item) => {
                    paragraphs.extend(open.take());
                    open = Some(String::new());
                }
                Event::End(TagEnd::Paragraph | TagEnd::Item) => paragraphs.extend(open.take()),
                Event::Start(Tag::CodeBlock(_) | Tag::Heading { .. } | Tag::Table(_)) => {
                    paragraphs.extend(open.take());
                }
                Event::Text(text) => {
                    if let Some(paragraph) = &mut open {
                        *paragraph += &text;
                    }
                }
                // A sentence may begin with a name in lower case.
                Event::Code(text) => {
                    if let Some(paragraph) = &mut open {
                        *paragraph += &["`", &text, "`"].concat();
                    }
                }
                Event::SoftBreak | Event::HardBreak => {
                    if let Some(paragraph) = &mut open {
                        paragraph.push(' ');
                    }
                }
                _ => {}
            }
        }
        paragraphs.iter().flat_map(|paragraph| sentences(paragraph)).collect()
    }
}

/// The sentences of a paragraph. One ends before a space and a capital, or at the end.
fn sentences(paragraph: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    let words: Vec<&str> = paragraph.split_whitespace().collect();
    for (index, word) in words.iter().enumerate() {
        let sentence = found.last_mut().expect("one is open");
        *sentence += &[word, " "].concat();
        let ends = word.trim_end_matches(['"', '”', ')', '’']).ends_with(['.', ':', '?', '!']);
        if ends && words.get(index + 1).is_some_and(|next| !next.starts_with(char::is_lowercase)) {
            found.push(String::new());
        }
    }
    found
}

/// The anchor of a heading: lower case, hyphens for spaces, other signs left out.
fn anchor(heading: &str) -> String {
    let kept = heading
        .trim()
        .chars()
        .filter(|one| one.is_alphanumeric() || matches!(one, ' ' | '-' | '_'));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}
