//! Parsed bundle record: the parts that a harness is about to send, before the markers are placed. Unknown keys are
//! named; those of the prompt go into the request as they are.

use std::borrow::Cow;

use rustc_hash::FxHashSet;
use serde_json::value::RawValue;

use super::base::Base;
use super::block::{Block, Deletion};
use super::flags::{FLAGS, Flags};
use super::memory::{self, MemoryFile};
use super::message::Message;
use super::normal_form::{Repairs, normalised};
use super::place::BundleError;
use super::raw::{Member, Object, is_string, key, string};
use super::system::Part;
use super::tool;

/// Members of the bundle that a capture record repeats, in its order.
const REPEATED: [&str; 7] =
    ["timestamp", "response_started_at", "request_id", "session_id", "agent_id", "scope", "usage"];

/// Further keys of a bundle.
const PARTS: [&str; 3] = ["prompt", "flags", "headers"];

/// Keys of a prompt that the harness processes.
const ASSEMBLED: [&str; 7] =
    ["model", "system", "tools", "messages", "system_context", "user_context", "memory_files"];

/// Entry of the user context that holds the instruction files.
const CLAUDE_MD: &str = "claudeMd";

/// Bundle record that is known to be usable: no later step can fail.
#[derive(Debug)]
pub(super) struct Bundle<'a> {
    pub(super) session: Option<Cow<'a, str>>,
    pub(super) request_id: Option<&'a RawValue>,
    /// Members of the capture record besides the request.
    pub(super) repeated: Vec<(&'static str, &'a RawValue)>,
    /// Headers of the request, if the record has them.
    pub(super) headers: Option<Object<'a>>,
    pub(super) prompt: Prompt<'a>,
    pub(super) flags: Flags<'a>,
    /// Keys of the record and of its flags that have no meaning here.
    pub(super) unknown_keys: Vec<String>,
}

/// Prompt of a bundle record.
#[derive(Debug)]
pub(super) struct Prompt<'a> {
    pub(super) model: &'a RawValue,
    /// Base and the parts appended to it.
    pub(super) system: Vec<Part<'a>>,
    pub(super) system_context: Context<'a>,
    /// Tools in the order of the request.
    pub(super) tools: Vec<Block<'a>>,
    /// Messages, with the user context in front.
    pub(super) messages: Vec<Message<'a>>,
    /// Repairs of the messages.
    pub(super) repairs: Repairs,
    /// Members that the request takes over as they are.
    pub(super) settings: Vec<Member<'a>>,
}

/// Names and texts of the client's surroundings.
pub(super) type Context<'a> = Vec<(Cow<'a, str>, Cow<'a, str>)>;

impl<'a> Bundle<'a> {
    pub(super) fn read(record: &'a str) -> Result<Self, BundleError> {
        let record = serde_json::from_str(record).map_err(BundleError::Json)?;
        let record = Object::read_or_fail(record, "record")?;
        let prompt = record
            .object("prompt", "prompt")?
            .ok_or_else(|| record.unexpected("prompt", "an object"))?;
        let flags = record.object("flags", "flags")?.unwrap_or_else(|| Object::empty("flags"));
        let mut unknown_keys = record.unknown_keys("", &[&REPEATED[..], &PARTS].concat());
        unknown_keys.extend(flags.unknown_keys("flags.", &FLAGS));
        let mut flags = Flags::read(&flags)?;
        // Only the main conversation deletes results, and it has no agent id.
        flags.cache.may_be_edited &=
            record.get("agent_id").is_none_or(|agent| agent.get() == "null");
        let prompt = Prompt::read(prompt, &flags)?;
        prompt.check_deletion(flags.cache.deletion.as_ref())?;
        Ok(Self {
            session: record.string("session_id")?,
            request_id: record.get("request_id"),
            repeated: REPEATED
                .iter()
                .filter_map(|name| record.get(name).map(|value| (*name, value)))
                .collect(),
            headers: record.object("headers", "headers")?,
            prompt,
            flags,
            unknown_keys,
        })
    }
}

impl<'a> Prompt<'a> {
    fn read(prompt: Object<'a>, flags: &Flags<'_>) -> Result<Self, BundleError> {
        let base = Base::read(&prompt, flags)?;
        let system_context = context(&prompt, "system_context", "prompt.system_context")?;
        let (messages, repairs) = messages(&prompt)?;
        Ok(Self {
            model: model(&prompt)?,
            system: base.parts,
            system_context: if base.is_custom { Vec::new() } else { system_context },
            tools: tool::sorted(prompt.list("tools")?.unwrap_or_default())?,
            messages,
            repairs,
            settings: settings(prompt.members),
        })
    }

    /// Checks that each result to delete is in the messages.
    fn check_deletion(&self, deletion: Option<&Deletion>) -> Result<(), BundleError> {
        let Some(Deletion::Of(calls)) = deletion else { return Ok(()) };
        let known: FxHashSet<&str> =
            self.messages.iter().flat_map(Message::results).map(|call| &*call.text).collect();
        match calls.iter().find(|call| !known.contains(call.as_str())) {
            Some(_) => Err(BundleError::Shape {
                field: "flags.cached_microcompaction.delete[…]".to_owned(),
                found: "the id of no result",
                expected: "a `tool_use_id` of a result in the messages",
            }),
            None => Ok(()),
        }
    }
}

fn model<'a>(prompt: &Object<'a>) -> Result<&'a RawValue, BundleError> {
    let model = prompt.get("model").filter(|model| string(model).is_some());
    model.ok_or_else(|| prompt.unexpected("model", "the name of a model"))
}

/// Messages as they are sent, with the user context in front.
fn messages<'a>(prompt: &Object<'a>) -> Result<(Vec<Message<'a>>, Repairs), BundleError> {
    let files = MemoryFile::read_all(prompt.list("memory_files")?.unwrap_or_default())?;
    let user_context = user_context(prompt, &files)?;
    let given = prompt
        .list("messages")?
        .ok_or_else(|| prompt.unexpected("messages", "a list of messages"))?;
    let mut given = given.into_iter().map(Message::read).collect::<Result<Vec<_>, _>>()?;
    memory::tell_nested(&mut given, &files)?;
    let (given, repairs) = normalised(given);
    // Added after the normal form, which would merge it with a user message behind it.
    let context = Message::of_user_context(&user_context);
    Ok((context.into_iter().chain(given).collect(), repairs))
}

/// User context of the bundle, with the instruction files in front.
fn user_context<'a>(
    prompt: &Object<'a>,
    files: &[MemoryFile<'a>],
) -> Result<Context<'a>, BundleError> {
    let mut entries = context(prompt, "user_context", "prompt.user_context")?;
    if let Some(text) = memory::text(files) {
        if entries.iter().any(|(name, _)| name == CLAUDE_MD) {
            return Err(BundleError::Shape {
                field: format!("prompt.user_context.{CLAUDE_MD}"),
                found: "given beside `prompt.memory_files`",
                expected: "one of the two",
            });
        }
        entries.insert(0, (CLAUDE_MD.into(), text.into()));
    }
    Ok(entries)
}

fn settings(mut members: Vec<Member<'_>>) -> Vec<Member<'_>> {
    members.retain(|member| !ASSEMBLED.iter().any(|name| member.is(name)));
    members
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

/// Text of a string, or the JSON of another value.
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
