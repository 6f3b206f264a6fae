//! Reasons for which the service refuses a request.

use serde::Deserialize;

use crate::base::words::words;

/// Addition to a refusal by the rules if the record has an answer.
pub(crate) const ANSWERED: &str = "; the record has an answer all the same";

words! {
    /// Reason of a refusal. Of several the first is given.
    #[derive(Deserialize)]
    pub enum Refusal {
        /// The automatic marker is on a block with a marker of another TTL.
        TtlConflict = "ttl_conflict", "two lifetimes on one block";
        /// More than four markers.
        TooManyBreakpoints = "too_many_breakpoints", "more than four markers";
        /// A five-minute marker before a one-hour one.
        TtlOrder = "ttl_order", "a marker of 5m in front of one of 1h";
        /// A marker on a block that cannot carry one.
        UnmarkableBlock = "unmarkable_block", "a marker on a block that cannot have one";
        /// A marker with a type or a lifetime that the service does not have.
        UnknownMarker = "unknown_marker", "a marker of an unknown type or lifetime";
        /// A marker on a deferred tool, which is no part of the prompt.
        DeferredMarker = "deferred_marker", "a marker on a deferred tool";
        /// A marker on a message, not on one of its blocks.
        MessageMarker = "message_marker", "a marker on a message, not on a block of it";
        /// A marker under another name, such as `cacheControl`.
        MisspelledMarker = "misspelled_marker", "a marker under another name than `cache_control`";
        /// `max_tokens: 0` beside a setting of the answer that it rules out.
        NoAnswer = "no_answer", "`max_tokens: 0` beside a stream, thinking, a format or a forced choice";
        /// A message of the role `system`, for a model that takes none.
        SystemRole = "system_role", "a message of the role `system`, which the model does not take";
        /// Fast mode, for a model that has none, or none any more.
        NoFastMode = "no_fast_mode", "fast mode, which the model does not have then";
    }
    /// Name for people.
    pub fn label;
}
