//! The means of these tests are tested themselves: what has to be noticed is noticed.

use std::fs;
use std::path::PathBuf;

use super::chrome::{Browser, ENTER, SPACE, TAB};

/// A page in a folder whose name is as bad as it gets.
struct Page {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

fn page(body: &str) -> Page {
    let folder = tempfile::tempdir().expect("a folder");
    let inner = folder.path().join("a 'b' \"c\" #d%20é");
    fs::create_dir(&inner).expect("a folder");
    let path = inner.join("page.html");
    let head = "<!doctype html><html lang=en><meta charset=utf-8><title>T</title>";
    fs::write(&path, format!("{head}{body}")).expect("written");
    Page { _folder: folder, path }
}

#[test]
fn a_quiet_page_is_quiet() {
    let Some(mut browser) = Browser::start() else { return };
    let page =
        page("<link rel=icon href=data:,><p id=one>1<script>console.log('not an error')</script>");
    browser.open_at(&page.path, "#one");
    assert_eq!(browser.text("document.title"), "T");
    assert_eq!(browser.text("location.hash"), "#one");
    assert_eq!(browser.console_errors(), [""; 0]);
    assert_eq!(browser.network_requests(), [""; 0]);
}

#[test]
fn errors_violations_and_requests_are_noticed() {
    let Some(mut browser) = Browser::start() else { return };
    let error = page("<script>setTimeout(() => nothing.there)</script>");
    browser.open(&error.path);
    assert!(browser.holds("document.readyState === 'complete'"));
    let errors = browser.console_errors();
    assert!(errors.iter().any(|one| one.contains("nothing is not defined")), "{errors:?}");

    let policy = "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'\">";
    let violation = page(&format!("{policy}<script>window.hit = 1</script>"));
    browser.open(&violation.path);
    assert!(browser.holds("window.hit === undefined"));
    let errors = browser.console_errors();
    assert!(errors.iter().any(|one| one.contains("Content Security Policy")), "{errors:?}");

    let request = page("<img src=other.png><img src=https://example.invalid/a.png>");
    browser.open(&request.path);
    let requests = browser.network_requests();
    assert_eq!(requests.len(), 2, "{requests:?}");
    assert!(requests[0].ends_with("/other.png"), "{requests:?}");
    assert_eq!(requests[1], "https://example.invalid/a.png");
}

#[test]
fn a_page_can_be_used() {
    let Some(mut browser) = Browser::start() else { return };
    let page = page(
        "<input id=field value=old><button id=button onclick=\"this.textContent += '!'\">b</button>\
         <select id=list><option value='a \"1\"'>A<option value=b selected>B</select>",
    );
    browser.open(&page.path);
    browser.type_into("#field", "new");
    assert_eq!(browser.text("document.querySelector('#field').value"), "new");
    browser.press(&["x", TAB]);
    assert_eq!(browser.text("document.activeElement.id"), "button");
    browser.press(&[ENTER, SPACE]);
    browser.click("#button");
    assert_eq!(browser.text("document.querySelector('#button').textContent"), "b!!!");
    browser.choose("#list", "A");
    assert_eq!(browser.text("document.querySelector('#list').value"), "a \"1\"");
    assert_eq!(
        browser.texts("[...document.querySelectorAll('option')].map(o => o.text)"),
        ["A", "B"]
    );
}

#[test]
fn a_page_can_be_looked_at_in_other_ways() {
    let Some(mut browser) = Browser::start() else { return };
    let page = page(
        "<style>p { color: rgb(1, 1, 1) }
         @media (prefers-color-scheme: dark) { p { color: rgb(2, 2, 2) } }
         @media print { p { display: none } }</style><p>p</p>
         <script>document.querySelector('p').id = 'ran'</script>",
    );
    browser.open(&page.path);
    let style = "getComputedStyle(document.querySelector('p'))";
    browser.prefer("light");
    assert_eq!(browser.text(&format!("{style}.color")), "rgb(1, 1, 1)");
    browser.prefer("dark");
    assert_eq!(browser.text(&format!("{style}.color")), "rgb(2, 2, 2)");
    browser.show_on("print");
    assert_eq!(browser.text(&format!("{style}.display")), "none");
    browser.show_on("screen");
    assert_eq!(browser.text(&format!("{style}.display")), "block");
    browser.resize(360, 640);
    assert_eq!(browser.evaluate("innerWidth"), 360);
    let picture = page.path.with_extension("png");
    browser.screenshot(&picture);
    assert!(fs::read(picture).expect("read").starts_with(b"\x89PNG"));
    assert!(browser.holds("document.querySelector('p').id === 'ran'"));
    browser.disable_scripts();
    browser.open(&page.path);
    assert!(browser.holds("document.querySelector('p').id === ''"));
}
