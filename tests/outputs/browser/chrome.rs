//! A page in a browser: what is done with it, and what it shows.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::common::is_thorough;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use super::driver::Driver;

/// One browser at a time: the machine has other work, and time-outs are hard.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// What a file's address may hold as it is.
const PATH: AsciiSet = NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'.').remove(b'_');

/// Under this name the protocol refers to elements.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// Keys without a character, as the protocol spells them.
const BACKSPACE: &str = "\u{e003}";
pub(super) const TAB: &str = "\u{e004}";
pub(super) const ENTER: &str = "\u{e007}";
pub(super) const SPACE: &str = " ";

/// A browser with one page.
pub(super) struct Browser {
    driver: Driver,
    /// The page's address without its fragment.
    address: String,
    _turn: MutexGuard<'static, ()>,
}

impl Browser {
    /// Starts a browser; `None`, noted, where there is none, or tests are not thorough.
    pub(super) fn start() -> Option<Self> {
        if !is_thorough() {
            return None;
        }
        // A test that failed with the browser leaves nothing after.
        let turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        Some(Self { driver: Driver::start()?, address: String::new(), _turn: turn })
    }

    /// Opens a file.
    pub(super) fn open(&mut self, path: &Path) {
        self.open_at(path, "");
    }

    /// Opens a file at a fragment, given with its `#`. What was logged before is forgotten.
    pub(super) fn open_at(&mut self, path: &Path, fragment: &str) {
        let path = path.to_str().expect("UTF-8");
        self.address = format!("file://{}", utf8_percent_encode(path, &PATH));
        // Another fragment alone would not load the page again.
        self.driver.command("/url", &json!({ "url": "about:blank" }));
        self.log("browser");
        self.log("performance");
        self.driver.command("/url", &json!({ "url": format!("{}{fragment}", self.address) }));
        // Between two processes of the browser the command may end too early.
        self.wait_for("location.protocol === 'file:' && document.readyState === 'complete'");
    }

    /// The value of an expression on the page.
    pub(super) fn evaluate(&self, expression: &str) -> Value {
        let script = format!("return ({expression});");
        self.driver.command("/execute/sync", &json!({ "script": script, "args": [] }))
    }

    /// The value of an expression that is a string.
    pub(super) fn text(&self, expression: &str) -> String {
        let value = self.evaluate(expression);
        value.as_str().unwrap_or_else(|| panic!("{expression}: {value}")).to_owned()
    }

    /// The value of an expression that is a list of strings.
    pub(super) fn texts(&self, expression: &str) -> Vec<String> {
        let value = self.evaluate(expression);
        let list = value.as_array().unwrap_or_else(|| panic!("{expression}: {value}"));
        let text = |one: &Value| one.as_str().unwrap_or_else(|| panic!("{value}")).to_owned();
        list.iter().map(text).collect()
    }

    /// Whether an expression on the page is `true`.
    pub(super) fn holds(&self, expression: &str) -> bool {
        self.evaluate(expression) == Value::Bool(true)
    }

    /// Clicks where the element is, which has to be seen.
    pub(super) fn click(&self, css: &str) {
        // At once, also where a page scrolls smoothly.
        let scroll = "scrollIntoView({ block: 'center', behavior: 'instant' })";
        self.evaluate(&format!("document.querySelector({}).{scroll}", json!(css)));
        self.click_on(css);
    }

    fn click_on(&self, css: &str) {
        self.driver.command(&format!("{}/click", self.element(css)), &json!({}));
    }

    /// Replaces what stands in a field, as a user would: all of it is selected and typed over.
    pub(super) fn type_into(&self, css: &str, text: &str) {
        let field = format!("document.querySelector({})", json!(css));
        self.evaluate(&format!("({field}.focus(), {field}.select())"));
        let characters: Vec<String> = text.chars().map(String::from).collect();
        let keys = characters.iter().map(String::as_str);
        self.press(&std::iter::once(BACKSPACE).chain(keys).collect::<Vec<_>>());
    }

    /// Chooses an option of a list by its text.
    pub(super) fn choose(&self, css: &str, text: &str) {
        let place = format!(
            "[...document.querySelector({}).options].findIndex(option => option.text === {}) + 1",
            json!(css),
            json!(text)
        );
        self.click_on(&format!("{css} option:nth-of-type({})", self.evaluate(&place)));
    }

    /// Waits until an expression on the page is `true`.
    pub(super) fn wait_for(&self, condition: &str) {
        for _ in 0..200 {
            if self.holds(condition) {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(25));
        }
        panic!("never: {condition}");
    }

    fn element(&self, css: &str) -> String {
        let using = json!({ "using": "css selector", "value": css });
        let element = self.driver.command("/element", &using);
        format!("/element/{}", element[ELEMENT].as_str().expect("an element"))
    }

    /// Presses keys one after the other.
    pub(super) fn press(&self, keys: &[&str]) {
        let strokes: Vec<Value> = keys
            .iter()
            .flat_map(|key| ["keyDown", "keyUp"].map(|kind| json!({ "type": kind, "value": key })))
            .collect();
        let keyboard = json!({ "type": "key", "id": "keyboard", "actions": strokes });
        self.driver.command("/actions", &json!({ "actions": [keyboard] }));
    }

    /// What the console has since the page was opened, without mere information.
    pub(super) fn console_errors(&self) -> Vec<String> {
        let is_error = |entry: &Value| entry["level"] == "SEVERE" || entry["level"] == "WARNING";
        let message = |entry: Value| entry["message"].to_string();
        self.log("browser").into_iter().filter(is_error).map(message).collect()
    }

    /// The addresses asked for since the page was opened, but for its own and those that hold what
    /// they stand for.
    pub(super) fn network_requests(&self) -> Vec<String> {
        let address = |entry: Value| {
            let event: Value = serde_json::from_str(entry["message"].as_str()?).ok()?;
            let message = &event["message"];
            let is_request = message["method"] == "Network.requestWillBeSent";
            let url = message["params"]["request"]["url"].as_str()?;
            is_request.then(|| url.to_owned())
        };
        let is_foreign = |url: &String| {
            let without_fragment = url.split('#').next();
            without_fragment != Some(&self.address) && !url.starts_with("data:")
        };
        self.log("performance").into_iter().filter_map(address).filter(is_foreign).collect()
    }

    fn log(&self, kind: &str) -> Vec<Value> {
        match self.driver.command("/se/log", &json!({ "type": kind })) {
            Value::Array(entries) => entries,
            other => panic!("{other}"),
        }
    }

    /// Shows the page as a reader has it who prefers `dark` or `light`.
    pub(super) fn prefer(&self, scheme: &str) {
        let feature = json!({ "name": "prefers-color-scheme", "value": scheme });
        self.devtools("Emulation.setEmulatedMedia", &json!({ "features": [feature] }));
    }

    /// Shows the page as it is printed, or as it is on a screen.
    pub(super) fn show_on(&self, medium: &str) {
        self.devtools("Emulation.setEmulatedMedia", &json!({ "media": medium }));
    }

    /// Gives the page another size.
    pub(super) fn resize(&self, width: u32, height: u32) {
        let size =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.devtools("Emulation.setDeviceMetricsOverride", &size);
    }

    /// From the next page on no script of a page runs.
    pub(super) fn disable_scripts(&self) {
        self.devtools("Emulation.setScriptExecutionDisabled", &json!({ "value": true }));
    }

    fn devtools(&self, command: &str, parameters: &Value) -> Value {
        let call = json!({ "cmd": command, "params": parameters });
        self.driver.command("/goog/cdp/execute", &call)
    }

    /// Keeps a picture of what is seen.
    pub(super) fn screenshot(&self, path: &Path) {
        let picture = self.driver.get("/screenshot");
        let png = BASE64_STANDARD.decode(picture.as_str().expect("a picture")).expect("base64");
        std::fs::write(path, png).expect("written");
    }
}
