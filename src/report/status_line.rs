//! Line about a session that is under way, from a template.

use std::fmt::Write as _;

use serde::{Serialize, Serializer};

use super::{dollars, duration, terminal_safe};
use crate::base::{KnownSum, Picodollars, Tokens, grouped, nearest, suggestion, words};
use crate::explain::breaks::Cause;

/// Template that is used by default.
pub const STATUS_TEMPLATE: &str = "{warm} · next {next}[ (cold {cold})] · session {session} · today {today} · hit {hit} · last break: {break}";

/// Data that a line can show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Cache that the next message finds, if anything was sent.
    pub next: Option<StatusOfNext>,
    /// Cost of the session, its sub-agents included.
    pub session: KnownSum,
    /// Cost of all sessions since the day began.
    pub today: KnownSum,
    /// Tokens of the session's prompts that were read, and all.
    pub read_of_prompts: (Tokens, Tokens),
    /// Newest break of the main conversation, with its cost.
    pub last_break: Option<(Cause, Option<Picodollars>)>,
}

/// State and costs of the next message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "NextObject"))]
pub struct StatusOfNext {
    /// Time for which the prompt can still be read, in milliseconds; zero if it cannot. In JSON in seconds.
    #[serde(rename = "warm_s", serialize_with = "seconds")]
    #[cfg_attr(test, schemars(with = "u64"))]
    pub left: i64,
    /// Tokens of the next prompt, without new text.
    #[serde(rename = "tokens")]
    pub prompt: Tokens,
    /// Largest prompt that the model takes, in tokens, if known.
    #[serde(rename = "window_tokens")]
    pub window: Option<Tokens>,
    /// Cost of the message as long as the prompt can be read, in dollars; unknown if the model has no price.
    #[serde(rename = "warm_usd")]
    pub warm: Option<Picodollars>,
    /// Cost of the message after that.
    #[serde(rename = "cold_usd")]
    pub cold: Option<Picodollars>,
    /// Cost of a request for a summary of an assumed size as long as the prompt can be read, in dollars.
    #[serde(rename = "compact_warm_usd")]
    pub compact_warm: Option<Picodollars>,
    /// Cost of such a request after that.
    #[serde(rename = "compact_cold_usd")]
    pub compact_cold: Option<Picodollars>,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde passes a reference
fn seconds<S: Serializer>(millis: &i64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_i64(millis / 1_000)
}

words! {
    /// Field of a template.
    enum Field {
        Warm = "warm";
        Next = "next";
        Cold = "cold";
        Session = "session";
        Today = "today";
        Hit = "hit";
        Break = "break";
        Prompt = "prompt";
    }
}

/// Text between the parts of a line.
const BETWEEN: &str = " · ";

/// Piece of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Field(Field),
    /// Pieces that are left out if one of their fields has no value.
    Optional(Vec<Piece>),
}

/// Template: text with `{field}`s.
///
/// Text in brackets, and each part between ` · `, is left out if one of its fields has no value. `{{`, `}}`,
/// `[[` and `]]` are the characters themselves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusTemplate(Vec<Vec<Piece>>);

/// Reason why a text is no template.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// Unknown field, with a suggestion.
    #[error(
        "there is no {{{0}}}{1}; write {{warm}}, {{next}}, {{cold}}, {{session}}, {{today}}, {{hit}}, {{break}} or {{prompt}}"
    )]
    Unknown(String, String),
    /// Single bracket or brace, with its place.
    #[error("`{0}` at character {1} stands alone; write it twice where it is meant as it is")]
    Alone(char, usize),
}

impl StatusTemplate {
    /// Parses a template.
    ///
    /// # Errors
    /// The text names a field that does not exist, or does not close a bracket or brace.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        let characters: Vec<char> = text.chars().collect();
        let mut parts = Vec::new();
        let mut pieces = Vec::new();
        // Position of an open bracket, and the pieces before it.
        let mut before: Option<(usize, Vec<Piece>)> = None;
        let mut at = 0;
        while let Some(&character) = characters.get(at) {
            let is_doubled = characters.get(at + 1) == Some(&character);
            match character {
                '{' | '}' | '[' | ']' if is_doubled => {
                    add_text(&mut pieces, character);
                    at += 1;
                }
                '{' => {
                    let rest = &characters[at + 1..];
                    let length = rest.iter().position(|one| *one == '}');
                    let length = length.ok_or(TemplateError::Alone('{', at + 1))?;
                    let name: String = rest[..length].iter().collect();
                    pieces.push(Piece::Field(field(&name)?));
                    at += length + 1;
                }
                '[' if before.is_none() => before = Some((at, std::mem::take(&mut pieces))),
                ']' => {
                    let (_, outer) = before.take().ok_or(TemplateError::Alone(']', at + 1))?;
                    let inner = std::mem::replace(&mut pieces, outer);
                    pieces.push(Piece::Optional(inner));
                }
                '}' | '[' => return Err(TemplateError::Alone(character, at + 1)),
                // Inside of brackets it is text, as they are left out as a whole.
                _ if before.is_none() && begins(&characters[at..], BETWEEN) => {
                    parts.push(std::mem::take(&mut pieces));
                    at += BETWEEN.chars().count() - 1;
                }
                // The result is one line, without escape sequences.
                _ if character.is_control() => {}
                _ => add_text(&mut pieces, character),
            }
            at += 1;
        }
        parts.push(pieces);
        before.map_or(Ok(Self(parts)), |(at, _)| Err(TemplateError::Alone('[', at + 1)))
    }

    /// The line for a status.
    pub fn line(&self, status: &Status) -> String {
        let parts = self.0.iter().filter_map(|pieces| shown(pieces, status));
        let parts: Vec<String> = parts.filter(|part| !part.is_empty()).collect();
        terminal_safe(&parts.join(BETWEEN)).into_owned()
    }
}

fn add_text(pieces: &mut Vec<Piece>, character: char) {
    match pieces.last_mut() {
        Some(Piece::Text(text)) => text.push(character),
        _ => pieces.push(Piece::Text(character.into())),
    }
}

fn begins(characters: &[char], text: &str) -> bool {
    text.chars().enumerate().all(|(place, one)| characters.get(place) == Some(&one))
}

fn field(name: &str) -> Result<Field, TemplateError> {
    Field::by_name(name).ok_or_else(|| {
        let near = nearest(name, Field::ALL.map(Field::name));
        TemplateError::Unknown(name.to_owned(), suggestion(&near))
    })
}

/// Text of pieces; `None` if one of their fields has no value.
fn shown(pieces: &[Piece], status: &Status) -> Option<String> {
    let mut text = String::new();
    for piece in pieces {
        match piece {
            Piece::Text(own) => text.push_str(own),
            Piece::Field(field) => text.push_str(&value(*field, status)?),
            Piece::Optional(pieces) => text.push_str(&shown(pieces, status).unwrap_or_default()),
        }
    }
    Some(text)
}

fn value(field: Field, status: &Status) -> Option<String> {
    match field {
        Field::Warm => status.next.map(|next| match next.left {
            ..=0 => "cold".to_owned(),
            left => format!("warm {}", left_for(left)),
        }),
        Field::Next => {
            status.next.map(|next| price(if next.left > 0 { next.warm } else { next.cold }))
        }
        Field::Cold => status.next.filter(|next| next.left > 0).map(|next| price(next.cold)),
        Field::Session => Some(known_cents(status.session)),
        Field::Today => Some(known_cents(status.today)),
        Field::Hit => {
            let (read, all) = status.read_of_prompts;
            // Rounded down, so that 100 % means all.
            (all > Tokens::ZERO)
                .then(|| format!("{} %", u128::from(read.0) * 100 / u128::from(all.0)))
        }
        Field::Break => status.last_break.map(|(cause, excess)| {
            let mut text = cause.meaning().to_owned();
            if excess.is_some() {
                let _infallible = write!(text, " {}", price(excess));
            }
            text
        }),
        Field::Prompt => status.next.map(|next| grouped(next.prompt.0)),
    }
}

/// Remaining time such as `41m` or, in the last minute, `41s`.
pub(super) fn left_for(millis: i64) -> String {
    match millis / 1_000 {
        seconds @ ..60 => format!("{seconds}s"),
        seconds @ 60..3_600 => format!("{}m", seconds / 60),
        _ => duration(millis),
    }
}

fn price(amount: Option<Picodollars>) -> String {
    amount.map_or_else(|| dollars(None), cents)
}

/// Sum of the known costs with two decimals, and a plus if some are unknown.
pub(super) fn known_cents(costs: KnownSum) -> String {
    cents(costs.sum) + if costs.unknown > 0 { "+" } else { "" }
}

/// Amount with two decimals, as a line is read at a glance.
pub(super) fn cents(amount: Picodollars) -> String {
    const CENT: u128 = 10_000_000_000;
    let cents = (amount.0.unsigned_abs() + CENT / 2) / CENT;
    // An amount below half a cent must not look like nothing.
    if cents == 0 && amount != Picodollars::ZERO {
        return dollars(Some(amount));
    }
    let whole = u64::try_from(cents / 100).unwrap_or(u64::MAX);
    format!("${}.{:02}", grouped(whole), cents % 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status() -> Status {
        Status {
            next: Some(StatusOfNext {
                left: 41 * 60_000 + 59_999,
                prompt: Tokens(131_200),
                warm: Some(Picodollars(120_000_000_000)),
                cold: Some(Picodollars(1_312_500_000_000)),
                compact_warm: None,
                compact_cold: None,
                window: None,
            }),
            session: known(8_404_999_999_999),
            today: KnownSum { unknown: 1, ..known(1_031_004_000_000_000) },
            read_of_prompts: (Tokens(979), Tokens(1_000)),
            last_break: Some((Cause::ToolsChanged, Some(Picodollars(440_000_000_000)))),
        }
    }

    fn known(amount: i128) -> KnownSum {
        KnownSum { sum: Picodollars(amount), known: 1, unknown: 0 }
    }

    fn line(template: &str, status: &Status) -> String {
        StatusTemplate::parse(template).expect("a template").line(status)
    }

    #[test]
    fn the_line_answers_in_its_order() {
        let meaning = Cause::ToolsChanged.meaning();
        let all = format!(
            "warm 41m · next $0.12 (cold $1.31) · session $8.40 · today $1,031.00+ · hit 97 % · last break: {meaning} $0.44"
        );
        assert_eq!(line(STATUS_TEMPLATE, &status()), all);
    }

    #[test]
    fn what_is_cold_has_one_price() {
        let next = status().next.map(|next| StatusOfNext { left: 0, ..next });
        let cold = Status { next, last_break: None, ..status() };
        let shown = "cold · next $1.31 · session $8.40 · today $1,031.00+ · hit 97 %";
        assert_eq!(line(STATUS_TEMPLATE, &cold), shown);
        assert_eq!(line(STATUS_TEMPLATE, &Status::default()), "session $0.00 · today $0.00");
    }

    #[test]
    fn unknown_prices_are_no_zeros() {
        let next = StatusOfNext {
            left: 59_000,
            prompt: Tokens(1),
            warm: None,
            cold: None,
            compact_warm: None,
            compact_cold: None,
            window: None,
        };
        let unknown = Status { next: Some(next), ..Status::default() };
        assert_eq!(
            line("{warm}: {next}[ ({cold})] {prompt}", &unknown),
            "warm 59s: unknown (unknown) 1"
        );
        let cheap = Status { session: known(3_000_000_000), ..unknown };
        assert_eq!(line("{session}", &cheap), "$0.0030");
    }

    #[test]
    fn templates_say_what_is_wrong() {
        let wrong = |text: &str| StatusTemplate::parse(text).expect_err(text).to_string();
        assert!(
            wrong("{sesion}").contains("there is no {sesion} (did you mean `session`"),
            "{}",
            wrong("{sesion}")
        );
        assert!(wrong("a {hit").starts_with("`{` at character 3 stands alone"));
        assert!(wrong("[a").starts_with("`[` at character 1 stands alone"));
        assert!(wrong("[a [b]]").starts_with("`[` at character 4 stands alone"));
        assert!(wrong("a }").starts_with("`}` at character 3 stands alone"));
        assert!(wrong("a\n\u{1b}[").starts_with("`[` at character 4 stands alone"));
        assert_eq!(line("{{a}} [[b]]\u{1b}[[0m", &status()), "{a} [b][0m");
    }
}
