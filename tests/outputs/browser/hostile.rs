//! Names and titles that would be code in a careless page are text in this one.

use serde_json::json;

use super::chrome::Browser;
use super::report::{Report, Session, open_session, ordinary, report, report_in, steady};

const TITLE: &str = "</script><script>window.hit=1</script><img src=x onerror=window.hit=2>";

/// A folder and sessions whose names close attributes, elements and blocks of data, as far as that
/// is possible without a slash.
const FOLDER: &str = "a\"b'c <img src=x onerror=window.hit=3> &amp; <b";
const NAMES: [&str; 4] = [
    "\"><img src=x onerror=window.hit=4>",
    "' onfocus=window.hit=5 autofocus x='",
    "]]>--><!--<script>window.hit=6<",
    "{{7*7}}${window.hit=7}\\u003cimg\\",
];

fn titled(title: &str) -> Vec<Session> {
    let mut sessions = ordinary();
    let line = json!({ "type": "ai-title", "aiTitle": title, "sessionId": "charlie" });
    sessions[2].more.push(line.to_string());
    sessions
}

/// Opens every session, sorts, searches and switches, and looks whether anything ran.
fn assert_harmless(browser: &mut Browser, report: &Report) {
    browser.open(&report.page);
    let count = "document.querySelectorAll('#sessions tbody tr').length";
    let sessions = browser.evaluate(count).as_u64().expect("a count");
    for number in 0..sessions {
        open_session(browser, &format!("#sessions tr[data-session=\"{number}\"] button"));
        browser.choose("#strategy", if number % 2 == 0 { "1h" } else { "billed" });
    }
    browser.click("#sessions button[data-sort=session]");
    browser.type_into("#session-search", "<img");
    assert!(browser.holds("window.hit === undefined"));
    assert!(browser.holds("document.querySelectorAll('img, iframe, object, embed').length === 0"));
    assert!(browser.holds(
        "[...document.querySelectorAll('*')].every(element =>
            [...element.attributes].every(one => !one.name.startsWith('on') && one.name !== 'style'))"
    ));
    assert_eq!(browser.console_errors(), [""; 0]);
    assert_eq!(browser.network_requests(), [""; 0]);
}

#[test]
fn a_title_is_text() {
    let Some(mut browser) = Browser::start() else { return };
    let report = report(&titled(TITLE), &["--show-text"]);
    assert_harmless(&mut browser, &report);
    browser.open(&report.page);
    let buttons = "[...document.querySelectorAll('#sessions [data-column=session] button')]";
    let place = browser.evaluate(&format!(
        "{buttons}.findIndex(button => button.textContent === {}) >= 0",
        json!(TITLE)
    ));
    assert_eq!(place, true, "the title is shown as it is");
    browser.type_into("#session-search", "window.hit=1");
    let count = browser.text("document.querySelector('#session-count').textContent");
    assert_eq!(count.trim(), "1 of 7 sessions", "titles are searched");
    open_session(&browser, "#sessions tbody tr:not([hidden]) button");
    let opened = browser.text("document.querySelector('#session-title').textContent");
    assert!(opened.contains(TITLE), "{opened}");
}

#[test]
fn without_show_text_a_title_is_nowhere() {
    let report = report(&titled("zebra crossing"), &[]);
    let page = std::fs::read_to_string(&report.page).expect("read");
    assert!(!page.contains("zebra"), "a title is text of a transcript");
}

#[test]
fn names_of_files_and_sessions_are_text() {
    let Some(mut browser) = Browser::start() else { return };
    let mut sessions: Vec<Session> =
        (0..).zip(NAMES).map(|(hour, name)| Session::new(name, hour, steady(3, 9_000))).collect();
    sessions[1].turns[2].read = 0;
    let report = report_in(FOLDER, &sessions, &[]);
    assert_harmless(&mut browser, &report);
    browser.open(&report.page);
    let shown = browser.text("document.querySelector('#sessions').textContent");
    for name in ["onerror=window.hit=4>", "${window.hit=7}\\u003cimg\\", "autofocus x='"] {
        assert!(shown.contains(name), "{name}: {shown}");
    }
}

/// What would turn text around, or hide it, does neither.
#[test]
fn characters_that_are_not_seen_are_not_obeyed() {
    let Some(mut browser) = Browser::start() else { return };
    let title = "a\u{202e}gpj.exe\u{1b}[31m\u{0}\u{2066}b";
    let report = report(&titled(title), &["--show-text"]);
    browser.open(&report.page);
    let text = browser.text("document.documentElement.textContent");
    for character in ['\u{202e}', '\u{1b}', '\u{0}', '\u{2066}'] {
        assert!(!text.contains(character), "{character:?}");
    }
    assert_eq!(browser.console_errors(), [""; 0]);
}
