//! Lifetime of markers, and the decisions about it that a session keeps (Claude Code 2.1.88, as documented).
//!
//! Eligibility for an hour is decided once, as is the list of sources that get it. The place of a request's source
//! on the list is checked each time, and so is Bedrock's switch.
//!
//! Cache markers, with their keys in the order of Claude Code 2.1.88, as documented.

use super::flags::{Flags, TtlFlags};
use super::raw::{ObjectWriter, quoted, write_object};
use crate::base::Ttl;

/// Decisions of a session.
#[derive(Debug, Default)]
pub(super) struct Latches {
    is_eligible: Option<bool>,
    allow_list: Option<Vec<String>>,
}

impl Latches {
    /// Marker of a block, if there is caching at all. Nothing is decided before a marker needs it.
    pub(super) fn marker(&mut self, scope: Scope, flags: &Flags<'_>) -> Option<Marker> {
        flags.has_caching.then(|| Marker { ttl: self.ttl(&flags.ttl), scope })
    }

    fn ttl(&mut self, flags: &TtlFlags<'_>) -> Ttl {
        if flags.has_bedrock_hour || (self.is_eligible(flags) && self.allows_source(flags)) {
            Ttl::OneHour
        } else {
            Ttl::FiveMinutes
        }
    }

    fn is_eligible(&mut self, flags: &TtlFlags<'_>) -> bool {
        // Latched: a lifetime that flips in mid-session would change the bytes of the prompt.
        *self.is_eligible.get_or_insert(flags.is_eligible)
    }

    fn allows_source(&mut self, flags: &TtlFlags<'_>) -> bool {
        let allow_list = self.allow_list.get_or_insert_with(|| {
            flags.allow_list.iter().map(|source| source.clone().into_owned()).collect()
        });
        let source = flags.query_source.as_deref();
        source.is_some_and(|source| allow_list.iter().any(|allowed| matches(allowed, source)))
    }
}

/// Returns true for the same name, or for a name that begins with the part before a trailing `*`.
fn matches(allowed: &str, source: &str) -> bool {
    match allowed.strip_suffix('*') {
        Some(prefix) => source.starts_with(prefix),
        None => source == allowed,
    }
}

/// Key of a marker.
pub(super) const CACHE_CONTROL: &str = "cache_control";

/// Readers of a prefix that a marker caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// Organisation, which is the default and not written.
    Organisation,
    /// Everyone: text that is the same in all installations.
    Global,
}

/// Marker: the prefix up to its block, the block included, is to be cached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Marker {
    pub(super) ttl: Ttl,
    pub(super) scope: Scope,
}

impl Marker {
    pub(super) fn write(self, block: &mut ObjectWriter<'_>) {
        write_object(block.member(CACHE_CONTROL), |marker| {
            marker.member("type").push_str("\"ephemeral\"");
            // Five minutes are the default, and not written.
            if self.ttl == Ttl::OneHour {
                marker.member("ttl").push_str(&quoted(self.ttl.name()));
            }
            if self.scope == Scope::Global {
                marker.member("scope").push_str("\"global\"");
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;

    fn flags(is_eligible: bool, allow_list: &[&'static str]) -> TtlFlags<'static> {
        TtlFlags {
            has_bedrock_hour: false,
            is_eligible,
            allow_list: allow_list.iter().copied().map(Cow::Borrowed).collect(),
            query_source: Some(Cow::Borrowed("sdk")),
        }
    }

    #[test]
    fn sources_match_by_name_or_by_what_they_begin_with() {
        for (allowed, source, is_match) in [
            ("sdk", "sdk", true),
            ("sdk", "sdk_extra", false),
            ("sdk*", "sdk_extra", true),
            ("sdk*", "sd", false),
            ("*", "", true),
            ("a*b", "a*b", true),
            ("a*b", "axb", false),
        ] {
            assert_eq!(matches(allowed, source), is_match, "{allowed} {source}");
        }
    }

    #[test]
    fn the_allow_list_is_not_kept_before_it_is_needed() {
        let mut latches = Latches::default();
        let bedrock = TtlFlags { has_bedrock_hour: true, ..flags(false, &[]) };
        assert_eq!(latches.ttl(&bedrock), Ttl::OneHour);
        assert_eq!(latches.ttl(&flags(true, &["sdk"])), Ttl::OneHour);
        assert_eq!(latches.ttl(&flags(false, &[])), Ttl::OneHour);

        let mut not_eligible = Latches::default();
        assert_eq!(not_eligible.ttl(&flags(false, &["sdk"])), Ttl::FiveMinutes);
        assert!(not_eligible.allow_list.is_none());
    }

    #[test]
    fn no_source_is_on_no_list() {
        let mut latches = Latches::default();
        let nobody = TtlFlags { query_source: None, ..flags(true, &["*"]) };
        assert_eq!(latches.ttl(&nobody), Ttl::FiveMinutes);
        assert_eq!(latches.ttl(&flags(true, &[])), Ttl::OneHour);
    }
}
