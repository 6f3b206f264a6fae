//! Requests to other services' APIs in the form of the Messages API, so that they are chained and compared as captures.
//!
//! Contents keep their bytes; only their places and the names around them become those of that API. Settings are left
//! out: no service documents which of them part its caches.

use std::borrow::Cow;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::value::{RawValue, to_raw_value};

use super::other_api::OtherApi;
use crate::read::input::{Listed, Pairs, Shape, Text, lenient, only_value};

/// Marker of a block in the Messages API.
const CACHE_CONTROL: &str = "cache_control";

/// Marker of a part in `OpenAI`'s APIs.
const BREAKPOINT: &str = "prompt_cache_breakpoint";

/// End of the types of items of the Responses API that are results of calls.
pub(crate) const RESULT: &str = "_output";

/// Body of a request to another API in the form of the Messages API; `None` if it has no message.
pub(crate) fn in_messages_form(api: OtherApi, sent: &str) -> Option<String> {
    let body: Body<'_> = only_value::<Shape<_>>(sent).ok()?.0?;
    let mut prompt = Prompt::default();
    match api {
        OtherApi::Chat => prompt.add_chat(body),
        OtherApi::Responses => prompt.add_responses(body),
        OtherApi::Converse => prompt.add_converse(body),
        OtherApi::Gemini => prompt.add_gemini(body),
    }
    let has_messages = !prompt.messages.is_empty();
    has_messages.then(|| serde_json::to_string(&prompt).ok()).flatten()
}

lenient! {
    /// Fields of the bodies of all four APIs.
    struct Body<'a> {
        /// Chat completions and Converse.
        messages: Listed<Shape<Sent<'a>>>,
        /// Converse.
        system: Listed<&'a RawValue>,
        /// Responses: a text, or items.
        input: Option<&'a RawValue>,
        /// Responses: the system prompt.
        instructions: Option<&'a RawValue>,
        /// Gemini.
        contents: Listed<Shape<Sent<'a>>>,
        #[serde(rename = "systemInstruction", alias = "system_instruction")]
        system_instruction: Shape<Sent<'a>>,
        /// All but Converse.
        tools: Listed<&'a RawValue>,
        #[serde(rename = "toolConfig")]
        tool_config: Shape<ToolConfig<'a>>,
    }

    /// Message of a conversation, or item of the Responses API.
    struct Sent<'a> {
        role: Text<'a>,
        content: Option<&'a RawValue>,
        /// Gemini.
        parts: Listed<&'a RawValue>,
        /// Chat completions.
        tool_calls: Listed<Shape<ChatCall<'a>>>,
        tool_call_id: Option<&'a RawValue>,
        /// Responses.
        r#type: Text<'a>,
        call_id: Option<&'a RawValue>,
        name: Option<&'a RawValue>,
        arguments: Option<&'a RawValue>,
        output: Option<&'a RawValue>,
    }

    struct ChatCall<'a> {
        id: Option<&'a RawValue>,
        function: Shape<Call<'a>>,
    }

    /// Call of a tool, in any API.
    struct Call<'a> {
        #[serde(rename = "toolUseId")]
        id: Option<&'a RawValue>,
        name: Option<&'a RawValue>,
        #[serde(alias = "arguments", alias = "args")]
        input: Option<&'a RawValue>,
    }

    /// Result of a call, in Converse or Gemini.
    struct Answered<'a> {
        #[serde(rename = "toolUseId", alias = "name")]
        call: Option<&'a RawValue>,
        #[serde(alias = "response")]
        content: Option<&'a RawValue>,
    }

    /// Part of a content, in any API.
    struct AnyPart<'a> {
        text: Option<&'a RawValue>,
        cache_control: Option<&'a RawValue>,
        #[serde(rename = "cachePoint")]
        cache_point: Shape<Point<'a>>,
        #[serde(rename = "prompt_cache_breakpoint")]
        breakpoint: Shape<Point<'a>>,
        #[serde(rename = "reasoningContent")]
        reasoning: Shape<Reasoning<'a>>,
        #[serde(rename = "toolUse", alias = "functionCall")]
        call: Shape<Call<'a>>,
        #[serde(rename = "toolResult", alias = "functionResponse")]
        result: Shape<Answered<'a>>,
    }

    /// Marker in any API.
    struct Point<'a> {
        ttl: Text<'a>,
    }

    /// Thinking in Converse.
    struct Reasoning<'a> {
        #[serde(rename = "reasoningText")]
        text: Shape<ReasoningText<'a>>,
        #[serde(rename = "redactedContent")]
        redacted: Option<&'a RawValue>,
    }

    struct ReasoningText<'a> {
        text: Option<&'a RawValue>,
        signature: Option<&'a RawValue>,
    }

    struct ToolConfig<'a> {
        tools: Listed<&'a RawValue>,
    }

    /// Tool, in any API.
    struct AnyTool<'a> {
        function: Option<&'a RawValue>,
        #[serde(rename = "functionDeclarations", alias = "function_declarations")]
        declarations: Listed<&'a RawValue>,
        #[serde(rename = "toolSpec")]
        spec: Shape<ToolSpec<'a>>,
        #[serde(rename = "cachePoint")]
        cache_point: Shape<Point<'a>>,
    }

    struct ToolSpec<'a> {
        name: Option<&'a RawValue>,
        description: Option<&'a RawValue>,
        #[serde(rename = "inputSchema")]
        schema: Option<&'a RawValue>,
    }
}

/// Prompt in the form of the Messages API.
#[derive(Default, Serialize)]
struct Prompt<'a> {
    tools: Vec<Part<'a>>,
    system: Vec<Part<'a>>,
    messages: Vec<Message<'a>>,
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    content: Vec<Part<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Part<'a> {
    /// Part that the Messages API has no form for, or has the same form for.
    AsSent(&'a RawValue),
    Block(Block<'a>),
}

/// Block or tool of the Messages API.
struct Block<'a> {
    /// `type`, unless it is among the members, or not needed.
    kind: Option<&'static str>,
    members: Members<'a>,
}

/// Members of an object in their order, which is part of what a cache compares.
struct Members<'a>(Vec<(Cow<'a, str>, Cow<'a, RawValue>)>);

impl<'a> Members<'a> {
    fn get(&self, name: &str) -> Option<&Cow<'a, RawValue>> {
        self.0.iter().find(|(own, _)| own == name).map(|(_, value)| value)
    }

    /// Takes the marker out.
    fn unmark(&mut self) -> Option<Cow<'a, RawValue>> {
        let is_marker = |name: &str| [BREAKPOINT, CACHE_CONTROL].contains(&name);
        self.0.extract_if(.., |(name, _)| is_marker(name)).last().map(|(_, marker)| marker)
    }

    /// Text of a part that is nothing else.
    fn only_text(&self) -> Option<&Cow<'a, RawValue>> {
        let is_known = self.0.iter().all(|(name, _)| name == "type" || name == "text");
        self.get("text").filter(|text| is_known && is_text(text))
    }
}

impl<'a> From<Pairs<String, &'a RawValue>> for Members<'a> {
    fn from(Pairs(pairs): Pairs<String, &'a RawValue>) -> Self {
        let members = pairs.into_iter().map(|(name, value)| (name.into(), Cow::Borrowed(value)));
        Self(members.collect())
    }
}

impl Serialize for Members<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

impl Serialize for Block<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if let Some(kind) = self.kind {
            map.serialize_entry("type", kind)?;
        }
        for (name, value) in &self.members.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl<'a> Prompt<'a> {
    fn add_chat(&mut self, body: Body<'a>) {
        self.add_tools(body.tools);
        for sent in objects(body.messages) {
            let Sent { role, content, tool_calls, tool_call_id, .. } = sent;
            if let Some(id) = given(tool_call_id) {
                self.add_message("user", marked_result(Some(id), content));
                continue;
            }
            let mut parts = parts_of(content);
            for ChatCall { id, function } in objects(tool_calls) {
                let Call { name, input, .. } = function.0.unwrap_or_default();
                parts.push(call(id, name, input));
            }
            self.add(&role, parts);
        }
    }

    fn add_responses(&mut self, body: Body<'a>) {
        self.add_tools(body.tools);
        self.system.extend(given(body.instructions).map(text));
        let Some(input) = body.input else { return };
        if is_text(input) {
            return self.add_message("user", vec![text(input)]);
        }
        for raw in list(input) {
            let Ok(Shape(Some(item))) = only_value::<Shape<Sent<'a>>>(raw.get()) else { continue };
            let Sent { role, content, r#type, call_id, name, arguments, output, .. } = item;
            match r#type.as_str() {
                None | Some("message") => self.add(&role, parts_of(content)),
                Some("function_call") => {
                    self.add_message("assistant", vec![call(call_id, name, arguments)]);
                }
                Some(kind) if kind.ends_with(RESULT) => {
                    self.add_message("user", marked_result(call_id, output));
                }
                // Reasoning, and calls of the service's own tools.
                Some(_) => self.add_message("assistant", vec![Part::AsSent(raw)]),
            }
        }
    }

    fn add_converse(&mut self, body: Body<'a>) {
        let tools = body.tool_config.0.and_then(|config| config.tools.0).unwrap_or_default();
        for raw in tools {
            let tool = AnyTool::of(raw);
            if let Some(point) = tool.cache_point.0 {
                mark(&mut self.tools, &point);
                continue;
            }
            let ToolSpec { name, description, schema } = tool.spec.0.unwrap_or_default();
            let fields = [("name", name), ("description", description), ("input_schema", schema)];
            self.tools.push(block(None, fields));
        }
        for part in body.system.0.unwrap_or_default() {
            add_part(&mut self.system, part);
        }
        for Sent { role, content, .. } in objects(body.messages) {
            self.add(&role, parts_of(content));
        }
    }

    fn add_gemini(&mut self, body: Body<'a>) {
        self.add_tools(body.tools);
        let system = body.system_instruction.0.unwrap_or_default();
        self.system.extend(parts(system.parts.0.unwrap_or_default()));
        for Sent { role, parts: own, .. } in objects(body.contents) {
            self.add(&role, parts(own.0.unwrap_or_default()));
        }
    }

    /// Adds tools as they are, without what some APIs wrap around them.
    fn add_tools(&mut self, tools: Listed<&'a RawValue>) {
        for raw in tools.0.into_iter().flatten() {
            let tool = AnyTool::of(raw);
            let own = tool.declarations.0.unwrap_or_else(|| vec![tool.function.unwrap_or(raw)]);
            self.tools.extend(own.into_iter().map(Part::AsSent));
        }
    }

    /// Adds a message; instructions in front of all others are the system prompt.
    fn add(&mut self, role: &Text<'_>, parts: Vec<Part<'a>>) {
        let is_of_model = matches!(role.as_str(), Some("assistant" | "model"));
        let is_instruction = matches!(role.as_str(), Some("system" | "developer"));
        if is_instruction && self.messages.is_empty() {
            self.system.extend(parts);
        } else {
            self.add_message(if is_of_model { "assistant" } else { "user" }, parts);
        }
    }

    fn add_message(&mut self, role: &'static str, content: Vec<Part<'a>>) {
        self.messages.push(Message { role, content });
    }
}

impl<'a> AnyTool<'a> {
    fn of(raw: &'a RawValue) -> Self {
        only_value::<Shape<_>>(raw.get()).ok().and_then(|tool| tool.0).unwrap_or_default()
    }
}

/// Objects of a list.
fn objects<T>(list: Listed<Shape<T>>) -> impl Iterator<Item = T> {
    list.0.into_iter().flatten().filter_map(|one| one.0)
}

fn is_text(value: &RawValue) -> bool {
    value.get().starts_with('"')
}

/// Value that is not `null`.
fn given(value: Option<&RawValue>) -> Option<&RawValue> {
    value.filter(|value| value.get() != "null")
}

fn list(value: &RawValue) -> Vec<&RawValue> {
    only_value::<Listed<_>>(value.get()).ok().and_then(|list| list.0).unwrap_or_default()
}

/// Parts of a content, which is a text or a list.
fn parts_of(content: Option<&RawValue>) -> Vec<Part<'_>> {
    match content {
        None => Vec::new(),
        Some(content) if is_text(content) => vec![text(content)],
        Some(content) => parts(list(content)),
    }
}

fn parts(all: Vec<&RawValue>) -> Vec<Part<'_>> {
    let mut parts = Vec::with_capacity(all.len());
    for raw in all {
        add_part(&mut parts, raw);
    }
    parts
}

fn add_part<'a>(parts: &mut Vec<Part<'a>>, raw: &'a RawValue) {
    let part = only_value::<Shape<AnyPart<'a>>>(raw.get()).ok().and_then(|part| part.0);
    let Some(part) = part else { return parts.push(Part::AsSent(raw)) };
    if let Some(point) = &part.cache_point.0 {
        return mark(parts, point);
    }
    parts.push(match part {
        AnyPart { text: Some(own), cache_control, .. } if is_text(own) => {
            block(Some("text"), [("text", Some(own)), (CACHE_CONTROL, cache_control)])
        }
        AnyPart { call: Shape(Some(Call { id, name, input })), .. } => call(id, name, input),
        AnyPart { result: Shape(Some(Answered { call, content })), .. } => result(call, content),
        AnyPart { reasoning: Shape(Some(reasoning)), .. } => thinking(reasoning),
        _ => Part::AsSent(raw),
    });
    if let Some(breakpoint) = &part.breakpoint.0 {
        mark(parts, breakpoint);
    }
}

/// Marks the last part.
fn mark(parts: &mut [Part<'_>], point: &Point<'_>) {
    let Some(part) = parts.last_mut() else { return };
    let marker = match point.ttl.as_str() {
        Some("1h" | "12h") => r#"{"type":"ephemeral","ttl":"1h"}"#,
        _ => r#"{"type":"ephemeral"}"#,
    };
    if let Part::AsSent(raw) = part
        && let Ok(pairs) = only_value::<Pairs<_, _>>(raw.get())
    {
        *part = Part::Block(Block { kind: None, members: pairs.into() });
    }
    if let (Part::Block(block), Ok(marker)) = (part, RawValue::from_string(marker.to_owned())) {
        block.members.unmark();
        block.members.0.push((CACHE_CONTROL.into(), Cow::Owned(marker)));
    }
}

fn text(own: &RawValue) -> Part<'_> {
    block(Some("text"), [("text", Some(own))])
}

fn call<'a>(
    id: Option<&'a RawValue>,
    name: Option<&'a RawValue>,
    input: Option<&'a RawValue>,
) -> Part<'a> {
    block(Some("tool_use"), [("id", id), ("name", name), ("input", input)])
}

fn result<'a>(call: Option<&'a RawValue>, content: Option<&'a RawValue>) -> Part<'a> {
    block(Some("tool_result"), [("tool_use_id", call), ("content", content)])
}

/// Result of a call in one of `OpenAI`'s APIs, in the same form whether its content is a text or a list, marked or not:
/// the marker of a part is the result's own.
fn marked_result<'a>(call: Option<&'a RawValue>, content: Option<&'a RawValue>) -> Vec<Part<'a>> {
    let list = content.filter(|content| !is_text(content));
    let inner = list.and_then(|list| only_value::<Vec<Pairs<_, _>>>(list.get()).ok());
    let Some(inner) = inner else { return vec![result(call, content)] };
    let mut inner: Vec<Members<'a>> = inner.into_iter().map(Members::from).collect();
    let marker = inner.iter_mut().filter_map(Members::unmark).last();
    let text = if let [one] = &inner[..] { one.only_text().cloned() } else { None };
    let Some(content) = text.or_else(|| to_raw_value(&inner).ok().map(Cow::Owned)) else {
        return vec![result(call, content)];
    };
    let call = call.map(|call| ("tool_use_id".into(), Cow::Borrowed(call)));
    let members = call.into_iter().chain([("content".into(), content)]).collect();
    let mut parts =
        vec![Part::Block(Block { kind: Some("tool_result"), members: Members(members) })];
    if let Some(marker) = marker {
        let point = only_value::<Shape<Point<'_>>>(marker.get()).ok().and_then(|point| point.0);
        mark(&mut parts, &point.unwrap_or_default());
    }
    parts
}

fn thinking(Reasoning { text, redacted }: Reasoning<'_>) -> Part<'_> {
    match text.0 {
        Some(ReasoningText { text, signature }) => {
            block(Some("thinking"), [("thinking", text), ("signature", signature)])
        }
        None => block(Some("redacted_thinking"), [("data", redacted)]),
    }
}

fn block<'a, const N: usize>(
    kind: Option<&'static str>,
    members: [(&'static str, Option<&'a RawValue>); N],
) -> Part<'a> {
    let members =
        members.into_iter().filter_map(|(name, value)| Some((name.into(), Cow::Borrowed(value?))));
    Part::Block(Block { kind, members: Members(members.collect()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(api: OtherApi, body: &str) -> serde_json::Value {
        let form = in_messages_form(api, body).expect("messages");
        serde_json::from_str(&form).expect("JSON")
    }

    #[test]
    fn four_apis_say_the_same() {
        let expected = serde_json::json!({
            "tools": [{"name": "read", "description": "Reads."}],
            "system": [{"type": "text", "text": "You help."}],
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "Look."}]},
                {"role": "assistant",
                    "content": [{"type": "tool_use", "id": "c", "name": "read", "input": "{}"}]},
                {"role": "user",
                    "content": [{"type": "tool_result", "tool_use_id": "c", "content": "Found."}]},
            ],
        });
        let chat = r#"{"messages":[{"role":"system","content":"You help."},
            {"role":"user","content":[{"type":"text","text":"Look."}]},
            {"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function",
                "function":{"name":"read","arguments":"{}"}}]},
            {"role":"tool","tool_call_id":"c","content":"Found."}],
            "tools":[{"type":"function","function":{"name":"read","description":"Reads."}}]}"#;
        assert_eq!(form(OtherApi::Chat, chat), expected);
        let responses = r#"{"instructions":"You help.","input":[
            {"role":"user","content":[{"type":"input_text","text":"Look."}]},
            {"type":"function_call","call_id":"c","name":"read","arguments":"{}"},
            {"type":"function_call_output","call_id":"c","output":"Found."}],
            "tools":[{"name":"read","description":"Reads."}]}"#;
        assert_eq!(form(OtherApi::Responses, responses), expected);
        let converse = r#"{"system":[{"text":"You help."}],"messages":[
            {"role":"user","content":[{"text":"Look."}]},
            {"role":"assistant","content":[{"toolUse":{"toolUseId":"c","name":"read","input":"{}"}}]},
            {"role":"user","content":[{"toolResult":{"toolUseId":"c","content":"Found."}}]}],
            "toolConfig":{"tools":[{"toolSpec":{"name":"read","description":"Reads."}}]}}"#;
        assert_eq!(form(OtherApi::Converse, converse), expected);
        // Gemini knows calls by the tool's name.
        let gemini = r#"{"systemInstruction":{"parts":[{"text":"You help."}]},"contents":[
            {"role":"user","parts":[{"text":"Look."}]},
            {"role":"model","parts":[{"functionCall":{"name":"read","args":"{}"}}]},
            {"role":"user","parts":[{"functionResponse":{"name":"c","response":"Found."}}]}],
            "tools":[{"functionDeclarations":[{"name":"read","description":"Reads."}]}]}"#;
        let mut of_gemini = expected.clone();
        of_gemini["messages"][1]["content"][0].as_object_mut().expect("a call").remove("id");
        assert_eq!(form(OtherApi::Gemini, gemini), of_gemini);
    }

    #[test]
    fn a_cache_point_marks_the_block_in_front_of_it() {
        let body = r#"{"system":[{"text":"You help."},{"cachePoint":{"type":"default","ttl":"1h"}}],
            "messages":[{"role":"user","content":[{"cachePoint":{}},{"text":"Look."},{"cachePoint":{}}]}]}"#;
        let form = form(OtherApi::Converse, body);
        let marker = &form["system"][0]["cache_control"];
        assert_eq!(*marker, serde_json::json!({"type": "ephemeral", "ttl": "1h"}));
        let content = form["messages"][0]["content"].as_array().expect("a content");
        assert_eq!(content.len(), 1);
        assert_eq!(content[0]["cache_control"], serde_json::json!({"type": "ephemeral"}));
    }

    #[test]
    fn a_marker_that_moves_on_changes_nothing_else() {
        let mark = r#","prompt_cache_breakpoint":{"mode":"explicit"}"#;
        let body = |marks: [&str; 3], result: &str| {
            let [text, image, of_result] = marks;
            let result = result.replace("MARK", of_result);
            format!(
                r#"{{"input":[{{"role":"user","content":[{{"type":"input_text","text":"Look."{text}}},
                    {{"type":"input_image","image_url":"a","detail":"low"{image}}}]}},
                    {{"type":"custom_tool_call_output","call_id":"c","output":{result}}}],"instructions":null}}"#
            )
        };
        let marker = r#","cache_control":{"type":"ephemeral"}"#;
        let unmarked = |body: &str| {
            let form = in_messages_form(OtherApi::Responses, body).expect("messages");
            (form.replace(marker, ""), form.matches(marker).count())
        };
        let (plain, none) = unmarked(&body([""; 3], r#""Found.""#));
        assert_eq!(none, 0);
        let list = r#"[{"type":"input_text","text":"Found."MARK}]"#;
        for marks in [[mark, "", ""], ["", mark, ""], ["", "", mark], [mark, mark, mark]] {
            let expected = marks.iter().filter(|mark| !mark.is_empty()).count();
            assert_eq!(unmarked(&body(marks, list)), (plain.clone(), expected));
        }
    }

    #[test]
    fn what_has_no_messages_has_no_form() {
        for body in ["{}", "[]", r#"{"messages":[]}"#, r#"{"messages":"x"}"#, "x"] {
            assert_eq!(in_messages_form(OtherApi::Chat, body), None, "{body}");
        }
    }
}
