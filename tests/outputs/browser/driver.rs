//! A running chromedriver, and the W3C `WebDriver` protocol that it speaks.

use std::env;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::common::skip;

/// Under the names that distributions give it.
const BROWSERS: [&str; 4] =
    ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// As root there is no sandbox; nothing is asked of a network; nothing moves while it is clicked on.
const ARGUMENTS: [&str; 12] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--disable-extensions",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--force-prefers-reduced-motion",
    "--window-size=1280,900",
];

/// How long chromedriver may take to start, and any command.
const START: Duration = Duration::from_secs(30);
const COMMAND_SECONDS: u64 = 60;
const QUIT_SECONDS: u64 = 10;

/// A session of a browser. Browser, driver and profile are gone when it is dropped.
pub(super) struct Driver {
    process: Child,
    /// The address of the session; that of the driver until there is one.
    address: String,
    has_session: bool,
    /// Removed last.
    profile: tempfile::TempDir,
}

impl Driver {
    /// Starts a browser; `None`, noted, where there is none.
    pub(super) fn start() -> Option<Self> {
        let (Some(browser), Some(driver)) = (find(&BROWSERS), find(&["chromedriver"])) else {
            skip("chromedriver and a browser");
            return None;
        };
        let profile = tempfile::tempdir().expect("a folder");
        let mut process = Command::new(driver)
            .args(["--port=0", "--allowed-ips="])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("chromedriver starts");
        let port = port(&mut process);
        let mut driver = Self { process, address: String::new(), has_session: false, profile };
        // From here on the process ends with the driver.
        let port = port.expect("chromedriver says its port");
        driver.address = format!("http://127.0.0.1:{port}/session");
        driver.begin(&browser);
        Some(driver)
    }

    fn begin(&mut self, browser: &Path) {
        let mut arguments: Vec<String> = ARGUMENTS.iter().map(|&one| one.to_owned()).collect();
        arguments.push(format!("--user-data-dir={}", self.profile.path().display()));
        let session = self.command(
            "",
            &json!({ "capabilities": { "alwaysMatch": {
                "browserName": "chrome",
                "goog:chromeOptions": { "binary": browser, "args": arguments },
                "goog:loggingPrefs": { "browser": "ALL", "performance": "ALL" },
                "timeouts": { "script": 30_000, "pageLoad": 50_000, "implicit": 0 },
            }}}),
        );
        let id = session["sessionId"].as_str().expect("a session");
        self.address = format!("{}/{id}", self.address);
        self.has_session = true;
    }

    /// Sends a command and returns its value.
    pub(super) fn command(&self, path: &str, body: &Value) -> Value {
        let request = minreq::post(format!("{}{path}", self.address)).with_body(body.to_string());
        answer(path, request.with_header("Content-Type", "application/json"))
    }

    /// Asks for a value.
    pub(super) fn get(&self, path: &str) -> Value {
        answer(path, minreq::get(format!("{}{path}", self.address)))
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        if self.has_session {
            // Ends the browser; whatever it answers, the driver is next.
            let quit = minreq::delete(self.address.as_str()).with_timeout(QUIT_SECONDS).send();
            drop(quit);
        }
        let killed = self.process.kill().and_then(|()| self.process.wait());
        if let Err(error) = killed {
            eprintln!("chromedriver cannot be ended: {error}");
        }
    }
}

fn answer(path: &str, request: minreq::Request) -> Value {
    let response = request.with_timeout(COMMAND_SECONDS).send();
    let response = response.unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut body: Value = response.json().unwrap_or_else(|error| panic!("{path}: {error}"));
    assert_eq!(response.status_code, 200, "{path}: {body:#}");
    body["value"].take()
}

fn find(names: &[&str]) -> Option<PathBuf> {
    let folders: Vec<PathBuf> = env::split_paths(&env::var_os("PATH")?).collect();
    let places = names.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    places.into_iter().find(|place| place.is_file())
}

/// The port that chromedriver chose, which it says on standard output.
fn port(process: &mut Child) -> Option<u16> {
    let output = BufReader::new(process.stdout.take()?);
    let (send, receive) = mpsc::channel();
    // Goes on reading, so that the driver never waits for room; ends with the driver.
    thread::spawn(move || {
        for line in output.lines().map_while(Result::ok) {
            let port = line.rsplit_once("successfully on port ");
            if let Some(port) = port.and_then(|(_, port)| port.trim_end_matches('.').parse().ok()) {
                let _nobody_waits_any_more = send.send(port);
            }
        }
    });
    receive.recv_timeout(START).ok()
}
