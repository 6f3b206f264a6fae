//! Strategy files: what they make, what they are refused for and where, and their JSON schema.

use cachesim::base::ttl::{TierTtl, Ttl, TtlPlan};
use cachesim::base::units::Tokens;
use cachesim::simulate::management::{
    ByService, ByTime, Compaction, Management, Microcompaction, Trigger,
};
use cachesim::simulate::strategy::{
    Anchor, Design, KeepAlive, Layout, StrategyKind, parse_strategies,
};
use proptest::prelude::*;

const EXAMPLES: &str = include_str!("../../strategies/examples.toml");
#[cfg(feature = "validate")]
const SCHEMA: &str = include_str!("../../schemas/strategy.schema.json");

const FIVE: TierTtl = TierTtl::uniform(Ttl::FiveMinutes);
const HOUR: TierTtl = TierTtl::uniform(Ttl::OneHour);

/// A file with one strategy `x`; its keys begin on line 4.
fn file(keys: &str) -> String {
    format!("schema = \"cachesim.strategy/v1\"\n[[strategy]]\nname = \"x\"\n{keys}\n")
}

fn designs(keys: &str) -> Vec<(String, Design)> {
    let file = parse_strategies(&file(keys), "s.toml").unwrap_or_else(|error| panic!("{error}"));
    file.strategies
        .into_iter()
        .map(|strategy| match strategy.kind {
            StrategyKind::Counterfactual(design) => (strategy.name.into_owned(), design),
            other => panic!("{other:?}"),
        })
        .collect()
}

fn design(keys: &str) -> Design {
    let [(name, design)] = designs(keys).try_into().expect("one strategy");
    assert_eq!(name, "x");
    design
}

fn names(keys: &str) -> Vec<String> {
    designs(keys).into_iter().map(|(name, _)| name).collect()
}

fn refusal(text: &str) -> String {
    parse_strategies(text, "s.toml").expect_err("refused").to_string()
}

fn ttl(main: TierTtl, agents: TierTtl) -> Design {
    Design { ttl: Some(TtlPlan { main, agents }), ..Design::default() }
}

fn layout(layout: Layout) -> Design {
    Design { layout, ..Design::default() }
}

#[test]
fn a_strategy_without_keys_is_as_recorded() {
    assert_eq!(design(""), Design::default());
    assert_eq!(design("ttl = \"as-recorded\"\nmarkers = \"as-recorded\""), Design::default());
}

#[test]
fn lifetimes_are_one_or_one_for_each_tier_and_kind_of_conversation() {
    let tiers = |system, messages| TierTtl { system, messages };
    assert_eq!(design("ttl = \"1h\""), ttl(HOUR, HOUR));
    assert_eq!(design("ttl = \"mixed\""), ttl(TierTtl::MIXED, TierTtl::MIXED));
    assert_eq!(design("ttl = { main = \"1h\", agents = \"5m\" }"), ttl(HOUR, FIVE));
    let mixed = tiers(Ttl::OneHour, Ttl::FiveMinutes);
    assert_eq!(design("ttl = { system = \"1h\", messages = \"5m\" }"), ttl(mixed, mixed));
    let both = "ttl.main = { system = \"1h\", messages = \"5m\" }\nttl.agents = \"5m\"";
    assert_eq!(design(both), ttl(mixed, FIVE));
}

#[test]
fn markers_have_names_places_and_numbers() {
    assert_eq!(design("markers = \"none\""), layout(Layout::Nowhere));
    assert_eq!(design("markers = \"system-only\""), layout(Layout::At(Anchor::System.into())));
    assert_eq!(design("markers = \"last-message\""), layout(Layout::At(Anchor::Last.into())));
    let two = layout(Layout::At(Anchor::Previous | Anchor::Last));
    assert_eq!(design("markers = \"last-two\""), two);
    assert_eq!(design("markers = { at = [\"last\", \"previous\"] }"), two);
    assert_eq!(design("markers.every = 0x0A"), layout(Layout::Every(10)));
    assert_eq!(design("[strategy.markers]\neven = 4"), layout(Layout::Even(4)));
}

#[test]
fn pings_have_an_interval_and_a_limit() {
    let pinged = |every, limit, agents| Design {
        keep_alive: Some(KeepAlive { every, limit, agents }),
        ..ttl(HOUR, HOUR)
    };
    let keys = "ttl = \"1h\"\nkeepalive = { every = \"4m30s\", limit = \"2h\" }";
    assert_eq!(design(keys), pinged(270_000, 7_200_000, false));
    let keys = "ttl = \"1h\"\nkeepalive = { every = \"90s\", limit = \"1.5h\", agents = true }";
    assert_eq!(design(keys), pinged(90_000, 5_400_000, true));
}

#[test]
fn a_sweep_is_every_combination_in_the_order_of_the_file() {
    let keys = "ttl = \"1h\"\nkeepalive.every = [\"4m30s\", \"55m\"]\nkeepalive.limit = \"2h\"\n\
        keepalive.agents = [true, false]";
    assert_eq!(
        names(keys),
        [
            "x[keepalive.every=4m30s,keepalive.agents=true]",
            "x[keepalive.every=4m30s,keepalive.agents=false]",
            "x[keepalive.every=55m,keepalive.agents=true]",
            "x[keepalive.every=55m,keepalive.agents=false]",
        ]
    );
    let every: Vec<i64> = designs(keys)
        .into_iter()
        .filter_map(|(_, design)| design.keep_alive.map(|pings| pings.every / 1_000))
        .collect();
    assert_eq!(every, [270, 270, 3_300, 3_300]);
}

#[test]
fn a_sweep_may_stand_in_a_table_and_have_tables() {
    let keys = "ttl = { main = [\"5m\", { system = \"1h\", messages = \"5m\" }], agents = \"5m\" }\n\
        markers = [\"last-two\", { every = [5, 10] }, { at = [[\"system\", \"last\"], [\"last\"]] }]";
    let expected: Vec<String> = ["ttl.main=5m", "ttl.main.system=1h,ttl.main.messages=5m"]
        .into_iter()
        .flat_map(|ttl| {
            let markers = ["=last-two", ".every=5", ".every=10", ".at=system+last", ".at=last"];
            markers.map(|markers| format!("x[{ttl},markers{markers}]"))
        })
        .collect();
    assert_eq!(names(keys), expected);
}

#[test]
fn a_sweep_of_one_value_is_named_too() {
    assert_eq!(names("ttl = [\"1h\"]"), ["x[ttl=1h]"]);
    assert_eq!(names("markers.at = [[\"last\"]]"), ["x[markers.at=last]"]);
}

#[test]
fn what_contradicts_itself_in_a_sweep_is_left_out_and_named() {
    let keys =
        "ttl = [\"5m\", \"1h\"]\nkeepalive = { every = [\"4m30s\", \"55m\"], limit = \"2h\" }";
    let file = parse_strategies(&file(keys), "s.toml").expect("read");
    assert_eq!(file.strategies.len(), 3);
    let left_out: Vec<String> =
        file.left_out.iter().map(|left| format!("{}: {}", left.name, left.contradiction)).collect();
    let reason =
        "each ping would be a full write: `keepalive.every` is 55m, and entries live for 5m";
    assert_eq!(left_out, [format!("x[ttl=5m,keepalive.every=55m]: {reason}")]);
}

/// What is wrong with these keys is wrong wherever it stands.
#[test]
fn what_cannot_be_used_is_named_with_its_place() {
    for (keys, expected) in [
        (
            "keepalive.evry = \"4m\"",
            "4:11: `evry` is no key of `keepalive` (did you mean `every`, `limit` or `agents`?); there are every, limit, agents",
        ),
        (
            "\n  Markers = \"none\"",
            "5:3: `Markers` is no key of a strategy (did you mean `markers`, `sharing` or `prompt`?); there are markers, ttl, keepalive, sharing, prompt, context",
        ),
        (
            "[strategy.keep_alive]\nevery = \"4m\"",
            "4:11: `keep_alive` is no key of a strategy (did you mean `keepalive`, `sharing` or `ttl`?); there are markers, ttl, keepalive, sharing, prompt, context",
        ),
        (
            "\"a\\u001b[31m\" = 1",
            "4:1: `a\\u{1b}[31m` is no key of a strategy (did you mean `markers`, `ttl` or `prompt`?); there are markers, ttl, keepalive, sharing, prompt, context",
        ),
        (
            "ttl = 300",
            "4:7: `ttl` is \"5m\", \"1h\", \"mixed\", \"as-recorded\" or a table of `main` and `agents` or of `system` and `messages`, not 300",
        ),
        (
            "ttl.main = \"2h\"",
            "4:12: `ttl.main`: `2h` is unknown (did you mean `1h`, `5m` or `mixed`?); there are 5m, 1h, mixed",
        ),
        ("keepalive = true", "4:13: `keepalive` is a table, not true"),
        ("keepalive.agents = \"no\"", "4:20: `keepalive.agents` is true or false, not \"no\""),
        (
            "keepalive.every = \"0s\"",
            "4:19: `keepalive.every` is a duration like \"4m30s\", from 1s to 168h, not \"0s\"",
        ),
        (
            "keepalive.limit = \"169h\"",
            "4:19: `keepalive.limit` is a duration like \"4m30s\", from 1s to 168h, not \"169h\"",
        ),
        (
            "keepalive.limit = [[\"1h\"]]",
            "4:20: `keepalive.limit` is a duration like \"4m30s\", from 1s to 168h, not a list",
        ),
        (
            "markers.every = 0",
            "4:17: `markers.every` is a number of blocks from 1 to 1000000, not 0",
        ),
        ("markers.at = [\"last\", \"last\"]", "4:14: `markers.at`: `last` is there twice"),
        (
            "context.compact.reserv = 1",
            "4:17: `reserv` is no key of `context.compact` (did you mean `reserve`, `request` or `retries`?); there are threshold, window, max_output, reserve, buffer, percent, summary, request, analysis, retries, gap_reported, failures, files, skills, plan, agents, tools, mcp",
        ),
        (
            "context.compcat.summary = 1",
            "4:9: `compcat` is no key of `context` (did you mean `compact`, `microcompact` or `cached_microcompact`?); there are microcompact, cached_microcompact, clear_results, result_budget, compact, session_memory",
        ),
        (
            "context.compact.percent = 101",
            "4:27: `context.compact.percent` is a percentage from 1 to 100, not 101",
        ),
        (
            "context.compact.summary = 0",
            "4:27: `context.compact.summary` is a number of tokens from 1 to 100000000, not 0",
        ),
        (
            "context.result_budget.each = true",
            "4:30: `context.result_budget.each` is a number of characters from 1 to 100000000, not true",
        ),
        (
            "markers = \"at\"",
            "4:11: `markers`: `at` is unknown (did you mean `as-recorded`, `none` or `system-only`?); there are as-recorded, none, system-only, last-message, last-two",
        ),
        (
            "markers.none = true",
            "4:9: `none` is no key of `markers` (did you mean `even`, `at` or `every`?); there are at, every, even",
        ),
        (
            "markers = 4",
            "4:11: `markers` is \"as-recorded\", \"none\", \"system-only\", \"last-message\", \"last-two\" or a table of `at`, `every` or `even`, not 4",
        ),
        (
            "context.compact.files.count = -1",
            "4:31: `context.compact.files.count` is a number from 0 to 1000000, not -1",
        ),
        (
            "prompt.deferred_tools = \"some\"",
            "4:25: `prompt.deferred_tools`: `some` is unknown (did you mean `mcp`, `all` or `as-sent`?); there are as-sent, mcp, all",
        ),
        ("ttl = []", "4:7: `ttl` is a sweep without values"),
        ("ttl = [\"5m\", \"5m\"]", "3:8: the sweep makes `x[ttl=5m]` twice"),
        ("ttl = \"1h\"\nttl = \"5m\"", "5:1: duplicate key"),
        ("summary = 1", "4:11: `summary` is a text, not 1"),
    ] {
        assert_eq!(refusal(&file(keys)), format!("s.toml:{expected}"), "{keys}");
    }
}

#[test]
fn what_contradicts_itself_is_refused_with_the_reason() {
    for (keys, expected) in [
        (
            "markers = \"none\"\nttl = \"1h\"",
            "5:7: `x`: `ttl` has nothing to act on, since `markers` is \"none\"",
        ),
        (
            "markers = \"none\"\nkeepalive = { every = \"4m\", limit = \"1h\" }",
            "5:23: `x`: `keepalive.every` has nothing to act on, since `markers` is \"none\"",
        ),
        (
            "keepalive.every = \"4m\"",
            "4:19: `x`: `keepalive.every` needs `keepalive.limit`: how long a conversation may be idle",
        ),
        ("keepalive.limit = \"4m\"", "4:1: `keepalive` needs `every`"),
        ("keepalive.agents = true", "4:1: `keepalive` needs `every`"),
        (
            "keepalive = { every = \"4m\", limit = \"3m\" }",
            "4:37: `x`: `keepalive.limit` is below `keepalive.every`: there would be no ping",
        ),
        (
            "keepalive = { every = \"1s\", limit = \"24h\" }",
            "4:37: `x`: 86400 pings while a conversation is idle; the most is 10080",
        ),
        // An entry can no longer be read when its TTL is over, and none lives for more than an hour.
        (
            "keepalive = { every = \"1h\", limit = \"2h\" }",
            "4:23: `x`: each ping would be a full write: `keepalive.every` is 1h, and entries live for 1h",
        ),
        (
            "ttl = \"mixed\"\nkeepalive = { every = \"5m\", limit = \"2h\" }",
            "5:23: `x`: each ping would be a full write: `keepalive.every` is 5m, and entries live for 5m",
        ),
        (
            "ttl = { main = \"1h\", agents = \"5m\" }\nkeepalive = { every = \"55m\", limit = \"2h\", agents = true }",
            "5:23: `x`: each ping would be a full write: `keepalive.every` is 55m, and entries live for 5m",
        ),
        (
            "ttl = { system = \"5m\", messages = \"1h\" }",
            "4:18: `x`: the service refuses an hour on messages after five minutes on the system prompt (ttl_order)",
        ),
        (
            "ttl.main = \"1h\"",
            "4:1: `ttl`: give both `main` and `agents`, or both `system` and `messages`",
        ),
        (
            "ttl = { main = \"1h\", agents = \"1h\", system = \"1h\" }",
            "4:7: `ttl`: give both `main` and `agents`, or both `system` and `messages`",
        ),
        (
            "markers = { every = 10, even = 4 }",
            "4:11: `markers`: give one of `at`, `every` and `even`",
        ),
        (
            "markers.even = 5",
            "4:16: `markers.even`: the service refuses 5 markers, the most is 4 (too_many_breakpoints)",
        ),
        (
            "markers.at = [\"system\", \"half\", \"half\", \"previous\", \"last\"]",
            "4:14: `markers.at`: the service refuses 5 markers, the most is 4 (too_many_breakpoints)",
        ),
        (
            "context.microcompact.gap = \"1h\"\ncontext.clear_results.keep = 1",
            "4:1: `context`: old results are cleared by the client or by the service; this names both",
        ),
        (
            "context.compact = { threshold = 1, reserve = 1 }",
            "4:46: `x`: `context.compact.reserve` has nothing to act on, since `threshold` is given",
        ),
        (
            "context.session_memory = { window = 1, threshold = 1 }",
            "4:37: `x`: `context.session_memory.window` has nothing to act on, since `threshold` is given",
        ),
        ("prompt.tool_search = 1", "4:22: `x`: `prompt.tool_search` needs `prompt.deferred_tools`"),
    ] {
        assert_eq!(refusal(&file(keys)), format!("s.toml:{expected}"), "{keys}");
    }
}

/// What is said of a context's management, and what stays as it usually is.
#[test]
fn a_threshold_is_given_or_follows_from_a_window() {
    let compaction = |keys: &str| match design(keys).management.as_deref() {
        Some(Management::Compaction(compaction)) => *compaction,
        other => panic!("{other:?}"),
    };
    let usual = Compaction::default();
    assert_eq!(compaction("context.compact.summary = 4000"), usual);
    assert_eq!(compaction("context.compact = {}"), usual);
    let window = Some(Tokens(150_000));
    let threshold = Some(Tokens(90_000));
    let given = compaction("context.compact = { threshold = 90000, window = 150000 }");
    assert_eq!(given, Compaction { threshold, window, ..usual });
    assert_eq!((given.trigger(), given.longest_prompt()), (Trigger::At(Tokens(90_000)), window));
    // 150,000 − 8,000 − 13,000.
    let worked_out = compaction("context.compact = { window = 150000, max_output = 8000 }");
    assert_eq!(worked_out.trigger().threshold(), Tokens(129_000));
    assert_eq!(worked_out.longest_prompt(), window);
    // The usual window; both kinds of microcompaction are one way.
    let reserve = compaction("context.compact.reserve = 30000");
    assert_eq!(reserve.trigger().threshold(), Tokens(157_000));
    assert_eq!(reserve.longest_prompt(), Some(Tokens(200_000)));
    let both = design("context.microcompact.gap = \"1h\"\ncontext.cached_microcompact.trigger = 9");
    let by_service = Some(ByService { trigger: 9, keep_recent: 5 });
    let by_time = Some(ByTime::default());
    let expected = Management::Microcompaction(Microcompaction { by_time, by_service });
    assert_eq!(both.management.as_deref(), Some(&expected));
}

#[test]
fn pings_are_held_against_the_ttl_of_what_they_read() {
    let pings = "keepalive = { every = \"55m\", limit = \"2h\" }";
    assert_eq!(names(&format!("ttl = {{ main = \"1h\", agents = \"5m\" }}\n{pings}")), ["x"]);
    assert_eq!(names(&format!("ttl = \"mixed\"\nmarkers = \"system-only\"\n{pings}")), ["x"]);
    assert_eq!(names(pings), ["x"], "as recorded, it may be an hour");
}

#[test]
fn names_are_short_plain_and_unique() {
    let strategy = |name: &str| format!("[[strategy]]\nname = {name:?}\n");
    let all = |names: &[&str]| {
        let strategies: String = names.iter().map(|name| strategy(name)).collect();
        format!("schema = \"cachesim.strategy/v1\"\n{strategies}")
    };
    let longest = "x".repeat(64);
    let good = parse_strategies(&all(&["a.b_c+1-2", "5", &longest]), "s.toml").expect("names");
    assert_eq!(good.strategies.len(), 3);
    assert_eq!(refusal(&all(&["a", "b", "a"])), "s.toml:7:8: two strategies are called `a`");
    let known = "s.toml:3:8: `last-two` is the name of a built-in strategy";
    assert_eq!(refusal(&all(&["last-two"])), known);
    let rule = "up to 64 letters, digits and . _ + -, the first a letter or digit";
    for bad in ["", "a b", "-a", "x[ttl=5m]", "é", &format!("{longest}x")] {
        let message = refusal(&all(&[bad]));
        assert!(message.starts_with("s.toml:3:8: `") && message.ends_with(rule), "{message}");
    }
    let missing = "schema = \"cachesim.strategy/v1\"\n\n[[strategy]]\nttl = \"1h\"";
    assert_eq!(refusal(missing), "s.toml:3:1: the strategy has no `name`");
}

#[test]
fn a_file_says_what_it_is() {
    let begin = "begin with schema = \"cachesim.strategy/v1\"";
    assert_eq!(refusal(""), format!("s.toml:1:1: `schema` is missing; {begin}"));
    let other = "# prices\nschema = \"cachesim.prices/v1\"";
    let reads = "this version reads `cachesim.strategy/v1`";
    assert_eq!(refusal(other), format!("s.toml:2:10: the schema is `cachesim.prices/v1`; {reads}"));
    let empty = "schema = \"cachesim.strategy/v1\"";
    assert_eq!(refusal(empty), "s.toml:1:1: there is no [[strategy]]");
    let key = format!("{empty}\nstrategies = 1");
    let message = "s.toml:2:1: `strategies` is no key of a strategy file (did you mean `strategy` or `schema`?); there are schema, strategy";
    assert_eq!(refusal(&key), message);
    let table = format!("{empty}\n[strategy]\nname = \"a\"");
    assert!(refusal(&table).contains("`strategy` is a list of tables, [[strategy]], not a table"));
}

#[test]
fn too_many_combinations_are_counted_without_making_them() {
    let numbers = |count: i32| (1..=count).map(|n| format!("{n}")).collect::<Vec<_>>().join(",");
    let seconds = |count: i32| (1..=count).map(|n| format!("'{n}s'")).collect::<Vec<_>>().join(",");
    let keys = format!("markers.every = [{}]", numbers(10_000));
    assert_eq!(designs(&keys).len(), 10_000);
    let keys = format!("markers.every = [{}]", numbers(10_001));
    let message = "s.toml:1:1: the sweeps make 10001 strategies; the most is 10000";
    assert_eq!(refusal(&file(&keys)), message);
    // 20,000³ · 2 = 16,000,000,000,000.
    let keys = format!(
        "markers.every = [{}]\nkeepalive = {{ every = [{}], limit = [{}], agents = [true, false] }}",
        numbers(20_000),
        seconds(20_000),
        seconds(20_000)
    );
    assert!(refusal(&file(&keys)).contains("make 16000000000000 strategies"));
    let twice = file("markers.every = [1, 2]")
        + &format!("[[strategy]]\nname = 'y'\nmarkers.every = [{}]\n", numbers(9_999));
    assert!(refusal(&twice).contains("make 10001 strategies"), "the bound is the file's");
}

#[test]
fn the_examples_are_strategies() {
    let file =
        parse_strategies(EXAMPLES, "examples.toml").unwrap_or_else(|error| panic!("{error}"));
    // Nine pairs of TTLs, one, seven layouts, two TTLs × two intervals × two limits, one; both
    // microcompactions, three windows, two memories, three budgets, two deferrals.
    assert_eq!(file.strategies.len() + file.left_out.len(), 9 + 1 + 7 + 8 + 1 + 1 + 3 + 2 + 3 + 2);
    // Each with both limits: 55m under 5m.
    assert_eq!(file.left_out.len(), 2);
    assert!(file.strategies.iter().all(|strategy| !strategy.summary.is_empty()));
}

#[cfg(feature = "validate")]
fn as_json(text: &str) -> serde_json::Value {
    let table: toml::Table = text.parse().expect("TOML");
    serde_json::to_value(table).expect("JSON")
}

#[cfg(feature = "validate")]
#[test]
fn the_schema_accepts_what_the_parser_does() {
    let schema = serde_json::from_str(SCHEMA).expect("JSON");
    let validator = jsonschema::draft202012::new(&schema).expect("a schema");
    let accepted = [
        EXAMPLES.to_owned(),
        file(""),
        file("ttl = [\"as-recorded\", { main = \"1h\", agents = [\"5m\", \"mixed\"] }]"),
        file("ttl = { system = [\"1h\"], messages = [\"5m\", \"1h\"] }"),
        file("markers = [\"none\", { at = [\"system\"] }, { every = [1, 2] }]"),
        file("markers.at = [[\"system\"], [\"half\", \"last\"]]"),
        file("keepalive = { every = \"1m\", limit = [\"1h\", \"2h\"], agents = [true, false] }"),
        file(
            "context = { microcompact = { gap = \"1h\" }, cached_microcompact = { trigger = 9 } }",
        ),
        file("context = { microcompact = { gap = \"1h\" }, compact = { summary = 1 } }"),
        file(
            "context.compact = { window = [100000, 200000], percent = 90, files = { count = 0 }, plan = 0 }",
        ),
        file("context.session_memory = { threshold = 9, updates = { first = 1, calls = 0 } }"),
        file("context.result_budget.each = [10000, 20000]"),
        file("prompt = { deferred_tools = [\"mcp\", \"all\"], tool_search = 0 }"),
    ];
    for text in accepted {
        parse_strategies(&text, "s.toml").unwrap_or_else(|error| panic!("{error}"));
        let errors: Vec<String> =
            validator.iter_errors(&as_json(&text)).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{text}\n{errors:?}");
    }
    let keys = [
        "ttls = \"1h\"",
        "ttl = \"2h\"",
        "ttl = 300",
        "ttl = []",
        "ttl = [\"5m\", \"5m\"]",
        "ttl = { main = \"1h\" }",
        "ttl = { main = \"1h\", agents = \"1h\", system = \"1h\" }",
        "ttl = { system = \"mixed\", messages = \"5m\" }",
        "markers = { every = 0 }",
        "markers = { even = 5 }",
        "markers = { every = 10, even = 4 }",
        "markers = { at = [] }",
        "markers = { at = [\"last\", \"last\"] }",
        "markers = { at = \"last\" }",
        "keepalive = \"4m\"",
        "keepalive = { every = \"4m\" }",
        "keepalive = { every = \"-4m\", limit = \"1h\" }",
        "keepalive = { every = [[\"4m\"]], limit = \"1h\" }",
        "keepalive = { every = \"4m\", limit = \"1h\", agents = 1 }",
        "summary = 1",
        "context = { microcompact = { gap = \"1h\" }, clear_results = { keep = 1 } }",
        "context.compact = { threshold = 1, reserve = 1 }",
        "context.compact.percent = 101",
        "context.compact.gap_reported = 1",
        "context.session_memory = { window = 1, threshold = 1 }",
        "context.result_budget.each = 0",
        "prompt.deferred_tools = \"some\"",
        "prompt.tool_search = 1",
    ];
    let names = ["", "-a", "a b"].map(|name| file("").replace("\"x\"", &format!("{name:?}")));
    let schemas = [file("").replace("/v1", "/v2"), "schema = \"cachesim.strategy/v1\"".to_owned()];
    for text in keys.map(file).into_iter().chain(names).chain(schemas) {
        assert!(parse_strategies(&text, "s.toml").is_err(), "{text}");
        assert!(!validator.is_valid(&as_json(&text)), "{text}");
    }
}

proptest! {
    #[test]
    fn no_text_panics_or_gets_through_raw(
        keys in prop::collection::vec("(ttl|markers|keepalive|\"\\\\u001b\")(\\.(main|at|every|limit))?", 1..4),
        value in "(\\PC|\\[|\\]|\"5m\"|\"1h\"|,|\\{|\\}|=|[0-9]|\"\\\\u009b\"){0,12}",
    ) {
        let lines: Vec<String> = keys.iter().map(|key| format!("{key} = {value}")).collect();
        if let Err(error) = parse_strategies(&file(&lines.join("\n")), "s.toml") {
            prop_assert!(!error.to_string().chars().any(char::is_control), "{error}");
        }
    }
}
