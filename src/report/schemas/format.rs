//! A machine format and its JSON schema: schemas of counts, times, exact decimals and objects by
//! name, and of words, taken from where each enumeration is written.

use std::borrow::Cow;
use std::marker::PhantomData;

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use crate::base::client::Client;
use crate::base::ttl::Ttl;
use crate::base::units::{Millis, Picodollars, Tokens};
use crate::explain::analysis::Grouping;
use crate::explain::blocks::BlockLength;
use crate::explain::breaks::Ground;
use crate::explain::budget::{BudgetLevel, Limit, Metric};
use crate::explain::check::{MatchedBy, PromptChangeKind, Status, UsageFault, Verdict};
use crate::explain::context::ContextKind as ContentKind;
use crate::explain::lint::{Rule, Severity};
use crate::read::capture::Part;
use crate::read::input::Kind as DiagnosticKind;
use crate::read::input::ServiceTier;
use crate::requests::prompt::StepKind;
use crate::simulate::cache::{Reading, Refusal};
use crate::simulate::fork::{Equivalents, VARIANTS, Variant};
use crate::simulate::provider::{self, NotSimulated, Provider};
use crate::simulate::strategy::{Obstacle, Purpose};

/// A format that programs read or write, one version of it.
#[derive(Clone, Copy, Debug)]
pub struct MachineFormat {
    /// The name of its schema.
    pub name: &'static str,
    /// The commands that write it, or, for an input, read it.
    pub commands: &'static str,
    /// What it contains, in one line.
    pub meaning: &'static str,
    source: Source,
}

#[derive(Clone, Copy, Debug)]
enum Source {
    /// The value of `schema` in its documents, and the schema of the type that is written.
    Derived { tag: &'static str, schema: fn() -> Schema },
    /// A schema made from tables.
    Made(fn() -> Value),
    /// The text of a schema.
    Written(&'static str),
}

impl MachineFormat {
    /// A format whose documents are written from `T`, with `tag` in their field `schema`.
    pub(super) const fn output<T: JsonSchema>(
        name: &'static str,
        tag: &'static str,
        commands: &'static str,
        meaning: &'static str,
    ) -> Self {
        let source = Source::Derived { tag, schema: derived::<T> };
        Self { name, commands, meaning, source }
    }

    /// A format that is read, with a schema written by hand.
    pub(super) const fn input(
        name: &'static str,
        commands: &'static str,
        meaning: &'static str,
        schema: &'static str,
    ) -> Self {
        Self { name, commands, meaning, source: Source::Written(schema) }
    }

    /// A format that is read, with a schema made from the tables by which it is read.
    pub(super) const fn made(
        name: &'static str,
        commands: &'static str,
        meaning: &'static str,
        schema: fn() -> Value,
    ) -> Self {
        Self { name, commands, meaning, source: Source::Made(schema) }
    }

    /// The JSON schema (draft 2020-12) as text with a final line break.
    #[must_use]
    pub fn schema(&self) -> String {
        match self.source {
            Source::Written(text) => text.to_owned(),
            Source::Made(schema) => format!("{:#}\n", schema()),
            Source::Derived { tag, schema } => format!("{:#}\n", self.complete(schema(), tag)),
        }
    }

    /// Adds which format it is.
    fn complete(&self, mut schema: Schema, tag: &str) -> Value {
        schema.insert("$id".to_owned(), json!(format!("urn:cachesim:{}:v1", self.name)));
        schema.insert("title".to_owned(), json!(format!("cachesim {}, {tag}", self.name)));
        let description = format!(
            "What `cachesim {}` writes: {}. Fields and words may be added within this version.",
            self.commands, self.meaning
        );
        schema.insert("description".to_owned(), json!(description));
        let mut schema = schema.to_value();
        if let Some(field) = schema.pointer_mut("/properties/schema") {
            field["const"] = json!(tag);
        }
        schema
    }
}

/// Fields are required unless they may be left out.
fn derived<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12()
        .for_serialize()
        .with_transform(RecursiveTransform(plain))
        .into_generator()
        .into_root_schema_for::<T>()
}

/// Removes what only concerns Rust: line breaks of comments, the widths of numbers.
fn plain(schema: &mut Schema) {
    if let Some(Value::String(text)) = schema.get_mut("description") {
        *text = text.replace('\n', " ");
    }
    let is_text = |format: &Value| format.as_str().is_some_and(|name| name.starts_with("date"));
    if schema.get("format").is_some_and(|format| !is_text(format)) {
        schema.remove("format");
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
    Part as "PromptPart": Part::ALL.map(Part::name).as_slice();
    Metric as "Metric": Metric::ALL.map(|metric| metric.name).as_slice();
    BudgetLevel as "Level": BudgetLevel::ALL.map(BudgetLevel::name);
    Limit as "LimitKind": Limit::KEYS;
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
    use serde_json::Value;

    use super::super::MACHINE_FORMATS;

    #[test]
    fn every_schema_says_which_it_is() {
        for format in &MACHINE_FORMATS {
            let schema: Value = serde_json::from_str(&format.schema()).expect("JSON");
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
