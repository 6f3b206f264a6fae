//! A rollout's requests.

use std::sync::Arc;

use crate::base::id::{Symbol, Symbols};
use crate::base::units::{Millis, Tokens};
use crate::read::input::Diagnostics;

/// The content of one rollout.
#[derive(Debug)]
pub struct Rollout {
    /// The file's name.
    pub label: Arc<str>,
    /// The session's id, as its first line has it.
    pub session: Option<Symbol>,
    /// The session it was forked from, whose lines it may repeat.
    pub forked_from: Option<Symbol>,
    /// Its requests, in file order.
    pub requests: Vec<RolloutRequest>,
    /// The strings the requests name.
    pub symbols: Symbols,
    /// Reports of usage that repeat the one before: of a request that failed, or of none.
    pub repeated: u64,
    /// Reports without usage, which only tell of rate limits.
    pub without_usage: u64,
    /// What was rejected or repaired.
    pub diagnostics: Diagnostics,
    /// Bytes read, after decompression.
    pub bytes: u64,
    /// Lines read.
    pub lines: u64,
}

/// A request, as the report of its usage shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RolloutRequest {
    /// The line of the report.
    pub line: u64,
    /// When it was sent: the time of the newest entry of the client's before the answer.
    pub start: Millis,
    /// The model of its turn.
    pub model: Symbol,
    /// `input_tokens`: the whole prompt.
    pub input: Tokens,
    /// `cached_input_tokens`: what of it was read from cache.
    pub cached: Option<Tokens>,
    /// `cache_write_input_tokens`, which only later clients report.
    pub written: Option<Tokens>,
    /// `output_tokens`, reasoning among them.
    pub output: Tokens,
    /// `reasoning_output_tokens`.
    pub reasoning: Tokens,
    /// Whether it is the first one of a turn of the user's.
    pub begins_turn: bool,
    /// Whether the conversation was compacted since the request before.
    pub is_after_compaction: bool,
    /// Whether an answer began and was not finished since the request before: a request that left
    /// no usage, but may have left its prompt in the cache.
    pub is_after_interruption: bool,
}
