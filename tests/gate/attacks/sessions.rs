//! Attacks on what is recorded: requests, sessions, usage, files, budgets and baselines.

use std::collections::BTreeMap;
use std::io::Write as _;

use flate2::{Compression, write::GzEncoder};
use serde_json::{Value, json};

use super::Answer::{Exceeds, Refuses, Warns};
use super::{Attack, CHEAPER, COST, keep_for_an_hour, usage};
use crate::common::lines;

pub(super) const ATTACKS: &[Attack] = &[
    // Requests and sessions.
    Attack {
        name: "every request twice",
        change: |p| {
            let twice = p.lines().iter().flat_map(|line| {
                let mut again = line.clone();
                again["request_id"] = json!(format!("{}-again", line["request_id"]));
                [line.clone(), again]
            });
            *p.lines() = twice.collect();
        },
        answer: COST,
    },
    Attack {
        name: "one request more",
        change: |p| {
            let mut more = p.lines()[2].clone();
            more["request_id"] = json!("mend-4");
            more["timestamp"] = json!("2026-09-01T10:00:40.000Z");
            more["usage"] = usage(3, 3_900, 2_000, 50);
            p.lines().push(more);
        },
        answer: COST,
    },
    Attack {
        name: "a new session",
        change: |p| {
            let mut more = p.lines()[0].clone();
            more["request_id"] = json!("other-1");
            more["session_id"] = json!("other");
            p.lines().push(more);
        },
        answer: Warns("1 session of the run cannot be judged"),
    },
    Attack {
        name: "a session cut in two",
        change: |p| {
            p.each(|at, line| {
                if at == 1 || at == 2 {
                    line["session_id"] = json!("mend-more");
                    line["usage"] = usage(3, 0, 3_900, 50);
                }
            });
        },
        answer: Warns("cannot be judged"),
    },
    Attack {
        name: "two sessions in one",
        change: |p| {
            p.grow();
            p.each(|_, line| line["session_id"] = json!("mend"));
        },
        answer: COST,
    },
    Attack {
        name: "renamed sessions",
        change: |p| {
            p.grow();
            p.each(|_, line| {
                line["session_id"] =
                    json!(format!("new-{}", line["session_id"].as_str().expect("an id")));
            });
        },
        answer: COST,
    },
    Attack {
        name: "renamed requests",
        change: |p| {
            p.grow();
            p.each(|at, line| line["request_id"] = json!(format!("new-{at}")));
        },
        answer: COST,
    },
    Attack {
        name: "sessions that exchange their names",
        change: |p| {
            p.grow();
            p.each(|_, line| {
                let other = if line["session_id"] == "mend" { "explain" } else { "mend" };
                line["session_id"] = json!(other);
            });
        },
        answer: COST,
    },
    Attack {
        name: "lines in another order",
        change: |p| {
            p.grow();
            p.lines().reverse();
        },
        answer: COST,
    },
    Attack {
        name: "a moved file",
        change: |p| {
            p.grow();
            let lines = p.files.remove("sessions/all.jsonl").expect("the capture");
            p.files.insert("sessions/new/place/renamed.jsonl".to_owned(), lines);
        },
        answer: COST,
    },
    Attack {
        name: "everything renamed and moved",
        change: |p| {
            p.grow();
            p.each(|at, line| {
                line["session_id"] =
                    json!(format!("new-{}", line["session_id"].as_str().expect("an id")));
                line["request_id"] = json!(format!("new-{at}"));
            });
            let lines = p.files.remove("sessions/all.jsonl").expect("the capture");
            p.files.insert("sessions/new/place/renamed.jsonl".to_owned(), lines);
        },
        answer: COST,
    },
    Attack {
        name: "a file for each request",
        change: |p| {
            p.grow();
            let lines = p.files.remove("sessions/all.jsonl").expect("the capture");
            for (at, line) in lines.into_iter().enumerate() {
                p.files.insert(format!("sessions/{at}.jsonl"), vec![line]);
            }
        },
        answer: COST,
    },
    // Usage.
    Attack {
        name: "usage removed",
        change: |p| {
            p.grow();
            p.each(|_, line| drop(line.as_object_mut().expect("a line").remove("usage")));
        },
        answer: COST,
    },
    Attack {
        name: "usage removed where nothing else has changed",
        change: |p| p.each(|_, line| drop(line.as_object_mut().expect("a line").remove("usage"))),
        answer: Warns("has a recorded usage on one side alone"),
    },
    Attack {
        name: "usage removed from the largest requests",
        change: |p| {
            p.grow();
            p.each(|at, line| {
                if at == 0 || at == 3 {
                    line.as_object_mut().expect("a line").remove("usage");
                }
            });
        },
        answer: COST,
    },
    Attack {
        name: "usage of zero",
        change: |p| {
            p.grow();
            p.each(|_, line| line["usage"] = usage(0, 0, 0, 0));
        },
        answer: COST,
    },
    Attack {
        name: "usage of zero where nothing else has changed",
        change: |p| p.each(|_, line| line["usage"] = usage(0, 0, 0, 0)),
        answer: Warns("has the bytes and the id of the baseline's and another usage"),
    },
    Attack {
        name: "usage copied from a smaller request",
        change: |p| {
            p.grow();
            let small = p.lines()[1]["usage"].clone();
            p.each(|_, line| line["usage"] = small.clone());
        },
        answer: COST,
    },
    Attack {
        name: "usage of half of the prompt",
        change: |p| {
            p.grow();
            p.each(|_, line| {
                for field in ["cache_read_input_tokens", "cache_creation_input_tokens"] {
                    line["usage"][field] =
                        json!(line["usage"][field].as_u64().expect("a number") / 2);
                }
                line["usage"].as_object_mut().expect("usage").remove("cache_creation");
            });
        },
        answer: COST,
    },
    Attack {
        name: "a recording against a warm cache",
        change: |p| {
            p.grow();
            p.each(|at, line| {
                let field = |name: &str| line["usage"][name].as_u64().expect("a number");
                let size = field("cache_read_input_tokens") + field("cache_creation_input_tokens");
                line["usage"] = usage(3, size + 750, 0, 50);
                line["request_id"] = json!(format!("new-{at}"));
            });
        },
        answer: COST,
    },
    Attack {
        name: "usage without output",
        change: |p| {
            p.grow();
            p.each(|_, line| {
                drop(line["usage"].as_object_mut().expect("usage").remove("output_tokens"));
            });
        },
        answer: COST,
    },
    // Cut files.
    Attack {
        name: "a cut session",
        change: |p| {
            p.grow();
            p.lines().truncate(4);
        },
        answer: COST,
    },
    Attack {
        name: "a request that is missing",
        change: |p| drop(p.lines().remove(2)),
        answer: Warns("1 request of the baseline's sessions cannot be judged"),
    },
    Attack {
        name: "a session that is missing",
        change: |p| p.lines().truncate(3),
        answer: Warns("1 session of the baseline cannot be judged"),
    },
    Attack {
        name: "a torn last line",
        change: |p| {
            let all = lines(p.lines());
            p.files.clear();
            let torn = all.as_bytes()[..all.len() - 700].to_vec();
            p.raw.insert("sessions/all.jsonl".to_owned(), torn);
        },
        answer: Exceeds("damaged input"),
    },
    Attack {
        name: "a broken line",
        change: |p| {
            let all = lines(p.lines()).replacen("\"request\":", "\"request\"", 1);
            p.files.clear();
            p.raw.insert("sessions/all.jsonl".to_owned(), all.into_bytes());
        },
        answer: Exceeds("damaged input"),
    },
    Attack {
        name: "a cut compressed file",
        change: |p| {
            let all = lines(p.lines());
            p.files.clear();
            let mut packed = GzEncoder::new(Vec::new(), Compression::none());
            packed.write_all(all.as_bytes()).expect("bytes");
            let mut packed = packed.finish().expect("bytes");
            packed.truncate(packed.len() - 4_000);
            p.raw.insert("sessions/all.jsonl.gz".to_owned(), packed);
        },
        answer: Exceeds("damaged input"),
    },
    Attack {
        name: "an empty file",
        change: |p| {
            p.files.clear();
            p.raw.insert("sessions/all.jsonl".to_owned(), Vec::new());
        },
        answer: Refuses(3, "no request"),
    },
    Attack {
        name: "other prices",
        change: |p| {
            p.raw.insert("prices.toml".to_owned(), CHEAPER.as_bytes().to_vec());
            p.arguments = vec!["--prices", "prices.toml"];
        },
        answer: Warns("some of the difference may be the prices'"),
    },
    // Budgets and baselines.
    Attack {
        name: "a baseline that is not there",
        change: |p| {
            p.grow();
            p.arguments = vec!["--baseline", "elsewhere.json"];
        },
        answer: Refuses(2, "--baseline"),
    },
    Attack {
        name: "an empty baseline",
        change: |p| {
            p.grow();
            p.baseline = Some(String::new());
        },
        answer: Refuses(2, "baseline.json"),
    },
    Attack {
        name: "a baseline of other sessions",
        change: |p| {
            p.grow();
            let mut one = p.lines().clone();
            one.truncate(1);
            one[0]["session_id"] = json!("else");
            p.files = BTreeMap::from([("sessions/else.jsonl".to_owned(), one)]);
        },
        answer: Refuses(3, "no session of the baseline is in the input"),
    },
    Attack {
        name: "a budget that selects no model",
        change: |p| {
            p.grow();
            p.config = "[[budget]]\nmetric = 'cost'\nmax_increase = '5 %'\nmodel = 'gpt-*'\n";
        },
        answer: Refuses(3, "selects no request"),
    },
    Attack {
        name: "a budget that selects no file",
        change: |p| {
            p.grow();
            p.config = "[[budget]]\nmetric = 'cost'\nmax_increase = '5 %'\nfiles = 'old/**'\n";
        },
        answer: Refuses(3, "selects no request"),
    },
    Attack {
        name: "a budget that selects no project",
        change: |p| {
            p.grow();
            p.config = "[[budget]]\nmetric = 'cost'\nmax_increase = '5 %'\nproject = 'old'\n";
        },
        answer: Refuses(3, "selects no request"),
    },
    Attack {
        name: "a budget on the record that stayed",
        change: |p| {
            p.grow();
            p.config = "[[budget]]\nmetric = 'cost'\nmax_increase = '5 %'\nstrategy = 'billed'\n";
        },
        answer: COST,
    },
    Attack {
        name: "a limit on the record that stayed",
        change: |p| {
            p.grow();
            // The record says $0.0357, and the prompts as they are now cost about $0.04.
            p.config = "[[budget]]\nmetric = 'cost'\nmax = '$0.038'\n";
        },
        answer: COST,
    },
    Attack {
        name: "budgets that only warn",
        change: |p| {
            p.grow();
            p.config = "[[budget]]\nmetric = 'cost'\nmax_increase = '5 %'\nlevel = 'warn'\n";
        },
        answer: Warns("cost"),
    },
    Attack {
        name: "a budget without a limit",
        change: |p| p.config = "[[budget]]\nmetric = 'cost'\n",
        answer: Refuses(2, "cachesim.toml"),
    },
    Attack {
        name: "a limit beyond every figure that is no number",
        change: |p| p.config = "[[budget]]\nmetric = 'cost'\nmax = 'nan'\n",
        answer: Refuses(2, "cachesim.toml"),
    },
    Attack {
        name: "one of two sessions leaves a budget's models",
        change: |p| {
            let is_first = |line: &Value| line["session_id"] == "mend";
            p.lines().iter_mut().filter(|line| is_first(line)).for_each(|line| {
                line["request"]["model"] = json!("claude-opus-4-1");
            });
            p.config = "[[budget]]\nmetric = 'cost_per_session'\nmax_increase = '5 %'\n\
                        model = 'claude-sonnet-*'\n";
        },
        answer: Warns("on one side alone cannot be judged"),
    },
    Attack {
        name: "one more request, where single ones are compared",
        change: |p| {
            let mut added = p.lines()[2].clone();
            added["request_id"] = json!("added");
            added["timestamp"] = json!("2026-09-01T10:00:45.000Z");
            added["request"]["model"] = json!("claude-opus-4-1");
            p.lines().insert(3, added);
            p.config = "[[budget]]\nmetric = 'cost_per_request'\nmax_increase = '5 %'\n";
        },
        answer: Warns("on one side alone cannot be judged"),
    },
    Attack {
        name: "pauses, and entries that outlive them",
        change: |p| {
            p.arguments.extend(["--ttl-grace", "3600"]);
        },
        answer: Refuses(2, "simulated with the default options, this run with --ttl-grace 3600"),
    },
    Attack {
        name: "an hour asked for, and five minutes in the usage",
        change: |p| {
            p.requests(|_, request| keep_for_an_hour(request));
            p.each(|_, line| {
                let output = line["usage"]["output_tokens"].as_u64().expect("a number");
                line["usage"]["output_tokens"] = json!(output + 1);
            });
        },
        answer: COST,
    },
    Attack {
        name: "requests that are cut off",
        change: |p| {
            let cut = p.lines()[2].to_string();
            p.raw.insert("sessions/cut.jsonl".to_owned(), cut[..cut.len() - 1].into());
            let whole = p.lines()[3].to_string();
            let cut = p.raw.get_mut("sessions/cut.jsonl").expect("it was put");
            cut.extend(format!("\n{whole}\n").bytes());
        },
        answer: Exceeds("damaged input"),
    },
];
