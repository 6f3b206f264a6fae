//! Table of the open sessions for a terminal: cells only, without drawing.

use unicode_width::UnicodeWidthStr;

use super::super::status_line::{StatusOfNext, cents, known_cents, left_for};
use super::super::terminal_safe;
use super::event::{WatchedNames, WatchedSession};
use crate::base::{KnownSum, Picodollars, Tokens, counted, grouped};

/// A session whose file changed lately, or whose cache is warm.
#[derive(Clone, Copy, Debug)]
pub struct OpenSession<'a> {
    /// Session, or sub-agent with a file of its own.
    pub session: WatchedSession<'a>,
    /// True for a sub-agent of the last main session before it.
    pub is_agent: bool,
    /// Cost; of a main session together with its sub-agents in files of their own.
    pub cost: KnownSum,
    /// State for the next message.
    pub next: Option<StatusOfNext>,
}

/// A table, cell by cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchTable {
    /// Headline: number of open sessions, and spending of today.
    pub answer: String,
    /// Names of the columns.
    pub columns: [&'static str; COLUMNS],
    /// Width of each column, in cells.
    pub widths: [u16; COLUMNS],
    /// A row for each session, with true if its cache is warm.
    pub rows: Vec<([String; COLUMNS], bool)>,
}

const COLUMNS: usize = 7;

const HEADING: [&str; COLUMNS] = ["session", "cache", "next", "cold", "compact", "context", "cost"];

/// Makes the table of open sessions.
pub fn watch_table(
    open: &[OpenSession<'_>],
    names: &WatchedNames,
    today: KnownSum,
    budget: Option<Picodollars>,
) -> WatchTable {
    let sessions: Vec<WatchedSession<'_>> = open.iter().map(|one| one.session).collect();
    let rows = names.of(&sessions).into_iter().zip(open);
    let rows: Vec<_> = rows.map(|(name, one)| (row(&name, one), is_warm(one))).collect();
    let widths = std::array::from_fn(|column| {
        let cells = rows.iter().map(|(cells, _)| cells[column].as_str());
        let widest = cells.chain([HEADING[column]]).map(UnicodeWidthStr::width).max();
        widest.and_then(|width| u16::try_from(width).ok()).unwrap_or(u16::MAX)
    });
    WatchTable { answer: answer(open, today, budget), columns: HEADING, widths, rows }
}

fn is_warm(open: &OpenSession<'_>) -> bool {
    open.next.is_some_and(|next| next.left > 0)
}

fn answer(open: &[OpenSession<'_>], today: KnownSum, budget: Option<Picodollars>) -> String {
    let (agents, main): (Vec<_>, Vec<_>) = open.iter().partition(|one| one.is_agent);
    let warm = main.iter().filter(|one| is_warm(one)).count();
    let sessions = counted(main.len() as u64, "session", "sessions");
    let of = budget.map(|budget| format!(" of {}", cents(budget))).unwrap_or_default();
    let mut answer = format!("today {}{of} · {sessions} open, {warm} warm", known_cents(today));
    if !agents.is_empty() {
        answer += " · ";
        answer += &counted(agents.len() as u64, "warm sub-agent", "warm sub-agents");
    }
    answer
}

fn row(name: &str, open: &OpenSession<'_>) -> [String; COLUMNS] {
    let name = match (open.is_agent, open.session.agent()) {
        (true, Some(agent)) => terminal_safe(&format!("  └ {agent}")).into_owned(),
        (true, None) => format!("  └ {name}"),
        (false, _) => name.to_owned(),
    };
    let cost = known_cents(open.cost);
    let Some(next) = open.next else {
        let none = || "–".to_owned();
        return [name, none(), none(), none(), none(), none(), cost];
    };
    let (warm, cold) = (next.compact_warm, next.compact_cold);
    let fill = fill(next.prompt, next.window);
    if next.left > 0 {
        let cache = format!("warm {}", left_for(next.left));
        let compact = format!("{} → {}", price(warm), price(cold));
        [name, cache, price(next.warm), price(next.cold), compact, fill, cost]
    } else {
        // The cold price is the price of the next message now; a second column with it would say nothing.
        let cache = "cold".to_owned();
        [name, cache, price(next.cold), String::new(), price(cold), fill, cost]
    }
}

fn price(amount: Option<Picodollars>) -> String {
    amount.map_or("?".to_owned(), cents)
}

/// Size of the next prompt and its share of the model's window: `131k 65 %`.
fn fill(prompt: Tokens, window: Option<Tokens>) -> String {
    let size = match prompt.0 {
        small @ ..1_000 => small.to_string(),
        large => format!("{}k", grouped(large / 1_000)),
    };
    let share = window.filter(|window| window.0 > 0).map(|window| {
        let share = u128::from(prompt.0) * 100 / u128::from(window.0);
        format!(" {share} %")
    });
    size + &share.unwrap_or_default()
}
