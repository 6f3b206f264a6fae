//! Sessions of Pi, Oh-My-Pi and `OpenClaw`, and the events that `pi --mode json` prints.
//!
//! An entry holds an answer with its usage; `input` leaves out the tokens read and written. Newer
//! entries name their parents, so a session is a tree: going back leaves the other branch in the file. A
//! forked session begins with copies of its parent's entries. Google's API has the whole prompt as
//! `input`, whatever the user calls the provider, and old versions add the reasoning of chat completions
//! to an output that includes it: `totalTokens` always reveals the former, and the latter if it is the
//! service's own figure.

use super::tree::{Branch, Parent, Tree};
use super::{
    AgentFile, AgentRequest, FirstObject, Follows, Layout, LineFormat, Rejected, Size, Time,
    Vendor, parts, read_if_any, tell_nothing, tokens,
};
use crate::base::{Client, EntryId, Millis, Symbol, Tokens};
use crate::read::input::{Count, Dollars, Kind, PromptSplit, Shape, Text, Usage, lenient};
use crate::read::transcript::{ContentKind, ContentSource};

/// Folders in which `OpenClaw` keeps sessions of Pi's form.
pub(crate) const OPENCLAW_FOLDERS: [&str; 3] = [".openclaw", ".clawdbot", ".moltbot"];

/// Prefix of the kinds of entries that only `OpenClaw` writes.
pub(crate) const OPENCLAW: &str = "openclaw";

/// Types of the lines with a message: of a file, and of what `pi --mode json` prints.
const MESSAGES: [&str; 2] = ["message", "message_end"];

/// State between two lines of a session.
#[derive(Default)]
pub(super) struct Pi {
    session: Option<Symbol>,
    project: Option<Symbol>,
    /// True if an entry is one that only `OpenClaw` writes.
    is_openclaws: bool,
    tree: Tree,
}

impl LineFormat for Pi {
    type Line<'a> = Line<'a>;
    const FILE: &'static str = "a session of Pi";
    const LAYOUT: Option<Layout> = Some(Layout::Pi);

    fn recognises(first: &FirstObject<'_>) -> bool {
        let is_header = first.is_one_of("type", &["session"]) && first.has_member("cwd");
        let is_message = || first.is_one_of("type", &MESSAGES);
        is_header || (is_message() && first.text("message.role").is_some())
    }

    fn line(&mut self, line: &Line<'_>, file: &mut AgentFile) -> Result<(), Rejected> {
        let mut branch = self.tree.branch(&line.parent);
        let added = self.entry(line, &mut branch, file);
        self.tree.add(&line.id, branch);
        added
    }

    fn end(self, file: &mut AgentFile) {
        if self.is_openclaws || is_in_openclaws_folder(file) {
            for request in &mut file.requests {
                request.client = Client::OpenClaw;
            }
        }
    }
}

impl Pi {
    fn entry(
        &mut self,
        line: &Line<'_>,
        branch: &mut Branch,
        file: &mut AgentFile,
    ) -> Result<(), Rejected> {
        let message = line.message.0.as_ref();
        match (line.r#type.as_str(), message) {
            (Some("session"), _) if self.session.is_none() => {
                self.session = file.symbol(&line.id);
                self.project = file.symbol(&line.cwd);
            }
            (Some(kind), Some(message)) if MESSAGES.contains(&kind) => {
                return self.message(line, message, branch, file);
            }
            (Some("compaction"), _) => {
                branch.happened.compact(line.summary, file);
                return self.summary(line, *branch, file);
            }
            (Some("branch_summary"), _) => {
                let source = ContentSource::Text(ContentKind::Summary);
                file.bring(&mut branch.happened, source, line.summary);
                return self.summary(line, *branch, file);
            }
            (Some("custom"), _) => {
                let kind = line.custom_type.as_str();
                self.is_openclaws |= kind.is_some_and(|kind| kind.starts_with(OPENCLAW));
            }
            _ => {}
        }
        Ok(())
    }

    fn message(
        &self,
        line: &Line<'_>,
        message: &Message<'_>,
        branch: &mut Branch,
        file: &mut AgentFile,
    ) -> Result<(), Rejected> {
        if !message.role.is("assistant") {
            branch.happened.begins_turn |= message.role.is("user");
            let source = message.source(file);
            let size = message.content.and(message.output).and(message.command);
            file.bring(&mut branch.happened, source, size);
            branch.client_entry(message.timestamp.0.or(line.timestamp.0));
            return Ok(());
        }
        let Some(usage) = message.usage.0.as_ref().filter(|usage| !usage.is_empty()) else {
            branch.happened.is_after_interruption |= message.stop_reason.is("aborted");
            return Ok(());
        };
        // The message is stamped when the request starts, the entry when it ends.
        let start = message.timestamp.0.or(branch.sent);
        let model = file.model(&message.model);
        let prompt = usage.prompt()?;
        let request = self.request(line, (usage, prompt), start, model, file)?;
        let route = file.symbol(&message.provider);
        let message = file.symbol(&message.response);
        branch.add(AgentRequest { message, route, ..request }, file);
        Ok(())
    }

    /// Adds the request of a summary, which newer versions record.
    ///
    /// It does not continue the conversation: nothing of its prefix is read. Its model is that of the
    /// conversation.
    fn summary(
        &self,
        line: &Line<'_>,
        branch: Branch,
        file: &mut AgentFile,
    ) -> Result<(), Rejected> {
        let Some(usage) = line.usage.0.as_ref().filter(|usage| !usage.is_empty()) else {
            return Ok(());
        };
        let before = branch.request.and_then(|place| file.requests.get(place));
        let before = before.map(|request| ((request.model, request.vendor), request.route));
        let (model, route) = before.unwrap_or_else(|| (file.model(&Text::default()), None));
        let prompt = usage.prompt()?;
        let request = self.request(line, (usage, prompt), branch.sent, model, file)?;
        file.requests.push(AgentRequest { route, follows: Follows::Nothing, ..request });
        Ok(())
    }

    fn request(
        &self,
        line: &Line<'_>,
        (usage, prompt): (&PiUsage, PromptSplit),
        start: Option<Millis>,
        model: (Symbol, Vendor),
        file: &AgentFile,
    ) -> Result<AgentRequest, Rejected> {
        let (output, reasoning) = usage.output(&prompt)?;
        let start = start.or(line.timestamp.0);
        let start = start.ok_or((Kind::MissingTimestamp, "the request is left out"))?;
        let times = (start, line.timestamp.0.unwrap_or(start));
        let usage_of_request = Usage { prompt, output, ..Usage::default() };
        Ok(AgentRequest {
            identity: Some(identity(start, file.symbols.text(model.0), &usage_of_request)),
            session: self.session,
            project: self.project,
            reasoning,
            client_cost: usage.cost.0.and_then(|cost| cost.total.0),
            knows_lifetime: matches!(usage.cache_write_1h, Count::Value(_)),
            ..AgentRequest::new((Client::Pi, file.line), model, times, usage_of_request)
        })
    }
}

/// Key of a request, the same in a fork's copy: older copies lose the ids of their entries.
fn identity(start: Millis, model: &str, usage: &Usage) -> EntryId {
    let PromptSplit { input, read, .. } = usage.prompt;
    let (written, output) = (usage.prompt.written(), usage.output);
    let tokens = [input, read, written, output].map(|tokens| tokens.0);
    EntryId::of(&format!("pi:{}:{model}:{tokens:?}", start.get()))
}

fn is_in_openclaws_folder(file: &AgentFile) -> bool {
    file.folders.iter().any(|folder| OPENCLAW_FOLDERS.contains(&folder.as_str()))
}

lenient! {
    pub(super) struct Line<'a> {
        r#type: Text<'a>,
        id: Text<'a>,
        #[serde(rename = "parentId")]
        parent: Parent<'a>,
        timestamp: Time,
        cwd: Text<'a>,
        /// Kind of an extension's entry.
        #[serde(rename = "customType")]
        custom_type: Text<'a>,
        message: Shape<Message<'a>>,
        /// Usage of a compaction, and its summary.
        usage: Shape<PiUsage>,
        summary: Size,
    }

    struct Message<'a> {
        role: Text<'a>,
        provider: Text<'a>,
        model: Text<'a>,
        timestamp: Time,
        #[serde(rename = "stopReason")]
        stop_reason: Text<'a>,
        usage: Shape<PiUsage>,
        #[serde(rename = "responseId")]
        response: Text<'a>,
        content: Size,
        /// Name of the tool that has the result.
        #[serde(rename = "toolName")]
        tool: Text<'a>,
        /// Command of the user's, and its output.
        command: Size,
        output: Size,
    }

    #[derive(Clone, Copy)]
    #[serde(rename_all = "camelCase")]
    struct PiUsage {
        input: Count,
        output: Count,
        cache_read: Count,
        cache_write: Count,
        #[serde(rename = "cacheWrite1h")]
        cache_write_1h: Count,
        reasoning: Count,
        total_tokens: Count,
        /// Cost at Pi's own prices.
        cost: Shape<PiCost>,
    }

    #[derive(Clone, Copy)]
    struct PiCost {
        total: Dollars,
    }
}

impl Message<'_> {
    /// Source of the client's message.
    fn source(&self, file: &mut AgentFile) -> ContentSource {
        match self.role.as_str() {
            Some("toolResult") => ContentSource::Tool(file.symbol(&self.tool)),
            Some("user") => ContentSource::Text(ContentKind::UserText),
            Some("bashExecution") => ContentSource::Text(ContentKind::Command),
            _ => ContentSource::Text(ContentKind::Reminder),
        }
    }
}

impl PiUsage {
    /// Returns true if nothing is reported, as after an abandoned request.
    fn is_empty(&self) -> bool {
        tell_nothing(&[self.input, self.output, self.cache_read, self.cache_write])
    }

    fn prompt(&self) -> Result<PromptSplit, Rejected> {
        let read = read_if_any(self.cache_read, self.cache_write);
        let told = parts(self.input, read, self.cache_write)?;
        let write_1h = tokens(self.cache_write_1h)?.unwrap_or_default().min(told.write_5m);
        let write_5m = told.write_5m.saturating_sub(write_1h);
        let output = tokens(self.output)?.unwrap_or_default();
        // Google's API: a total of input and output shows that the input includes the reads.
        let holds_read = told.read > Tokens::ZERO
            && tokens(self.total_tokens)? == Some(told.input + output)
            && told.read <= told.input;
        let input = if holds_read { told.input.saturating_sub(told.read) } else { told.input };
        Ok(PromptSplit { input, write_5m, write_1h, ..told })
    }

    /// Output with its reasoning counted once, and the reasoning.
    fn output(&self, prompt: &PromptSplit) -> Result<(Tokens, Tokens), Rejected> {
        let told = tokens(self.output)?.unwrap_or_default();
        let reasoning = tokens(self.reasoning)?.unwrap_or_default().min(told);
        let once = told.saturating_sub(reasoning);
        // Old versions: the total shows that the output counts the reasoning twice.
        let is_twice =
            reasoning <= once && tokens(self.total_tokens)? == Some(prompt.total() + once);
        let output = if is_twice { once } else { told };
        Ok((output, reasoning))
    }
}

#[cfg(test)]
mod tests {
    use crate::read::agent::testing::read;

    /// Input, read, output and reasoning of an answer.
    fn told(provider: &str, usage: &str) -> [u64; 4] {
        let file = read(&format!(
            r#"{{"type":"session","version":3,"id":"p","cwd":"/w"}}
{{"type":"message","id":"a","parentId":null,"timestamp":"2026-09-21T14:13:25Z","message":{{"role":"assistant","provider":"{provider}","model":"m","usage":{usage},"stopReason":"stop","timestamp":1790000000000}}}}"#
        ));
        let [request] = &file.requests[..] else { panic!("{:?}", file.diagnostics) };
        let (prompt, output) = (request.usage.prompt, request.usage.output);
        [prompt.input, prompt.read, output, request.reasoning].map(|tokens| tokens.0)
    }

    #[test]
    fn the_total_tells_whether_the_input_holds_what_was_read() {
        let whole =
            r#"{"input":1000,"output":10,"cacheRead":900,"cacheWrite":0,"totalTokens":1010}"#;
        for provider in ["google", "google-vertex", "my-gemini"] {
            assert_eq!(told(provider, whole), [100, 900, 10, 0], "{provider}");
        }
        let rest =
            r#"{"input":1000,"output":10,"cacheRead":900,"cacheWrite":0,"totalTokens":1910}"#;
        assert_eq!(told("google", rest), [1_000, 900, 10, 0]);
    }

    #[test]
    fn the_total_tells_whether_the_output_holds_its_reasoning_twice() {
        let usage = |total: u64| {
            format!(
                r#"{{"input":100,"output":150,"cacheRead":900,"cacheWrite":0,"totalTokens":{total},"reasoning":50}}"#
            )
        };
        // The service's total: 100 and 900 of the prompt and 100 of the answer.
        assert_eq!(told("openrouter", &usage(1_100)), [100, 900, 100, 50]);
        // A total that is the sum of the other figures proves nothing.
        assert_eq!(told("openrouter", &usage(1_150)), [100, 900, 150, 50]);
    }
}
