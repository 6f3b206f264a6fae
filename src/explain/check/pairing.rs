//! Pairing of the sessions of a run with the baseline's, and of their turns.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::base::{ByKey, Order as _, words};
use crate::explain::snapshot::{SnapshotSession, SnapshotTurn};

words! {
    /// Feature that identified a session in the baseline.
    pub enum MatchedBy {
        /// Id of the session.
        Id = "id";
        /// File of the session.
        File = "file";
        /// Order among the sessions that neither distinguishes.
        Order = "order";
    }
}

/// Session on both sides, by its indexes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionPair {
    /// Index in the baseline.
    pub before: usize,
    /// Index in the run.
    pub now: usize,
    /// Feature that identified it.
    pub by: MatchedBy,
}

/// Sessions of both sides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pairing {
    /// Sessions on both sides, in the order of the run.
    pub pairs: Vec<SessionPair>,
    /// Sessions of the run only, by index.
    pub new: Vec<usize>,
    /// Sessions of the baseline only, by index.
    pub gone: Vec<usize>,
}

impl Pairing {
    /// Finds each session of the run in the baseline: by its id, else by its file, else by its
    /// order among the remaining ones, if both sides have the same number left.
    pub fn new(before: &[SnapshotSession], now: &[SnapshotSession]) -> Self {
        let mut pairing = Self {
            pairs: Vec::new(),
            new: (0..now.len()).collect(),
            gone: (0..before.len()).collect(),
        };
        pairing.match_groups(MatchedBy::Id, |at| before[at].id.clone(), |at| now[at].id.clone());
        let file = |session: &SnapshotSession| session.files.first().map(ToString::to_string);
        pairing.match_groups(MatchedBy::File, |at| file(&before[at]), |at| file(&now[at]));
        // Files that moved keep their names.
        let name = |session: &SnapshotSession| {
            session.files.first().and_then(|file| file.rsplit('/').next().map(str::to_owned))
        };
        pairing.match_groups(MatchedBy::File, |at| name(&before[at]), |at| name(&now[at]));
        pairing.match_groups(MatchedBy::Order, |_| (), |_| ());
        pairing.pairs.order_by_key(|pair| pair.now);
        pairing
    }

    /// Pairs the remaining sessions of each key, in order, if both sides have the same number of them.
    fn match_groups<K: Ord + Missing>(
        &mut self,
        by: MatchedBy,
        before: impl Fn(usize) -> K,
        now: impl Fn(usize) -> K,
    ) {
        let mut groups: ByKey<K, (Vec<usize>, Vec<usize>)> = ByKey::new();
        for at in &self.gone {
            groups.entry(before(*at)).or_default().0.push(*at);
        }
        for at in &self.new {
            groups.entry(now(*at)).or_default().1.push(*at);
        }
        for (key, (before, now)) in groups {
            // A key that the sides have in different numbers identifies nothing.
            if !key.is_missing() && before.len() == now.len() {
                let pair = |(before, now)| SessionPair { before, now, by };
                self.pairs.extend(before.into_iter().zip(now).map(pair));
            }
        }
        let (mut old, mut new) = (FxHashSet::default(), FxHashSet::default());
        for pair in &self.pairs {
            old.insert(pair.before);
            new.insert(pair.now);
        }
        self.gone.retain(|at| !old.contains(at));
        self.new.retain(|at| !new.contains(at));
    }

    /// Index of the session of the baseline that is paired with one of the run.
    pub fn before(&self, now: usize) -> Option<usize> {
        let found = self.pairs.binary_search_by_key(&now, |pair| pair.now).ok()?;
        Some(self.pairs[found].before)
    }

    /// Number of sessions that were identified by a feature.
    pub fn count(&self, by: MatchedBy) -> usize {
        self.pairs.iter().filter(|pair| pair.by == by).count()
    }
}

/// Key that may be unknown.
trait Missing {
    fn is_missing(&self) -> bool {
        false
    }
}

impl Missing for String {}
impl Missing for () {}
impl Missing for Option<String> {
    fn is_missing(&self) -> bool {
        self.is_none()
    }
}

/// Pairs turns, by their indexes: by request ids that occur once on each side, the others in order
/// within the main chain and within each sub-agent. Sub-agents are identified by their ids, and
/// sub-agents with new ids by their order.
pub(super) fn pair_turns(before: &[SnapshotTurn], now: &[SnapshotTurn]) -> Vec<(usize, usize)> {
    let (old, new) = (by_request_id(before), by_request_id(now));
    let mut pairs: Vec<(usize, usize)> =
        new.iter().filter_map(|(id, now)| Some((*old.get(id)?, *now))).collect();
    let (paired_before, paired_now): (FxHashSet<usize>, FxHashSet<usize>) =
        pairs.iter().copied().unzip();
    let (mut old, mut new) = (chains(before, &paired_before), chains(now, &paired_now));
    // Sub-agents with known ids are identified by these, the others by the order of their first turns.
    let known: Vec<Option<&str>> =
        old.agents.iter().copied().filter(|agent| new.turns.contains_key(agent)).collect();
    for agent in known {
        let turns = old.turns.remove(&agent).into_iter().flatten();
        pairs.extend(turns.zip(new.turns.remove(&agent).into_iter().flatten()));
    }
    let left = |chains: &mut UnpairedChains<'_>| -> Vec<Vec<usize>> {
        let agents = std::mem::take(&mut chains.agents).into_iter();
        agents.filter_map(|agent| chains.turns.remove(&agent)).collect()
    };
    for (before, now) in left(&mut old).into_iter().zip(left(&mut new)) {
        pairs.extend(before.into_iter().zip(now));
    }
    pairs.order_by_key(|(_, now)| *now);
    pairs
}

/// Turns of the main chain and of each sub-agent.
struct UnpairedChains<'a> {
    /// Agents in the order of their first turns; `None` is the main chain.
    agents: Vec<Option<&'a str>>,
    turns: FxHashMap<Option<&'a str>, Vec<usize>>,
}

/// Turns that are not paired yet, by chain.
fn chains<'a>(turns: &'a [SnapshotTurn], paired: &FxHashSet<usize>) -> UnpairedChains<'a> {
    let mut chains = UnpairedChains { agents: Vec::new(), turns: FxHashMap::default() };
    for (at, turn) in turns.iter().enumerate() {
        let agent = turn.agent_id.as_deref();
        let of_agent = chains.turns.entry(agent).or_insert_with(|| {
            chains.agents.push(agent);
            Vec::new()
        });
        if !paired.contains(&at) {
            of_agent.push(at);
        }
    }
    chains
}

/// Turns whose request id is unique.
fn by_request_id(turns: &[SnapshotTurn]) -> FxHashMap<&str, usize> {
    let mut places: FxHashMap<&str, Option<usize>> = FxHashMap::default();
    for (at, turn) in turns.iter().enumerate() {
        if let Some(id) = turn.request_id.as_deref() {
            // An id that occurs twice identifies nothing.
            places.entry(id).and_modify(|place| *place = None).or_insert(Some(at));
        }
    }
    places.into_iter().filter_map(|(id, place)| Some((id, place?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Millis;
    use crate::explain::snapshot::ByStrategy;

    fn session(id: &str, file: &str) -> SnapshotSession {
        SnapshotSession {
            id: id.to_owned(),
            files: vec![file.into()],
            ..SnapshotSession::default()
        }
    }

    fn found(
        before: &[SnapshotSession],
        now: &[SnapshotSession],
    ) -> Vec<(usize, usize, &'static str)> {
        let pairing = Pairing::new(before, now);
        pairing.pairs.iter().map(|pair| (pair.before, pair.now, pair.by.name())).collect()
    }

    #[test]
    fn ids_come_before_files_and_files_before_order() {
        let before = [session("a", "x"), session("b", "y"), session("c", "z"), session("d", "w")];
        let now = [session("n", "y"), session("a", "other"), session("m", "q"), session("d", "x")];
        let expected = [(1, 0, "file"), (0, 1, "id"), (2, 2, "order"), (3, 3, "id")];
        assert_eq!(found(&before, &now), expected);
    }

    #[test]
    fn order_is_no_guess_where_the_numbers_differ() {
        let before = [session("a", "x")];
        let now = [session("b", "y"), session("c", "z")];
        let pairing = Pairing::new(&before, &now);
        assert_eq!((pairing.pairs.len(), pairing.new.len(), pairing.gone.len()), (0, 2, 1));
    }

    #[test]
    fn sub_agents_are_known_by_their_ids_and_else_by_their_order() {
        let turns = |agents: &[Option<&str>]| -> Vec<SnapshotTurn> {
            agents.iter().map(|agent| turn(None, *agent)).collect()
        };
        let before = turns(&[None, Some("a"), None]);
        let now = turns(&[None, Some("b"), Some("a"), None, Some("a")]);
        assert_eq!(pair_turns(&before, &now), [(0, 0), (1, 2), (2, 3)]);
        let before = turns(&[Some("x"), Some("y"), Some("x")]);
        let now = turns(&[Some("p"), Some("q"), Some("p")]);
        assert_eq!(pair_turns(&before, &now), [(0, 0), (1, 1), (2, 2)]);
        let before = [turn(Some("r1"), None), turn(Some("r2"), None)];
        let now = [turn(Some("r2"), None), turn(Some("r1"), None), turn(Some("r3"), None)];
        assert_eq!(pair_turns(&before, &now), [(1, 0), (0, 1)]);
    }

    fn turn(request: Option<&str>, agent: Option<&str>) -> SnapshotTurn {
        SnapshotTurn {
            request_id: request.map(str::to_owned),
            agent_id: agent.map(str::to_owned),
            model: String::new(),
            file: "f".into(),
            line: 1,
            start: Millis::new(0),
            figures: ByStrategy::default(),
            broken: None,
            counted: None,
            block: None,
            front: None,
            markers: Vec::new(),
            settings: None,
            answer_settings: None,
            refused: None,
        }
    }

    #[test]
    fn files_of_other_folders_are_known_by_their_names() {
        let (before, now) = ([session("a", "old/x.jsonl")], [session("b", "new/x.jsonl")]);
        assert_eq!(found(&before, &now), [(0, 0, "file")]);
        let (before, now) = (
            [session("a", "f"), session("b", "f"), session("c", "g")],
            [session("d", "f"), session("e", "f")],
        );
        assert_eq!(found(&before, &now), [(0, 0, "file"), (1, 1, "file")]);
    }
}
