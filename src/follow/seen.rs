//! Figures that a file, or a part of one, shows.

use std::hash::{Hash as _, Hasher as _};

use rustc_hash::FxHasher;
use serde::{Deserialize, Serialize};

use crate::base::{Millis, Order as _, Picodollars, Tokens, Ttl};
use crate::explain::breaks::{Break, Cause};
use crate::explain::next::Standing;
use crate::read::input::{Diagnostics, Kind, PriceTier};
use crate::requests::conversation::{History, Request, RequestIndex};
use crate::simulate::ledger::Ledger;
use crate::simulate::pricing::{Billing, PriceContext, PriceTable};
use crate::simulate::strategy::Strategy;
use crate::study::{Study, StudyError};

/// Billing of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Billed {
    /// Hash of the identity of the request, the same in every file that has it.
    pub id: u64,
    /// Reported time of the request.
    pub at: Millis,
    /// Cost of the request, or `None` if its model has no price.
    pub cost: Option<Picodollars>,
    /// Tokens of the prompt that were read from cache.
    pub read: Tokens,
    /// All tokens of the prompt.
    pub prompt: Tokens,
}

/// A break: a request that read less than it could have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundBreak {
    /// [`id`](Billed::id) of the request.
    pub request: u64,
    /// Start time of the request.
    pub sent: Millis,
    /// Cause of the break.
    pub cause: Cause,
    /// Cost beyond that of reading, or `None` if the model has no price.
    pub excess: Option<Picodollars>,
}

/// Forecast for the next message, with nothing new in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Next {
    /// True for the main conversation, false for a sub-agent in a file of its own.
    pub is_main: bool,
    /// Model of the last request.
    pub model: String,
    /// Lifetime of the cached messages.
    pub ttl: Ttl,
    /// Time until which they can be read, if no other request reads them.
    pub warm_until: Millis,
    /// Size of the prompt.
    pub prompt: Tokens,
    /// Cost until that time, or `None` if the model has no price.
    pub warm: Option<Picodollars>,
    /// Cost after that time, if nothing can be read.
    pub cold: Option<Picodollars>,
    /// Costs of a request for a summary until and after that time, with an answer of an assumed size.
    pub compaction: [Option<Picodollars>; 2],
    /// Context window of the model in tokens, if known.
    pub window: Option<Tokens>,
}

/// Session, project and sub-agent of a file, by its last request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// Id of the session.
    pub session: String,
    /// Folder of the project as a whole path, if known.
    pub project: Option<String>,
    /// Id of the sub-agent, if all requests are a sub-agent's.
    pub agent: Option<String>,
}

impl Next {
    /// Cost of the message at another model, which has caches of its own. `None` if that model has no price.
    pub fn cold_at(&self, model: &str, at: Millis, prices: &PriceTable) -> Option<Picodollars> {
        let (prompt, tier) = (self.prompt, PriceTier::default());
        let rates = prices.rates(&PriceContext { model, at, prompt, tier })?;
        let mut billing = Billing::default();
        match self.ttl {
            Ttl::FiveMinutes => billing.write_5m = prompt,
            Ttl::OneHour => billing.write_1h = prompt,
        }
        Some(billing.cost(&rates))
    }
}

/// Numbers of mended lines whose meaning depends on other lines, by kind.
pub(super) type Repairs = [u64; REPAIRS.len()];

/// Kinds of repairs that depend on other lines.
const REPAIRS: [Kind; 6] = [
    Kind::DuplicateLine,
    Kind::DanglingParent,
    Kind::ParentCycle,
    Kind::SidechainReplay,
    Kind::MissingForkContext,
    Kind::NestedFork,
];

/// A request in a file or a part.
#[derive(Clone, Copy, Debug)]
pub(super) struct SeenRequest {
    pub(super) billed: Billed,
    /// First line of the answer, from 1 on.
    pub(super) line: u64,
    /// True if lines before the part could change the figures of the request.
    pub(super) is_alone: bool,
}

/// Figures of a file or a part.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// Requests by line.
    pub(super) requests: Vec<SeenRequest>,
    /// Breaks by time.
    pub(super) breaks: Vec<FoundBreak>,
    pub(super) next: Option<Next>,
    pub(super) about: Option<About>,
    pub(super) repairs: Repairs,
    pub(super) lines: u64,
    pub(super) bytes: u64,
    /// True for a transcript and nothing else: only a transcript can be read in parts.
    pub(super) is_divisible: bool,
}

impl Seen {
    /// Figures of a study of one file.
    ///
    /// # Errors
    /// The study was read without parts of the input that finding breaks needs.
    pub(super) fn of(study: &Study) -> Result<Self, StudyError> {
        let Study { history, selection, steps, .. } = study;
        let ledger = study.run(&[Strategy::billed(), Strategy::expected()])?;
        let found = study.breaks_among(&ledger, selection)?;
        let indices = || (0..history.requests.len()).map(RequestIndex::new);
        let mut requests: Vec<SeenRequest> = indices()
            .map(|index| {
                let request = history.request(index);
                let billed = billed(&ledger, index);
                SeenRequest { billed, line: request.line, is_alone: is_alone(history, request) }
            })
            .collect();
        requests.order_by_key(|one| one.line);
        let mut breaks: Vec<&Break> = found.list.iter().collect();
        breaks.order_by_key(|one| one.request);
        let found_break = |one: &Break| FoundBreak {
            request: id(history, history.request(one.request)),
            sent: history.request(one.request).start,
            cause: one.cause,
            excess: one.excess,
        };
        // Files may hold sub-agents as well; the next message belongs to the main conversation.
        let main = indices().rev().find(|index| history.request(*index).agent.is_none());
        let last = main.or_else(|| indices().next_back());
        let conversation = last.map(|index| history.request(index).conversation());
        let standing = conversation.and_then(|of| Standing::of(&ledger, steps, of));
        Ok(Self {
            requests,
            breaks: breaks.into_iter().map(found_break).collect(),
            next: standing.map(|standing| next(history, &standing)),
            about: last.map(|index| about(history, history.request(index))),
            repairs: repairs(&history.diagnostics),
            lines: history.lines,
            bytes: history.bytes,
            is_divisible: history.of_transcripts().len() == history.requests.len(),
        })
    }

    /// Figures of a file without a request.
    pub(super) fn of_none(history: &History) -> Self {
        Self {
            repairs: repairs(&history.diagnostics),
            lines: history.lines,
            bytes: history.bytes,
            ..Self::default()
        }
    }

    /// Index of the first request from a line on.
    pub(super) fn first_from(&self, line: u64) -> usize {
        self.requests.partition_point(|one| one.line < line)
    }
}

fn repairs(diagnostics: &Diagnostics) -> Repairs {
    REPAIRS.map(|kind| diagnostics.count(kind))
}

fn billed(ledger: &Ledger<'_>, index: RequestIndex) -> Billed {
    let request = ledger.history.request(index);
    let totals = ledger.billed().map(|column| ledger.totals(column, [index])).unwrap_or_default();
    Billed {
        id: id(ledger.history, request),
        at: request.time(),
        cost: totals.cost(),
        read: totals.read,
        prompt: totals.prompt(),
    }
}

/// Identity of a request in all files: ids of message and request, else session and place.
fn id(history: &History, request: &Request) -> u64 {
    let mut hasher = FxHasher::default();
    if let Some(message) = request.message {
        (history.symbols.text(message), history.text(request.request)).hash(&mut hasher);
    } else {
        let session = history.symbols.text(request.session);
        let label = &history.files[request.file].label;
        (session, history.text(request.agent), label, request.line).hash(&mut hasher);
    }
    hasher.finish()
}

/// Returns true if a request does not simply continue an earlier one. The first request of a sub-agent may even turn
/// those of earlier sub-agents into breaks.
fn is_alone(history: &History, request: &Request) -> bool {
    let previous = history.predecessor(request);
    request.between.has_hole || previous.is_none_or(|previous| request.model != previous.model)
}

fn next(history: &History, standing: &Standing<'_>) -> Next {
    let prompt = standing.least_prompt();
    Next {
        is_main: standing.request().agent.is_none(),
        model: history.symbols.text(standing.request().model).to_owned(),
        ttl: standing.ttl(),
        warm_until: standing.warm_until(),
        prompt,
        warm: standing.cost(standing.warm(prompt)),
        cold: standing.cost(standing.cold(prompt)),
        compaction: standing.compaction(),
        window: history.facts(standing.request().model).window,
    }
}

fn about(history: &History, last: &Request) -> About {
    About {
        session: history.symbols.text(last.session).to_owned(),
        project: history.text(last.project).map(str::to_owned),
        agent: history.text(last.agent).map(str::to_owned),
    }
}
