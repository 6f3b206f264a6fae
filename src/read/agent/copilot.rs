//! Copilot CLI: the events of a session, `events.jsonl`.
//!
//! No event has the usage of a single request. When the program ends, `session.shutdown` reports the
//! sums of each model. Since versions that also report the size of the file, the sums continue when a
//! session is resumed; before, they were those of the run. The input is the whole prompt. A compaction
//! reports its own request, whose writes are only in the bill.

use serde::Deserialize;

use super::bill::BillItems;
use super::{
    AgentFile, AgentRequest, FirstObject, Follows, Layout, LineFormat, Rejected, Time, Vendor,
    split, tokens,
};
use crate::base::{ByKey, Client, EntryId, Millis, Symbol, Tokens, UNKNOWN_MODEL};
use crate::read::input::{Count, Kind, Shape, Text, Usage, lenient};

/// State between two events of a session.
#[derive(Default)]
pub(super) struct Copilot {
    session: Option<Symbol>,
    project: Option<Symbol>,
    client_version: Option<Symbol>,
    /// Model that was chosen last.
    model: Option<Symbol>,
    run_start: Option<Millis>,
    compaction_start: Option<Millis>,
    /// Sums of the latest shutdown, by model.
    reported: ByKey<String, Sums>,
}

impl LineFormat for Copilot {
    type Line<'a> = Line<'a>;
    const FILE: &'static str = "the events of a session";
    const LAYOUT: Option<Layout> = Some(Layout::Copilot);

    fn recognises(first: &FirstObject<'_>) -> bool {
        if first.is_one_of("type", &["session.start"]) {
            return first.is_one_of("data.producer", &["copilot-agent"]);
        }
        // The beginning may be lost.
        let is_event = || first.text("type").is_some_and(|kind| kind.contains('.'));
        first.has("data") && first.has_member("parentId") && is_event()
    }

    fn line(&mut self, line: &Line<'_>, file: &mut AgentFile) -> Result<(), Rejected> {
        let Some(data) = line.data.0.as_ref() else { return Ok(()) };
        let at = line.timestamp.0;
        match line.r#type.as_str() {
            Some("session.start" | "session.resume") => self.run(data, at, file),
            Some("session.model_change") => {
                self.model = file.symbol(&data.new_model).or(self.model);
            }
            Some("session.compaction_start") => self.compaction_start = at,
            Some("session.compaction_complete") => return self.compacted(line, data, file),
            Some("session.shutdown") => self.shutdown(line, data, file),
            _ => {}
        }
        Ok(())
    }
}

/// Purpose of a request for a summary, as Copilot's rows name it.
pub(crate) const COPILOT_COMPACTION: &str = "compaction";

impl Copilot {
    /// Records the start of a run of the program.
    fn run(&mut self, data: &Data<'_>, at: Option<Millis>, file: &mut AgentFile) {
        let context = data.context.0.as_ref();
        self.session = self.session.or_else(|| file.symbol(&data.session_id));
        self.project = context.and_then(|context| file.symbol(&context.cwd)).or(self.project);
        self.client_version = file.symbol(&data.copilot_version).or(self.client_version);
        self.model = file.symbol(&data.selected_model).or(self.model);
        self.run_start = data.start_time.0.or(data.resume_time.0).or(at);
        self.compaction_start = None;
    }

    /// Adds the request of a compaction.
    fn compacted(
        &mut self,
        line: &Line<'_>,
        data: &Data<'_>,
        file: &mut AgentFile,
    ) -> Result<(), Rejected> {
        let started = self.compaction_start.take();
        let Some(report) = data.compaction_tokens_used.0.as_ref() else { return Ok(()) };
        let times = times(started, line.timestamp.0)?;
        let usage = report.usage()?;
        let model = file.symbol(&report.model).or(self.model);
        let model = model.unwrap_or_else(|| file.symbols.intern(UNKNOWN_MODEL));
        let vendor = Vendor::of(file.symbols.text(model));
        let bill = report.copilot_usage.0.as_ref();
        file.requests.push(AgentRequest {
            identity: identity(line, file.symbols.text(model)),
            knows_writes: bill.is_some_and(|bill| bill.items.are_there())
                || shows_writes(vendor, &usage),
            query_source: Some(file.symbols.intern(COPILOT_COMPACTION)),
            nano_aiu: bill.and_then(|bill| bill.nano_aiu.value()),
            ..self.beside((model, vendor), file.line, times, usage)
        });
        Ok(())
    }

    /// Adds the usage of the run that ends.
    fn shutdown(&mut self, line: &Line<'_>, data: &Data<'_>, file: &mut AgentFile) {
        // An old version: its sums begin again with each run.
        if data.events_file_size_bytes == Count::Missing {
            self.reported = ByKey::new();
        }
        for (name, sums) in data.sums() {
            let request = sums.and_then(|sums| {
                let earlier = self.reported.insert(name.to_owned(), sums);
                let added = earlier.and_then(|earlier| sums.since(&earlier)).unwrap_or(sums);
                self.sum(&added, name, line, file)
            });
            match request {
                Ok(request) => file.requests.extend(request),
                Err((kind, detail)) => file.reject(kind, file.line, detail),
            }
        }
        self.run_start = line.timestamp.0.or(self.run_start);
    }

    /// Requests of a run to one model, as a sum; `None` if it sent nothing.
    fn sum(
        &self,
        sums: &Sums,
        name: &str,
        line: &Line<'_>,
        file: &mut AgentFile,
    ) -> Result<Option<AgentRequest>, Rejected> {
        if sums.is_empty() && sums.requests == 0 {
            return Ok(None);
        }
        let requests = u32::try_from(sums.requests.max(1))
            .map_err(|_| (Kind::InvalidUsage, "a number of requests that cannot be one"))?;
        let times = times(self.run_start, line.timestamp.0)?;
        let usage = sums.usage()?;
        let model = (file.symbols.intern(name), Vendor::of(name));
        Ok(Some(AgentRequest {
            identity: identity(line, name),
            reasoning: sums.reasoning.min(sums.output),
            knows_writes: shows_writes(model.1, &usage),
            sum_of: requests,
            nano_aiu: sums.nano_aiu,
            ..self.beside(model, file.line, times, usage)
        }))
    }

    /// Request outside of the conversation.
    fn beside(
        &self,
        model: (Symbol, Vendor),
        line: u64,
        times: (Millis, Millis),
        usage: Usage,
    ) -> AgentRequest {
        AgentRequest {
            session: self.session,
            project: self.project,
            client_version: self.client_version,
            follows: Follows::Nothing,
            // Rows and spans may report the same requests one by one, and are then subtracted from the
            // sums.
            is_report: true,
            ..AgentRequest::new((Client::Copilot, line), model, times, usage)
        }
    }
}

/// Start of a request, and the time its usage was recorded.
fn times(start: Option<Millis>, end: Option<Millis>) -> Result<(Millis, Millis), Rejected> {
    let start = start.or(end).ok_or((Kind::MissingTimestamp, "the request is left out"))?;
    Ok((start, end.unwrap_or(start)))
}

/// Key of an event's report on a model, the same in other files.
fn identity(line: &Line<'_>, model: &str) -> Option<EntryId> {
    let id = line.id.as_str().filter(|id| !id.is_empty())?;
    Some(EntryId::of(&format!("copilot:{id}:{model}")))
}

/// Returns true if the written tokens are known.
///
/// Old versions report none, whatever Anthropic's models wrote.
fn shows_writes(vendor: Vendor, usage: &Usage) -> bool {
    vendor != Vendor::Anthropic || usage.prompt.written() > Tokens::ZERO
}

lenient! {
    pub(super) struct Line<'a> {
        id: Text<'a>,
        timestamp: Time,
        r#type: Text<'a>,
        data: Shape<Data<'a>>,
    }

    /// Data with the fields of all event types.
    #[serde(rename_all = "camelCase")]
    struct Data<'a> {
        /// Session id, at a start or a resumption.
        session_id: Text<'a>,
        copilot_version: Text<'a>,
        context: Shape<Context<'a>>,
        selected_model: Text<'a>,
        start_time: Time,
        resume_time: Time,
        /// Model, at a change of the model.
        new_model: Text<'a>,
        /// Usage of a compaction.
        compaction_tokens_used: Shape<Compaction<'a>>,
        /// Sums by model, at a shutdown.
        model_metrics: Shape<ByKey<String, Shape<Metrics>>>,
        /// Sums of all models by kind of token, and the model at the end, where no sums by model are written.
        token_details: Shape<ByKey<String, Shape<TokenDetail>>>,
        current_model: Text<'a>,
        events_file_size_bytes: Count,
    }

    #[derive(Clone, Copy)]
    #[serde(rename_all = "camelCase")]
    struct TokenDetail {
        token_count: Count,
    }

    struct Context<'a> {
        cwd: Text<'a>,
    }

    /// Usage of a compaction's request. Old versions use shorter names.
    #[serde(rename_all = "camelCase")]
    struct Compaction<'a> {
        model: Text<'a>,
        #[serde(alias = "input")]
        input_tokens: Count,
        #[serde(alias = "output")]
        output_tokens: Count,
        #[serde(alias = "cachedInput")]
        cache_read_tokens: Count,
        cache_write_tokens: Count,
        copilot_usage: Shape<Bill<'a>>,
    }

    struct Bill<'a> {
        #[serde(rename = "tokenDetails")]
        items: BillItems<'a>,
        #[serde(rename = "totalNanoAiu")]
        nano_aiu: Count,
    }

    /// Sums of one model.
    struct Metrics {
        requests: Shape<Requests>,
        usage: Shape<SummedUsage>,
        /// Charge for the requests, in billionths of an AI unit.
        #[serde(rename = "totalNanoAiu")]
        nano_aiu: Count,
    }

    struct Requests {
        count: Count,
    }
}

impl Data<'_> {
    /// Sums of each model.
    fn sums(&self) -> Vec<(&str, Result<Sums, Rejected>)> {
        if let Some(models) = self.model_metrics.0.as_ref().filter(|models| !models.is_empty()) {
            let models = models.iter();
            return models.map(|(name, of)| (name.as_str(), Sums::of(of.0.as_ref()))).collect();
        }
        let name = self.current_model.as_str().unwrap_or(UNKNOWN_MODEL);
        let details = self.token_details.0.as_ref().filter(|details| !details.is_empty());
        details.map(|details| (name, Sums::of_details(details))).into_iter().collect()
    }
}

impl Compaction<'_> {
    fn usage(&self) -> Result<Usage, Rejected> {
        let bill = self.copilot_usage.0.as_ref();
        let billed = bill.map_or(Count::Missing, |bill| bill.items.written());
        // The counter is zero even when the bill lists writes, so the bill decides.
        let written = if billed == Count::Missing { self.cache_write_tokens } else { billed };
        let prompt = split(self.input_tokens, self.cache_read_tokens, written)?;
        let output = tokens(self.output_tokens)?;
        let output = output.filter(|output| prompt.total() + *output > Tokens::ZERO);
        let output = output.ok_or((Kind::MissingUsage, "the report is not complete"))?;
        Ok(Usage { prompt, output, ..Usage::default() })
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
#[allow(clippy::struct_field_names)] // Copilot's names
struct SummedUsage {
    input_tokens: Count,
    output_tokens: Count,
    cache_read_tokens: Count,
    cache_write_tokens: Count,
    reasoning_tokens: Count,
}

/// Sums with all figures known.
#[derive(Clone, Copy, Debug)]
struct Sums {
    requests: u64,
    input: Tokens,
    output: Tokens,
    read: Tokens,
    written: Tokens,
    reasoning: Tokens,
    /// Charge in billionths of an AI unit.
    nano_aiu: Option<u64>,
}

impl Sums {
    fn of(metrics: Option<&Metrics>) -> Result<Self, Rejected> {
        let unknown = (Kind::MissingUsage, "the sums of a model are not complete");
        let requests = metrics.and_then(|metrics| metrics.requests.0.as_ref()).ok_or(unknown)?;
        let usage = metrics.and_then(|metrics| metrics.usage.0.as_ref()).ok_or(unknown)?;
        Ok(Self {
            requests: tokens(requests.count)?.ok_or(unknown)?.0,
            input: tokens(usage.input_tokens)?.ok_or(unknown)?,
            output: tokens(usage.output_tokens)?.ok_or(unknown)?,
            read: tokens(usage.cache_read_tokens)?
                .ok_or((Kind::UsageWithoutCacheCounters, unknown.1))?,
            written: tokens(usage.cache_write_tokens)?.unwrap_or_default(),
            reasoning: tokens(usage.reasoning_tokens)?.unwrap_or_default(),
            nano_aiu: metrics.and_then(|metrics| metrics.nano_aiu.value()),
        })
    }

    /// Sums of an unknown number of requests, by kind of token.
    fn of_details(details: &ByKey<String, Shape<TokenDetail>>) -> Result<Self, Rejected> {
        let count = |kind| {
            let told = details.get(kind).and_then(|detail| detail.0);
            Ok(tokens(told.unwrap_or_default().token_count)?.unwrap_or_default())
        };
        let (read, written) = (count("cache_read")?, count("cache_write")?);
        Ok(Self {
            requests: 0,
            input: count("input")? + read + written,
            output: count("output")?,
            read,
            written,
            reasoning: Tokens::ZERO,
            nano_aiu: None,
        })
    }

    /// Growth since earlier sums; `None` if these sums do not continue them.
    fn since(&self, earlier: &Self) -> Option<Self> {
        let less = |now: Tokens, before: Tokens| now.0.checked_sub(before.0).map(Tokens);
        Some(Self {
            requests: self.requests.checked_sub(earlier.requests)?,
            input: less(self.input, earlier.input)?,
            output: less(self.output, earlier.output)?,
            read: less(self.read, earlier.read)?,
            written: less(self.written, earlier.written)?,
            reasoning: less(self.reasoning, earlier.reasoning)?,
            nano_aiu: match (self.nano_aiu, earlier.nano_aiu) {
                (Some(now), Some(before)) => Some(now.checked_sub(before)?),
                (now, _) => now,
            },
        })
    }

    fn is_empty(&self) -> bool {
        self.input + self.output + self.read + self.written == Tokens::ZERO
    }

    fn usage(&self) -> Result<Usage, Rejected> {
        if self.is_empty() {
            return Err((Kind::MissingUsage, "the sums of a model have no tokens"));
        }
        let count = |tokens: Tokens| Count::Value(tokens.0);
        let prompt = split(count(self.input), count(self.read), count(self.written))?;
        Ok(Usage { prompt, output: self.output, is_sum: self.requests != 1, ..Usage::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::agent::testing::read;

    #[test]
    fn a_compaction_has_written_all_that_was_billed_as_written() {
        let file = read(
            r#"{"type":"session.start","data":{"sessionId":"s1","producer":"copilot-agent"},"id":"e0","timestamp":"2026-09-21T14:13:20Z"}
{"type":"session.compaction_complete","data":{"compactionTokensUsed":{"inputTokens":154705,"outputTokens":5,"cacheReadTokens":14777,"cacheWriteTokens":0,"copilotUsage":{"tokenDetails":[{"tokenType":"cache_write","tokenCount":139926},{"tokenType":"cache_write","tokenCount":2}]}}},"id":"e1","timestamp":"2026-09-21T14:14:20Z"}"#,
        );
        let [request] = &file.requests[..] else { panic!("{:?}", file.diagnostics) };
        // Of 154,705 tokens, 14,777 were read and 139,928 written.
        let prompt = request.usage.prompt;
        assert_eq!([prompt.input, prompt.written()], [0, 139_928].map(Tokens));
        assert_eq!(file.symbols.text(request.model), UNKNOWN_MODEL);
        assert!(request.knows_writes);
    }
}
