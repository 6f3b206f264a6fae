//! Rollouts of Codex: one thread per file.
//!
//! A `token_count` event follows each answer and the tools that it called. Its `last_token_usage` is the
//! usage of the request. If an earlier event had the same `total_token_usage`, nothing was added and the
//! event repeats the earlier one, as after a rollback. A request that continues from an older total has
//! a total of its own. An event without input is an estimate after a compaction. From 0.153 on each
//! response has a `token_usage_record`, and from the first record on only records count.
//!
//! A forked thread begins with a copy of its parent's lines, written in one burst, and names its parent or
//! copies its `session_meta`. The times of the lines are those of the copy, so only the burst distinguishes
//! them from the thread's own lines. The totals of the thread continue those of the copy, and the oldest thread
//! together with a total is the same request in all files. Old versions write totals alone.

use rustc_hash::{FxHashMap, FxHashSet};

use super::codex_line::{Line, Payload, TokenUsage};
use super::{
    AgentFile, AgentRequest, FirstObject, Happened, Layout, LimitReading, LineFormat, Rejected,
    Size, Vendor, split, tokens,
};
use crate::base::{Client, EntryId, Millis, Symbol, Tokens, UNKNOWN_MODEL};
use crate::read::input::{Count, Kind, PriceTier, ServiceTier, Text, Usage, moment};
use crate::read::transcript::{ContentKind, ContentSource};

/// Types of a rollout's lines.
const LINE_TYPES: [&str; 5] =
    ["session_meta", "turn_context", "event_msg", "response_item", "compacted"];

/// Longest pause between two lines of a copy, in milliseconds.
///
/// No answer comes sooner, even if nothing was copied. (Measured: 10 at most on an idle machine; the
/// first line of the thread's own comes after 600 and more.)
const LONGEST_PAUSE_IN_COPY: i64 = 500;

/// Event with the settings of a thread.
const SETTINGS: &str = "thread_settings_applied";

/// Name of Codex's own provider.
const OPENAI: &str = "openai";

/// State between two lines of a rollout.
#[derive(Default)]
pub(super) struct Codex {
    session: Option<Symbol>,
    /// Thread of the file, and the oldest one whose lines it copies.
    thread: Option<Symbol>,
    oldest: Option<Symbol>,
    /// Thread, if another one started it.
    agent: Option<Symbol>,
    project: Option<Symbol>,
    client_version: Option<Symbol>,
    model: Option<Symbol>,
    /// Effort and mode of the turn.
    effort: Option<Symbol>,
    mode: Option<Symbol>,
    /// Digest of the turn's permissions.
    permissions: Option<Symbol>,
    /// Service tier that the thread asks for.
    service: ServiceTier,
    /// Provider of the requests.
    route: Option<Symbol>,
    /// Every total so far, including those of the copy.
    totals: FxHashSet<TokenUsage>,
    /// Newest of them.
    total: Option<TokenUsage>,
    since: SinceUsage,
    /// Names of the tools, by call.
    tools: FxHashMap<EntryId, Symbol>,
    /// True once a record of usage was seen, since events repeat records.
    has_records: bool,
    copy: Copying,
    /// True if the copy has records of usage. (The thread's own lines may have none.)
    copy_has_records: bool,
}

/// State of the copy at the beginning of the file.
#[derive(Clone, Copy, Debug, Default)]
enum Copying {
    /// Over, or never there.
    #[default]
    Over,
    /// In progress, with the time of its newest line that has one.
    GoesOn(Option<Millis>),
}

/// Facts since the last report of usage.
#[derive(Clone, Copy, Debug, Default)]
struct SinceUsage {
    /// Time of the newest client entry before the answer.
    sent: Option<Millis>,
    /// Time of the newest client entry after the first part of the answer: that of the next request.
    sent_next: Option<Millis>,
    /// Time of the newest part of the answer.
    answered: Option<Millis>,
    has_answer: bool,
    happened: Happened,
    /// Events after the first part of the answer: they precede the next request.
    next: Happened,
}

/// Usage of the latest request, and of all.
#[derive(Clone, Copy, Debug)]
struct Told {
    last: TokenUsage,
    total: Option<TokenUsage>,
}

/// Author of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Client,
    Model,
}

impl LineFormat for Codex {
    type Line<'a> = Line<'a>;
    const FILE: &'static str = "a rollout";
    const LAYOUT: Option<Layout> = Some(Layout::Rollout);

    fn recognises(first: &FirstObject<'_>) -> bool {
        first.has("payload") && first.is_one_of("type", &LINE_TYPES)
    }

    fn line(&mut self, line: &Line<'_>, file: &mut AgentFile) -> Result<(), Rejected> {
        let Some(payload) = line.payload.0.as_ref() else { return Ok(()) };
        let at = moment(&line.timestamp);
        let is_copied = self.is_copied(at);
        if line.r#type.is("session_meta") {
            self.session(payload, at, file);
            return Ok(());
        }
        if is_copied {
            self.copy(line, payload, file);
            return Ok(());
        }
        Self::limits(payload, at, file);
        match (line.r#type.as_str(), payload.r#type.as_str()) {
            (Some("turn_context"), _) => self.turn(payload, file),
            (Some("event_msg"), Some(SETTINGS)) => self.settings(payload),
            (Some("compacted"), _) => self.compacted(payload, at, file),
            (Some("event_msg"), Some("task_started")) => self.since.happened.begins_turn = true,
            (Some("token_usage_record"), _) => return self.record(payload, at, file),
            (Some("event_msg"), Some("token_count")) => {
                return self.usage(payload, at, file);
            }
            (Some("event_msg"), Some("user_message")) => self.entry(Side::Client, at),
            (Some("response_item"), Some(kind)) => {
                let side = side(kind, &payload.role);
                self.entry(side, at);
                self.content(kind, side, payload, file);
            }
            _ => {}
        }
        Ok(())
    }
}

impl Codex {
    /// Records the session by the first session line of the file.
    ///
    /// Later ones repeat it when the thread is resumed, or belong to a thread whose lines are copied.
    fn session(&mut self, payload: &Payload<'_>, at: Option<Millis>, file: &mut AgentFile) {
        let own = file.symbol(&payload.id);
        if self.session.is_some() {
            if own.is_some() && own != self.thread {
                self.oldest = own;
                self.copy = Copying::GoesOn(at);
            }
            return;
        }
        (self.thread, self.oldest) = (own, own);
        let root = payload
            .parent()
            .and_then(|parent| file.symbol(&payload.session_id).or_else(|| file.symbol(parent)));
        self.agent = own.filter(|own| root.is_some_and(|root| root != *own));
        self.session = root.or(own);
        self.project = file.symbol(&payload.cwd);
        self.client_version = file.symbol(&payload.cli_version);
        self.route = file.symbol(&payload.model_provider);
        if payload.forked_from_id.as_str().is_some() {
            self.copy = Copying::GoesOn(at);
        }
    }

    /// Records the used share of the plan's limits.
    fn limits(payload: &Payload<'_>, at: Option<Millis>, file: &mut AgentFile) {
        let Some((told, at)) = payload.rate_limits.0.as_ref().zip(at) else { return };
        let (limit, plan) = (file.symbol(&told.limit_id), file.symbol(&told.plan_type));
        let line = file.line;
        for window in [&told.primary, &told.secondary].into_iter().filter_map(|one| one.0) {
            if let (Some(used), Some((length, ends))) = (window.used.0, window.length_and_end(at)) {
                let vendor = Vendor::OpenAi;
                let reading = LimitReading { at, line, vendor, limit, plan, length, used, ends };
                file.limits.push(reading);
            }
        }
    }

    /// Records the settings of a turn. A line without an effort or a mode has that of the model or the client.
    fn turn(&mut self, payload: &Payload<'_>, file: &mut AgentFile) {
        self.model = file.symbol(&payload.model).or(self.model);
        self.effort = file.symbol(&payload.effort);
        let mode = payload.collaboration_mode.0.as_ref();
        self.mode = mode.and_then(|mode| file.symbol(&mode.mode));
        self.permissions = payload.permissions().map(|digest| file.symbols.intern(&digest.uuid()));
    }

    /// Records the settings that apply from then on.
    fn settings(&mut self, payload: &Payload<'_>) {
        if let Some(settings) = &payload.thread_settings.0 {
            let asked = settings.service_tier.as_str();
            self.service = asked.map(ServiceTier::elsewhere).unwrap_or_default();
        }
    }

    /// Returns true for a line of the copy at the beginning of the file.
    ///
    /// Only a pause ends the copy: a line without a time proves nothing, and a clock that was set back
    /// is no pause.
    fn is_copied(&mut self, at: Option<Millis>) -> bool {
        let Copying::GoesOn(last) = self.copy else { return false };
        let pause = last.zip(at).map_or(0, |(last, at)| at.since(last));
        let goes_on = pause <= LONGEST_PAUSE_IN_COPY;
        self.copy = if goes_on { Copying::GoesOn(at.or(last)) } else { Copying::Over };
        goes_on
    }

    /// Takes over the state that the thread continues, and counts the requests of its parent.
    fn copy(&mut self, line: &Line<'_>, payload: &Payload<'_>, file: &mut AgentFile) {
        if line.r#type.is("turn_context") {
            self.turn(payload, file);
        }
        if payload.r#type.is(SETTINGS) {
            self.settings(payload);
        }
        let is_record = line.r#type.is("token_usage_record") && payload.usage.0.is_some();
        self.copy_has_records |= is_record;
        let told = self.told(payload);
        let is_repeated =
            told.and_then(|told| told.total).is_some_and(|total| !self.totals.insert(total));
        let is_report = told.is_some_and(|told| told.last.input != Count::Value(0)) && !is_repeated;
        file.copies += u64::from(is_record || (is_report && !self.copy_has_records));
    }

    /// Usage in a report. Without that of the latest request it is what the total grew by.
    fn told(&mut self, payload: &Payload<'_>) -> Option<Told> {
        let info = payload.info.0.as_ref()?;
        let total = info.total_token_usage.0;
        let before = self.total;
        self.total = total.or(before);
        let added =
            || total.map(|total| before.and_then(|before| total.since(&before)).unwrap_or(total));
        Some(Told { last: info.last_token_usage.0.or_else(added)?, total })
    }

    /// Records a compaction. The next request is sent after it.
    fn compacted(&mut self, payload: &Payload<'_>, at: Option<Millis>, file: &mut AgentFile) {
        let Payload { history, message, .. } = *payload;
        // The replacement history contains the summary, so only one of the two counts.
        let summary = if history == Size::default() { message } else { history };
        self.since.happened.compact(summary, file);
        self.since.next = Happened::default();
        self.since.has_answer = false;
        self.since.sent_next = None;
        self.since.sent = at.or(self.since.sent);
    }

    fn entry(&mut self, side: Side, at: Option<Millis>) {
        let since = &mut self.since;
        match side {
            Side::Model => {
                since.has_answer = true;
                since.answered = at.or(since.answered);
            }
            Side::Client if since.has_answer => since.sent_next = at.or(since.sent_next),
            Side::Client => since.sent = at.or(since.sent),
        }
    }

    /// Records the content of a response item.
    ///
    /// Content after the first part of an answer goes out with the next request.
    fn content(&mut self, kind: &str, side: Side, payload: &Payload<'_>, file: &mut AgentFile) {
        let call = payload.call_id.as_str().map(EntryId::of);
        if side == Side::Model {
            let tool = call.zip(file.symbol(&payload.name));
            self.tools.extend(tool);
            return;
        }
        let source = match kind {
            "message" if payload.role.is("user") => ContentSource::Text(ContentKind::UserText),
            "message" => ContentSource::Text(ContentKind::Reminder),
            "agent_message" => ContentSource::Text(ContentKind::AgentReport),
            _ => ContentSource::Tool(call.and_then(|call| self.tools.get(&call)).copied()),
        };
        let since = &mut self.since;
        let happened = if since.has_answer { &mut since.next } else { &mut since.happened };
        file.bring(happened, source, payload.content.and(payload.output));
    }

    /// Adds the request of a report, unless the report repeats an earlier one or has rate limits only.
    fn usage(
        &mut self,
        payload: &Payload<'_>,
        at: Option<Millis>,
        file: &mut AgentFile,
    ) -> Result<(), Rejected> {
        let told = self.told(payload).filter(|_| !self.has_records);
        let Some(Told { last, total }) = told else { return Ok(()) };
        if total.is_some_and(|total| !self.totals.insert(total)) {
            self.repeated_usage(file);
            return Ok(());
        }
        // An estimate after a compaction, not a request.
        if last.input == Count::Value(0) {
            return Ok(());
        }
        let identity = self.identity(&last, total, file);
        self.add(&last, at, (identity, None), file)
    }

    /// Key of a request, the same in a fork's copy.
    fn identity(
        &self,
        last: &TokenUsage,
        total: Option<TokenUsage>,
        file: &AgentFile,
    ) -> Option<EntryId> {
        let (oldest, total) = (file.symbols.text(self.oldest?), total?);
        Some(EntryId::of(&format!("codex:{oldest}:{total:?}:{last:?}")))
    }

    /// Adds the request of a record, which is written at the end of its response.
    fn record(
        &mut self,
        payload: &Payload<'_>,
        at: Option<Millis>,
        file: &mut AgentFile,
    ) -> Result<(), Rejected> {
        self.has_records = true;
        let Some(usage) = payload.usage.0.as_ref() else { return Ok(()) };
        let identity = payload.response_id.as_str().map(EntryId::of);
        let message = file.symbol(&payload.response_id);
        self.add(usage, at, (identity, message), file)
    }

    fn add(
        &mut self,
        usage: &TokenUsage,
        at: Option<Millis>,
        (identity, message): (Option<EntryId>, Option<Symbol>),
        file: &mut AgentFile,
    ) -> Result<(), Rejected> {
        let since = std::mem::take(&mut self.since);
        // Client entries after the first part of the answer go out with the next request.
        self.since.sent = since.sent_next.or(at);
        self.since.happened = since.next;
        let request = self.request(usage, since, at, file)?;
        file.requests.push(AgentRequest { identity, message, ..request });
        Ok(())
    }

    /// Records a repeated report: nothing was billed, and an answer that began was interrupted.
    fn repeated_usage(&mut self, file: &mut AgentFile) {
        let since = &mut self.since;
        since.happened.is_after_interruption |= since.has_answer;
        since.has_answer = false;
        since.sent = since.sent_next.take().or(since.sent);
        let next = std::mem::take(&mut since.next);
        since.happened.brought = file.join_pieces(since.happened.brought, next.brought);
    }

    fn request(
        &self,
        usage: &TokenUsage,
        since: SinceUsage,
        at: Option<Millis>,
        file: &mut AgentFile,
    ) -> Result<AgentRequest, Rejected> {
        let prompt = split(usage.input, usage.cached, usage.written)?;
        let output = tokens(usage.output)?.unwrap_or_default();
        let tier = PriceTier { service: self.service, us_only: false };
        let usage_of_request = Usage { prompt, output, tier, ..Usage::default() };
        let start = since.sent.or(at).ok_or((Kind::MissingTimestamp, "the request is left out"))?;
        let start = file.no_earlier(start);
        let model = self.model.unwrap_or_else(|| file.symbols.intern(UNKNOWN_MODEL));
        let vendor = self.vendor(model, file);
        let times = (start, since.answered.or(at).unwrap_or(start));
        let request = AgentRequest {
            session: self.session,
            agent: self.agent,
            project: self.project,
            client_version: self.client_version,
            effort: self.effort,
            mode: self.mode,
            permissions: self.permissions,
            route: self.route,
            // A report with more reasoning than output contradicts itself: the output is billed.
            reasoning: tokens(usage.reasoning)?.unwrap_or_default().min(output),
            // For Anthropic's models a zero may mean that the writes are not reported.
            knows_writes: vendor != Vendor::Anthropic || prompt.written() > Tokens::ZERO,
            ..AgentRequest::new(
                (Client::Codex, file.line),
                (model, vendor),
                times,
                usage_of_request,
            )
        };
        Ok(request.after(since.happened))
    }

    /// Vendor by the name of the model; `OpenAI` if nothing names another provider.
    fn vendor(&self, model: Symbol, file: &AgentFile) -> Vendor {
        match Vendor::of(file.symbols.text(model)) {
            Vendor::Other if self.route.is_none_or(|one| file.symbols.text(one) == OPENAI) => {
                Vendor::OpenAi
            }
            named => named,
        }
    }
}

/// Author of a response item. Results, the user's messages and those of other agents are the client's.
fn side(kind: &str, role: &Text<'_>) -> Side {
    let is_clients = match kind {
        "message" => !role.is("assistant"),
        "agent_message" => true,
        other => other.ends_with("_output"),
    };
    if is_clients { Side::Client } else { Side::Model }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::agent::testing::read;

    /// First line of a thread, with extra fields.
    fn thread(at: &str, more: &str) -> String {
        format!(
            r#"{{"timestamp":"2026-10-05T10:00:{at}Z","type":"session_meta","payload":{{"id":"t2","cwd":"/w"{more}}}}}"#
        )
    }

    fn model(at: &str, name: &str) -> String {
        format!(
            r#"{{"timestamp":"2026-10-05T10:00:{at}Z","type":"turn_context","payload":{{"model":"{name}"}}}}"#
        )
    }

    /// Report of usage: the input of all requests, and of the latest.
    fn report(at: &str, total: u64, last: u64) -> String {
        format!(
            r#"{{"timestamp":"2026-10-05T10:00:{at}Z","type":"event_msg","payload":{{"type":"token_count","info":{{"total_token_usage":{{"input_tokens":{total},"cached_input_tokens":0,"output_tokens":9}},"last_token_usage":{{"input_tokens":{last},"cached_input_tokens":0,"output_tokens":3}}}}}}}}"#
        )
    }

    fn prompts(lines: &[String]) -> Vec<u64> {
        let file = read(&lines.join("\n"));
        file.requests.iter().map(|request| request.usage.prompt.total().0).collect()
    }

    const FORKED: &str = r#","forked_from_id":"t1""#;

    #[test]
    fn only_a_pause_ends_the_copy_that_a_fork_begins_with() {
        let untimed = r#"{"type":"event_msg","payload":{"type":"x"}}"#.to_owned();
        let own = report("10.000", 4_600, 1_300);
        let copied = [report("00.003", 1_000, 1_000), report("00.006", 3_300, 1_200)];
        for between in [
            untimed.clone(),
            // A pause, as of a busy disk.
            report("00.303", 2_100, 1_100),
            // A clock that is set back.
            report("00.001", 2_100, 1_100),
        ] {
            let [first, last] = copied.clone();
            let last =
                if between.contains("303") { last.replace("00.006", "00.304") } else { last };
            let lines = [thread("00.000", FORKED), first, between.clone(), last, own.clone()];
            assert_eq!(prompts(&lines), [1_300], "{between}");
        }
        // The first line has no time.
        let first = thread("00.000", FORKED).replace("timestamp", "time");
        let [a, b] = copied;
        assert_eq!(prompts(&[first, a, b, own]), [1_300]);
    }

    #[test]
    fn a_fork_that_copies_nothing_has_its_own_requests() {
        let lines = [
            thread("00.000", FORKED),
            model("00.002", "gpt-5.5"),
            report("01.500", 4_600, 1_300),
            report("04.000", 6_000, 1_400),
        ];
        assert_eq!(prompts(&lines), [1_300, 1_400]);
    }

    #[test]
    fn a_report_whose_total_was_told_before_repeats() {
        let rolled_back = [
            thread("00.000", ""),
            report("03.000", 1_000, 1_000),
            report("05.000", 2_100, 1_100),
            report("07.000", 3_300, 1_200),
            report("09.000", 2_100, 1_100),
            // A request after the rollback counts: 2,100 and 1,150.
            report("11.000", 3_250, 1_150),
        ];
        assert_eq!(prompts(&rolled_back), [1_000, 1_100, 1_200, 1_150]);
        let null = report("04.000", 0, 0);
        let null = null.replace(
            r#""total_token_usage":{"input_tokens":0,"cached_input_tokens":0,"output_tokens":9}"#,
            r#""total_token_usage":null"#,
        );
        let first = report("03.000", 1_000, 1_000);
        let again = report("05.000", 1_000, 1_000);
        assert_eq!(prompts(&[thread("00.000", ""), first, null, again]), [1_000]);
    }

    #[test]
    fn a_fork_takes_no_total_of_its_copy_for_a_request() {
        let lines = [
            thread("00.000", FORKED),
            report("00.003", 1_000, 1_000),
            report("09.000", 1_000, 1_000),
            report("10.000", 2_300, 1_300),
        ];
        assert_eq!(prompts(&lines), [1_300]);
    }

    #[test]
    fn the_provider_and_the_model_tell_whose_service_answers() {
        for (provider, name, vendor) in [
            ("", "my-model", Vendor::OpenAi),
            (r#","model_provider":"openai""#, "next-model", Vendor::OpenAi),
            (r#","model_provider":"azure""#, "GPT-5.5", Vendor::OpenAi),
            (r#","model_provider":"openrouter""#, "anthropic/claude-opus-5", Vendor::Anthropic),
            (r#","model_provider":"trae""#, "doubao", Vendor::Other),
        ] {
            let lines =
                [thread("00.000", provider), model("00.001", name), report("03.000", 10, 10)];
            let file = read(&lines.join("\n"));
            let [request] = &file.requests[..] else { panic!("{:?}", file.diagnostics) };
            assert_eq!(request.vendor, vendor, "{name}");
            let route = request.route.map(|route| file.symbols.text(route));
            assert_eq!(route, provider.split('"').nth(3), "{name}");
            assert_eq!(request.knows_writes, vendor != Vendor::Anthropic);
        }
    }
}
