//! What each way to fork is charged, for people.

use super::document::{Align, Document, Grid};
use super::number::{counted, dollars, equivalents, grouped, percent_difference, tokens};
use crate::base::ttl::Ttl;
use crate::base::units::Tokens;
use crate::simulate::fork::{Charge, Equivalents, ForkPlan, ForkTable};

/// Every way to fork: in all, and child by child.
#[must_use]
pub fn fork_document(table: &ForkTable<'_>) -> Document {
    let plan = table.plan;
    let mut document = Document::default();
    let children = counted(plan.directives.len() as u64, "fork", "forks");
    document.heading(format!("{children} of a parent of {} tokens", tokens(plan.parent)));
    document.text(sizes(plan));
    document.text(weights(table));
    document.grid(totals(table));
    document.heading("Child by child");
    document.grid(each_child(table));
    document.text(
        "All figures follow from the sizes and the rules (derived). The output of the children is \
         in none of them.",
    );
    document
}

fn sizes(plan: &ForkPlan) -> String {
    let state = if plan.parent < plan.minimum {
        format!("shorter than any cached prefix ({} tokens)", tokens(plan.minimum))
    } else if plan.parent_is_warm {
        "still cached".to_owned()
    } else {
        "no longer cached".to_owned()
    };
    format!(
        "Behind the parent's prompt, which is {state}: its last answer of {} tokens, placeholders \
         of {}, {}.",
        tokens(plan.assistant),
        tokens(plan.placeholders),
        directives(&plan.directives)
    )
}

fn directives(sizes: &[Tokens]) -> String {
    match sizes {
        [one] => format!("a directive of {}", tokens(*one)),
        [first, ..] if sizes.iter().all(|size| size == first) => {
            format!("directives of {} each", tokens(*first))
        }
        _ => format!("directives of {} in all", tokens(sizes.iter().copied().sum())),
    }
}

fn weights(table: &ForkTable<'_>) -> String {
    let prices = table.prices.as_ref().map_or_else(String::new, |prices| {
        format!(", by the prices of {} in table {}", prices.model, prices.table.id)
    });
    format!(
        "A token sent in full counts 1, one read {}, one written for {} {}{prices}.",
        table.multipliers.read,
        table.plan.ttl.name(),
        table.multipliers.write
    )
}

fn written(ttl: Ttl) -> &'static str {
    match ttl {
        Ttl::FiveMinutes => "written 5m",
        Ttl::OneHour => "written 1h",
    }
}

fn header(table: &ForkTable<'_>, first: [(&'static str, Align); 2]) -> Vec<(&'static str, Align)> {
    let cost = table.prices.is_some().then_some("cost");
    let figures = ["read", written(table.plan.ttl), "input", "equivalents"].into_iter();
    first.into_iter().chain(figures.chain(cost).map(|name| (name, Align::Right))).collect()
}

fn cells(table: &ForkTable<'_>, charge: &Charge) -> Vec<String> {
    let cost = table.prices.is_some().then(|| dollars(charge.cost));
    let figures = [
        tokens(charge.read),
        tokens(charge.written),
        tokens(charge.input),
        equivalents(charge.equivalents),
    ];
    figures.into_iter().chain(cost).collect()
}

fn totals(table: &ForkTable<'_>) -> Grid {
    let first = [("variant", Align::Left), ("what it is", Align::Wrapped)];
    let last = [("difference", Align::Right)];
    let mut grid = Grid::new(&[header(table, first), last.to_vec()].concat());
    let base = table.comparisons.first().map(|comparison| comparison.total().equivalents);
    for (index, comparison) in table.comparisons.iter().enumerate() {
        let total = comparison.total();
        let names = vec![comparison.variant.name.to_owned(), comparison.variant.meaning.to_owned()];
        let difference = base.filter(|_| index > 0).map(|base| relative(total.equivalents, base));
        let difference = difference.map_or_else(String::new, percent_difference);
        grid.add([names, cells(table, &total), vec![difference]].concat());
    }
    grid
}

/// The relative difference of two sums; no prompt is empty, so none of them is zero.
fn relative(sum: Equivalents, base: Equivalents) -> Option<f64> {
    (base.0 > 0).then(|| sum.to_tokens_lossy() / base.to_tokens_lossy() - 1.0)
}

/// Neighbours that are charged the same share a row.
fn each_child(table: &ForkTable<'_>) -> Grid {
    let first = [("variant", Align::Left), ("children", Align::Right)];
    let mut grid = Grid::new(&header(table, first));
    for comparison in &table.comparisons {
        let mut number = 1;
        for run in comparison.children.chunk_by(PartialEq::eq) {
            let name = if number == 1 { comparison.variant.name } else { "" };
            let names = vec![name.to_owned(), numbers(number, run.len() as u64)];
            grid.add([names, cells(table, &run[0])].concat());
            number += run.len() as u64;
        }
    }
    grid
}

fn numbers(first: u64, count: u64) -> String {
    match count {
        1 => grouped(first),
        _ => format!("{}–{}", grouped(first), grouped(first + count - 1)),
    }
}
