//! Rules of `lint`: their names, their severity, and their explanations.

use serde::Deserialize;

use crate::base::words::words;

words! {
    /// Importance of a finding.
    #[derive(Deserialize)]
    pub enum Severity {
        /// The service refuses the request.
        Error = "error";
        /// It costs tokens in this trace, or would in a longer one.
        Warning = "warning";
        /// It may cost tokens elsewhere.
        Note = "note";
    }
}

words! {
    /// Rule of `lint`.
    #[derive(Deserialize)]
    pub enum Rule {
        /// More than four markers.
        TooManyMarkers = "too-many-markers",
            "The service refuses a request with more than four markers, the automatic one among \
            them. Remove those that the last ones make superfluous.";
        /// A five-minute marker before a one-hour one.
        TtlOrder = "ttl-order",
            "The service refuses a marker for five minutes in front of one for an hour. Put the \
            longer TTL first.";
        /// The automatic marker contradicts that of the block on which it falls.
        TtlConflict = "ttl-conflict",
            "The request's own cache_control falls on a block that is marked with another TTL; the \
            service refuses it. Give both the same TTL, or keep one.";
        /// A marker on thinking.
        UnmarkableBlock = "unmarkable-block",
            "The service refuses a marker on thinking, on an empty text, and inside a result but on its \
            last block. Mark another block.";
        /// A setting, a role or a marker that the service refuses.
        RequestRefused = "request-refused",
            "The service refuses the request for what is named: a marker of an unknown type or \
            lifetime, under another name, on a message or on a deferred tool, max_tokens: 0 beside a stream, thinking, a format or a \
            forced tool choice, a message of the role system or fast mode for a model without it.";
        /// Thinking after another prefix than its own, which the service refuses.
        ThinkingRefused = "thinking-refused",
            "A block of thinking stands after another prefix than the one it was made after, and \
            the model checks that: the service answers with an error. Append instead of editing; \
            let the API summarise; or leave out the thinking of the turns that you keep. \
            thinking.block_binding.prefix_mismatch_behavior = drop_block makes the service leave \
            it out.";
        /// Thinking after another prefix than its own, which the service leaves out.
        ThinkingDropped = "thinking-dropped",
            "A block of thinking stands after another prefix than the one it was made after, and \
            the model checks that: the service leaves the block out, and everything after it is \
            written anew. Append instead of editing, or leave out the thinking of the turns that \
            you keep.";
        /// The same tools in another order.
        ToolOrder = "tool-order",
            "Tools stand in front of everything, so another order loses every entry. Sort them by \
            name.";
        /// A tool with a changed definition.
        ToolSchema = "tool-schema",
            "A tool's definition changed, which loses every entry after it. Freeze the definitions \
            for the session, and keep what varies out of descriptions.";
        /// Tools come or go.
        ToolSet = "tool-set",
            "Tools came or went, which loses every entry after the first of them. Keep the list \
            for the session; load rare tools on demand (defer_loading), after it.";
        /// The same JSON with its keys in another order, or numbers spelled differently.
        KeyOrder = "key-order",
            "The JSON says the same in other bytes, its keys in another order or its numbers in \
            another spelling, which is another prefix. Serialise in a fixed way.";
        /// The same lines or words in another order.
        LineOrder = "line-order",
            "The same lines or words stand in another order, which is another prefix. Sort them.";
        /// The client's attribution line differs from request to request.
        AttributionChanges = "attribution-changes",
            "The attribution line at the head of the system prompt differs from request to \
            request. Where the service does not take it out, nothing is ever read. Keep it the \
            same for a session, or leave it out behind a gateway.";
        /// A timestamp before stable text.
        Timestamp = "timestamp",
            "A moment changes in front of text that does not. Send it in the latest user message, \
            or only the day.";
        /// A counter before stable text.
        Counter = "counter",
            "A number counts in front of text that does not change. Send it after the stable \
            text.";
        /// A random id before stable text.
        RandomId = "random-id",
            "A new id is made in front of text that does not change. Keep it for the session, or \
            send it after the stable text.";
        /// A hash before stable text.
        Hash = "hash",
            "A hash changes in front of text that does not. Send it after the stable text.";
        /// Changing text before a marker that stable text could have.
        DynamicBeforeBoundary = "dynamic-before-boundary",
            "Text that changes stands in front of a marker together with text that does not. Move \
            it after the boundary, so that the stable part is read.";
        /// The system prompt changes.
        SystemChanged = "system-changed",
            "The system prompt changed, which loses everything from there on. Announce what is new \
            in the conversation instead.";
        /// A message that was sent before is sent differently.
        HistoryRewritten = "history-rewritten",
            "A message that was sent before came back with other bytes, which loses everything \
            from there on. Append instead of editing.";
        /// A setting before cached blocks changes.
        SettingChanged = "setting-changed",
            "A setting that is part of the cache key changed, which loses the system prompt \
            (speed, citations) or the messages (thinking, tool choice, effort, format, the first \
            image). Keep it for the session.";
        /// Beta features that are part of the cache key come or go.
        BetasChanged = "betas-changed",
            "The set of beta features is taken to be part of the cache key, in front of everything \
            (--assume betas=…). Once a session has asked for a feature, keep asking for it.";
        /// A marker has another TTL than in the previous request.
        TtlChanged = "ttl-changed",
            "A marker has another TTL than in the request before. Whether that loses what was \
            cached is not documented (--assume ttl-change=…); what is written costs another price \
            and lives for another time. It is a warning where that lost or cost anything here, and \
            else a note. Decide the TTL once a session.";
        /// An hour that was asked for and not granted.
        TtlNotGranted = "ttl-not-granted",
            "Markers ask for an hour, and usage says that five minutes were written: a gateway strips \
            `ttl`, or usage beyond a plan gets no hour. Have it sent on as it is.";
        /// Markers that the service never saw, or in another account each time.
        MarkersWithoutEffect = "markers-without-effect",
            "What was marked was never read, although it came again: a gateway drops `cache_control`, \
            or sends requests to accounts or regions in turn. Compare what it sends with what you \
            sent.";
        /// A result that was deleted on the server is no longer deleted.
        EditDropped = "edit-dropped",
            "A deletion (cache_edits) that the request before had is missing, so the result is \
            back, and what was cached after it is of no use. Send every edit again, in the message \
            in which it was first sent.";
        /// An edit deletes nothing.
        IdleEdit = "idle-edit",
            "A deletion (cache_edits) refers to no result in front of it, and deletes nothing.";
        /// Another model.
        ModelChanged = "model-changed",
            "Every model has caches of its own: after a change everything is written again, and once more for the \
            model that comes back. What its own prices make dearer or cheaper is not counted.";
        /// Conditional parts multiply the prefixes.
        PrefixVariants = "prefix-variants",
            "Each conditional in front of the conversation doubles the number of prefixes, and \
            each of them has to be written before it can be read. Move conditionals after the \
            boundary, or decide them once.";
        /// Text in front of shared text differs between sessions.
        DiffersBetweenSessions = "differs-between-sessions",
            "Sessions have the same text behind a part that differs, so that each writes it again. \
            Put what differs behind the shared text and its marker: users, folders and moments into \
            the messages, tools in one order.";
        /// A marker over a prefix that is too short to cache.
        BelowMinimum = "below-minimum",
            "The prefix under the marker is shorter than the model caches: it is neither written \
            nor read. Move the marker back, or save it.";
        /// An entry is too far before the marker to be found.
        BeyondLookback = "beyond-lookback",
            "A marker looks back over 20 positions. The last entry lay further back, so it was \
            written again. Set a second marker in between, or mark more often.";
        /// A marker's prefix changes every time and is never read.
        NeverRead = "never-read",
            "The marked block is different in every request, so what is written there is never \
            read. Move the marker to the last block that stays the same.";
        /// A request without a marker, although there was something to read.
        MarkerMissing = "marker-missing",
            "The request has no marker that takes effect after what the one before it had cached, \
            so it does not read that. Mark its last block.";
        /// A fork of a fork.
        NestedFork = "nested-fork",
            "A fork forks again; answer such a call with an error.";
        /// Text that looks as if it changed, although it did not here.
        LooksVolatile = "looks-volatile",
            "The text looks like a moment or a random id. If it changes between sessions, nothing \
            after it is shared by them.";
    }
    /// Explanation of the rule, and advice.
    pub fn explanation;
}

impl Rule {
    /// Severity of a finding of the rule.
    #[must_use]
    pub fn severity(self) -> Severity {
        match self {
            Self::TooManyMarkers
            | Self::TtlOrder
            | Self::TtlConflict
            | Self::UnmarkableBlock
            | Self::RequestRefused
            | Self::ThinkingRefused => Severity::Error,
            Self::IdleEdit | Self::ModelChanged | Self::LooksVolatile => Severity::Note,
            _ => Severity::Warning,
        }
    }

    /// Returns true if the rule compares requests, so that it says nothing if none follows another. The other rules
    /// look at each request on its own, or at thinking, which few models check.
    #[must_use]
    pub fn compares(self) -> bool {
        !matches!(
            self,
            Self::TooManyMarkers
                | Self::TtlOrder
                | Self::TtlConflict
                | Self::UnmarkableBlock
                | Self::RequestRefused
                | Self::ThinkingRefused
                | Self::ThinkingDropped
                | Self::IdleEdit
                | Self::BelowMinimum
                | Self::NestedFork
                | Self::LooksVolatile
        )
    }

    /// Strategy that keeps the cause of a rule constant, if there is one.
    #[must_use]
    pub fn latched_by(self) -> Option<&'static str> {
        match self {
            Self::SettingChanged | Self::BetasChanged => Some("latched-settings"),
            Self::TtlChanged => Some("latched-ttl"),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        let names: std::collections::BTreeSet<_> =
            Rule::ALL.iter().map(|rule| rule.name()).collect();
        assert_eq!(names.len(), Rule::ALL.len());
    }
}
