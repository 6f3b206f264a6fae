//! Runs of parts: `check` and `report` over their rows say what they say over the sessions.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::common::{json, project, run, shared, stdout, text, utf8};
use crate::outputs::fleet::{gather, part};

/// Makes a run of domains, which are folders below `root`; of all of it as one where none is named.
fn made(root: &Path, domains: &[&str], out: &Path, more: &[&str]) -> PathBuf {
    let whole =
        ["part", "--domain", "all", "--root", utf8(root), utf8(root), "--out", utf8(out), "-q"];
    let lines: Vec<String> = match domains {
        [] => vec![stdout(&[&whole[..], more].concat())],
        domains => domains.iter().map(|domain| part(root, domain, out, more)).collect(),
    };
    let (code, said) = gather(out, &lines);
    assert_eq!(code, Some(0), "{said}");
    out.join("manifest.json")
}

fn inputs() -> Vec<PathBuf> {
    let corpora = ["corpus", "corpus-b", "agents"];
    [project("fixtures")].into_iter().chain(corpora.into_iter().filter_map(shared)).collect()
}

/// A budget of each metric that does not need captured prompts, each of which some session or request exceeds.
const BUDGETS: &str = r#"
[[budget]]
name = "all"
metric = "cost"
max = "0.01 USD"
[[budget]]
name = "sessions"
metric = "cost_per_session"
max = "0.5 USD"
[[budget]]
name = "requests under an hour"
metric = "cost_per_request"
max = "0.2 USD"
strategy = "1h"
[[budget]]
name = "mean"
metric = "mean_cost_per_session"
max = "0.01 USD"
strategy = "5m"
[[budget]]
name = "hits"
metric = "hit_rate"
min = "99.9 %"
[[budget]]
name = "hits of sessions"
metric = "hit_rate_per_session"
min = "90 %"
[[budget]]
name = "written"
metric = "written_tokens_per_session"
max = 1000
[[budget]]
name = "number"
metric = "breaks"
max = 1
[[budget]]
name = "breaks"
metric = "breaks_cost"
max = "0.01 USD"
[[budget]]
name = "share"
metric = "breaks_share"
max = "0.1 %"
[[budget]]
name = "models"
metric = "cost"
max = "0.01 USD"
model = "claude-opus*"
"#;

#[test]
fn a_run_has_the_verdict_of_its_sessions() {
    let folder = tempfile::tempdir().expect("a folder");
    let configuration = folder.path().join("cachesim.toml");
    fs::write(&configuration, BUDGETS).expect("a file");
    for input in inputs() {
        let out = tempfile::tempdir().expect("a folder");
        let manifest = made(&input, &[], out.path(), &[]);
        let checked = |of: &[&str]| {
            let common = ["check", "--config", utf8(&configuration), "--format", "json", "-q"];
            let output = run(&[&common[..], of].concat());
            // A run has no bytes, by which the refused requests of a capture are known.
            let printed = text(&output.stdout);
            let lines = printed.lines().filter(|line| !line.contains("\"refused_requests\""));
            (output.status.code(), lines.map(str::to_owned).collect::<Vec<_>>())
        };
        // Usage says what a captured prompt had; what it has by its bytes is in no row.
        let of_run = checked(&["--run", utf8(&manifest)]);
        assert_eq!(of_run.0, Some(1), "{input:?}");
        let of_sessions = checked(&[utf8(&input)]);
        assert_eq!(of_run.0, of_sessions.0, "{input:?}");
        for (one, other) in of_run.1.iter().zip(&of_sessions.1) {
            assert_eq!(one, other, "{input:?}");
        }
        assert_eq!(of_run.1.len(), of_sessions.1.len(), "{input:?}");
    }
}

#[test]
fn a_run_is_a_baseline() {
    let root = project("fixtures");
    let out = tempfile::tempdir().expect("a folder");
    let domains = ["sub-agents", "agent-codex-tiers"];
    let manifest = made(&root, &domains, out.path(), &[]);
    let same = run(&["check", "--run", utf8(&manifest), "--baseline", utf8(&manifest)]);
    assert_eq!(same.status.code(), Some(0), "{}", text(&same.stderr));
    assert!(
        text(&same.stdout).contains("Nothing differs in what both have."),
        "{}",
        text(&same.stdout)
    );
    // A domain that is no longer there is named as such.
    let fewer = tempfile::tempdir().expect("a folder");
    let fewer = made(&root, &domains[..1], fewer.path(), &[]);
    let output = stdout(&["check", "--run", utf8(&fewer), "--baseline", utf8(&manifest)]);
    assert!(output.contains("1 in the baseline alone"), "{output}");
}

/// The JSON of a page's script with an id, or of all whose ids begin so.
fn blocks(page: &str, id: &str) -> BTreeMap<String, Value> {
    let starts = page.match_indices("<script type=\"application/json\" id=\"");
    let block = |(at, start): (usize, &str)| {
        let (name, rest) = page[at + start.len()..].split_once("\">").expect("an id");
        let data = rest.split("</script>").next().expect("a block");
        let data = serde_json::from_str(data).expect("JSON");
        name.starts_with(id).then(|| (name.to_owned(), data))
    };
    starts.filter_map(block).collect()
}

/// The offsets from UTC, without the moments from which they apply: of a run these are known to the quarter hour.
fn offsets(data: &Value) -> Vec<&Value> {
    data["offsets"].as_array().expect("offsets").iter().map(|offset| &offset[1]).collect()
}

/// The answers of a page: what each figure is called, and the figure with all that is said of it.
fn answers(page: &str) -> BTreeMap<String, String> {
    let figures = page.split("<dt>").skip(1);
    let figure = |text: &str| {
        let (name, rest) = text.split_once("</dt>").expect("a name");
        let value = rest.split("</div>").next().expect("a figure");
        (name.to_owned(), value.to_owned())
    };
    figures.map(figure).collect()
}

/// Strategies of every kind that transcripts allow.
const STRATEGIES: &str = "billed,replay,none,5m,1h,mixed,5m-pinged,cheapest-pings,compact-100k,forked-agents,\
                          sessions-apart,optimal";

#[test]
fn the_page_of_a_run_is_that_of_its_sessions() {
    for input in inputs() {
        let out = tempfile::tempdir().expect("a folder");
        let manifest = made(&input, &[], out.path(), &["--strategy", STRATEGIES]);
        let page = |of: &[&str]| stdout(&[&["report", "-q", "-o", "-"], of].concat());
        let of_run = page(&["--run", utf8(&manifest)]);
        let own = ["--strategy", STRATEGIES, "--reading", "literal"];
        // In the order of the files in a part.
        let files = ["--root", utf8(&input), utf8(&input)];
        let of_sessions = page(&[&files, &own[..]].concat());
        let data = [&of_run, &of_sessions]
            .map(|page| blocks(page, "sessions-data")["sessions-data"].clone());
        for key in ["strategies", "beside", "zone"] {
            assert_eq!(data[0][key], data[1][key], "{input:?}");
        }
        assert_eq!(offsets(&data[0]), offsets(&data[1]), "{input:?}");
        let [ours, theirs] =
            data.each_ref().map(|data| data["sessions"].as_array().expect("sessions"));
        assert_eq!(ours.len(), theirs.len(), "{input:?}");
        for (one, other) in ours.iter().zip(theirs) {
            // Rows have no project of their sessions.
            let mut other = other.clone();
            other.as_object_mut().expect("a session").remove("project");
            assert_eq!(*one, other, "{input:?}");
        }
        let (ours, theirs) = (answers(&of_run), answers(&of_sessions));
        assert!(ours.len() > 3);
        for (name, figure) in &ours {
            assert_eq!(Some(figure), theirs.get(name), "{input:?}: {name}");
        }
        let missing = theirs.keys().filter(|name| !ours.contains_key(*name));
        let told_alone = ["Best change", "Best caching"];
        assert!(missing.clone().all(|name| told_alone.contains(&name.as_str())), "{input:?}");
        let (ours, theirs) = (blocks(&of_run, "turns-"), blocks(&of_sessions, "turns-"));
        assert_eq!(ours.len(), theirs.len());
        for (name, turns) in &theirs {
            let (mut own, mut turns) = (ours[name].clone(), turns.clone());
            // Of what happened, rows tell the breaks.
            let words = |turns: &Value| -> Vec<(u64, String)> {
                let word = |one: &Value| Some((one[0].as_u64()?, one[1].as_str()?.to_owned()));
                turns["words"]
                    .as_array()
                    .expect("words")
                    .iter()
                    .map(|one| word(one).expect("a word"))
                    .collect()
            };
            let all = words(&turns);
            for (turn, word) in words(&own) {
                // Rows do not tell of all that a cause rests on.
                let plain = |word: &str| word.replace("probably ", "").replace("possibly ", "");
                let lost = plain(word.strip_prefix("break: ").expect("a break"));
                let is_told =
                    |(other, text): &(u64, String)| *other == turn && plain(text).contains(&lost);
                assert!(all.iter().any(is_told), "{input:?}: {name}: {word}");
            }
            for told in [&mut own, &mut turns] {
                told["words"] = Value::Array(Vec::new());
            }
            // What rows do not tell.
            turns["gap"] = Value::Null;
            turns["compactions"] = Value::Array(Vec::new());
            // Prompts of requests that every strategy refuses.
            let count = turns["count"].as_u64().and_then(|count| usize::try_from(count).ok());
            let all = |prompts: &Value| match prompts.as_array() {
                Some(prompts) => prompts.clone(),
                None => vec![prompts.clone(); count.expect("a number")],
            };
            let (told, sent) = (all(&own["prompt"]), all(&turns["prompt"]));
            let is_told = |(told, sent): (&Value, &Value)| told == sent || *told == 0;
            assert!(told.iter().zip(&sent).all(is_told), "{input:?}: {name}: {told:?} {sent:?}");
            turns["prompt"] = own["prompt"].clone();
            assert_eq!(own, turns, "{input:?}: {name}");
        }
    }
}

#[test]
fn a_strategy_that_can_do_nothing_in_a_domain_has_what_was_billed_there() {
    let root = project("fixtures");
    let domains = ["sub-agents", "agent-codex-tiers"];
    let out = tempfile::tempdir().expect("a folder");
    let manifest = made(&root, &domains, out.path(), &["--strategy", "billed,replay,5m"]);
    let cost = |domain: &str, strategy: &str| {
        let folder = root.join(domain);
        let report =
            json(&["analyze", utf8(&folder), "--strategy", "billed,5m", "--format", "json", "-q"]);
        let cost = report["totals"][strategy]["cost_usd"].as_str();
        cost.map(|cost| cost.parse::<f64>().expect("dollars"))
    };
    assert_eq!(cost(domains[1], "5m"), None, "5m can do nothing where no request has a marker");
    let expected =
        cost(domains[0], "5m").expect("a cost") + cost(domains[1], "billed").expect("a cost");
    let page = stdout(&["report", "--run", utf8(&manifest), "-q", "-o", "-"]);
    let data = &blocks(&page, "sessions-data")["sessions-data"];
    let sessions = data["sessions"].as_array().expect("sessions");
    let costs = sessions.iter().map(|session| session["figures"][2][2].as_f64().expect("a cost"));
    let micros: f64 = costs.sum();
    assert!((micros / 1e6 - expected).abs() < 1e-9, "{micros} {expected}");
    assert!(page.contains("can do nothing in 1 of 2 domains: there it has what was billed."));
}

#[test]
fn a_run_that_is_not_whole_is_named_and_counts_nothing() {
    let root = project("fixtures");
    let out = tempfile::tempdir().expect("a folder");
    let manifest = made(&root, &["sub-agents"], out.path(), &[]);
    let written = fs::read_to_string(&manifest).expect("a manifest");
    let refused = |what: &str, changed: &str| {
        fs::write(&manifest, changed).expect("a file");
        for command in [&["check"][..], &["report", "-o", "-"]] {
            let output = run(&[command, &["--run", utf8(&manifest)]].concat());
            assert_eq!(output.status.code(), Some(3), "{what}");
            assert!(output.stdout.is_empty(), "{what}");
            assert!(text(&output.stderr).contains(what), "{what}: {}", text(&output.stderr));
        }
    };
    let version = format!("\"tool_version\": \"{}\"", env!("CARGO_PKG_VERSION"));
    let other = written.replace(&version, "\"tool_version\": \"9.9.9\"");
    refused("were made by version 9.9.9", &other);
    refused("not the manifest of a run", "{}");
    let value: Value = serde_json::from_str(&written).expect("JSON");
    let changed = |change: fn(&mut Value)| {
        let mut value = value.clone();
        change(&mut value);
        serde_json::to_string_pretty(&value).expect("JSON")
    };
    refused("other sums", &changed(|run| run["requests"] = 1_000_000.into()));
    refused(
        "not the manifest",
        &changed(|run| run["parts"][0]["unpriced"] = serde_json::json!({"m": u64::MAX})),
    );
    refused(
        "not where its domain",
        &changed(|run| {
            run["parts"][0]["ledger"]["path"] = "../elsewhere.parquet".into();
        }),
    );
    fs::write(&manifest, &written).expect("a file");
    let breaks = out.path().join(value["parts"][0]["breaks"]["path"].as_str().expect("a path"));
    let bytes = fs::read(&breaks).expect("a part");
    fs::write(&breaks, &bytes[..bytes.len() - 1]).expect("a file");
    refused("it is torn", &written);
    fs::remove_file(&breaks).expect("a part");
    refused("it is missing", &written);
}

#[test]
fn what_chooses_sessions_does_not_apply_to_a_run() {
    for option in [&["--prices", "p.toml"][..], &["--since", "7d"], &["--live"], &["sessions"]] {
        for command in ["check", "report"] {
            let output = run(&[&[command, "--run", "manifest.json"][..], option].concat());
            assert_eq!(output.status.code(), Some(2), "{option:?}");
            assert!(text(&output.stderr).contains("cannot be used with"), "{option:?}");
        }
    }
    let output = run(&["check", "--run", "manifest.json", "--export", "report=b.json"]);
    assert!(
        text(&output.stderr).contains("the baseline of domains is a run"),
        "{}",
        text(&output.stderr)
    );
    let root = project("fixtures");
    let out = tempfile::tempdir().expect("a folder");
    let manifest = made(&root, &["sub-agents"], out.path(), &["--strategy", "billed,5m"]);
    let page = |manifest: &Path, of: &[&str]| {
        let page = ["report", "-o", "-", "--run", utf8(manifest)];
        text(&run(&[&page, of].concat()).stderr)
    };
    let error = page(&manifest, &[]);
    assert!(error.contains("no rows of replay; make them with billed and replay"), "{error}");
    let out = tempfile::tempdir().expect("a folder");
    let manifest = made(&root, &["sub-agents"], out.path(), &["--strategy", "billed,replay,5m"]);
    let error = page(&manifest, &["--strategy", "billed,1h"]);
    assert!(error.contains("the run has no rows of 1h"), "{error}");
    // No output takes the place of a part.
    let written = fs::read_to_string(&manifest).expect("a manifest");
    let written: Value = serde_json::from_str(&written).expect("JSON");
    let ledger = written["parts"][0]["ledger"]["path"].as_str().expect("a path");
    let ledger = out.path().join(ledger);
    let output = run(&["report", "--run", utf8(&manifest), "-o", utf8(&ledger)]);
    assert!(text(&output.stderr).contains("is a part of the run"), "{}", text(&output.stderr));
    let export = format!("markdown={}", utf8(&ledger));
    let output = run(&["check", "--run", utf8(&manifest), "--export", &export]);
    assert!(text(&output.stderr).contains("is a part of the run"), "{}", text(&output.stderr));
}

#[test]
fn budgets_that_rows_cannot_answer_are_named_or_not_checked() {
    let root = project("fixtures");
    let out = tempfile::tempdir().expect("a folder");
    let manifest = made(&root, &["sub-agents"], out.path(), &["--strategy", "billed,replay,5m"]);
    let budget = out.path().join("cachesim.toml");
    let check = ["check", "--config", utf8(&budget), "--run", utf8(&manifest)];
    let budget =
        |lines: &str| fs::write(&budget, format!("[[budget]]\n{lines}\n")).expect("a file");
    budget("name = \"b\"\nmetric = \"cost\"\nstrategy = \"1h\"\nmax = \"1 USD\"");
    let error = text(&run(&check).stderr);
    assert!(error.contains("`b`: the run has no rows of `1h`, but of billed,replay,5m"), "{error}");
    let both = "[[budget]]\nname = \"c\"\nmetric = \"cost\"\nmax = \"9 USD\"";
    budget(&format!("name = \"p\"\nmetric = \"prefix_variants\"\nmax = 1\n{both}"));
    let output = stdout(&check);
    assert!(output.contains("Not checked, as the input has nothing for them: p."), "{output}");
}

#[test]
fn a_strategy_of_a_file_is_known_by_what_it_does() {
    let root = project("fixtures");
    let out = tempfile::tempdir().expect("a folder");
    let file = out.path().join("mine.toml");
    let mine = |ttl: &str| {
        let lines = format!(
            "schema = \"cachesim.strategy/v1\"\n[[strategy]]\nname = \"mine\"\nttl = \"{ttl}\"\n"
        );
        fs::write(&file, lines).expect("a file");
    };
    mine("1h");
    let strategies = format!("billed,replay,{}", utf8(&file));
    let manifest = made(&root, &["sub-agents"], out.path(), &["--strategy", &strategies]);
    let said = |of: &[&str]| {
        let page = ["report", "-o", "-", "--run", utf8(&manifest)];
        text(&run(&[&page, of].concat()).stderr)
    };
    assert!(said(&[]).contains("the run has the strategy `mine` of a file"), "{}", said(&[]));
    assert_eq!(said(&["--strategy", &strategies]), "");
    mine("5m");
    assert!(said(&["--strategy", &strategies]).contains("`mine` is another strategy"));
}

#[test]
fn domains_are_added_up_as_their_parts_are() {
    let root = project("fixtures");
    let folder = tempfile::tempdir().expect("a folder");
    let domains = ["sub-agents", "agent-codex-tiers", "agent-kimi-compaction"];
    let table: Vec<String> = domains.iter().map(|domain| format!("{domain}\t{domain}")).collect();
    let (list, table_file) = (folder.path().join("list"), folder.path().join("domains"));
    fs::write(&table_file, table.join("\n")).expect("a file");
    fs::write(&list, domains.join("\n")).expect("a file");
    let input =
        ["--root", utf8(&root), "--paths-from", utf8(&list), "--domains", utf8(&table_file)];
    let strategies = ["--strategy", "billed,replay,5m,1h"];
    let manifest = made(&root, &domains, folder.path(), &strategies);
    // The page, but for the rules under which nothing differs here.
    let page = |of: &[&str]| stdout(&[&["report", "-o", "-", "-q"], of].concat());
    let literal = ["--reading", "literal"];
    let added = page(&[&input[..], &strategies, &literal].concat());
    assert_eq!(page(&["--run", utf8(&manifest)]), added);
    // The verdict.
    let check = |of: &[&str]| stdout(&[&["check", "--format", "json", "-q"], of].concat());
    assert_eq!(check(&["--run", utf8(&manifest)]), check(&input));
    // The comparison: sums of what each domain comes to, where the strategy can do anything.
    let compare = |of: &[&str]| {
        let arguments = [&["compare", "--format", "json", "-q"], &strategies[..], of].concat();
        let compared: Value = serde_json::from_str(&stdout(&arguments)).expect("JSON");
        let strategies = compared["strategies"].as_array().expect("strategies").clone();
        strategies
            .into_iter()
            .map(|one| {
                let cost = one["totals"]["cost_usd"]
                    .as_str()
                    .map(|cost| cost.parse::<f64>().expect("dollars"));
                (one["strategy"].as_str().expect("a name").to_owned(), cost)
            })
            .collect::<BTreeMap<String, Option<f64>>>()
    };
    let apart: Vec<_> = domains.iter().map(|domain| compare(&[utf8(&root.join(domain))])).collect();
    for (strategy, cost) in compare(&input) {
        let of_domain =
            |one: &BTreeMap<String, Option<f64>>| one[&strategy].or(one["billed"]).expect("a cost");
        let sum: f64 = apart.iter().map(of_domain).sum();
        assert!((cost.expect("a cost") - sum).abs() < 1e-9, "{strategy}: {cost:?} {sum}");
    }
    let said = stdout(&[&["compare", "-q"], &strategies[..], &input].concat());
    assert!(said.contains("`5m` can do nothing in 2 of 3 domains"), "{said}");
}

/// Without the record among the strategies, what was spent and lost is said all the same; a strategy that can do
/// nothing anywhere has no figures.
#[test]
fn the_record_is_known_whatever_is_compared() {
    let root = project("fixtures");
    let over = |folder: &str, of: &[&str]| {
        let input = root.join(folder);
        let domains = ["--root", utf8(&input), utf8(&input), "--domains", "depth:9", "-q"];
        run(&[&["compare"], of, &domains[..]].concat())
    };
    let first = |output: &std::process::Output| {
        // The verdict is another one.
        let answer = text(&output.stdout);
        let answer = answer.lines().skip_while(|line| !line.starts_with("Spent"));
        answer.take(4).collect::<Vec<_>>().join("\n")
    };
    let (with, without) = (
        over("agent-codex-tiers", &["--strategy", "billed,none"]),
        over("agent-codex-tiers", &["--strategy", "none,5m"]),
    );
    assert_eq!(first(&with), first(&without));
    assert!(first(&with).contains("$2.69"), "{}", first(&with));
    let idle = text(&over("agent-codex-tiers", &["--strategy", "5m,1h"]).stdout);
    let idle = idle.split("\nstrategy").nth(1).expect("strategies");
    assert!(idle.contains("not applicable") && !idle.contains("$0.0000"), "{idle}");
    // Captured prompts, and formats for which no break would be looked for otherwise.
    let captured = over("captured-clock", &["--strategy", "billed,replay,5m", "--format", "csv"]);
    assert!(captured.status.success(), "{}", text(&captured.stderr));
    // A gap needs the bound.
    let gap =
        over("agent-codex-tiers", &["--strategy", "billed,none", "--fail-if", "none.gap > 9"]);
    assert!(text(&gap.stderr).contains("name it in --strategy"), "{}", text(&gap.stderr));
}

#[test]
fn breaks_without_a_price_are_no_zero() {
    let root = tempfile::tempdir().expect("a folder");
    let domain = root.path().join("ann");
    fs::create_dir(&domain).expect("a folder");
    let session = project("fixtures/first-look/session.jsonl");
    let session = fs::read_to_string(session).expect("a fixture");
    let domains = |session: &str| {
        fs::write(domain.join("session.jsonl"), session).expect("a file");
        let page = stdout(&["report", utf8(root.path()), "--domains", "depth:1", "-q", "-o", "-"]);
        let rows = page.split("1 of 1 domain under billed</caption>").nth(1).expect("a table");
        rows.split("</tbody>").next().expect("rows").to_owned()
    };
    assert!(domains(&session).contains("$0.2537"), "{}", domains(&session));
    let unpriced = domains(&session.replace("claude-opus-5", "claude-weird-9"));
    // What nothing is known of has no column.
    assert!(unpriced.contains("ann") && !unpriced.contains('$'), "{unpriced}");
}
