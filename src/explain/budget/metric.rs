//! Metrics: figures that can have a budget.

use std::collections::BTreeSet;

use super::amount::Unit;
use crate::explain::breaks::Cause;
use crate::explain::lint::{Rule, Severity};

/// Measured quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Amount paid.
    Cost,
    /// Mean cost of a session.
    MeanCostOfSessions,
    /// Mean cost of a request.
    MeanCostOfRequests,
    /// Share of the prompts that was read from cache.
    HitRate,
    /// Tokens written to cache, at either TTL.
    WrittenTokens,
    /// Requests that read less than they could have.
    Breaks,
    /// Cost of breaks beyond reading.
    BreaksCost,
    /// Cost of breaks beyond reading, as a share of the amount paid.
    BreaksShare,
    /// Different prefixes of captured conversations: tools and system prompt, up to the last marker
    /// on the system prompt.
    PrefixVariants,
    /// Bytes of a captured prompt: tools, system prompt and messages.
    PromptBytes,
    /// Bytes of the tool definitions of a captured prompt.
    ToolBytes,
    /// Findings of `lint`, by their places in captured prompts.
    LintFindings,
    /// Parts and settings of captured requests that differ from the baseline.
    UnlistedChanges,
    /// Cost by which clients' own counts and lines differ without a known reason.
    ClientDifference,
    /// Places with lost input.
    Damage,
}

/// Scope of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Everything selected.
    Total,
    /// Each session; all must keep the limit.
    EachSession,
    /// Each request; all must keep the limit.
    EachRequest,
}

/// A figure with its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// Name in files and outputs.
    pub name: &'static str,
    /// Measured quantity.
    pub quantity: Quantity,
    /// Scope of the measurement.
    pub scope: Scope,
    /// Meaning in a few words.
    pub meaning: &'static str,
}

/// Declares the metrics: a constant of each, and the list of all.
macro_rules! metrics {
    ($($constant:ident: $quantity:ident, $scope:ident = $name:literal, $meaning:literal;)+) => {
        $(
            #[doc = $meaning]
            pub const $constant: Self = Self {
                name: $name,
                quantity: Quantity::$quantity,
                scope: Scope::$scope,
                meaning: $meaning,
            };
        )+

        /// Every metric.
        pub const ALL: [Self; [$($name),+].len()] = [$(Self::$constant),+];
    };
}

impl Metric {
    metrics! {
        COST: Cost, Total = "cost", "the cost of all sessions";
        COST_PER_SESSION: Cost, EachSession = "cost_per_session", "the cost of each session";
        COST_PER_REQUEST: Cost, EachRequest = "cost_per_request", "the cost of each request";
        MEAN_COST_PER_SESSION: MeanCostOfSessions, Total =
            "mean_cost_per_session", "the cost of all sessions, divided by their number";
        MEAN_COST_PER_REQUEST: MeanCostOfRequests, Total =
            "mean_cost_per_request", "the cost of all requests, divided by their number";
        HIT_RATE: HitRate, Total =
            "hit_rate", "the share of all prompt tokens that was read from cache";
        HIT_RATE_PER_SESSION: HitRate, EachSession =
            "hit_rate_per_session", "the same share of each session";
        WRITTEN_TOKENS: WrittenTokens, Total =
            "written_tokens", "tokens written to cache in all sessions";
        WRITTEN_TOKENS_PER_SESSION: WrittenTokens, EachSession =
            "written_tokens_per_session", "tokens written to cache in each session";
        BREAKS: Breaks, Total =
            "breaks", "requests that read less than they could have, of the causes named";
        BREAKS_COST: BreaksCost, Total =
            "breaks_cost", "what these breaks cost beyond what reading would have";
        BREAKS_SHARE: BreaksShare, Total =
            "breaks_share", "that cost in hundredths of what was paid";
        PREFIX_VARIANTS: PrefixVariants, Total =
            "prefix_variants", "different prefixes in front of captured conversations";
        PROMPT_BYTES_PER_REQUEST: PromptBytes, EachRequest =
            "prompt_bytes_per_request", "the bytes of each captured prompt: tools, system prompt and messages";
        TOOL_BYTES_PER_REQUEST: ToolBytes, EachRequest =
            "tool_bytes_per_request", "the bytes of the tool definitions of each captured prompt";
        LINT_FINDINGS: LintFindings, Total =
            "lint_findings", "places of captured prompts that break a rule of lint";
        UNLISTED_CHANGES: UnlistedChanges, Total =
            "unlisted_changes", "parts and settings of captured requests that differ from the baseline and are not `listed`";
        CLIENT_DIFFERENCE: ClientDifference, Total =
            "client_difference", "what clients' own counts of sessions and their lines differ by without a known reason";
        DAMAGED_PLACES: Damage, Total =
            "damaged_places", "places of the input that are damaged, with what they held";
    }

    /// Metric with a name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|metric| metric.name == name)
    }

    /// Unit of the figure.
    pub fn unit(self) -> Unit {
        match self.quantity {
            Quantity::Cost
            | Quantity::MeanCostOfSessions
            | Quantity::MeanCostOfRequests
            | Quantity::BreaksCost
            | Quantity::ClientDifference => Unit::Dollars,
            Quantity::HitRate | Quantity::BreaksShare => Unit::Percent,
            Quantity::WrittenTokens => Unit::Tokens,
            Quantity::PromptBytes | Quantity::ToolBytes => Unit::Bytes,
            Quantity::Breaks
            | Quantity::PrefixVariants
            | Quantity::LintFindings
            | Quantity::UnlistedChanges
            | Quantity::Damage => Unit::Count,
        }
    }

    /// Returns true if the metric needs prompts whose bytes are known.
    pub fn is_of_captures(self) -> bool {
        self.is_size() || matches!(self.quantity, Quantity::PrefixVariants | Quantity::LintFindings)
    }

    /// Returns true if the metric is the size of prompts, in bytes.
    pub fn is_size(self) -> bool {
        matches!(self.quantity, Quantity::PromptBytes | Quantity::ToolBytes)
    }

    /// Returns true if the metric is about breaks.
    pub fn is_of_breaks(self) -> bool {
        matches!(self.quantity, Quantity::Breaks | Quantity::BreaksCost | Quantity::BreaksShare)
    }

    /// Returns true if the metric is an amount paid, which refused requests make smaller.
    pub fn is_cost(self) -> bool {
        matches!(
            self.quantity,
            Quantity::Cost | Quantity::MeanCostOfSessions | Quantity::MeanCostOfRequests
        )
    }

    /// Returns true if the metric is about the input, and needs neither prices nor usage.
    pub fn is_of_input(self) -> bool {
        matches!(self.quantity, Quantity::UnlistedChanges | Quantity::Damage)
    }

    /// Returns true if the metric differs between strategies.
    pub fn is_of_strategy(self) -> bool {
        // Breaks are found in the record, and captured prompts have their bytes under any strategy.
        !self.is_of_captures()
            && !self.is_of_breaks()
            && !self.is_of_input()
            && self.quantity != Quantity::ClientDifference
    }
}

/// Selection of the breaks that count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum BreakKinds {
    /// All breaks.
    #[default]
    All,
    /// Breaks with these causes.
    Causes(BTreeSet<Cause>),
}

impl BreakKinds {
    /// Word for causes that follow from what was done: a compaction or an expiry.
    pub const EXPECTED: &'static str = "expected";
    /// Word for all other causes.
    pub const UNEXPECTED: &'static str = "unexpected";

    /// Breaks that nobody expects.
    pub fn unexpected() -> Self {
        Self::Causes(Cause::ALL.into_iter().filter(|cause| !cause.is_expected()).collect())
    }

    /// Returns true if breaks with a cause count.
    pub fn has(&self, cause: Cause) -> bool {
        match self {
            Self::All => true,
            Self::Causes(causes) => causes.contains(&cause),
        }
    }
}

/// Selection of the findings of `lint` that count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LintKinds {
    /// Least severity that counts.
    pub severity: Severity,
    /// Rules that count, or all if empty.
    pub rules: BTreeSet<Rule>,
}

impl Default for LintKinds {
    fn default() -> Self {
        Self { severity: Severity::Note, rules: BTreeSet::new() }
    }
}

impl LintKinds {
    /// Returns true if findings of a rule with this severity count.
    pub fn has(&self, rule: Rule, severity: Severity) -> bool {
        // Graver severities sort first.
        severity <= self.severity && (self.rules.is_empty() || self.rules.contains(&rule))
    }
}
