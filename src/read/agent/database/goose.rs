//! Goose: `sessions.db`, whose ledger has a row for each answer of a model.
//!
//! The input is the whole prompt: Goose adds what was read and written where a service reports these apart. A
//! counter that a service does not report is null. A row is written when the answer is complete, in whole
//! seconds. What a session had used before there was a ledger (schema 15) is carried forward in one row, which
//! names no model. Other agents that Goose drives keep sessions of their own.

use rustc_hash::FxHashMap;

use super::{Database, DatabaseFormat, Failure, Row};
use crate::base::{Client, EntryId, Millis, Symbol, Tokens};
use crate::read::agent::{
    AgentFile, AgentRequest, COPILOT_COMPACTION, Follows, Happened, Rejected, Vendor, split,
    tell_nothing, tokens,
};
use crate::read::input::{Count, Kind, Text, Usage};

const LEDGER: &str = "usage_ledger";

/// Columns of a row of the ledger that are read.
pub(crate) const COLUMNS: [&str; 9] = [
    "session_id",
    "created_timestamp",
    "model",
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "cost_source",
    "is_compaction",
];

/// Columns of a session that are read.
pub(crate) const SESSION_COLUMNS: [&str; 5] =
    ["id", "working_dir", "parent_session_id", "provider_name", "accumulated_total_tokens"];

/// Providers that are agents. The first is the end of the names of those of the Agent Client Protocol.
pub(crate) const AGENTS: [&str; 5] = ["-acp", "claude-code", "codex", "cursor-agent", "gemini-cli"];

/// Database of Goose.
pub(super) struct Goose;

impl DatabaseFormat for Goose {
    fn program(&self) -> &'static str {
        "Goose"
    }

    fn recognises(&self, database: &Database) -> Result<bool, Failure> {
        database.has(LEDGER, &["session_id", "created_timestamp", "input_tokens", "is_compaction"])
    }

    fn tables(&self) -> &'static [(&'static str, &'static [&'static str])] {
        &[("sessions", &SESSION_COLUMNS), (LEDGER, &COLUMNS)]
    }

    fn read(&self, database: &Database, file: &mut AgentFile) -> Result<(), Failure> {
        let mut store = Store::default();
        if let Some(mut sessions) = database.table("sessions", &SESSION_COLUMNS)? {
            sessions.each(file, |row, file| store.add_session(row, file))?;
        }
        let Some(mut ledger) = database.table(LEDGER, &COLUMNS)? else { return Ok(()) };
        ledger.each(file, |row, file| match store.request(row, file) {
            Ok(request) => file.requests.push(request),
            Err((kind, detail)) => file.reject(kind, row.line(), detail),
        })?;
        for session in store.sessions.iter().filter(|one| one.is_unlisted) {
            let detail =
                "the session has tokens of requests from before the ledger, which it does not name";
            file.reject(Kind::MissingUsage, session.line, detail);
        }
        Ok(())
    }
}

/// State between two rows of the database.
#[derive(Default)]
struct Store {
    sessions: Vec<Session>,
    /// Places of the sessions, by their ids.
    places: FxHashMap<EntryId, usize>,
}

#[derive(Default)]
struct Session {
    line: u64,
    project: Option<Symbol>,
    route: Option<Symbol>,
    /// Own id of a sub-agent's session.
    agent: Option<Symbol>,
    is_of_agent: bool,
    /// Tokens in its sum, and no row of the ledger so far.
    is_unlisted: bool,
    is_after_compaction: bool,
    /// Time of the newest request.
    latest: Option<Millis>,
}

impl Store {
    fn add_session(&mut self, row: &Row<'_>, file: &mut AgentFile) {
        let provider = row.text("provider_name");
        let is_agent = |name: &str| AGENTS.contains(&name) || name.ends_with(AGENTS[0]);
        let (id, parent) = (row.text("id"), row.text("parent_session_id"));
        let session = Session {
            line: row.line(),
            project: file.symbol(&row.text("working_dir")),
            route: file.symbol(&provider),
            agent: file.symbol(&parent).and_then(|_| file.symbol(&id)),
            is_of_agent: provider.as_str().is_some_and(is_agent),
            is_unlisted: row.whole("accumulated_total_tokens").is_some_and(|sum| sum > 0),
            ..Session::default()
        };
        self.places.insert(EntryId::of(id.as_str().unwrap_or_default()), self.sessions.len());
        self.sessions.push(session);
    }

    fn request(&mut self, row: &Row<'_>, file: &mut AgentFile) -> Result<AgentRequest, Rejected> {
        let id = row.text("session_id");
        let key = EntryId::of(id.as_str().unwrap_or_default());
        let place = *self.places.entry(key).or_insert_with(|| {
            self.sessions.push(Session::default());
            self.sessions.len() - 1
        });
        let session = &mut self.sessions[place];
        session.is_unlisted = false;
        if session.is_of_agent {
            return Err((
                Kind::OtherEndpoint,
                "the request is of another agent, whose sessions have it",
            ));
        }
        if row.text("cost_source").is("carried_forward") {
            return Err((
                Kind::MissingUsage,
                "the sum from before the ledger names no model; it is left out",
            ));
        }
        let usage = usage(row)?;
        let written = row.time("created_timestamp");
        let written = written.ok_or((Kind::MissingTimestamp, "the request is left out"))?;
        let at = session.latest.map_or(written, |latest| latest.max(written));
        session.latest = Some(at);
        let is_compaction = row.whole("is_compaction").is_some_and(|flag| flag > 0);
        let happened = session.before(is_compaction);
        let (model, vendor) = file.model(&row.text("model"));
        let shows_writes = vendor != Vendor::Anthropic
            || matches!(row.count("cache_write_tokens"), Count::Value(_));
        Ok(AgentRequest {
            identity: Some(identity(&id, row.line(), written, &usage)),
            session: file.symbol(&id),
            agent: session.agent,
            query_source: is_compaction.then(|| file.symbols.intern(COPILOT_COMPACTION)),
            project: session.project,
            route: session.route,
            follows: if is_compaction { Follows::Nothing } else { Follows::Previous },
            knows_writes: shows_writes,
            ..AgentRequest::new((Client::Goose, row.line()), (model, vendor), (at, at), usage)
                .after(happened)
        })
    }
}

impl Session {
    /// Events before a request. A compaction is outside of the conversation; it precedes the next request.
    fn before(&mut self, is_compaction: bool) -> Happened {
        let is_after_compaction = std::mem::replace(&mut self.is_after_compaction, is_compaction);
        Happened {
            is_after_compaction: is_after_compaction && !is_compaction,
            ..Happened::default()
        }
    }
}

/// Billed usage of a row.
fn usage(row: &Row<'_>) -> Result<Usage, Rejected> {
    let [input, output, read, written] =
        ["input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens"]
            .map(|column| row.count(column));
    if tell_nothing(&[input, output, read, written]) {
        return Err((Kind::MissingUsage, "the row has no tokens"));
    }
    let prompt = split(input, read, written)?;
    let output = tokens(output)?;
    let output: Tokens = output.ok_or((Kind::MissingUsage, "the row has no output tokens"))?;
    Ok(Usage { prompt, output, ..Usage::default() })
}

/// Key of a row, the same in a copy of the database. Numbers of sessions begin anew in each database.
fn identity(session: &Text<'_>, number: u64, at: Millis, usage: &Usage) -> EntryId {
    let session = session.as_str().unwrap_or_default();
    let (prompt, output) = (usage.prompt.total().0, usage.output.0);
    EntryId::of(&format!("goose:{session}:{number}:{}:{prompt}:{output}", at.get()))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::Fixture;
    use super::*;

    #[test]
    fn each_row_of_the_ledger_is_a_request_whose_input_is_the_whole_prompt() {
        let file = Fixture::file("agent-goose/sessions.sql").read();
        let told = |one: &AgentRequest| {
            let prompt = one.usage.prompt;
            let tokens = [prompt.input, prompt.read, prompt.write_5m, one.usage.output];
            (tokens.map(|tokens| tokens.0), one.start.get() - 1_791_194_400_000, one.knows_writes)
        };
        let requests: Vec<_> = file.requests.iter().map(told).collect();
        assert_eq!(
            requests,
            [
                ([12, 0, 9_000, 40], 10_000, true),
                ([8, 9_000, 500, 60], 20_000, true),
                ([1_207, 8_320, 0, 132], 25_000, true),
                ([9_600, 0, 0, 700], 30_000, true),
                // A clock that went back: no request is before the one in front of it.
                ([5, 0, 2_000, 30], 30_000, true),
                // Of Anthropic's writes nothing is told.
                ([100, 3_000, 0, 20], 60_000, false),
            ]
        );
        let happened = |one: &AgentRequest| (one.follows, one.is_after_compaction);
        let (on, alone) = (Follows::Previous, Follows::Nothing);
        assert_eq!(
            file.requests.iter().map(happened).collect::<Vec<_>>(),
            [(on, false), (on, false), (on, false), (alone, false), (on, true), (on, false)]
        );
        let names = [
            file.requests[2].session,
            file.requests[2].agent,
            file.requests[0].agent,
            file.requests[0].project,
            file.requests[0].route,
            file.requests[3].query_source,
        ];
        assert_eq!(
            names.map(|symbol| symbol.map(|symbol| file.symbols.text(symbol))),
            [
                Some("20261005_2"),
                Some("20261005_2"),
                None,
                Some("/w/demo"),
                Some("anthropic"),
                Some("compaction")
            ]
        );
    }

    #[test]
    fn what_is_not_a_request_of_its_own_is_named() {
        let file = Fixture::file("agent-goose/sessions.sql").read();
        let named: Vec<_> =
            file.diagnostics.examples().iter().map(|one| (one.kind, one.line)).collect();
        assert_eq!(
            named,
            [
                (Kind::MissingUsage, 7),
                (Kind::OtherEndpoint, 8),
                (Kind::UsageWithoutCacheCounters, 9),
                (Kind::InvalidUsage, 10),
                (Kind::MissingUsage, 11),
                (Kind::MissingTimestamp, 12),
                // A session that was never continued since there is a ledger.
                (Kind::MissingUsage, 5),
            ]
        );
    }
}
