//! The figures that the glossary names, wherever commands and formats give them: a name is one number.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;

use super::{COMMANDS, shown};
use crate::common::{picodollars, run, text, utf8};

/// Where an output gives a figure.
enum Place {
    /// The headline of every command that has one, as Markdown, and the page: the name of the line.
    Headline(&'static str),
    /// A value of JSON: the command, and where it stands in the document.
    Json(&'static str, &'static str),
    /// The sum of a column of CSV: the command, the column, and how its rows begin.
    Csv(&'static str, &'static str, &'static str),
    /// A cell of a Markdown table: the command, how its row begins, and its column.
    Cell(&'static str, &'static str, &'static str),
    /// An amount in the title of a chart: its kind, and the words before it.
    Chart(&'static str, &'static str),
    /// A metric of `check`, and a limit that only has it shown.
    Check(&'static str, &'static str),
    /// Worked out of other figures.
    Derived(fn(&Outputs) -> Option<String>),
}

use Place::{Cell, Chart, Check, Csv, Derived, Headline, Json};

/// The names of figures that several outputs give, and where.
const FIGURES: [(&str, &[Place]); 9] = [
    (
        "spent",
        &[
            Headline("Spent"),
            Json("analyze", "/totals/billed/cost_usd"),
            Json("analyze --by model", "/total/totals/billed/cost_usd"),
            Json("compare", "/strategies/0/totals/cost_usd"),
            Csv("analyze --by model", "billed_usd", ""),
            Csv("compare", "cost_usd", "billed"),
            Cell("analyze --by model", "total", "billed"),
            Cell("compare", "billed", "cost"),
            Cell("breaks", "spent", "left"),
            Chart("waterfall", "Spent: "),
            Derived(|outputs| outputs.if_recorded(&Check("cost", "max = '$1000000'"))),
        ],
    ),
    (
        "hit rate",
        &[
            Headline("Hit rate"),
            Derived(|outputs| outputs.if_spent(&Json("compare", "/strategies/0/hit_rate"))),
            Derived(|outputs| outputs.if_spent(&Cell("compare", "billed", "hit"))),
            Derived(|outputs| outputs.if_recorded(&Json("analyze --by model", "/total/hit_rate"))),
            Derived(|outputs| outputs.if_recorded(&Cell("analyze --by model", "total", "hit"))),
            Derived(|outputs| outputs.if_recorded(&Check("hit_rate", "min = '0 %'"))),
        ],
    ),
    (
        "best change",
        &[
            Headline("Best change"),
            Json("advise", "/advice/changes/0/saving_usd"),
            Cell("advise", "1", "would save"),
            Cell("breaks", "1", "would save"),
        ],
    ),
    (
        "best caching",
        &[
            Headline("Best caching"),
            Json("compare", "/best_caching/cost_usd"),
            Json("breaks", "/best_caching/cost_usd"),
            Cell("breaks", "best markers, lifetimes and pings", "left"),
            Chart("waterfall", "best caching: "),
        ],
    ),
    (
        "breaks cost",
        &[
            Headline("Breaks cost"),
            Json("breaks", "/totals/excess_usd"),
            Derived(|outputs| outputs.of_causes(|_| true)),
            Csv("breaks", "excess_usd", ""),
            Json("analyze --by model", "/total/lost_usd"),
            Csv("analyze --by model", "lost_usd", ""),
            Cell("analyze --by model", "total", "breaks cost"),
            Chart("breaks", " cost "),
            Derived(|outputs| outputs.if_recorded(&Check("breaks_cost", "max = '$1000000'"))),
        ],
    ),
    (
        "breaks beyond the rules",
        &[
            Json("breaks", "/reconciliation/beyond_rules_usd"),
            Json("verify", "/dollars/breaks_usd"),
            Cell("breaks", "breaks beyond the rules", "step"),
            Cell("verify", "breaks beyond the rules", "value"),
        ],
    ),
    (
        "unexplained",
        &[
            Json("breaks", "/reconciliation/unexplained_usd"),
            Json("verify", "/dollars/unexplained_usd"),
            Cell("breaks", "unexplained", "step"),
            Cell("verify", "unexplained", "value"),
        ],
    ),
    (
        "unexpected breaks",
        &[
            Derived(Outputs::unexpected_share),
            Derived(|outputs| outputs.budget("check", UNEXPECTED)),
            Derived(Outputs::judged_share),
        ],
    ),
    (
        "other breaks",
        &[
            Derived(|outputs| outputs.of_causes(|cause| !WINDOWS_HAVE_APART.contains(&cause))),
            Derived(Outputs::other_breaks),
            Derived(|outputs| outputs.if_one_service(&Cell("blocks", "all", "other breaks"))),
        ],
    ),
];

/// The budget on unexpected breaks that `check` has by itself.
const UNEXPECTED: &str = "cost of unexpected breaks";

/// The causes that have columns of their own in the windows of plans.
const WINDOWS_HAVE_APART: [&str; 5] =
    ["ttl_expired_5m", "ttl_expired_1h", "idle_too_long", "compaction", "microcompaction"];

/// The names of the figures.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    FIGURES.iter().map(|(name, _)| *name)
}

/// What commands print for one input, each run once.
pub(super) struct Outputs {
    path: String,
    budgets: tempfile::TempDir,
    printed: RefCell<BTreeMap<String, String>>,
}

impl Outputs {
    pub(super) fn of(path: &str) -> Self {
        let budgets = tempfile::tempdir().expect("a folder");
        Self { path: path.to_owned(), budgets, printed: RefCell::default() }
    }

    pub(super) fn text(&self, command: &str) -> String {
        let mut printed = self.printed.borrow_mut();
        let print = || {
            let words: Vec<&str> = command.split(' ').collect();
            let output = run(&[&words[..], &[&self.path, "-q"]].concat());
            // A budget of `check` need not be kept, and not every input has what a command is about.
            let is_told = matches!(output.status.code(), Some(0 | 1 | 3));
            assert!(is_told, "{command} {}: {}", self.path, text(&output.stderr));
            text(&output.stdout)
        };
        printed.entry(command.to_owned()).or_insert_with(print).clone()
    }

    pub(super) fn json(&self, command: &str) -> Value {
        let printed = self.text(&format!("{command} --format json"));
        if printed.is_empty() { Value::Null } else { serde_json::from_str(&printed).expect("JSON") }
    }

    pub(super) fn tables(&self, command: &str) -> Vec<Table> {
        tables(&self.text(&format!("{command} --format markdown")))
    }

    /// The figure at each of some places.
    fn figures(&self, place: &Place) -> Vec<(String, String)> {
        let one = |at: String, figure: Option<String>| figure.map(|figure| (at, figure));
        let found = match place {
            Headline(name) => return self.headlines(name),
            Json(command, pointer) => {
                let document = self.json(command);
                one(format!("{command} {pointer}"), document.pointer(pointer).and_then(figure_of))
            }
            Csv(command, column, start) => {
                one(format!("{command} CSV {column}"), self.csv(command, column, start))
            }
            Cell(command, row, column) => {
                one(format!("{command} {row} {column}"), self.cell(command, row, column))
            }
            Chart(kind, before) => one(format!("chart {kind}"), self.chart(kind, before)),
            Check(metric, limit) => {
                let path = self.budgets.path().join(format!("{metric}.toml"));
                let budget =
                    format!("[[budget]]\nname = '{metric}'\nmetric = '{metric}'\n{limit}\n");
                fs::write(&path, budget).expect("it is written");
                let command = format!("check --config {}", utf8(&path));
                one(format!("check {metric}"), self.budget(&command, metric))
            }
            Derived(figure) => one("derived".to_owned(), figure(self)),
        };
        found.into_iter().collect()
    }

    fn headlines(&self, name: &str) -> Vec<(String, String)> {
        let line = |command: &&str| {
            let tables = self.tables(command);
            let row = tables.first()?.rows.iter().find(|row| row[0] == name)?.clone();
            Some(((*command).to_owned(), row[1].clone()))
        };
        let page = self.text("report");
        let of_page = page.split_once(&format!("<dt>{name}</dt>")).and_then(|(_, rest)| {
            let (value, _) = rest.split_once("<dd class=\"value\">")?.1.split_once(" <span")?;
            Some(("report".to_owned(), value.to_owned()))
        });
        COMMANDS.iter().filter_map(line).chain(of_page).collect()
    }

    fn cell(&self, command: &str, row: &str, column: &str) -> Option<String> {
        let tables = self.tables(command);
        let found = tables.iter().find_map(|table| table.cell(row, column));
        found.filter(|cell| !cell.is_empty())
    }

    /// The exact sum of a column.
    fn csv(&self, command: &str, column: &str, start: &str) -> Option<String> {
        let text = self.text(&format!("{command} --format csv"));
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let at = reader.headers().expect("a head").iter().position(|name| name == column)?;
        let rows = reader.records().map(|row| row.expect("a row"));
        let rows = rows.filter(|row| start.is_empty() || &row[0] == start);
        let amounts: Vec<i128> =
            rows.filter(|row| !row[at].is_empty()).map(|row| picodollars(&row[at])).collect();
        (!amounts.is_empty()).then(|| shown_sum(amounts))
    }

    fn chart(&self, kind: &str, before: &str) -> Option<String> {
        let picture = self.text(&format!("chart {kind} --format svg"));
        let (_, label) = picture.split_once("aria-label=\"")?;
        let (_, rest) = label.split_once('"')?.0.split_once(before)?;
        let figure = rest.split([' ', ';']).next()?;
        Some(figure.trim_end_matches([',', '.', ':']).to_owned())
    }

    /// The figure of a budget, where `check` judges what was billed.
    fn budget(&self, command: &str, name: &str) -> Option<String> {
        let checked = self.json(command);
        let budgets = checked["budgets"].as_array().filter(|_| checked["strategy"] == "billed")?;
        let figure = &budgets.iter().find(|one| one["name"] == name)?["figure"];
        let value = &figure["value"];
        if figure["unit"] != "percent" {
            return figure_of(value);
        }
        Some(format!("{:.1} %", value.as_str()?.parse::<f64>().expect("a number")))
    }

    /// A figure of the record, where the headline is about it.
    fn if_spent(&self, place: &Place) -> Option<String> {
        let is_spent = !self.headlines("Spent").is_empty();
        self.figures(place).pop().filter(|_| is_spent).map(|(_, figure)| figure)
    }

    /// A figure that is that of the record where all of it has one.
    fn if_recorded(&self, place: &Place) -> Option<String> {
        let billed = self.json("analyze")["totals"]["billed"].clone();
        let is_recorded = billed["requests"] != 0 && billed["unrecorded_requests"].is_null();
        self.figures(place).pop().filter(|_| is_recorded).map(|(_, figure)| figure)
    }

    fn if_one_service(&self, place: &Place) -> Option<String> {
        let is_one = self.five_hours().len() == 1;
        self.figures(place).pop().filter(|_| is_one).map(|(_, figure)| figure)
    }

    /// What the breaks of some causes cost.
    fn of_causes(&self, is_meant: impl Fn(&str) -> bool) -> Option<String> {
        let breaks = self.json("breaks");
        let causes = breaks["by_cause"].as_array()?.iter();
        let meant = causes.filter(|one| is_meant(one["cause"].as_str().expect("a cause")));
        let amounts: Vec<i128> =
            meant.filter_map(|one| one["excess_usd"].as_str()).map(picodollars).collect();
        (!amounts.is_empty()).then(|| shown_sum(amounts))
    }

    #[expect(clippy::unnecessary_wraps, reason = "a figure of `Derived` may be missing")]
    fn unexpected_share(&self) -> Option<String> {
        let breaks = self.json("breaks");
        let amount = |pointer| breaks.pointer(pointer)?.as_str()?.parse::<f64>().ok();
        let breaks = amount("/totals/excess_usd").zip(amount("/expected/excess_usd"));
        let spent = amount("/reconciliation/billed_usd").filter(|spent| *spent > 0.0);
        // `check` does not judge what has no price.
        Some(breaks.zip(spent).map_or("unknown".to_owned(), |((all, expected), spent)| {
            format!("{:.1} %", 100.0 * (all - expected) / spent)
        }))
    }

    /// The share in the table of `check`.
    fn judged_share(&self) -> Option<String> {
        self.budget("check", UNEXPECTED).and_then(|_| self.cell("check", UNEXPECTED, "figure"))
    }

    /// The five-hour windows of each service.
    fn five_hours(&self) -> Vec<Value> {
        let quotas = self.json("blocks")["quotas"].as_array().cloned().unwrap_or_default();
        quotas.into_iter().filter(|quota| quota["length"] == "5h").collect()
    }

    fn other_breaks(&self) -> Option<String> {
        let windows = self.five_hours();
        let windows = windows.iter().flat_map(|quota| quota["blocks"].as_array().expect("windows"));
        let of = windows.filter(|window| window["breaks"]["count"] != 0);
        let amounts: Vec<i128> = of
            .filter_map(|window| window["breaks"]["lost_usd"].as_str())
            .map(picodollars)
            .collect();
        (!amounts.is_empty()).then(|| shown_sum(amounts))
    }

    /// Every name gives one figure.
    pub(super) fn agree(&self) {
        for (name, places) in &FIGURES {
            let figures = places.iter().flat_map(|place| self.figures(place));
            let mut figures = figures.map(|(at, figure)| (at, size(&figure)));
            let Some((_, first)) = figures.next().filter(|(_, first)| first != "unknown") else {
                continue;
            };
            for (at, figure) in figures {
                assert!(
                    is_same(&figure, &first),
                    "{name} of {} in {at}: {figure} {first}",
                    self.path
                );
            }
        }
        self.others_are_the_rest();
    }

    /// What a table cuts off is the total without what it lists.
    fn others_are_the_rest(&self) {
        let tables = self.tables("analyze --by model --top 1");
        let table = tables.iter().find(|table| table.columns[0] == "model");
        let Some((table, [listed, others, _])) = table.map(|table| (table, &table.rows[..])) else {
            return;
        };
        let groups = self.json("analyze --by model");
        let mut of_all = groups["groups"].as_array().into_iter().flatten();
        let of_listed = of_all.find(|group| group["name"] == *listed[0]);
        let Some(of_listed) = of_listed else { return };
        for (at, column) in table.columns.iter().enumerate() {
            let pointer = match column.as_str() {
                "breaks cost" => "/lost_usd".to_owned(),
                "billed" | "5m" | "1h" => format!("/totals/{column}/cost_usd"),
                _ => continue,
            };
            let amount = |group: &Value| group.pointer(&pointer)?.as_str().map(picodollars);
            // What nothing can be done to counts as recorded in the total, and has no figure of its own.
            let Some((all, own)) = amount(&groups["total"]).zip(amount(of_listed)) else {
                continue;
            };
            // The rest of a total that is all in one group has no figure if it has no price.
            if all == own && others[at] == "unknown" {
                continue;
            }
            let rest = shown_sum([all, -own]);
            let (shown, rest) = (size(&others[at]), size(&rest));
            assert!(is_same(&shown, &rest), "{column} of the others of {}", self.path);
        }
    }
}

/// A table of Markdown.
pub(super) struct Table {
    pub(super) columns: Vec<String>,
    /// Whether each column stands on the right, as figures do.
    pub(super) are_figures: Vec<bool>,
    pub(super) rows: Vec<Vec<String>>,
}

impl Table {
    /// The cell of a column in the row that begins so.
    fn cell(&self, row: &str, column: &str) -> Option<String> {
        let at = self.columns.iter().position(|name| name == column)?;
        let row = self.rows.iter().find(|cells| cells[0].trim_start().starts_with(row))?;
        Some(row[at].clone())
    }
}

fn cells(line: &str) -> Option<Vec<String>> {
    let inner = line.strip_prefix("| ")?.strip_suffix(" |")?;
    Some(inner.split(" | ").map(|cell| cell.replace('\\', "").trim().to_owned()).collect())
}

fn tables(markdown: &str) -> Vec<Table> {
    let mut tables: Vec<Table> = Vec::new();
    let mut lines = markdown.lines().peekable();
    while let Some(line) = lines.next() {
        let ruler = lines.peek().filter(|next| next.starts_with("| -") || next.starts_with("| :-"));
        match (cells(line), ruler.and_then(|ruler| cells(ruler))) {
            (Some(columns), Some(ruler)) => {
                let are_figures = ruler.iter().map(|rule| rule.ends_with(':')).collect();
                tables.push(Table { columns, are_figures, rows: Vec::new() });
                lines.next();
            }
            (Some(row), None) => tables.last_mut().expect("a head").rows.push(row),
            (None, _) => {}
        }
    }
    tables
}

/// A value of JSON as people see it: amounts are text, shares are numbers.
fn figure_of(value: &Value) -> Option<String> {
    match value {
        Value::String(_) => Some(shown(value)),
        Value::Number(share) => Some(format!("{:.1} %", 100.0 * share.as_f64()?)),
        _ => Some("unknown".to_owned()),
    }
}

/// A figure without its direction, which words tell, without what marks it as a part or as a bound, and with one decimal
/// of a per cent.
fn size(figure: &str) -> String {
    let bare = figure.trim_start_matches("at most ").trim_start_matches(['-', '+']);
    let bare = bare.trim_end_matches('+');
    match bare.strip_suffix(" %").and_then(|share| share.parse::<f64>().ok()) {
        Some(share) => format!("{share:.1} %"),
        None => bare.to_owned(),
    }
}

/// Whether two figures are one number. A column of dollars has one number of decimals, so an amount may have fewer there.
fn is_same(one: &str, other: &str) -> bool {
    let number = |text: &str| {
        let digits = text.strip_prefix('$')?.replace(',', "");
        let decimals = digits.split_once('.')?.1.len();
        Some((digits.parse::<f64>().ok()?, i32::try_from(decimals).ok()?))
    };
    match (number(one), number(other)) {
        (Some((one, decimals)), Some((other, others))) if decimals != others => {
            (one - other).abs() <= 0.5 * 10_f64.powi(-decimals.min(others)) + 1e-9
        }
        _ => one == other,
    }
}

fn shown_sum(amounts: impl IntoIterator<Item = i128>) -> String {
    let sum: i128 = amounts.into_iter().sum();
    let sign = if sum < 0 { "-" } else { "" };
    let (whole, fraction) = (sum.abs() / 1_000_000_000_000, sum.abs() % 1_000_000_000_000);
    shown(&Value::String(format!("{sign}{whole}.{fraction:012}")))
}
