//! Commands over domains: for programs each domain has what it has alone, and for people the sums are those of its
//! domains.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use cachesim::base::units::Picodollars;
use cachesim::report::dollars;
use serde_json::Value;

use crate::common::{known_picodollars, names, project, run, shared, stdout, text, utf8};

/// Some folders below a root, each of which is a domain.
struct Domains {
    root: PathBuf,
    names: Vec<String>,
    folder: tempfile::TempDir,
}

impl Domains {
    fn of(root: PathBuf, names: Vec<String>) -> Self {
        Self { root, names, folder: tempfile::tempdir().expect("a folder") }.listed()
    }

    fn listed(self) -> Self {
        fs::write(self.list(), self.names.join("\n")).expect("a file");
        self
    }

    /// Fixtures of every kind of input: transcripts, captures, other agents, unknown prices, damage.
    fn of_fixtures() -> Self {
        const FIXTURES: [&str; 10] = [
            "agent-codex-tiers",
            "agent-kimi-compaction",
            "cached-edits",
            "captured-clock",
            "captured-forks",
            "damaged",
            "expiry-5m",
            "sub-agents",
            "unknown-model",
            "verdict-of-the-service",
        ];
        // They call their requests by the same names.
        let folder = tempfile::tempdir().expect("a folder");
        for (number, name) in FIXTURES.iter().enumerate() {
            copy(&project("fixtures").join(name), &folder.path().join(name), &number.to_string());
        }
        let names = FIXTURES.map(str::to_owned).to_vec();
        Self { root: folder.path().to_owned(), names, folder }.listed()
    }

    fn all() -> Vec<Self> {
        let corpora = ["corpus", "corpus-b"].into_iter().filter_map(shared);
        let of_corpora = corpora.map(|root| {
            let folders = names(&root).into_iter().filter(|name| root.join(name).is_dir());
            let folders = folders.collect();
            Self::of(root, folders)
        });
        [Self::of_fixtures()].into_iter().chain(of_corpora).collect()
    }

    /// The arguments for all of them.
    fn together<'a>(&'a self, list: &'a str) -> [&'a str; 7] {
        ["--root", utf8(&self.root), "--paths-from", list, "--domains", "depth:1", "-q"]
    }

    fn list(&self) -> String {
        utf8(&self.folder.path().join("list")).to_owned()
    }

    /// What a command says of all of them.
    fn said(&self, command: &[&str]) -> String {
        let output = run(&[command, &self.together(&self.list())].concat());
        assert!(
            matches!(output.status.code(), Some(0 | 1)),
            "{command:?}: {}",
            text(&output.stderr)
        );
        text(&output.stdout)
    }

    /// The result of each of them, as written for all together.
    fn results(&self, command: &[&str]) -> BTreeMap<String, Value> {
        let lines = self.said(&[command, &["--format", "json"]].concat());
        let result = |line: &str| {
            let line: Value = serde_json::from_str(line).expect("a line of JSON");
            assert_eq!(line["schema"], "cachesim.domain-result/v1");
            (line["domain"].as_str().expect("a name").to_owned(), line["result"].clone())
        };
        lines.lines().map(result).collect()
    }
}

/// Copies a folder, with the ids of its requests and answers made its own.
fn copy(from: &Path, to: &Path, own: &str) {
    fs::create_dir_all(to).expect("a folder");
    for name in names(from) {
        let (from, to) = (from.join(&name), to.join(&name));
        if from.is_dir() {
            copy(&from, &to, own);
            continue;
        }
        let bytes = fs::read(&from).expect("a file");
        match String::from_utf8(bytes) {
            Ok(text) => {
                let text = text.replace("\"req_", &format!("\"req_{own}"));
                fs::write(&to, text.replace("\"msg_", &format!("\"msg_{own}")))
            }
            Err(other) => fs::write(&to, other.as_bytes()),
        }
        .expect("a copy");
    }
}

/// JSON without the line breaks and indents between its values.
fn one_line(json: &str) -> String {
    json.lines().map(str::trim_start).collect()
}

/// The last six tell all that there is.
const COMMANDS: [&[&str]; 9] = [
    &["verify"],
    &["analyze", "--by", "day"],
    &["analyze", "--by", "model", "--strategy", "billed,5m"],
    &["analyze"],
    &["advise"],
    &["breaks"],
    &["context"],
    &["verify", "--rules", "--counts"],
    &["lint"],
];

#[test]
fn each_domain_has_what_it_has_alone() {
    for (number, domains) in Domains::all().into_iter().enumerate() {
        // Of the large inputs once, and all that a command can tell.
        let (commands, jobs) = if number == 0 {
            (&COMMANDS[..], &["1", "3"][..])
        } else {
            (&COMMANDS[3..], &["2"][..])
        };
        for command in commands {
            let command = [*command, &["--format", "json"]].concat();
            let alone = |domain: &String| {
                let folder = domains.root.join(domain);
                let one = [utf8(&folder), "--root", utf8(&domains.root), "-q"];
                let output = run(&[&command[..], &one].concat());
                let is_told = matches!(output.status.code(), Some(0 | 1));
                is_told.then(|| {
                    format!(
                        "{{\"schema\":\"cachesim.domain-result/v1\",\"domain\":\"{domain}\",\"result\":{}}}",
                        one_line(&text(&output.stdout))
                    )
                })
            };
            let apart: Vec<String> = domains.names.iter().filter_map(alone).collect();
            if apart.is_empty() {
                // No domain has what the command needs, such as captured prompts.
                let output = run(&[&command[..], &domains.together(&domains.list())].concat());
                assert_eq!(output.status.code(), Some(3), "{command:?}");
                continue;
            }
            for jobs in jobs.iter().copied() {
                let together = domains.said(&[&command[..], &["--jobs", jobs]].concat());
                let lines: Vec<&str> = together.lines().collect();
                assert_eq!(lines.len(), apart.len(), "{command:?}");
                for (line, apart) in lines.iter().zip(&apart) {
                    assert!(line == apart, "{command:?}: {}", &line[..line.len().min(200)]);
                }
            }
        }
    }
}

fn picodollars(value: &Value) -> Picodollars {
    Picodollars(known_picodollars(value))
}

/// The line of a text whose first words are these, without the spaces between its cells.
fn cells<'a>(said: &'a str, first: &str) -> Vec<&'a str> {
    let line = said.lines().find(|line| line.trim_start().starts_with(first));
    line.unwrap_or_else(|| panic!("no line begins with {first} in\n{said}"))
        .split_whitespace()
        .collect()
}

/// The answer over domains, which two ways lead to: from rows that are read again, and from each domain's own answer.
#[test]
fn the_answer_of_all_is_that_of_their_rows() {
    let answer = |said: &str| -> Vec<String> {
        // `compare` begins with its conclusion.
        let lines = said.lines().skip_while(|line| !line.starts_with("Spent"));
        let lines = lines.take_while(|line| !line.is_empty());
        let is_of_rows =
            |line: &&str| !["Best change", "Best caching"].iter().any(|one| line.starts_with(one));
        lines
            .filter(is_of_rows)
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect()
    };
    for domains in Domains::all() {
        let of_rows = answer(&domains.said(&["compare"]));
        assert!(of_rows.len() >= 3, "{of_rows:?}");
        for command in ["analyze", "advise", "breaks", "context", "verify"] {
            assert_eq!(answer(&domains.said(&[command])), of_rows, "{command}");
        }
    }
}

/// An amount as it is alone, and beside amounts from a dollar on.
fn in_a_column(amount: Picodollars) -> [String; 2] {
    [dollars(Some(amount)), format!("${:.2}", amount.to_dollars_lossy())]
}

#[test]
fn strategies_are_added_up() {
    for domains in Domains::all() {
        let said = domains.said(&["analyze", "--strategy", "billed,replay,5m,1h"]);
        let results = domains.results(&["analyze", "--strategy", "billed,replay,5m,1h"]);
        for (strategy, label) in [("billed", "billed"), ("5m", "5m"), ("1h", "1h")] {
            // Where a strategy can do nothing it has what was billed.
            let cost = |result: &Value| {
                let totals = &result["totals"];
                let own = &totals[strategy]["cost_usd"];
                picodollars(if own.is_null() { &totals["billed"]["cost_usd"] } else { own })
            };
            let sum: Picodollars = results.values().map(cost).sum();
            let row = cells(&said, &format!("{label} "));
            let shown = in_a_column(sum);
            let is_shown = |cell: &&str| shown.iter().any(|sum| cell.trim_end_matches('+') == sum);
            assert!(row.iter().any(is_shown), "{strategy}: {shown:?} in {row:?}");
        }
        assert!(said.contains(&format!("{} domains", results.len())), "{said}");
    }
}

#[test]
fn breaks_and_changes_are_added_up() {
    for domains in Domains::all() {
        let (said, results) = (domains.said(&["breaks"]), domains.results(&["breaks"]));
        let mut by_cause: BTreeMap<String, (u64, Picodollars)> = BTreeMap::new();
        for one in
            results.values().flat_map(|result| result["by_cause"].as_array().expect("causes"))
        {
            let sum =
                by_cause.entry(one["cause"].as_str().expect("a name").to_owned()).or_default();
            sum.0 += one["breaks"].as_u64().expect("a count");
            sum.1 += picodollars(&one["excess_usd"]);
        }
        assert!(by_cause.len() > 2);
        let joined = said.split_whitespace().collect::<Vec<_>>().join(" ");
        let by_class = joined.find("What to change first").unwrap_or(joined.len());
        let causes = &joined[..by_class];
        for (breaks, excess) in by_cause.values().filter(|sum| sum.1 > Picodollars(10_000_000_000))
        {
            let (count, excess) = (breaks.to_string(), in_a_column(*excess));
            let is_shown = excess.iter().any(|excess| causes.contains(excess));
            assert!(is_shown && causes.contains(&count), "{count} {excess:?} in {causes}");
        }

        let (said, results) = (domains.said(&["advise"]), domains.results(&["advise"]));
        let mut by_code: BTreeMap<String, (u64, Picodollars)> = BTreeMap::new();
        let mut all = Picodollars::ZERO;
        for advice in
            results.values().map(|result| &result["advice"]).filter(|advice| !advice.is_null())
        {
            all += picodollars(&advice["saving_usd"]);
            for change in advice["changes"].as_array().expect("changes") {
                let sum =
                    by_code.entry(change["label"].as_str().expect("words").to_owned()).or_default();
                sum.0 += 1;
                sum.1 += picodollars(&change["saving_usd"]);
            }
        }
        assert!(said.contains(&format!("{} (", dollars(Some(all)))), "{all:?} in {said}");
        let (label, (count, saving)) =
            by_code.iter().max_by_key(|(_, sum)| sum.1).expect("a change");
        let row = cells(&said, "1 ");
        let is_shown = in_a_column(*saving).iter().any(|saving| row.contains(&&**saving));
        assert!(is_shown, "{label} {saving:?} in {row:?}");
        assert!(row.contains(&&*count.to_string()), "{label} {count} in {row:?}");
    }
}

#[test]
fn agreement_and_contents_are_added_up() {
    for domains in Domains::all() {
        let (said, results) = (domains.said(&["verify"]), domains.results(&["verify"]));
        let sum = |of: &str, what: &str| -> u64 {
            results.values().map(|result| result[of][what].as_u64().expect("a count")).sum()
        };
        let (all, within) = (sum("all", "requests"), sum("all", "within_1_percent"));
        let row = cells(&said, "read within 1 %").join(" ");
        let plain = row.replace(',', "");
        assert!(plain.contains(&format!("{all} requests")), "{all} in {row}");
        #[allow(clippy::cast_precision_loss)] // a share
        let share = 100.0 * within as f64 / all as f64;
        let shown: f64 = cells(&said, "read within 1 %")[7].parse().expect("a share");
        assert!((shown - share).abs() < 0.06, "{share} in {row}");
        let billed: Picodollars =
            results.values().map(|result| picodollars(&result["dollars"]["billed_usd"])).sum();
        assert!(
            said.contains(&format!("{} billed", dollars(Some(billed)))),
            "{billed:?} in {said}"
        );

        let (said, results) = (domains.said(&["context"]), domains.results(&["context"]));
        let answers = |result: &Value| {
            let kinds = result["kinds"].as_array().expect("kinds").clone();
            let answers = kinds.into_iter().find(|kind| kind["kind"] == "answers");
            answers.map_or(Picodollars::ZERO, |kind| picodollars(&kind["cost_usd"]))
        };
        let cost = in_a_column(results.values().map(answers).sum());
        let row = cells(&said, "answers ");
        assert!(cost.iter().any(|cost| row.contains(&&**cost)), "{cost:?} in {said}");
    }
}

#[test]
fn findings_are_added_up_and_fail_together() {
    let domains = Domains::of_fixtures();
    let (said, results) = (domains.said(&["lint"]), domains.results(&["lint"]));
    // Transcripts have no captured prompts, and are no domains here.
    assert!(results.len() > 1 && results.len() < domains.names.len(), "{:?}", results.keys());
    let mut by_rule: BTreeMap<String, u64> = BTreeMap::new();
    for finding in
        results.values().flat_map(|result| result["findings"].as_array().expect("findings"))
    {
        *by_rule.entry(finding["rule"].as_str().expect("a name").to_owned()).or_default() += 1;
    }
    assert!(!by_rule.is_empty());
    for (rule, count) in &by_rule {
        let row = said.lines().find(|line| line.split_whitespace().nth(1) == Some(rule));
        let row = row.unwrap_or_else(|| panic!("{rule} in {said}"));
        assert_eq!(row.split_whitespace().nth(2), Some(&*count.to_string()), "{row}");
    }
    let list = domains.list();
    for format in ["text", "json"] {
        let failing = ["lint", "--format", format, "--fail-on", "warning,note,error"];
        let output = run(&[&failing[..], &domains.together(&list)].concat());
        assert_eq!(output.status.code(), Some(1), "{format}");
        let (rule, count) = by_rule.first_key_value().expect("a rule");
        let error = text(&output.stderr);
        assert!(error.contains(rule) && error.contains(&count.to_string()), "{error}");
    }
}

#[test]
fn a_request_is_explained_in_its_domain() {
    let domains = Domains::of_fixtures();
    let list = domains.list();
    let explained = |request: &str| {
        run(&[&["explain", request, "--format", "json"], &domains.together(&list)[..]].concat())
    };
    let folder = domains.root.join("sub-agents");
    let rows = stdout(&["analyze", utf8(&folder), "--format", "jsonl", "-q"]);
    let first: Value = serde_json::from_str(rows.lines().next().expect("a row")).expect("a row");
    let request = first["request_id"].as_str().expect("an id");
    let alone = [
        "explain",
        request,
        utf8(&folder),
        "--root",
        utf8(&domains.root),
        "--format",
        "json",
        "-q",
    ];
    let found = explained(request);
    assert_eq!(found.status.code(), Some(0), "{}", text(&found.stderr));
    assert_eq!(text(&found.stdout), stdout(&alone));
    let unknown = explained("req_of_nobody");
    assert_eq!(unknown.status.code(), Some(3));
    assert!(text(&unknown.stderr).contains("no request is called `req_of_nobody`"));
    // Several domains have such a file.
    let file = |domain: &str| names(&domains.root.join(domain)).join(" ");
    assert!(
        file("expiry-5m").contains("session.jsonl") && file("damaged").contains("session.jsonl")
    );
    let ambiguous = explained("session.jsonl:1");
    let error = text(&ambiguous.stderr);
    assert_eq!(ambiguous.status.code(), Some(2), "{error}");
    assert!(error.contains("is in two domains"), "{error}");
}

#[test]
fn charts_of_domains_are_those_of_their_sums() {
    let domains = Domains::of_fixtures();
    let list = domains.list();
    let draw = |kind: &str| run(&[&["chart", kind], &domains.together(&list)[..]].concat());
    let compared = domains.said(&["compare", "--strategy", "billed"]);
    let spent = cells(&compared, "Spent")[1].to_owned();
    for kind in ["strategies", "daily", "breaks"] {
        let drawn = draw(kind);
        let picture = text(&drawn.stdout);
        assert!(drawn.status.success() && picture.starts_with("<svg"), "{}", text(&drawn.stderr));
        assert!(picture.contains("10 domains"), "{kind}");
        // What was billed is not known of all requests, so that `billed` stands beside no strategy.
        assert!(kind != "daily" || picture.contains(&spent), "{kind}: {spent}");
    }
    for kind in ["turns", "cost", "context", "gaps", "waterfall"] {
        let refused = draw(kind);
        assert_eq!(refused.status.code(), Some(2));
        assert!(text(&refused.stderr).contains("strategies, daily and breaks are drawn"), "{kind}");
    }
}

#[test]
fn what_is_of_one_domain_is_refused() {
    let domains = Domains::of_fixtures();
    let list = domains.list();
    for (command, words) in [
        (&["analyze", "--by", "day"][..], "groups of domains are not added up"),
        (&["analyze", "--by", "day", "--format", "csv"], "groups of domains are not added up"),
        (&["analyze", "--turns", "all"], "turns are of one domain"),
        (&["lint", "--format", "sarif"], "findings are of one domain"),
    ] {
        let output = run(&[command, &domains.together(&list)].concat());
        assert_eq!(output.status.code(), Some(2), "{command:?}");
        assert!(text(&output.stderr).contains(words), "{command:?}: {}", text(&output.stderr));
    }
}

#[test]
fn the_most_expensive_domains_are_listed() {
    let domains = Domains::of_fixtures();
    let said = domains.said(&["analyze", "--top", "3"]);
    let table = said.split("The most expensive 3 of 10 domains").nth(1).expect("a table");
    let rows: Vec<&str> = table.lines().skip(4).take_while(|line| !line.is_empty()).collect();
    assert_eq!(rows.len(), 4, "{table}");
    assert!(rows[3].starts_with("7 others"), "{table}");
    let cost = |row: &&str| {
        let dollars = row.split_whitespace().find_map(|cell| cell.strip_prefix('$'));
        dollars.expect("a cost").trim_end_matches('+').parse::<f64>().expect("dollars")
    };
    let costs: Vec<f64> = rows[..3].iter().map(cost).collect();
    assert!(costs.is_sorted_by(|one, other| one >= other), "{costs:?}");
    let all: f64 = rows.iter().map(cost).sum();
    let spent: f64 = cells(&said, "Spent")[1].trim_start_matches('$').parse().expect("dollars");
    assert!((all - spent).abs() < 0.01, "{all} {spent}");
}

/// Hostile names of folders cannot reach a terminal.
#[test]
fn names_of_domains_are_harmless() {
    let folder = tempfile::tempdir().expect("a folder");
    let session = project("fixtures/first-look/session.jsonl");
    let hostile = folder.path().join("a\u{1b}[31m");
    fs::create_dir(&hostile).expect("a folder");
    fs::copy(&session, hostile.join("a.jsonl")).expect("a copy");
    let root: &Path = folder.path();
    for format in ["table", "markdown", "json"] {
        let said =
            stdout(&["analyze", utf8(root), "--domains", "depth:1", "--format", format, "-q"]);
        assert!(!said.contains('\u{1b}'), "{format}");
    }
}

/// A domain that cannot be worked ends the run after the lines of those before it.
#[test]
fn no_line_is_torn() {
    let domains = Domains::of_fixtures();
    let list = domains.list();
    for command in ["analyze", "advise", "breaks", "context", "verify"] {
        let strict = [command, "--format", "json", "--strict-prices"];
        let output = run(&[&strict[..], &domains.together(&list)].concat());
        assert!(!output.status.success(), "{command}");
        let said = text(&output.stdout);
        assert!(said.ends_with("}\n"), "{command}");
        for line in said.lines() {
            let line: Value = serde_json::from_str(line).expect("a whole line");
            assert!(line["result"].is_object());
        }
        let error = text(&output.stderr);
        assert!(error.contains("domain unknown-model: no price for"), "{error}");
    }
}

/// Where nothing has a price there is nothing to add, and all else is known of the others as before.
#[test]
fn a_domain_without_prices_leaves_the_best_caching() {
    let folder = tempfile::tempdir().expect("a folder");
    let session =
        fs::read_to_string(project("fixtures/first-look/session.jsonl")).expect("a session");
    let of = |models: &[&str]| {
        for (number, model) in models.iter().enumerate() {
            let text = session.replace("claude-opus-5", model);
            let text = text.replace("\"req_", &format!("\"req_{number}"));
            let text = text.replace("\"msg_", &format!("\"msg_{number}"));
            let domain = folder.path().join(number.to_string());
            fs::create_dir_all(&domain).expect("a folder");
            fs::write(domain.join("a.jsonl"), text).expect("a file");
        }
        let said = stdout(&["analyze", utf8(folder.path()), "--domains", "depth:1", "-q"]);
        let bound = said.lines().find(|line| line.starts_with("Best caching"));
        bound.map(|line| line.split_whitespace().nth(2).expect("an amount").to_owned())
    };
    let bound = of(&["claude-opus-5"]).expect("a bound");
    assert!(bound.starts_with('$'), "{bound}");
    assert_eq!(of(&["claude-opus-5", "claude-weird-9"]), Some(bound.clone()));
    assert_eq!(of(&["claude-weird-9", "claude-opus-5"]), Some(bound));
    // What was not recorded is unknown, and so is the sum.
    copy(&project("fixtures/captured-clock"), &folder.path().join("2"), "2");
    assert_eq!(of(&["claude-weird-9", "claude-opus-5"]), None);
}

#[test]
fn lines_and_others_add_up_to_what_was_spent() {
    let domains = Domains::of_fixtures();
    for top in ["1", "3", "6", "9", "10"] {
        let said = domains.said(&["analyze", "--top", top]);
        let spent: f64 = cells(&said, "Spent")[1].trim_start_matches('$').parse().expect("dollars");
        let table = said.split("10 domains\n").nth(1).expect("a table");
        let rows = table.lines().skip(3).take_while(|line| !line.is_empty());
        let cost = |row: &str| -> f64 {
            let dollars = row.split_whitespace().find_map(|cell| cell.strip_prefix('$'));
            dollars.map_or(0.0, |cell| cell.trim_end_matches('+').parse().expect("dollars"))
        };
        let is_known = |row: &&str| !row.contains("unknown  ");
        let sum: f64 = rows.filter(is_known).map(cost).sum();
        assert!((sum - spent).abs() < 0.01, "{top}: {sum} {spent}\n{said}");
    }
}

/// A strategy that can do nothing has the record, also where the record is not shown.
#[test]
fn idle_strategies_have_the_record_whether_or_not_it_is_shown() {
    let domains = Domains::of_fixtures();
    let cost = |strategies: &str| {
        let said = domains.said(&["analyze", "--strategy", strategies]);
        assert!(said.contains("there it has what was billed"), "{said}");
        cells(&said, "5m ")
            .iter()
            .rev()
            .find(|cell| cell.starts_with('$'))
            .map(|one| (*one).to_owned())
    };
    assert_eq!(cost("5m,1h"), cost("5m,1h,billed"));
}
