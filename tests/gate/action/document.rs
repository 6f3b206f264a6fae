//! Actions and workflows as YAML documents. `saphyr` reads them: a whole YAML 1.2 parser in safe Rust
//! (so `on` is a key and not a truth value), maintained, and content with the project's Rust version.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use saphyr::{LoadableYamlNode as _, Scalar, Yaml};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// `action.yml`. Keys that are not here are misspelt.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Action {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) branding: BTreeMap<String, String>,
    pub(crate) inputs: BTreeMap<String, Input>,
    pub(crate) outputs: BTreeMap<String, Output>,
    pub(crate) runs: Runs,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    pub(crate) description: String,
    pub(crate) default: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Output {
    pub(crate) description: String,
    pub(crate) value: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Runs {
    pub(crate) using: String,
    pub(crate) steps: Vec<Step>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Step {
    pub(crate) name: Option<String>,
    pub(crate) id: Option<String>,
    #[serde(rename = "if")]
    pub(crate) condition: Option<String>,
    pub(crate) uses: Option<String>,
    #[serde(default)]
    pub(crate) with: BTreeMap<String, Value>,
    pub(crate) shell: Option<String>,
    #[serde(default)]
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) run: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Workflow {
    pub(crate) name: String,
    pub(crate) on: Value,
    pub(crate) permissions: BTreeMap<String, String>,
    #[serde(rename = "concurrency")]
    _concurrency: Value,
    pub(crate) jobs: BTreeMap<String, Job>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Job {
    #[serde(rename = "runs-on")]
    _runs_on: String,
    pub(crate) permissions: BTreeMap<String, String>,
    pub(crate) steps: Vec<Step>,
}

/// A document of a file, as what it has to be.
pub(crate) fn read<T: DeserializeOwned>(path: &Path) -> T {
    let name = path.display();
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{name}: {error}"));
    let documents = Yaml::load_from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
    let [document] = documents.as_slice() else { panic!("{name}: one document") };
    serde_json::from_value(value(document)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn value(node: &Yaml<'_>) -> Value {
    match node {
        Yaml::Value(Scalar::Null) => Value::Null,
        Yaml::Value(Scalar::Boolean(truth)) => Value::from(*truth),
        Yaml::Value(Scalar::Integer(number)) => Value::from(*number),
        Yaml::Value(Scalar::FloatingPoint(number)) => Value::from(number.into_inner()),
        Yaml::Value(Scalar::String(text)) => Value::from(text.as_ref()),
        Yaml::Sequence(nodes) => nodes.iter().map(value).collect(),
        Yaml::Mapping(entries) => {
            let key = |key: &Yaml<'_>| key.as_str().expect("a key").to_owned();
            let entries = entries.iter().map(|(name, node)| (key(name), value(node)));
            Value::Object(entries.collect())
        }
        other => panic!("{other:?} has no place in such a document"),
    }
}

/// The expressions of a text: what stands between `${{` and `}}`.
pub(crate) fn expressions(text: &str) -> Vec<&str> {
    let parts = text.split("${{").skip(1);
    parts.map(|part| part.split_once("}}").expect("an expression that ends").0.trim()).collect()
}

/// The values that an expression names, such as `inputs.paths`.
pub(crate) fn references(expression: &str) -> Vec<&str> {
    let outside_of_quotes = expression.split('\'').step_by(2);
    let is_part = |character: char| character.is_ascii_alphanumeric() || "_-.".contains(character);
    let words = outside_of_quotes.flat_map(|text| text.split(move |letter| !is_part(letter)));
    words.filter(|word| word.contains('.')).collect()
}

impl Step {
    /// Everything in a step that may hold expressions, but for its script.
    fn texts(&self) -> impl Iterator<Item = &str> {
        let with = self.with.values().filter_map(Value::as_str);
        with.chain(self.env.values().map(String::as_str))
    }

    /// The values that a step names outside of its script, which must name none.
    pub(crate) fn references(&self) -> Vec<&str> {
        let texts = self.texts().flat_map(expressions);
        let conditions = self.condition.iter().map(String::as_str);
        texts.chain(conditions).flat_map(references).collect()
    }
}
