//! Client versions, compared as numbers.

use rustc_hash::FxHashMap;

use crate::base::id::Symbol;
use crate::requests::conversation::{History, Request};

/// `major.minor.patch`; missing or other parts count as 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct ClientVersion(u32, u32, u32);

impl ClientVersion {
    pub(super) const fn new(major: u32, minor: u32, patch: u32) -> Self {
        Self(major, minor, patch)
    }

    fn parse(text: &str) -> Self {
        let mut parts = text.split('.').map(|part| part.parse().unwrap_or(0));
        let mut next = || parts.next().unwrap_or(0);
        Self(next(), next(), next())
    }

    /// How far two versions are apart, the more important parts first.
    pub(super) fn distance(self, other: Self) -> (u32, u32, u32) {
        (self.0.abs_diff(other.0), self.1.abs_diff(other.1), self.2.abs_diff(other.2))
    }
}

/// The versions of the clients that sent the requests of a history.
pub(super) struct ClientVersions(FxHashMap<Option<Symbol>, ClientVersion>);

impl ClientVersions {
    /// Those of all requests.
    pub(super) fn of_all(history: &History) -> Self {
        let mut versions = FxHashMap::default();
        for request in history.of_transcripts() {
            versions.entry(request.client_version).or_insert_with(|| {
                ClientVersion::parse(history.text(request.client_version).unwrap_or_default())
            });
        }
        Self(versions)
    }

    /// The version of the client that sent a request.
    pub(super) fn of(&self, request: &Request) -> ClientVersion {
        self.0.get(&request.client_version).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_as_numbers() {
        assert!(ClientVersion::parse("2.1.9") < ClientVersion::parse("2.1.84"));
        assert!(ClientVersion::parse("2.1.150") > ClientVersion::parse("2.1.84"));
        assert_eq!(ClientVersion::parse("x.1"), ClientVersion::new(0, 1, 0));
    }
}
