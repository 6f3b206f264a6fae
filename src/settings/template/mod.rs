//! Request templates: a body of the Messages API as JSON, with or without comments, and edits of its markers.
//!
//! The simulation decides on which blocks a design places markers: the template is read as a captured request
//! ([`request`]), after the request before its last answer. The syntax tree of the text gives the places of these
//! blocks and the edits ([`blocks`]). The result is parsed again: unless it is the same prompt with the wanted markers,
//! no patch is returned.

mod blocks;
mod request;

use std::fmt;

use jsonc_parser::ast::Value as Node;
use serde_json::{Value, json};

use super::root::Root;
use super::text::{Edits, SettingsError, SettingsText, range};
use crate::base::Ttl;
use crate::base::toml_text::line_and_column;
use crate::read::log::{OtherApi, other_api};
use crate::simulate::cache::Refusal;
use crate::simulate::strategy::{MarkerDesign, Placement};
use blocks::Blocks;
use request::{Body, Requests};

/// Key of a marker.
const MARKER: &str = "cache_control";

/// A request template.
#[derive(Clone, Debug)]
pub struct Template(SettingsText);

/// Reason for which a template has no patch.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
    /// Damaged text.
    #[error("{0}")]
    Text(#[from] SettingsError),
    /// JSON that is not a request.
    #[error(": it is no request to the Messages API: {0}")]
    NoRequest(String),
    /// A part of the text that cannot be edited.
    #[error(":{line}:{column}: {why}")]
    Place {
        /// Line, from 1 on.
        line: usize,
        /// Character in the line, from 1 on.
        column: usize,
        /// Reason, as shown.
        why: &'static str,
    },
    /// A request that the service would refuse.
    #[error(": the service would refuse it: {}", .0.label())]
    Refused(Refusal),
    /// A block to be marked that is not an object.
    #[error(": a marker would stand on {0}, which is no object")]
    NoBlock(String),
    /// A block to be marked whose text is empty: the service takes no marker on it.
    #[error(
        ": a marker would stand on {0}, whose text is empty; write an open place there, such as \"{{{{text}}}}\""
    )]
    Empty(String),
    /// A design of lifetimes alone, for a template without markers.
    #[error(
        ": it has no marker whose lifetime could be set; place some first, as --apply last-two does"
    )]
    NoMarker,
    /// Edits that would change more than the markers.
    #[error(": its markers cannot be changed alone")]
    NotAlone,
}

impl PatchError {
    /// An error at a node of the text.
    fn at(root: &Root<'_>, node: &Node<'_>, why: &'static str) -> Self {
        let (line, column) = line_and_column(root.text, range(node).start);
        Self::Place { line, column, why }
    }
}

/// Lifetime of a marker before and after a patch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarkerChange {
    /// Marked place: `system[0]`, or the request itself.
    pub place: MarkerPlace,
    /// Lifetime before, if the marker existed.
    pub before: Option<Ttl>,
    /// Lifetime afterwards, if the marker exists.
    pub after: Option<Ttl>,
}

/// Place of a marker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MarkerPlace {
    /// The request itself (automatic caching).
    Request,
    /// A block, by its path in the body.
    Block(String),
}

impl fmt::Display for MarkerPlace {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Request => out.write_str("the request"),
            Self::Block(path) => out.write_str(path),
        }
    }
}

/// A template with other markers.
#[derive(Clone, Debug)]
pub struct Patched {
    /// Text of the template.
    pub text: SettingsText,
    /// Changed markers, in the order of the prefix.
    pub changes: Vec<MarkerChange>,
    /// Number of markers in the patched template.
    pub markers: usize,
}

impl Template {
    /// Reads a template.
    ///
    /// # Errors
    /// The text is damaged, or not an object.
    pub fn parse(bytes: &[u8]) -> Result<Self, PatchError> {
        Ok(Self(SettingsText::parse(bytes)?))
    }

    /// Text of the template.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// Applies the markers of a design.
    ///
    /// # Errors
    /// The template is not a request, or the markers cannot be changed alone.
    pub fn with(&self, design: &MarkerDesign) -> Result<Patched, PatchError> {
        let body = within(&self.0, |root| match other_api(&root.value()) {
            Some(api) => Err(PatchError::NoRequest(marks_of(api).to_owned())),
            None => Body::of(root),
        })?;
        let requests = Requests::of(&body)?;
        let before = requests.recorded();
        let wanted = requests.placed(design);
        if design.keeps_places() && before.is_empty() {
            return Err(PatchError::NoMarker);
        }
        let changes = changes(&before, &wanted);
        let (ways, changes) = within(&self.0, |root| edits(root, &requests, &changes))?;
        // The first way of editing whose result reads as the same prompt wins.
        let mut patched = ways.into_iter().filter_map(|edits: Edits| self.0.edited(edits));
        let patched = patched.find_map(|text| Some((self.read_again(&text, &wanted)?, text)));
        let (requests, text) = patched.ok_or(PatchError::NotAlone)?;
        match requests.refusal() {
            Some(refusal) => Err(PatchError::Refused(refusal)),
            None => Ok(Patched { text, changes, markers: wanted.len() }),
        }
    }

    /// Parses an edited text. `None` unless only the markers differ and are the wanted ones.
    fn read_again(&self, text: &SettingsText, wanted: &[Placement]) -> Option<Requests> {
        let value = |text: &SettingsText| text.with_root(|root| Ok(root.value())).ok();
        let is_same = value(&self.0).map(unmarked) == value(text).map(unmarked);
        let requests = Requests::of(&within(text, Body::of).ok()?).ok()?;
        (is_same && requests.recorded() == wanted).then_some(requests)
    }
}

/// Runs a function on the object of a text.
fn within<T>(
    text: &SettingsText,
    work: impl FnOnce(&Root<'_>) -> Result<T, PatchError>,
) -> Result<T, PatchError> {
    text.with_root(|root| Ok(work(root)))?
}

/// Alternative edits of a text, the best first, and the changes with their places.
fn edits(
    root: &Root<'_>,
    requests: &Requests,
    changes: &[Change],
) -> Result<(Vec<Edits>, Vec<MarkerChange>), PatchError> {
    let blocks = Blocks::of(root)?.counted(requests.blocks())?;
    let told = changes.iter().map(|change| blocks.told(change)).collect::<Result<_, _>>()?;
    Ok((blocks.edits(changes)?, told))
}

/// A body without its markers, with each content as a list.
fn unmarked(mut body: Value) -> Value {
    take_marker(&mut body);
    body["tools"].as_array_mut().into_iter().flatten().for_each(take_marker);
    unmark(&mut body["system"]);
    for message in body["messages"].as_array_mut().into_iter().flatten() {
        unmark(&mut message["content"]);
    }
    body
}

/// Removes the markers of a content.
fn unmark(content: &mut Value) {
    if content.is_string() {
        let text = content.take();
        *content = json!([{"type": "text", "text": text}]);
    }
    content.as_array_mut().into_iter().flatten().for_each(take_marker);
}

fn take_marker(block: &mut Value) {
    if let Value::Object(fields) = block {
        fields.remove(MARKER);
    }
}

/// Lifetime of a marker before and afterwards, by place.
struct Change {
    /// Number of blocks up to the marker. `None` for the marker of the request itself.
    blocks: Option<u32>,
    before: Option<Ttl>,
    after: Option<Ttl>,
}

/// Markers that differ, in the order of the prefix.
fn changes(before: &[Placement], after: &[Placement]) -> Vec<Change> {
    let place = |marker: &Placement| (!marker.is_automatic).then_some(marker.blocks);
    let at = |markers: &[Placement], blocks| {
        markers.iter().find(|marker| place(marker) == blocks).map(|marker| marker.ttl)
    };
    let mut places: Vec<Option<u32>> = before.iter().chain(after).map(place).collect();
    places.sort_unstable_by_key(|place| place.unwrap_or(u32::MAX));
    places.dedup();
    let change = |blocks| Change { blocks, before: at(before, blocks), after: at(after, blocks) };
    places.into_iter().map(change).filter(|change| change.before != change.after).collect()
}

/// API that a body is for, and its markers.
fn marks_of(api: OtherApi) -> &'static str {
    match api {
        OtherApi::Converse => {
            "it is one to Bedrock's Converse API, which marks by blocks {\"cachePoint\": {\"type\": \"default\"}}"
        }
        OtherApi::Responses => "it is one to OpenAI's Responses API, which has no such markers",
        OtherApi::Chat => "it is one to OpenAI's chat completions, which have no such markers",
        OtherApi::Gemini => "it is one to Gemini, which has no such markers",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::strategy::Strategy;

    fn patched(template: &str, name: &str) -> Result<Patched, PatchError> {
        let strategy = Strategy::by_name(name).expect("a strategy");
        let design = MarkerDesign::of(&strategy).expect("markers alone");
        Template::parse(template.as_bytes())?.with(&design)
    }

    fn told(patched: &Patched) -> Vec<String> {
        let name = |ttl: Option<Ttl>| ttl.map_or("-", Ttl::name);
        let change = |change: &MarkerChange| {
            format!("{} {} {}", change.place, name(change.before), name(change.after))
        };
        patched.changes.iter().map(change).collect()
    }

    /// Two tools, one of them loaded later, a system prompt that is a text, and three messages, one of them an answer:
    /// blocks 1, 2, and 3, 4 and 5, 6 and 7.
    const TEMPLATE: &str = r#"{
  // of the agent
  "model": "{{model}}",
  "tools": [
    {"name": "late", "input_schema": {}, "defer_loading": true},
    {
      "name": "run",
      "input_schema": {},
    },
  ],
  "system": "You act.",
  "messages": [
    {"role": "user", "content": "{{task}}"},
    {"role": "assistant", "content": [{"type": "text", "text": "Yes."}, {"type": "tool_use", "id": "t", "name": "run", "input": {}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "{{result}}"}, {"type": "text", "text": "{{more}}"}]}
  ],
}
"#;

    #[test]
    fn markers_stand_where_the_strategy_has_them() {
        let places = |name| told(&patched(TEMPLATE, name).expect("a patch"));
        let (task, answer) = ("messages[0].content - 5m", "messages[1].content[1] - 5m");
        let more = "messages[2].content[1] - 5m";
        assert_eq!(places("last-message"), [more]);
        assert_eq!(places("last-two"), [task, more], "the request before ended with the task");
        assert_eq!(places("system-only"), ["system - 5m"]);
        // Of seven blocks: after 1, 3, 5 and 7.
        assert_eq!(places("four-even"), ["tools[1] - 5m", task, answer, more]);
        assert!(places("every-10").is_empty(), "there are not ten blocks");
        assert!(places("none").is_empty());
    }

    #[test]
    fn every_other_byte_stays() {
        let marker = r#""cache_control": {"type": "ephemeral"}"#;
        let expected = TEMPLATE
            .replace(
                "\"input_schema\": {},\n    }",
                &format!("\"input_schema\": {{}},\n      {marker},\n    }}"),
            )
            .replace(
                "\"{{task}}\"",
                &format!(r#"[{{"type": "text", "text": "{{{{task}}}}", {marker}}}]"#),
            )
            .replace("\"input\": {}}", &format!("\"input\": {{}}, {marker}}}"))
            .replace("\"{{more}}\"}", &format!("\"{{{{more}}}}\", {marker}}}"));
        let four = patched(TEMPLATE, "four-even").expect("a patch");
        assert_eq!(four.text.as_str(), expected);
        // Removed again, except for the text that became a list.
        let none = patched(four.text.as_str(), "none").expect("a patch");
        let list = TEMPLATE.replace("\"{{task}}\"", r#"[{"type": "text", "text": "{{task}}"}]"#);
        assert_eq!(none.text.as_str(), list);
        assert_eq!(told(&none).len(), 4);
    }

    #[test]
    fn lifetimes_are_set_where_markers_are() {
        let template = r#"{"model": "m", "cache_control": {"type": "ephemeral"},
            "system": [{"type": "text", "text": "a", "cache_control": {"type": "ephemeral", "scope": "global"}}],
            "messages": [{"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "t", "content": "b", "cache_control": {"ttl": "1h", "type": "ephemeral"}},
                {"type": "text", "text": "c"}]}]}"#;
        let hour = patched(template, "1h").expect("a patch");
        assert_eq!(told(&hour), ["system[0] 5m 1h", "the request 5m 1h"]);
        let expected = template.replace(r#""global""#, r#""global", "ttl": "1h""#).replacen(
            r#""ephemeral"}"#,
            r#""ephemeral", "ttl": "1h"}"#,
            1,
        );
        assert_eq!(hour.text.as_str(), expected);
        let five = patched(template, "5m").expect("a patch");
        assert_eq!(told(&five), ["messages[0].content[0] 1h 5m"]);
        assert_eq!(five.text.as_str(), template.replace(r#""1h""#, r#""5m""#));
        let mixed = patched(template, "mixed").expect("a patch");
        assert_eq!(told(&mixed), ["system[0] 5m 1h", "messages[0].content[0] 1h 5m"]);
        let last = patched(template, "last-message").expect("a patch");
        assert_eq!(
            told(&last),
            [
                "system[0] 5m -",
                "messages[0].content[0] 1h -",
                "messages[0].content[1] - 5m",
                "the request 5m -"
            ],
            "what is the request's own becomes one of the block"
        );
    }

    #[test]
    fn what_cannot_be_done_is_said() {
        let problem =
            |template: &str, name| patched(template, name).expect_err("refused").to_string();
        assert_eq!(problem("{", "1h"), ":1:1: it cannot be read as JSON: Unterminated object");
        assert_eq!(problem("[]", "1h"), ":1:1: it is no object");
        assert!(
            problem(TEMPLATE, "1h").starts_with(": it has no marker whose lifetime could be set; ")
        );
        let wrong = r#"{"model": "m", "messages": "{{all}}"}"#;
        assert_eq!(problem(wrong, "last-two"), ":1:28: `messages` is no list");
        let wrong = r#"{"model": "m", "messages": ["{{one}}"]}"#;
        assert_eq!(problem(wrong, "last-two"), ":1:29: a message is no object");
        let twice = r#"{"model": "m", "messages": [], "messages": []}"#;
        assert_eq!(problem(twice, "last-two"), ":1:32: `messages` is there twice");
        let text = r#"{"model": "m", "messages": [{"role": "user", "content": ["{{task}}"]}]}"#;
        let expected = ": a marker would stand on messages[0].content[0], which is no object";
        assert_eq!(problem(text, "last-two"), expected);
        let empty = r#"{"model": "m", "system": "", "messages": [{"role": "user", "content": [{"type": "text", "text": ""}]}]}"#;
        assert!(
            problem(empty, "system-only")
                .starts_with(": a marker would stand on system, whose text is empty")
        );
        assert!(
            problem(empty, "last-message")
                .starts_with(": a marker would stand on messages[0].content[0], whose")
        );
    }

    #[test]
    fn bodies_for_other_services_are_refused() {
        let user = r#""messages": [{"role": "user", "content": [{"text": "{{task}}"}]}]"#;
        let chat = r#""messages": [{"role": "system", "content": "You"}, {"role": "user", "content": "a"}]"#;
        for (body, api) in [
            (format!(r#"{{"modelId": "us.anthropic.claude-opus-5-v1:0", {user}}}"#), "Converse"),
            (format!("{{{user}}}"), "Converse"),
            (
                r#"{"system": [{"text": "a"}, {"cachePoint": {"type": "default"}}]}"#.into(),
                "Converse",
            ),
            (format!(r#"{{"model": "gpt-5.6-sol", {chat}}}"#), "chat completions"),
            (format!(r#"{{"model": "{{{{model}}}}", {chat}}}"#), "chat completions"),
            (r#"{"model": "gpt-5.6-sol", "input": "{{task}}"}"#.into(), "Responses"),
            (r#"{"contents": [{"parts": [{"text": "a"}]}]}"#.into(), "Gemini"),
        ] {
            for name in ["last-two", "system-only", "1h", "none"] {
                let problem = patched(&body, name).expect_err("refused").to_string();
                let begins = ": it is no request to the Messages API: it is one to ";
                assert!(problem.starts_with(begins) && problem.contains(api), "{problem}");
            }
        }
        // Gateways take them for Claude.
        let gateway = format!(r#"{{"model": "anthropic/claude-opus-5", {chat}}}"#);
        assert!(patched(&gateway, "last-message").is_ok());
    }

    #[test]
    fn markers_that_cannot_be_told_are_named() {
        let marked = |marker: &str| {
            format!(
                r#"{{"model": "m", "system": [{{"type": "text", "text": "a", "cache_control": {marker}}}], "messages": []}}"#
            )
        };
        let known = [r#"{"type": "ephemeral"}"#, r#"{"ttl": "1h", "type": "ephemeral"}"#, "null"];
        assert!(known.iter().all(|marker| patched(&marked(marker), "system-only").is_ok()));
        for odd in ["{}", "true", r#"{"type": "x"}"#, r#"{"type": "ephemeral", "ttl": "{{ttl}}"}"#]
        {
            let problem = patched(&marked(odd), "none").expect_err("refused").to_string();
            assert_eq!(problem, ":1:74: a marker of a form that is not known", "{odd}");
        }
        let inner = r#"{"model": "m", "messages": [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t",
            "content": [{"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}]}]}]}"#;
        let problem = patched(inner, "none").expect_err("refused").to_string();
        assert!(problem.starts_with(":2:72: a marker inside of a result"), "{problem}");
        let late = r#"{"model": "m", "tools": [{"name": "a", "defer_loading": true, "cache_control": {"type": "ephemeral"}}]}"#;
        let problem = patched(late, "none").expect_err("refused").to_string();
        assert!(problem.ends_with("a marker on a tool that is loaded later"), "{problem}");
    }

    #[test]
    fn what_the_service_refuses_is_not_made() {
        let block = |ttl| {
            format!(
                r#"{{"type": "text", "text": "a", "cache_control": {{"type": "ephemeral"{ttl}}}}}"#
            )
        };
        let system = |blocks: &[String]| {
            format!(r#"{{"model": "m", "system": [{}], "messages": []}}"#, blocks.join(", "))
        };
        let five = system(&vec![block(""); 5]);
        let problem = patched(&five, "1h").expect_err("refused").to_string();
        assert_eq!(problem, ": the service would refuse it: more than four markers");
        // A new marker in front of one for an hour lives for an hour, too.
        let mixed = format!(
            r#"{{"system": [{{"type": "text", "text": "a"}}, {}],
                "messages": [{{"role": "user", "content": "b"}}, {{"role": "user", "content": [{}]}}]}}"#,
            block(r#", "ttl": "1h""#),
            block("")
        );
        let even = patched(&mixed, "four-even").expect("a patch");
        let expected = ["system[0] - 1h", "messages[0].content - 5m"];
        assert_eq!(told(&even), expected);
    }

    #[test]
    fn a_template_may_leave_open_what_no_marker_needs() {
        let open = r#"{"system": [{"type": "text", "text": "a"}]}"#;
        let patched = patched(open, "system-only").expect("a patch");
        let marker = r#""a", "cache_control": {"type": "ephemeral"}}"#;
        assert_eq!(patched.text.as_str(), open.replace(r#""a"}"#, marker));
    }
}
