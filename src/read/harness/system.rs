//! Blocks of a system prompt and their scopes (Claude Code 2.1.88, as documented).
//!
//! The line that names the client's version and the sentence of its identity go to the front from any place. Of the
//! rest, the part before the boundary is the same in all installations and may be cached for everyone; if that is not
//! allowed, or there is no boundary, the rest is one block.
//!
//! Parts of a system prompt, and the session's memory of its sections (Claude Code 2.1.88, as
//! documented): a section is computed once and keeps its text until the conversation is cleared;
//! a volatile one is computed for each request, and must give a reason.
//!
//! The status of a repository is cut if it is long, so that many changed files do not fill the system prompt. The
//! limit of 2,000 characters is documented; the extent of the text and the words in place of the rest are assumed:
//! each paragraph is cut by itself, its label (a first line that ends with a colon) aside, so that the branch in
//! front and the commits after stay.

use std::borrow::Cow;

use rustc_hash::FxHashMap;
use serde_json::value::RawValue;

use super::bundle::Context;
use super::flags::SystemFlags;
use super::place::BundleError;
use super::raw::{Object, string, unexpected};
use super::ttl::Scope;

/// Prefix of the line that names the client's version.
const ATTRIBUTION_PREFIX: &str = "x-anthropic-billing-header";

/// Mark between the static and the dynamic part, never sent.
pub(crate) const BOUNDARY: &str = "__SYSTEM_PROMPT_DYNAMIC_BOUNDARY__";

/// Entry of the system context whose text is cut.
const GIT_STATUS: &str = "gitStatus";

/// Text block of the system prompt.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SystemBlock {
    pub(super) text: String,
    /// Scope of the marker; nothing for a block without a marker.
    pub(super) scope: Option<Scope>,
}

/// Strings of a system prompt by kind.
#[derive(Debug, Default)]
struct Strings<'s> {
    attribution: Option<&'s str>,
    identity: Option<&'s str>,
    before_boundary: Vec<&'s str>,
    after_boundary: Vec<&'s str>,
    has_boundary: bool,
}

/// Returns true if a text is the line that names the client's version.
pub(super) fn is_attribution(text: &str) -> bool {
    text.starts_with(ATTRIBUTION_PREFIX)
}

/// Last string of the system prompt, if there is any context.
pub(super) fn context_text(context: &Context<'_>) -> Option<String> {
    let line = |(name, value): &(Cow<'_, str>, Cow<'_, str>)| match &**name {
        GIT_STATUS => format!("{name}: {}", cut(value)),
        _ => format!("{name}: {value}"),
    };
    let lines: Vec<String> = context.iter().map(line).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// Blocks for strings, none of them empty.
pub(super) fn blocks(strings: &[&str], flags: &SystemFlags<'_>) -> Vec<SystemBlock> {
    let strings = Strings::tell_apart(strings, flags);
    if flags.allows_global_scope && strings.has_boundary {
        strings.shared_by_everyone()
    } else {
        strings.shared_by_organisation()
    }
}

impl<'s> Strings<'s> {
    /// Strings by kind. Of several attributions or identities the last one counts, and the others are dropped.
    fn tell_apart(strings: &[&'s str], flags: &SystemFlags<'_>) -> Self {
        let mut apart = Self::default();
        for text in strings {
            if *text == BOUNDARY {
                apart.has_boundary = true;
            } else if is_attribution(text) {
                apart.attribution = Some(text);
            } else if flags.identities.iter().any(|identity| identity == text) {
                apart.identity = Some(text);
            } else if apart.has_boundary {
                apart.after_boundary.push(text);
            } else {
                apart.before_boundary.push(text);
            }
        }
        apart
    }

    fn shared_by_everyone(self) -> Vec<SystemBlock> {
        present([
            (self.attribution.into_iter().collect(), None),
            (self.identity.into_iter().collect(), None),
            // Its marker covers attribution and identity, too, as they are in front.
            (self.before_boundary, Some(Scope::Global)),
            (self.after_boundary, None),
        ])
    }

    fn shared_by_organisation(self) -> Vec<SystemBlock> {
        let rest = [self.before_boundary, self.after_boundary].concat();
        present([
            (self.attribution.into_iter().collect(), None),
            (self.identity.into_iter().collect(), Some(Scope::Organisation)),
            (rest, Some(Scope::Organisation)),
        ])
    }
}

/// Blocks with any text, their strings joined by blank lines.
fn present<const N: usize>(blocks: [(Vec<&str>, Option<Scope>); N]) -> Vec<SystemBlock> {
    blocks
        .into_iter()
        .filter(|(strings, _)| !strings.is_empty())
        .map(|(strings, scope)| SystemBlock { text: strings.join("\n\n"), scope })
        .collect()
}

/// Element of a system prompt. A text that is null is empty, which is as good as left out.
#[derive(Debug)]
pub(super) enum Part<'a> {
    /// Plain string.
    Plain(Cow<'a, str>),
    /// Section that is computed once.
    Memoised { name: Cow<'a, str>, text: Cow<'a, str> },
    /// Section that is computed for each request.
    Volatile { text: Cow<'a, str>, has_reason: bool },
}

impl<'a> Part<'a> {
    pub(super) fn read(part: &'a RawValue) -> Result<Self, BundleError> {
        if let Some(text) = string(part) {
            return Ok(Self::Plain(text));
        }
        let path = "prompt.system[…]";
        let expected = "a string, or a section with its name and text";
        let section =
            Object::read(part, path).ok_or_else(|| unexpected(path, Some(part), expected))?;
        let name =
            section.string("section")?.ok_or_else(|| section.unexpected("section", "a string"))?;
        let text = section.string("text")?.unwrap_or_default();
        if section.boolean("volatile")?.unwrap_or(false) {
            let has_reason = section.string("reason")?.is_some_and(|reason| !reason.is_empty());
            Ok(Self::Volatile { text, has_reason })
        } else {
            Ok(Self::Memoised { name, text })
        }
    }

    pub(super) fn lacks_reason(&self) -> bool {
        matches!(self, Self::Volatile { has_reason: false, .. })
    }
}

/// Sections that a session has computed.
#[derive(Debug, Default)]
pub(super) struct Sections {
    texts: FxHashMap<String, String>,
}

impl Sections {
    /// Texts of the parts, as this session has them. Empty ones are left out.
    pub(super) fn texts<'s>(&'s mut self, parts: &'s [Part<'_>]) -> Vec<&'s str> {
        self.remember(parts);
        parts.iter().map(|part| self.text(part)).filter(|text| !text.is_empty()).collect()
    }

    fn remember(&mut self, parts: &[Part<'_>]) {
        for part in parts {
            if let Part::Memoised { name, text } = part
                && !self.texts.contains_key(&**name)
            {
                self.texts.insert(name.clone().into_owned(), text.clone().into_owned());
            }
        }
    }

    fn text<'s>(&'s self, part: &'s Part<'_>) -> &'s str {
        match part {
            Part::Plain(text) | Part::Volatile { text, .. } => text,
            Part::Memoised { name, text } => self.texts.get(&**name).map_or(text, String::as_str),
        }
    }
}

/// Longest paragraph, in characters.
const MOST_CHARACTERS: usize = 2_000;

/// Notice in place of the rest.
const NOTICE: &str = "\n... (cut at 2,000 characters)";

/// Start of the notice in place of the rest, whoever cut it.
const CUT: &str = "\n...";

/// Status with its long paragraphs cut. A paragraph that was cut before stays as it is.
pub(super) fn cut(status: &str) -> Cow<'_, str> {
    // Bytes bound the characters from above, and are counted already.
    if status.len() <= MOST_CHARACTERS {
        return Cow::Borrowed(status);
    }
    let paragraphs: Vec<Cow<'_, str>> = status.split("\n\n").map(cut_paragraph).collect();
    Cow::Owned(paragraphs.join("\n\n"))
}

fn cut_paragraph(paragraph: &str) -> Cow<'_, str> {
    let label = paragraph.split_inclusive('\n').next().filter(|line| line.ends_with(":\n"));
    let label = label.map_or(0, str::len);
    let mut characters = paragraph[label..].char_indices();
    let Some((end, _)) = characters.nth(MOST_CHARACTERS) else { return paragraph.into() };
    let (kept, rest) = paragraph.split_at(label + end);
    let was_cut = rest.starts_with(CUT) && !rest[1..].contains('\n');
    if was_cut { paragraph.into() } else { format!("{kept}{NOTICE}").into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scopes(strings: &[&str], allows_global_scope: bool) -> Vec<(String, Option<Scope>)> {
        let identities = vec![Cow::Borrowed("I am I.")];
        let may_have_global_scope = true;
        let flags = SystemFlags {
            allows_global_scope,
            is_first_party: true,
            may_have_global_scope,
            identities,
        };
        blocks(strings, &flags).into_iter().map(|block| (block.text, block.scope)).collect()
    }

    #[test]
    fn a_part_without_text_has_no_block() {
        assert_eq!(scopes(&[], true), []);
        assert_eq!(scopes(&[BOUNDARY, BOUNDARY], true), []);
        assert_eq!(scopes(&[BOUNDARY, "d"], true), [("d".to_owned(), None)]);
        let global = [("s".to_owned(), Some(Scope::Global))];
        assert_eq!(scopes(&["s", BOUNDARY], true), global);
    }

    #[test]
    fn behind_the_first_boundary_all_is_dynamic() {
        let strings = ["s", BOUNDARY, "d", BOUNDARY, "e"];
        let expected = [("s".to_owned(), Some(Scope::Global)), ("d\n\ne".to_owned(), None)];
        assert_eq!(scopes(&strings, true), expected);
        let organisation = [("s\n\nd\n\ne".to_owned(), Some(Scope::Organisation))];
        assert_eq!(scopes(&strings, false), organisation);
    }

    #[test]
    fn an_identity_is_the_whole_string() {
        let organisation = Some(Scope::Organisation);
        assert_eq!(
            scopes(&["I am I. Not you.", "I am I."], false),
            [("I am I.".to_owned(), organisation), ("I am I. Not you.".to_owned(), organisation)]
        );
    }

    #[test]
    fn a_context_is_told_line_by_line() {
        let entry = |name: &'static str, text: &'static str| (name.into(), text.into());
        assert_eq!(context_text(&vec![]), None);
        let context = vec![entry("a", "1"), entry("b", "")];
        assert_eq!(context_text(&context).as_deref(), Some("a: 1\nb: "));
    }

    fn parts(json: &str) -> Vec<Part<'_>> {
        let parts: Vec<&RawValue> = serde_json::from_str(json).expect("a list");
        parts.into_iter().map(|part| Part::read(part).expect("a part")).collect()
    }

    #[test]
    fn a_section_keeps_its_first_text() {
        let mut sections = Sections::default();
        let first = parts(
            r#"["a",{"section":"s","text":"1"},{"section":"n"},"",
            {"section":"s","text":"2"}]"#,
        );
        assert_eq!(sections.texts(&first), ["a", "1", "1"]);
        let second = parts(r#"[{"section":"n","text":"3"},{"section":"s","text":null}]"#);
        assert_eq!(sections.texts(&second), ["1"]);
    }

    #[test]
    fn a_volatile_section_is_neither_kept_nor_replaced() {
        let mut sections = Sections::default();
        for text in ["1", "2"] {
            let json =
                format!(r#"[{{"section":"s","text":"{text}","volatile":true,"reason":"r"}}]"#);
            assert_eq!(sections.texts(&parts(&json)), [text]);
        }
        assert_eq!(sections.texts(&parts(r#"[{"section":"s","text":"3"}]"#)), ["3"]);
    }

    #[test]
    fn a_volatile_section_needs_a_reason() {
        for (reason, lacks_reason) in [
            ("", true),
            (r#","reason":null"#, true),
            (r#","reason":"""#, true),
            (r#","reason":"servers connect""#, false),
        ] {
            let json = format!(r#"[{{"section":"s","volatile":true{reason}}}]"#);
            assert_eq!(parts(&json)[0].lacks_reason(), lacks_reason, "{json}");
        }
    }

    #[test]
    fn anything_else_is_no_part() {
        for part in ["7", "null", "[]", "{}", r#"{"section":7}"#, r#"{"section":"s","text":[]}"#] {
            let raw = serde_json::from_str(part).expect("JSON");
            assert!(Part::read(raw).is_err(), "{part}");
        }
    }

    #[test]
    fn the_status_is_cut_and_what_stands_around_it_is_not() {
        let status = |text: &str| format!("Branch: main\n\nStatus:\n{text}\n\nCommits:\na1 b");
        let short = status(&"é".repeat(2_000));
        assert_eq!(cut(&short), short);
        let once = cut(&status(&"é".repeat(2_001))).into_owned();
        assert_eq!(once, status(&format!("{}{NOTICE}", "é".repeat(2_000))));
        assert_eq!(cut(&once), once);
        let by_client = status(&format!("{}\n... (more)", "m".repeat(2_000)));
        assert_eq!(cut(&by_client), by_client);
    }

    #[test]
    fn a_status_alone_is_cut() {
        assert_eq!(cut(&"m".repeat(2_500)), format!("{}{NOTICE}", "m".repeat(2_000)));
        let lines = " M a.rs\n".repeat(300);
        assert_eq!(cut(&lines), format!("{}{NOTICE}", &lines[..2_000]));
    }
}
