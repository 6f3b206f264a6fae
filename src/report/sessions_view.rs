//! Several sessions, a row each: where and when they were, and what they cost.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::analyze_view::{session_name, strategy_totals};
use super::bar::bar;
use super::document::{Align, Document, Grid};
use super::number::{counted, dollars, grouped, part, percent, tokens};
use crate::base::id::Symbol;
use crate::requests::conversation::{History, project_names};
use crate::simulate::ledger::{Ledger, Session, Totals};

/// So many sessions are listed where nobody says how many.
const MOST_SESSIONS: usize = 20;

/// Strategies that are shown as long as there is room; the others are hidden before them.
const SHOWN_LAST: [&str; 3] = ["billed", "5m", "1h"];

/// The most expensive sessions.
pub(super) fn many_sessions(
    document: &mut Document,
    ledger: &Ledger<'_>,
    sessions: &[Session],
    top: Option<usize>,
) {
    let history = ledger.history;
    // Beside what was billed, else beside the first strategy.
    let billed = ledger.columns.iter().position(|column| column.strategy.name == "billed");
    let shown = billed.unwrap_or_default();
    let of_sessions: Vec<Vec<Totals>> =
        sessions.iter().map(|session| strategy_totals(ledger, &session.requests)).collect();
    let cost = |of_session: &[Totals]| of_session.get(shown).and_then(Totals::cost);
    let dearest = of_sessions.iter().filter_map(|one| cost(one)).max();
    let mut rows: Vec<(&Session, &Vec<Totals>)> = sessions.iter().zip(&of_sessions).collect();
    let all = counted(sessions.len() as u64, "session", "sessions");
    rows.sort_by_key(|(_, totals)| Reverse(cost(totals)));
    let top = top.unwrap_or(MOST_SESSIONS);
    if top < rows.len() {
        rows.truncate(top);
        document.heading(format!("The most expensive {top} of {all}"));
    } else {
        document.heading(all);
    }
    let columns = Columns::of(history, sessions);
    let began = format!("began ({})", history.zone.name());
    let mut header = vec![("session", Align::Left)];
    header.extend(columns.has_projects.then_some(("project", Align::Left)));
    header.extend(columns.has_titles.then_some(("title", Align::Wrapped)));
    header.extend([
        (began.as_str(), Align::Left),
        ("requests", Align::Right),
        ("prompt tokens", Align::Right),
        ("hit", Align::Right),
    ]);
    let before = header.len();
    header.extend(ledger.columns.iter().map(|column| (column.strategy.label(), Align::Right)));
    let bars = (before + shown + 1).min(header.len());
    header.insert(bars, ("", Align::Bar));
    let mut grid = Grid::new(&header).hide_first(&columns.hidden_first(ledger));
    for (session, by_strategy) in rows {
        let complete = by_strategy.iter().find(|totals| totals.unrecorded == 0);
        let Some(first) = complete.or(by_strategy.first()) else { continue };
        let mut cells = vec![session_name(history.symbols.text(session.id))];
        cells.extend(columns.cells(history, session));
        let began = session.requests.first().map(|index| history.request(*index).start);
        cells.extend([
            began.map(|began| history.zone.moment(began)).unwrap_or_default(),
            grouped(first.requests),
            tokens(first.prompt()),
            percent(first.hit_rate()),
        ]);
        let costs = ledger.columns.iter().zip(by_strategy);
        cells.extend(costs.map(|(column, totals)| {
            let is_told = column.applicability().is_applicable();
            if is_told { dollars(totals.cost()) } else { "-".to_owned() }
        }));
        cells.insert(bars, bar(part(cost(by_strategy), dearest)));
        grid.add(cells);
    }
    document.grid(grid);
}

/// The columns that only some inputs have.
struct Columns {
    projects: BTreeMap<Symbol, String>,
    has_projects: bool,
    has_titles: bool,
}

impl Columns {
    fn of(history: &History, sessions: &[Session]) -> Self {
        let projects = project_names(history);
        let has_projects = sessions.iter().any(|session| project(history, session).is_some());
        Self { projects, has_projects, has_titles: !history.titles.is_empty() }
    }

    fn cells(&self, history: &History, session: &Session) -> Vec<String> {
        let mut cells = Vec::new();
        if self.has_projects {
            let name = project(history, session).and_then(|project| self.projects.get(&project));
            cells.push(name.cloned().unwrap_or_default());
        }
        if self.has_titles {
            cells.push(history.titles.get(&session.id).cloned().unwrap_or_default());
        }
        cells
    }

    /// What people ask for last goes first.
    fn hidden_first<'a>(&self, ledger: &'a Ledger<'_>) -> Vec<&'a str> {
        let names = ledger.columns.iter().map(|column| column.strategy.label());
        let mut hidden = vec!["prompt tokens"];
        hidden.extend(names.filter(|name| !SHOWN_LAST.contains(name)));
        hidden.push("requests");
        hidden.extend(self.has_projects.then_some("project"));
        hidden
    }
}

/// The project of a session: that of the first of its requests that has one.
fn project(history: &History, session: &Session) -> Option<Symbol> {
    session.requests.iter().find_map(|index| history.request(*index).project)
}
