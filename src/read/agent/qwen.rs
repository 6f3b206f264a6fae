//! Sessions of Qwen Code: lines that name their parents, like Claude Code's.
//!
//! An answer has `usageMetadata`. Its prompt includes the tokens read. Thoughts are part of the
//! candidates if the total says so, as with providers in `OpenAI`'s style, and apart from them
//! otherwise. Results of the service's own tools are further tokens of the prompt. A line of telemetry
//! repeats each answer and does not count.

use serde::de::IgnoredAny;

use super::tree::{Branch, Parent, Tree};
use super::{
    AgentFile, AgentRequest, FirstObject, Layout, LineFormat, Rejected, Size, Time, Vendor,
    read_if_any, split, tell_nothing, tokens,
};
use crate::base::{Client, EntryId, Tokens};
use crate::read::input::{Count, JsonLength, Kind, List, Shape, Text, Usage, lenient};
use crate::read::transcript::{ContentKind, ContentSource};

/// State between two lines of a session.
#[derive(Default)]
pub(super) struct Qwen {
    tree: Tree,
}

impl LineFormat for Qwen {
    type Line<'a> = Line<'a>;
    const FILE: &'static str = "a session of Qwen Code";
    const LAYOUT: Option<Layout> = Some(Layout::Qwen);

    fn recognises(first: &FirstObject<'_>) -> bool {
        // Claude Code's lines have `uuid` and `sessionId` as well, but none of these members.
        let is_qwens = ["message.parts", "usageMetadata", "systemPayload"];
        let is_qwens = is_qwens.iter().any(|member| first.has(member));
        is_qwens && first.has_member("uuid") && first.has_member("sessionId")
    }

    fn line(&mut self, line: &Line<'_>, file: &mut AgentFile) -> Result<(), Rejected> {
        if self.tree.has(&line.uuid) {
            return Err((Kind::DuplicateLine, "the first one counts"));
        }
        let mut branch = self.tree.branch(&line.parent);
        let added = entry(line, &mut branch, file);
        self.tree.add(&line.uuid, branch);
        added
    }
}

fn entry(line: &Line<'_>, branch: &mut Branch, file: &mut AgentFile) -> Result<(), Rejected> {
    match (line.r#type.as_str(), line.subtype.as_str()) {
        (Some("assistant"), _) => return answer(line, branch, file),
        (Some("user" | "tool_result"), _) => {
            // Results of tools have a type of their own, so a `user` line is always the user's.
            branch.happened.begins_turn |= line.r#type.is("user");
            branch.client_entry(line.timestamp.0);
            let parts = line.message.0.as_ref().map(|message| message.parts.0.as_slice());
            bring(parts.unwrap_or_default(), branch, file);
        }
        (Some("system"), Some("chat_compression")) => {
            branch.happened.compact(Size::default(), file);
        }
        _ => {}
    }
    Ok(())
}

/// Records the parts of a message of the client's.
fn bring(parts: &[Shape<Part<'_>>], branch: &mut Branch, file: &mut AgentFile) {
    for part in parts.iter().filter_map(|part| part.0.as_ref()) {
        let source = match &part.result.0 {
            Some(result) => ContentSource::Tool(file.symbol(&result.name)),
            None => ContentSource::Text(ContentKind::UserText),
        };
        file.bring(&mut branch.happened, source, part.size());
    }
}

fn answer(line: &Line<'_>, branch: &mut Branch, file: &mut AgentFile) -> Result<(), Rejected> {
    let Some(told) = line.usage.0.as_ref().filter(|usage| !usage.is_empty()) else {
        return Ok(());
    };
    // The metadata has no count of writes.
    let mut prompt = split(told.prompt, read_if_any(told.cached, Count::Missing), Count::Missing)?;
    let model = file.model(&line.model);
    let (output, reasoning) = told.output(prompt.total(), model.1)?;
    prompt.input += tokens(told.tool)?.unwrap_or_default();
    let start = branch.sent.or(line.timestamp.0);
    let start = start.ok_or((Kind::MissingTimestamp, "the request is left out"))?;
    let times = (start, line.timestamp.0.unwrap_or(start));
    let usage = Usage { prompt, output, ..Usage::default() };
    let request = AgentRequest {
        identity: line.uuid.as_str().map(|uuid| EntryId::of(&format!("qwen:{uuid}"))),
        session: file.symbol(&line.session),
        project: file.symbol(&line.cwd),
        client_version: file.symbol(&line.version),
        reasoning,
        ..AgentRequest::new((Client::Qwen, file.line), model, times, usage)
    };
    branch.add(request, file);
    Ok(())
}

lenient! {
    pub(super) struct Line<'a> {
        r#type: Text<'a>,
        subtype: Text<'a>,
        uuid: Text<'a>,
        #[serde(rename = "parentUuid")]
        parent: Parent<'a>,
        #[serde(rename = "sessionId")]
        session: Text<'a>,
        timestamp: Time,
        cwd: Text<'a>,
        version: Text<'a>,
        model: Text<'a>,
        message: Shape<Message<'a>>,
        #[serde(rename = "usageMetadata")]
        usage: Shape<QwenUsage>,
    }

    struct Message<'a> {
        parts: List<Shape<Part<'a>>>,
    }

    /// Part of a message, in the form of Google's API.
    pub(super) struct Part<'a> {
        text: Size,
        #[serde(rename = "inlineData")]
        media: Shape<IgnoredAny>,
        #[serde(rename = "functionResponse")]
        result: Shape<FunctionResponse<'a>>,
    }

    /// Result of a tool's call.
    struct FunctionResponse<'a> {
        name: Text<'a>,
        response: JsonLength,
    }

    struct QwenUsage {
        #[serde(rename = "promptTokenCount")]
        prompt: Count,
        #[serde(rename = "cachedContentTokenCount")]
        cached: Count,
        #[serde(rename = "candidatesTokenCount")]
        candidates: Count,
        #[serde(rename = "thoughtsTokenCount")]
        thoughts: Count,
        #[serde(rename = "toolUsePromptTokenCount")]
        tool: Count,
        #[serde(rename = "totalTokenCount")]
        total: Count,
    }
}

impl Part<'_> {
    pub(super) fn size(&self) -> Size {
        let media = Size { text: 0, media: u32::from(self.media.0.is_some()) };
        let text = self.result.0.as_ref().map_or(0, |result| result.response.0);
        self.text.and(media).and(Size { text, media: 0 })
    }
}

impl QwenUsage {
    fn is_empty(&self) -> bool {
        tell_nothing(&[self.prompt, self.candidates])
    }

    /// Output with its reasoning, and the reasoning.
    ///
    /// Some services count results of tools in the prompt's figure, others beside it. Without a total,
    /// the vendor decides: only Google has thoughts apart from the candidates.
    fn output(&self, prompt: Tokens, vendor: Vendor) -> Result<(Tokens, Tokens), Rejected> {
        let candidates = tokens(self.candidates)?.unwrap_or_default();
        let thoughts = tokens(self.thoughts)?.unwrap_or_default();
        let tool = tokens(self.tool)?.unwrap_or_default();
        let is_inside = match tokens(self.total)? {
            Some(total) => [prompt, prompt + tool].map(|sent| sent + candidates).contains(&total),
            None => vendor != Vendor::Google,
        };
        let output = if is_inside { candidates } else { candidates + thoughts };
        Ok((output, thoughts.min(output)))
    }
}

#[cfg(test)]
mod tests {
    use crate::read::agent::testing::read;

    /// Prompt, output and reasoning of an answer.
    fn told(model: &str, more: &str) -> [u64; 3] {
        let file = read(&format!(
            r#"{{"uuid":"a","parentUuid":null,"sessionId":"q","type":"assistant","timestamp":"2026-09-21T14:13:20Z","model":"{model}","usageMetadata":{{"promptTokenCount":1000,"cachedContentTokenCount":500,"candidatesTokenCount":100,"thoughtsTokenCount":60{more}}},"message":{{"parts":[]}}}}"#
        ));
        let [request] = &file.requests[..] else { panic!("{:?}", file.diagnostics) };
        let (usage, reasoning) = (&request.usage, request.reasoning);
        [usage.prompt.total(), usage.output, reasoning].map(|tokens| tokens.0)
    }

    #[test]
    fn the_total_tells_where_thoughts_are_counted() {
        let tool = r#","toolUsePromptTokenCount":20"#;
        for (more, expected) in [
            (r#","totalTokenCount":1100"#.to_owned(), [1_000, 100, 60]),
            (r#","totalTokenCount":1160"#.to_owned(), [1_000, 160, 60]),
            (format!(r#"{tool},"totalTokenCount":1120"#), [1_020, 100, 60]),
            (format!(r#"{tool},"totalTokenCount":1180"#), [1_020, 160, 60]),
        ] {
            assert_eq!(told("qwen3", &more), expected, "{more}");
        }
    }

    #[test]
    fn without_a_total_the_vendor_tells_where_thoughts_are_counted() {
        assert_eq!(told("qwen3", ""), [1_000, 100, 60]);
        assert_eq!(told("gemini-3-pro", ""), [1_000, 160, 60]);
    }
}
