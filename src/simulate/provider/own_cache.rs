//! Caches that are not Anthropic's behind names of Claude's models, told by the answers of transcripts.
//!
//! A gateway may serve another model, or another cache. Nothing is known of its rules, so its requests stay as
//! recorded.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::base::{Client, Symbol, Tokens};
use crate::requests::conversation::{History, Request, RequestIndex};

/// Reason not to simulate such requests, in words.
pub(crate) const OWN_CACHE: &str =
    "the answers report no write, or read in steps of 128: it is not Anthropic's cache";

/// Distance in tokens of the reads of caches without markers.
const STEP: u64 = 128;

/// Least number of different reads that show such steps: of this many chance makes one in two million.
const LEAST_READS: usize = 3;

/// Least number of answers that show that writes are not reported.
const LEAST_ANSWERS: u32 = 3;

/// Reads and writes of a model's answers in a session.
#[derive(Default)]
struct Answers {
    count: u32,
    has_written: bool,
    is_off_steps: bool,
    reads: FxHashSet<Tokens>,
}

impl Answers {
    fn add(&mut self, request: &Request) {
        let prompt = &request.recorded().prompt;
        self.count += 1;
        self.has_written |= prompt.written() > Tokens::ZERO;
        self.is_off_steps |= !prompt.read.0.is_multiple_of(STEP);
        if prompt.read > Tokens::ZERO && self.reads.len() < LEAST_READS {
            self.reads.insert(prompt.read);
        }
    }

    fn are_of_own_cache(&self) -> bool {
        let never_write = !self.has_written && self.count >= LEAST_ANSWERS;
        let are_in_steps = !self.is_off_steps && self.reads.len() >= LEAST_READS;
        !self.reads.is_empty() && (never_write || are_in_steps)
    }
}

/// Requests of transcripts to a model whose answers in their session never report a write although they read, or
/// whose reads there are steps of one size apart.
pub(crate) fn of_own_caches(history: &History) -> FxHashSet<RequestIndex> {
    let own = || {
        let requests = history.of_transcripts().iter().enumerate();
        requests.filter(|(_, one)| one.client == Client::ClaudeCode)
    };
    let mut answers: FxHashMap<(Symbol, Symbol), Answers> = FxHashMap::default();
    for (_, request) in own() {
        answers.entry((request.session, request.model)).or_default().add(request);
    }
    answers.retain(|_, answers| answers.are_of_own_cache());
    let is_such = |one: &Request| answers.contains_key(&(one.session, one.model));
    let found = own().filter(|(_, one)| !answers.is_empty() && is_such(one));
    found.map(|(index, _)| RequestIndex::new(index)).collect()
}
