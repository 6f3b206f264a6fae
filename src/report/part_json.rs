//! `cachesim.domain/v1`, the files of a domain, `cachesim.part/v1`, what its rows are, and `cachesim.run/v1`, which
//! parts are a run.

use std::collections::BTreeMap;
use std::io::{self, Write};

#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::inputs::Inputs;
use super::json::{write_document, write_line};
use super::rows::breaks::BREAK_SCHEMA;
use super::rows::ledger::LEDGER_SCHEMA;
use crate::base::order::Order as _;
use crate::read::input::Domain;
use crate::simulate::cache::Reading;
use crate::simulate::strategy::Assumptions;

pub(super) const DOMAIN_SCHEMA: &str = "cachesim.domain/v1";
pub(super) const PART_SCHEMA: &str = "cachesim.part/v1";
/// The schema of a manifest.
pub const RUN_SCHEMA: &str = "cachesim.run/v1";

/// The files of a domain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct DomainListing {
    /// The format and its version.
    schema: String,
    /// The domain.
    pub domain: String,
    /// The bytes of all its files, as they are stored.
    pub bytes: u64,
    /// The paths of its files below the root, in the order in which they are read.
    pub files: Vec<String>,
}

impl DomainListing {
    /// The listing of a domain.
    #[must_use]
    pub fn of(domain: &Domain) -> Self {
        Self {
            schema: DOMAIN_SCHEMA.to_owned(),
            domain: domain.name.clone(),
            bytes: domain.sources.iter().map(|source| source.size).sum(),
            files: domain.sources.iter().map(|source| source.label.to_string()).collect(),
        }
    }

    /// Reads a line. `None` where it is something else.
    #[must_use]
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

/// A file of rows, as it was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct PartFile {
    /// Its path below the folder for parts.
    pub path: String,
    /// How many rows it has.
    pub rows: u64,
    /// Its size in bytes.
    pub bytes: u64,
    /// Its BLAKE2b-256 digest, in hexadecimal digits.
    pub digest: String,
}

/// By what rows were made. Parts of a run have the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct PartSettings {
    /// The version of the program.
    pub tool_version: String,
    /// The table of list prices.
    pub prices: String,
    /// The day on which it was last checked.
    pub prices_as_of: String,
    /// A digest of what each of them does.
    pub definitions: Vec<String>,
    /// The options of the simulation that are not the default, as on the command line.
    pub options: String,
    /// Whether strategies keep the recorded breaks.
    pub keeps_breaks: bool,
    /// The strategies, in the order of the rows of a request.
    pub strategies: Vec<String>,
    /// A digest of the version, the prices, the strategies and the options.
    pub settings: String,
}

/// The rows of one domain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Part {
    /// The format and its version.
    schema: String,
    /// The domain.
    pub domain: String,
    /// What the part is called by: a digest of its files and of the settings.
    pub key: String,
    /// By what it was made.
    #[serde(flatten)]
    pub settings: PartSettings,
    /// What it was made of.
    pub inputs: Inputs,
    /// Models without a price, each with how many requests it has; their cost is in no sum.
    pub unpriced: BTreeMap<String, usize>,
    /// Requests under the rules of other services, whose prices are those of the providers.
    pub elsewhere: u64,
    /// Requests that were compared with the ones before them, to find breaks.
    pub compared: u64,
    /// The strategies that can do nothing in the domain and have no rows, each with its obstacles.
    #[cfg_attr(
        test,
        schemars(with = "BTreeMap<String, Vec<crate::simulate::strategy::Obstacle>>")
    )]
    pub inapplicable: BTreeMap<String, Vec<String>>,
    /// The rows of the ledger, as cachesim.ledger/v1 has them.
    pub ledger: PartFile,
    /// The breaks, as cachesim.break/v1 has them.
    pub breaks: PartFile,
}

impl Part {
    /// A part of this version.
    #[must_use]
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
            unpriced: BTreeMap::new(),
            elsewhere: 0,
            compared: 0,
            inapplicable: BTreeMap::new(),
            ledger,
            breaks,
        }
    }

    /// Reads the line of a part. `None` where it is something else.
    #[must_use]
    pub fn parse(line: &str) -> Option<Self> {
        let part: Self = serde_json::from_str(line).ok()?;
        part.is_real().then_some(part)
    }

    /// Whether it says that it is a part, and its counts can be added to those of others.
    fn is_real(&self) -> bool {
        let Inputs { requests, bytes, lines, duplicates, files, skipped } = &self.inputs;
        let counts = [*files, *bytes, *lines, *requests, *duplicates];
        let rows = [self.elsewhere, self.compared, self.ledger.rows, self.breaks.rows];
        let all = counts.iter().chain(&rows).chain(skipped.values()).copied();
        let unpriced = self.unpriced.values().map(|requests| *requests as u64);
        self.schema == PART_SCHEMA && all.chain(unpriced).all(|count| count <= MOST_COUNTED)
    }

    /// Writes it as a line.
    ///
    /// # Errors
    /// Writing to `out` fails.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        write_line(self, out)
    }

    /// Its files, each with the schema of its rows.
    #[must_use]
    pub fn files(&self) -> [(&PartFile, &'static str); 2] {
        [(&self.ledger, LEDGER_SCHEMA), (&self.breaks, BREAK_SCHEMA)]
    }
}

/// No part has more of anything that is counted, so that those of all can be added up.
const MOST_COUNTED: u64 = 1 << 50;

/// The parts that together are a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Manifest {
    /// The format and its version.
    schema: String,
    /// By what all parts were made.
    #[serde(flatten)]
    pub settings: PartSettings,
    /// Requests of all parts.
    pub requests: u64,
    /// Rows of all ledgers.
    pub rows: u64,
    /// Breaks of all parts.
    pub breaks: u64,
    /// The parts, by the names of their domains, byte by byte.
    pub parts: Vec<Part>,
}

impl Manifest {
    /// The run of parts, of which there is at least one.
    #[must_use]
    pub fn of(mut parts: Vec<Part>) -> Option<Self> {
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

    /// Reads one. `None` where it is something else.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let manifest: Self = serde_json::from_str(text).ok()?;
        let is_real = manifest.parts.iter().all(Part::is_real);
        (manifest.schema == RUN_SCHEMA && !manifest.parts.is_empty() && is_real).then_some(manifest)
    }

    /// What its strategies were simulated under, as far as it says: by the letter of the documentation.
    #[must_use]
    pub fn assumptions(&self) -> Assumptions {
        let keeps_breaks = self.settings.keeps_breaks;
        Assumptions { keeps_breaks, reading: Reading::Literal, ..Assumptions::default() }
    }

    /// The models without a price, each with how many requests of all parts it has.
    #[must_use]
    pub fn unpriced(&self) -> BTreeMap<String, usize> {
        let mut unpriced = BTreeMap::new();
        for (model, requests) in self.parts.iter().flat_map(|part| &part.unpriced) {
            *unpriced.entry(model.clone()).or_default() += requests;
        }
        unpriced
    }

    /// Whether its sums are those of its parts, which have its settings.
    #[must_use]
    pub fn adds_up(&self) -> bool {
        Self::of(self.parts.clone()).as_ref() == Some(self)
    }

    /// Writes it as a document.
    ///
    /// # Errors
    /// Writing to `out` fails.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        write_document(self, out)
    }
}
