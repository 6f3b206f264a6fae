//! Findings of `lint` as SARIF 2.1.0, which code hosts show next to the lines.

use std::io::{self, Write};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;

use super::{dollars, write_document};
use crate::base::{Picodollars, Tokens};
use crate::explain::lint::{Finding, Rule};
use crate::requests::conversation::History;

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

#[derive(Serialize)]
struct Log<'a> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    version: &'static str,
    runs: [SarifRun<'a>; 1],
}

#[derive(Serialize)]
struct SarifRun<'a> {
    tool: SarifTool,
    #[serde(rename = "columnKind")]
    column_kind: &'static str,
    results: Vec<SarifResult<'a>>,
}

#[derive(Serialize)]
struct SarifTool {
    driver: Driver,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Driver {
    name: &'static str,
    semantic_version: &'static str,
    rules: Vec<ReportingDescriptor>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ReportingDescriptor {
    id: &'static str,
    short_description: SarifMessage,
    full_description: SarifMessage,
    default_configuration: SarifConfiguration,
}

#[derive(Serialize)]
struct SarifConfiguration {
    level: &'static str,
}

#[derive(Serialize)]
struct SarifMessage {
    text: String,
}

impl SarifMessage {
    fn new(text: impl Into<String>) -> Self {
        Self { text: text.into() }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SarifResult<'a> {
    rule_id: &'static str,
    rule_index: usize,
    level: &'static str,
    message: SarifMessage,
    locations: [SarifLocation; 1],
    properties: Properties<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SarifLocation {
    physical_location: PhysicalLocation,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PhysicalLocation {
    artifact_location: ArtifactLocation,
    region: Region,
}

#[derive(Serialize)]
struct ArtifactLocation {
    /// Reference as defined by RFC 3986.
    uri: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Region {
    start_line: u64,
}

#[derive(Serialize)]
struct Properties<'a> {
    place: &'a str,
    requests: u64,
    tokens: Tokens,
    cost_usd: Option<Picodollars>,
}

/// Writes the findings as SARIF.
///
/// # Errors
/// Writing to `out` fails.
pub fn write_sarif(
    history: &History,
    findings: &[Finding],
    shows_text: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    let log = Log {
        schema: SCHEMA,
        version: "2.1.0",
        runs: [SarifRun {
            tool: SarifTool {
                driver: Driver {
                    name: "cachesim",
                    semantic_version: env!("CARGO_PKG_VERSION"),
                    rules: Rule::ALL.iter().map(|rule| descriptor(*rule)).collect(),
                },
            },
            column_kind: "unicodeCodePoints",
            results: findings.iter().map(|finding| result(history, finding, shows_text)).collect(),
        }],
    };
    write_document(&log, out)
}

fn descriptor(rule: Rule) -> ReportingDescriptor {
    ReportingDescriptor {
        id: rule.name(),
        short_description: SarifMessage::new(rule.name().replace('-', " ")),
        full_description: SarifMessage::new(rule.explanation()),
        default_configuration: SarifConfiguration { level: rule.severity().name() },
    }
}

/// File name as a relative reference, with reserved characters encoded.
fn uri(label: &str) -> String {
    // RFC 3986 leaves these unreserved; the slash stays for the folders.
    const KEPT: AsciiSet =
        NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');
    utf8_percent_encode(label, &KEPT).to_string()
}

fn result<'a>(history: &'a History, finding: &'a Finding, shows_text: bool) -> SarifResult<'a> {
    let request = history.request(finding.request);
    let lost = match finding.tokens {
        Tokens::ZERO => String::new(),
        tokens => format!(
            " {} tokens {}, {}.",
            tokens.0,
            finding.lost_as(),
            finding.cost.map_or_else(|| "price unknown".to_owned(), |cost| dollars(Some(cost)))
        ),
    };
    let byte = finding.difference.as_ref().map(|difference| format!(" (byte {})", difference.byte));
    let text = format!(
        "{}{}: {}.{lost} {}",
        finding.place,
        byte.unwrap_or_default(),
        finding.shown_detail(shows_text),
        finding.rule.explanation()
    );
    SarifResult {
        rule_id: finding.rule.name(),
        // Every rule is in the list.
        rule_index: Rule::ALL.iter().position(|rule| *rule == finding.rule).unwrap_or(0),
        level: finding.severity().name(),
        message: SarifMessage::new(text),
        locations: [SarifLocation {
            physical_location: PhysicalLocation {
                artifact_location: ArtifactLocation {
                    uri: uri(&history.files[request.file].label),
                },
                region: Region { start_line: request.line },
            },
        }],
        // The format has no fields of its own for these.
        properties: Properties {
            place: &finding.place,
            requests: finding.requests,
            tokens: finding.tokens,
            cost_usd: finding.cost,
        },
    }
}
