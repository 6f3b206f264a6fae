//! What every input format shares: which files there are, their lines within a memory limit, a fast
//! deserialiser, values of unexpected types, the API's usage object, and what was wrong with the input.
//!
//! What was rejected or repaired while reading, counted by kind and named by file and line.

mod bounds;
mod discover;
mod domains;
mod inside;
mod lenient;
mod lines;
mod objects;
mod skim;
mod stretches;
mod usage;

pub(crate) use bounds::read_whole;
pub use bounds::{Exceeded, MOST_REPORT, MOST_SETTINGS, MemoryBound};
#[cfg(feature = "cli")]
pub(crate) use bounds::{is_of_system, read_standard_input, read_standard_input_bytes, read_text};
pub use discover::{
    Discovered, Location, OutsideRoot, Source, discover, discover_below, discover_inside,
};
pub use domains::{Domain, DomainError, DomainRule};
pub use inside::Inside;
pub(crate) use lenient::{
    Content, Count, Flag, JsonLength, List, Listed, Number, Shape, Text, default_for, moment,
    moment_in_utc, replace_lone_surrogates,
};
pub(crate) use lines::{CHUNK, Chunk, LONGEST_LINE};
pub(crate) use objects::ObjectReader;
pub(crate) use skim::only_value;
pub(crate) use stretches::{Expected, InOrder, OpenSource, Stretch, locked};
pub use stretches::{Extent, read_lines};
pub use usage::{Iteration, PriceTier, PromptSplit, ServiceTier, Usage, UsageProblem};
pub(crate) use usage::{UsageObject, read_usage};

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Examples kept of one kind in one file; the count goes on beyond it, so that a binary file of a
/// gigabyte costs no memory.
const EXAMPLES_PER_KIND: usize = 100;

/// What became of a file that could not be read to its end, whose beginning is called `read`.
pub(crate) fn what_became(is_used: bool, read: &'static str) -> String {
    if is_used { format!("{read} is used") } else { "the file is left out".to_owned() }
}

/// A kind of damage or oddity. Its [`name`](Kind::name) is part of the report's contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A line of white space.
    EmptyLine,
    /// JSON that ends in the middle.
    TornLine,
    /// Not JSON at all.
    NotJson,
    /// JSON, but no object.
    NotAnObject,
    /// Bytes that are not UTF-8.
    NotUtf8,
    /// A line beyond the limit, skipped without being held.
    TooLong,
    /// An object that names one of its keys twice.
    DuplicateKey,
    /// A line of another program's log.
    ForeignFormat,
    /// A file that could not be read, or not to its end.
    UnreadableFile,
    /// A folder that contains itself through a symbolic link.
    SymlinkLoop,
    /// A link, or a path, that leads out of the folders in which files may be read.
    LinkOutside,
    /// Something in a folder, or given as an input, that is no file and no pipe: a device, a socket, a
    /// folder of the kernel's. It is not read.
    SpecialFile,
    /// A compressed file that unpacks beyond all measure; it is given up.
    UnpacksTooFar,
    /// A file at which the memory that the process may have was used up.
    OutOfMemory,
    /// Two or more JSON values on one line; all are used.
    JoinedLine,
    /// Half of a surrogate pair in a string; replaced, and the line is used.
    LoneSurrogate,
    /// A line whose identity an earlier line of the file has; the first counts.
    DuplicateLine,
    /// A parent that no file has; the chain is continued at the line before.
    DanglingParent,
    /// Lines that are their own ancestors; the chain starts at the line that closes the circle.
    ParentCycle,
    /// A response without a message id, by which it could be known.
    MissingMessageId,
    /// A response none of whose lines carries usage: no request can be accounted for.
    MissingUsage,
    /// A response whose usage has numbers that cannot be token counts.
    InvalidUsage,
    /// A response whose usage does not speak of the cache: what was read is unknown, not zero.
    UsageWithoutCacheCounters,
    /// A sub-agent's copy of a response of its parent's conversation.
    SidechainReplay,
    /// A fork whose parent is in no file that was read: what its prompt begins with is not known.
    MissingForkContext,
    /// A fork of a fork.
    NestedFork,
    /// A request without any usable time: left out of the simulation.
    MissingTimestamp,
    /// A captured body that is no request to the Messages API.
    NotAMessagesRequest,
    /// JSON nested more deeply than any request is.
    TooDeep,
    /// Another request of the file has the same id; both count.
    DuplicateRequestId,
    /// A logged exchange with another endpoint.
    OtherEndpoint,
    /// A logged request that was answered with an error.
    FailedRequest,
    /// Two sources that tell different things of a request, or of the same ones. What is used is said.
    Contradiction,
    /// A record of prompt parts that cannot be placed.
    NotABundle,
    /// A section of a bundle that is declared volatile without saying why.
    VolatileWithoutReason,
    /// A record of prompt parts whose messages were mended, as the client does.
    RepairedMessages,
}

impl Kind {
    /// Every kind, in the order of the report.
    pub const ALL: [Self; 36] = [
        Self::EmptyLine,
        Self::TornLine,
        Self::NotJson,
        Self::NotAnObject,
        Self::NotUtf8,
        Self::TooLong,
        Self::DuplicateKey,
        Self::ForeignFormat,
        Self::UnreadableFile,
        Self::SymlinkLoop,
        Self::LinkOutside,
        Self::SpecialFile,
        Self::UnpacksTooFar,
        Self::OutOfMemory,
        Self::JoinedLine,
        Self::LoneSurrogate,
        Self::DuplicateLine,
        Self::DanglingParent,
        Self::ParentCycle,
        Self::MissingMessageId,
        Self::MissingUsage,
        Self::InvalidUsage,
        Self::UsageWithoutCacheCounters,
        Self::SidechainReplay,
        Self::MissingForkContext,
        Self::NestedFork,
        Self::MissingTimestamp,
        Self::NotAMessagesRequest,
        Self::TooDeep,
        Self::DuplicateRequestId,
        Self::OtherEndpoint,
        Self::FailedRequest,
        Self::Contradiction,
        Self::NotABundle,
        Self::VolatileWithoutReason,
        Self::RepairedMessages,
    ];

    /// The key in the report's `skipped` object.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::EmptyLine => "empty_line",
            Self::TornLine => "torn_line",
            Self::NotJson => "not_json",
            Self::NotAnObject => "not_an_object",
            Self::NotUtf8 => "not_utf8",
            Self::TooLong => "too_long",
            Self::DuplicateKey => "duplicate_key",
            Self::ForeignFormat => "foreign_format",
            Self::UnreadableFile => "unreadable_file",
            Self::SymlinkLoop => "symlink_loop",
            Self::LinkOutside => "link_outside",
            Self::SpecialFile => "special_file",
            Self::UnpacksTooFar => "unpacks_too_far",
            Self::OutOfMemory => "out_of_memory",
            Self::JoinedLine => "joined_line",
            Self::LoneSurrogate => "lone_surrogate",
            Self::DuplicateLine => "duplicate_line",
            Self::DanglingParent => "dangling_parent",
            Self::ParentCycle => "parent_cycle",
            Self::MissingMessageId => "missing_message_id",
            Self::MissingUsage => "missing_usage",
            Self::InvalidUsage => "invalid_usage",
            Self::UsageWithoutCacheCounters => "usage_without_cache_counters",
            Self::SidechainReplay => "sidechain_replay",
            Self::MissingForkContext => "missing_fork_context",
            Self::NestedFork => "nested_fork",
            Self::MissingTimestamp => "missing_timestamp",
            Self::NotAMessagesRequest => "not_a_messages_request",
            Self::TooDeep => "too_deep",
            Self::DuplicateRequestId => "duplicate_request_id",
            Self::OtherEndpoint => "other_endpoint",
            Self::FailedRequest => "failed_request",
            Self::Contradiction => "contradiction",
            Self::NotABundle => "not_a_bundle",
            Self::VolatileWithoutReason => "volatile_without_reason",
            Self::RepairedMessages => "repaired_messages",
        }
    }

    /// What people read; machine formats have the [`name`](Self::name).
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::EmptyLine => "empty line",
            Self::TornLine => "line cut off",
            Self::NotJson => "not JSON",
            Self::NotAnObject => "no JSON object",
            Self::NotUtf8 => "not UTF-8",
            Self::TooLong => "too long",
            Self::DuplicateKey => "key given twice",
            Self::ForeignFormat => "line of another program's log",
            Self::UnreadableFile => "unreadable file",
            Self::SymlinkLoop => "folder that contains itself",
            Self::LinkOutside => "link that leads outside",
            Self::SpecialFile => "neither file nor pipe",
            Self::UnpacksTooFar => "compressed file that unpacks too far",
            Self::OutOfMemory => "not read for want of memory",
            Self::JoinedLine => "several JSON values on one line",
            Self::LoneSurrogate => "half a character",
            Self::DuplicateLine => "repeated line",
            Self::DanglingParent => "missing parent",
            Self::ParentCycle => "circle of parents",
            Self::MissingMessageId => "response without a message id",
            Self::MissingUsage => "response without usage",
            Self::InvalidUsage => "response with impossible token counts",
            Self::UsageWithoutCacheCounters => "response that says nothing of the cache",
            Self::SidechainReplay => "response copied by a sub-agent",
            Self::MissingForkContext => "fork without its parent",
            Self::NestedFork => "fork of a fork",
            Self::MissingTimestamp => "request without a time",
            Self::NotAMessagesRequest => "no request to the Messages API",
            Self::TooDeep => "nested too deeply",
            Self::DuplicateRequestId => "repeated request id",
            Self::OtherEndpoint => "exchange with another endpoint",
            Self::FailedRequest => "failed request",
            Self::Contradiction => "contradiction between sources",
            Self::NotABundle => "no bundle",
            Self::VolatileWithoutReason => "volatile section without a reason",
            Self::RepairedMessages => "mended messages",
        }
    }

    /// Whether input was lost, so that `--strict` refuses it. Repairs and blank lines lose nothing.
    #[must_use]
    pub fn is_damage(self) -> bool {
        !matches!(
            self,
            Self::EmptyLine
                | Self::ForeignFormat
                | Self::JoinedLine
                | Self::LoneSurrogate
                | Self::DuplicateLine
                | Self::DanglingParent
                | Self::SidechainReplay
                | Self::MissingForkContext
                | Self::NestedFork
                | Self::SymlinkLoop
                | Self::LinkOutside
                | Self::SpecialFile
                | Self::DuplicateRequestId
                | Self::OtherEndpoint
                | Self::FailedRequest
                | Self::RepairedMessages
        )
    }
}

/// One rejected or repaired place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// What it is.
    pub kind: Kind,
    /// The file, relative to the path that was given.
    pub file: Arc<str>,
    /// The line, counted from 1; 0 where the whole file is meant.
    pub line: u64,
    /// What to know or do about it; never text of the transcript.
    pub detail: String,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        write!(f, ": {}", self.kind.label())?;
        if !self.detail.is_empty() {
            write!(f, ": {}", self.detail)?;
        }
        Ok(())
    }
}

/// The diagnostics of a file or of a run.
#[derive(Clone, Debug, Default)]
pub struct Diagnostics {
    counts: BTreeMap<Kind, u64>,
    examples: Vec<Diagnostic>,
}

impl Diagnostics {
    /// Counts one place and, up to a limit, remembers where it is.
    pub fn add(&mut self, kind: Kind, file: &Arc<str>, line: u64, detail: impl Into<String>) {
        let count = self.counts.entry(kind).or_default();
        *count += 1;
        if *count <= EXAMPLES_PER_KIND as u64 {
            self.examples.push(Diagnostic {
                kind,
                file: Arc::clone(file),
                line,
                detail: detail.into(),
            });
        }
    }

    /// Counts `additional` further places of a kind of which an example was given.
    pub fn add_count(&mut self, kind: Kind, additional: u64) {
        if additional > 0 {
            *self.counts.entry(kind).or_default() += additional;
        }
    }

    /// Says more of the places of a kind.
    pub fn explain(&mut self, kind: Kind, detail: &str) {
        for example in self.examples.iter_mut().filter(|example| example.kind == kind) {
            detail.clone_into(&mut example.detail);
        }
    }

    /// Gives files other names.
    pub fn name_files(&mut self, named: impl Fn(&str) -> String) {
        for example in &mut self.examples {
            example.file = named(&example.file).into();
        }
    }

    /// Takes over what another part of the input gave.
    pub fn absorb(&mut self, other: Self) {
        for (kind, count) in other.counts {
            *self.counts.entry(kind).or_default() += count;
        }
        self.examples.extend(other.examples);
    }

    /// Counts by kind, in the order of the report.
    pub fn counts(&self) -> impl Iterator<Item = (Kind, u64)> + '_ {
        self.counts.iter().map(|(kind, count)| (*kind, *count))
    }

    /// How often a kind occurred.
    #[must_use]
    pub fn count(&self, kind: Kind) -> u64 {
        self.counts.get(&kind).copied().unwrap_or_default()
    }

    /// The places remembered, in input order.
    #[must_use]
    pub fn examples(&self) -> &[Diagnostic] {
        &self.examples
    }

    /// Whether any input was lost.
    #[must_use]
    pub fn has_damage(&self) -> bool {
        self.counts.keys().any(|kind| kind.is_damage())
    }

    /// In how many places input was lost.
    #[must_use]
    pub fn damaged_places(&self) -> u64 {
        self.counts.iter().filter(|(kind, _)| kind.is_damage()).map(|(_, count)| count).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_go_on_where_examples_stop() {
        let mut diagnostics = Diagnostics::default();
        let file: Arc<str> = "a.jsonl".into();
        for line in 1..=1_000 {
            diagnostics.add(Kind::NotJson, &file, line, "");
        }
        assert_eq!(diagnostics.count(Kind::NotJson), 1_000);
        assert_eq!(diagnostics.examples().len(), EXAMPLES_PER_KIND);
        assert!(diagnostics.has_damage());
    }

    #[test]
    fn a_diagnostic_says_where_and_what() {
        let mut diagnostics = Diagnostics::default();
        diagnostics.add(Kind::TornLine, &"a.jsonl".into(), 7, "ends at column 12");
        assert_eq!(
            diagnostics.examples()[0].to_string(),
            "a.jsonl:7: line cut off: ends at column 12"
        );
    }

    #[test]
    fn every_kind_has_a_name_and_a_label_of_its_own() {
        let names: std::collections::BTreeSet<_> =
            Kind::ALL.iter().map(|kind| kind.name()).collect();
        assert_eq!(names.len(), Kind::ALL.len());
        let labels: std::collections::BTreeSet<_> =
            Kind::ALL.iter().map(|kind| kind.label()).collect();
        assert_eq!(labels.len(), Kind::ALL.len());
        assert!(!labels.iter().any(|label| label.contains('_')), "people read words");
    }
}
