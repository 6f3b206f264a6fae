//! Chart of the context window of a conversation, request by request.

use super::session_scope;
use super::turns::{mean_columns, mean_heading};
use crate::base::Tokens;
use crate::explain::context::Windows;
use crate::report::chart::axis::{Axis, AxisUnit};
use crate::report::chart::ink::Ink;
use crate::report::chart::{Chart, Panel, Plot};
use crate::report::context_view::kind_name;
use crate::report::{counted, tokens};
use crate::requests::conversation::History;
use crate::simulate::ledger::{Selection, Session};

const TITLE: &str = "What held the context window";

/// Number of kinds of content in a window that have colours of their own; the others share one.
pub const WINDOW_KINDS: usize = 7;

/// Windows of a session's main conversation.
pub fn context_chart(
    history: &History,
    selection: &Selection,
    session: &Session,
    windows: &Windows,
) -> Chart {
    let scope = session_scope(history, session, selection);
    let total = |window: &crate::explain::context::Window| {
        window.tokens.iter().copied().sum::<Tokens>() + window.others
    };
    let Some(largest) = windows.requests.iter().map(total).max() else {
        return Chart::without_data(TITLE, &scope, "The usage of these requests was not recorded.");
    };
    let whose = if windows.is_of_agents { "sub-agents" } else { "the main conversation" };
    let shown = counted(windows.requests.len() as u64, "request", "requests");
    let mut chart = Chart::new(
        TITLE,
        format!(
            "{scope}; shown are {shown} of {whose}. The largest prompt had {} tokens.",
            tokens(largest)
        ),
    );
    let rows: Vec<Vec<u64>> = windows
        .requests
        .iter()
        .map(|window| {
            let kinds = window.tokens.iter().chain([&window.others]);
            kinds.map(|tokens| tokens.0).collect()
        })
        .collect();
    let rows: Vec<&[u64]> = rows.iter().map(Vec::as_slice).collect();
    let series = (0..windows.kinds.len()).map(Ink::Series);
    let inks: Vec<Ink> = series.chain([Ink::Others]).collect();
    let columns = mean_columns(inks.clone(), &rows);
    chart.panels.push(Panel::Plot(Plot {
        heading: mean_heading(rows.len()),
        height: 420,
        x: Axis::numbers(rows.len(), &format!("request of {whose}, in the order of the answers")),
        y: Axis::amounts(columns.highest(), AxisUnit::Tokens, 5),
        columns,
        lines: Vec::new(),
        rules: Vec::new(),
    }));
    let has_others = windows.requests.iter().any(|window| window.others > Tokens::ZERO);
    if has_others {
        chart.explain(Ink::Others, "others");
    }
    for (kind, ink) in windows.kinds.iter().zip(inks).rev() {
        chart.explain(ink, kind_name(history, *kind));
    }
    chart.notes.push(
        "How a prompt is shared among the kinds is estimated; its total is measured.".to_owned(),
    );
    chart
}
