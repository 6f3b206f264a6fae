//! A bundle record, taken apart: what a harness is about to send, before the markers are placed.
//! Unknown keys are not looked at; those of the prompt go into the request as they are.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::block::Block;
use super::error::BundleError;
use super::flags::Flags;
use super::message::Message;
use super::raw::{Member, Object, is_string, key, list, string, unexpected};
use super::section::Part;
use super::tool;

/// What a capture record repeats of the bundle, in its order.
const REPEATED: [&str; 7] =
    ["timestamp", "response_started_at", "request_id", "session_id", "agent_id", "scope", "usage"];

/// The keys of a prompt that the harness works on.
const ASSEMBLED: [&str; 6] =
    ["model", "system", "tools", "messages", "system_context", "user_context"];

/// Where a system prompt can come from; the first that has anything counts.
const BASES: [&str; 5] = [OVERRIDE, "coordinator", "agent", "custom", "default"];

/// The base that takes nothing behind it.
const OVERRIDE: &str = "override";

/// A bundle record. All of it is known to be usable: nothing that follows can fail.
#[derive(Debug)]
pub(super) struct Bundle<'a> {
    pub(super) session: Option<Cow<'a, str>>,
    pub(super) request_id: Option<&'a RawValue>,
    /// What goes beside the request into the capture record.
    pub(super) repeated: Vec<(&'static str, &'a RawValue)>,
    pub(super) prompt: Prompt<'a>,
    pub(super) flags: Flags<'a>,
}

/// The prompt of a bundle record.
#[derive(Debug)]
pub(super) struct Prompt<'a> {
    pub(super) model: &'a RawValue,
    /// The base and what is appended to it.
    pub(super) system: Vec<Part<'a>>,
    pub(super) system_context: Context<'a>,
    /// In the order in which they are sent.
    pub(super) tools: Vec<Block<'a>>,
    /// With the user context in front.
    pub(super) messages: Vec<Message<'a>>,
    /// What the request takes over as it is.
    pub(super) settings: Vec<Member<'a>>,
}

/// What the client tells about its surroundings: names and texts.
pub(super) type Context<'a> = Vec<(Cow<'a, str>, Cow<'a, str>)>;

impl<'a> Bundle<'a> {
    pub(super) fn read(record: &'a str) -> Result<Self, BundleError> {
        let record = serde_json::from_str(record).map_err(BundleError::Json)?;
        let record = Object::read_or_fail(record, "record")?;
        let prompt = record
            .object("prompt", "prompt")?
            .ok_or_else(|| record.unexpected("prompt", "an object"))?;
        let flags = record.object("flags", "flags")?.unwrap_or_else(|| Object::empty("flags"));
        Ok(Self {
            session: record.string("session_id")?,
            request_id: record.get("request_id"),
            repeated: REPEATED
                .iter()
                .filter_map(|name| record.get(name).map(|value| (*name, value)))
                .collect(),
            prompt: Prompt::read(prompt)?,
            flags: Flags::read(&flags)?,
        })
    }
}

impl<'a> Prompt<'a> {
    fn read(prompt: Object<'a>) -> Result<Self, BundleError> {
        Ok(Self {
            model: model(&prompt)?,
            system: system(&prompt)?,
            system_context: context(&prompt, "system_context", "prompt.system_context")?,
            tools: tool::sorted(prompt.list("tools")?.unwrap_or_default())?,
            messages: messages(&prompt)?,
            settings: settings(prompt.members),
        })
    }
}

fn model<'a>(prompt: &Object<'a>) -> Result<&'a RawValue, BundleError> {
    let model = prompt.get("model").filter(|model| string(model).is_some());
    model.ok_or_else(|| prompt.unexpected("model", "the name of a model"))
}

fn system<'a>(prompt: &Object<'a>) -> Result<Vec<Part<'a>>, BundleError> {
    let expected = "a list, or an object of lists (override, coordinator, agent, custom, default, \
                    append)";
    let Some(system) = prompt.get("system").filter(|system| system.get() != "null") else {
        return Ok(Vec::new());
    };
    let parts = match list(system) {
        Some(parts) => parts,
        None => assembled(
            &Object::read(system, "prompt.system")
                .ok_or_else(|| unexpected("prompt.system", Some(system), expected))?,
        )?,
    };
    parts.into_iter().map(Part::read).collect()
}

fn messages<'a>(prompt: &Object<'a>) -> Result<Vec<Message<'a>>, BundleError> {
    let user_context = context(prompt, "user_context", "prompt.user_context")?;
    let given = prompt
        .list("messages")?
        .ok_or_else(|| prompt.unexpected("messages", "a list of messages"))?
        .into_iter()
        .map(Message::read);
    Message::of_user_context(&user_context).map(Ok).into_iter().chain(given).collect()
}

fn settings(mut members: Vec<Member<'_>>) -> Vec<Member<'_>> {
    members.retain(|member| !ASSEMBLED.iter().any(|name| member.is(name)));
    members
}

/// The first base that has anything, and what is appended to it.
fn assembled<'a>(system: &Object<'a>) -> Result<Vec<&'a RawValue>, BundleError> {
    let appended = system.list("append")?.unwrap_or_default();
    for name in BASES {
        let mut base = system.list(name)?.unwrap_or_default();
        if !base.is_empty() {
            if name != OVERRIDE {
                base.extend(appended);
            }
            return Ok(base);
        }
    }
    Ok(appended)
}

fn context<'a>(
    prompt: &Object<'a>,
    name: &str,
    path: &'static str,
) -> Result<Context<'a>, BundleError> {
    let context = prompt.object(name, path)?.unwrap_or_else(|| Object::empty(path));
    let entry = |member: &Member<'a>| {
        let name = key(member);
        let text = text_of(member.value).ok_or_else(|| context.unexpected(&name, "a text"))?;
        Ok((name, text))
    };
    context.members.iter().map(entry).collect()
}

/// A string's text, or the JSON of another value.
fn text_of(value: &RawValue) -> Option<Cow<'_, str>> {
    if is_string(value) { string(value) } else { Some(Cow::Borrowed(value.get())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(record: &str) -> String {
        Bundle::read(record).map(drop).expect_err(record).to_string()
    }

    #[test]
    fn a_record_that_is_no_bundle_says_why() {
        for (record, expected) in [
            ("[]", "`record` is a list; expected an object"),
            ("{}", "`record.prompt` is missing; expected an object"),
            (r#"{"prompt":[]}"#, "`record.prompt` is a list; expected an object"),
            (
                r#"{"prompt":{"messages":[]}}"#,
                "`prompt.model` is missing; expected the name of a model",
            ),
            (
                r#"{"prompt":{"model":"m"}}"#,
                "`prompt.messages` is missing; expected a list of messages",
            ),
            (
                r#"{"prompt":{"model":"m","messages":[1]}}"#,
                "`prompt.messages[…]` is a number; expected an object",
            ),
            (
                r#"{"prompt":{"model":"m","messages":[],"system":[{"text":"a"}]}}"#,
                "`prompt.system[…].section` is missing; expected a string",
            ),
            (
                r#"{"prompt":{"model":"m","messages":[],"system":{"agent":"a"}}}"#,
                "`prompt.system.agent` is a string; expected a list",
            ),
            (
                r#"{"prompt":{"model":"m","messages":[],"user_context":{"a":"\ud83d"}}}"#,
                "`prompt.user_context.a` is a string with half of a surrogate pair; expected a text",
            ),
        ] {
            assert_eq!(error(record), expected);
        }
        assert!(error("").starts_with("the record is no JSON: EOF"));
        let string = error(r#"{"prompt":{"model":"m","messages":[],"system":"a"}}"#);
        assert!(string.starts_with("`prompt.system` is a string; expected a list, or"), "{string}");
    }

    #[test]
    fn only_what_is_used_of_the_system_prompt_is_read() {
        let prompt = r#"{"model":"m","messages":[],"system":
            {"agent":[],"custom":["c"],"default":[{"volatile":true}],"append":["p"],"other":7}}"#;
        let record = format!(r#"{{"prompt":{prompt}}}"#);
        let bundle = Bundle::read(&record).expect("a bundle");
        let texts: Vec<String> =
            bundle.prompt.system.iter().map(|part| format!("{part:?}")).collect();
        assert_eq!(texts, [r#"Plain("c")"#, r#"Plain("p")"#]);
    }

    #[test]
    fn a_context_may_hold_more_than_text() {
        let record = r#"{"prompt":{"model":"m","messages":[],
            "system_context":{"n":1.0,"o":{"a": 1},"z":null,"t":"x"}}}"#;
        let bundle = Bundle::read(record).expect("a bundle");
        let texts: Vec<&str> =
            bundle.prompt.system_context.iter().map(|(_, text)| &**text).collect();
        assert_eq!(texts, ["1.0", r#"{"a": 1}"#, "null", "x"]);
    }
}
