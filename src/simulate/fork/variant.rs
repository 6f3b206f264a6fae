//! The ways to fork that are compared.

/// A part of a child's prompt after the parent's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// The parent's last answer.
    Assistant,
    /// The placeholders for the results of its calls.
    Placeholders,
    /// What the child is to do.
    Directive,
}

/// When siblings start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    /// When the response to the first child has begun, so that what it wrote can be read.
    Staggered,
    /// With the first child.
    AtOnce,
}

/// What of the parent's prompt children begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shares {
    /// Nothing: each has a prefix of its own.
    Nothing,
    /// What stands in front of the first result that they replace otherwise than the parent. Among
    /// themselves they decide alike.
    Kept,
    /// All of it.
    Everything,
}

/// A way to fork.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variant {
    /// The name in every output.
    pub name: &'static str,
    /// What it is, in words.
    pub meaning: &'static str,
    /// What of the parent's bytes the prompts begin with.
    pub(super) shares: Shares,
    /// What stands after the parent's prompt, in this order.
    pub(super) parts: [Part; 3],
    /// The part at whose end the marker is.
    pub(super) marker: Option<Part>,
    /// When siblings start.
    pub(super) start: Start,
}

/// Claude Code's order: in a message, results come before text.
const DIRECTIVE_LAST: [Part; 3] = [Part::Assistant, Part::Placeholders, Part::Directive];
const DIRECTIVE_FIRST: [Part; 3] = [Part::Assistant, Part::Directive, Part::Placeholders];

const fn fork(name: &'static str, meaning: &'static str, marker: Part, start: Start) -> Variant {
    let parts = DIRECTIVE_LAST;
    Variant { name, meaning, shares: Shares::Everything, parts, marker: Some(marker), start }
}

/// All of them; the first is what the others are compared with.
pub const VARIANTS: [Variant; 9] = [
    Variant {
        shares: Shares::Nothing,
        marker: None,
        ..fork(
            "separate",
            "prefixes of their own, nothing cached",
            Part::Directive,
            Start::Staggered,
        )
    },
    Variant {
        shares: Shares::Nothing,
        ..fork(
            "separate_cached",
            "prefixes of their own, each written",
            Part::Directive,
            Start::Staggered,
        )
    },
    fork(
        "placeholder",
        "marker on the last placeholder; siblings wait for the first child's response to begin",
        Part::Placeholders,
        Start::Staggered,
    ),
    fork(
        "placeholder_at_once",
        "the same, started together: none can read what another writes",
        Part::Placeholders,
        Start::AtOnce,
    ),
    fork(
        "directive",
        "marker on the directive: each writes all that follows the parent",
        Part::Directive,
        Start::Staggered,
    ),
    Variant {
        parts: DIRECTIVE_FIRST,
        ..fork(
            "directive_first",
            "directive in front of the placeholders, marker on the last of these",
            Part::Placeholders,
            Start::Staggered,
        )
    },
    fork(
        "skip_write",
        "marker on the last message shared with the parent (skip_cache_write)",
        Part::Assistant,
        Start::Staggered,
    ),
    fork("skip_write_at_once", "the same, started together", Part::Assistant, Start::AtOnce),
    Variant {
        shares: Shares::Kept,
        ..fork(
            "fresh_decisions",
            "as placeholder, but children replace other results than the parent did: what it keeps \
             is read, the rest of the parent's prompt is written anew",
            Part::Placeholders,
            Start::Staggered,
        )
    },
];
