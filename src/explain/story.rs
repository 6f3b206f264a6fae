//! Story of one request: its new content, the prefix cached before it, and its outcome under every strategy.
//!
//! Also finds the request that a name refers to.

use std::collections::BTreeSet;

use crate::base::project::ProjectNames;
use crate::base::{
    Basis, ByKey, Millis, Order as _, Ordered as _, ProjectNaming, Tokens, Ttl, counted, nearest,
    suggestion,
};
use crate::explain::analysis::{Event, Turn};
use crate::explain::breaks::Break;
use crate::explain::context::ContextKind;
use crate::requests::conversation::{History, Request, RequestIndex};
use crate::simulate::ledger::{Expiry, Ledger, Row, Selection, Session, StrategyColumn, Totals};

/// Everything known of a request.
#[derive(Clone, Debug)]
pub struct Story<'a> {
    /// Request, and its place in its session.
    pub located: LocatedRequest<'a>,
    /// Time from the start of the previous request to its own, in milliseconds.
    pub gap: Option<i64>,
    /// Content that the client added since, by kind, in the order of the lines; empty if no line shows any.
    pub new_content: Vec<NewContent>,
    /// Tokens of the added content, or `None` if unknown.
    pub added: Option<Tokens>,
    /// Prefix that the previous request had left in the cache.
    pub cached: Option<CachedPrompt>,
    /// Outcome under each strategy, in the order of the columns.
    pub under: Vec<Under<'a>>,
    /// Break at the request: tokens that it could have read but did not, with the causes.
    pub lost: Option<&'a Break>,
}

/// New content of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewContent {
    /// Kind of the content.
    pub kind: ContextKind,
    /// Number of pieces.
    pub pieces: u64,
    /// Size in bytes of JSON; zero for media, whose size is unknown.
    pub bytes: u64,
    /// Line numbers, in ascending order.
    pub lines: Vec<u64>,
}

/// Prefix that a request left in the cache.
#[derive(Clone, Copy, Debug)]
pub struct CachedPrompt {
    /// Request that left the prefix.
    pub by: RequestIndex,
    /// Tokens that it had read and written, less those deleted since.
    pub tokens: Tokens,
    /// Basis of the tokens: without a usage they follow from the rules.
    pub basis: Basis,
    /// TTL of its messages, and the time at which it ends, if known.
    pub lifetime: Option<(Ttl, Millis)>,
}

/// Outcome of the request under a strategy.
#[derive(Clone, Debug)]
pub struct Under<'a> {
    /// Name of the strategy.
    pub strategy: &'a str,
    /// Row of the request itself, if any.
    pub row: Option<Row<'a>>,
    /// Sum of all rows, with earlier samplings and the requests that the strategy adds.
    pub totals: Totals,
    /// Events, most important first.
    pub events: Vec<Event>,
    /// Expiry of its conversation's cache, if it had expired.
    pub expiry: Option<Expiry>,
    /// Tokens that it reads less than the previous request had read and written under the strategy.
    pub shortfall: Option<Tokens>,
}

/// Tells the story of a request, with the breaks of the selection.
pub fn story<'a>(
    ledger: &'a Ledger<'_>,
    located: LocatedRequest<'a>,
    breaks: &'a [Break],
) -> Story<'a> {
    let (history, steps) = (ledger.history, ledger.steps);
    let index = located.index;
    let lost = breaks.iter().find(|found| found.request == index);
    let turn = Turn::recorded(ledger, index, lost);
    let under = ledger.columns.iter().map(|column| under(ledger, column, &turn));
    Story {
        located,
        gap: steps[index.get()].gap,
        new_content: new_content(history, index),
        added: turn.added,
        cached: cached(ledger, index),
        under: under.collect(),
        lost,
    }
}

fn new_content(history: &History, index: RequestIndex) -> Vec<NewContent> {
    let request = history.request(index);
    let mut by_kind: ByKey<ContextKind, NewContent> = ByKey::new();
    for (line, content) in history.contents_before(request) {
        let kind = ContextKind::of(content.source, &history.symbols);
        let empty = || NewContent { kind, pieces: 0, bytes: 0, lines: Vec::new() };
        let known = by_kind.entry(kind).or_insert_with(empty);
        known.pieces += 1;
        known.bytes += content.size.bytes();
        known.lines.push(line);
    }
    let mut all: Vec<NewContent> = by_kind.into_values().collect();
    for one in &mut all {
        one.lines.sort_unstable();
        one.lines.dedup();
    }
    all.order_by_key(|one| one.lines.first().copied());
    all
}

fn cached(ledger: &Ledger<'_>, index: RequestIndex) -> Option<CachedPrompt> {
    let step = &ledger.steps[index.get()];
    let by = step.predecessor?;
    let sent = ledger.history.request(by).start;
    let until = |ttl: Ttl| (ttl, Millis::new(sent.get().saturating_add(ttl.millis())));
    let is_recorded = ledger.history.request(by).usage.is_some();
    let by_rules = ledger.expected().filter(|_| !is_recorded);
    let by_rules = by_rules.and_then(|column| ledger.row_tokens(column, by)).map(|row| {
        let billing = row.billing;
        (billing.read + billing.write_5m + billing.write_1h).saturating_sub(step.deleted)
    });
    let (tokens, basis) = match by_rules {
        Some(tokens) => (tokens, Basis::Derived),
        None => (step.previous_end, Basis::Measured),
    };
    // Nothing is known of the lifetimes of another cache.
    let ttl = step.predecessor_ttl.filter(|_| !ledger.has_own_cache(index));
    Some(CachedPrompt { by, tokens, basis, lifetime: ttl.map(until) })
}

fn under<'a>(ledger: &'a Ledger<'_>, column: &'a StrategyColumn, recorded: &Turn) -> Under<'a> {
    let (index, turn) = (recorded.request, recorded.under(ledger, column));
    Under {
        strategy: &column.strategy.name,
        row: ledger.row(column, index),
        totals: ledger.totals(column, [index]),
        events: turn.events,
        expiry: ledger.expiry(column, index),
        shortfall: ledger.shortfall(column, index),
    }
}

/// Most candidates that an error lists.
const MOST_LISTED: usize = 5;

/// Place of a request in its session.
#[derive(Clone, Copy, Debug)]
pub struct LocatedRequest<'a> {
    /// Index of the request.
    pub index: RequestIndex,
    /// Session of the request.
    pub session: &'a Session,
    /// Number of the request in the session, counted from 1 as in the table of turns.
    pub turn: usize,
}

/// Reason that a name refers to no request, or to several.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LocateError {
    /// A name that nothing has.
    #[error("no request is called `{name}`: write a request id, FILE:LINE or SESSION:TURN{}", suggested(.nearest))]
    Unknown {
        /// Name as asked for.
        name: String,
        /// Ids nearest to the name.
        nearest: Vec<String>,
    },
    /// A name that ends like a line of a file or a turn of a session, with an unknown file or session.
    #[error("`{name}`: no file and no session of the input is called `{of}`{}; give the whole path of a file, or as PATH where it is", suggested(.nearest))]
    UnknownPlace {
        /// Name as asked for.
        name: String,
        /// File or session in the name.
        of: String,
        /// Files and sessions nearest to it.
        nearest: Vec<String>,
    },
    /// A name that matches several files.
    #[error("`{name}` is in {}: {}; give more of the path", counted(*.count as u64, "file", "files"), .candidates.join(", "))]
    AmbiguousFile {
        /// Name as asked for.
        name: String,
        /// Number of files that match.
        count: usize,
        /// Labels of the first of them.
        candidates: Vec<String>,
    },
    /// A name that matches several requests.
    #[error("`{name}` is the beginning of {}: {}; give more of it", counted(*.count as u64, "request", "requests"), .candidates.join(", "))]
    Ambiguous {
        /// Name as asked for.
        name: String,
        /// Number of requests that match.
        count: usize,
        /// Ids of the first matches.
        candidates: Vec<String>,
    },
    /// A line after the last request of its file.
    #[error(
        "`{name}`: the last request of this file begins on line {last}; give this line, or one before it"
    )]
    NoLine {
        /// Name as asked for.
        name: String,
        /// Line on which the last request begins.
        last: u64,
    },
    /// A file without any request that is asked for.
    #[error(
        "`{name}`: no request that is asked for is in {file}; give another file, or fewer filters"
    )]
    NoRequest {
        /// Name as asked for.
        name: String,
        /// Label of the file.
        file: String,
    },
    /// A turn that its session does not have.
    #[error("`{name}`: session {session} has {}; give the number of one", counted(*.turns as u64, "turn", "turns"))]
    NoTurn {
        /// Name as asked for.
        name: String,
        /// Id of the session.
        session: String,
        /// Number of turns of the session.
        turns: usize,
    },
}

impl LocateError {
    /// Joins the errors of a search in two histories: the error about a match in either of them, else the
    /// nearest names of both.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Unknown { name, nearest: one }, Self::Unknown { nearest: other, .. }) => {
                let nearest = nearest_of_all(&name, one, other);
                Self::Unknown { name, nearest }
            }
            (
                Self::UnknownPlace { name, of, nearest: one },
                // A place in one history is a better answer than the ids nearest in the other.
                Self::UnknownPlace { nearest: other, .. },
            ) => {
                let nearest = nearest_of_all(&of, one, other);
                Self::UnknownPlace { name, of, nearest }
            }
            (Self::Unknown { .. } | Self::UnknownPlace { .. }, other) => other,
            (own, _) => own,
        }
    }
}

/// Names nearest to a name among the nearest ones of two histories.
fn nearest_of_all(name: &str, one: Vec<String>, other: Vec<String>) -> Vec<String> {
    let all: Vec<String> = one.into_iter().chain(other).collect();
    nearest(name, all.iter().map(String::as_str)).into_iter().map(str::to_owned).collect()
}

fn suggested(nearest: &[String]) -> String {
    suggestion(&nearest.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Finds the selected request with a name.
///
/// A name is the id of a request or of its answer, or a prefix of one; `FILE:LINE`, the first request at or
/// after that line; or `SESSION:TURN`.
///
/// # Errors
/// No request, or several, have this name.
pub fn locate<'a>(
    history: &History,
    selection: &'a Selection,
    name: &str,
) -> Result<LocatedRequest<'a>, LocateError> {
    let by_id = by_id(history, selection, name)?;
    let number = name.rsplit_once(':').and_then(|(of, number)| Some((of, number.parse().ok()?)));
    if let Some(located) = by_id {
        return Ok(located);
    }
    if let Some((file, line)) = number
        && let Some(located) = by_line(history, selection, name, file, line)?
    {
        return Ok(located);
    }
    if let Some((session, turn)) = number
        && let Some(located) = by_turn(history, selection, name, session, turn)?
    {
        return Ok(located);
    }
    if let Some((of, _)) = number {
        let names = all(selection)
            .map(|located| &*history.files[history.request(located.index).file].label);
        let names = names.chain(selection.sessions.iter().map(|one| history.symbols.text(one.id)));
        let nearest = nearest(of, names).into_iter().map(str::to_owned).collect();
        return Err(LocateError::UnknownPlace {
            name: name.to_owned(),
            of: of.to_owned(),
            nearest,
        });
    }
    let ids = selection.requests().filter_map(|index| {
        let request = history.request(index);
        history.text(request.request.or(request.message))
    });
    let nearest = nearest(name, ids).into_iter().map(str::to_owned).collect();
    Err(LocateError::Unknown { name: name.to_owned(), nearest })
}

/// Returns true if a request or its answer has exactly this id.
pub fn has_id(history: &History, index: RequestIndex, id: &str) -> bool {
    let request = history.request(index);
    [request.request, request.message].into_iter().any(|own| history.text(own) == Some(id))
}

/// Every selected request, with its session and turn.
fn all(selection: &Selection) -> impl Iterator<Item = LocatedRequest<'_>> {
    selection.sessions.iter().flat_map(|session| {
        let turns = session.requests.iter().enumerate();
        turns.map(move |(place, index)| LocatedRequest { index: *index, session, turn: place + 1 })
    })
}

fn by_id<'a>(
    history: &History,
    selection: &'a Selection,
    name: &str,
) -> Result<Option<LocatedRequest<'a>>, LocateError> {
    if name.is_empty() {
        return Ok(None);
    }
    let ids = |request: &Request| {
        [request.request, request.message].map(|id| history.text(id).unwrap_or_default())
    };
    let is = |located: &LocatedRequest<'_>, has: &dyn Fn(&str) -> bool| {
        ids(history.request(located.index)).into_iter().any(has)
    };
    // An exact id wins, as it may also be the beginning of longer ones.
    if let Some(exact) = all(selection).find(|one| is(one, &|id| id == name)) {
        return Ok(Some(exact));
    }
    let begun: Vec<LocatedRequest<'a>> =
        all(selection).filter(|one| is(one, &|id| id.starts_with(name))).collect();
    match begun.as_slice() {
        [] => Ok(None),
        [one] => Ok(Some(*one)),
        several => {
            let id = |one: &LocatedRequest<'_>| {
                ids(history.request(one.index)).into_iter().find(|id| id.starts_with(name))
            };
            let candidates = several.iter().filter_map(id).take(MOST_LISTED).map(str::to_owned);
            Err(LocateError::Ambiguous {
                name: name.to_owned(),
                count: several.len(),
                candidates: candidates.collect(),
            })
        }
    }
}

/// End of a name whose beginning a table cut off, or `None` if the name is whole.
fn without_ellipsis(name: &str) -> Option<&str> {
    name.strip_prefix('…').or_else(|| name.strip_prefix("..."))
}

/// Indices of the files that a name may mean: by label, by label under another naming of projects, or by a
/// longer path.
fn files_called(history: &History, name: &str) -> BTreeSet<usize> {
    // The name may come from an output with hashed project names.
    let hashed = ProjectNaming { names: ProjectNames::Hash, ..history.naming.clone() };
    let asked = [name.to_owned(), history.naming.label(name)];
    let is_called = |label: &str| match without_ellipsis(name) {
        Some(end) => !end.is_empty() && label.ends_with(end),
        None => !name.is_empty() && asked.iter().any(|asked| is_end_of(label, asked)),
    };
    let files = history.files.iter().enumerate();
    let called =
        files.filter(|(_, file)| is_called(&file.label) || is_called(&hashed.label(&file.label)));
    called.map(|(place, _)| place).collect()
}

/// Returns true if one of two paths is the other, or its last parts.
fn is_end_of(one: &str, other: &str) -> bool {
    let before = one.strip_suffix(other).or_else(|| other.strip_suffix(one));
    before.is_some_and(|before| before.is_empty() || before.ends_with('/'))
}

fn by_line<'a>(
    history: &History,
    selection: &'a Selection,
    name: &str,
    file: &str,
    line: u64,
) -> Result<Option<LocatedRequest<'a>>, LocateError> {
    let called = files_called(history, file);
    let begins = |located: &LocatedRequest<'_>| history.request(located.index).line;
    let label =
        |located: &LocatedRequest<'_>| &*history.files[history.request(located.index).file].label;
    let is_of_file =
        |located: &LocatedRequest<'_>| called.contains(&history.request(located.index).file);
    let of_file = || all(selection).filter(is_of_file);
    let files: Vec<&str> = of_file().map(|located| label(&located)).ordered();
    // A whole label is not ambiguous, even if other labels end with it.
    if files.len() > 1 && files.binary_search(&file).is_err() {
        let candidates = files.iter().take(MOST_LISTED).map(|&file| file.to_owned()).collect();
        return Err(LocateError::AmbiguousFile {
            name: name.to_owned(),
            count: files.len(),
            candidates,
        });
    }
    let of_file = || of_file().filter(|located| files.len() == 1 || label(located) == file);
    let found = of_file().filter(|located| begins(located) >= line).min_by_key(begins);
    let last = of_file().map(|located| begins(&located)).max();
    match (found, last, called.first()) {
        (None, Some(last), _) => Err(LocateError::NoLine { name: name.to_owned(), last }),
        (None, None, Some(file)) => Err(LocateError::NoRequest {
            name: name.to_owned(),
            file: history.files[*file].label.to_string(),
        }),
        (found, ..) => Ok(found),
    }
}

fn by_turn<'a>(
    history: &History,
    selection: &'a Selection,
    name: &str,
    session: &str,
    turn: u64,
) -> Result<Option<LocatedRequest<'a>>, LocateError> {
    let id = |one: &&Session| history.symbols.text(one.id);
    let end = without_ellipsis(session);
    let is_meant = |one: &&Session| match end {
        Some(end) => !end.is_empty() && id(one).ends_with(end),
        None => !session.is_empty() && id(one).starts_with(session),
    };
    let meant: Vec<&Session> = selection.sessions.iter().filter(is_meant).collect();
    let exact = meant.iter().copied().find(|one| id(one) == session);
    let session = match (exact, meant.as_slice()) {
        (Some(exact), _) => exact,
        (None, []) => return Ok(None),
        (None, [one]) => one,
        (None, several) => {
            let candidates = several.iter().take(MOST_LISTED).map(|one| id(one).to_owned());
            return Err(LocateError::Ambiguous {
                name: name.to_owned(),
                count: several.iter().map(|one| one.requests.len()).sum(),
                candidates: candidates.collect(),
            });
        }
    };
    let place = usize::try_from(turn).ok().and_then(|turn| turn.checked_sub(1));
    let found = place.and_then(|place| Some((place, *session.requests.get(place)?)));
    let (place, index) = found.ok_or_else(|| LocateError::NoTurn {
        name: name.to_owned(),
        session: id(&session).to_owned(),
        turns: session.requests.len(),
    })?;
    Ok(Some(LocatedRequest { index, session, turn: place + 1 }))
}
