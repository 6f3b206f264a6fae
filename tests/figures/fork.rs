//! `fork`: the arithmetic of the mechanism, the laws that sharing obeys, and the command.

use cachesim::base::ttl::Ttl;
use cachesim::base::units::Tokens;
use cachesim::simulate::fork::{Equivalents, ForkComparison, ForkPlan, compare};
use proptest::prelude::*;
use serde_json::Value;

use crate::common::{count, json, prompt_of, run, shared, stdout, text};

fn variant<'a>(report: &'a Value, name: &str) -> &'a Value {
    let variants = report["variants"].as_array().expect("variants");
    variants.iter().find(|variant| variant["variant"] == name).expect("a variant")
}

#[test]
fn the_figures_of_the_mechanism() {
    let report = json(&["fork", "--format", "json"]);
    assert_eq!(report["schema"], "cachesim.fork/v1");
    let equivalents = |name| &variant(&report, name)["total"]["input_token_equivalents"];
    assert_eq!(equivalents("separate"), "302400");
    assert_eq!(equivalents("placeholder"), "31315");
    let spelled_out = [
        "fork",
        "--parent=100000",
        "--assistant=500",
        "--placeholders=200",
        "--directives=100,100,100",
        "--format=json",
    ];
    assert_eq!(json(&spelled_out), report);
    for one in report["variants"].as_array().expect("variants") {
        let children = one["children"].as_array().expect("children");
        assert_eq!(children.len(), 3);
        for child in children {
            assert_eq!(prompt_of(child), 100_800, "{one}");
            assert!(child["cost_usd"].is_null(), "no model has no price");
        }
    }
}

#[test]
fn a_model_gives_dollars_and_its_own_multipliers() {
    let of = |model: &str, ttl: &str| {
        json(&["fork", "--model", model, "--ttl", ttl, "--format", "json"])
    };
    let opus = of("claude-opus-5", "5m");
    // 31,315 equivalents at 5 dollars a million.
    assert_eq!(variant(&opus, "placeholder")["total"]["cost_usd"], "0.156575");
    // Reads at 0.025 and writes at 2: 2,500 + 1,400 + 100, and twice 2,517.5 + 100.
    let fable = of("claude-fable-5-1", "1h");
    let total = &variant(&fable, "placeholder")["total"];
    assert_eq!(fable["multipliers"], serde_json::json!({"read": "0.025", "write": "2"}));
    assert_eq!(total["input_token_equivalents"], "9235");
    assert_eq!(total["cost_usd"], "0.09235");
    assert_eq!(count(total, "ephemeral_1h_input_tokens"), 700);
    assert_eq!(count(total, "ephemeral_5m_input_tokens"), 0);
}

#[test]
fn nonsense_ends_with_a_reason() {
    let refused = |arguments: &[&str]| {
        let output = run(&[&["fork"], arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(output.stdout.is_empty());
        text(&output.stderr)
    };
    assert!(refused(&["--children", "0"]).contains("expected a number from 1 to 10000"));
    assert!(refused(&["--children", "10001"]).contains("expected a number from 1 to 10000"));
    assert!(refused(&["--children", "2", "--directives", "1,2,3"]).contains("2 children, but 3"));
    assert!(refused(&["--parent", "1000000000001"]).contains("1000000000000 are the most"));
    assert!(refused(&["--parent", "0"]).contains("the parent cannot have 0 tokens"));
    assert!(refused(&["--directive", "18446744073709551615"]).contains("are the most"));
    assert!(refused(&["--assistant", "-1"]).contains("-1"));
    assert!(refused(&["--model", "no-such-model"]).contains("no price for `no-such-model`"));
    assert!(refused(&["--prices", "mine.toml"]).contains("--model"));
}

/// The exact cases of the rules are plans, too: a parent, and what each child is charged.
#[test]
fn the_conformance_cases_are_equal() {
    // 503 bytes after the parent's, of which 125 are the directive; a query of 105, and no more.
    let forks = ["--assistant=300", "--placeholders=78", "--directive=125", "--children=3"];
    let query = ["--assistant=0", "--placeholders=0", "--directive=105", "--children=1"];
    for (case, name, arguments) in [
        ("fork_children_share", "placeholder", forks),
        ("fork_marker_on_directive", "directive", forks),
        ("skip_cache_write", "skip_write", query),
    ] {
        let Some(path) = shared(&format!("conformance/{case}.json")) else { return };
        let case = std::fs::read_to_string(path).expect("a case");
        let case: Value = serde_json::from_str(&case).expect("a case");
        let expected = case["expect"].as_array().expect("expectations");
        let parent = format!("--parent={}", prompt_of(&expected[0]));
        let report = json(&[&["fork", &parent, "--format=json"], &arguments[..]].concat());
        let children = variant(&report, name)["children"].as_array().expect("children");
        for (child, expected) in children.iter().zip(&expected[1..]) {
            for (class, tokens) in expected.as_object().expect("figures") {
                assert_eq!(&child[class], tokens, "{name} {class}");
            }
        }
    }
}

#[test]
fn the_table_of_forks() {
    insta::assert_snapshot!(stdout(&["fork"]));
    // With the marker on the placeholder: 100,700 × 2 + 100, 10,070 + 100 and 10,070 + 4,000.
    insta::assert_snapshot!(stdout(&[
        "fork",
        "--directives=100,100,4000",
        "--cold",
        "--ttl=1h",
        "--model=claude-opus-5",
    ]));
    let markdown = stdout(&["fork", "--format", "markdown"]);
    assert!(markdown.contains("| 301,400 | 700 | 300 | 31,315 | -89.6 % |"), "{markdown}");
}

fn plans() -> impl Strategy<Value = ForkPlan> {
    // Around the minimum as well as far above it.
    let size = || prop_oneof![0_u64..3, 0_u64..2_000, 0_u64..200_000];
    let directives = prop::collection::vec(1_u64..3_000, 1..6);
    (1_u64..3_000, size(), size(), size(), directives, any::<[bool; 2]>(), 0_u64..5).prop_map(
        |(least, more, assistant, placeholders, directives, [warm, is_hour], kept)| ForkPlan {
            parent: Tokens(least + more),
            assistant: Tokens(assistant),
            placeholders: Tokens(placeholders),
            directives: directives.into_iter().map(Tokens).collect(),
            kept: Tokens((least + more) * kept / 4),
            write_weight: None,
            parent_is_warm: warm,
            ttl: if is_hour { Ttl::OneHour } else { Ttl::FiveMinutes },
            minimum: Tokens(1_024),
        },
    )
}

/// What a child reads and writes, worked out without the simulator: `own` tokens stand up to its
/// marker, of which the first `common` ones were marked by an earlier sibling and the first `of_parent`
/// by the parent.
fn read_and_written(
    plan: &ForkPlan,
    own: u64,
    common: Option<u64>,
    of_parent: Tokens,
) -> (u64, u64) {
    if own < plan.minimum.0 {
        return (0, 0);
    }
    let has_parent = plan.parent_is_warm && of_parent >= plan.minimum;
    let of_parent = if has_parent { of_parent.0 } else { 0 };
    let read = common.map_or(of_parent, |common| common.max(of_parent));
    (read, own - read)
}

/// The same for the child at `index` under a variant.
fn expected(plan: &ForkPlan, name: &str, index: usize) -> (u64, u64) {
    let answered = plan.parent.0 + plan.assistant.0;
    let filled = answered + plan.placeholders.0;
    let whole = filled + plan.directives[index].0;
    let from_first = |marked: u64| (index > 0).then_some(marked);
    match name {
        "separate" => (0, 0),
        "separate_cached" => read_and_written(plan, whole, None, Tokens::ZERO),
        "placeholder" => read_and_written(plan, filled, from_first(filled), plan.parent),
        "placeholder_at_once" => read_and_written(plan, filled, None, plan.parent),
        "directive" | "directive_first" => read_and_written(plan, whole, None, plan.parent),
        "skip_write" => read_and_written(plan, answered, from_first(answered), plan.parent),
        "skip_write_at_once" => read_and_written(plan, answered, None, plan.parent),
        "fresh_decisions" => read_and_written(plan, filled, from_first(filled), plan.kept),
        other => panic!("{other} is not known here"),
    }
}

proptest! {
    #[test]
    fn every_child_is_charged_by_the_closed_formula(plan in plans()) {
        for ForkComparison { variant, children } in compare(&plan, None).expect("a plan").comparisons {
            for (index, child) in children.iter().enumerate() {
                let (read, written) = expected(&plan, variant.name, index);
                prop_assert_eq!((child.read.0, child.written.0), (read, written), "{}", variant.name);
                let all = child.read + child.written + child.input;
                prop_assert_eq!(all, plan.prompt(plan.directives[index]));
            }
        }
    }

    #[test]
    fn sharing_and_waiting_never_cost_more(plan in plans()) {
        let of = totals(&plan);
        prop_assert!(of("placeholder") <= of("placeholder_at_once"));
        prop_assert!(of("skip_write") <= of("skip_write_at_once"));
        prop_assert!(of("placeholder") <= of("directive"));
        if plan.parent_is_warm && plan.parent >= plan.minimum {
            for name in ["placeholder_at_once", "directive", "directive_first", "skip_write_at_once"] {
                prop_assert!(of(name) <= of("separate_cached"), "{}", name);
            }
            // With one child nobody reads what it writes for a quarter more.
            if plan.directives.len() > 1 && plan.ttl == Ttl::FiveMinutes {
                prop_assert!(of("placeholder") <= of("separate"));
                prop_assert!(of("skip_write") <= of("separate"));
            }
        }
    }
}

/// The equivalents of each variant.
fn totals(plan: &ForkPlan) -> impl Fn(&str) -> Equivalents {
    let comparisons = compare(plan, None).expect("a plan").comparisons;
    move |name| {
        let named = |comparison: &&ForkComparison| comparison.variant.name == name;
        comparisons.iter().find(named).expect("a variant").total().equivalents
    }
}

#[test]
fn a_single_fork_of_a_long_answer_had_better_not_write() {
    let plan = ForkPlan {
        parent: Tokens(2_000),
        assistant: Tokens(10_000),
        placeholders: Tokens(200),
        directives: vec![Tokens(100)],
        kept: Tokens::ZERO,
        write_weight: None,
        parent_is_warm: true,
        ttl: Ttl::FiveMinutes,
        minimum: Tokens(1_024),
    };
    let of = totals(&plan);
    assert_eq!(of("separate").to_string(), "12300");
    // 200 + 10,200 × 1.25 + 100.
    assert_eq!(of("placeholder").to_string(), "13050");
}
