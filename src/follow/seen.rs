//! What a file, or a part of one, shows.

use std::hash::{Hash as _, Hasher as _};

use rustc_hash::FxHasher;
use serde::{Deserialize, Serialize};

use crate::base::order::Order as _;
use crate::base::ttl::Ttl;
use crate::base::units::{Millis, Picodollars, Tokens};
use crate::explain::breaks::{Break, Cause};
use crate::explain::next::Standing;
use crate::read::input::{Diagnostics, Kind, PriceTier};
use crate::requests::conversation::{History, Request, RequestIndex};
use crate::simulate::ledger::Ledger;
use crate::simulate::pricing::{Billing, PriceContext, PriceTable};
use crate::simulate::strategy::Strategy;
use crate::study::{Study, StudyError};

/// What was billed for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Billed {
    /// A hash of what identifies it in every file that has it.
    pub id: u64,
    /// When it is reported to have happened.
    pub at: Millis,
    /// What it cost, or `None` where its model has no price.
    pub cost: Option<Picodollars>,
    /// The tokens of prompts that were read.
    pub read: Tokens,
    /// All tokens of prompts.
    pub prompt: Tokens,
}

/// A request that read less than it could have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundBreak {
    /// The [`id`](Billed::id) of the request.
    pub request: u64,
    /// When it was sent.
    pub sent: Millis,
    /// Its cause.
    pub cause: Cause,
    /// What it cost beyond reading, or `None` where its model has no price.
    pub excess: Option<Picodollars>,
}

/// What the next message costs, with nothing new in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Next {
    /// Whether it is one of the main conversation, and not of a sub-agent in a file of its own.
    pub is_main: bool,
    /// The model of the last request.
    pub model: String,
    /// The lifetime of its messages.
    pub ttl: Ttl,
    /// Until when they can be read, as far as no other request reads them.
    pub warm_until: Millis,
    /// The size of the prompt.
    pub prompt: Tokens,
    /// Its cost until then, or `None` where the model has no price.
    pub warm: Option<Picodollars>,
    /// Its cost after that, where nothing of it can be read.
    pub cold: Option<Picodollars>,
    /// What a request for a summary costs until then and after that, with an answer of an assumed size.
    pub compaction: [Option<Picodollars>; 2],
    /// The most tokens that the model takes, where that is known.
    pub window: Option<Tokens>,
}

/// Whose requests a file has, by its last one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// The id of the session.
    pub session: String,
    /// The folder of the project, where that is known: the whole path.
    pub project: Option<String>,
    /// The id of the sub-agent, where all requests are a sub-agent's.
    pub agent: Option<String>,
}

impl Next {
    /// What the message costs where it goes to another model, which has caches of its own. `None` where that has no price.
    #[must_use]
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

/// How many lines were mended whose meaning depends on other lines.
pub(super) type Repairs = [u64; REPAIRS.len()];

/// The kinds of such lines.
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
    /// The line where its answer begins, counted from 1.
    pub(super) line: u64,
    /// Whether lines before the part could say more of it.
    pub(super) is_alone: bool,
}

/// What a file or a part shows.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// By their lines.
    pub(super) requests: Vec<SeenRequest>,
    /// By time.
    pub(super) breaks: Vec<FoundBreak>,
    pub(super) next: Option<Next>,
    pub(super) about: Option<About>,
    pub(super) repairs: Repairs,
    pub(super) lines: u64,
    pub(super) bytes: u64,
    /// Whether it is a transcript and nothing else, of which a part can be read.
    pub(super) is_divisible: bool,
}

impl Seen {
    /// Of a study of one file.
    ///
    /// # Errors
    /// Nothing that finding breaks needs may have been left out of it.
    pub(super) fn of(study: &Study) -> Result<Self, StudyError> {
        let Study { history, selection, steps, .. } = study;
        let ledger = study.run(&[Strategy::billed(), Strategy::expected()])?;
        let found = study.breaks_among_in(&ledger, selection)?;
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

    /// Of a file without a request.
    pub(super) fn of_none(history: &History) -> Self {
        Self {
            repairs: repairs(&history.diagnostics),
            lines: history.lines,
            bytes: history.bytes,
            ..Self::default()
        }
    }

    /// The place in the list of the first request from a line on.
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

/// The same in every file: by the ids of message and request, else by the session and the place.
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

/// Whether it does not simply go on from a request before it. A sub-agent's first request may even show that those of
/// earlier ones were breaks.
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
