//! Titles of sessions, which are on lines of their own.

use serde::Deserialize;

use super::wire::Line;
use crate::base::EntryId;
use crate::read::input::{Text, only_value, replace_lone_surrogates};

/// Longest title, in characters. Longer ones are cut.
const MOST_CHARACTERS: usize = 200;

/// Author of a title. A later one wins over an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TitleKind {
    /// `summary`: the older clients.
    Summary,
    /// `ai-title`: a model, on the client's request.
    Ai,
    /// `custom-title`: the user.
    Custom,
}

/// Session that a title is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Titled {
    /// Session of this name.
    Session(Box<str>),
    /// Session that has this entry, which may be in another file.
    Leaf(EntryId),
}

/// Title of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Title {
    /// Author of the title.
    pub kind: TitleKind,
    /// Session that it is for.
    pub of: Titled,
    /// Title itself, as its author wrote it: it may hold any character.
    pub text: Box<str>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct TitleLine<'a> {
    #[serde(borrow)]
    summary: Text<'a>,
    ai_title: Text<'a>,
    custom_title: Text<'a>,
}

/// Title on a line; `json` is the whole line.
pub(super) fn title(line: &Line<'_>, json: &str) -> Option<Title> {
    let kind = match line.r#type.as_str()? {
        "summary" => TitleKind::Summary,
        "ai-title" => TitleKind::Ai,
        "custom-title" => TitleKind::Custom,
        _ => return None,
    };
    let of = match kind {
        TitleKind::Summary => Titled::Leaf(EntryId::of(line.leaf_uuid.as_str()?)),
        TitleKind::Ai | TitleKind::Custom => Titled::Session(line.session_id.as_str()?.into()),
    };
    // The first reading skips this text, so half a character in it is met only here.
    let text = text(kind, json).or_else(|| text(kind, &replace_lone_surrogates(json)?))?;
    Some(Title { kind, of, text })
}

fn text(kind: TitleKind, json: &str) -> Option<Box<str>> {
    let line: TitleLine<'_> = only_value(json).ok()?;
    let text = match kind {
        TitleKind::Summary => line.summary,
        TitleKind::Ai => line.ai_title,
        TitleKind::Custom => line.custom_title,
    };
    let text = text.as_str()?.trim();
    let end = text.char_indices().nth(MOST_CHARACTERS).map_or(text.len(), |(end, _)| end);
    (!text.is_empty()).then(|| text[..end].into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Option<Title> {
        title(&serde_json::from_str(json).expect("a line"), json)
    }

    fn text_of(value: &str) -> Option<String> {
        let json = format!(r#"{{"type":"custom-title","customTitle":{value},"sessionId":"s"}}"#);
        read(&json).map(|title| title.text.into())
    }

    #[test]
    fn each_kind_has_its_field() {
        let fields = r#""summary":"old","aiTitle":"made","customTitle":"own""#;
        let line = |name: &str| {
            read(&format!(r#"{{"type":"{name}",{fields},"sessionId":"s","leafUuid":"l"}}"#))
        };
        let session = Titled::Session("s".into());
        let leaf = Titled::Leaf(EntryId::of("l"));
        let title = |kind, of, text: &str| Some(Title { kind, of, text: text.into() });
        assert_eq!(line("summary"), title(TitleKind::Summary, leaf, "old"));
        assert_eq!(line("ai-title"), title(TitleKind::Ai, session.clone(), "made"));
        assert_eq!(line("custom-title"), title(TitleKind::Custom, session, "own"));
        assert_eq!(line("task-summary"), None);
        assert_eq!(read(r#"{"type":"ai-title","aiTitle":"of nothing"}"#), None);
        assert_eq!(read(r#"{"type":"summary","summary":"of nothing","sessionId":"s"}"#), None);
    }

    #[test]
    fn titles_are_trimmed_and_cut_but_not_changed() {
        assert_eq!(text_of(r#"" \t two words\n""#).as_deref(), Some("two words"));
        assert_eq!(text_of(r#""<b>\u001b[1m""#).as_deref(), Some("<b>\u{1b}[1m"));
        let long = format!("\"{}\"", "ä".repeat(201));
        assert_eq!(text_of(&long), Some("ä".repeat(200)));
        assert_eq!(text_of(r#""half \ud83d of one""#).as_deref(), Some("half \u{fffd} of one"));
        for none in [r#""""#, r#"" ""#, "null", "7", "[]", "{}"] {
            assert_eq!(text_of(none), None, "{none}");
        }
    }
}
