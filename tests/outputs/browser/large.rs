//! The page of a large tree stays small and opens soon.

use std::fs;
use std::time::Instant;

use super::chrome::Browser;
use super::report::{Session, report, steady};

const SESSIONS: i64 = 500;
const REQUESTS: u64 = 100;

/// Bytes of the largest page that may be.
const MOST_BYTES: u64 = 10_000_000;

/// Sessions of different sizes, some of them with breaks.
fn sessions() -> Vec<Session> {
    let session = |number: i64| {
        let mut turns = steady(REQUESTS, 300 + number.unsigned_abs());
        if number % 10 == 0 {
            let turn = &mut turns[50];
            (turn.read, turn.written_1h) = (0, turn.read + turn.written_1h);
        }
        Session::new(&format!("session-{number:03}"), number * 2, turns)
    };
    (0..SESSIONS).map(session).collect()
}

#[test]
fn fifty_thousand_requests_are_one_page() {
    let Some(mut browser) = Browser::start() else { return };
    let began = Instant::now();
    let report = report(&sessions(), &[]);
    let bytes = fs::metadata(&report.page).expect("a page").len();
    eprintln!("written in {:.1} s with its input, {bytes} bytes", began.elapsed().as_secs_f64());
    assert!(bytes < MOST_BYTES, "{bytes}");
    browser.open(&report.page);
    browser.wait_for("performance.getEntriesByType('navigation')[0].loadEventEnd > 0");
    let [loaded, shown] = ["domContentLoadedEventEnd", "loadEventEnd"].map(|event| {
        let time = format!("performance.getEntriesByType('navigation')[0].{event}");
        browser.evaluate(&time).as_f64().expect("a time")
    });
    eprintln!("content loaded after {loaded:.0} ms, everything after {shown:.0} ms");
    assert_eq!(
        browser.text("document.querySelector('#session-count').textContent").trim(),
        "500 of 500 sessions"
    );
    for (what, action) in [
        (
            "search",
            "(() => { const field = document.querySelector('#session-search'); field.value = '-49'; field.dispatchEvent(new Event('input')); })()",
        ),
        ("sort", "document.querySelector('#sessions button[data-sort=hit]').click()"),
        ("open", "document.querySelector('#sessions tr[data-session=\"490\"] button').click()"),
    ] {
        let time = format!(
            "(() => {{ const began = performance.now(); {action}; document.body.offsetHeight; return performance.now() - began; }})()"
        );
        let time = browser.evaluate(&time).as_f64().expect("a time");
        eprintln!("{what} takes {time:.0} ms");
    }
    let count = browser.text("document.querySelector('#session-count').textContent");
    assert_eq!(count.trim(), "10 of 500 sessions");
    browser.wait_for("document.querySelectorAll('#turns tbody tr').length === 100");
    assert_eq!(browser.console_errors(), [""; 0]);
    assert_eq!(browser.network_requests(), [""; 0]);
}
