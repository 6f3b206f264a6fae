//! A cache marker, with its keys in the order in which Claude Code 2.1.88 sends them, as
//! documented.

use super::writer::{ObjectWriter, quoted, write_object};
use crate::base::ttl::Ttl;

/// The key under which a marker stands.
pub(super) const CACHE_CONTROL: &str = "cache_control";

/// Who may read what a marker caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// The organisation, which is the default and not written.
    Organisation,
    /// Everyone: text that is the same in all installations.
    Global,
}

/// A marker: what stands before it, the marked block included, is to be cached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Marker {
    pub(super) ttl: Ttl,
    pub(super) scope: Scope,
}

impl Marker {
    pub(super) fn write(self, block: &mut ObjectWriter<'_>) {
        write_object(block.member(CACHE_CONTROL), |marker| {
            marker.member("type").push_str("\"ephemeral\"");
            if self.ttl == Ttl::OneHour {
                marker.member("ttl").push_str(&quoted(self.ttl.name()));
            }
            if self.scope == Scope::Global {
                marker.member("scope").push_str("\"global\"");
            }
        });
    }
}
