//! Copilot CLI: `session-store.db`, with a row for each request that was answered.
//!
//! The input is the whole prompt; the output includes the reasoning. A row is written when the answer is
//! complete, so the request was sent `duration_ms` earlier; some versions write whole seconds. Only the
//! bill, which is a list, is sure to have the written tokens: a compaction has none elsewhere.
//! `events.jsonl` of the same session has the sums of these rows.

use rustc_hash::FxHashMap;

use super::{Database, DatabaseFormat, Failure, Row, json};
use crate::base::{Client, EntryId, Millis, Symbol, Tokens};
use crate::read::agent::bill::BillItems;
use crate::read::agent::{
    AgentFile, AgentRequest, Follows, Happened, Rejected, Vendor, split, tokens,
};
use crate::read::input::{Count, Kind, Text, Usage};

const REQUESTS: &str = "assistant_usage_events";

/// Columns of a request that are read.
pub(crate) const COLUMNS: [&str; 16] = [
    "id",
    "session_id",
    "turn_index",
    "agent_id",
    "parent_tool_call_id",
    "model",
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "reasoning_tokens",
    "total_nano_aiu",
    "duration_ms",
    "initiator",
    "token_details_json",
    "created_at",
];

/// Database of Copilot CLI.
pub(super) struct CopilotStore;

impl DatabaseFormat for CopilotStore {
    fn program(&self) -> &'static str {
        "Copilot CLI"
    }

    fn recognises(&self, database: &Database) -> Result<bool, Failure> {
        let columns = ["session_id", "model", "input_tokens", "cache_read_tokens", "created_at"];
        database.has(REQUESTS, &columns)
    }

    fn tables(&self) -> &'static [(&'static str, &'static [&'static str])] {
        &[("sessions", &["id", "cwd"]), (REQUESTS, &COLUMNS)]
    }

    fn read(&self, database: &Database, file: &mut AgentFile) -> Result<(), Failure> {
        let mut store = Store::default();
        if let Some(mut sessions) = database.table("sessions", &["id", "cwd"])? {
            sessions.each(file, |row, file| store.add_session(row, file))?;
        }
        let Some(mut requests) = database.table(REQUESTS, &COLUMNS)? else { return Ok(()) };
        requests.each(file, |row, file| match store.request(row, file) {
            Ok(request) => file.requests.push(request),
            Err((kind, detail)) => file.reject(kind, row.line(), detail),
        })
    }
}

/// State between two rows of the database.
#[derive(Default)]
struct Store {
    /// Folders of the sessions, by session.
    projects: FxHashMap<EntryId, Symbol>,
    conversations: FxHashMap<(Option<Symbol>, Option<Symbol>), Conversation>,
}

/// State of the requests of a session or of one of its agents.
#[derive(Clone, Copy, Default)]
struct Conversation {
    turn: Option<u64>,
    is_after_compaction: bool,
    /// Start of the newest request.
    latest: Option<Millis>,
}

impl Store {
    fn add_session(&mut self, row: &Row<'_>, file: &mut AgentFile) {
        let id = row.text("id");
        let named = id.as_str().map(EntryId::of).zip(file.symbol(&row.text("cwd")));
        self.projects.extend(named);
    }

    fn request(&mut self, row: &Row<'_>, file: &mut AgentFile) -> Result<AgentRequest, Rejected> {
        let mut repaired = None;
        let bill = bill(row, &mut repaired);
        let flat = row.count("cache_write_tokens");
        let billed = bill.written();
        // The column lacks the writes of a compaction, so the bill decides.
        let written = if billed == Count::Missing { flat } else { billed };
        let prompt = split(row.count("input_tokens"), row.count("cache_read_tokens"), written)?;
        let output = tokens(row.count("output_tokens"))?;
        let output = output.ok_or((Kind::MissingUsage, "the row has no output tokens"))?;
        if prompt.total() + output == Tokens::ZERO {
            return Err((Kind::MissingUsage, "the row has no tokens"));
        }
        let finished = row.time("created_at");
        let finished = finished.ok_or((Kind::MissingTimestamp, "the request is left out"))?;
        let took = row.whole("duration_ms").and_then(|took| i64::try_from(took).ok()).unwrap_or(0);
        let sent = Millis::new(finished.get().saturating_sub(took).max(0));

        let id = row.text("session_id");
        let session = file.symbol(&id);
        let own = file.symbol(&row.text("agent_id"));
        let agent = own.or_else(|| file.symbol(&row.text("parent_tool_call_id")));
        let initiator = row.text("initiator");
        let is_compaction = initiator.is("compaction");
        let conversation = self.conversations.entry((session, agent)).or_default();
        // With times in whole seconds a request could start before the previous one.
        let start = conversation.latest.map_or(sent, |latest| latest.max(sent));
        conversation.latest = Some(start);
        let happened = conversation.before(row, &initiator, agent.is_some());

        let (model, vendor) = file.model(&row.text("model"));
        let usage = Usage { prompt, output, ..Usage::default() };
        let shows_writes = vendor != Vendor::Anthropic || prompt.written() > Tokens::ZERO;
        Ok(AgentRequest {
            identity: row.whole("id").map(|number| identity(&id, number, finished, &usage)),
            session,
            agent,
            query_source: file.symbol(&initiator),
            project: id.as_str().and_then(|id| self.projects.get(&EntryId::of(id))).copied(),
            reasoning: tokens(row.count("reasoning_tokens"))?.unwrap_or_default().min(output),
            follows: if is_compaction { Follows::Nothing } else { Follows::Previous },
            // A bill lists everything that was charged: without an item nothing was written.
            knows_writes: bill.are_there() || shows_writes,
            nano_aiu: row.whole("total_nano_aiu"),
            ..AgentRequest::new(
                (Client::Copilot, row.line()),
                (model, vendor),
                (start, finished),
                usage,
            )
            .after(happened)
        })
    }
}

impl Conversation {
    /// Events before a request. Old versions do not record who began it, but the turn.
    fn before(&mut self, row: &Row<'_>, initiator: &Text<'_>, is_agent: bool) -> Happened {
        if initiator.is("compaction") {
            // The compaction itself is outside of the conversation; it precedes the next request.
            self.is_after_compaction = true;
            return Happened::default();
        }
        let turn = row.whole("turn_index");
        let is_new_turn = turn.is_some() && turn != std::mem::replace(&mut self.turn, turn);
        let is_untold = initiator.as_str().is_none();
        Happened {
            begins_turn: !is_agent && (initiator.is("user") || (is_untold && is_new_turn)),
            is_after_compaction: std::mem::take(&mut self.is_after_compaction),
            ..Happened::default()
        }
    }
}

/// Key of a row, the same in a copy of the database. The row's number is unique in one database only.
fn identity(session: &Text<'_>, number: u64, finished: Millis, usage: &Usage) -> EntryId {
    let session = session.as_str().unwrap_or_default();
    let (prompt, output) = (usage.prompt.total().0, usage.output.0);
    EntryId::of(&format!("copilot-store:{session}:{number}:{}:{prompt}:{output}", finished.get()))
}

/// Bill of a request; an empty one if the value is not a bill.
fn bill<'r>(row: &Row<'r>, repaired: &'r mut Option<String>) -> BillItems<'r> {
    json(row.bytes("token_details_json"), repaired).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::fixture::Fixture;
    use super::*;

    #[test]
    fn each_row_is_a_request_and_the_bill_tells_what_was_written() {
        let file = Fixture::file("agent-copilot-store/session-store.sql").read();
        let told = |one: &AgentRequest| {
            let prompt = one.usage.prompt;
            let tokens = [prompt.input, prompt.read, prompt.write_5m, one.usage.output];
            (tokens.map(|tokens| tokens.0), one.start.get() - 1_791_194_400_000, one.follows)
        };
        let requests: Vec<_> = file.requests.iter().map(told).collect();
        assert_eq!(
            requests,
            [
                // Sent four seconds before 10:00:10.25.
                ([10, 0, 13_326, 35], 6_250, Follows::Previous),
                ([5_000, 0, 0, 40], 12_000, Follows::Previous),
                ([24, 13_326, 150, 50], 17_000, Follows::Previous),
                ([100, 13_000, 1_900, 600], 594_000, Follows::Nothing),
                ([10, 0, 3_990, 20], 1_199_000, Follows::Previous),
            ]
        );
        let credits: Vec<_> = file.requests.iter().filter_map(|one| one.nano_aiu).collect();
        assert_eq!(credits, [1_684_250_000, 900_000_000, 300_000_000, 2_000_000_000, 100_000_000]);
        let texts =
            [file.requests[1].agent, file.requests[1].query_source, file.requests[1].project]
                .map(|symbol| symbol.map(|symbol| file.symbols.text(symbol)));
        assert_eq!(texts, [Some("agent-1"), Some("sub-agent"), Some("/w/demo")]);
    }

    #[test]
    fn turns_and_compactions_stand_before_the_requests_after_them() {
        let file = Fixture::file("agent-copilot-store/session-store.sql").read();
        let happened = |one: &AgentRequest| (one.begins_turn, one.is_after_compaction);
        let requests: Vec<_> = file.requests.iter().map(happened).collect();
        let nothing = (false, false);
        assert_eq!(requests, [(true, false), nothing, nothing, nothing, (true, true)]);
    }

    #[test]
    fn rows_that_cannot_be_used_are_named() {
        let file = Fixture::file("agent-copilot-store/session-store.sql").read();
        let named: Vec<_> =
            file.diagnostics.examples().iter().map(|one| (one.kind, one.line)).collect();
        assert_eq!(
            named,
            [
                (Kind::UsageWithoutCacheCounters, 6),
                (Kind::InvalidUsage, 7),
                (Kind::MissingTimestamp, 8),
                (Kind::MissingUsage, 9),
            ]
        );
    }

    #[test]
    fn columns_of_later_versions_may_be_missing() {
        let fixture = Fixture::of(
            "CREATE TABLE assistant_usage_events (session_id TEXT, model TEXT, input_tokens REAL, \
             output_tokens REAL, cache_read_tokens REAL, created_at TEXT); \
             INSERT INTO assistant_usage_events VALUES \
             ('s', 'gpt-5.5', 100.0, 5.0, 40.0, '2026-10-05 10:00:00'), \
             ('s', 'gpt-5.5', 100.5, 5.0, 40.0, '2026-10-05 10:00:00'), \
             ('s', 'gpt-5.5', -1, 5.0, 40.0, '2026-10-05 10:00:00'), \
             ('s', 'gpt-5.5', 'many', 5.0, 40.0, '2026-10-05 10:00:00')",
        );
        let file = fixture.read();
        assert_eq!(file.diagnostics.count(Kind::InvalidUsage), 3);
        let [request] = &file.requests[..] else { panic!("one request") };
        assert_eq!(
            (request.usage.prompt.input, request.usage.prompt.read),
            (Tokens(60), Tokens(40))
        );
        assert_eq!((request.identity, request.nano_aiu), (None, None));
    }
}
