//! `blocks`: windows and what used them up, by hand; over real sessions against `analyze` and against windows that are
//! made once more from its rows; readings of limits and what a per cent of these is.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::common::{
    cachesim, count, json, known_picodollars as picodollars, ledger, project, run, shared, stdout,
    text, utf8,
};

/// The seconds since 1970 of a moment.
fn epoch(moment: &str) -> String {
    let at: jiff::Timestamp = moment.parse().expect("a moment");
    at.as_second().to_string()
}

/// What the program prints at a moment.
fn printed_at(moment: &str, arguments: &[&str]) -> String {
    let mut command = cachesim();
    command.args(["blocks", "-q"]).args(arguments).env("SOURCE_DATE_EPOCH", epoch(moment));
    let output = command.output().expect("the program runs");
    assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

fn json_at(moment: &str, arguments: &[&str]) -> Value {
    let printed = printed_at(moment, &[arguments, &["--json"]].concat());
    serde_json::from_str(&printed).expect("JSON on standard output")
}

/// Long after all that is read.
const LATER: &str = "2027-01-01T00:00:00Z";

fn list<'v>(value: &'v Value, name: &str) -> &'v [Value] {
    value[name].as_array().unwrap_or_else(|| panic!("{name} of {value}"))
}

/// The windows of a length of a service.
fn quota<'v>(report: &'v Value, service: &str, length: &str) -> &'v Value {
    let is_meant = |quota: &&Value| quota["service"] == service && quota["length"] == length;
    list(report, "quotas").iter().find(is_meant).expect("windows")
}

const PLAN: &str = "fixtures/windows-of-a-plan";
const CODEX: &str = "fixtures/agent-codex-limits";

/// Start, end, requests, dollars, those of sub-agents, and those that expiries cost.
fn told(block: &Value) -> [String; 6] {
    let agents = list(block, "agents").first().map(|agent| &agent["totals"]["cost_usd"]);
    let totals = &block["totals"];
    let told = [&block["start"], &block["end"], &totals["requests"], &totals["cost_usd"]];
    let [start, end, requests, cost] = told.map(|value| value.to_string().replace('"', ""));
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    [
        start,
        end,
        requests,
        cost,
        agents.map(text).unwrap_or_default(),
        text(&block["expiries"]["lost_usd"]),
    ]
}

fn all_told(quota: &Value) -> Vec<[String; 6]> {
    list(quota, "blocks").iter().map(told).collect()
}

/// At $5 a million tokens sent in full, $10 written for an hour, $6.25 for five minutes, $0.50 read and $25 of output:
/// 0.20251 + 0.02501 + 0.21541, then 0.22241 + 0.03251 + 0.22141, then 0.015455. What expired is written for $10 in place
/// of being read for $0.50: 21,000 tokens, then 21,290 and 21,490.
#[test]
fn three_windows_are_as_worked_out_by_hand() {
    let path = project(PLAN);
    let report = json_at(LATER, &[utf8(&path)]);
    let windows = all_told(quota(&report, "Anthropic", "5h"));
    assert_eq!(
        windows,
        [
            ["2026-10-24T14:00:00.000Z", "2026-10-24T19:00:00.000Z", "3", "0.44293", "", "0.1995"],
            [
                "2026-10-24T20:10:00.000Z",
                "2026-10-25T01:10:00.000Z",
                "3",
                "0.47633",
                "0.03251",
                "0.40641"
            ],
            ["2026-10-25T01:10:00.000Z", "2026-10-25T06:10:00.000Z", "1", "0.015455", "", "0"],
        ]
    );
    let weeks = all_told(quota(&report, "Anthropic", "week"));
    let week = [
        "2026-10-24T14:00:00.000Z",
        "2026-10-31T14:00:00.000Z",
        "7",
        "0.934715",
        "0.03251",
        "0.60591",
    ];
    assert_eq!(weeks, [week]);
    assert!(list(&report, "quotas").iter().all(|quota| quota["burn"].is_null()));
    let of_limits = |block: &Value| {
        (
            block["basis"].clone(),
            block["limit"][0]["used_percent"].clone(),
            block["limit"][1]["used_percent"].clone(),
        )
    };
    let told = list(quota(&report, "Anthropic", "5h"), "blocks").iter().map(of_limits);
    let nothing = ("estimated".into(), Value::Null, Value::Null);
    let recorded = ("measured".into(), 12.5.into(), 13.0.into());
    assert_eq!(told.collect::<Vec<_>>(), [nothing.clone(), recorded, nothing]);
}

/// The prefix of the main conversation is in each of the three windows of five hours, and that of the sub-agent in one.
#[test]
fn what_is_in_several_windows_is_said_to_count_in_each() {
    let words = |page: String| page.split_whitespace().collect::<Vec<_>>().join(" ");
    let path = project(PLAN);
    let blocks = words(printed_at(LATER, &[utf8(&path)]));
    assert!(blocks.contains("counts each piece once in each session and window,"), "{blocks}");
    assert!(blocks.contains(" hidden prefix 4 "), "{blocks}");
    let context = words(stdout(&["context", "-q", utf8(&path)]));
    assert!(context.contains("counts each piece once in each session,"), "{context}");
    assert!(context.contains(" hidden prefix 2 "), "{context}");
}

/// Clocks in Berlin go back by an hour during the second window: four hours on the clock are five.
#[test]
fn people_read_the_times_of_their_zone() {
    let path = project(PLAN);
    let table = printed_at(LATER, &[utf8(&path), "--timezone", "Europe/Berlin", "--window", "5h"]);
    let starts: Vec<&str> = table.lines().filter(|line| line.starts_with("2026-10-2")).collect();
    let of = |line: &str| line.split_whitespace().take(3).collect::<Vec<_>>().join(" ");
    assert_eq!(
        starts.iter().map(|line| of(line)).collect::<Vec<_>>(),
        // In use from 16:07 to 20:59, from 22:14 to 02:09 in the second hour after two, and at once.
        ["2026-10-24 16:00 4h52m", "2026-10-24 22:10 1h10m", "2026-10-25 02:10 0.0s"],
        "{table}"
    );
    assert!(starts[1].contains(" 4h55m "), "{table}");
    assert!(!table.contains("Weeks"), "{table}");
}

/// Half an hour after midnight: $0.22241 and the sub-agent's $0.03251, which was sent half an hour ago. At that rate 70
/// minutes add $0.037928.
#[test]
fn an_open_window_has_a_rate() {
    let path = project(PLAN);
    let now = "2026-10-25T00:00:00Z";
    let until = ["--until", now];
    let report = json_at(now, &[&[utf8(&path)], &until[..]].concat());
    let five = quota(&report, "Anthropic", "5h");
    assert_eq!(list(five, "blocks").len(), 2);
    assert_eq!(list(five, "blocks")[1]["is_open"], true);
    let burn = &five["burn"];
    assert_eq!(burn["so_far_usd"], "0.25492");
    assert_eq!(burn["lately_usd"], "0.03251");
    assert_eq!(burn["left_ms"], 70 * 60_000);
    assert_eq!(burn["at_last_rate_usd"], "0.292848333333");
    assert_eq!((&burn["projection"], &burn["earlier_windows"]), (&Value::Null, &Value::from(0)));
    // The week is at the rate of the last day: all of its $0.69785 in ten hours, which count as a day's.
    let week = &quota(&report, "Anthropic", "week")["burn"];
    assert_eq!(week["so_far_usd"], "0.69785");
    assert_eq!(week["lately_usd"], "0.69785");
    // 6 days and 14 hours more: 0.69785 · (1 + 158 / 24).
    assert_eq!(week["at_last_rate_usd"], "5.292029166666");
    let table = printed_at(now, &[&[utf8(&path)], &until[..]].concat());
    assert!(
        table.starts_with(
            "Five hours  $0.2549  Anthropic, 2 requests since 2026-10-24 20:10; open for 1h10m more\n"
        ),
        "{table}"
    );
    assert!(table.contains("At its end  $0.2928  at the rate of the last hour; no earlier window like it tells how sure"), "{table}");
}

#[test]
fn filters_leave_windows_where_they_are() {
    let path = project(PLAN);
    let report = json_at(LATER, &[utf8(&path), "--agent", "a1b2"]);
    let windows = all_told(quota(&report, "Anthropic", "5h"));
    let second =
        ["2026-10-24T20:10:00.000Z", "2026-10-25T01:10:00.000Z", "1", "0.03251", "0.03251", "0"];
    assert_eq!(windows, [second]);
    let table = printed_at(LATER, &[utf8(&path), "--agent", "a1b2"]);
    assert!(table.contains("Windows begin with any request"), "{table}");
}

/// Dollars so far, per cents, by window: the least squares, worked out here by their formula.
#[test]
fn a_per_cent_of_a_limit_is_fitted_to_readings() {
    let path = project(CODEX);
    let report = json_at(LATER, &[utf8(&path)]);
    let five = quota(&report, "OpenAI", "5h");
    let starts: Vec<(&str, &str)> = list(five, "blocks")
        .iter()
        .map(|block| {
            (block["start"].as_str().expect("a time"), block["basis"].as_str().expect("a word"))
        })
        .collect();
    // They begin with their first requests, two seconds and one second before the service says so.
    assert_eq!(
        starts,
        [("2026-10-06T09:00:00.000Z", "measured"), ("2026-10-06T15:00:00.000Z", "measured")]
    );
    let limits: Vec<(f64, f64)> = list(five, "blocks")
        .iter()
        .map(|block| {
            let percent =
                |place: usize| block["limit"][place]["used_percent"].as_f64().expect("a number");
            (percent(0), percent(1))
        })
        .collect();
    assert_eq!(limits, [(10.0, 19.0), (4.0, 8.0)]);

    let windows: [&[(f64, f64)]; 2] =
        [&[(0.103, 10.0), (0.21672, 14.0), (0.340_584, 19.0)], &[(0.403, 4.0), (0.547_152, 8.0)]];
    let slope_of = |windows: &[&[(f64, f64)]]| {
        let (mut squares, mut products) = (0.0, 0.0);
        for points in windows {
            let count = points.iter().map(|_| 1.0).sum::<f64>();
            let x = points.iter().map(|(x, _)| x).sum::<f64>() / count;
            let y = points.iter().map(|(_, y)| y).sum::<f64>() / count;
            for point in *points {
                squares += (point.0 - x) * (point.0 - x);
                products += (point.0 - x) * (point.1 - y);
            }
        }
        products / squares
    };
    let slope = slope_of(&windows);
    let growth = |points: &[(f64, f64)], slope: f64| {
        let (first, last) = (points[0], points[points.len() - 1]);
        (last.1 - first.1 - slope * (last.0 - first.0)).abs()
    };
    let [first, second] = [(0, 1..2), (1, 0..1)]
        .map(|(own, others)| growth(windows[own], slope_of(&windows[others])));
    let held_out = f64::midpoint(first, second);
    let [fit] = list(five, "fits") else { panic!("{five}") };
    let near = |name: &str, expected: f64| {
        let told = fit[name].as_f64().expect("a number");
        assert!((told - expected).abs() < 1e-4, "{name}: {told}, not {expected}");
    };
    near("percent_per_dollar", slope);
    near("held_out_points", held_out);
    assert_eq!((&fit["readings"], &fit["windows"]), (&Value::from(5), &Value::from(2)));
    assert_eq!((&fit["limit"], &fit["plan"]), (&Value::from("codex"), &Value::from("pro")));
    // By hand: 1.35912 / 0.03863, and (2.40739 + 1.46598) / 2.
    assert!(
        (slope - 35.183).abs() < 1e-3 && (held_out - 1.93669).abs() < 1e-5,
        "{slope}, {held_out}"
    );
}

/// A minute after the last request, with 8 % read: $0.547152 in the last hour take 35.183 % a dollar. What is left is
/// used in 92 / 19.2505 hours, which is more than is left of the window.
#[test]
fn a_limit_is_said_to_be_reached_only_inside_of_its_window() {
    let path = project(CODEX);
    let burn = |now: &str| quota(&json_at(now, &[utf8(&path)]), "OpenAI", "5h")["burn"].clone();
    let late = burn("2026-10-06T15:02:00Z");
    assert_eq!(late["lately_usd"], "0.547152");
    // 15:02:00 and 4.7791 hours.
    let all_used = late["all_used_at"].as_str().expect("a time");
    assert!(all_used.starts_with("2026-10-06T19:48:44."), "{all_used}");
    assert!(burn("2026-10-06T16:30:00Z")["all_used_at"].is_null(), "nothing in the last hour");
    assert!(burn("2026-10-06T20:00:01Z").is_null(), "it is over");
    // No reading of a later time counts.
    let early = quota(
        &json_at("2026-10-06T09:01:30Z", &[utf8(&path), "--until", "2026-10-06T09:01:30Z"]),
        "OpenAI",
        "5h",
    )
    .clone();
    assert_eq!(list(&early, "fits").len(), 0, "two readings tell nothing");
    assert_eq!(early["blocks"][0]["limit"][1]["used_percent"], 14.0);
}

/// The rollout, changed, in a folder of its own.
fn changed(name: &str, change: impl Fn(&str) -> String) -> std::path::PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("changed-limits").join(name);
    std::fs::create_dir_all(&folder).expect("a folder");
    let whole = std::fs::read_to_string(project(CODEX).join("rollout.jsonl")).expect("a rollout");
    std::fs::write(folder.join("rollout.jsonl"), change(&whole)).expect("a file");
    folder
}

#[test]
fn a_limit_of_another_name_is_another_limit() {
    let is_third = |line: &str| line.contains(r#""used_percent":19.0"#);
    let path = changed("names", |whole| {
        let line = |line: &str| {
            if is_third(line) { line.replace(r#""codex""#, r#""other""#) } else { line.to_owned() }
        };
        whole.lines().map(line).collect::<Vec<_>>().join("\n")
    });
    let report = json_at(LATER, &[utf8(&path)]);
    let block = &quota(&report, "OpenAI", "5h")["blocks"][0];
    let [others] = list(block, "other_limits") else { panic!("{block}") };
    let other = &others[0];
    assert_eq!((&other["limit"], &other["used_percent"]), (&"other".into(), &19.0.into()));
    let first = &block["limit"];
    assert_eq!(
        (&first[0]["used_percent"], &first[1]["used_percent"]),
        (&10.0.into(), &14.0.into())
    );
}

#[test]
fn a_limit_that_is_used_up_is_not_announced() {
    let path =
        changed("full", |whole| whole.replace(r#""used_percent":8.0"#, r#""used_percent":100.0"#));
    let now = "2026-10-06T15:30:00Z";
    assert!(quota(&json_at(now, &[utf8(&path)]), "OpenAI", "5h")["burn"]["all_used_at"].is_null());
    let table = printed_at(now, &[utf8(&path)]);
    assert!(
        table.contains("100.0 %  all of it is used, as recorded at 2026-10-06 15:01"),
        "{table}"
    );
}

#[test]
fn limits_and_rates_are_those_of_all_requests() {
    let path = project(CODEX);
    let now = "2026-10-06T15:02:00Z";
    let of = |arguments: &[&str]| {
        let report = json_at(now, &[&[utf8(&path)], arguments].concat());
        let quota = quota(&report, "OpenAI", "5h");
        (quota["fits"].clone(), quota["burn"].clone(), list(quota, "blocks").len())
    };
    let (fits, burn, blocks) = of(&[]);
    let filtered = of(&["--since", "2026-10-06T15:00:30Z"]);
    assert_eq!((&fits, &burn, blocks), (&filtered.0, &filtered.1, 2));
    assert_eq!(filtered.2, 1);
    assert_eq!(
        list(&json_at(now, &[utf8(&path), "--since", "2026-10-06T15:00:30Z"]), "quotas").len(),
        2
    );
}

/// Half an hour after the beginning: $0.20251 and $0.02501, and five requests to come.
#[test]
fn what_was_sent_later_than_now_is_in_no_window() {
    let path = project(PLAN);
    let now = "2026-10-24T14:30:00Z";
    let report = json_at(now, &[utf8(&path)]);
    assert_eq!(count(&report, "later_requests"), 5);
    for length in ["5h", "week"] {
        let quota = quota(&report, "Anthropic", length);
        let [block] = list(quota, "blocks") else { panic!("{quota}") };
        assert_eq!(block["totals"]["cost_usd"], "0.22752");
        assert_eq!(quota["burn"]["so_far_usd"], "0.22752");
    }
    let table = printed_at(now, &[utf8(&path)]);
    assert!(table.contains("5 requests were sent after 2026-10-24 14:30"), "{table}");
    assert!(
        table.contains("What used up the five hours of Anthropic since 2026-10-24 14:00"),
        "{table}"
    );
}

/// What every service has of the same sums in every length: the parts of each window, and all windows.
fn conserves(report: &Value, billed: &Value, name: &str) {
    let mut by_length: BTreeMap<&str, (u64, i128)> = BTreeMap::new();
    for quota in list(report, "quotas") {
        for block in list(quota, "blocks") {
            let totals = &block["totals"];
            let all = picodollars(&totals["cost_usd"]);
            let agents: i128 = list(block, "agents")
                .iter()
                .map(|one| picodollars(&one["totals"]["cost_usd"]))
                .sum();
            assert_eq!(picodollars(&block["main"]["cost_usd"]) + agents, all, "{name}");
            let contents = &block["contents"];
            assert_eq!(contents["totals"]["cost_usd"], totals["cost_usd"], "{name}");
            let kinds: i128 =
                list(contents, "kinds").iter().map(|one| picodollars(&one["cost_usd"])).sum();
            let beside = ["output_cost_usd", "searches_cost_usd", "apart_usd"];
            let beside: i128 =
                beside.iter().map(|line| picodollars(&contents["totals"][line])).sum();
            assert_eq!(kinds + beside, all, "{name}: {}", block["start"]);
            let sums = by_length.entry(quota["length"].as_str().expect("a word")).or_default();
            sums.0 += count(totals, "requests");
            sums.1 += all;
        }
    }
    let all = (count(billed, "requests"), picodollars(&billed["cost_usd"]));
    assert_eq!(by_length.into_values().collect::<Vec<_>>(), [all, all], "{name}");
}

#[test]
fn windows_of_real_sessions_add_up_to_what_was_spent() {
    for name in ["corpus", "corpus-b", "agents"] {
        let Some(path) = shared(name) else { continue };
        let billed = json(&["analyze", utf8(&path), "-q", "--json", "--strategy", "billed"]);
        conserves(&json_at(LATER, &[utf8(&path)]), &billed["totals"]["billed"], name);
    }
}

/// Windows of Anthropic's made once more, from rows: dollars by their beginnings.
fn naive(path: &Path, hours: i64) -> Vec<(String, i128)> {
    let at = |row: &Value| -> jiff::Timestamp {
        row["start"].as_str().expect("a time").parse().expect("a moment")
    };
    let is_claude =
        |row: &Value| row["model"].as_str().is_some_and(|model| model.contains("claude"));
    let mut rows: Vec<Value> = ledger(path, &["--strategy", "billed"]);
    rows.retain(|row| is_claude(row));
    rows.sort_by_key(at);
    let may: jiff::Timestamp = "2026-05-01T00:00:00Z".parse().expect("a moment");
    let mut windows: Vec<(i64, i64, i128)> = Vec::new();
    for row in rows {
        let sent = at(&row).as_millisecond();
        let end = windows.last().map_or(i64::MIN, |(_, end, _)| *end);
        if sent >= end {
            let grain = if at(&row) < may { 3_600_000 } else { 600_000 };
            let start = (sent - sent.rem_euclid(grain)).max(end);
            windows.push((start, start + hours * 3_600_000, 0));
        }
        windows.last_mut().expect("a window").2 += picodollars(&row["cost_usd"]);
    }
    let shown = |(start, _, cost): (i64, i64, i128)| {
        let start = jiff::Timestamp::from_millisecond(start).expect("a moment");
        (format!("{start:.3}"), cost)
    };
    windows.into_iter().map(shown).collect()
}

#[test]
fn windows_of_real_sessions_are_those_that_rows_give() {
    let Some(path) = shared("corpus-b") else { return };
    let report = json_at(LATER, &[utf8(&path)]);
    for (length, hours) in [("5h", 5), ("week", 7 * 24)] {
        let own: Vec<(String, i128)> = list(quota(&report, "Anthropic", length), "blocks")
            .iter()
            .map(|block| {
                let start = block["start"].as_str().expect("a time").to_owned();
                (start, picodollars(&block["totals"]["cost_usd"]))
            })
            .collect();
        assert!(own.len() > 2, "{length}");
        assert_eq!(own, naive(&path, hours), "{length}");
    }
}

#[test]
fn domains_have_windows_of_their_own() {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("domains-of-windows");
    std::fs::remove_dir_all(&root).ok();
    std::fs::create_dir_all(root.join("fixtures")).expect("a folder");
    for name in [PLAN, CODEX] {
        std::os::unix::fs::symlink(project(name), root.join(name)).expect("a link");
    }
    let root = root.join("fixtures");
    let domains = [utf8(&root), "--root", utf8(&root), "--domains", "depth:1"];
    let table = printed_at(LATER, &domains);
    assert!(table.contains("Windows, each domain's by itself"), "{table}");
    let lines = printed_at(LATER, &[&domains[..], &["--json"]].concat());
    let of = |name: &str| -> Value {
        let line = lines.lines().find(|line| line.contains(&format!(r#""domain":"{name}""#)));
        let line: Value = serde_json::from_str(line.expect("a line")).expect("JSON");
        line["result"]["quotas"].clone()
    };
    for name in [PLAN, CODEX] {
        let alone = json_at(LATER, &[utf8(&project(name))]);
        assert_eq!(of(name.trim_start_matches("fixtures/")), alone["quotas"], "{name}");
    }
}

#[test]
fn limits_outlive_redaction() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("redacted-limits");
    std::fs::remove_dir_all(&folder).ok();
    let path = project(CODEX);
    let output = run(&["redact", utf8(&path), "-o", utf8(&folder)]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let of = |path: &Path| {
        let report = json_at(LATER, &[utf8(path)]);
        let mut fits = quota(&report, "OpenAI", "5h")["fits"].clone();
        for name in ["limit", "plan"] {
            assert!(fits[0].as_object_mut().expect("a fit").remove(name).is_some());
        }
        fits
    };
    assert_eq!(of(&folder), of(&path));
}

#[test]
fn limits_that_cannot_be_are_passed_over() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hostile-limits");
    std::fs::create_dir_all(&folder).expect("a folder");
    let whole = std::fs::read_to_string(project(CODEX).join("rollout.jsonl")).expect("a rollout");
    for (place, (from, to)) in [
        (r#""used_percent":10.0"#, r#""used_percent":-1"#),
        (r#""used_percent":10.0"#, r#""used_percent":1e300"#),
        (r#""used_percent":10.0"#, r#""used_percent":"10""#),
        (r#""window_minutes":300"#, r#""window_minutes":0"#),
        (r#""window_minutes":300"#, r#""window_minutes":18446744073709551615"#),
        (r#""resets_at":"#, r#""resets_at":9"#),
        (r#""resets_at":"#, r#""resets_at":-"#),
        (r#""limit_id":"codex""#, r#""limit_id":"\u001b[31m<script>""#),
    ]
    .into_iter()
    .enumerate()
    {
        let file = folder.join(format!("{place}.jsonl"));
        std::fs::write(&file, whole.replace(from, to)).expect("a file");
        let table = printed_at(LATER, &[utf8(&file)]);
        assert!(table.contains("$0.8877") && !table.contains('\u{1b}'), "{to}: {table}");
        let page = stdout(&["blocks", utf8(&file), "-q", "--format", "markdown"]);
        assert!(!page.contains("<script>"), "{to}: {page}");
    }
}
