//! What every format gives: requests of sessions, with what was billed.

use std::borrow::Cow;
use std::sync::Arc;

use super::Rejected;
use super::halves::Half;
use super::limit::LimitReading;
use super::pieces::{Piece, PieceId};
use crate::base::client::Client;
use crate::base::id::{EntryId, Symbol, Symbols, has_symbols};
use crate::base::units::{Millis, Picodollars, Tokens};
use crate::read::input::{Count, Diagnostics, Extent, Kind, OpenSource, PromptSplit, Text, Usage};

/// Whose service answered a request, and so under which cache rules it was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Vendor {
    /// Anthropic's Messages API, or another one with its markers.
    #[default]
    Anthropic,
    /// `OpenAI`, whose caches need no markers.
    OpenAi,
    /// Google, whose caches need no markers.
    Google,
    /// Anyone else, whose caches need no markers as far as is known.
    Other,
}

impl Vendor {
    /// The vendor of a model, whoever passes the requests on.
    #[must_use]
    pub fn of(model: &str) -> Self {
        let name = model.rsplit('/').next().unwrap_or(model);
        let name = in_lower_case(name);
        let is = |families: &[&str]| families.iter().any(|family| name.starts_with(family));
        if name.contains("claude") {
            Self::Anthropic
        } else if is(&["gpt-", "o1", "o3", "o4", "codex-", "chatgpt-"]) {
            Self::OpenAi
        } else if is(&["gemini", "gemma"]) {
            Self::Google
        } else {
            Self::Other
        }
    }

    /// The name that people see.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Anthropic => "Anthropic",
            Self::OpenAi => "OpenAI",
            Self::Google => "Google",
            Self::Other => "other",
        }
    }
}

/// A name in lower case. Most are.
fn in_lower_case(name: &str) -> Cow<'_, str> {
    if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(name.to_ascii_lowercase())
    } else {
        Cow::Borrowed(name)
    }
}

/// The sessions of one file.
#[derive(Debug)]
pub struct AgentFile {
    /// The file's name.
    pub label: Arc<str>,
    /// What it is, for people, where its format is known: "a rollout".
    pub what: Option<&'static str>,
    /// The file's name without folders and endings.
    pub stem: String,
    /// The names of the folders that it is in, the nearest first.
    pub(super) folders: Vec<String>,
    /// Its requests, in file order.
    pub requests: Vec<AgentRequest>,
    /// Requests that the file repeats from another one whatever was read of that, and that are left out: those
    /// of a copy with which it begins.
    pub copies: u64,
    /// What the client put into its conversations, in file order.
    pub pieces: Vec<Piece>,
    /// How much of a plan's limits was used, in file order.
    pub limits: Vec<LimitReading>,
    /// What of its sessions stands in another file.
    pub half: Half,
    /// The strings the requests name.
    pub symbols: Symbols,
    /// What was rejected or repaired.
    pub diagnostics: Diagnostics,
    /// How much was read.
    pub extent: Extent,
}

impl AgentFile {
    /// A file of which nothing was read yet.
    pub(in crate::read) fn of(open: &OpenSource) -> Self {
        Self {
            label: Arc::clone(&open.label),
            what: None,
            stem: open.stem.clone(),
            folders: open.folders(),
            requests: Vec::new(),
            copies: 0,
            pieces: Vec::new(),
            limits: Vec::new(),
            half: Half::default(),
            symbols: Symbols::default(),
            diagnostics: Diagnostics::default(),
            extent: Extent::default(),
        }
    }

    /// The file with what it is.
    pub(crate) fn called(self, what: &'static str) -> Self {
        Self { what: Some(what), ..self }
    }

    /// A file of which nothing can be read, with what it is.
    pub(crate) fn foreign(open: &OpenSource, what: String) -> Self {
        let mut file = Self::of(open);
        file.reject(Kind::ForeignFormat, 0, what);
        file
    }

    /// The session of a file that is called the same in all of them: the folder's name.
    pub(super) fn session_of_folder(&mut self, number: usize) -> Option<Symbol> {
        let Self { symbols, folders, .. } = self;
        folders.get(number).map(|name| symbols.intern(name))
    }

    /// The model's symbol, [`UNKNOWN_MODEL`] without a name.
    pub(in crate::read) fn model(&mut self, name: &Text<'_>) -> (Symbol, Vendor) {
        let name = name.as_str().filter(|name| !name.is_empty()).unwrap_or(UNKNOWN_MODEL);
        (self.symbols.intern(name), Vendor::of(name))
    }

    /// Notes what was rejected or repaired.
    pub(in crate::read) fn reject(&mut self, kind: Kind, line: u64, detail: impl Into<String>) {
        self.diagnostics.add(kind, &self.label, line, detail);
    }

    /// When a request was sent: never before the one in front of it, whatever the clock says.
    pub(super) fn no_earlier(&self, start: Millis) -> Millis {
        self.requests.last().map_or(start, |previous| start.max(previous.start))
    }

    pub(in crate::read) fn symbol(&mut self, text: &Text<'_>) -> Option<Symbol> {
        let text = text.as_str().filter(|text| !text.is_empty())?;
        Some(self.symbols.intern(text))
    }
}

/// The name of a model that is not named.
pub(super) const UNKNOWN_MODEL: &str = "unknown";

/// Programs whose markers name no lifetime, as their code and the lifetimes that Copilot records show.
const WRITING_FOR_FIVE_MINUTES: [Client; 4] =
    [Client::Cline, Client::Roo, Client::OpenCode, Client::Copilot];

/// No real prompt or answer comes near it; a larger number is damage and would only overflow sums.
const LARGEST_TOKEN_COUNT: u64 = 1_000_000_000_000;

/// The tokens of a count that may be missing.
///
/// # Errors
/// Where it is no number of tokens.
pub(in crate::read) fn tokens(count: Count) -> Result<Option<Tokens>, Rejected> {
    match count {
        Count::Missing | Count::Null => Ok(None),
        Count::Value(value) if value <= LARGEST_TOKEN_COUNT => Ok(Some(Tokens(value))),
        Count::Value(_) | Count::Invalid => {
            Err((Kind::InvalidUsage, "a number of tokens that cannot be one"))
        }
    }
}

/// Whether counts tell of nothing, as where a request was given up.
pub(in crate::read) fn tell_nothing(counts: &[Count]) -> bool {
    counts.iter().all(|count| matches!(count, Count::Missing | Count::Null | Count::Value(0)))
}

/// What was read, where nothing is told of caches at all by a client that tells of them where there is
/// something to tell.
pub(super) fn read_if_any(read: Count, written: Count) -> Count {
    let is_silent = read == Count::Missing && written == Count::Missing;
    if is_silent { Count::Value(0) } else { read }
}

/// A prompt whose parts are told one by one.
///
/// # Errors
/// Where the input or the reads are unknown, or one is no number of tokens.
pub(super) fn parts(input: Count, read: Count, written: Count) -> Result<PromptSplit, Rejected> {
    let input = tokens(input)?.ok_or((Kind::MissingUsage, "the report has no input tokens"))?;
    let read = tokens(read)?;
    let read = read.ok_or((Kind::UsageWithoutCacheCounters, "the request is left out"))?;
    let write_5m = tokens(written)?.unwrap_or_default();
    Ok(PromptSplit { input, read, write_5m, write_1h: Tokens::ZERO })
}

/// Splits a prompt whose size includes what was read and written. One price holds for all that is
/// written.
///
/// # Errors
/// Where the size or the reads are unknown, or more was cached than was sent.
pub(super) fn split(input: Count, read: Count, written: Count) -> Result<PromptSplit, Rejected> {
    let told = parts(input, read, written)?;
    let cached = told.cached_end();
    if cached > told.input {
        return Err((Kind::InvalidUsage, "more is cached than was sent"));
    }
    Ok(PromptSplit { input: told.input.saturating_sub(cached), ..told })
}

/// How a request goes on from others of its file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Follows {
    /// From the one before it in its conversation.
    #[default]
    Previous,
    /// From another one, by its place in [`AgentFile::requests`].
    Request(usize),
    /// From none: a conversation begins, or a request stands beside it.
    Nothing,
}

/// What happened before a request, since the one in front of it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Happened {
    pub(super) begins_turn: bool,
    pub(super) is_after_compaction: bool,
    pub(super) is_after_interruption: bool,
    /// The newest piece of content that was put in.
    pub(super) brought: Option<PieceId>,
}

/// A request of another agent, as its session recorded it.
#[allow(clippy::struct_excessive_bools)] // independent facts, not states of one machine
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentRequest {
    /// The program.
    pub client: Client,
    /// The line where its answer or its usage stands, or its number in a document.
    pub line: u64,
    /// By what copies of it are known in other files; `None` where it has none.
    pub identity: Option<EntryId>,
    /// The session; `None` where the file does not name it.
    pub session: Option<Symbol>,
    /// The sub-agent; `None` in a main conversation.
    pub agent: Option<Symbol>,
    /// The id of the answer's message, as the service gave it.
    pub message: Option<Symbol>,
    /// The id of the request, as the service gave it.
    pub request: Option<Symbol>,
    /// What the client asked it for, in the client's words; `None` where that is not told.
    pub query_source: Option<Symbol>,
    /// The project's folder.
    pub project: Option<Symbol>,
    /// The client's version.
    pub client_version: Option<Symbol>,
    /// The model that answered.
    pub model: Symbol,
    /// Through whom the request went, as the client names it.
    pub route: Option<Symbol>,
    /// Whose service that is.
    pub vendor: Vendor,
    /// When it was sent: the time of the newest entry of the client's before the answer.
    pub start: Millis,
    /// When the usage was recorded.
    pub finished: Millis,
    /// What was billed.
    pub usage: Usage,
    /// The reasoning in the output, at most all of it.
    pub reasoning: Tokens,
    /// The request that it goes on from.
    pub follows: Follows,
    /// Whether it is the first one of a turn of the user's.
    pub begins_turn: bool,
    /// Whether the conversation was compacted since the request before.
    pub is_after_compaction: bool,
    /// Whether an answer began and was not finished since the request before: a request that left
    /// no usage, but may have left its prompt in the cache.
    pub is_after_interruption: bool,
    /// The newest piece of content that was put in since the request before; `None` where there is none, or
    /// the client keeps none.
    pub brought: Option<PieceId>,
    /// Whether its written tokens are known. Where they are not, they are in its input.
    pub knows_writes: bool,
    /// Whether it is known for how long was written: the record tells, or the program writes for five minutes
    /// alone. Elsewhere all of it stands as written for five minutes.
    pub knows_lifetime: bool,
    /// Whether the program reports it beside what it may tell of single requests in other files.
    pub is_report: bool,
    /// How many requests the figures are the sum of, where the client tells no more; 1 of a request.
    pub sum_of: u32,
    /// What a plan that counts credits was charged, in billionths of an AI unit (0.01 USD).
    pub nano_aiu: Option<u64>,
    /// What the client worked out that it cost, at its own list of prices. Where it does not tell for how
    /// long was written, this does: a write for an hour costs more than one for five minutes.
    pub client_cost: Option<Picodollars>,
}

impl AgentRequest {
    /// A request of which nothing else is known. It was sent at the first of the times, and its usage
    /// recorded at the second.
    pub(in crate::read) fn new(
        (client, line): (Client, u64),
        (model, vendor): (Symbol, Vendor),
        times: (Millis, Millis),
        usage: Usage,
    ) -> Self {
        Self {
            client,
            line,
            identity: None,
            session: None,
            agent: None,
            message: None,
            request: None,
            query_source: None,
            project: None,
            client_version: None,
            model,
            route: None,
            vendor,
            start: times.0,
            finished: times.1.max(times.0),
            usage,
            reasoning: Tokens::ZERO,
            follows: Follows::Previous,
            begins_turn: false,
            is_after_compaction: false,
            is_after_interruption: false,
            brought: None,
            knows_writes: true,
            knows_lifetime: WRITING_FOR_FIVE_MINUTES.contains(&client),
            is_report: false,
            sum_of: 1,
            nano_aiu: None,
            client_cost: None,
        }
    }

    /// The request with what happened before it.
    pub(super) fn after(self, happened: Happened) -> Self {
        let Happened { begins_turn, is_after_compaction, is_after_interruption, brought } =
            happened;
        Self { begins_turn, is_after_compaction, is_after_interruption, brought, ..self }
    }
}

has_symbols!(AgentRequest {
    session, agent, message, request, query_source, project, client_version, model, route
} beside {
    client, line, identity, vendor, start, finished, usage, reasoning, follows, begins_turn,
    is_after_compaction, is_after_interruption, brought, knows_writes, knows_lifetime, is_report, sum_of, nano_aiu, client_cost
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_model_tells_its_vendor_in_any_case() {
        for (name, vendor) in [
            ("gpt-5.5", Vendor::OpenAi),
            ("GPT-5.5", Vendor::OpenAi),
            ("anthropic/Claude-Opus-5", Vendor::Anthropic),
            ("google/Gemini-3-Pro", Vendor::Google),
            ("Qwen3", Vendor::Other),
        ] {
            assert_eq!(Vendor::of(name), vendor, "{name}");
        }
    }
}
