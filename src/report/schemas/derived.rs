//! Schemas of outputs, derived from the written types: counts, times, exact decimals and objects by name, and words,
//! taken from the definition of each enumeration.

use std::borrow::Cow;
use std::marker::PhantomData;

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use super::config::config_schema;
use super::strategy::strategy_schema;
use super::{MACHINE_FORMATS, MachineFormat};
use crate::base::bounded::{Bounded, Duration};
use crate::base::{Client, Millis, Picodollars, Tokens, Ttl};
use crate::explain::analysis::Grouping;
use crate::explain::blocks::BlockLength;
use crate::explain::breaks::Ground;
use crate::explain::budget::{BudgetLevel, Limit, Metric};
use crate::explain::check::{MatchedBy, PromptChangeKind, Status, UsageFault, Verdict};
use crate::explain::context::ContextKind as ContentKind;
use crate::explain::lint::{Rule, Severity};
use crate::follow::FileChange;
use crate::read::capture::Part as PromptPart;
use crate::read::input::Kind as DiagnosticKind;
use crate::read::input::ServiceTier;
use crate::report::advice::{self, AdviceDocument};
use crate::report::blocks_json::{self, BlocksObject};
use crate::report::breaks_json::{self, BreaksObject};
use crate::report::check_json::{self, CheckObject};
use crate::report::compare_json::{self, CompareObject, StrategyLine};
use crate::report::config_view::{self, ConfigObject};
use crate::report::context_json::{self, ContextObject};
use crate::report::domains::{self, DomainResult};
use crate::report::explain_json::{self, ExplainObject};
use crate::report::fork::{self, ForkObject};
use crate::report::groups::{self, GroupsObject};
use crate::report::json::Versioned;
#[cfg(feature = "redact")]
use crate::report::kept::{self, KeptDocument};
use crate::report::lint::{self, Lint};
use crate::report::part_json::{
    DOMAIN_SCHEMA, DomainListing, Manifest, PART_SCHEMA, Part, RUN_SCHEMA,
};
use crate::report::price_changes::{self, UpdateObject};
use crate::report::prices::{self, PricesObject};
use crate::report::report_json::{self, Report};
use crate::report::rows::Placed;
use crate::report::rows::breaks::{BREAK_SCHEMA, BreakRow};
use crate::report::rows::ledger::{LEDGER_SCHEMA, LedgerRow};
use crate::report::since::{self, ChangeSinceObject};
use crate::report::sources::{self, SourcesObject};
use crate::report::verify_json::{self, VerifyObject};
use crate::report::watch::{self, EventObject};
use crate::report::weights::{self, TokensObject};
use crate::requests::prompt::StepKind;
use crate::simulate::cache::{Reading, Refusal};
use crate::simulate::fork::{Equivalents, VARIANTS, Variant};
use crate::simulate::provider::{self, NotSimulated, Provider};
use crate::simulate::strategy::{Obstacle, Purpose};

type Output = (&'static str, &'static str, fn() -> Schema);

/// Outputs: their names, the value of `schema` in their documents, and the schemas of their types.
#[rustfmt::skip] // an output is a line
const OUTPUTS: &[Output] = &[
    ("report", report_json::SCHEMA, versioned::<Report<'_>>),
    ("groups", groups::SCHEMA, versioned::<GroupsObject<'_>>),
    ("ledger", LEDGER_SCHEMA, derived::<Placed<'_, LedgerRow<'_>>>),
    ("advice", advice::SCHEMA, versioned::<AdviceDocument<'_>>),
    ("change", since::SCHEMA, versioned::<ChangeSinceObject<'_>>),
    ("breaks", breaks_json::SCHEMA, versioned::<BreaksObject<'_>>),
    ("break", BREAK_SCHEMA, derived::<Placed<'_, BreakRow<'_>>>),
    ("domain", DOMAIN_SCHEMA, derived::<DomainListing>),
    ("domain-result", domains::SCHEMA, derived::<DomainResult<'_>>),
    ("part", PART_SCHEMA, derived::<Part>),
    ("run", RUN_SCHEMA, derived::<Manifest>),
    ("check", check_json::SCHEMA, versioned::<CheckObject<'_>>),
    ("compare", compare_json::SCHEMA, versioned::<CompareObject<'_>>),
    ("compare-line", compare_json::SCHEMA, derived::<StrategyLine<'_>>),
    ("explain", explain_json::SCHEMA, versioned::<ExplainObject<'_>>),
    ("context", context_json::SCHEMA, versioned::<ContextObject<'_>>),
    ("blocks", blocks_json::SCHEMA, versioned::<BlocksObject<'_>>),
    ("verify", verify_json::SCHEMA, versioned::<VerifyObject<'_>>),
    ("lint", lint::SCHEMA, versioned::<Lint<'_>>),
    ("tokens", weights::SCHEMA, versioned::<TokensObject<'_>>),
    ("fork", fork::SCHEMA, versioned::<ForkObject<'_>>),
    ("prices", prices::SCHEMA, derived::<PricesObject<'_>>),
    ("prices-update", price_changes::SCHEMA, derived::<UpdateObject<'_>>),
    ("event", watch::SCHEMA, derived::<EventObject<'_>>),
    ("sources", sources::SCHEMA, versioned::<SourcesObject<'_>>),
    ("config-show", config_view::SCHEMA, derived::<ConfigObject<'_>>),
    #[cfg(feature = "redact")]
    ("redact-explain", kept::SCHEMA, derived::<KeptDocument<'_>>),
];

/// Adds the name, title and description of the format.
fn complete(format: &MachineFormat, mut schema: Schema, tag: &str) -> Value {
    schema.insert("$id".to_owned(), json!(format!("urn:cachesim:{}:v1", format.name)));
    schema.insert("title".to_owned(), json!(format!("cachesim {}, {tag}", format.name)));
    let description = format!(
        "What `cachesim {}` writes: {}. Fields and words may be added within this version.",
        format.commands, format.meaning
    );
    schema.insert("description".to_owned(), json!(description));
    let mut schema = schema.to_value();
    if let Some(field) = schema.pointer_mut("/properties/schema") {
        field["const"] = json!(tag);
    }
    schema
}

/// Schema of a document behind its format and version.
fn versioned<T: JsonSchema>() -> Schema {
    derived::<Versioned<'_, T>>()
}

/// Schema of a type as it is written. Fields are required unless they may be left out.
fn derived<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12()
        .for_serialize()
        .with_transform(RecursiveTransform(plain))
        .into_generator()
        .into_root_schema_for::<T>()
}

/// Removes details that only concern Rust: line breaks of comments, the widths of numbers.
pub(super) fn plain(schema: &mut Schema) {
    if let Some(Value::String(text)) = schema.get_mut("description") {
        *text = text.replace('\n', " ");
    }
    // Dates are formats of JSON Schema; `uint64` and the like are Rust's alone.
    let is_text = |format: &Value| format.as_str().is_some_and(|name| name.starts_with("date"));
    if schema.get("format").is_some_and(|format| !is_text(format)) {
        schema.remove("format");
    }
}

impl<U, const LEAST: u64, const MOST: u64> JsonSchema for Bounded<U, LEAST, MOST> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("From{LEAST}To{MOST}").into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": LEAST, "maximum": MOST })
    }
}

impl JsonSchema for Duration {
    fn schema_name() -> Cow<'static, str> {
        "Duration".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"description": "Like 4m30s, 55m or 2h; from 1s to 168h.", "type": "string", "pattern": "^[0-9.][0-9A-Za-z.]*$"})
    }
}

impl JsonSchema for Tokens {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Tokens".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        u64::json_schema(generator)
    }
}

impl JsonSchema for Millis {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Moment".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "date-time" })
    }
}

impl JsonSchema for Picodollars {
    fn schema_name() -> Cow<'static, str> {
        "Dollars".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "An exact decimal number of dollars with up to 12 places, without exponent or trailing zeros.",
            "type": "string",
            "pattern": r"^(0|-?(0|[1-9][0-9]*)\.[0-9]{0,11}[1-9]|-?[1-9][0-9]*)$",
        })
    }
}

impl JsonSchema for Equivalents {
    fn schema_name() -> Cow<'static, str> {
        "Equivalents".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "An exact decimal number of tokens sent in full that cost as much, with up to 6 places, without exponent or trailing zeros.",
            "type": "string",
            "pattern": r"^(0|[1-9][0-9]*)(\.[0-9]{0,5}[1-9])?$",
        })
    }
}

/// An object whose keys are some of the words `K`, and whose values are `V`.
pub(in crate::report) struct Keyed<K, V>(PhantomData<(K, V)>);

impl<K: JsonSchema, V: JsonSchema> JsonSchema for Keyed<K, V> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("{}By{}", V::schema_name(), K::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "propertyNames": generator.subschema_for::<K>(),
            "additionalProperties": generator.subschema_for::<V>(),
        })
    }
}

/// All variants of an enumeration. Missing one does not compile.
macro_rules! every {
    ($type:ident: $($variant:ident $(($value:expr))?),+) => {{
        let _is_exhaustive = |one: $type| match one {
            $($type::$variant { .. } => ()),+
        };
        [$($type::$variant $(($value))?),+]
    }};
}

/// Implements schemas for types that are written as one of some words.
macro_rules! words {
    ($($type:ident as $name:literal: $words:expr;)+) => {$(
        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                $name.into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "enum": $words })
            }
        }
    )+};
}

words! {
    DiagnosticKind as "DiagnosticKind": DiagnosticKind::ALL.map(DiagnosticKind::name).as_slice();
    Rule as "Rule": Rule::ALL.map(Rule::name).as_slice();
    Severity as "Severity": Severity::ALL.map(Severity::name);
    Refusal as "Refusal": Refusal::ALL.map(Refusal::name);
    Purpose as "Purpose": Purpose::ALL.map(Purpose::name);
    Obstacle as "Obstacle": Obstacle::ALL.map(Obstacle::name).as_slice();
    Reading as "Reading": Reading::ALL.map(Reading::name);
    Ttl as "Ttl": Ttl::ALL.map(Ttl::name);
    ServiceTier as "ServiceTier": ServiceTier::ALL.map(ServiceTier::name);
    Ground as "Ground": Ground::ALL.map(Ground::name);
    StepKind as "Step": StepKind::ALL.map(StepKind::name);
    BlockLength as "BlockLength": BlockLength::ALL.map(BlockLength::name).as_slice();
    ContentKind as "ContentKind":
        every!(
            ContentKind: HiddenPrefix, Tools, SystemPrompt, UserText, Media, Files, AgentReports,
            ToolResults(None), Reminders, Commands, Summaries, Answers, Unattributed
        )
        .map(ContentKind::name);
    Grouping as "Grouping": Grouping::ALL.map(Grouping::name).as_slice();
    Variant as "ForkVariant": VARIANTS.map(|variant| variant.name);
    PromptPart as "PromptPart": PromptPart::ALL.map(PromptPart::name).as_slice();
    Metric as "Metric": Metric::ALL.map(|metric| metric.name).as_slice();
    BudgetLevel as "Level": BudgetLevel::ALL.map(BudgetLevel::name);
    Limit as "LimitKind": Limit::KEYS;
    FileChange as "ChangeObject": FileChange::ALL.map(FileChange::name);
    Status as "BudgetStatus": Status::ALL.map(Status::name);
    Verdict as "Verdict": Verdict::ALL.map(Verdict::name);
    MatchedBy as "MatchedBy": MatchedBy::ALL.map(MatchedBy::name);
    UsageFault as "UsageFault": UsageFault::ALL.map(UsageFault::name);
    PromptChangeKind as "PromptChangeKind": PromptChangeKind::ALL.map(PromptChangeKind::name);
    Client as "Source": Client::ALL.map(Client::name);
    NotSimulated as "NotSimulated": NotSimulated::ALL.map(NotSimulated::name);
    Provider as "Provider": provider::ALL.each_ref().map(|provider| provider.name);
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// `CACHESIM_WRITE=schemas` writes the files again.
    #[test]
    fn the_files_are_what_is_derived() {
        let inputs = [("config", config_schema()), ("strategy", strategy_schema())];
        let inputs = inputs.map(|(name, schema)| (name, format!("{schema:#}\n")));
        let derived = OUTPUTS.iter().map(|(name, tag, derive)| {
            let format = MACHINE_FORMATS.iter().find(|format| format.name == *name);
            let schema = complete(format.expect("a format"), derive(), tag);
            (*name, format!("{schema:#}\n"))
        });
        for (name, schema) in derived.chain(inputs) {
            let file = format!("{}/schemas/{name}.schema.json", env!("CARGO_MANIFEST_DIR"));
            if std::env::var("CACHESIM_WRITE").is_ok_and(|what| what == "schemas") {
                fs::write(&file, &schema).expect("written");
            }
            let is_current = fs::read_to_string(&file).is_ok_and(|written| written == schema);
            assert!(
                is_current,
                "schemas/{name}.schema.json: CACHESIM_WRITE=schemas cargo test schemas::"
            );
        }
    }

    #[test]
    fn every_schema_says_which_it_is() {
        for format in &MACHINE_FORMATS {
            let schema: Value = serde_json::from_str(format.schema).expect("JSON");
            assert_eq!(schema["$id"], format!("urn:cachesim:{}:v1", format.name));
            assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
            let title = schema["title"].as_str().expect("a title");
            assert!(title.starts_with(&format!("cachesim {}", format.name)), "{title}");
            assert!(schema["description"].is_string(), "{title}");
        }
    }

    #[test]
    fn names_are_unique() {
        let names: std::collections::BTreeSet<&str> =
            MACHINE_FORMATS.iter().map(|format| format.name).collect();
        assert_eq!(names.len(), MACHINE_FORMATS.len());
    }
}
