//! Selection and order of the reported requests; the cache is simulated over all requests.
//!
//! People choose requests by names, which are looked up in the history. An unknown name is an error
//! that lists the nearest ones.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::base::{ByKey, Client, Millis, Symbol, counted, nearest, suggestion};
use crate::requests::conversation::{History, Request, RequestIndex, project_names};

/// Reported requests of a session.
#[derive(Clone, Debug)]
pub struct Session {
    /// `sessionId` of the session.
    pub id: Symbol,
    /// Requests in the order of their answers (captured ones of their starts), including those of sub-agents.
    pub requests: Vec<RequestIndex>,
}

impl Session {
    /// Files of the session, as indexes into those of the history, in the order of its requests.
    pub fn files(&self, history: &History) -> Vec<usize> {
        let mut known: FxHashSet<usize> = FxHashSet::default();
        let files = self.requests.iter().map(|index| history.request(*index).file);
        files.filter(|file| known.insert(*file)).collect()
    }
}

/// Reported requests by session, ordered by the start of the session.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Reported sessions.
    pub sessions: Vec<Session>,
}

impl Selection {
    /// Selects the requests answered from `since` on and before `until`.
    pub fn new(history: &History, since: Option<Millis>, until: Option<Millis>) -> Self {
        Self::of(history, |request| {
            let is_early = since.is_some_and(|since| request.time() < since);
            let is_late = until.is_some_and(|until| request.time() >= until);
            !is_early && !is_late
        })
    }

    /// Selects the requests that meet a condition.
    pub fn of(history: &History, is_selected: impl Fn(&Request) -> bool) -> Self {
        let mut sessions: Vec<Session> = Vec::new();
        let mut by_id: FxHashMap<Symbol, usize> = FxHashMap::default();
        for (index, request) in history.requests.iter().enumerate() {
            if !is_selected(request) {
                continue;
            }
            let place = *by_id.entry(request.session).or_insert_with(|| {
                sessions.push(Session { id: request.session, requests: Vec::new() });
                sessions.len() - 1
            });
            sessions[place].requests.push(RequestIndex::new(index));
        }
        for session in &mut sessions {
            // Captured requests have a start. Requests of transcripts only have the time of the answer.
            session.requests.sort_by_key(|index| {
                let request = history.request(*index);
                let at = if history.is_captured(*index) { request.start } else { request.time() };
                (at, *index)
            });
        }
        Self { sessions }
    }

    /// Drops the requests of rewound branches, and sessions that have no others.
    #[must_use]
    pub fn live(mut self, history: &History) -> Self {
        for session in &mut self.sessions {
            session.requests.retain(|index| history.request(*index).is_live);
        }
        self.sessions.retain(|session| !session.requests.is_empty());
        self
    }

    /// Every reported request, by session.
    pub fn requests(&self) -> impl Iterator<Item = RequestIndex> + '_ {
        self.sessions.iter().flat_map(|session| session.requests.iter().copied())
    }

    /// Returns true if nothing is reported.
    pub fn is_empty(&self) -> bool {
        self.sessions.is_empty()
    }
}

/// Largest number of names in a list.
const MOST_LISTED: usize = 10;

/// Name of main conversations among agents.
pub const MAIN_AGENT: &str = "main";

/// Conditions on the reported requests.
///
/// Empty lists leave nothing out. The names in a list are alternatives.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Programs that sent the requests.
    pub sources: Vec<Client>,
    /// Sessions: ids, prefixes of ids, or their ends after a `…`.
    pub sessions: Vec<String>,
    /// Projects: names, folders, or parts of names.
    pub projects: Vec<String>,
    /// Models: names or parts of them.
    pub models: Vec<String>,
    /// Branches: names or parts of them.
    pub branches: Vec<String>,
    /// Agents: `main`, types, ids or prefixes of ids.
    pub agents: Vec<String>,
    /// First moment of the answers.
    pub since: Option<Millis>,
    /// Moment after the last answers.
    pub until: Option<Millis>,
}

/// Reason for which nothing is selected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FilterError {
    /// A name that matches nothing in the input.
    #[error("--{option}: `{name}` is not in the input, which has {}{}", named_things(*.count, .option), nearest_of(.nearest))]
    Unknown {
        /// Name of the option.
        option: &'static str,
        /// Unknown name.
        name: String,
        /// Number of names in the input.
        count: usize,
        /// Names nearest to the unknown one.
        nearest: Vec<String>,
    },
    /// A prefix of several names.
    #[error("--{option}: `{name}` is the beginning or end of {}: {}; give more of it", named_things(*.count, .option), listed(.candidates, *.count))]
    Ambiguous {
        /// Name of the option.
        option: &'static str,
        /// Ambiguous prefix.
        name: String,
        /// Number of names that begin with it.
        count: usize,
        /// First few of these names.
        candidates: Vec<String>,
    },
    /// No request within the selection of the names.
    #[error("no request {}; {of} has {}, answered from {first} to {last} ({zone})", .options.join(" and "), counted(*.requests, "request", "requests"))]
    Nothing {
        /// Options that together leave everything out.
        options: Vec<&'static str>,
        /// Part of the input that was searched.
        of: &'static str,
        /// Number of its requests.
        requests: u64,
        /// Time of the first answer.
        first: String,
        /// Time of the last answer.
        last: String,
        /// Time zone of both.
        zone: String,
    },
}

fn nearest_of(nearest: &[String]) -> String {
    suggestion(&nearest.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Count and noun: `1 session`, `2 branches`.
fn named_things(count: usize, option: &str) -> String {
    let plural = if option.ends_with("ch") { "es" } else { "s" };
    match count {
        0 => format!("no {option}{plural}"),
        count => counted(count as u64, option, &format!("{option}{plural}")),
    }
}

fn listed(candidates: &[String], count: usize) -> String {
    let more = count - candidates.len();
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    format!("{}{more}", candidates.join(", "))
}

impl FilterError {
    fn unknown(option: &'static str, name: &str, names: &Names<'_>) -> Self {
        Self::Unknown {
            option,
            name: name.to_owned(),
            count: names.len(),
            nearest: names.nearest(name),
        }
    }

    fn ambiguous(option: &'static str, name: &str, mut candidates: Vec<String>) -> Self {
        let count = candidates.len();
        candidates.truncate(MOST_LISTED);
        Self::Ambiguous { option, name: name.to_owned(), count, candidates }
    }
}

impl Filter {
    /// Selects the requests that meet all conditions.
    ///
    /// # Errors
    /// A name matches nothing or too much, or no request is left.
    pub fn select(&self, history: &History) -> Result<Selection, FilterError> {
        let chosen = self.chosen(history)?;
        let selection =
            Selection::of(history, |request| chosen.has(request) && self.has_time(request));
        if selection.is_empty() {
            return Err(self.nothing(history, &chosen));
        }
        Ok(selection)
    }

    fn has_time(&self, request: &Request) -> bool {
        let at = request.time();
        self.since.is_none_or(|since| at >= since) && self.until.is_none_or(|until| at < until)
    }

    fn chosen(&self, history: &History) -> Result<Chosen, FilterError> {
        // Names of projects are derived from all of the history, which no other filter needs.
        let is_by_project = !self.projects.is_empty();
        let projects = if is_by_project { project_names(history) } else { ByKey::new() };
        Ok(Chosen {
            sources: (!self.sources.is_empty()).then(|| self.sources.clone()),
            sessions: sessions(&self.sessions, history)?,
            projects: named(&self.projects, "project", || projects_of(history, &projects))?,
            models: named(&self.models, "model", || {
                Names::of(history, |request| Some(request.model))
            })?,
            branches: named(&self.branches, "branch", || {
                Names::of(history, |request| request.branch)
            })?,
            agents: agents(&self.agents, history)?,
        })
    }

    /// Error for an empty selection, with the number and times of the requests that the names
    /// select, else of all.
    fn nothing(&self, history: &History, chosen: &Chosen) -> FilterError {
        let times = |is_named: bool| {
            let requests = history.requests.iter();
            let kept = requests.filter(move |request| !is_named || chosen.has(request));
            kept.map(Request::time).collect::<Vec<_>>()
        };
        let named = times(true);
        // If the names leave nothing, the times are not the reason, and the whole input is shown.
        let (times, options, of) = if named.is_empty() {
            (times(false), chosen.options(), "the input")
        } else {
            let limits = [("since --since", self.since), ("before --until", self.until)];
            let given = limits.into_iter().filter(|(_, limit)| limit.is_some());
            let of = if chosen.options().is_empty() { "the input" } else { "what is selected" };
            (named, given.map(|(words, _)| words).collect(), of)
        };
        let shown = |at: Option<&Millis>| at.map(|at| history.zone.moment(*at)).unwrap_or_default();
        FilterError::Nothing {
            options,
            of,
            requests: times.len() as u64,
            first: shown(times.iter().min()),
            last: shown(times.iter().max()),
            zone: history.zone.name().to_owned(),
        }
    }
}

/// Symbols of a filter's names, or `None` without names.
#[derive(Debug)]
struct Chosen {
    sources: Option<Vec<Client>>,
    sessions: Option<FxHashSet<Symbol>>,
    projects: Option<FxHashSet<Symbol>>,
    models: Option<FxHashSet<Symbol>>,
    branches: Option<FxHashSet<Symbol>>,
    /// `None` in the set is the main conversation.
    agents: Option<FxHashSet<Option<Symbol>>>,
}

impl Chosen {
    fn has(&self, request: &Request) -> bool {
        let is_among = |chosen: &Option<FxHashSet<Symbol>>, own: Option<Symbol>| {
            chosen.as_ref().is_none_or(|chosen| own.is_some_and(|own| chosen.contains(&own)))
        };
        self.sources.as_ref().is_none_or(|sources| sources.contains(&request.client))
            && is_among(&self.sessions, Some(request.session))
            && is_among(&self.projects, request.project)
            && is_among(&self.models, Some(request.model))
            && is_among(&self.branches, request.branch)
            && self.agents.as_ref().is_none_or(|agents| agents.contains(&request.agent))
    }

    /// Options that leave something out.
    fn options(&self) -> Vec<&'static str> {
        let given = [
            ("of --source", self.sources.is_some()),
            ("of --session", self.sessions.is_some()),
            ("of --project", self.projects.is_some()),
            ("of --model", self.models.is_some()),
            ("of --branch", self.branches.is_some()),
            ("of --agent", self.agents.is_some()),
        ];
        given.into_iter().filter(|(_, is_given)| *is_given).map(|(words, _)| words).collect()
    }
}

/// Symbols of names that may each match several.
fn named<'a>(
    wanted: &[String],
    option: &'static str,
    names: impl FnOnce() -> Names<'a>,
) -> Result<Option<FxHashSet<Symbol>>, FilterError> {
    if wanted.is_empty() {
        return Ok(None);
    }
    let names = names();
    let mut chosen = FxHashSet::default();
    for name in wanted {
        let found = names.called(name);
        if found.is_empty() {
            return Err(FilterError::unknown(option, name, &names));
        }
        chosen.extend(found);
    }
    Ok(Some(chosen))
}

fn projects_of<'a>(history: &'a History, projects: &'a ByKey<Symbol, String>) -> Names<'a> {
    let named = |(symbol, name): (&Symbol, &'a String)| Named {
        symbol: *symbol,
        name: name.as_str(),
        other_name: Some(history.symbols.text(*symbol)),
    };
    Names::new(projects.iter().map(named).collect())
}

fn sessions(
    wanted: &[String],
    history: &History,
) -> Result<Option<FxHashSet<Symbol>>, FilterError> {
    if wanted.is_empty() {
        return Ok(None);
    }
    let names = Names::of(history, |request| Some(request.session));
    let one = |name: &String| one_of(&names, "session", name);
    wanted.iter().map(one).collect::<Result<_, _>>().map(Some)
}

/// Symbol of a shortened name, which must be unique.
fn one_of(names: &Names<'_>, option: &'static str, name: &str) -> Result<Symbol, FilterError> {
    let found = names.begun(name);
    match found.as_slice() {
        [] => Err(FilterError::unknown(option, name, names)),
        [one] => Ok(one.symbol),
        several => {
            let candidates = several.iter().map(|one| one.name.to_owned()).collect();
            Err(FilterError::ambiguous(option, name, candidates))
        }
    }
}

/// Resolves agents: `main`, all of a type, or one by its id.
fn agents(
    wanted: &[String],
    history: &History,
) -> Result<Option<FxHashSet<Option<Symbol>>>, FilterError> {
    if wanted.is_empty() {
        return Ok(None);
    }
    let ids = Names::of(history, |request| request.agent);
    let kind = |request: &Request| history.agent_types.get(&request.agent?).copied();
    let types = Names::of(history, kind);
    let mut chosen = FxHashSet::default();
    for name in wanted {
        if name == MAIN_AGENT {
            chosen.insert(None);
            continue;
        }
        let of_type = types.exactly(name);
        if let Some(of_type) = of_type {
            let types = history.agent_types.iter();
            chosen.extend(types.filter(|(_, one)| **one == of_type).map(|(agent, _)| Some(*agent)));
            continue;
        }
        match one_of(&ids, "agent", name) {
            Ok(agent) => chosen.insert(Some(agent)),
            Err(FilterError::Unknown { .. }) => {
                let all = types.and(&ids).and_name(MAIN_AGENT);
                return Err(FilterError::unknown("agent", name, &all));
            }
            Err(ambiguous) => return Err(ambiguous),
        };
    }
    Ok(Some(chosen))
}

/// Name with its symbol.
#[derive(Clone, Copy, Debug)]
pub(super) struct Named<'a> {
    /// Symbol of the name.
    pub(super) symbol: Symbol,
    /// Name that is shown.
    pub(super) name: &'a str,
    /// Another name of the same symbol.
    pub(super) other_name: Option<&'a str>,
}

/// Names of one kind, in the order of the requests.
#[derive(Clone, Debug)]
pub(super) struct Names<'a>(Vec<Named<'a>>);

impl<'a> Names<'a> {
    pub(super) fn new(names: Vec<Named<'a>>) -> Self {
        Self(names)
    }

    /// Names among the requests.
    pub(super) fn of(history: &'a History, symbol: impl Fn(&'a Request) -> Option<Symbol>) -> Self {
        let mut known = FxHashSet::default();
        let symbols = history.requests.iter().filter_map(symbol);
        let named = |symbol| Named { symbol, name: history.symbols.text(symbol), other_name: None };
        Self(symbols.filter(|symbol| known.insert(*symbol)).map(named).collect())
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Symbols with this name, else all whose name contains it.
    pub(super) fn called(&self, name: &str) -> Vec<Symbol> {
        let is_called = |one: &&Named<'_>| {
            one.name == name || one.other_name.is_some_and(|other| other == name)
        };
        let has_part = |one: &&Named<'_>| !name.is_empty() && one.name.contains(name);
        let of_name = |is_meant: &dyn Fn(&&Named<'a>) -> bool| -> Vec<Symbol> {
            self.0.iter().filter(is_meant).map(|one| one.symbol).collect()
        };
        let exact = of_name(&is_called);
        if exact.is_empty() { of_name(&has_part) } else { exact }
    }

    /// Symbol with exactly this name.
    pub(super) fn exactly(&self, name: &str) -> Option<Symbol> {
        self.0.iter().find(|one| one.name == name).map(|one| one.symbol)
    }

    /// Names equal to this one, else all that begin with it, or end with it after a `…`, as long
    /// names are printed.
    pub(super) fn begun(&self, name: &str) -> Vec<Named<'a>> {
        if let Some(exact) = self.0.iter().find(|one| one.name == name) {
            return vec![*exact];
        }
        let end = name.strip_prefix('…').or_else(|| name.strip_prefix("..."));
        let is_meant = |one: &&Named<'_>| match end {
            Some(end) => !end.is_empty() && one.name.ends_with(end),
            None => !name.is_empty() && one.name.starts_with(name),
        };
        self.0.iter().filter(is_meant).copied().collect()
    }

    /// Names of both kinds.
    pub(super) fn and(&self, other: &Self) -> Self {
        Self(self.0.iter().chain(&other.0).copied().collect())
    }

    /// Adds a name that has no symbol of its own.
    pub(super) fn and_name(mut self, name: &'a str) -> Self {
        if let Some(first) = self.0.first().copied() {
            self.0.push(Named { name, ..first });
        }
        self
    }

    /// The three names nearest to an unknown one.
    pub(super) fn nearest(&self, name: &str) -> Vec<String> {
        let names = nearest(name, self.0.iter().map(|one| one.name));
        names.into_iter().map(str::to_owned).collect()
    }
}
