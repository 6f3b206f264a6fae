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

impl Metric {
    /// The cost of all sessions.
    pub const COST: Self = metric("cost", Quantity::Cost, Scope::Total, "the cost of all sessions");
    /// The cost of each session.
    pub const COST_PER_SESSION: Self =
        metric("cost_per_session", Quantity::Cost, Scope::EachSession, "the cost of each session");
    /// The cost of each request.
    pub const COST_PER_REQUEST: Self =
        metric("cost_per_request", Quantity::Cost, Scope::EachRequest, "the cost of each request");
    /// The cost of all sessions, divided by their number.
    pub const MEAN_COST_PER_SESSION: Self = metric(
        "mean_cost_per_session",
        Quantity::MeanCostOfSessions,
        Scope::Total,
        "the cost of all sessions, divided by their number",
    );
    /// The cost of all requests, divided by their number.
    pub const MEAN_COST_PER_REQUEST: Self = metric(
        "mean_cost_per_request",
        Quantity::MeanCostOfRequests,
        Scope::Total,
        "the cost of all requests, divided by their number",
    );
    /// The share of all prompt tokens that was read from cache.
    pub const HIT_RATE: Self = metric(
        "hit_rate",
        Quantity::HitRate,
        Scope::Total,
        "the share of all prompt tokens that was read from cache",
    );
    /// The share of each session's prompt tokens that was read from cache.
    pub const HIT_RATE_PER_SESSION: Self = metric(
        "hit_rate_per_session",
        Quantity::HitRate,
        Scope::EachSession,
        "the same share of each session",
    );
    /// Tokens written to cache in all sessions.
    pub const WRITTEN_TOKENS: Self = metric(
        "written_tokens",
        Quantity::WrittenTokens,
        Scope::Total,
        "tokens written to cache in all sessions",
    );
    /// Tokens written to cache in each session.
    pub const WRITTEN_TOKENS_PER_SESSION: Self = metric(
        "written_tokens_per_session",
        Quantity::WrittenTokens,
        Scope::EachSession,
        "tokens written to cache in each session",
    );
    /// Requests that read less than they could have, of the causes named.
    pub const BREAKS: Self = metric(
        "breaks",
        Quantity::Breaks,
        Scope::Total,
        "requests that read less than they could have, of the causes named",
    );
    /// Cost of these breaks beyond reading.
    pub const BREAKS_COST: Self = metric(
        "breaks_cost",
        Quantity::BreaksCost,
        Scope::Total,
        "what these breaks cost beyond what reading would have",
    );
    /// Cost of these breaks beyond reading, in hundredths of the amount paid.
    pub const BREAKS_SHARE: Self = metric(
        "breaks_share",
        Quantity::BreaksShare,
        Scope::Total,
        "that cost in hundredths of what was paid",
    );
    /// Different prefixes in front of captured conversations.
    pub const PREFIX_VARIANTS: Self = metric(
        "prefix_variants",
        Quantity::PrefixVariants,
        Scope::Total,
        "different prefixes in front of captured conversations",
    );
    /// The bytes of each captured prompt.
    pub const PROMPT_BYTES_PER_REQUEST: Self = metric(
        "prompt_bytes_per_request",
        Quantity::PromptBytes,
        Scope::EachRequest,
        "the bytes of each captured prompt: tools, system prompt and messages",
    );
    /// The bytes of the tool definitions of each captured prompt.
    pub const TOOL_BYTES_PER_REQUEST: Self = metric(
        "tool_bytes_per_request",
        Quantity::ToolBytes,
        Scope::EachRequest,
        "the bytes of the tool definitions of each captured prompt",
    );
    /// Places of captured prompts that break a rule of lint.
    pub const LINT_FINDINGS: Self = metric(
        "lint_findings",
        Quantity::LintFindings,
        Scope::Total,
        "places of captured prompts that break a rule of lint",
    );

    /// Parts and settings of captured requests that differ from the baseline and are not on the budget's list.
    pub const UNLISTED_CHANGES: Self = metric(
        "unlisted_changes",
        Quantity::UnlistedChanges,
        Scope::Total,
        "parts and settings of captured requests that differ from the baseline and are not `listed`",
    );
    /// Cost by which clients' own counts and lines differ without a known reason.
    pub const CLIENT_DIFFERENCE: Self = metric(
        "client_difference",
        Quantity::ClientDifference,
        Scope::Total,
        "what clients' own counts of sessions and their lines differ by without a known reason",
    );
    /// Places with lost input.
    pub const DAMAGED_PLACES: Self = metric(
        "damaged_places",
        Quantity::Damage,
        Scope::Total,
        "places of the input that are damaged, with what they held",
    );

    /// Every metric.
    pub const ALL: [Self; 19] = [
        Self::COST,
        Self::COST_PER_SESSION,
        Self::COST_PER_REQUEST,
        Self::MEAN_COST_PER_SESSION,
        Self::MEAN_COST_PER_REQUEST,
        Self::HIT_RATE,
        Self::HIT_RATE_PER_SESSION,
        Self::WRITTEN_TOKENS,
        Self::WRITTEN_TOKENS_PER_SESSION,
        Self::BREAKS,
        Self::BREAKS_COST,
        Self::BREAKS_SHARE,
        Self::PREFIX_VARIANTS,
        Self::PROMPT_BYTES_PER_REQUEST,
        Self::TOOL_BYTES_PER_REQUEST,
        Self::LINT_FINDINGS,
        Self::UNLISTED_CHANGES,
        Self::CLIENT_DIFFERENCE,
        Self::DAMAGED_PLACES,
    ];

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

const fn metric(
    name: &'static str,
    quantity: Quantity,
    scope: Scope,
    meaning: &'static str,
) -> Metric {
    Metric { name, quantity, scope, meaning }
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
