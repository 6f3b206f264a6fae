//! Request templates: a body of the Messages, Converse, Responses or Chat Completions API as JSON, with or without
//! comments, and edits of its markers.
//!
//! The simulation decides on which blocks a design places markers: the template is read as a captured request
//! ([`request`]), after the request before its last answer. The syntax tree of the text gives the places of these
//! blocks ([`blocks`]) and the edits ([`edits`]), in the markers of the API ([`form`]). The result is parsed again:
//! unless it is the same prompt with the wanted markers, no patch is returned.

mod blocks;
mod edits;
mod form;
mod request;

use std::fmt;

use super::root::Root;
use super::text::{Edits, SettingsError, SettingsText, range};
use crate::base::Ttl;
use crate::base::toml_text::line_and_column;
use crate::simulate::cache::Refusal;
use crate::simulate::strategy::{MarkerDesign, Placement};
use blocks::Blocks;
use form::Form;
use jsonc_parser::ast::Value as Node;
use request::{Body, Requests};

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
    #[error(": it cannot be read as a request: {0}")]
    NoRequest(String),
    /// A body for an API or a model without markers, which the words name.
    #[error(": it is a request to {0}")]
    NoMarkers(&'static str),
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
    /// A block to be marked for which `OpenAI`'s APIs have no marker.
    #[error(
        ": a marker would stand on {0}, which takes none; they stand on texts, images, sounds and files of messages and results"
    )]
    Unmarkable(String),
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
    /// A design of lifetimes that the service does not have.
    #[error(": OpenAI keeps marked prefixes for 30 minutes or 12 hours, and no others")]
    NoLifetime,
    /// More markers than `OpenAI` writes prefixes for.
    #[error(
        ": {markers} markers, of which OpenAI writes the latest {most}; \
         with \"prompt_cache_options\": {{\"mode\": \"explicit\"}} it writes four, and none of its own"
    )]
    NotAllWritten {
        /// Number of markers that the design places.
        markers: usize,
        /// Number of markers that the service writes.
        most: usize,
    },
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
    /// Lifetime before in words, if the marker existed.
    pub before: Option<&'static str>,
    /// Lifetime afterwards in words, if the marker exists.
    pub after: Option<&'static str>,
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
    /// True if the service caches up to the latest message without a marker.
    pub has_own_marker: bool,
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
        let value = self.0.with_root(|root| Ok(root.value()))?;
        let form = Form::of(&value)?;
        // Markers that cannot be told are named by their places, before the whole is read.
        within(&self.0, |root| Blocks::of(root, form).map(|_| ()))?;
        let requests = Requests::of(&Body::read(&self.0, form)?)?;
        let before = requests.recorded();
        let mut wanted = requests.placed(design);
        if design.keeps_places() && form.is_of_openai() {
            return Err(PatchError::NoLifetime);
        }
        if design.keeps_places() && before.is_empty() {
            return Err(PatchError::NoMarker);
        }
        if form.is_of_openai() {
            keep_lifetimes(&mut wanted, &before);
        }
        if let Some(most) = form.most(&value).filter(|most| wanted.len() > *most) {
            return Err(PatchError::NotAllWritten { markers: wanted.len(), most });
        }
        let changes = changes(&before, &wanted);
        let (ways, changes) =
            within(&self.0, |root| alternatives(root, form, &requests, &changes))?;
        // The first way of editing whose result reads as the same prompt wins.
        let mut patched = ways.into_iter().filter_map(|edits: Edits| self.0.edited(edits));
        let patched = patched.find_map(|text| {
            Some((self.read_again(&text, form).filter(|again| again.recorded() == wanted)?, text))
        });
        let (requests, text) = patched.ok_or(PatchError::NotAlone)?;
        match requests.refusal() {
            Some(refusal) => Err(PatchError::Refused(refusal)),
            None => Ok(Patched {
                text,
                changes,
                markers: wanted.len(),
                has_own_marker: form.has_own_marker(&value),
            }),
        }
    }

    /// Parses an edited text. `None` unless only the markers differ.
    fn read_again(&self, text: &SettingsText, form: Form) -> Option<Requests> {
        let value = |text: &SettingsText| text.with_root(|root| Ok(root.value())).ok();
        let unmarked = |text| value(text).map(|value| form.unmarked(value));
        let requests = Requests::of(&Body::read(text, form).ok()?).ok()?;
        (unmarked(&self.0) == unmarked(text)).then_some(requests)
    }
}

/// Gives markers that stay at their places the lifetimes of before, and new ones the service's default.
fn keep_lifetimes(wanted: &mut [Placement], before: &[Placement]) {
    for marker in wanted {
        let same = before.iter().find(|one| one.blocks == marker.blocks);
        marker.ttl = same.map_or(Ttl::FiveMinutes, |one| one.ttl);
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
fn alternatives(
    root: &Root<'_>,
    form: Form,
    requests: &Requests,
    changes: &[Change],
) -> Result<(Vec<Edits>, Vec<MarkerChange>), PatchError> {
    let blocks = Blocks::of(root, form)?.counted(requests.blocks())?;
    let told = changes.iter().map(|change| blocks.told(change)).collect::<Result<_, _>>()?;
    Ok((blocks.edits(changes)?, told))
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
        let change = |change: &MarkerChange| {
            let [before, after] = [change.before, change.after].map(|ttl| match ttl {
                None => "-",
                Some("five minutes") => "5m",
                Some("an hour") => "1h",
                Some(other) => other,
            });
            format!("{} {before} {after}", change.place)
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
    fn services_without_markers_are_named() {
        let chat = r#""messages": [{"role": "system", "content": "You"}, {"role": "user", "content": "a"}]"#;
        for (body, api) in [
            (format!(r#"{{"model": "gpt-5.5", {chat}}}"#), "OpenAI's chat completions, which"),
            (
                format!(r#"{{"model": "{{{{model}}}}", {chat}}}"#),
                "OpenAI's chat completions, which",
            ),
            (
                r#"{"model": "gpt-5.2", "input": "{{task}}"}"#.into(),
                "OpenAI's Responses API, which",
            ),
            (r#"{"contents": [{"parts": [{"text": "a"}]}]}"#.into(), "Gemini, which has no such"),
        ] {
            for name in ["last-two", "system-only", "1h", "none"] {
                let problem = patched(&body, name).expect_err("refused").to_string();
                let begins = format!(": it is a request to {api}");
                assert!(problem.starts_with(&begins), "{problem}");
            }
        }
        let llama = format!(r#"{{"modelId": "us.meta.llama3-70b", {chat}}}"#);
        let problem = patched(&llama, "last-message").expect_err("refused").to_string();
        assert!(problem.starts_with(": it is a request to Bedrock for a model"), "{problem}");
    }

    #[test]
    fn gateways_take_chat_completions_for_claude() {
        let gateway = r#"{"model": "anthropic/claude-opus-5", "max_completion_tokens": 9, "messages": [
            {"role": "user", "content": "a", "tool_call_id": null},
            {"role": "assistant", "content": null, "tool_calls": [{"id": "c", "function": {"name": "run"}}]},
            {"role": "tool", "tool_call_id": "c", "content": "b"}]}"#;
        let two = patched(gateway, "last-two").expect("a patch");
        assert_eq!(told(&two), ["messages[0].content - 5m", "messages[2].content - 5m"]);
        let marked = r#"[{"type": "text", "text": "b", "cache_control": {"type": "ephemeral"}}]"#;
        assert!(two.text.as_str().contains(marked));
        let hour = patched(two.text.as_str(), "1h").expect("a patch");
        let changed = ["messages[0].content[0] 5m 1h", "messages[2].content[0] 5m 1h"];
        assert_eq!(told(&hour), changed);
    }

    #[test]
    fn an_answer_may_be_several_items() {
        let body = r#"{"model": "gpt-5.6-sol", "input": [{"role": "user", "content": "a"},
            {"type": "reasoning", "summary": []}, {"type": "function_call", "call_id": "c", "name": "run", "arguments": "{}"},
            {"type": "function_call", "call_id": "d", "name": "run", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c", "output": "b"},
            {"type": "function_call_output", "call_id": "d", "output": "b"}]}"#;
        let two = told(&patched(body, "last-two").expect("a patch"));
        assert_eq!(two, ["input[0].content - a marker", "input[5].output - a marker"]);
    }

    #[test]
    fn markers_where_the_api_takes_none_are_named() {
        let mark = r#""prompt_cache_breakpoint": {"mode": "explicit"}"#;
        let place = |problem: &str| {
            let (_, why) = problem.rsplit_once(": ").expect("a reason");
            why.to_owned()
        };
        let elsewhere = "a marker where the API takes none";
        let inside = "a marker inside of a result; put it on the last part";
        for (part, expected) in [
            (format!(r#""tools": [{{"type": "function", {mark}}}], "input": "a""#), elsewhere),
            (format!(r#""input": [{{"role": "user", "content": "a", {mark}}}]"#), elsewhere),
            (format!(r#""input": [{{"type": "function_call", "call_id": "c", {mark}}}]"#), elsewhere),
            (
                format!(
                    r#""input": [{{"role": "assistant", "content": [{{"type": "output_text", "text": "a", {mark}}}]}}]"#
                ),
                elsewhere,
            ),
            (
                format!(
                    r#""input": [{{"type": "function_call_output", "call_id": "c", "output": [
                        {{"type": "input_text", "text": "a", {mark}}}, {{"type": "input_text", "text": "b"}}]}}]"#
                ),
                inside,
            ),
            (
                r#""input": [{"role": "user", "content": [{"type": "input_text", "text": "a", "cache_control": {"type": "ephemeral"}}]}]"#
                    .into(),
                "a marker of another API",
            ),
        ] {
            let body = format!(r#"{{"model": "gpt-5.6-sol", {part}}}"#);
            for name in ["none", "last-message"] {
                let problem = patched(&body, name).expect_err("refused").to_string();
                assert_eq!(place(&problem), expected, "{body}");
            }
        }
        let thinking = r#"{"modelId": "us.anthropic.claude-opus-5-v1:0", "messages": [{"role": "user", "content": [{"text": "a"}]},
            {"role": "assistant", "content": [{"reasoningContent": {"reasoningText": {"text": "b", "signature": "c"}}}, {"text": "d"}]},
            {"role": "user", "content": [{"text": "e"}]}]}"#;
        let even = told(&patched(thinking, "four-even").expect("a patch"));
        assert!(!even.iter().any(|place| place.starts_with("messages[1].content[0]")), "{even:?}");
        let chat = r#"{"model": "gpt-5.6-sol", "messages": [{"role": "user", "content": "a"},
            {"role": "assistant", "content": [{"type": "refusal", "refusal": "b"}]}, {"role": "developer", "content": "c"}]}"#;
        assert!(patched(chat, "last-message").is_ok());
    }

    /// Of the Converse API: a tool, a system prompt with a cache point, and a task, a call and its result.
    const CONVERSE: &str = r#"{
  "modelId": "us.anthropic.claude-opus-5-v1:0",
  "system": [
    {"text": "You act."}, // the agent
    {"cachePoint": {"type": "default"}}
  ],
  "toolConfig": {"tools": [{"toolSpec": {"name": "run", "inputSchema": {"json": {}}}}]},
  "messages": [
    {"role": "user", "content": [{"text": "{{task}}"}]},
    {"role": "assistant", "content": [{"toolUse": {"toolUseId": "t", "name": "run", "input": {}}}]},
    {
      "role": "user",
      "content": [
        {"toolResult": {"toolUseId": "t", "content": [{"text": "{{result}}"}]}},
      ]
    }
  ]
}"#;

    #[test]
    fn converse_gets_cache_points() {
        let point = r#"{"cachePoint": {"type": "default"}}"#;
        let without_comment = CONVERSE.replace(" // the agent", "");
        let last = patched(&without_comment, "last-two").expect("a patch");
        let changes =
            ["system[0] 5m -", "messages[0].content[0] - 5m", "messages[2].content[0] - 5m"];
        assert_eq!(told(&last), changes);
        let expected = without_comment
            .replace(&format!(",\n    {point}"), "")
            .replace(r#"{"text": "{{task}}"}"#, &format!(r#"{{"text": "{{{{task}}}}"}}, {point}"#))
            .replace("}]}},\n", &format!("}}]}}}},\n        {point},\n"));
        assert_eq!(last.text.as_str(), expected);
        let none = patched(last.text.as_str(), "none").expect("a patch");
        assert_eq!(none.text.as_str(), without_comment.replace(&format!(",\n    {point}"), ""));
        let hour = patched(CONVERSE, "1h").expect("a patch");
        assert_eq!(told(&hour), ["system[0] 5m 1h"]);
        let expected = CONVERSE.replace(r#""default""#, r#""default", "ttl": "1h""#);
        assert_eq!(hour.text.as_str(), expected);
        // Of five blocks: the tool, the system prompt, and so on.
        let even = told(&patched(CONVERSE, "four-even").expect("a patch"));
        assert_eq!(even[0], "toolConfig.tools[0] - 5m");
        let problem = patched(CONVERSE, "none").expect_err("a comment").to_string();
        assert!(problem.starts_with(":5:5: a comment in front of a cache point"), "{problem}");
        let first = r#"{"system": [{"cachePoint": {"type": "default"}}], "messages": [{"role": "user", "content": [{"text": "a"}]}]}"#;
        let problem = patched(first, "none").expect_err("no block").to_string();
        assert!(
            problem.ends_with("a cache point that does not stand behind a block that takes one"),
            "{problem}"
        );
    }

    #[test]
    fn openai_gets_breakpoints() {
        let mark = r#""prompt_cache_breakpoint": {"mode": "explicit"}"#;
        let chat = r#"{"model": "gpt-5.6-sol", "tools": [{"type": "function", "function": {"name": "run"}}],
            "messages": [{"role": "system", "content": "You"}, {"role": "user", "content": [{"type": "text", "text": "{{task}}"}]},
            {"role": "assistant", "content": null, "tool_calls": [{"id": "c", "type": "function", "function": {"name": "run", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "c", "content": "{{result}}"}]}"#;
        let two = patched(chat, "last-two").expect("a patch");
        let places = ["messages[1].content[0] - a marker", "messages[3].content - a marker"];
        assert_eq!(told(&two), places);
        let expected =
            chat.replace(r#""{{task}}"}"#, &format!(r#""{{{{task}}}}", {mark}}}"#)).replace(
                r#""{{result}}""#,
                &format!(r#"[{{"type": "text", "text": "{{{{result}}}}", {mark}}}]"#),
            );
        assert_eq!(two.text.as_str(), expected);
        let again = patched(&expected, "last-two").expect("a patch");
        assert!(again.changes.is_empty(), "it has them already");
        let system = patched(chat, "system-only").expect("a patch");
        assert_eq!(told(&system), ["messages[0].content - a marker"]);

        let input = r#"{"model": "gpt-5.6-sol", "instructions": "You", "input": "{{task}}"}"#;
        let last = patched(input, "last-message").expect("a patch");
        let list = format!(
            r#"[{{"role": "user", "content": [{{"type": "input_text", "text": "{{{{task}}}}", {mark}}}]}}]"#
        );
        assert_eq!(last.text.as_str(), input.replace(r#""{{task}}""#, &list));
        let problem = patched(input, "system-only").expect_err("refused").to_string();
        assert!(
            problem.starts_with(": a marker would stand on instructions, which takes none"),
            "{problem}"
        );
        let items = r#"{"model": "gpt-6-sol", "input": [{"role": "developer", "content": [{"type": "input_text", "text": "You",
                "prompt_cache_breakpoint": {"mode": "explicit", "ttl": "12h"}}]},
            {"type": "function_call", "call_id": "c", "name": "run", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text": "{{result}}"}]}]}"#;
        let system = patched(items, "system-only").expect("a patch");
        assert!(system.changes.is_empty(), "a lifetime of its own stays");
        let last = patched(items, "last-message").expect("a patch");
        let expected =
            ["input[0].content[0] a marker for 12 hours -", "input[2].output[0] - a marker"];
        assert_eq!(told(&last), expected);
        let problem = patched(items, "1h").expect_err("refused").to_string();
        assert!(problem.starts_with(": OpenAI keeps marked prefixes for 30 minutes"), "{problem}");
    }

    #[test]
    fn openai_writes_three_breakpoints_beside_its_own() {
        let message = |text| format!(r#"{{"role": "user", "content": "{text}"}}"#);
        let body = |options: &str| {
            let messages = ["a", "b", "c", "d"].map(message).join(", ");
            format!(
                r#"{{"model": "gpt-5.6-sol", "max_completion_tokens": 1{options}, "messages": [{messages}]}}"#
            )
        };
        let problem = patched(&body(""), "four-even").expect_err("refused").to_string();
        assert!(
            problem.starts_with(": 4 markers, of which OpenAI writes the latest 3;"),
            "{problem}"
        );
        let explicit = body(r#", "prompt_cache_options": {"mode": "explicit"}"#);
        assert_eq!(patched(&explicit, "four-even").expect("a patch").markers, 4);
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
