//! Prices: the built-in tables against public ones, every step of a price by hand, and updates.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;

use cachesim::base::units::{Millis, Picodollars, Tokens};
use cachesim::read::input::{PriceTier, ServiceTier};
use cachesim::simulate::pricing::{PriceContext, PriceTable, Rates};
use serde_json::Value;

use crate::common::{cachesim, project, shared, text, utf8};

/// A Thursday: at two o'clock it is peak time for `DeepSeek`, at noon it is not.
const PEAK: &str = "2026-11-12T02:00:00Z";
const NOON: &str = "2026-11-12T12:00:00Z";

type Public = BTreeMap<String, Value>;

fn public_table(name: &str) -> Option<Public> {
    let text = fs::read_to_string(shared(name)?).expect("a table");
    Some(serde_json::from_str(&text).expect("JSON"))
}

fn at(time: &str) -> Millis {
    let time: jiff::Timestamp = time.parse().expect("a time");
    Millis::new(time.as_millisecond())
}

/// What a table makes of a request, wherever its model is called.
fn price(model: &str, time: &str, prompt: u64, service: ServiceTier) -> Option<Rates> {
    let tier = PriceTier { service, us_only: false };
    let context = PriceContext { model, at: at(time), prompt: Tokens(prompt), tier };
    let built_in = PriceTable::built_in();
    built_in.rates(&context).or_else(|| PriceTable::of_providers().rates(&context))
}

/// The fields of LiteLLM's, and the class of tokens that each prices.
const CLASSES: [(&str, &str); 6] = [
    ("input_cost_per_token", "input"),
    ("output_cost_per_token", "output"),
    ("cache_read_input_token_cost", "read"),
    ("cache_creation_input_token_cost", "write"),
    ("cache_creation_input_token_cost_above_1hr", "write 1h"),
    ("cache_creation_input_token_cost_above_12hr", "write 12h"),
];

/// The endings of fields for tiers.
const TIERS: [(&str, ServiceTier); 5] = [
    ("", ServiceTier::Standard),
    ("_batches", ServiceTier::Batch),
    ("_flex", ServiceTier::Flex),
    ("_priority", ServiceTier::Fast),
    ("_ultrafast", ServiceTier::Ultrafast),
];

/// Prompt sizes above which LiteLLM has other prices.
const SIZES: [(&str, u64); 5] = [
    ("", 1),
    ("_above_100k_tokens", 100_001),
    ("_above_200k_tokens", 200_001),
    ("_above_272k_tokens", 272_001),
    ("_above_512k_tokens", 512_001),
];

fn of_class(rates: &Rates, class: &str) -> Option<Picodollars> {
    match class {
        "input" => Some(rates.input),
        "output" => Some(rates.output),
        "read" => Some(rates.cache_read),
        "write" => Some(rates.cache_write_5m),
        "write 1h" => Some(rates.cache_write_1h),
        _ => rates.cache_write_12h,
    }
}

fn picodollars(value: &Value) -> Option<Picodollars> {
    #[allow(clippy::cast_possible_truncation)] // prices are small
    value.as_f64().map(|dollars| Picodollars((dollars * 1e12).round() as i128))
}

/// A price that the tables do not agree on: the model, what the price is of, ours, and theirs.
type Disagreement = (String, String, Option<i128>, i128);

/// Every price of a model in the other table that is another one here.
fn disagreements(name: &str, entry: &Value, time: &str) -> Vec<Disagreement> {
    let mut found = Vec::new();
    for (tier_name, tier) in TIERS {
        for (size_name, prompt) in SIZES {
            let Some(ours) = price(name, time, prompt, tier) else { continue };
            for (field, class) in CLASSES {
                let field = format!("{field}{size_name}{tier_name}");
                let Some(theirs) = picodollars(&entry[&field]) else { continue };
                let of_class = of_class(&ours, class);
                if of_class != Some(theirs) {
                    let of = format!("{class}{size_name}{tier_name}");
                    found.push((name.to_owned(), of, of_class.map(|price| price.0), theirs.0));
                }
            }
        }
    }
    found
}

/// Where LiteLLM has models of their makers, and Claude on other platforms.
const PROVIDERS: [&str; 12] = [
    "anthropic",
    "openai",
    "deepseek",
    "gemini",
    "vertex_ai-language-models",
    "vertex_ai-anthropic_models",
    "bedrock",
    "bedrock_converse",
    "moonshot",
    "zai",
    "xai",
    "dashscope",
];

fn is_compared(name: &str, entry: &Value) -> bool {
    let provider = entry["litellm_provider"].as_str().unwrap_or_default();
    let is_text = matches!(entry["mode"].as_str(), Some("chat" | "responses"));
    let is_of_makers = !provider.starts_with("bedrock") || name.contains("claude");
    PROVIDERS.contains(&provider) && is_text && is_of_makers
}

/// Why a price of LiteLLM's of 2026-11-12 is another one here: the beginning of the model's name or all of
/// it, what the price is of, or its beginning, and the reason.
#[rustfmt::skip] // a reason is a line
const REASONS: &[(&str, &str, &str)] = &[
    ("anthropic.claude-3-7-sonnet-20240620", "", "there is no such model: the day is that of Sonnet 3.5, the price GovCloud's"),
    ("anthropic.claude-sonnet-4", "", LONG_ELSEWHERE),
    ("apac.anthropic.claude-sonnet-4", "", LONG_ELSEWHERE),
    ("au.anthropic.claude-sonnet-4", "", LONG_ELSEWHERE),
    ("eu.anthropic.claude-sonnet-4", "", LONG_ELSEWHERE),
    ("global.anthropic.claude-sonnet-4", "", LONG_ELSEWHERE),
    ("jp.anthropic.claude-sonnet-4", "", LONG_ELSEWHERE),
    ("us.anthropic.claude-sonnet-4", "", LONG_ELSEWHERE),
    ("us-gov.anthropic.claude-sonnet-4", "", LONG_ELSEWHERE),
    ("claude-sonnet-4-5-20250929-v1:0", "", LONG_ELSEWHERE),
    ("vertex_ai/claude-sonnet-4-5", "", LONG_ELSEWHERE),
    ("vertex_ai/claude-sonnet-4-6", "write_batches", "1.875 is rounded to 1.88"),
    ("vertex_ai/claude-3-5-haiku", "", "the price before Haiku 3.5 was made cheaper"),
    ("vertex_ai/claude-opus-5-5", "", "half of the price of Opus 5; everywhere else a batch costs half of its own"),
    ("dashscope/deepseek", "", "Alibaba's own price for a model of DeepSeek's"),
    ("dashscope/glm", "", "Alibaba's own price for a model of Zhipu's"),
    ("dashscope/qwen", "write", "writes of the cache with markers, which is `qwen-explicit` here"),
    ("deepseek", "write", NOT_CHARGED),
    ("zai/", "write", NOT_CHARGED),
    ("gemini-", "write_above_200k", "a price of storage, and only of long prompts; the implicit cache charges none"),
    ("gemini/gemini-3.5-flash", "read_", "0.075, 0.015 and 0.054 are rounded to hundredths"),
    ("gpt-5.4", "read_batches", "0.125 is rounded to 0.13"),
    ("gpt-5.4", "read_flex", "0.125 is rounded to 0.13"),
];

const LONG_ELSEWHERE: &str = "the Claude API ended the prices of long prompts on 2026-04-30; the table keeps them for \
    Bedrock and Google Cloud, whose pages were not read";

const NOT_CHARGED: &str =
    "zero stands for writes that have no price of their own: they cost what input does";

/// Models that LiteLLM prices with a discount for reads and that have no price here, and why.
#[rustfmt::skip] // a reason is a line
const MISSING: &[(&str, &str)] = &[
    ("claude-mythos-preview", "10 dollars for input by one row, 25 by others; it ended on 2026-06-09"),
    ("ft:", "fine-tuned models have names of their own"),
    ("-search-", "for searches"),
    ("-tts", "for speech"),
    ("robotics", "for robots"),
    ("deep-research-", "an agent, not a model"),
    ("-latest", "a name that moves from model to model"),
    ("gemini-exp", "an experiment that ended"),
    ("preview-09-2025", "a preview that ended"),
    ("-beta", "a preview of Grok 4.20"),
    ("-gv2", "a preview of Grok 4.20"),
    ("-0825", "a name of Grok Code Fast with its month and day"),
    ("-cyber", "for invited customers"),
    ("deepseek-v3", "a name that ended"),
    ("deepseek-v4-flash-0731", "a name of Alibaba's"),
    ("glm-4.7-flash", "free of charge"),
];

#[test]
fn prices_differ_from_the_public_table_for_known_reasons_alone() {
    let Some(public) = public_table("prices/litellm-2026-11-12.json") else { return };
    let mut compared = 0;
    let mut unexplained = String::new();
    let mut used = BTreeSet::new();
    for (name, entry) in public.iter().filter(|(name, entry)| is_compared(name, entry)) {
        if price(name, NOON, 1, ServiceTier::Standard).is_none() {
            continue;
        }
        compared += 1;
        let mut found = disagreements(name, entry, PEAK);
        if !entry["off_peak_pricing"].is_null() {
            found.extend(disagreements(name, &entry["off_peak_pricing"], NOON));
        }
        for (name, of, ours, theirs) in found {
            let reason = REASONS
                .iter()
                .position(|(model, class, _)| name.starts_with(model) && of.starts_with(class));
            match reason {
                Some(reason) => {
                    used.insert(reason);
                }
                None => {
                    let _ = writeln!(unexplained, "{name}: {of}: {ours:?} here, {theirs} there");
                }
            }
        }
    }
    assert_eq!(unexplained, "");
    let idle: Vec<_> = (0..REASONS.len())
        .filter(|place| !used.contains(place))
        .map(|place| REASONS[place])
        .collect();
    assert!(idle.is_empty(), "reasons for nothing: {idle:?}");
    assert!(compared > 150, "{compared}");
}

#[test]
fn models_of_the_public_table_are_priced_or_left_out_for_a_reason() {
    let Some(public) = public_table("prices/litellm-2026-11-12.json") else { return };
    let mut used = BTreeSet::new();
    let mut missing = String::new();
    for (name, entry) in public.iter().filter(|(name, entry)| is_compared(name, entry)) {
        let caches = picodollars(&entry["cache_read_input_token_cost"]).is_some();
        if !caches || price(name, NOON, 1, ServiceTier::Standard).is_some() {
            continue;
        }
        match MISSING.iter().position(|(known, _)| name.contains(known)) {
            Some(place) => {
                used.insert(place);
            }
            None => {
                let _ = writeln!(missing, "{name}");
            }
        }
    }
    assert_eq!(missing, "");
    assert_eq!(used.len(), MISSING.len(), "{used:?}");
}

#[track_caller]
fn assert_price(
    (model, time): (&str, &str),
    (prompt, tier): (u64, ServiceTier),
    [input, write, read, output]: [i128; 4],
) {
    let rates = price(model, time, prompt, tier).expect("a price");
    let found = [rates.input, rates.cache_write_5m, rates.cache_read, rates.output];
    assert_eq!(found.map(|price| price.0), [input, write, read, output], "{model} at {time}");
}

/// From the announcements that `models/` names, in picodollars a token.
#[test]
fn every_step_of_a_price_holds_from_its_first_moment_on() {
    use ServiceTier::{Batch, Fast, Flex, Standard, Ultrafast};
    let long = 272_001;
    let sol = |day| ("gpt-5.6-sol", day);
    assert_price(
        sol("2026-08-20T23:59:59Z"),
        (1, Standard),
        [5_000_000, 6_250_000, 500_000, 30_000_000],
    );
    assert_price(
        sol("2026-08-21T00:00:00Z"),
        (1, Standard),
        [4_000_000, 5_000_000, 400_000, 20_000_000],
    );
    assert_price(sol(NOON), (272_000, Standard), [4_000_000, 5_000_000, 400_000, 20_000_000]);
    assert_price(sol(NOON), (long, Standard), [8_000_000, 10_000_000, 800_000, 30_000_000]);
    assert_price(sol(NOON), (long, Fast), [16_000_000, 20_000_000, 1_600_000, 60_000_000]);
    assert_price(sol(NOON), (1, Flex), [2_000_000, 2_500_000, 200_000, 10_000_000]);
    assert_price(sol(NOON), (1, Batch), [2_000_000, 2_500_000, 200_000, 10_000_000]);
    // Sol has no ultrafast tier, Astra has.
    assert_price(sol(NOON), (1, Ultrafast), [4_000_000, 5_000_000, 400_000, 20_000_000]);
    assert_price(
        ("gpt-6-astra", NOON),
        (1, Ultrafast),
        [60_000_000, 75_000_000, 6_000_000, 300_000_000],
    );
    assert_price(
        ("gpt-5.6-luna", "2026-07-29T23:59:59Z"),
        (1, Standard),
        [1_000_000, 1_250_000, 100_000, 6_000_000],
    );
    assert_price(
        ("gpt-5.6-luna", "2026-07-30T00:00:00Z"),
        (1, Standard),
        [200_000, 250_000, 20_000, 1_200_000],
    );
    assert_price(
        ("gpt-5.6-terra", "2026-07-29T23:59:59Z"),
        (1, Standard),
        [2_500_000, 3_125_000, 250_000, 15_000_000],
    );
    // Batches of Gemini 2.5 leave the price of reads alone.
    assert_price(
        ("gemini-2.5-pro", NOON),
        (200_001, Batch),
        [1_250_000, 1_250_000, 250_000, 7_500_000],
    );
    assert_price(
        ("gemini-4-argon", "2026-11-30T23:59:59Z"),
        (1, Standard),
        [2_000_000, 2_000_000, 100_000, 10_000_000],
    );
    assert_price(
        ("gemini-4-argon", "2026-12-01T00:00:00Z"),
        (1, Standard),
        [4_000_000, 4_000_000, 200_000, 20_000_000],
    );
    // The long tier of xAI begins at 200,000, of Google above it.
    assert_price(
        ("grok-4.7", NOON),
        (199_999, Standard),
        [2_000_000, 2_000_000, 500_000, 6_000_000],
    );
    assert_price(
        ("grok-4.7", NOON),
        (200_000, Standard),
        [4_000_000, 4_000_000, 1_000_000, 12_000_000],
    );
    assert_price(
        ("gemini-2.5-pro", NOON),
        (200_000, Standard),
        [1_250_000, 1_250_000, 125_000, 10_000_000],
    );
    assert_price(
        ("claude-fable-5-2", NOON),
        (1, Fast),
        [16_000_000, 20_000_000, 400_000, 80_000_000],
    );
    assert_price(
        ("us-gov.anthropic.claude-opus-5-5", NOON),
        (1, Standard),
        [4_800_000, 6_000_000, 240_000, 24_000_000],
    );
    assert_price(
        ("bedrock/us-gov-west-1/anthropic.claude-opus-5-5", NOON),
        (1, Standard),
        [4_800_000, 6_000_000, 240_000, 24_000_000],
    );
    let lifetimes = |model, time| {
        let rates = price(model, time, 1, Standard).expect("a price");
        (rates.cache_write_5m.0, rates.cache_write_1h.0, rates.cache_write_12h.map(|price| price.0))
    };
    assert_eq!(lifetimes("gpt-6.1-terra", NOON), (1_250_000, 1_250_000, Some(2_500_000)));
    assert_eq!(lifetimes("kimi-k3", "2026-10-14T23:59:59Z"), (3_000_000, 3_000_000, None));
    assert_eq!(lifetimes("kimi-k3", "2026-10-15T00:00:00Z"), (3_000_000, 6_000_000, None));
}

/// A folder of the user's in which `prices update` writes.
struct User {
    folder: tempfile::TempDir,
}

impl User {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a folder") }
    }

    fn run(&self, arguments: &[&str]) -> (bool, String, String) {
        let mut command = cachesim();
        command.env_remove("CACHESIM_NO_CONFIG").env("XDG_CONFIG_HOME", self.folder.path());
        command.current_dir(self.folder.path());
        let output = command.args(arguments).output().expect("the program runs");
        (output.status.success(), text(&output.stdout), text(&output.stderr))
    }

    fn stdout(&self, arguments: &[&str]) -> String {
        let (is_successful, stdout, stderr) = self.run(arguments);
        assert!(is_successful, "{arguments:?}: {stderr}");
        stdout
    }

    fn write(&self, name: &str, content: &str) -> String {
        let path = self.folder.path().join(name);
        fs::write(&path, content).expect("a file");
        utf8(&path).to_owned()
    }

    fn written(&self) -> String {
        let path = self.folder.path().join("cachesim/prices.toml");
        fs::read_to_string(path).unwrap_or_default()
    }

    /// What a model costs on a day: input, read, output.
    fn shown(&self, model: &str, day: &str) -> Vec<[String; 3]> {
        let shown = self.stdout(&["prices", "show", model, "--at", day, "--json"]);
        let shown: Value = serde_json::from_str(&shown).expect("JSON");
        let rates = shown["models"][0]["rates"].as_array().expect("rates").iter();
        let price = |rate: &Value, class: &str| {
            rate[format!("{class}_usd_per_mtok")].as_str().expect("a price").to_owned()
        };
        rates
            .map(|rate| ["input", "cache_read", "output"].map(|class| price(rate, class)))
            .collect()
    }
}

/// Sol is cheaper, Luna's batches cost more than half, Terra is the same, and there are two new models and one of
/// a service whose cache is not known.
const LITELLM: &str = include_str!("prices/litellm.json");

#[test]
fn an_update_holds_from_its_day_on_and_keeps_the_past() {
    let user = User::new();
    let file = user.write("litellm.json", LITELLM);
    let update = ["prices", "update", "--from", &file, "--at", "2026-11-25"];
    let dry = user.stdout(&[&update[..], &["--dry-run"]].concat());
    assert!(dry.contains("2 models with other prices, 2 new, 1 with the same."), "{dry}");
    assert!(dry.contains("Nothing is written.") && user.written().is_empty(), "{dry}");

    let shown = user.stdout(&update);
    for (line, cells) in [
        ("gpt-5.6-sol   input", ["4", "3", "-25 %"]),
        ("gpt-5.6-sol   output", ["20", "15", "-25 %"]),
        ("gpt-5.6-luna  input", ["0.1", "0.16", "+60 %"]),
    ] {
        let found = shown.lines().find(|shown| shown.starts_with(line)).expect(line);
        let words: Vec<&str> = found.split_whitespace().collect();
        assert!(
            cells.iter().all(|cell| cell.split(' ').all(|word| words.contains(&word))),
            "{found}"
        );
    }
    assert!(shown.contains("grok-9") && !shown.contains("gemini-9") && !shown.contains("unknown"));

    // Before the day nothing changes; long prompts, of which the file says nothing, keep their price.
    let price = |cells: [&str; 3]| cells.map(str::to_owned);
    let sol = |day| user.shown("gpt-5.6-sol", day);
    assert_eq!(sol("2026-11-24"), [price(["4", "0.4", "20"]), price(["8", "0.8", "30"])]);
    assert_eq!(sol("2026-11-25"), [price(["8", "0.8", "30"]), price(["3", "0.3", "15"])]);
    assert_eq!(sol("2026-08-20"), [price(["5", "0.5", "30"]), price(["10", "1", "45"])]);
    assert_eq!(user.shown("grok-9", "2026-01-01"), [price(["1", "0.1", "2"])]);
    let by_hour = [price(["2", "0.2", "8"]), price(["1", "0.1", "4"])];
    assert_eq!(user.shown("kimi-9", "2026-01-01"), by_hour);

    // The same file again changes nothing, and what was written stays.
    let before = user.written();
    let again = user.stdout(&update);
    assert!(again.contains("No price differs"), "{again}");
    assert_eq!(user.written(), before);
    // A later file replaces what it tells of, and keeps the rest.
    let cheaper = LITELLM.replace("3e-06", "2e-06").replace("1.5e-05", "1e-05");
    let file = user.write("later.json", &cheaper);
    user.stdout(&["prices", "update", "--from", &file, "--at", "2026-12-01"]);
    assert_eq!(sol("2026-11-30"), [price(["8", "0.8", "30"]), price(["3", "0.3", "15"])]);
    assert_eq!(sol("2026-12-01")[1], price(["2", "0.3", "10"]));
    assert_eq!(user.shown("grok-9", "2026-12-01"), [price(["1", "0.1", "2"])]);
}

#[test]
fn written_prices_are_the_last_that_count() {
    let user = User::new();
    let file = user.write("litellm.json", LITELLM);
    user.stdout(&["prices", "update", "--from", &file, "--at", "2026-11-25"]);
    let shown = user.stdout(&["config", "show"]);
    assert!(shown.contains("cachesim/prices.toml"), "{shown}");
    let sol = |arguments: &[&str]| {
        let all = [&["prices", "show", "gpt-5.6-sol", "--at", "2026-11-25"], arguments].concat();
        user.stdout(&all)
    };
    assert!(sol(&[]).contains("litellm"));
    assert!(!sol(&["--no-config"]).contains("litellm"));
    let other = user.write(
        "mine.toml",
        "schema = \"cachesim.prices/v1\"\nid = \"mine\"\nas_of = \"2026-11-01\"\n",
    );
    assert!(!sol(&["--prices", &other]).contains("litellm"));
}

#[test]
fn an_update_touches_no_file_of_somebody_elses() {
    let user = User::new();
    let file = user.write("litellm.json", LITELLM);
    let mine = user.write("mine.toml", "# my prices\n");
    let (is_successful, _, error) =
        user.run(&["prices", "update", "--from", &file, "--at", "2026-11-25", "--to", &mine]);
    assert!(!is_successful && error.contains("stays as it is"), "{error}");
    assert_eq!(fs::read_to_string(&mine).expect("a file"), "# my prices\n");
    let (is_successful, _, error) = user.run(&["prices", "update", "--from", &mine]);
    assert!(!is_successful && error.contains("neither LiteLLM's nor genai-prices'"), "{error}");
    let (is_successful, _, error) = user.run(&["prices", "update", "--from", "missing.json"]);
    assert!(!is_successful && error.contains("missing.json"), "{error}");
}

/// Of two updates each has its hours, although both call them the same; and what no command could read is not
/// written.
#[test]
fn what_is_written_can_be_read_and_says_the_same() {
    let user = User::new();
    let table = |hours: &str| {
        format!(
            r#"{{"deepseek-v4-pro": {{"input_cost_per_token": 1.32e-06, "output_cost_per_token": 3.96e-06, "cache_read_input_token_cost": 4.4e-08,
                "off_peak_pricing": {{"input_cost_per_token": 6.6e-07, "output_cost_per_token": 1.98e-06, "windows": [{{"hours_utc": "{hours}"}}]}}}}}}"#
        )
    };
    for (name, hours, day) in
        [("a.json", "10:00-20:00", "2026-11-12"), ("b.json", "12:00-13:00", "2026-11-20")]
    {
        let file = user.write(name, &table(hours));
        user.stdout(&["prices", "update", "--from", &file, "--at", day]);
    }
    let file: toml::Table = user.written().parse().expect("TOML");
    let hours = file["hours"].as_array().expect("hours").iter();
    let windows: Vec<String> = hours.map(|hours| hours["utc"][0].to_string()).collect();
    assert!(windows.contains(&"\"10:00-20:00\"".to_owned()), "{windows:?}");
    assert!(windows.contains(&"\"12:00-13:00\"".to_owned()), "{windows:?}");

    let before = user.written();
    let odd = user.write(
        "odd.json",
        r#"{"claude-x-9": {"input_cost_per_token": 600, "cache_creation_input_token_cost": 650, "output_cost_per_token": 700}}"#,
    );
    let (is_successful, _, error) =
        user.run(&["prices", "update", "--from", &odd, "--at", "2026-11-25"]);
    assert!(!is_successful && error.contains("claude-x-9"), "{error}");
    assert_eq!(user.written(), before);
}

/// Claude alone has regions.
#[test]
fn a_platform_changes_no_price_of_others() {
    let user = User::new();
    let file = user.write("litellm.json", LITELLM);
    user.stdout(&["prices", "update", "--from", &file, "--at", "2026-11-25"]);
    let rollout = project("fixtures/agent-codex-tiers");
    let cost = |platform: &str| {
        let all = ["analyze", utf8(&rollout), "--json", "-q", "--platform", platform];
        let report: Value = serde_json::from_str(&user.stdout(&all)).expect("JSON");
        report["totals"]["billed"]["cost_usd"].as_str().expect("a cost").to_owned()
    };
    assert_eq!((cost("auto").as_str(), cost("government").as_str()), ("2.69", "2.69"));
}

#[test]
fn hours_and_days_survive_being_written() {
    let user = User::new();
    let genai = r#"[{"id": "deepseek", "models": [{"id": "deepseek-v4-pro", "prices": [
        {"prices": {"input_mtok": 0.5, "cache_read_mtok": 0.02, "output_mtok": 2}},
        {"constraint": {"start_date": "2027-01-01"}, "prices": {"input_mtok": 0.4, "cache_read_mtok": 0.02, "output_mtok": 2}},
        {"constraint": {"start_time": "22:00:00Z", "end_time": "02:00:00Z"}, "prices": {"input_mtok": 1, "cache_read_mtok": 0.04, "output_mtok": 4}}]}]}]"#;
    let file = user.write("data.json", genai);
    user.stdout(&["prices", "update", "--from", &file, "--at", "2026-11-25"]);
    let cost = |at: &str| {
        let session = include_str!("../../fixtures/agent-pi-peak-hours/session.jsonl");
        let mut lines = session.lines();
        let head = lines.next().expect("a line");
        let moment: jiff::Timestamp = at.parse().expect("a time");
        let turn: Vec<String> = lines
            .take(2)
            .map(|line| {
                let mut line: Value = serde_json::from_str(line).expect("JSON");
                line["timestamp"] = at.into();
                line["message"]["timestamp"] = moment.as_millisecond().into();
                line.to_string()
            })
            .collect();
        let path =
            user.write("session.jsonl", &[&[head.to_owned()][..], &turn].concat().join("\n"));
        let report = user.stdout(&["analyze", &path, "--json", "-q"]);
        let report: Value = serde_json::from_str(&report).expect("JSON");
        report["totals"]["billed"]["cost_usd"].as_str().expect("a cost").to_owned()
    };
    // 100,000 tokens of input and 10,000 of output.
    assert_eq!(cost("2026-11-24T12:00:00Z"), "0.0858");
    assert_eq!(cost("2026-11-25T12:00:00Z"), "0.07");
    assert_eq!(cost("2026-11-25T22:00:00Z"), "0.14");
    assert_eq!(cost("2026-11-26T01:59:59Z"), "0.14");
    assert_eq!(cost("2026-11-26T02:00:00Z"), "0.07");
    assert_eq!(cost("2027-01-01T12:00:00Z"), "0.06");
}

/// The largest size there is has nothing above it.
#[test]
fn sizes_beyond_all_reason_overflow_nothing() {
    let user = User::new();
    let largest = u64::MAX;
    let genai = format!(
        r#"[{{"id": "openai", "models": [{{"id": "gpt-5.5", "prices": {{
            "input_mtok": {{"base": 4, "tiers": [{{"start": {largest}, "price": 8}}]}},
            "output_mtok": {{"base": 9, "tiers": [{{"start": {largest}, "price": 18}}]}}}}}}]}}]"#
    );
    let file = user.write("data.json", &genai);
    let shown = user.stdout(&["prices", "update", "--from", &file, "--at", "2026-11-25"]);
    assert!(shown.contains("1 model with other prices"), "{shown}");
    assert!(user.stdout(&["prices", "show", "gpt-5.5"]).contains("18,446,744,073,709,551,615"));
}
