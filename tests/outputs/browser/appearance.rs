//! How the page looks: by day and by night, on paper, on a telephone, and without its script.

use std::collections::BTreeSet;

use super::chrome::Browser;
use super::report::{open_session, ordinary, report};

/// Texts that are seen and contrast less than WCAG 2 asks of ordinary text (level AA: 4.5 to 1).
/// Colours are laid over what is after them; text of a chart has its page after it.
const FAINT: &str = "(() => {
    const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
    const rgba = (text) => {
        canvas.clearRect(0, 0, 1, 1);
        canvas.fillStyle = text;
        canvas.fillRect(0, 0, 1, 1);
        const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
        return [r, g, b, a / 255];
    };
    const over = ([r, g, b, a], [x, y, z]) =>
        [r * a + x * (1 - a), g * a + y * (1 - a), b * a + z * (1 - a), 1];
    const behind = (element) => {
        const colours = [];
        for (let at = element; at !== null; at = at.parentElement) {
            colours.push(rgba(getComputedStyle(at).backgroundColor));
        }
        return colours.reverse().reduce((below, colour) => over(colour, below), [255, 255, 255, 1]);
    };
    const luminance = ([r, g, b]) => {
        const [x, y, z] = [r, g, b].map((part) => part / 255)
            .map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
        return 0.2126 * x + 0.7152 * y + 0.0722 * z;
    };
    const contrast = (one, other) => {
        const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
        return (light + 0.05) / (dark + 0.05);
    };
    const faint = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const element = walker.currentNode.parentElement;
        const text = walker.currentNode.textContent.trim();
        if (text === '' || element.closest('script, style, title, option, noscript') !== null
            || element.getClientRects().length === 0) {
            continue;
        }
        const style = getComputedStyle(element);
        const isDrawn = element.namespaceURI.endsWith('svg');
        const below = behind(isDrawn ? element.closest('svg').parentElement : element);
        const ratio = contrast(over(rgba(isDrawn ? style.fill : style.color), below), below);
        if (ratio < 4.5) {
            faint.push(`${ratio.toFixed(2)}: ${text.slice(0, 40)} (${element.tagName} ${element.className})`);
        }
    }
    return faint;
})()";

fn background(browser: &Browser) -> String {
    browser.text("getComputedStyle(document.body).backgroundColor")
}

fn seen(css: &str) -> String {
    format!("[...document.querySelectorAll('{css}')].some(one => one.getClientRects().length > 0)")
}

#[test]
fn text_is_readable_by_day_and_by_night() {
    let Some(mut browser) = Browser::start() else { return };
    let report = report(&ordinary(), &[]);
    let mut backgrounds = BTreeSet::new();
    for scheme in ["light", "dark"] {
        browser.prefer(scheme);
        browser.open(&report.page);
        open_session(&browser, "#sessions tbody tr button");
        backgrounds.insert(background(&browser));
        let texts = "document.body.textContent.length";
        assert!(browser.evaluate(texts).as_u64().is_some_and(|length| length > 3_000));
        let faint: BTreeSet<String> = browser.texts(FAINT).into_iter().collect();
        assert!(faint.is_empty(), "{scheme}: {faint:#?}");
    }
    assert_eq!(backgrounds.len(), 2, "{backgrounds:?}");
}

/// The measure of the test above is tested: it finds what is faint, and only that.
#[test]
fn faint_text_is_found() {
    let Some(mut browser) = Browser::start() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let page = folder.path().join("page.html");
    // #767676 on white is 4.54 to 1, #777777 is 4.48 to 1; half of black is #808080, 3.95 to 1.
    std::fs::write(
        &page,
        "<!doctype html><body style='background:#fff'><p style='color:#767676'>enough</p>
         <p style='color:#777777'>little</p><p style='color:#0008'>half</p>
         <div style='background:#000'><p style='color:#767676'>on black</p></div>
         <p hidden style='color:#eee'>hidden</p><svg><text y=10 fill='#ddd'>drawn</text></svg>",
    )
    .expect("written");
    browser.open(&page);
    let faint = browser.texts(FAINT).join(" ");
    for (text, is_faint) in
        [("enough", false), ("little", true), ("half", true), ("hidden", false), ("drawn", true)]
    {
        assert_eq!(faint.contains(text), is_faint, "{text}: {faint}");
    }
}

#[test]
fn paper_has_everything_but_the_controls() {
    let Some(mut browser) = Browser::start() else { return };
    let report = report(&ordinary(), &[]);
    browser.open(&report.page);
    open_session(&browser, "#sessions tbody tr button");
    browser.show_on("print");
    for section in
        ["answer", "strategies", "sessions-section", "session", "breaks", "verification", "prices"]
    {
        assert!(browser.holds(&seen(&format!("section#{section} h2"))), "{section}");
    }
    for table in ["sessions", "turns", "break-list"] {
        assert!(browser.holds(&seen(&format!("table#{table} tbody tr"))), "{table}");
    }
    assert!(browser.holds(&seen("#session-chart svg")));
    for control in ["input", "select", "nav a", "#more-turns"] {
        assert!(!browser.holds(&seen(control)), "{control}");
    }
    // A table that scrolls on a screen is whole on paper.
    assert!(browser.holds(
        "[...document.querySelectorAll('main table')].every(table => {
            for (let at = table.parentElement; at !== document.body; at = at.parentElement) {
                const style = getComputedStyle(at);
                if (style.overflowX !== 'visible' || style.overflowY !== 'visible') { return false; }
            }
            return true;
        })"
    ));
    browser.prefer("dark");
    browser.show_on("print");
    assert_eq!(background(&browser), "rgb(255, 255, 255)", "paper is white at night, too");
}

#[test]
fn a_narrow_page_does_not_scroll_sideways() {
    let Some(mut browser) = Browser::start() else { return };
    let report = report(&ordinary(), &[]);
    for width in [360, 768, 1920] {
        browser.resize(width, 740);
        browser.open(&report.page);
        let is_inside = format!("document.scrollingElement.scrollWidth <= {width}");
        assert!(browser.holds(&is_inside), "{width}");
        open_session(&browser, "#sessions tbody tr button");
        assert!(browser.holds(&is_inside), "{width}, with an open session");
    }
}

/// Bravo waited from its third request to its fourth for almost four hours.
#[test]
fn turns_can_be_read_on_a_telephone() {
    let Some(mut browser) = Browser::start() else { return };
    let report = report(&ordinary(), &[]);
    browser.resize(390, 844);
    browser.open(&report.page);
    for name in ["alpha", "bravo", "charlie"] {
        let row = format!(
            "[...document.querySelectorAll('#sessions tbody tr')].find(row =>
                row.textContent.includes('{name}')).dataset.session"
        );
        let number = browser.text(&row);
        open_session(&browser, &format!("#sessions tr[data-session=\"{number}\"] button"));
        assert!(browser.holds("document.scrollingElement.scrollWidth <= 390"), "{name}");
        let cells = "[...document.querySelectorAll('#turns th, #turns td')]
            .filter(cell => cell.getClientRects().length > 0)";
        assert!(
            browser.holds(&format!(
                "{cells}.every(cell => {{
                    const area = cell.getBoundingClientRect();
                    return area.left >= 0 && area.right <= 390 && cell.scrollWidth <= area.width + 1;
                }})"
            )),
            "{name}: nothing is cut off"
        );
        let names = browser.texts(&format!(
            "{cells}.filter(cell => cell.tagName === 'TH').map(cell => cell.textContent)"
        ));
        assert_eq!(names, ["turn", "billed", "5m", "1h", "what happened"], "{name}");
    }
}

/// Each has one drawing for wide pages and one for narrow ones.
#[test]
fn charts_fit_a_telephone() {
    let Some(mut browser) = Browser::start() else { return };
    let report = report(&ordinary(), &[]);
    for (width, is_narrow) in [(390, true), (1_280, false)] {
        browser.resize(width, 844);
        browser.open(&report.page);
        let seen = "[...document.querySelectorAll('figure svg.chart')]
            .filter(one => one.getClientRects().length > 0)";
        let figures = browser.evaluate("document.querySelectorAll('figure[id^=chart-]').length");
        assert!(figures.as_u64() > Some(5), "{figures}");
        assert_eq!(browser.evaluate(&format!("{seen}.length")), figures, "{width}");
        let kind = format!("{seen}.every(one => one.classList.contains('narrow') === {is_narrow})");
        assert!(browser.holds(&kind), "{width}");
        let cut = browser.texts(&format!(
            "{seen}.flatMap(one => {{
                const area = one.getBoundingClientRect();
                return [...one.querySelectorAll('text')].filter(text => {{
                    const own = text.getBoundingClientRect();
                    return area.right > {width} || own.left < area.left || own.right > area.right
                        || own.bottom > area.bottom || text.textContent.includes('…');
                }}).map(text => text.textContent);
            }})"
        ));
        assert_eq!(cut, [""; 0], "{width}");
    }
}

#[test]
fn what_happened_is_whole_on_a_screen() {
    let Some(mut browser) = Browser::start() else { return };
    let report = report(&ordinary(), &[]);
    browser.resize(1_280, 900);
    browser.open(&report.page);
    browser.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })");
    open_session(&browser, "#sessions tbody tr button");
    let wide = "[...document.querySelectorAll('.scroll')]
        .filter(one => one.scrollWidth > one.clientWidth).map(one => one.textContent)";
    assert_eq!(browser.texts(wide), [""; 0]);
}

/// Where a table scrolls in its frame, its first column stays.
#[test]
fn first_columns_stay_in_view() {
    let Some(mut browser) = Browser::start() else { return };
    let report = report(&ordinary(), &[]);
    browser.resize(390, 844);
    browser.open(&report.page);
    assert!(browser.holds(
        "(() => {
            const frame = document.querySelector('#sessions').parentElement;
            const cell = document.querySelector('#sessions tbody td');
            const before = cell.getBoundingClientRect().left;
            frame.scrollLeft = 150;
            return frame.scrollLeft === 150 && cell.getBoundingClientRect().left === before;
        })()"
    ));
}

#[test]
fn without_scripts_the_tables_are_there() {
    let Some(mut browser) = Browser::start() else { return };
    let report = report(&ordinary(), &[]);
    browser.disable_scripts();
    browser.open(&report.page);
    assert!(browser.holds("document.querySelectorAll('#sessions tbody tr').length === 7"));
    browser.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })");
    for table in ["#strategies table", "#break-list", "#prices table", "#verification table"] {
        assert!(browser.holds(&seen(&format!("{table} tbody tr"))), "{table}");
    }
    assert!(browser.holds(&seen("#answer dd")));
    assert!(!browser.holds(&seen("#session-search, #strategy")), "what does nothing is not there");
    assert_eq!(browser.console_errors(), [""; 0]);
}
