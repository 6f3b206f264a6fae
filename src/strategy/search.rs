//! The cheapest of several designs for the history at hand, found by simulating each.

use enumset::EnumSet;
use rayon::prelude::*;

use super::design::{Anchor, Design, KeepAlive, Layout};
use super::run::{Material, Simulated, simulate_design};
use crate::ttl::{TierTtl, Ttl, TtlPlan};
use crate::units::Picodollars;

/// Which designs are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Search {
    /// Every layout of up to four anchors, with each TTL.
    Layout,
    /// Pings at the longest safe interval of each TTL, up to each of some limits.
    KeepAlive,
}

const MINUTE: i64 = 60 * 1_000;

/// Just before an entry expires; a ping takes a few seconds to be sent.
const SAFE_INTERVALS: [(Ttl, i64); 2] =
    [(Ttl::FiveMinutes, 4 * MINUTE + MINUTE / 2), (Ttl::OneHour, 55 * MINUTE)];

/// Limits of idle time, in minutes.
const LIMITS: [i64; 12] = [0, 10, 15, 20, 30, 45, 60, 120, 240, 480, 720, 1_440];

const TTLS: [TierTtl; 3] =
    [TierTtl::uniform(Ttl::FiveMinutes), TierTtl::MIXED, TierTtl::uniform(Ttl::OneHour)];

impl Search {
    fn candidates(self) -> Vec<Design> {
        match self {
            Self::Layout => layouts().collect(),
            Self::KeepAlive => keep_alives().collect(),
        }
    }
}

fn layouts() -> impl Iterator<Item = Design> {
    let all = EnumSet::<Anchor>::all().as_u8();
    (1..=all).map(EnumSet::<Anchor>::from_u8).flat_map(|anchors| {
        TTLS.map(|ttl| Design {
            layout: Layout::At(anchors),
            ttl: Some(TtlPlan::everywhere(ttl)),
            ..Design::default()
        })
    })
}

fn keep_alives() -> impl Iterator<Item = Design> {
    SAFE_INTERVALS.into_iter().flat_map(|(ttl, every)| {
        LIMITS.map(|minutes| Design {
            ttl: Some(TtlPlan::everywhere(TierTtl::uniform(ttl))),
            keep_alive: Some(KeepAlive { every, limit: minutes * MINUTE, agents: false }),
            ..Design::default()
        })
    })
}

/// Simulates every candidate and keeps the cheapest, of equal ones the first.
pub(super) fn cheapest(search: Search, material: Material<'_>) -> Simulated {
    let candidates = search.candidates();
    let costs: Vec<Picodollars> = candidates
        .par_iter()
        .map(|design| material.cost(&simulate_design(design, material)))
        .collect();
    let cheapest = costs.iter().zip(0..).min().map_or(0, |(_, place)| place);
    let design = candidates[cheapest].clone();
    Simulated { chosen: Some(design.clone()), ..simulate_design(&design, material) }
}
