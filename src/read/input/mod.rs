//! Shared parts of all input formats: discovery of files, their lines within a memory limit, a fast
//! deserialiser, values of unexpected types, the API's usage object, and diagnostics.
//!
//! Diagnostics are places that were rejected or repaired while reading, counted by kind and named by file and line.

mod bounds;
mod discover;
mod dollars;
mod domains;
mod escape;
mod inside;
mod lenient;
mod lines;
mod objects;
mod pairs;
mod relined;
mod sieve;
mod skim;
mod stretches;
mod usage;
mod zstandard;

pub use bounds::{Exceeded, MOST_REPORT, MOST_SETTINGS, MemoryBound};
pub(crate) use bounds::{
    is_of_system, read_standard_input, read_standard_input_bytes, read_text, read_whole,
};
pub use discover::{
    Discovered, Location, OutsideRoot, Source, discover, discover_below, discover_inside,
};
pub(crate) use discover::{Entered, MOST_DEPTH};
pub(crate) use dollars::Dollars;
pub use domains::{Domain, DomainError, DomainRule};
pub(crate) use escape::{CODE, Escaped, decoded, escape};
pub use inside::Inside;
pub(crate) use lenient::{
    Content, Count, Flag, JsonLength, List, Listed, MOST_BLOCKS, Number, Scalar, Shape, Text,
    default_for, ignore_list, ignore_object, lenient, moment, moment_in_utc,
    replace_lone_surrogates,
};
pub(crate) use lines::{CHUNK, Chunk, LONGEST_LINE};
pub(crate) use objects::{ObjectReader, end_of_torn};
pub(crate) use pairs::Pairs;
pub(crate) use sieve::{Aside, Sieve, sifted};
pub(crate) use skim::{Malformed, only_value, repaired_value};
pub(crate) use stretches::{Expected, InOrder, OpenSource, Stretch, locked};
pub use stretches::{Extent, read_lines};
pub use usage::{Iteration, PriceTier, PromptSplit, ServiceTier, Usage, UsageProblem};
pub(crate) use usage::{UsageObject, read_usage};
pub(crate) use zstandard::Unpacked;

use std::fmt;
use std::sync::Arc;

use crate::base::{ByKey, words};

/// Examples kept of one kind in one file; counting continues beyond them, so that a binary file of a
/// gigabyte costs no memory.
const EXAMPLES_PER_KIND: usize = 100;

/// Words for the fate of a file that could not be read to its end; `read` names its beginning.
pub(crate) fn what_became(is_used: bool, read: &'static str) -> String {
    if is_used { format!("{read} is used") } else { "the file is left out".to_owned() }
}

words! {
    /// A kind of damage or oddity. Its [`name`](Kind::name) is part of the report's contract.
    pub enum Kind {
        /// A line of white space.
        EmptyLine = "empty_line", "empty line";
        /// JSON that ends in the middle.
        TornLine = "torn_line", "line cut off";
        /// Not JSON at all.
        NotJson = "not_json", "not JSON";
        /// JSON, but no object.
        NotAnObject = "not_an_object", "no JSON object";
        /// Bytes that are not UTF-8.
        NotUtf8 = "not_utf8", "not UTF-8";
        /// A line beyond the limit, skipped without being held.
        TooLong = "too_long", "too long";
        /// An object that names one of its keys twice.
        DuplicateKey = "duplicate_key", "key given twice";
        /// A line of another program's log.
        ForeignFormat = "foreign_format", "line of another program's log";
        /// A file that could not be read, or not to its end.
        UnreadableFile = "unreadable_file", "unreadable file";
        /// A folder that contains itself through a symbolic link.
        SymlinkLoop = "symlink_loop", "folder that contains itself";
        /// A link, or a path, that leads out of the folders that may be read.
        LinkOutside = "link_outside", "link that leads outside";
        /// An entry of a folder, or an input, that is neither file nor pipe: a device, a socket, a
        /// folder of the kernel's. It is not read.
        SpecialFile = "special_file", "neither file nor pipe";
        /// A compressed file that unpacks beyond all measure; it is given up.
        UnpacksTooFar = "unpacks_too_far", "compressed file that unpacks too far";
        /// A file at which the memory that the process may have was used up.
        OutOfMemory = "out_of_memory", "not read for want of memory";
        /// Two or more JSON values on one line; all are used.
        JoinedLine = "joined_line", "several JSON values on one line";
        /// Half of a surrogate pair in a string; replaced, and the line is used.
        LoneSurrogate = "lone_surrogate", "half a character";
        /// A line whose identity an earlier line of the file has; the first counts.
        DuplicateLine = "duplicate_line", "repeated line";
        /// A parent that no file has; the chain is continued at the line before.
        DanglingParent = "dangling_parent", "missing parent";
        /// Lines that are their own ancestors; the chain starts at the line that closes the circle.
        ParentCycle = "parent_cycle", "circle of parents";
        /// A response without a message id to know it by.
        MissingMessageId = "missing_message_id", "response without a message id";
        /// A response none of whose lines carries usage: no request can be accounted for.
        MissingUsage = "missing_usage", "response without usage";
        /// A response whose usage has numbers that cannot be token counts.
        InvalidUsage = "invalid_usage", "response with impossible token counts";
        /// A response whose usage has no cache counters: tokens read are unknown, not zero.
        UsageWithoutCacheCounters = "usage_without_cache_counters",
            "response that says nothing of the cache";
        /// A sub-agent's copy of a response of its parent's conversation.
        SidechainReplay = "sidechain_replay", "response copied by a sub-agent";
        /// A fork whose parent is in no file that was read: the beginning of its prompt is unknown.
        MissingForkContext = "missing_fork_context", "fork without its parent";
        /// A fork of a fork.
        NestedFork = "nested_fork", "fork of a fork";
        /// A request without any usable time: left out of the simulation.
        MissingTimestamp = "missing_timestamp", "request without a time";
        /// A captured body that is no request to the Messages API.
        NotAMessagesRequest = "not_a_messages_request", "no request to the Messages API";
        /// JSON nested more deeply than any request is.
        TooDeep = "too_deep", "nested too deeply";
        /// Another request of the file has the same id; both count.
        DuplicateRequestId = "duplicate_request_id", "repeated request id";
        /// A logged exchange with another endpoint.
        OtherEndpoint = "other_endpoint", "exchange with another endpoint";
        /// A logged request that was answered with an error.
        FailedRequest = "failed_request", "failed request";
        /// Two sources that contradict each other about requests. The detail says which is used.
        Contradiction = "contradiction", "contradiction between sources";
        /// A record of prompt parts that cannot be placed.
        NotABundle = "not_a_bundle", "no bundle";
        /// A section of a bundle that is declared volatile without saying why.
        VolatileWithoutReason = "volatile_without_reason", "volatile section without a reason";
        /// A record of prompt parts whose messages were mended, as the client does.
        RepairedMessages = "repaired_messages", "mended messages";
        /// A key of a bundle that has no meaning here and is left out.
        UnknownKey = "unknown_key", "unknown key";
    }
    /// Label for people; machine formats have the [`name`](Self::name).
    pub fn label;
}

impl Kind {
    /// Returns true if input was lost, so that `--strict` refuses it. Repairs and blank lines lose nothing.
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
                | Self::MissingMessageId
                | Self::DuplicateRequestId
                | Self::OtherEndpoint
                | Self::FailedRequest
                | Self::RepairedMessages
                | Self::UnknownKey
        )
    }
}

/// Rejected or repaired place of the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Kind of damage or oddity.
    pub kind: Kind,
    /// File, relative to the path that was given.
    pub file: Arc<str>,
    /// Line, from 1 on; 0 for the whole file.
    pub line: u64,
    /// Explanation or advice; never text of the transcript.
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

/// Diagnostics of a file or of a run.
#[derive(Clone, Debug, Default)]
pub struct Diagnostics {
    counts: ByKey<Kind, u64>,
    examples: Vec<Diagnostic>,
}

impl Diagnostics {
    /// Counts one place and, up to a limit, keeps it as an example.
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

    /// Counts `additional` further places of a kind that has an example.
    pub fn add_count(&mut self, kind: Kind, additional: u64) {
        if additional > 0 {
            *self.counts.entry(kind).or_default() += additional;
        }
    }

    /// Sets the detail of the examples of a kind.
    pub fn explain(&mut self, kind: Kind, detail: &str) {
        for example in self.examples.iter_mut().filter(|example| example.kind == kind) {
            detail.clone_into(&mut example.detail);
        }
    }

    /// Renames the files of the examples.
    pub fn name_files(&mut self, named: impl Fn(&str) -> String) {
        for example in &mut self.examples {
            example.file = named(&example.file).into();
        }
    }

    /// Adds the diagnostics of another part of the input.
    pub fn absorb(&mut self, other: Self) {
        for (kind, count) in other.counts {
            *self.counts.entry(kind).or_default() += count;
        }
        // The limit on examples is one for each file, so they add up.
        self.examples.extend(other.examples);
    }

    /// Counts by kind, in the order of the report.
    pub fn counts(&self) -> impl Iterator<Item = (Kind, u64)> + '_ {
        self.counts.iter().map(|(kind, count)| (*kind, *count))
    }

    /// Number of places of a kind.
    pub fn count(&self, kind: Kind) -> u64 {
        self.counts.get(&kind).copied().unwrap_or_default()
    }

    /// Examples in input order.
    pub fn examples(&self) -> &[Diagnostic] {
        &self.examples
    }

    /// Returns true if any input was lost.
    pub fn has_damage(&self) -> bool {
        self.counts.keys().any(|kind| kind.is_damage())
    }

    /// Number of places at which input was lost.
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
