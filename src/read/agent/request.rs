//! Output of every format: requests of sessions with their billed usage.

use std::borrow::Cow;
use std::sync::Arc;

use super::halves::Half;
use super::{LimitReading, Piece, PieceId, Rejected};
use crate::base::{
    Client, EntryId, Millis, Picodollars, Symbol, Symbols, Tokens, UNKNOWN_MODEL, has_symbols,
};
use crate::read::input::{Count, Diagnostics, Extent, Kind, OpenSource, PromptSplit, Text, Usage};

/// Vendor of the service that answered a request, and so of its cache rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Vendor {
    /// Anthropic's Messages API, or another one with its markers.
    #[default]
    Anthropic,
    /// `OpenAI`, whose caches need no markers.
    OpenAi,
    /// Google, whose caches need no markers.
    Google,
    /// Any other, whose caches need no markers as far as is known.
    Other,
}

impl Vendor {
    /// Vendor of a model, whoever passes the requests on.
    pub fn of(model: &str) -> Self {
        // Gateways put the vendor in front: `anthropic/claude-opus-5`.
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

    /// Name for people.
    pub fn label(self) -> &'static str {
        match self {
            Self::Anthropic => "Anthropic",
            Self::OpenAi => "OpenAI",
            Self::Google => "Google",
            Self::Other => "other",
        }
    }
}

/// Name in lower case, without a copy for the many that already are.
fn in_lower_case(name: &str) -> Cow<'_, str> {
    if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(name.to_ascii_lowercase())
    } else {
        Cow::Borrowed(name)
    }
}

/// Sessions of one file.
#[derive(Debug)]
pub struct AgentFile {
    /// Name of the file.
    pub label: Arc<str>,
    /// Description of the file for people, if its format is known: "a rollout".
    pub what: Option<&'static str>,
    /// Name of the file without folders and endings.
    pub stem: String,
    /// Names of the folders that hold the file, the nearest first.
    pub(super) folders: Vec<String>,
    /// Requests, in file order.
    pub requests: Vec<AgentRequest>,
    /// Number of requests that are left out as repetitions: of another file, even if that one was not read, at the
    /// beginning of a copy, or of the row in front of them.
    pub copies: u64,
    /// Content that the client put into its conversations, in file order.
    pub pieces: Vec<Piece>,
    /// Used shares of a plan's limits, in file order.
    pub limits: Vec<LimitReading>,
    /// Part of its sessions that the file holds, if the rest is in another file.
    pub half: Half,
    /// Strings that the requests name.
    pub symbols: Symbols,
    /// Rejected and repaired lines.
    pub diagnostics: Diagnostics,
    /// Amount that was read.
    pub extent: Extent,
    /// Line that is being read, or the number of the record in a document.
    pub(in crate::read) line: u64,
}

impl AgentFile {
    /// File before anything is read.
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
            line: 0,
        }
    }

    /// File with its description.
    pub(crate) fn called(self, what: &'static str) -> Self {
        Self { what: Some(what), ..self }
    }

    /// File that cannot be read, with its description.
    pub(crate) fn foreign(open: &OpenSource, what: String) -> Self {
        let mut file = Self::of(open);
        file.reject(Kind::ForeignFormat, 0, what);
        file
    }

    /// Session by the name of a folder, for files whose own name is the same in all sessions.
    pub(super) fn session_of_folder(&mut self, number: usize) -> Option<Symbol> {
        let Self { symbols, folders, .. } = self;
        folders.get(number).map(|name| symbols.intern(name))
    }

    /// Symbol and vendor of a model; [`UNKNOWN_MODEL`] without a name.
    pub(in crate::read) fn model(&mut self, name: &Text<'_>) -> (Symbol, Vendor) {
        let name = name.as_str().filter(|name| !name.is_empty()).unwrap_or(UNKNOWN_MODEL);
        (self.symbols.intern(name), Vendor::of(name))
    }

    /// Records a rejection or a repair.
    pub(in crate::read) fn reject(&mut self, kind: Kind, line: u64, detail: impl Into<String>) {
        self.diagnostics.add(kind, &self.label, line, detail);
    }

    /// Start of a request: never before the previous one, whatever the clock says.
    pub(super) fn no_earlier(&self, start: Millis) -> Millis {
        self.requests.last().map_or(start, |previous| start.max(previous.start))
    }

    /// Start of a request without a time, until [the others](Self::place_untimed) are known.
    pub(in crate::read) fn untimed(&mut self) -> Millis {
        self.reject(Kind::MissingTimestamp, self.line, "the request keeps its place in the file");
        Millis::UNTIMED
    }

    /// Gives requests without a time that of the request before, or else of the first one that has one.
    pub(crate) fn place_untimed(&mut self) {
        let first =
            self.requests.iter().map(|one| one.start).find(|start| *start != Millis::UNTIMED);
        let Some(mut latest) = first else { return };
        for request in &mut self.requests {
            if request.start == Millis::UNTIMED {
                request.start = latest;
                request.finished = request.finished.max(latest);
            }
            latest = request.start;
        }
    }

    pub(in crate::read) fn symbol(&mut self, text: &Text<'_>) -> Option<Symbol> {
        let text = text.as_str().filter(|text| !text.is_empty())?;
        Some(self.symbols.intern(text))
    }
}

/// Programs whose markers name no lifetime, by their code and by the lifetimes that Copilot records.
const WRITING_FOR_FIVE_MINUTES: [Client; 4] =
    [Client::Cline, Client::Roo, Client::OpenCode, Client::Copilot];

/// Largest plausible number of tokens. A larger one is damage and would only overflow sums.
const LARGEST_TOKEN_COUNT: u64 = 1_000_000_000_000;

/// Tokens of a counter that may be missing.
///
/// # Errors
/// If it is not a number of tokens.
pub(in crate::read) fn tokens(count: Count) -> Result<Option<Tokens>, Rejected> {
    match count {
        Count::Missing | Count::Null => Ok(None),
        Count::Value(value) if value <= LARGEST_TOKEN_COUNT => Ok(Some(Tokens(value))),
        Count::Value(_) | Count::Invalid => {
            Err((Kind::InvalidUsage, "a number of tokens that cannot be one"))
        }
    }
}

/// Returns true if counters report nothing, as after an abandoned request.
pub(in crate::read) fn tell_nothing(counts: &[Count]) -> bool {
    counts.iter().all(|count| matches!(count, Count::Missing | Count::Null | Count::Value(0)))
}

/// Tokens read; zero if nothing about caches is reported.
///
/// It is for clients that report caches whenever there is something to report.
pub(super) fn read_if_any(read: Count, written: Count) -> Count {
    // Writes without reads show that the reads are unknown, and not zero.
    let is_silent = read == Count::Missing && written == Count::Missing;
    if is_silent { Count::Value(0) } else { read }
}

/// Prompt with disjoint parts.
///
/// # Errors
/// If the input or the reads are unknown, or one is not a number of tokens.
pub(super) fn parts(input: Count, read: Count, written: Count) -> Result<PromptSplit, Rejected> {
    let input = tokens(input)?.ok_or((Kind::MissingUsage, "the report has no input tokens"))?;
    let read = tokens(read)?;
    let read = read.ok_or((Kind::UsageWithoutCacheCounters, "the request is left out"))?;
    // Without a lifetime five minutes are assumed (`knows_lifetime`).
    let write_5m = tokens(written)?.unwrap_or_default();
    Ok(PromptSplit { input, read, write_5m, write_1h: Tokens::ZERO })
}

/// Splits a prompt whose size includes the tokens read and written. One price applies to all writes.
///
/// # Errors
/// If the size or the reads are unknown, or more was cached than was sent.
pub(super) fn split(input: Count, read: Count, written: Count) -> Result<PromptSplit, Rejected> {
    let told = parts(input, read, written)?;
    let cached = told.cached_end();
    if cached > told.input {
        return Err((Kind::InvalidUsage, "more is cached than was sent"));
    }
    Ok(PromptSplit { input: told.input.saturating_sub(cached), ..told })
}

/// Predecessor of a request in its file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Follows {
    /// Previous request of its conversation.
    #[default]
    Previous,
    /// Another request, by its index in [`AgentFile::requests`].
    Request(usize),
    /// None: a conversation begins, or the request is outside of it.
    Nothing,
}

/// Events between a request and the previous one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Happened {
    pub(super) begins_turn: bool,
    pub(super) is_after_compaction: bool,
    pub(super) is_after_interruption: bool,
    /// Newest piece of content that was put in.
    pub(super) brought: Option<PieceId>,
}

/// Request of another agent, as its session recorded it.
#[allow(clippy::struct_excessive_bools)] // independent facts, not states of one machine
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentRequest {
    /// Program that sent it.
    pub client: Client,
    /// Line of its answer or its usage, or its number in a document.
    pub line: u64,
    /// Key that it shares with its copies in other files; `None` without one.
    pub identity: Option<EntryId>,
    /// Session; `None` if the file does not name it.
    pub session: Option<Symbol>,
    /// Sub-agent; `None` in a main conversation.
    pub agent: Option<Symbol>,
    /// Id of the answer's message, as the service gave it.
    pub message: Option<Symbol>,
    /// Id of the request, as the service gave it.
    pub request: Option<Symbol>,
    /// Purpose of the request, in the client's words; `None` if it is not recorded.
    pub query_source: Option<Symbol>,
    /// Folder of the project.
    pub project: Option<Symbol>,
    /// Version of the client.
    pub client_version: Option<Symbol>,
    /// Effort that the client asked for, if it is recorded.
    pub effort: Option<Symbol>,
    /// Mode of the client that decides on the instructions, if it is recorded.
    pub mode: Option<Symbol>,
    /// Digest of the client's permissions and folders, if they are recorded.
    pub permissions: Option<Symbol>,
    /// Model that answered.
    pub model: Symbol,
    /// Provider that the request went through, as the client names it.
    pub route: Option<Symbol>,
    /// Vendor of the service.
    pub vendor: Vendor,
    /// Start of the request: the time of the newest client entry before the answer.
    pub start: Millis,
    /// Time the usage was recorded.
    pub finished: Millis,
    /// Billed usage.
    pub usage: Usage,
    /// Reasoning tokens in the output, at most all of it.
    pub reasoning: Tokens,
    /// Request that it continues.
    pub follows: Follows,
    /// First request of a turn of the user's.
    pub begins_turn: bool,
    /// Compaction of the conversation since the previous request.
    pub is_after_compaction: bool,
    /// Unfinished answer since the previous request: it left no usage, but may have left its prompt in
    /// the cache.
    pub is_after_interruption: bool,
    /// Newest piece of content since the previous request; `None` without any, or if the client keeps
    /// none.
    pub brought: Option<PieceId>,
    /// Known written tokens. Unknown ones are in the input.
    pub knows_writes: bool,
    /// Known lifetime of the writes: the record has it, or the program writes for five minutes alone.
    ///
    /// Otherwise all writes count as written for five minutes.
    pub knows_lifetime: bool,
    /// Report of requests that other files of the program may record one by one.
    pub is_report: bool,
    /// Number of requests in the figures, if the client reports only their sum; 1 for a single request.
    pub sum_of: u32,
    /// Charge by a plan that counts credits, in billionths of an AI unit (0.01 USD).
    pub nano_aiu: Option<u64>,
    /// Cost as the client computed it, at its own list of prices.
    ///
    /// It reveals the lifetime of writes that is not recorded: a write for an hour costs more than one
    /// for five minutes.
    pub client_cost: Option<Picodollars>,
}

impl AgentRequest {
    /// Request with these facts alone.
    ///
    /// The first of the times is its start, the second the time of its usage.
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
            effort: None,
            mode: None,
            permissions: None,
            model,
            route: None,
            vendor,
            start: times.0,
            // Two clocks may disagree, but no request ends before it starts.
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

    /// Request with the events before it.
    pub(super) fn after(self, happened: Happened) -> Self {
        let Happened { begins_turn, is_after_compaction, is_after_interruption, brought } =
            happened;
        Self { begins_turn, is_after_compaction, is_after_interruption, brought, ..self }
    }
}

has_symbols!(AgentRequest {
    session, agent, message, request, query_source, project, client_version, effort, mode, permissions, model,
    route
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
