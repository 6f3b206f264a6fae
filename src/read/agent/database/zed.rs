//! Zed: `threads.db`, with one thread per row, as JSON that is compressed with Zstandard.
//!
//! A thread names the usage of the last request of each turn, by the user's message, and the sum of all
//! its requests. An answer is a message of its own, so the answers give the number of requests. The
//! input leaves out the tokens read and written; a counter of zero is left out. Only the thread as a
//! whole has times: just the newest request is known to have ended with it. Versions up to 0.2 list the
//! usage of the messages.

use std::io::Read as _;

use rustc_hash::FxHashMap;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::{Database, DatabaseFormat, Failure, Row, json};
use crate::base::{ByKey, Client, EntryId, Millis, Order as _, Symbol, Tokens};
use crate::read::agent::{
    AgentFile, AgentRequest, Follows, Rejected, Vendor, parts, tell_nothing, tokens,
};
use crate::read::input::{Count, Kind, LONGEST_LINE, List, Shape, Text, Unpacked, Usage, lenient};

/// Columns of a thread that are read.
const COLUMNS: [&str; 7] =
    ["id", "parent_id", "folder_paths", "created_at", "updated_at", "data_type", "data"];

/// Largest window of a compressed thread, in bytes. Zed's have 2 MiB.
const LARGEST_WINDOW: u64 = 16 << 20;

/// Providers that report reads and writes. Zeros from others may mean anything.
const TELLING: [&str; 4] = ["anthropic", "zed.dev", "amazon-bedrock", "google"];

/// Database of threads.
pub(super) struct Threads;

impl DatabaseFormat for Threads {
    fn program(&self) -> &'static str {
        "Zed"
    }

    fn recognises(&self, database: &Database) -> Result<bool, Failure> {
        database.has("threads", &["id", "summary", "updated_at", "data_type", "data"])
    }

    fn tables(&self) -> &'static [(&'static str, &'static [&'static str])] {
        &[(
            "threads",
            &[
                "id",
                "parent_id",
                "folder_paths",
                "summary",
                "created_at",
                "updated_at",
                "data_type",
                "data",
            ],
        )]
    }

    fn read(&self, database: &Database, file: &mut AgentFile) -> Result<(), Failure> {
        let Some(mut threads) = database.table("threads", &COLUMNS)? else { return Ok(()) };
        threads.each(file, |row, file| {
            if let Err((kind, detail)) = add(row, file) {
                file.reject(kind, row.line(), detail);
            }
        })
    }
}

/// Reads the thread of a row.
fn add(row: &Row<'_>, file: &mut AgentFile) -> Result<(), Rejected> {
    let data = row.bytes("data");
    let unpacked;
    let bytes = if row.text("data_type").is("zstd") {
        unpacked = unpack(data)?;
        &unpacked
    } else {
        data
    };
    let mut repaired = None;
    let thread: Thread<'_> = json(bytes, &mut repaired)?;
    let finished = row.time("updated_at");
    let finished = finished.ok_or((Kind::MissingTimestamp, "the thread is left out"))?;
    let model = thread.model.0.unwrap_or_default();
    let id = row.text("id");
    let session = file.symbol(&id);
    let is_sub_agent = row.text("parent_id").as_str().is_some_and(|id| !id.is_empty());
    let folders = row.text("folder_paths");
    let folder = folders.as_str().and_then(|folders| folders.lines().next());
    let place = ThreadPlace {
        line: row.line(),
        id: id.as_str().unwrap_or_default(),
        session,
        agent: session.filter(|_| is_sub_agent),
        project: file.symbol(&Text(folder.map(Into::into))),
        model: file.model(&model.model),
        route: file.symbol(&model.provider),
        tells_caches: model.provider.as_str().is_some_and(|one| TELLING.contains(&one)),
        start: row.time("created_at").unwrap_or(finished).min(finished),
        finished,
    };
    let recorded = recorded(thread.recorded, place.id);
    place.add(&thread.messages.0, &recorded, thread.sum.0, file)
}

/// Decompresses a thread.
pub(super) fn unpack(packed: &[u8]) -> Result<Vec<u8>, Rejected> {
    let damaged = |_| (Kind::UnreadableFile, "the compressed thread is damaged");
    let unpacked = Unpacked::new(packed, LARGEST_WINDOW);
    let mut bytes = Vec::new();
    // One byte more than allowed is enough to know that a thread is too long.
    unpacked.take(LONGEST_LINE as u64 + 1).read_to_end(&mut bytes).map_err(damaged)?;
    if bytes.len() > LONGEST_LINE {
        return Err((Kind::TooLong, "the thread unpacks to more than 64 MiB"));
    }
    Ok(bytes)
}

/// Facts that the requests of a thread share.
struct ThreadPlace<'r> {
    line: u64,
    id: &'r str,
    session: Option<Symbol>,
    agent: Option<Symbol>,
    project: Option<Symbol>,
    model: (Symbol, Vendor),
    route: Option<Symbol>,
    /// True if the provider reports reads.
    tells_caches: bool,
    start: Millis,
    finished: Millis,
}

impl ThreadPlace<'_> {
    /// Adds the requests of a thread.
    fn add(
        &self,
        messages: &[Shape<Message<'_>>],
        recorded: &[(String, TokenUsage)],
        sum: Option<TokenUsage>,
        file: &mut AgentFile,
    ) -> Result<(), Rejected> {
        let messages = || messages.iter().filter_map(|message| message.0.as_ref());
        let answers = messages().filter(|message| message.is_answer()).count();
        let users: Vec<&str> = messages().filter_map(Message::user).collect();
        // The first of messages with the same id counts.
        let places: FxHashMap<&str, usize> =
            users.iter().enumerate().rev().map(|(place, user)| (*user, place)).collect();
        let mut recorded: Vec<_> = recorded.iter().filter(|(_, usage)| !usage.is_empty()).collect();
        // The usages are in the order of their ids, and not in that of the turns.
        recorded.order_by_key(|(name, _)| places.get(name.as_str()));
        for (name, usage) in &recorded {
            // An earlier request is only known to have been sent during the thread.
            let is_newest = users.last().is_some_and(|user| *user == name.as_str());
            let start = if is_newest { self.finished } else { self.start };
            match self.request(usage, (start, name.clone()), 1) {
                Ok(request) => file.requests.push(request),
                Err((kind, detail)) => file.reject(kind, self.line, detail),
            }
        }
        let told = recorded.iter().map(|(_, usage)| usage);
        let rest = sum.and_then(|sum| sum.without(told)).filter(|rest| !rest.is_empty());
        let others = answers.saturating_sub(recorded.len());
        let (Some(rest), Some(requests)) = (rest, u32::try_from(others).ok().filter(|n| *n > 0))
        else {
            let untold =
                (Kind::MissingUsage, "the thread has tokens of requests that it does not name");
            let unknown = (
                Kind::MissingUsage,
                "the thread tells the usage of the last request of a turn alone",
            );
            return match (rest, others) {
                (Some(_), _) => Err(untold),
                (None, 0) => Ok(()),
                (None, _) => Err(unknown),
            };
        };
        let name = format!("{}:rest", self.id);
        let request = self.request(&rest, (self.start, name), requests)?;
        file.requests.push(request);
        Ok(())
    }

    /// Request, or the sum of several.
    ///
    /// Each is outside of the conversation, since the requests between them are missing.
    fn request(
        &self,
        usage: &TokenUsage,
        (start, name): (Millis, String),
        requests: u32,
    ) -> Result<AgentRequest, Rejected> {
        let mut usage = usage.billed(self.tells_caches)?;
        usage.is_sum = requests > 1;
        let tells_writes = self.tells_caches || self.model.1 != Vendor::Anthropic;
        Ok(AgentRequest {
            identity: Some(EntryId::of(&format!("zed:{name}"))),
            session: self.session,
            agent: self.agent,
            project: self.project,
            route: self.route,
            follows: Follows::Nothing,
            knows_writes: tells_writes || usage.prompt.written() > Tokens::ZERO,
            sum_of: requests,
            ..AgentRequest::new((Client::Zed, self.line), self.model, (start, self.finished), usage)
        })
    }
}

lenient! {
    struct Thread<'a> {
        messages: List<Shape<Message<'a>>>,
        model: Shape<Model<'a>>,
        /// Usage by the ids of the user's messages; a list in old versions.
        #[serde(rename = "request_token_usage")]
        recorded: Option<&'a RawValue>,
        #[serde(rename = "cumulative_token_usage")]
        sum: Shape<TokenUsage>,
    }

    struct Model<'a> {
        provider: Text<'a>,
        model: Text<'a>,
    }

    /// Message under the name of its kind. Old versions name a role.
    struct Message<'a> {
        #[serde(rename = "User")]
        user: Shape<User<'a>>,
        #[serde(rename = "Agent")]
        agent: Shape<IgnoredAny>,
        #[serde(rename = "Compaction")]
        compaction: Shape<IgnoredAny>,
        role: Text<'a>,
    }

    struct User<'a> {
        id: Text<'a>,
    }
}

impl Message<'_> {
    fn is_answer(&self) -> bool {
        self.agent.0.is_some() || self.compaction.0.is_some() || self.role.is("assistant")
    }

    fn user(&self) -> Option<&str> {
        self.user.0.as_ref()?.id.as_str()
    }
}

/// Usages that a thread names, with the ids of the user's messages, which no other thread has.
///
/// A list has the thread's id with numbers instead.
fn recorded(json: Option<&RawValue>, thread: &str) -> Vec<(String, TokenUsage)> {
    let json = json.map_or("", RawValue::get);
    if json.starts_with('{') {
        let named: ByKey<String, Shape<TokenUsage>> =
            serde_json::from_str(json).unwrap_or_default();
        return named.into_iter().filter_map(|(name, usage)| Some((name, usage.0?))).collect();
    }
    let listed: List<Shape<TokenUsage>> = serde_json::from_str(json).unwrap_or_default();
    let numbered = (0..).zip(listed.0);
    let named = |number: u32| format!("{thread}:{number}");
    numbered.filter_map(|(number, usage)| Some((named(number), usage.0?))).collect()
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
#[allow(clippy::struct_field_names)] // Zed's names
struct TokenUsage {
    input_tokens: Count,
    output_tokens: Count,
    cache_creation_input_tokens: Count,
    cache_read_input_tokens: Count,
}

impl TokenUsage {
    /// Counters. One that is left out is zero.
    fn counts(&self) -> [Count; 4] {
        let Self { input_tokens, output_tokens, .. } = *self;
        let cached = [self.cache_read_input_tokens, self.cache_creation_input_tokens];
        [input_tokens, output_tokens, cached[0], cached[1]].map(|count| match count {
            Count::Missing => Count::Value(0),
            told => told,
        })
    }

    fn is_empty(&self) -> bool {
        tell_nothing(&self.counts())
    }

    /// Rest of a sum; `None` if the sum does not include the others.
    fn without<'u>(&self, others: impl Iterator<Item = &'u TokenUsage>) -> Option<Self> {
        let mut rest = self.counts();
        for other in others {
            for (rest, count) in rest.iter_mut().zip(other.counts()) {
                let (Count::Value(left), Count::Value(value)) = (*rest, count) else { return None };
                *rest = Count::Value(left.checked_sub(value)?);
            }
        }
        let [input_tokens, output_tokens, cache_read_input_tokens, cache_creation_input_tokens] =
            rest;
        Some(Self {
            input_tokens,
            output_tokens,
            cache_creation_input_tokens,
            cache_read_input_tokens,
        })
    }

    fn billed(&self, tells_caches: bool) -> Result<Usage, Rejected> {
        let [input, output, read, written] = self.counts();
        if !tells_caches && tell_nothing(&[read, written]) {
            return Err((Kind::UsageWithoutCacheCounters, "the request is left out"));
        }
        let prompt = parts(input, read, written)?;
        let output = tokens(output)?.unwrap_or_default();
        Ok(Usage { prompt, output, ..Usage::default() })
    }
}

#[cfg(test)]
mod tests {
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    use super::super::fixture::Fixture;
    use super::*;

    fn told(one: &AgentRequest) -> ([u64; 4], u32, [i64; 2]) {
        let prompt = one.usage.prompt;
        let tokens = [prompt.input, prompt.read, prompt.write_5m, one.usage.output];
        let times = [one.start, one.finished].map(|at| at.get() - 1_791_194_400_000);
        (tokens.map(|tokens| tokens.0), one.sum_of, times)
    }

    #[test]
    fn what_a_thread_names_and_the_rest_come_to_its_sum() {
        let file = Fixture::file("agent-zed/threads.sql").read();
        let requests: Vec<_> = file.requests.iter().map(told).collect();
        assert_eq!(
            requests,
            [
                // Two turns with known last requests, and two more requests: of 30, 45000, 6000 and 900
                // remain 30 - 5 - 7, 45000 - 10000 - 16000, 6000 - 500 - 600 and 900 - 80 - 120.
                ([5, 10_000, 500, 80], 1, [0, 60_000]),
                ([7, 16_000, 600, 120], 1, [60_000, 60_000]),
                ([18, 19_000, 4_900, 700], 2, [0, 60_000]),
                // An old thread, which names the usage of its only answer.
                ([9, 0, 800, 70], 1, [120_000, 120_000]),
            ]
        );
        let texts = [file.requests[0].project, file.requests[0].route, file.requests[2].session]
            .map(|symbol| symbol.map(|symbol| file.symbols.text(symbol)));
        assert_eq!(texts, [Some("/w/demo"), Some("anthropic"), Some("z-1")]);
    }

    #[test]
    fn what_a_thread_does_not_tell_is_named() {
        let file = Fixture::file("agent-zed/threads.sql").read();
        let named: Vec<_> =
            file.diagnostics.examples().iter().map(|one| (one.kind, one.line)).collect();
        assert_eq!(
            named,
            [
                // OpenAI's reads are not reported, so neither its request nor the others are known.
                (Kind::UsageWithoutCacheCounters, 3),
                (Kind::MissingUsage, 3),
                (Kind::UnreadableFile, 4),
                (Kind::MissingTimestamp, 5),
            ]
        );
    }

    #[test]
    fn the_numbers_of_old_threads_are_those_of_their_thread_alone() {
        let fixture = Fixture::of(
            "CREATE TABLE threads (id TEXT PRIMARY KEY, summary TEXT, updated_at TEXT, data_type TEXT, data BLOB)",
        );
        let data = r#"{"model":{"provider":"anthropic","model":"claude-opus-5"},"messages":[{"role":"user"},{"role":"assistant"}],"request_token_usage":[{"input_tokens":100,"output_tokens":5}]}"#;
        for id in ["a", "b"] {
            let insert = "INSERT INTO threads VALUES (?1, '', '2026-10-05T10:00:00Z', 'json', ?2)";
            fixture.connection().execute(insert, [id, data]).expect("a row");
        }
        let file = fixture.read();
        let [first, second] = &file.requests[..] else { panic!("{:?}", file.diagnostics) };
        assert!(first.identity.is_some() && first.identity != second.identity);
    }

    #[test]
    fn a_thread_that_unpacks_without_end_is_left() {
        let fixture = Fixture::of(
            "CREATE TABLE threads (id TEXT PRIMARY KEY, summary TEXT, updated_at TEXT, data_type TEXT, data BLOB)",
        );
        let zeros = std::io::repeat(b'0').take(LONGEST_LINE as u64 + 2);
        let packed = compress_to_vec(zeros, CompressionLevel::Fastest);
        let insert = "INSERT INTO threads VALUES ('z', '', '2026-10-05T10:00:00Z', 'zstd', ?1)";
        fixture.connection().execute(insert, [packed]).expect("a row");
        assert_eq!(fixture.read().diagnostics.count(Kind::TooLong), 1);
    }
}
