//! Sample of the prefixes that sessions revealed, for each client version.
//!
//! For each version, the observations whose requests have the smallest digests are kept (bottom-k sampling).
//! This is a fair sample, the same in whatever order sessions come, and a long history does not displace the
//! newest clients: the earliest observations would be of versions that nobody uses any more.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::ops::Bound;

use blake2::digest::consts::U8;
use blake2::{Blake2b, Digest};
use rustc_hash::FxHashMap;

use super::ClientVersion;
use crate::base::{Symbol, Tokens};
use crate::requests::conversation::{History, Request};

/// Most observations of a kind that are kept of each client version. More add nothing, and slow a large
/// history down.
const MOST_OBSERVATIONS: usize = 128;

/// Observation of a session's prefix.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Observation {
    /// Digest of the request.
    digest: u64,
    /// Index of the request in the history.
    place: usize,
    pub(super) session: Symbol,
    pub(super) project: Option<Symbol>,
    pub(super) client_version: Option<Symbol>,
    pub(super) version: ClientVersion,
    /// Tokens that the first request of the chain read.
    pub(super) opening: Tokens,
    pub(super) read: Tokens,
}

impl Observation {
    /// Observation of the request at a place.
    pub(super) fn new(
        (history, place): (&History, usize),
        version: ClientVersion,
        opening: Tokens,
        read: Tokens,
    ) -> Self {
        let request = &history.requests[place];
        let Request { session, project, client_version, .. } = *request;
        let digest = digest(history, request);
        Self { digest, place, session, project, client_version, version, opening, read }
    }
}

/// Digest by which one request is as likely to be kept as any other.
fn digest(history: &History, request: &Request) -> u64 {
    let mut digest = Blake2b::<U8>::new();
    digest.update(history.text(request.message).unwrap_or_default());
    digest.update([0]);
    digest.update(history.text(request.request).unwrap_or_default());
    digest.update(request.finished.get().to_le_bytes());
    u64::from_le_bytes(digest.finalize().into())
}

/// Kind of observations that are comparable: on one model, and within main chains or within agents.
pub(super) type Kind = (Symbol, bool);

/// Kind of a request.
pub(super) fn kind(request: &Request) -> Kind {
    (request.model, request.agent.is_some())
}

/// Observations that are being collected: of each version those with the smallest digests.
#[derive(Default)]
pub(super) struct Sample(FxHashMap<(Kind, Option<Symbol>), BinaryHeap<Observation>>);

impl Sample {
    /// Adds an observation of a kind.
    pub(super) fn add(&mut self, kind: Kind, observation: Observation) {
        let kept = self.0.entry((kind, observation.client_version)).or_default();
        kept.push(observation);
        // A max-heap: the pop removes the largest digest.
        if kept.len() > MOST_OBSERVATIONS {
            kept.pop();
        }
    }

    /// Kept observations, in the order of the requests.
    pub(super) fn finish(self) -> Observations {
        let mut observations = Observations::default();
        for ((kind, client_version), kept) in self.0 {
            let mut kept = kept.into_vec();
            kept.sort_unstable_by_key(|one| one.place);
            for one in &kept {
                for scope in [Scope::All, Scope::Project(one.project)] {
                    let of_scope = observations.by_version.entry((kind, scope)).or_default();
                    of_scope.entry(one.version).or_default().push(*one);
                }
            }
            observations.of_client.insert((kind, client_version), kept);
        }
        // Versions may be the same number in several words.
        let of_versions = observations.by_version.values_mut().flat_map(BTreeMap::values_mut);
        of_versions.for_each(|list| list.sort_unstable_by_key(|one| one.place));
        observations
    }
}

/// Scope of the observations that are looked at.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Scope {
    All,
    /// Observations of one project, or of requests without a recorded project.
    Project(Option<Symbol>),
}

/// Observations by their versions.
type ByVersion = BTreeMap<ClientVersion, Vec<Observation>>;

/// Sample of the prefixes that sessions revealed.
#[derive(Default)]
pub(super) struct Observations {
    of_client: FxHashMap<(Kind, Option<Symbol>), Vec<Observation>>,
    by_version: FxHashMap<(Kind, Scope), ByVersion>,
}

impl Observations {
    /// Observations of other sessions with a request's client.
    pub(super) fn of_client(
        &self,
        request: &Request,
    ) -> impl Iterator<Item = &Observation> + Clone {
        let session = request.session;
        let of_client = self.of_client.get(&(kind(request), request.client_version));
        of_client
            .map(Vec::as_slice)
            .unwrap_or_default()
            .iter()
            .filter(move |one| one.session != session)
    }

    /// Last observation of the nearest client in another session of a request's project.
    pub(super) fn nearest_in_project(
        &self,
        request: &Request,
        version: ClientVersion,
        is_telling: impl Fn(&Observation) -> bool,
    ) -> Option<&Observation> {
        let of_project = self.by_version.get(&(kind(request), Scope::Project(request.project)))?;
        nearest(of_project, version, |one| one.session != request.session && is_telling(one))
    }

    /// Last observation of the nearest client in another session of any project.
    pub(super) fn nearest(
        &self,
        request: &Request,
        version: ClientVersion,
    ) -> Option<&Observation> {
        let of_all = self.by_version.get(&(kind(request), Scope::All))?;
        nearest(of_all, version, |one| one.session != request.session)
    }
}

/// Nearness of two versions: greater is nearer.
type Distance = Reverse<(u32, u32, u32)>;

/// Telling observation of the nearest version; the last one of several.
fn nearest(
    observations: &ByVersion,
    version: ClientVersion,
    is_telling: impl Fn(&Observation) -> bool,
) -> Option<&Observation> {
    let mut best: Option<(Distance, &Observation)> = None;
    // The versions come nearly in the order of distance, so that few are looked through.
    let older = observations.range(..=version).rev();
    let newer = observations.range((Bound::Excluded(version), Bound::Unbounded));
    for (other, of_version) in older.chain(newer) {
        let distance = Reverse(version.distance(*other));
        if best.is_some_and(|(found, _)| found > distance) {
            continue;
        }
        let Some(found) = of_version.iter().rev().find(|one| is_telling(one)) else { continue };
        let is_better =
            |(known, one): (Distance, &Observation)| (distance, found.place) > (known, one.place);
        if best.is_none_or(is_better) {
            best = Some((distance, found));
        }
    }
    best.map(|(_, found)| found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Symbols;

    /// Observations of versions, each as often as given, in one project of many sessions.
    fn observed(versions: &[(&str, usize)], symbols: &mut Symbols) -> Vec<Observation> {
        let each = versions.iter().flat_map(|(version, times)| vec![*version; *times]);
        let one = |(place, version): (usize, &str)| Observation {
            digest: (place as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15),
            place,
            session: symbols.intern(&format!("session {place}")),
            project: None,
            client_version: Some(symbols.intern(version)),
            version: ClientVersion::parse(version),
            opening: Tokens::ZERO,
            read: Tokens(place as u64),
        };
        each.enumerate().map(one).collect()
    }

    fn sampled(kind: Kind, observations: impl Iterator<Item = Observation>) -> Observations {
        let mut sample = Sample::default();
        observations.for_each(|one| sample.add(kind, one));
        sample.finish()
    }

    #[test]
    fn a_long_history_does_not_displace_what_new_clients_show() {
        let mut symbols = Symbols::default();
        let kind = (symbols.intern("model"), false);
        let all = observed(&[("2.1.80", 1_000), ("2.1.200", 3)], &mut symbols);
        let forward = sampled(kind, all.iter().copied());
        let backward = sampled(kind, all.iter().rev().copied());
        let [old, new] = ["2.1.80", "2.1.200"].map(|version| symbols.intern(version));
        let places = |observations: &Observations, version| -> Vec<usize> {
            observations.of_client[&(kind, Some(version))].iter().map(|one| one.place).collect()
        };
        assert_eq!(places(&forward, new), [1_000, 1_001, 1_002]);
        assert_eq!(places(&forward, old), places(&backward, old));
        let old = places(&forward, old);
        assert_eq!(old.len(), MOST_OBSERVATIONS);
        // From all of the history, and not from its beginning.
        assert!(
            old.iter().filter(|place| **place >= 500).count() > MOST_OBSERVATIONS / 4,
            "{old:?}"
        );
    }

    #[test]
    fn the_nearest_version_counts_and_of_it_the_last_session() {
        let mut symbols = Symbols::default();
        let kind = (symbols.intern("model"), false);
        let all =
            observed(&[("2.0.50", 2), ("2.1.9", 3), ("2.1.20", 2), ("3.0.10", 1)], &mut symbols);
        let observations = sampled(kind, all.into_iter());
        let by_version = &observations.by_version[&(kind, Scope::All)];
        let found = |version: &str, is_telling: fn(&Observation) -> bool| {
            nearest(by_version, ClientVersion::parse(version), is_telling).map(|one| one.place)
        };
        assert_eq!(found("2.1.10", |_| true), Some(4));
        assert_eq!(found("2.1.10", |one| one.place != 4), Some(3));
        assert_eq!(found("2.1.19", |_| true), Some(6));
        assert_eq!(found("2.1.10", |one| one.version < ClientVersion::parse("2.1")), Some(1));
        assert_eq!(found("9.9.9", |_| true), Some(7));
        assert_eq!(found("2.1.10", |_| false), None);
    }
}
