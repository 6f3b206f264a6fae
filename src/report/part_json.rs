//! Formats of stored runs: `cachesim.domain/v1`, `cachesim.part/v1` and `cachesim.run/v1`.
//!
//! They list the files of a domain, the rows of a part, and the parts of a run.

use std::io::{self, Write};

use serde::{Deserialize, Serialize};

use super::rows::breaks::BREAK_SCHEMA;
use super::rows::ledger::LEDGER_SCHEMA;
use super::{Inputs, write_document, write_line};
use crate::base::{ByKey, Order as _};
use crate::read::input::Domain;
use crate::simulate::cache::Reading;
use crate::simulate::strategy::Assumptions;

pub(super) const DOMAIN_SCHEMA: &str = "cachesim.domain/v1";
pub(super) const PART_SCHEMA: &str = "cachesim.part/v1";
/// Schema of a manifest.
pub const RUN_SCHEMA: &str = "cachesim.run/v1";

/// Files of a domain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DomainListing {
    /// Format and its version.
    schema: String,
    /// Domain.
    pub domain: String,
    /// Bytes of all its files, as they are stored.
    pub bytes: u64,
    /// Paths of its files below the root, in reading order.
    pub files: Vec<String>,
}

impl DomainListing {
    /// Listing of a domain.
    pub fn of(domain: &Domain) -> Self {
        Self {
            schema: DOMAIN_SCHEMA.to_owned(),
            domain: domain.name.clone(),
            bytes: domain.sources.iter().map(|source| source.size).sum(),
            files: domain.sources.iter().map(|source| source.label.to_string()).collect(),
        }
    }

    /// Reads a line; `None` if it is something else.
    pub fn parse(line: &str) -> Option<Self> {
        let listing: Self = serde_json::from_str(line).ok()?;
        (listing.schema == DOMAIN_SCHEMA).then_some(listing)
    }
}

/// Writes a domain as a line.
///
/// # Errors
/// Writing to `out` fails.
pub fn write_domain(domain: &DomainListing, out: &mut dyn Write) -> io::Result<()> {
    write_line(domain, out)
}

/// File of rows, as it was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PartFile {
    /// Path below the folder for parts.
    pub path: String,
    /// Number of rows.
    pub rows: u64,
    /// Size in bytes.
    pub bytes: u64,
    /// BLAKE2b-256 digest, in hexadecimal digits.
    pub digest: String,
}

/// Settings of the rows. Parts of a run have the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PartSettings {
    /// Version of the program.
    pub tool_version: String,
    /// Table of list prices.
    pub prices: String,
    /// Day on which it was last checked.
    pub prices_as_of: String,
    /// Digest of what each strategy does.
    pub definitions: Vec<String>,
    /// Options of the simulation that are not the default, as on the command line.
    pub options: String,
    /// True if strategies keep the recorded breaks.
    pub keeps_breaks: bool,
    /// Strategies, in the order of the rows of a request.
    pub strategies: Vec<String>,
    /// Digest of the version, the prices, the strategies and the options.
    pub settings: String,
}

/// Rows of one domain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Part {
    /// Format and its version.
    schema: String,
    /// Domain.
    pub domain: String,
    /// Name of the part: a digest of its files and of the settings.
    pub key: String,
    /// Its settings.
    #[serde(flatten)]
    pub settings: PartSettings,
    /// Input read.
    pub inputs: Inputs,
    /// Models without a price, each with its number of requests; their cost is in no sum.
    pub unpriced: ByKey<String, usize>,
    /// Requests under the rules of other services, whose prices are those of the providers.
    pub elsewhere: u64,
    /// Requests that were compared with the ones before them, to find breaks.
    pub compared: u64,
    /// Strategies that can do nothing in the domain and have no rows, each with its obstacles.
    #[cfg_attr(test, schemars(with = "ByKey<String, Vec<crate::simulate::strategy::Obstacle>>"))]
    pub inapplicable: ByKey<String, Vec<String>>,
    /// Rows of the ledger, as cachesim.ledger/v1 has them.
    pub ledger: PartFile,
    /// Breaks, as cachesim.break/v1 has them.
    pub breaks: PartFile,
}

impl Part {
    /// Part of this version.
    pub fn new(
        (domain, key): (&str, &str),
        settings: PartSettings,
        inputs: Inputs,
        [ledger, breaks]: [PartFile; 2],
    ) -> Self {
        let schema = PART_SCHEMA.to_owned();
        let (domain, key) = (domain.to_owned(), key.to_owned());
        Self {
            schema,
            domain,
            key,
            settings,
            inputs,
            unpriced: ByKey::new(),
            elsewhere: 0,
            compared: 0,
            inapplicable: ByKey::new(),
            ledger,
            breaks,
        }
    }

    /// Reads the line of a part; `None` if it is something else.
    pub fn parse(line: &str) -> Option<Self> {
        let part: Self = serde_json::from_str(line).ok()?;
        part.is_real().then_some(part)
    }

    /// Returns true if it has the schema of a part, and counts that can be added to those of other parts.
    fn is_real(&self) -> bool {
        // Every field is named, so that a new count cannot be left unchecked.
        let Inputs { requests, bytes, lines, duplicates, files, skipped } = &self.inputs;
        let counts = [*files, *bytes, *lines, *requests, *duplicates];
        let rows = [self.elsewhere, self.compared, self.ledger.rows, self.breaks.rows];
        let all = counts.iter().chain(&rows).chain(skipped.values()).copied();
        let unpriced = self.unpriced.values().map(|requests| *requests as u64);
        self.schema == PART_SCHEMA && all.chain(unpriced).all(|count| count <= MOST_COUNTED)
    }

    /// Writes the part as a line.
    ///
    /// # Errors
    /// Writing to `out` fails.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        write_line(self, out)
    }

    /// Files of the part, each with the schema of its rows.
    pub fn files(&self) -> [(&PartFile, &'static str); 2] {
        [(&self.ledger, LEDGER_SCHEMA), (&self.breaks, BREAK_SCHEMA)]
    }
}

/// Largest count of a part, so that the counts of all parts can be added up.
// About 16,000 parts of this size still add up in 64 bits.
const MOST_COUNTED: u64 = 1 << 50;

/// Parts that together are a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Manifest {
    /// Format and its version.
    schema: String,
    /// Settings of all parts.
    #[serde(flatten)]
    pub settings: PartSettings,
    /// Requests of all parts.
    pub requests: u64,
    /// Rows of all ledgers.
    pub rows: u64,
    /// Breaks of all parts.
    pub breaks: u64,
    /// Parts, by the names of their domains, byte by byte.
    pub parts: Vec<Part>,
}

impl Manifest {
    /// Run of some parts; `None` without any.
    pub fn of(mut parts: Vec<Part>) -> Option<Self> {
        // Parts may be made in any order, which the manifest must not show.
        parts.order_by(|one, other| one.domain.cmp(&other.domain));
        let settings = parts.first()?.settings.clone();
        Some(Self {
            schema: RUN_SCHEMA.to_owned(),
            settings,
            requests: parts.iter().map(|part| part.inputs.requests).sum(),
            rows: parts.iter().map(|part| part.ledger.rows).sum(),
            breaks: parts.iter().map(|part| part.breaks.rows).sum(),
            parts,
        })
    }

    /// Reads a manifest; `None` if it is something else.
    pub fn parse(text: &str) -> Option<Self> {
        let manifest: Self = serde_json::from_str(text).ok()?;
        let is_real = manifest.parts.iter().all(Part::is_real);
        (manifest.schema == RUN_SCHEMA && !manifest.parts.is_empty() && is_real).then_some(manifest)
    }

    /// Assumptions of its strategies that the settings name; the reading is the literal one.
    pub fn assumptions(&self) -> Assumptions {
        let keeps_breaks = self.settings.keeps_breaks;
        Assumptions { keeps_breaks, reading: Reading::Literal, ..Assumptions::default() }
    }

    /// Models without a price, each with its number of requests in all parts.
    pub fn unpriced(&self) -> ByKey<String, usize> {
        let mut unpriced = ByKey::new();
        for (model, requests) in self.parts.iter().flat_map(|part| &part.unpriced) {
            *unpriced.entry(model.clone()).or_default() += requests;
        }
        unpriced
    }

    /// Returns true if the sums are those of the parts, and the settings those of the first part.
    pub fn adds_up(&self) -> bool {
        Self::of(self.parts.clone()).as_ref() == Some(self)
    }

    /// Writes the manifest as a document.
    ///
    /// # Errors
    /// Writing to `out` fails.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        write_document(self, out)
    }
}
