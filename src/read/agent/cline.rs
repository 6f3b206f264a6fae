//! Cline and Roo Code: the messages that a task shows, `ui_messages.json`, with one entry for each
//! request.
//!
//! The messages that were sent are in [another file](super::cline_messages). The text of an
//! `api_req_started` entry is JSON with the usage. It is empty until the answer ends, and stays empty if
//! the request fails. Cline's input leaves out the tokens read and written, as does that of old versions
//! of Roo for Anthropic's protocol; otherwise Roo's input is the whole prompt. The usage of deleted requests and
//! of sub-agents is in sums.

use super::halves::Half;
use super::{
    AgentFile, AgentRequest, DocumentFormat, FirstObject, Follows, Happened, Layout, Rejected,
    Time, Vendor, parts, split, tell_nothing, tokens,
};
use crate::base::{Client, EntryId, Millis, Symbol};
use crate::read::input::{Count, Dollars, Kind, List, PromptSplit, Shape, Text, Usage, lenient};

/// First moment at which Roo's input is the whole prompt under every protocol: 2025-10-31.
const WHOLE_PROMPTS: Millis = Millis::new(1_761_868_800_000);

/// Name of the file in the folder of a task, without its ending.
pub(crate) const STEM: &str = "ui_messages";

/// Folders of the extensions Roo Code and Kilo Code, which keep their tasks there.
pub(crate) const ROO_FOLDERS: [&str; 2] = ["rooveterinaryinc.roo-cline", "kilocode.kilo-code"];

/// Format of the messages that a task shows.
pub(super) struct Cline;

impl DocumentFormat for Cline {
    type Document<'a> = List<Shape<Entry<'a>>>;
    const FILE: &'static str = "a task of Cline or Roo Code";
    const LAYOUT: Option<Layout> = Some(Layout::Cline);

    fn recognises(first: &FirstObject<'_>) -> bool {
        first.has_member("ts")
            && first
                .text("type")
                .is_some_and(|kind| (kind == "say" || kind == "ask") && first.text(&kind).is_some())
    }

    fn document(entries: &List<Shape<Entry<'_>>>, file: &mut AgentFile) {
        file.half = Half::Requests(Vec::new());
        let mut task = Task::of(file);
        for (number, entry) in (1..).zip(&entries.0) {
            let Some(entry) = &entry.0 else { continue };
            file.line = number;
            if let Err((kind, detail)) = task.entry(entry, file) {
                file.reject(kind, number, detail);
            }
        }
        // One program wrote the whole task, even if in several versions.
        if task.is_of_roo {
            file.requests.iter_mut().for_each(|request| request.client = Client::Roo);
        }
    }
}

/// State between two entries of a task.
#[derive(Debug)]
struct Task {
    session: Option<Symbol>,
    is_of_roo: bool,
    /// Events before the next request.
    happened: Happened,
    /// True if nothing was shown since the entry of the latest request: its prompt may still be
    /// compacted.
    is_sent: bool,
}

impl Task {
    /// New task. Its folder is named by its id.
    fn of(file: &mut AgentFile) -> Self {
        let is_in_place = file.stem == STEM;
        let session = if is_in_place { file.session_of_folder(0) } else { None };
        // A task begins with the user's prompt, which is not a `user_feedback` entry.
        let happened = Happened { begins_turn: true, ..Happened::default() };
        let is_of_roo = file.folders.iter().any(|folder| ROO_FOLDERS.contains(&folder.as_str()));
        Self { session, is_of_roo, happened, is_sent: false }
    }

    fn entry(&mut self, entry: &Entry<'_>, file: &mut AgentFile) -> Result<(), Rejected> {
        let was_sent = std::mem::take(&mut self.is_sent);
        match entry.say.as_str() {
            Some("api_req_started") => return self.started(entry, file),
            Some("deleted_api_reqs" | "subagent_usage") => return self.sum(entry, file),
            Some("user_feedback") => self.happened.begins_turn = true,
            Some("condense_context" | "sliding_window_truncation") => {
                self.compacted(was_sent, file);
            }
            _ => {}
        }
        Ok(())
    }

    /// Records a compaction. The entry of a request is made before its prompt is compacted.
    fn compacted(&mut self, was_sent: bool, file: &mut AgentFile) {
        match file.requests.last_mut() {
            Some(request) if was_sent => request.is_after_compaction = true,
            _ => self.happened.is_after_compaction = true,
        }
    }

    /// Adds a request if it was answered.
    fn started(&mut self, entry: &Entry<'_>, file: &mut AgentFile) -> Result<(), Rejected> {
        let report = entry.report()?;
        self.is_of_roo |= report.protocol.as_str().is_some();
        if report.is_unanswered() {
            self.happened.is_after_interruption = true;
            if let (Half::Requests(unanswered), Some(at)) = (&mut file.half, entry.at.0) {
                // The messages of this request go out again with the next one (`halves.rs`).
                unanswered.push(at);
            }
            return Ok(());
        }
        let request = self.request(entry, &report, file)?;
        file.requests.push(request.after(std::mem::take(&mut self.happened)));
        self.is_sent = true;
        Ok(())
    }

    /// Adds an unknown number of requests, of which only the sum is known.
    fn sum(&self, entry: &Entry<'_>, file: &mut AgentFile) -> Result<(), Rejected> {
        let report = entry.report()?;
        if !report.is_empty() {
            let request = self.request(entry, &report, file)?;
            let usage = Usage { is_sum: true, ..request.usage };
            file.requests.push(AgentRequest { follows: Follows::Nothing, usage, ..request });
        }
        Ok(())
    }

    fn request(
        &self,
        entry: &Entry<'_>,
        report: &Report<'_>,
        file: &mut AgentFile,
    ) -> Result<AgentRequest, Rejected> {
        let at = entry.at.0.ok_or((Kind::MissingTimestamp, "the request is left out"))?;
        let usage = report.usage(at)?;
        let info = entry.model_info.0.as_ref();
        let (model, named) = file.model(info.map_or(&Text::default(), |info| &info.model));
        let vendor = if named == Vendor::Other { report.vendor() } else { named };
        let start = file.no_earlier(at);
        let tokens = [usage.prompt.total(), usage.prompt.read, usage.output].map(|tokens| tokens.0);
        Ok(AgentRequest {
            identity: Some(EntryId::of(&format!("cline:{}:{tokens:?}", at.get()))),
            session: self.session,
            route: info.and_then(|info| file.symbol(&info.provider)),
            client_cost: report.cost.0,
            knows_writes: report.knows_writes(),
            ..AgentRequest::new((Client::Cline, file.line), (model, vendor), (start, start), usage)
        })
    }
}

lenient! {
    pub(super) struct Entry<'a> {
        /// Creation time; for a request, the time it was sent.
        #[serde(rename = "ts")]
        at: Time,
        say: Text<'a>,
        text: Text<'a>,
        #[serde(rename = "modelInfo")]
        model_info: Shape<ModelInfo<'a>>,
    }

    /// Model, as new versions of Cline name it.
    struct ModelInfo<'a> {
        #[serde(rename = "providerId")]
        provider: Text<'a>,
        #[serde(rename = "modelId")]
        model: Text<'a>,
    }

    /// Usage that an entry reports for its request.
    struct Report<'a> {
        /// Protocol of the API; Roo only.
        #[serde(rename = "apiProtocol")]
        protocol: Text<'a>,
        #[serde(rename = "tokensIn")]
        input: Count,
        #[serde(rename = "tokensOut")]
        output: Count,
        #[serde(rename = "cacheReads")]
        read: Count,
        #[serde(rename = "cacheWrites")]
        written: Count,
        /// Cost at the program's own prices, which knows the writes even if no counter reports them.
        cost: Dollars,
        #[serde(rename = "cancelReason")]
        cancelled: Text<'a>,
        #[serde(rename = "streamingFailedMessage")]
        failed: Text<'a>,
    }
}

impl Entry<'_> {
    /// Usage in the text.
    fn report(&self) -> Result<Report<'_>, Rejected> {
        serde_json::from_str(self.text.as_str().unwrap_or_default())
            .map_err(|_| (Kind::NotJson, "the entry of a request cannot be read"))
    }
}

impl Report<'_> {
    fn counts(&self) -> [Count; 4] {
        [self.input, self.output, self.read, self.written]
    }

    /// Returns true if all figures are zero or missing.
    fn is_empty(&self) -> bool {
        tell_nothing(&self.counts())
    }

    /// Returns true if the request was cancelled, failed or is still running.
    fn is_unanswered(&self) -> bool {
        let was_ended = self.cancelled.as_str().is_some() || self.failed.as_str().is_some();
        let is_blank = |count: &Count| matches!(count, Count::Missing | Count::Null);
        // Zeros without a reason are an answer whose usage is missing, not an interruption.
        self.is_empty() && (was_ended || self.counts().iter().all(is_blank))
    }

    /// Returns true if the written tokens are reported.
    ///
    /// Only Anthropic's protocol counts them, and under the others Roo writes zero.
    fn knows_writes(&self) -> bool {
        match (self.written, self.protocol.as_str()) {
            (Count::Value(0), Some(protocol)) => protocol == "anthropic",
            (written, _) => matches!(written, Count::Value(_)),
        }
    }

    /// Billed usage of a request that was sent at that time.
    fn usage(&self, at: Millis) -> Result<Usage, Rejected> {
        if self.is_empty() {
            return Err((Kind::MissingUsage, "the entry has no tokens"));
        }
        let prompt = self.prompt(at)?;
        let output = tokens(self.output)?;
        let output = output.ok_or((Kind::MissingUsage, "the entry has no output tokens"))?;
        Ok(Usage { prompt, output, ..Usage::default() })
    }

    fn prompt(&self, at: Millis) -> Result<PromptSplit, Rejected> {
        let is_whole = match self.protocol.as_str() {
            None => false,
            Some("anthropic") => at >= WHOLE_PROMPTS && !self.is_surely_bare(),
            Some(_) => true,
        };
        let take = if is_whole { split } else { parts };
        take(self.input, self.read, self.written)
    }

    /// Returns true if more is cached than the input holds: old versions stay in use for long.
    fn is_surely_bare(&self) -> bool {
        let value = |count: Count| count.value().unwrap_or_default();
        value(self.read).saturating_add(value(self.written)) > value(self.input)
    }

    /// Vendor of a model whose name does not say. Models of others than Anthropic have no writes.
    fn vendor(&self) -> Vendor {
        let has_writes = matches!(self.written, Count::Value(written) if written > 0);
        let is_anthropics = self.protocol.is("anthropic") || has_writes;
        if is_anthropics { Vendor::Anthropic } else { Vendor::Other }
    }
}
