//! The page for a reader who has no mouse or does not see it.

use super::chrome::{Browser, ENTER, TAB};
use super::report::{Report, open_session, ordinary, report};

/// As many presses reach everything on a small page.
const MOST_STOPS: usize = 150;

/// A page with an open session.
fn open(browser: &mut Browser) -> Report {
    let report = report(&ordinary(), &[]);
    browser.open(&report.page);
    open_session(browser, "#sessions tbody tr button");
    report
}

/// What of some elements does not keep a rule, as they begin.
fn offenders(browser: &Browser, css: &str, rule: &str) -> Vec<String> {
    browser.texts(&format!(
        "(() => {{
            const named = (element) => {{
                const ids = (element.getAttribute('aria-labelledby') || '').split(' ');
                const texts = ids.map((id) => (document.getElementById(id) || {{}}).textContent || '');
                const label = element.getAttribute('aria-label') || '';
                return `${{texts.join('')}}${{label}}`.trim() !== '';
            }};
            const isSeen = (element) => element.getClientRects().length > 0;
            return [...document.querySelectorAll('{css}')]
                .filter((element) => !({rule}))
                .map((element) => element.outerHTML.slice(0, 120));
        }})()"
    ))
}

#[test]
fn everything_has_a_name() {
    let Some(mut browser) = Browser::start() else { return };
    let _report = open(&mut browser);
    for (css, rule) in [
        (
            "input, select",
            "named(element) || [...element.labels].some((label) => label.textContent.trim() !== '')",
        ),
        ("button, a", "!isSeen(element) || named(element) || element.textContent.trim() !== ''"),
        (
            "table",
            "named(element) || (element.caption && element.caption.textContent.trim() !== '')",
        ),
        (
            "svg",
            "element.getAttribute('role') === 'img' && (named(element) || element.querySelector(':scope > title').textContent.trim() !== '')",
        ),
        ("thead th", "element.textContent.trim() !== '' && element.scope === 'col'"),
        ("tbody th", "element.textContent.trim() !== '' && element.scope === 'row'"),
        ("section, nav", "named(element)"),
        ("[tabindex]", "element.tabIndex <= 0"),
        ("[tabindex=\"0\"]", "named(element)"),
        (
            "[aria-labelledby]",
            "element.getAttribute('aria-labelledby').split(' ').every((id) => document.getElementById(id) !== null)",
        ),
        (
            "a[href^=\"#\"]",
            "document.getElementById(element.hash.slice(1)) !== null || /^#session-[0-9]+$/.test(element.hash)",
        ),
        ("html", "element.lang !== '' && document.title !== ''"),
    ] {
        assert_eq!(offenders(&browser, css, rule), [""; 0], "{css}");
    }
    let twice = browser.texts(
        "[...document.querySelectorAll('[id]')].map(one => one.id)
            .filter((id, at, all) => all.indexOf(id) !== at)",
    );
    assert_eq!(twice, [""; 0], "ids that are given twice");
}

#[test]
fn headings_are_an_outline() {
    let Some(mut browser) = Browser::start() else { return };
    let _report = open(&mut browser);
    let headings = browser.texts(
        "[...document.querySelectorAll('h1, h2, h3, h4, h5, h6')].map(heading => heading.tagName)",
    );
    let levels: Vec<u8> = headings.iter().map(|name| name.as_bytes()[1] - b'0').collect();
    assert_eq!(levels[0], 1);
    assert_eq!(headings.iter().filter(|name| *name == "H1").count(), 1);
    assert!(levels.windows(2).all(|pair| pair[1] <= pair[0] + 1), "{levels:?}");
}

#[test]
fn what_changes_is_said() {
    let Some(mut browser) = Browser::start() else { return };
    let _report = open(&mut browser);
    assert!(browser.holds("document.querySelector('output#session-count') !== null"));
    assert!(browser.holds("document.querySelector('#session-count').ariaLive !== 'off'"));
}

/// Presses Tab from the beginning of the page on, and names what has the focus each time.
fn stops(browser: &Browser) -> Vec<String> {
    browser.evaluate("document.activeElement.blur()");
    let mut stops = Vec::new();
    for _ in 0..MOST_STOPS {
        browser.press(&[TAB]);
        let stop = browser.text(
            "(() => {
                const element = document.activeElement;
                const row = element.closest('tr[data-session]');
                if (element === document.body) { return ''; }
                if (element.dataset.sort) { return `sort ${element.dataset.sort}`; }
                if (row) { return `session ${row.dataset.session}`; }
                return element.id || element.getAttribute('href') || element.tagName;
            })()",
        );
        if stop.is_empty() || stops.first() == Some(&stop) {
            break;
        }
        stops.push(stop);
    }
    stops
}

#[test]
fn the_keyboard_reaches_everything() {
    let Some(mut browser) = Browser::start() else { return };
    let report = report(&ordinary(), &[]);
    browser.open(&report.page);
    let stops = stops(&browser);
    let place = |name: &str| {
        let place = stops.iter().position(|stop| stop == name);
        place.unwrap_or_else(|| panic!("{name} is not in {stops:?}"))
    };
    assert!(stops[0].starts_with('#'), "the first stop skips the navigation: {stops:?}");
    // The strategy shown is the one that the others are compared with: no difference.
    let columns = "session began requests prompt hit cost lost".split(' ');
    let mut order = vec![place("strategy"), place("session-search")];
    order.extend(columns.map(|column| place(&format!("sort {column}"))));
    assert!(order.is_sorted(), "{stops:?}");
    let last = *order.last().expect("a column");
    for number in 0..7 {
        assert!(place(&format!("session {number}")) > last, "{stops:?}");
    }
}

#[test]
fn the_focus_is_seen() {
    let Some(mut browser) = Browser::start() else { return };
    let report = report(&ordinary(), &[]);
    browser.open(&report.page);
    for _ in 0..30 {
        browser.press(&[TAB]);
        assert!(browser.holds(
            "(() => {
                const style = getComputedStyle(document.activeElement);
                const isRinged = style.outlineStyle !== 'none' && style.outlineWidth !== '0px';
                return isRinged || style.boxShadow !== 'none';
            })()"
        ));
        // A page may take its time to scroll there.
        browser.wait_for(
            "(() => {
                const box = document.activeElement.getBoundingClientRect();
                const [x, y] = [box.left + box.width / 2, Math.max(box.top, 0) + 3];
                const seen = document.elementFromPoint(x, y);
                return seen !== null && document.activeElement.contains(seen);
            })()",
        );
    }
}

#[test]
fn the_first_stop_skips_to_the_report() {
    let Some(mut browser) = Browser::start() else { return };
    let report = report(&ordinary(), &[]);
    browser.open(&report.page);
    browser.press(&[TAB, ENTER]);
    assert!(browser.holds("document.activeElement.closest('main') !== null"));
    browser.press(&[TAB]);
    assert!(browser.holds("document.activeElement.closest('main') !== null"));
}
