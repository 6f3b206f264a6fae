//! Sessions of the page: a row each for the first strategy, the figures of all strategies for the page's script, and
//! the choice of sessions whose turns are embedded, as many as a browser opens in a second. Money in the script's data
//! is exact micro-dollars.

use std::cmp::Reverse;
use std::{fmt, io};

use rayon::prelude::*;
use serde::ser::Error as _;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::{BreakIndex, PageView, data_block};
use crate::base::{Millis, Order as _, Picodollars, Tokens, Zone, counted};
use crate::report::{SessionNames, dollars, grouped, known_dollars, percent, tokens};
use crate::requests::conversation::project_names;
use crate::simulate::ledger::{Session, Totals};

/// A session in the table.
pub(super) struct SessionLine {
    /// Number in the order in which sessions began.
    pub(super) number: usize,
    /// Id, shortened if that is distinct.
    pub(super) name: String,
    /// Title, or empty.
    pub(super) title: String,
    pub(super) project: String,
    pub(super) files: String,
    pub(super) began: String,
    pub(super) requests: String,
    pub(super) prompt: String,
    pub(super) hit: String,
    pub(super) cost: String,
    pub(super) lost: String,
}

/// Data of the page on a session.
pub(super) struct SessionFigures {
    /// Number in the order in which sessions began.
    pub(super) number: usize,
    /// Id, shortened if that is distinct.
    pub(super) short_name: String,
    /// Whole id, title and files, for searching.
    pub(super) name: String,
    pub(super) title: String,
    /// Name of the project of the first request that has one, or empty.
    pub(super) project: String,
    pub(super) files: String,
    pub(super) began: Millis,
    pub(super) requests: usize,
    /// Cost of the breaks, or `None` if one of them has no price.
    pub(super) lost: Option<Picodollars>,
    /// Totals under each shown strategy.
    pub(super) by_strategy: Vec<Totals>,
}

/// Figures of every session, in the order in which the sessions began.
pub(super) fn session_figures(view: &PageView<'_>, breaks: &BreakIndex<'_>) -> Vec<SessionFigures> {
    let selection = view.selection;
    let history = view.ledger.history;
    let (names, projects) = (SessionNames::of(history), project_names(history));
    let figures = |(number, session): (usize, &Session)| {
        let totals = |column| view.ledger.totals(column, session.requests.iter().copied());
        SessionFigures {
            number,
            short_name: names.name(session.id),
            name: history.symbols.text(session.id).to_owned(),
            title: view.titles.get(&session.id).cloned().unwrap_or_default(),
            project: session
                .requests
                .iter()
                .find_map(|index| projects.get(&history.request(*index).project?).cloned())
                .unwrap_or_default(),
            files: files(view, session),
            began: began(view, session),
            requests: session.requests.len(),
            lost: breaks.lost(session.id),
            by_strategy: view.shown().map(totals).collect(),
        }
    };
    selection.sessions.par_iter().enumerate().map(figures).collect()
}

/// Label of the first file, and the number of others.
fn files(view: &PageView<'_>, session: &Session) -> String {
    let files = session.files(view.ledger.history);
    let Some(first) = files.first() else { return String::new() };
    first_of(&view.ledger.history.files[*first].label, files.len())
}

/// Name of the first of some files, and the number of others.
pub(super) fn first_of(file: &str, files: usize) -> String {
    match files.saturating_sub(1) {
        0 => file.to_owned(),
        others => format!("{file} and {} more", grouped(others as u64)),
    }
}

fn began(view: &PageView<'_>, session: &Session) -> Millis {
    // Requests are in the order of their answers.
    let starts = session.requests.iter().map(|index| view.ledger.history.request(*index).start);
    starts.min().unwrap_or(Millis::UNTIMED)
}

impl SessionFigures {
    /// Cost under the first strategy.
    pub(super) fn cost(&self) -> Option<Picodollars> {
        self.by_strategy.first().and_then(Totals::cost)
    }

    /// Returns true if any request has no price or no record under the first strategy.
    pub(super) fn is_incomplete(&self) -> bool {
        self.by_strategy.first().is_some_and(|totals| totals.whole_cost().is_none())
    }

    /// Additional cost of a strategy over the first one, or `None` if it covers other requests.
    fn difference(&self, totals: &Totals) -> Option<Picodollars> {
        let base = self.by_strategy.first()?.whole_cost()?;
        Some(totals.whole_cost()?.minus(base))
    }

    fn line(&self, zone: &Zone) -> SessionLine {
        let totals = self.by_strategy.first().copied().unwrap_or_default();
        SessionLine {
            number: self.number,
            name: self.short_name.clone(),
            title: self.title.clone(),
            project: self.project.clone(),
            files: self.files.clone(),
            began: zone.moment(self.began),
            requests: grouped(totals.requests),
            prompt: tokens(totals.prompt()),
            hit: percent(totals.hit_rate()),
            cost: known_dollars(totals.cost(), totals.all_costs().unknown),
            lost: dollars(self.lost),
        }
    }
}

/// Sessions, most expensive first; of equals the one that began first.
pub(super) fn dearest_first(sessions: &[SessionFigures]) -> Vec<&SessionFigures> {
    let mut dearest: Vec<&SessionFigures> = sessions.iter().collect();
    dearest.order_by_key(|session| (Reverse(session.cost()), session.number));
    dearest
}

/// Rows of the table.
pub(super) fn session_lines(zone: &Zone, dearest: &[&SessionFigures]) -> Vec<SessionLine> {
    dearest.iter().map(|session| session.line(zone)).collect()
}

/// Figures of all sessions for the page's script.
#[derive(Serialize)]
struct SessionsData<'a> {
    /// Names of the strategies.
    strategies: Vec<&'a str>,
    /// Indexes of those that the turns show side by side.
    beside: Vec<usize>,
    /// Name of the time zone, and the offsets from UTC in seconds with the times from which they apply.
    zone: &'a str,
    offsets: Vec<(i64, i64)>,
    sessions: Vec<SessionData<'a>>,
}

#[derive(Serialize)]
struct SessionData<'a> {
    /// Id of the session.
    id: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    title: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    project: &'a str,
    files: &'a str,
    /// Start in milliseconds since the Unix epoch.
    began: i64,
    requests: usize,
    /// Cost of the breaks in micro-dollars, or null without a price.
    lost: Option<MicroDollars>,
    /// For each strategy: prompt tokens, those read from cache, the cost and its difference to the first strategy's, in
    /// micro-dollars.
    figures: Vec<(Tokens, Tokens, Option<MicroDollars>, Option<MicroDollars>)>,
}

/// Offsets from UTC in seconds, with the times from which they apply. `times` is in order.
fn offsets(zone: &Zone, times: &[Millis]) -> Vec<(i64, i64)> {
    let mut offsets: Vec<(i64, i64)> = Vec::new();
    for at in times {
        let ahead = zone.seconds_ahead(*at);
        if offsets.last().is_none_or(|(_, last)| *last != ahead) {
            offsets.push((at.get().div_euclid(1_000), ahead));
        }
    }
    offsets
}

/// Names of the strategies that a page shows, and of those that the turns show side by side.
pub(super) struct ShownStrategies<'a> {
    pub(super) names: Vec<&'a str>,
    pub(super) beside: Vec<&'a str>,
}

/// Data block of all sessions. `times` are in order and close enough to find every change of the offset from UTC.
///
/// # Errors
/// The data cannot be JSON.
pub(super) fn sessions_block(
    strategies: &ShownStrategies<'_>,
    zone: &Zone,
    times: &[Millis],
    sessions: &[SessionFigures],
) -> io::Result<String> {
    let data = |session: &SessionFigures| -> Vec<_> {
        let figures = |totals: &Totals| {
            let difference = session.difference(totals).map(MicroDollars);
            (totals.prompt(), totals.read, totals.cost().map(MicroDollars), difference)
        };
        session.by_strategy.iter().map(figures).collect()
    };
    let sessions = sessions.iter().map(|session| SessionData {
        id: &session.name,
        title: &session.title,
        project: &session.project,
        files: &session.files,
        began: session.began.get(),
        requests: session.requests,
        lost: session.lost.map(MicroDollars),
        figures: data(session),
    });
    let ShownStrategies { names, beside } = strategies;
    data_block(&SessionsData {
        beside: (0..names.len()).filter(|at| beside.contains(&names[*at])).collect(),
        strategies: names.clone(),
        zone: zone.name(),
        offsets: offsets(zone, times),
        sessions: sessions.collect(),
    })
}

/// Start times of the requests of a page, in order.
pub(super) fn times(view: &PageView<'_>) -> Vec<Millis> {
    let history = view.ledger.history;
    let times = view.selection.requests().map(|index| history.request(index).start);
    let mut times: Vec<Millis> = times.collect();
    times.sort_unstable();
    times
}

/// Most requests whose turns are embedded …
const MOST_REQUESTS: usize = 60_000;

/// … and most bytes of their blocks, as many strategies make them larger.
const MOST_BYTES: usize = 8_000_000;

/// Data blocks of the sessions whose turns are embedded.
pub(super) struct Embedded {
    /// Numbers of sessions and their turns, in order.
    pub(super) blocks: Vec<(usize, String)>,
    /// Note on missing sessions, in a sentence.
    pub(super) note: Option<String>,
}

/// Sessions whose turns are embedded if they fit: the most expensive ones.
pub(super) fn with_turns<'s>(dearest: &[&'s SessionFigures]) -> Vec<&'s SessionFigures> {
    let mut chosen = dearest.to_vec();
    keep_within(MOST_REQUESTS, &mut chosen, |session| session.requests);
    chosen
}

/// Embeds the turns of the most expensive sessions, each with its number. `sessions` is the number of all sessions.
pub(super) fn embedded(mut blocks: Vec<(usize, String)>, sessions: usize) -> Embedded {
    keep_within(MOST_BYTES, &mut blocks, |(_, block)| block.len());
    // Chosen by cost, but placed in the order of the page's data.
    blocks.order_by_key(|(number, _)| *number);
    let missing = (sessions - blocks.len()) as u64;
    let note = (missing > 0).then(|| {
        format!(
            "The turns of {} are left out, so that this page stays small: it has those of the \
             most expensive sessions. `cachesim analyze FILE` shows the others.",
            counted(missing, "session", "sessions"),
        )
    });
    Embedded { blocks, note }
}

/// Greedy choice of elements that fit, in order. One that is too large alone does not keep later ones out.
fn keep_within<T>(mut room: usize, all: &mut Vec<T>, size: impl Fn(&T) -> usize) {
    all.retain(|one| {
        let rest = room.checked_sub(size(one));
        room = rest.unwrap_or(room);
        rest.is_some()
    });
}

/// Picodollars per micro-dollar.
const PICODOLLARS: u128 = 1_000_000;

/// Amount written as a JSON number of micro-dollars, without exponent or trailing zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MicroDollars(pub(super) Picodollars);

impl fmt::Display for MicroDollars {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Picodollars(amount) = self.0;
        let sign = if amount < 0 { "-" } else { "" };
        let (whole, fraction) =
            (amount.unsigned_abs() / PICODOLLARS, amount.unsigned_abs() % PICODOLLARS);
        write!(f, "{sign}{whole}")?;
        if fraction > 0 {
            let digits = format!("{fraction:06}");
            write!(f, ".{}", digits.trim_end_matches('0'))?;
        }
        Ok(())
    }
}

impl Serialize for MicroDollars {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // A float would round, and a JSON integer has no fraction.
        RawValue::from_string(self.to_string()).map_err(S::Error::custom)?.serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_in_front_is_kept() {
        // 40,000 of 60,000 leave 20,000. Then 30,000 are too many, 20,000 fit, and 1 no longer
        // does.
        let mut sessions = vec![40_000, 30_000, 20_000, 1];
        keep_within(MOST_REQUESTS, &mut sessions, |requests| *requests);
        assert_eq!(sessions, [40_000, 20_000]);
        let mut sessions = vec![60_001, 60_000];
        keep_within(MOST_REQUESTS, &mut sessions, |requests| *requests);
        assert_eq!(sessions, [60_000]);
    }

    #[test]
    fn amounts_are_exact() {
        let written = |amount| MicroDollars(Picodollars(amount)).to_string();
        assert_eq!(written(0), "0");
        assert_eq!(written(26_977_500_000), "26977.5");
        assert_eq!(written(-1), "-0.000001");
        assert_eq!(written(-77_760_000_000), "-77760");
        assert_eq!(written(i128::MAX), "170141183460469231731687303715884.105727");
    }
}
