//! What a reader does with the page: sort, search, switch the strategy, open a session. What is
//! then shown is compared with what `analyze` and `breaks` print.

use std::collections::BTreeMap;

use serde_json::Value;

use super::chrome::{Browser, ENTER, SPACE};
use super::report::{Report, Session, open_session, ordinary, report, steady};
use crate::common::{grouped, json, ledger, picodollars, prompt_of, stdout, utf8};

const COLUMNS: [&str; 8] =
    ["session", "began", "requests", "prompt", "hit", "cost", "difference", "lost"];

/// Names of the sessions that are seen, in their order.
const NAMES: &str = "[...document.querySelectorAll('#sessions tbody tr')]
    .filter(row => row.getClientRects().length > 0)
    .map(row => row.querySelector('[data-column=session] button').textContent)";

fn cells(browser: &Browser, column: &str) -> BTreeMap<String, String> {
    let texts = browser.texts(&format!(
        "[...document.querySelectorAll('#sessions tbody tr')].flatMap(row => [
            row.querySelector('[data-column=session] button').textContent,
            row.querySelector('[data-column={column}]').textContent])"
    ));
    texts.chunks(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect()
}

/// Dollars as the page shows them: four decimals below a dollar, two from one on.
fn dollars(picodollars: Option<i128>) -> String {
    let Some(amount) = picodollars else { return "unknown".to_owned() };
    let ten_thousandths = (amount.unsigned_abs() + 50_000_000) / 100_000_000;
    if ten_thousandths >= 10_000 {
        let cents = (amount.unsigned_abs() + 5_000_000_000) / 10_000_000_000;
        assert!(cents < 100_000, "an amount below a thousand dollars");
        let sign = if amount < 0 { "-" } else { "" };
        return format!("{sign}${}.{:02}", cents / 100, cents % 100);
    }
    // What rounds to nothing has no sign.
    let sign = if amount < 0 && ten_thousandths > 0 { "-" } else { "" };
    format!("{sign}${}.{:04}", ten_thousandths / 10_000, ten_thousandths % 10_000)
}

fn difference(picodollars: Option<i128>) -> String {
    let text = dollars(picodollars);
    let is_more = picodollars.is_some_and(|amount| amount > 0) && text != "$0.0000";
    format!("{}{text}", if is_more { "+" } else { "" })
}

/// What `analyze` says of the sessions under a strategy.
struct Expected {
    sessions: BTreeMap<String, Value>,
    strategy: String,
}

impl Expected {
    fn of(report: &Report, strategy: &str) -> Self {
        let mut names = vec!["billed", strategy];
        names.dedup();
        let names = names.join(",");
        let json = json(&[
            "analyze",
            utf8(&report.sessions),
            "-q",
            "--format",
            "json",
            "--breaks",
            "keep",
            "--strategy",
            &names,
        ]);
        let sessions = json["sessions"].as_array().expect("sessions").iter().map(|session| {
            let name = session["session_id"].as_str().expect("a name").to_owned();
            (name, session["totals"].clone())
        });
        Self { sessions: sessions.collect(), strategy: strategy.to_owned() }
    }

    fn totals(&self, name: &str) -> &Value {
        &self.sessions[name][&self.strategy]
    }

    fn cost_under(&self, name: &str, strategy: &str) -> Option<i128> {
        self.sessions[name][strategy]["cost_usd"].as_str().map(picodollars)
    }

    fn cost(&self, name: &str) -> Option<i128> {
        self.cost_under(name, &self.strategy)
    }

    fn difference(&self, name: &str) -> Option<i128> {
        Some(self.cost(name)? - self.cost_under(name, "billed")?)
    }
}

/// What a column is sorted by, of each session.
fn keys(report: &Report, column: &str) -> BTreeMap<String, Option<Key>> {
    let expected = Expected::of(report, "1h");
    let rows = ledger(&report.sessions, &["--strategy", "billed"]);
    let breaks = breaks(report);
    let first_answer = |name: &str| {
        let of_session = rows.iter().filter(|row| row["session_id"] == name);
        of_session.map(|row| row["timestamp"].as_str().expect("a time").to_owned()).min()
    };
    let key = |name: &String| {
        let totals = expected.totals(name);
        let requests = rows.iter().filter(|row| row["session_id"] == name.as_str()).count();
        let prompt = prompt_of(totals);
        match column {
            "session" => Some(Key::Text(name.clone())),
            "began" => first_answer(name).map(Key::Text),
            "requests" => Some(Key::Number(requests as i128)),
            "prompt" => Some(Key::Number(prompt.into())),
            "hit" => (prompt > 0).then(|| {
                let read = totals["cache_read_input_tokens"].as_u64().expect("a count");
                Key::Number(i128::from(read) * 1_000_000_000 / i128::from(prompt))
            }),
            "cost" => expected.cost(name).map(Key::Number),
            "difference" => expected.difference(name).map(Key::Number),
            "lost" => Some(Key::Number(breaks.get(name).copied().unwrap_or_default())),
            other => panic!("{other}"),
        }
    };
    expected.sessions.keys().map(|name| (name.clone(), key(name))).collect()
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Text(String),
    Number(i128),
}

/// Session → what its breaks cost.
fn breaks(report: &Report) -> BTreeMap<String, i128> {
    let rows = stdout(&["breaks", utf8(&report.sessions), "-q", "--format", "jsonl"]);
    let mut lost = BTreeMap::new();
    for row in rows.lines() {
        let row: Value = serde_json::from_str(row).expect("a row");
        let session = row["session_id"].as_str().expect("a name").to_owned();
        if let Some(excess) = row["excess_usd"].as_str() {
            *lost.entry(session).or_default() += picodollars(excess);
        }
    }
    lost
}

/// Names as they stand, by their keys: what is unknown last, the rest up or down.
fn assert_sorted(names: &[String], keys: &BTreeMap<String, Option<Key>>, direction: &str) {
    assert_eq!(names.len(), keys.len());
    let mut known: Vec<&Key> = names.iter().map_while(|name| keys[name].as_ref()).collect();
    let unknown = names.iter().filter(|name| keys[*name].is_none()).count();
    assert_eq!(known.len() + unknown, names.len(), "what is unknown is last: {names:?}");
    if direction == "descending" {
        known.reverse();
    }
    assert!(known.is_sorted(), "{direction}: {names:?} by {keys:?}");
}

/// The header cells that say that the table is sorted by them, and how.
fn sorted_by(browser: &Browser) -> Vec<String> {
    browser.texts(
        "[...document.querySelectorAll('#sessions th[aria-sort]')]
            .filter(head => head.ariaSort !== 'none')
            .flatMap(head => [head.querySelector('button').dataset.sort, head.ariaSort])",
    )
}

#[test]
fn the_page_is_quiet_and_whole() {
    let Some(mut browser) = Browser::start() else { return };
    let report = report(&ordinary(), &[]);
    browser.open(&report.page);
    assert_eq!(browser.console_errors(), [""; 0]);
    assert_eq!(browser.network_requests(), [""; 0]);
    assert!(browser.holds("document.querySelectorAll('main').length === 1"));
    let sections = "answer breaks strategies charts sessions-section session verification prices";
    for id in sections.split(' ') {
        let section = format!("document.querySelector('main section#{id}')");
        assert!(browser.holds(&format!("{section} !== null")), "{id}");
        let heading = format!("document.getElementById({section}.getAttribute('aria-labelledby'))");
        assert!(browser.holds(&format!("/^H[1-6]$/.test({heading}.tagName)")), "{id}");
        assert!(browser.holds(&format!("{heading}.textContent.trim() !== ''")), "{id}");
        assert!(
            browser.holds(&format!("document.querySelector('nav a[href=\"#{id}\"]') !== null"))
        );
    }
    let policy =
        browser.text("document.querySelector('meta[http-equiv=Content-Security-Policy]').content");
    assert!(policy.contains("default-src 'none'"), "{policy}");
    assert!(!policy.contains("unsafe"), "{policy}");
}

#[test]
fn the_policy_stops_what_is_not_of_the_page() {
    let Some(mut browser) = Browser::start() else { return };
    let report = report(&ordinary()[..2], &[]);
    browser.open(&report.page);
    browser.evaluate(
        "(() => {
            const script = document.createElement('script');
            script.textContent = 'window.hit = 1';
            const image = document.createElement('img');
            image.src = 'https://example.invalid/a.png';
            document.body.append(script, image);
            document.body.setAttribute('onclick', 'window.hit = 2');
            document.body.click();
        })()",
    );
    assert!(browser.holds("window.hit === undefined"));
    let errors = browser.console_errors();
    for refused in ["Loading the image", "inline script", "inline event handler"] {
        assert!(errors.iter().any(|error| error.contains(refused)), "{refused}: {errors:?}");
    }
}

#[test]
fn every_column_sorts_both_ways_by_mouse_and_by_keyboard() {
    let Some(mut browser) = Browser::start() else { return };
    let report = report(&ordinary(), &[]);
    browser.open(&report.page);
    assert_eq!(sorted_by(&browser), ["cost", "descending"]);
    browser.choose("#strategy", "1h");
    for column in COLUMNS {
        let keys = keys(&report, column);
        let button = format!("#sessions button[data-sort={column}]");
        let mut directions = Vec::new();
        for key in [None, Some(ENTER), Some(SPACE)] {
            match key {
                None => browser.click(&button),
                Some(key) => {
                    browser.evaluate(&format!("document.querySelector('{button}').focus()"));
                    browser.press(&[key]);
                }
            }
            let [sorted, direction] = sorted_by(&browser).try_into().expect("one column");
            assert_eq!(sorted, column);
            assert_sorted(&browser.texts(NAMES), &keys, &direction);
            directions.push(direction);
        }
        assert_ne!(directions[0], directions[1], "{column}");
        assert_eq!(directions[0], directions[2], "{column}");
    }
    assert_eq!(browser.console_errors(), [""; 0]);
}

#[test]
fn searching_narrows_the_table() {
    let Some(mut browser) = Browser::start() else { return };
    let report = report(&ordinary(), &[]);
    browser.open(&report.page);
    let count = "document.querySelector('#session-count').textContent.trim()";
    let search = |text: &str| {
        browser.type_into("#session-search", text);
        let mut names = browser.texts(NAMES);
        names.sort();
        (names, browser.text(count))
    };
    let found = |names: &[&str], count: &str| {
        (names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>(), count.to_owned())
    };
    assert_eq!(search("ALPH"), found(&["alpha"], "1 of 7 sessions"));
    assert_eq!(search("l a h.jsonl"), found(&[], "0 of 7 sessions"));
    assert_eq!(search("ta.js"), found(&["delta"], "1 of 7 sessions"), "files are searched");
    assert_eq!(search("l"), search(" L "), "blanks and case do not matter");
    for nothing in ["<b>", ".*", "\\", "no such session", "'\""] {
        assert_eq!(search(nothing), found(&[], "0 of 7 sessions"), "{nothing}");
    }
    let (all, text) = search("");
    assert_eq!((all.len(), text.as_str()), (7, "7 of 7 sessions"));
    search("l");
    let narrowed = browser.texts(NAMES).len();
    browser.click("#sessions button[data-sort=requests]");
    assert_eq!(browser.texts(NAMES).len(), narrowed, "sorting shows nothing new");
    browser.choose("#strategy", "none");
    assert_eq!(browser.texts(NAMES).len(), narrowed, "nor does another strategy");
    assert_eq!(browser.console_errors(), [""; 0]);
}

#[test]
fn a_strategy_shows_the_costs_of_analyze() {
    let Some(mut browser) = Browser::start() else { return };
    let report = report(&ordinary(), &[]);
    browser.open(&report.page);
    let options =
        browser.texts("[...document.querySelector('#strategy').options].map(o => o.text)");
    assert_eq!(options, ["billed", "replay", "none", "5m", "1h", "mixed", "optimal"]);
    for strategy in ["billed", "replay", "none", "5m", "1h", "mixed", "billed"] {
        browser.choose("#strategy", strategy);
        let expected = Expected::of(&report, strategy);
        let (costs, differences) = (cells(&browser, "cost"), cells(&browser, "difference"));
        let prompts = cells(&browser, "prompt");
        assert_eq!(costs.len(), 7);
        for (name, cost) in &costs {
            assert_eq!(*cost, dollars(expected.cost(name)), "{strategy} {name}");
            assert_eq!(prompts[name], grouped(prompt_of(expected.totals(name))), "{strategy}");
            if strategy != "billed" {
                let cell = difference(expected.difference(name));
                assert_eq!(differences[name], cell, "{strategy} {name}");
            }
        }
    }
    let lost = cells(&browser, "lost");
    assert_eq!(lost["charlie"], dollars(breaks(&report).get("charlie").copied()));
    assert_ne!(lost["charlie"], "$0.0000", "it has a break");
    assert_eq!(browser.console_errors(), [""; 0]);
}

/// Column of the turns → what stands there, turn by turn.
fn turns(browser: &Browser) -> BTreeMap<String, Vec<String>> {
    let names =
        browser.texts("[...document.querySelectorAll('#turns thead th')].map(h => h.textContent)");
    let cells = browser.texts(
        "[...document.querySelectorAll('#turns tbody tr')]
            .flatMap(row => [...row.cells].map(cell => cell.textContent))",
    );
    let column = |at: usize| cells.iter().skip(at).step_by(names.len()).cloned().collect();
    names.iter().enumerate().map(|(at, name)| (name.clone(), column(at))).collect()
}

fn assert_turns(browser: &Browser, report: &Report, session: &str, strategy: &str) {
    let shown = turns(browser);
    let rows = ledger(&report.sessions, &["--strategy", strategy, "--breaks", "keep"]);
    let rows: Vec<&Value> = rows.iter().filter(|row| row["session_id"] == session).collect();
    assert_eq!(shown["prompt"].len(), rows.len(), "{session}");
    for (at, row) in rows.iter().enumerate() {
        let is = |column: &str, text: String| assert_eq!(shown[column][at], text, "{session} {at}");
        let count = |column: &str| grouped(row[column].as_u64().expect("a count"));
        is("prompt", grouped(prompt_of(row)));
        is("read", count("cache_read_input_tokens"));
        is("input", count("input_tokens"));
        is("output", count("output_tokens"));
        is("cost", dollars(row["cost_usd"].as_str().map(picodollars)));
    }
    for name in ["billed", "5m", "1h"] {
        let rows = ledger(&report.sessions, &["--strategy", name, "--breaks", "keep"]);
        let of_session = rows.iter().filter(|row| row["session_id"] == session);
        let costs = of_session.map(|row| dollars(row["cost_usd"].as_str().map(picodollars)));
        assert_eq!(shown[name], costs.collect::<Vec<_>>(), "{session} under {name}");
    }
}

/// Golf began on 2026-08-03 at 15:00 UTC, in summer, and went on 90 days later at the same hour, in winter.
#[test]
fn times_are_those_of_the_time_zone() {
    let Some(mut browser) = Browser::start() else { return };
    let report = report(&ordinary(), &["--timezone", "Europe/Berlin"]);
    browser.open(&report.page);
    open_session(&browser, &open_button(&browser, "golf"));
    let sent = turns(&browser)["sent (Europe/Berlin)"].clone();
    assert_eq!(sent, ["2026-08-03 17:00:00", "2026-11-01 16:00:00"]);
    let began = "document.querySelector('#session-summary').textContent";
    assert!(browser.text(began).contains("began 2026-08-03 17:00:00 (Europe/Berlin)"));
    // The earliest session began at 09:00 UTC.
    assert_eq!(
        browser.text("document.querySelector('#span').textContent"),
        "Requests from 2026-08-03 11:00:00 to 2026-11-01 16:00:00 (Europe/Berlin)."
    );
}

fn open_button(browser: &Browser, name: &str) -> String {
    let number = browser.text(&format!(
        "[...document.querySelectorAll('#sessions tbody tr')].find(row =>
            row.querySelector('[data-column=session] button').textContent === '{name}').dataset.session"
    ));
    format!("#sessions tr[data-session=\"{number}\"] [data-column=session] button")
}

#[test]
fn an_open_session_shows_its_turns() {
    let Some(mut browser) = Browser::start() else { return };
    let report = report(&ordinary(), &[]);
    browser.open(&report.page);
    for name in ["charlie", "bravo", "delta", "echo", "foxtrot", "golf"] {
        let button = open_button(&browser, name);
        open_session(&browser, &button);
        let title = browser.text("document.querySelector('h2#session-title').textContent");
        assert!(title.contains(name), "{title}");
        let number = button.split('"').nth(1).expect("a number");
        assert_eq!(browser.text("location.hash"), format!("#session-{number}"));
        let chart = "document.querySelector('figure#session-chart svg[role=img]')";
        assert!(browser.holds(&format!("{chart}.getBoundingClientRect().width > 100")), "{name}");
        assert_ne!(browser.text(&format!("{chart}.querySelector('title').textContent")), "");
        assert_turns(&browser, &report, name, "billed");
    }
    browser.choose("#strategy", "5m");
    assert_turns(&browser, &report, "golf", "5m");
    open_session(&browser, &open_button(&browser, "charlie"));
    assert_turns(&browser, &report, "charlie", "5m");
    let happened = turns(&browser)["what happened"].clone();
    assert!(happened[7].contains("break"), "{happened:?}");
    assert_eq!(browser.console_errors(), [""; 0]);
}

#[test]
fn an_address_opens_its_session() {
    let Some(mut browser) = Browser::start() else { return };
    let report = report(&ordinary(), &[]);
    browser.open(&report.page);
    let button = open_button(&browser, "charlie");
    let number = button.split('"').nth(1).expect("a number").to_owned();
    browser.open_at(&report.page, &format!("#session-{number}"));
    assert_turns(&browser, &report, "charlie", "billed");
    let other = open_button(&browser, "alpha");
    browser.evaluate(&format!("document.querySelector('{other}').focus()"));
    browser.press(&[ENTER]);
    browser.wait_for("document.activeElement.id === 'session-title'");
    assert_turns(&browser, &report, "alpha", "billed");
    browser.evaluate("history.back()");
    browser.wait_for("document.querySelector('#session-title').textContent.includes('charlie')");
    assert_turns(&browser, &report, "charlie", "billed");
    for nonsense in ["#session-99", "#session--1", "#session-", "#session-1x", "#%00<b>", "#answer"]
    {
        browser.open_at(&report.page, nonsense);
        assert!(browser.holds("document.querySelectorAll('#turns tbody tr').length === 0"));
        assert_eq!(browser.console_errors(), [""; 0], "{nonsense}");
    }
}

/// Of 45 sessions, 20, 20 and 5 are on a page each; what is found or sorted begins at the first one.
#[test]
fn sessions_are_paged() {
    let Some(mut browser) = Browser::start() else { return };
    let sessions = (0..45)
        .map(|number| Session::new(&format!("session-{number:02}"), number, steady(2, 10_000)));
    let report = report(&sessions.collect::<Vec<_>>(), &[]);
    browser.open(&report.page);
    let shown = |browser: &Browser| {
        browser.evaluate(
            "[...document.querySelectorAll('#sessions tbody tr')]
                .filter(row => row.getClientRects().length > 0).length",
        )
    };
    let place =
        |browser: &Browser| browser.text("document.querySelector('#session-page').textContent");
    assert_eq!((shown(&browser), place(&browser).as_str()), (20.into(), "1 to 20 of 45"));
    for (rows, words) in [(20, "21 to 40 of 45"), (5, "41 to 45 of 45")] {
        browser.click("#page-after");
        assert_eq!((shown(&browser), place(&browser).as_str()), (rows.into(), words));
    }
    assert!(browser.holds("document.querySelector('#page-after').disabled"));
    browser.click("#page-before");
    assert_eq!(place(&browser), "21 to 40 of 45");
    browser.click("#sessions button[data-sort=session]");
    assert_eq!(place(&browser), "1 to 20 of 45");
    browser.type_into("#session-search", "session-4");
    assert_eq!(shown(&browser), 5);
    assert!(browser.holds("document.querySelector('#session-pages').hidden"));
    browser.type_into("#session-search", "");
    browser.show_on("print");
    assert_eq!(shown(&browser), 45, "paper has all");
}

#[test]
fn sessions_and_breaks_have_their_project() {
    let Some(mut browser) = Browser::start() else { return };
    let report = report(&ordinary(), &[]);
    browser.open(&report.page);
    assert!(browser.holds(
        "[...document.querySelectorAll('#sessions td[data-column=project], #break-list td:first-child .file')]
            .every(cell => cell.textContent === 'invented')"
    ));
    assert_eq!(
        browser.evaluate("document.querySelectorAll('#sessions td[data-column=project]').length"),
        7
    );
}

#[test]
fn breaks_lead_to_their_sessions() {
    let Some(mut browser) = Browser::start() else { return };
    let report = report(&ordinary(), &[]);
    browser.open(&report.page);
    let rows = "document.querySelectorAll('table#break-list tbody tr')";
    assert_eq!(browser.evaluate(&format!("{rows}.length")), breaks_count(&report));
    browser.click("#breaks summary");
    open_session(&browser, "#break-list tbody a");
    assert_eq!(browser.console_errors(), [""; 0]);
}

fn breaks_count(report: &Report) -> usize {
    stdout(&["breaks", utf8(&report.sessions), "-q", "--format", "jsonl"]).lines().count()
}
