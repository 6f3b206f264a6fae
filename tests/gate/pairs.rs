//! Changes of healthy captures in `../shared/cases/trust`: of each the file says what a gate that cannot be fooled does.

use std::fs;
use std::path::Path;
use std::process::Command;

use rayon::prelude::*;
use serde_json::Value;

use crate::common::{cachesim, is_thorough, shared, text};

/// Result of a check: its exit code, its JSON and its Markdown without the escapes of tables.
struct Checked {
    code: Option<i32>,
    json: String,
    markdown: String,
}

fn check(folder: &Path, capture: &str, pair: &Value) -> Checked {
    let base = pair["base"].as_str().expect("a base");
    let run = |format: &str| {
        let mut command = cachesim();
        command.current_dir(folder).args(["check", capture, "--baseline"]);
        command.args([&format!("{base}.json"), "--format", format]);
        match pair["config"].as_str() {
            None => command.arg("--no-config"),
            Some(config) => {
                let file = format!("{}.toml", pair["name"].as_str().expect("a name"));
                fs::write(folder.join(&file), config).expect("a file");
                command.env_remove("CACHESIM_NO_CONFIG").args(["--config", &file])
            }
        };
        command.output().expect("the program runs")
    };
    let (json, markdown) = (run("json"), run("markdown"));
    Checked {
        code: json.status.code(),
        json: text(&json.stdout),
        markdown: text(&markdown.stdout).replace('\\', ""),
    }
}

/// Whether a gate did what it has to.
fn is_right(folder: &Path, pair: &Value) -> bool {
    let name = pair["name"].as_str().expect("a name");
    let found = check(folder, &format!("pairs/{name}"), pair);
    let document: Value = serde_json::from_str(&found.json).unwrap_or_default();
    let fails = matches!(found.code, Some(1 | 3 | 4 | 5));
    match pair["expect"].as_str() {
        Some("fail") => fails,
        Some("pass") => {
            let difference = document["difference"]["difference_usd"].as_str();
            found.code == Some(0) && difference.and_then(|text| text.parse().ok()) == Some(0.0)
        }
        Some("listed") => {
            let base = format!("bases/{}", pair["base"].as_str().expect("a base"));
            let before = check(folder, &base, pair);
            let words: Vec<&str> =
                pair["words"].as_array().expect("words").iter().filter_map(Value::as_str).collect();
            let names = |now: &str, before: &str| {
                words.iter().any(|word| now.matches(word).count() > before.matches(word).count())
            };
            let is_named =
                names(&found.json, &before.json) && names(&found.markdown, &before.markdown);
            let is_seen = words.is_empty() && (fails || document["verdict"] != "pass");
            matches!(found.code, Some(0 | 1)) && is_named || is_seen
        }
        _ => true,
    }
}

#[test]
fn every_pair_is_judged_as_it_has_to_be() {
    let Some(trust) = shared("cases/trust") else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path().join("all");
    let made = Command::new("python3").arg(trust.join("make_gates.py")).arg(&folder).status();
    assert!(made.expect("python3 runs").success());
    for base in ["plain", "usage", "fast", "mixed", "older"] {
        let mut save = cachesim();
        save.current_dir(&folder).args(["check", &format!("bases/{base}"), "--save-baseline"]);
        let saved = save.arg(format!("{base}.json")).output().expect("the program runs");
        assert_eq!(saved.status.code(), Some(0), "{base}: {}", text(&saved.stderr));
    }
    let table = fs::read_to_string(trust.join("gates.json")).expect("the table");
    let pairs: Vec<Value> = serde_json::from_str(&table).expect("JSON");
    assert!(pairs.len() >= 122, "{}", pairs.len());
    let step = if is_thorough() { 1 } else { 10 };
    let pairs: Vec<&Value> = pairs.iter().step_by(step).collect();
    let wrong: Vec<&Value> = pairs
        .into_par_iter()
        .filter(|pair| !is_right(&folder, pair))
        .map(|pair| &pair["name"])
        .collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}
