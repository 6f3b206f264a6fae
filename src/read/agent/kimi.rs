//! The wire files of Kimi CLI and of Kimi Code.
//!
//! Kimi CLI reports the usage of each step in a `StatusUpdate`, Kimi Code in a `usage.record`; the end
//! of a step repeats it. `input_other` leaves out the tokens read and written. A record of scope
//! `session` is work outside of turns: the request of a compaction.

use rustc_hash::FxHashMap;

use super::tree::Branch;
use super::{
    AgentFile, AgentRequest, FirstObject, Follows, Layout, LineFormat, Rejected, Size, Time,
    Vendor, parts, read_if_any, tell_nothing, tokens,
};
use crate::base::{Client, EntryId, Millis, Symbol};
use crate::read::input::{Count, Shape, Text, Usage, lenient};
use crate::read::transcript::{ContentKind, ContentSource};

/// Types of the lines that files of Kimi Code begin with.
const LINE_TYPES: [&str; 7] = [
    "config.update",
    "turn.prompt",
    "llm.request",
    "usage.record",
    "context.append_message",
    "context.append_loop_event",
    "tools.set_active_tools",
];

/// Types of lines after which the conversation is shorter.
const COMPACTIONS: [&str; 5] = [
    "full_compaction.complete",
    "micro_compaction.apply",
    "spine.close",
    "spine.next",
    "spine.root_compact",
];

/// Milliseconds of an hour.
const HOUR: i64 = 3_600_000;

/// Folder of all agents of a Kimi Code session, and the folder of the main agent in it.
pub(crate) const AGENT_FOLDERS: [&str; 2] = ["agents", "main"];

/// Prefix of the folders of Kimi Code's sessions.
pub(crate) const SESSION_FOLDER: &str = "session_";

/// State between two lines of a file.
#[derive(Default)]
pub(super) struct Kimi {
    place: Option<Place>,
    project: Option<Symbol>,
    /// Model of the newest request: the user's alias, and the provider's name.
    model: Option<(Symbol, Symbol)>,
    route: Option<Symbol>,
    /// True if a request was sent that has no usage yet.
    is_sent: bool,
    tools: Tools,
    /// Conversations of the agents.
    branches: FxHashMap<Option<Symbol>, Branch>,
}

/// Names of the tools, by call.
type Tools = FxHashMap<EntryId, Symbol>;

/// Session and agent of a file.
#[derive(Clone, Copy)]
struct Place {
    session: Option<Symbol>,
    /// Agent of the whole file; Kimi Code only.
    agent: Option<Symbol>,
}

impl LineFormat for Kimi {
    type Line<'a> = Line<'a>;
    const FILE: &'static str = "a wire file of Kimi";
    const LAYOUT: Option<Layout> = Some(Layout::Kimi);

    fn recognises(first: &FirstObject<'_>) -> bool {
        let is_header =
            first.is_one_of("type", &["metadata"]) && first.has_member("protocol_version");
        let is_message = first.has("message.payload") && !first.has_member("type");
        is_header || is_message || first.is_one_of("type", &LINE_TYPES)
    }

    fn line(&mut self, line: &Line<'_>, file: &mut AgentFile) -> Result<(), Rejected> {
        let at = line.time.0.or(line.timestamp.0);
        if let Some(message) = &line.message.0
            && line.r#type.as_str().is_none()
        {
            return self.message(message, at, file);
        }
        let agent = self.place(file).agent;
        let branch = self.branches.entry(agent).or_default();
        if let Some(message) = &line.message.0 {
            message.bring(branch, file);
            return Ok(());
        }
        match line.r#type.as_str() {
            Some("config.update") => self.project = file.symbol(&line.cwd).or(self.project),
            Some("turn.prompt") => {
                // A sub-agent's prompt is not the user's.
                branch.happened.begins_turn = agent.is_none();
                branch.client_entry(at);
            }
            Some("llm.request") => {
                // The previous request failed or was abandoned.
                branch.happened.is_after_interruption |= std::mem::replace(&mut self.is_sent, true);
                branch.client_entry(at);
                self.model = file.symbol(&line.alias).zip(file.symbol(&line.model));
                self.route = file.symbol(&line.provider);
            }
            Some("context.append_loop_event") => {
                if let Some(event) = &line.event.0 {
                    event.bring(&mut self.tools, branch, file);
                }
            }
            Some(kind) if COMPACTIONS.contains(&kind) => {
                branch.happened.compact(line.summary.and(line.memory), file);
            }
            Some("usage.record") => return self.record(line, at, file),
            _ => {}
        }
        Ok(())
    }
}

impl Kimi {
    /// Session and agent, which the folders of the file name.
    fn place(&mut self, file: &mut AgentFile) -> Place {
        *self.place.get_or_insert_with(|| Place { session: session(file), agent: agent(file) })
    }

    /// Reads a message of Kimi CLI's, or the one inside a sub-agent's event.
    fn message(
        &mut self,
        message: &Message<'_>,
        at: Option<Millis>,
        file: &mut AgentFile,
    ) -> Result<(), Rejected> {
        let Some(payload) = message.payload.0.as_ref() else { return Ok(()) };
        if !message.r#type.is("SubagentEvent") {
            let branch = self.branches.entry(None).or_default();
            payload.bring(&message.r#type, &mut self.tools, branch, file);
            let usage = payload.usage.0.as_ref();
            return self.event(&message.r#type, (usage, &payload.message), None, at, file);
        }
        let Some(event) = payload.event.0.as_ref() else { return Ok(()) };
        let named = [&payload.agent, &payload.call, &payload.task];
        let agent = named.into_iter().find_map(|name| file.symbol(name));
        let agent = agent.unwrap_or_else(|| file.symbols.intern("sub-agent"));
        let inner = event.payload.0.as_ref();
        let usage = inner.and_then(|inner| inner.usage.0.as_ref());
        let untold = Text::default();
        let id = inner.map_or(&untold, |inner| &inner.message);
        self.event(&event.r#type, (usage, id), Some(agent), at, file)
    }

    /// Reads an event of a conversation.
    fn event(
        &mut self,
        kind: &Text<'_>,
        (usage, message): (Option<&KimiUsage>, &Text<'_>),
        agent: Option<Symbol>,
        at: Option<Millis>,
        file: &mut AgentFile,
    ) -> Result<(), Rejected> {
        let branch = self.branches.entry(agent).or_default();
        match kind.as_str() {
            Some("TurnBegin") => {
                branch.happened.begins_turn = agent.is_none();
                branch.client_entry(at);
            }
            Some("StepBegin" | "ToolResult") => branch.client_entry(at),
            Some("StepInterrupted") => branch.happened.is_after_interruption = true,
            Some("CompactionEnd") => branch.happened.compact(Size::default(), file),
            Some("StatusUpdate") => {
                let Some(usage) = usage.filter(|usage| !usage.is_empty()) else { return Ok(()) };
                // Kimi CLI's files do not name the model.
                let model = file.model(&Text::default()).0;
                let name = message.as_str().unwrap_or_default();
                let request = self.request(usage, (model, agent), name, at, file)?;
                self.branches.entry(agent).or_default().add(request, file);
            }
            _ => {}
        }
        Ok(())
    }

    /// Reads a record of Kimi Code's.
    fn record(
        &mut self,
        line: &Line<'_>,
        at: Option<Millis>,
        file: &mut AgentFile,
    ) -> Result<(), Rejected> {
        self.is_sent = false;
        let usage = line.usage.0.as_ref().filter(|usage| !usage.is_empty());
        let Some(usage) = usage else { return Ok(()) };
        let alias = file.model(&line.model).0;
        // The record has the alias alone; the request's line has the model and the provider.
        let named = self.model.filter(|(known, _)| *known == alias);
        let model = named.map_or(alias, |(_, model)| model);
        let route = self.route.filter(|_| named.is_some());
        let agent = self.place(file).agent;
        let request = self.request(usage, (model, agent), "", at, file)?;
        let request = AgentRequest { route, ..request };
        if line.scope.is("session") {
            // Work outside of turns continues no conversation.
            file.requests.push(AgentRequest { follows: Follows::Nothing, ..request });
        } else {
            self.branches.entry(agent).or_default().add(request, file);
        }
        Ok(())
    }

    fn request(
        &mut self,
        usage: &KimiUsage,
        (model, agent): (Symbol, Option<Symbol>),
        message: &str,
        at: Option<Millis>,
        file: &mut AgentFile,
    ) -> Result<AgentRequest, Rejected> {
        let prompt = parts(usage.other, read_if_any(usage.read, usage.written), usage.written)?;
        let output = tokens(usage.output)?.unwrap_or_default();
        let sent = self.branches.get(&agent).and_then(|branch| branch.sent);
        let start = sent.or(at).unwrap_or_else(|| file.untimed());
        let vendor = Vendor::of(file.symbols.text(model));
        let usage = Usage { prompt, output, ..Usage::default() };
        let times = (start, at.unwrap_or(start));
        Ok(AgentRequest {
            identity: identity(message, at, &usage),
            session: self.place(file).session,
            agent,
            project: self.project,
            ..AgentRequest::new((Client::Kimi, file.line), (model, vendor), times, usage)
        })
    }
}

/// Key of a request, the same in a forked session's copy, which keeps the times, and in a sub-agent's own file,
/// which stamps the same message a little later. Some providers give messages the same id, so the hour counts.
fn identity(message: &str, at: Option<Millis>, usage: &Usage) -> Option<EntryId> {
    let tokens = [usage.prompt.input, usage.prompt.read, usage.output].map(|tokens| tokens.0);
    let at = match at {
        Some(at) if message.is_empty() => at.get(),
        Some(at) => at.get().div_euclid(HOUR),
        None if message.is_empty() => return None,
        None => 0,
    };
    Some(EntryId::of(&format!("kimi:{message}:{at}:{tokens:?}")))
}

/// Agent of a Kimi Code file: its folder inside that of all agents; `None` for the main one.
fn agent(file: &mut AgentFile) -> Option<Symbol> {
    let [own, all, ..] = file.folders.as_slice() else { return None };
    let [agents, main] = AGENT_FOLDERS;
    let is_agents = all == agents && own != main;
    is_agents.then(|| file.symbols.intern(own))
}

/// Session of a file whose own name is always the same: its folder, or the one that Kimi Code gives to a
/// session and all of its agents.
fn session(file: &mut AgentFile) -> Option<Symbol> {
    let of_code = file.folders.iter().position(|folder| folder.starts_with(SESSION_FOLDER));
    file.session_of_folder(of_code.unwrap_or(0))
}

lenient! {
    pub(super) struct Line<'a> {
        r#type: Text<'a>,
        time: Time,
        timestamp: Time,
        message: Shape<Message<'a>>,
        model: Text<'a>,
        #[serde(rename = "modelAlias")]
        alias: Text<'a>,
        provider: Text<'a>,
        cwd: Text<'a>,
        usage: Shape<KimiUsage>,
        #[serde(rename = "usageScope")]
        scope: Text<'a>,
        /// Addition of Kimi Code to a context.
        event: Shape<LoopEvent<'a>>,
        /// Text that replaces the compacted messages.
        summary: Size,
        memory: Size,
    }

    /// Message of Kimi CLI, or one that Kimi Code adds to a context.
    struct Message<'a> {
        r#type: Text<'a>,
        payload: Shape<Payload<'a>>,
        role: Text<'a>,
        content: Size,
    }

    /// Part of a Kimi Code answer, or a tool's result.
    struct LoopEvent<'a> {
        r#type: Text<'a>,
        #[serde(rename = "toolCallId")]
        call: Text<'a>,
        name: Text<'a>,
        result: Size,
    }

    struct Payload<'a> {
        #[serde(rename = "token_usage")]
        usage: Shape<KimiUsage>,
        #[serde(rename = "message_id")]
        message: Text<'a>,
        /// Agent of a sub-agent's event, or else the call that began it.
        #[serde(rename = "agent_id")]
        agent: Text<'a>,
        #[serde(rename = "parent_tool_call_id")]
        call: Text<'a>,
        /// Call, under its name in older versions.
        #[serde(rename = "task_tool_call_id")]
        task: Text<'a>,
        event: Shape<Event<'a>>,
        /// Prompt of a turn.
        user_input: Size,
        /// Id of a tool's call.
        id: Text<'a>,
        function: Shape<Function<'a>>,
        /// Call that a tool's result answers.
        #[serde(rename = "tool_call_id")]
        called: Text<'a>,
        return_value: Size,
    }

    struct Function<'a> {
        name: Text<'a>,
    }

    /// Message inside a sub-agent's event. There is only one level.
    struct Event<'a> {
        r#type: Text<'a>,
        payload: Shape<EventPayload<'a>>,
    }

    struct EventPayload<'a> {
        #[serde(rename = "token_usage")]
        usage: Shape<KimiUsage>,
        #[serde(rename = "message_id")]
        message: Text<'a>,
    }

    #[derive(Clone, Copy)]
    struct KimiUsage {
        #[serde(alias = "input_other", rename = "inputOther")]
        other: Count,
        output: Count,
        #[serde(alias = "input_cache_read", rename = "inputCacheRead")]
        read: Count,
        #[serde(alias = "input_cache_creation", rename = "inputCacheCreation")]
        written: Count,
    }
}

impl Message<'_> {
    /// Records the content that Kimi Code adds.
    fn bring(&self, branch: &mut Branch, file: &mut AgentFile) {
        let kind = match self.role.as_str() {
            Some("user") => ContentKind::UserText,
            // An answer is not content that the client puts in.
            Some("assistant") => return,
            _ => ContentKind::Reminder,
        };
        file.bring(&mut branch.happened, ContentSource::Text(kind), self.content);
    }
}

impl LoopEvent<'_> {
    fn bring(&self, tools: &mut Tools, branch: &mut Branch, file: &mut AgentFile) {
        let call = self.call.as_str().map(EntryId::of);
        if self.r#type.is("tool.call") {
            tools.extend(call.zip(file.symbol(&self.name)));
        } else if self.r#type.is("tool.result") {
            let tool = call.and_then(|call| tools.get(&call)).copied();
            file.bring(&mut branch.happened, ContentSource::Tool(tool), self.result);
        }
    }
}

impl Payload<'_> {
    /// Records the content that a message of Kimi CLI's adds to the main conversation.
    fn bring(&self, kind: &Text<'_>, tools: &mut Tools, branch: &mut Branch, file: &mut AgentFile) {
        match kind.as_str() {
            Some("TurnBegin") => {
                let source = ContentSource::Text(ContentKind::UserText);
                file.bring(&mut branch.happened, source, self.user_input);
            }
            Some("ToolCall") => {
                let name = self.function.0.as_ref().and_then(|one| file.symbol(&one.name));
                tools.extend(self.id.as_str().map(EntryId::of).zip(name));
            }
            Some("ToolResult") => {
                let call = self.called.as_str().map(EntryId::of);
                let tool = call.and_then(|call| tools.get(&call)).copied();
                let source = ContentSource::Tool(tool);
                file.bring(&mut branch.happened, source, self.return_value);
            }
            _ => {}
        }
    }
}

impl KimiUsage {
    /// Returns true if nothing is reported, as after an abandoned step.
    fn is_empty(&self) -> bool {
        tell_nothing(&[self.other, self.output, self.read, self.written])
    }
}

#[cfg(test)]
mod tests {
    use crate::base::Tokens;
    use crate::read::agent::testing::read;

    #[test]
    fn reports_of_nothing_are_no_requests() {
        let status = |at: u64, other: u64, read: u64, output: u64| {
            format!(
                r#"{{"timestamp":17900000{at},"message":{{"type":"StatusUpdate","payload":{{"token_usage":{{"input_other":{other},"output":{output},"input_cache_read":{read},"input_cache_creation":0}},"message_id":"m{at}"}}}}}}"#
            )
        };
        let record = |at: u64, other: u64, output: u64| {
            format!(
                r#"{{"type":"usage.record","model":"kimi-k3","usage":{{"inputOther":{other},"output":{output},"inputCacheRead":0,"inputCacheCreation":0}},"usageScope":"turn","time":17900000{at}000}}"#
            )
        };
        let header = r#"{"type":"metadata","protocol_version":"1.4"}"#.to_owned();
        for lines in [
            [header.clone(), status(10, 0, 0, 0), status(20, 100, 50, 5)],
            [header, record(10, 0, 0), record(20, 150, 5)],
        ] {
            let file = read(&lines.join("\n"));
            let [request] = &file.requests[..] else { panic!("{:?}", file.diagnostics) };
            let total = request.usage.prompt.total();
            assert_eq!((total, request.usage.output), (Tokens(150), Tokens(5)));
            assert!(!file.diagnostics.has_damage());
        }
    }
}
