//! Search for the cheapest of several designs for the history at hand, by simulating each
//! (exhaustive search).

use enumset::EnumSet;
use rayon::prelude::*;

use super::design::{Anchor, Design, KeepAlive, Layout};
use super::run::{ChainCosts, Material, Prepared, Simulated};
use crate::base::{TierTtl, Ttl, TtlPlan};

/// Set of designs that are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Search {
    /// Every layout of up to four anchors, with each TTL.
    Layout,
    /// Pings at the longest safe interval of each TTL, up to each of several limits.
    KeepAlive,
}

const MINUTE: i64 = 60 * 1_000;

/// Intervals that end just before an entry expires, as it takes a few seconds to send a ping.
const SAFE_INTERVALS: [(Ttl, i64); 2] =
    [(Ttl::FiveMinutes, 4 * MINUTE + MINUTE / 2), (Ttl::OneHour, 55 * MINUTE)];

/// Limits of idle time, in minutes; zero means no pings.
const LIMITS: [i64; 8] = [0, 15, 30, 60, 120, 240, 480, 1_440];

/// Largest number of pings in a series.
///
/// Longer ones never pay: reads cost a tenth of the input, so twenty pings cost as much as writing
/// again for an hour.
const MOST_PINGS: i64 = 60;

const TTLS: [TierTtl; 3] =
    [TierTtl::uniform(Ttl::FiveMinutes), TierTtl::MIXED, TierTtl::uniform(Ttl::OneHour)];

/// Design with one TTL everywhere, and its cost.
struct Tried {
    design: Design,
    ttl: TierTtl,
    cost: ChainCosts,
}

impl Search {
    /// Designs to try, each with its TTLs.
    fn candidates(self) -> Vec<(Design, Vec<TierTtl>)> {
        match self {
            Self::Layout => layouts().collect(),
            Self::KeepAlive => keep_alives().collect(),
        }
    }
}

fn layouts() -> impl Iterator<Item = (Design, Vec<TierTtl>)> {
    let all = EnumSet::<Anchor>::all().as_u8();
    (1..=all)
        .map(EnumSet::<Anchor>::from_u8)
        .map(|anchors| (Design { layout: Layout::At(anchors), ..Design::default() }, TTLS.to_vec()))
}

fn keep_alives() -> impl Iterator<Item = (Design, Vec<TierTtl>)> {
    SAFE_INTERVALS.into_iter().flat_map(|(ttl, every)| {
        let limits = LIMITS.into_iter().map(|minutes| minutes * MINUTE);
        let is_sensible =
            move |limit: &i64| *limit == 0 || (1..=MOST_PINGS).contains(&(limit / every));
        limits.filter(is_sensible).map(move |limit| {
            let pings = (limit > 0).then_some(KeepAlive { every, limit, agents: false });
            let design = Design { keep_alive: pings, ..Design::default() };
            (design, vec![TierTtl::uniform(ttl)])
        })
    })
}

/// Simulates every candidate and keeps the cheapest, the first one of equals.
pub(super) fn cheapest(search: Search, material: Material<'_>) -> Simulated {
    let tried: Vec<Tried> = search
        .candidates()
        .into_par_iter()
        .flat_map_iter(|(design, ttls)| {
            let prepared = Prepared::new(&design, material);
            let try_one = move |ttl| {
                let simulated = prepared.simulate(Some(TtlPlan::everywhere(ttl)), material);
                Tried { design: design.clone(), ttl, cost: material.costs(&simulated) }
            };
            ttls.into_iter().map(try_one)
        })
        .collect();
    let design = cheapest_of(&tried);
    // Simulated again, as keeping the outcomes of every candidate would take their memory.
    let simulated = Prepared::new(&design, material).simulate(design.ttl, material);
    let choices = vec![design.in_words(material.assumptions.lifetimes)];
    Simulated { chosen: Some(design), choices, ..simulated }
}

/// Cheapest design for main conversations, with the cheapest TTL for sub-agents under the same layout.
///
/// The two share next to nothing, and pings are for main conversations only.
fn cheapest_of(tried: &[Tried]) -> Design {
    let whole = |main: &Tried| {
        let agents = tried
            .iter()
            .filter(|other| other.design.layout == main.design.layout)
            .min_by_key(|other| other.cost.agents)?;
        let plan = TtlPlan { main: main.ttl, agents: agents.ttl };
        Some((main.cost.main + agents.cost.agents, plan))
    };
    let all = tried.iter().filter_map(|main| Some((whole(main)?, &main.design)));
    all.min_by_key(|((cost, _), _)| *cost).map_or_else(Design::default, |((_, plan), design)| {
        Design { ttl: Some(plan), ..design.clone() }
    })
}
