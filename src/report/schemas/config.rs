//! Schema of `cachesim.toml`, made from the tables that the parser uses.

use serde_json::{Map, Value, json};

use crate::base::Refusal;
use crate::explain::breaks::Cause;
use crate::explain::budget::{BUDGET_KEYS, BreakKinds, BudgetLevel, Limit, Metric};
use crate::explain::config::{ASSUME, CHECK, ConfigOption, DEFAULTS, SCHEMA, Takes, assumptions};
use crate::explain::lint::{Rule, Severity};
use crate::simulate::strategy::ALL as STRATEGIES;

/// Schema (draft 2020-12) of the TOML document. Dependencies between values, such as that of a limit's unit on the
/// metric, are explained in descriptions and checked by the program.
pub(super) fn config_schema() -> Value {
    let mut defaults = table("Defaults of options, by their names with _ for -.", DEFAULTS);
    defaults["properties"][ASSUME] =
        table("What is assumed of caches, as by --assume.", assumptions());
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:cachesim:config:v1",
        "title": format!("cachesim configuration, {SCHEMA}"),
        "description": "cachesim.toml: defaults of options, what `check` reads, and its budgets.",
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "schema": { "const": SCHEMA },
            "defaults": defaults,
            "check": table("What `check` takes where nothing is typed.", CHECK),
            "budget": {
                "description": "What `check` holds figures against.",
                "type": "array",
                "items": budget(),
            },
        },
    })
}

fn table(description: &str, options: impl IntoIterator<Item = &'static ConfigOption>) -> Value {
    let properties: Map<String, Value> =
        options.into_iter().map(|option| (option.key.to_owned(), value(option.takes))).collect();
    json!({
        "description": description,
        "type": "object",
        "additionalProperties": false,
        "properties": properties,
    })
}

fn value(takes: Takes) -> Value {
    match takes {
        Takes::Word | Takes::Path => json!({ "type": "string" }),
        Takes::Number => json!({ "type": "integer", "minimum": 0 }),
        Takes::Switch => json!({ "type": "boolean" }),
        Takes::Names | Takes::Paths => texts(&json!({ "type": "string" })),
    }
}

/// Schema of one text, or a list of texts.
fn texts(one: &Value) -> Value {
    json!({ "anyOf": [one, { "type": "array", "items": one }] })
}

fn budget() -> Value {
    let properties: Map<String, Value> =
        BUDGET_KEYS.iter().map(|key| ((*key).to_owned(), property(key))).collect();
    let one_limit: Vec<Value> =
        Limit::KEYS.iter().map(|key| json!({ "required": [key] })).collect();
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["metric"],
        "oneOf": one_limit,
        "properties": properties,
    })
}

fn property(key: &str) -> Value {
    let described = |description: &str, mut schema: Value| {
        schema["description"] = json!(description);
        schema
    };
    let text = || json!({ "type": "string" });
    // Amounts with a unit are texts, plain counts are numbers.
    let amount = || json!({ "type": ["string", "integer"], "minimum": 0 });
    match key {
        "name" => {
            described("What it is called in outputs.", json!({ "type": "string", "minLength": 1 }))
        }
        "metric" => {
            let one =
                |metric: Metric| json!({ "const": metric.name, "description": metric.meaning });
            described("The figure.", json!({ "oneOf": Metric::ALL.map(one) }))
        }
        "max" => described(
            "No more than this, as in \"0.80 USD\", \"70 %\", \"150k tokens\", 3.",
            amount(),
        ),
        "min" => described("No less than this.", amount()),
        "max_increase" => described(
            "No more than the baseline and so much: \"7 %\" of it, or an amount; of shares \"2 points\".",
            amount(),
        ),
        "max_decrease" => described("No less than the baseline without so much.", amount()),
        "level" => described(
            "What happens where it is not kept; without it the run fails.",
            json!({ "enum": BudgetLevel::ALL.map(BudgetLevel::name) }),
        ),
        "message" => described("What to say then.", text()),
        "project" => described("Only projects with such names (a pattern with *).", text()),
        "session" => described("Only sessions with such ids (a pattern with *).", text()),
        "model" => described("Only models with such names (a pattern with *).", text()),
        "files" => described("Only files with such paths (a pattern with * and **).", text()),
        "strategy" => {
            let names: Vec<&str> = STRATEGIES.iter().map(|known| known.name.as_ref()).collect();
            described("The strategy whose figures count.", json!({ "enum": names }))
        }
        "causes" => {
            let words = [BreakKinds::EXPECTED, BreakKinds::UNEXPECTED];
            let names: Vec<&str> = words.into_iter().chain(Cause::ALL.map(Cause::name)).collect();
            described("Only breaks of these causes.", texts(&json!({ "enum": names })))
        }
        "severity" => described(
            "Only findings of lint that matter so much or more.",
            json!({ "enum": Severity::ALL.map(Severity::name) }),
        ),
        "listed" => described(
            "Parts, tools and settings that may change without counting, as in \"messages\".",
            texts(&text()),
        ),
        "allow_refused" => described(
            "Reasons for which requests may be refused, which otherwise fails a budget on a cost.",
            texts(&json!({ "enum": Refusal::ALL.map(Refusal::name) })),
        ),
        _ => described(
            "Only findings of these rules of lint.",
            texts(&json!({ "enum": Rule::ALL.map(Rule::name).to_vec() })),
        ),
    }
}
