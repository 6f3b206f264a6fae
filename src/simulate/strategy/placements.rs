//! Markers that a design places, for a program that writes them into a request.

use super::design::{Design, Layout};
use super::layout::place;
use super::plan::Plan;
use super::{Strategy, StrategyKind};
use crate::base::{Ttl, TtlPlan};
use crate::requests::prompt::{Prompt, PromptTrace};
use crate::simulate::cache::{Lookback, Markers};

/// Marker that a design places in a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement {
    /// Number of blocks of the prompt that it marks, from the first one on.
    pub blocks: u32,
    /// Lifetime of the marked prefix.
    pub ttl: Ttl,
    /// True if it is the request's own marker and not a block's (automatic caching).
    pub is_automatic: bool,
}

/// Choice of markers: their places, their lifetimes, or both; the default one leaves them as they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MarkerDesign {
    layout: Layout,
    ttl: Option<TtlPlan>,
}

impl MarkerDesign {
    /// Markers of a strategy without any other changes, which one request can therefore show completely.
    pub fn of(strategy: &Strategy) -> Option<Self> {
        let StrategyKind::Counterfactual(design) = &strategy.kind else { return None };
        let Design { layout, ttl, .. } = *design;
        let is_alone = *design == Design { layout, ttl, ..Design::default() };
        (is_alone && *design != Design::default()).then_some(Self { layout, ttl })
    }

    /// Returns true if markers stay at their places.
    pub fn keeps_places(&self) -> bool {
        self.layout == Layout::AsRecorded
    }

    /// Returns true if sub-agents' requests have other lifetimes than those of main conversations.
    pub fn tells_agents_apart(&self) -> bool {
        self.ttl.is_some_and(|ttl| ttl.main != ttl.agents)
    }

    /// Markers of each prompt, in the order of its prefix.
    pub fn placements(&self, trace: &PromptTrace) -> Vec<Vec<Placement>> {
        if self.layout == Layout::Nowhere {
            return vec![Vec::new(); trace.prompts.len()];
        }
        let mut plan = Plan::recorded(trace);
        place(&mut plan, self.layout, Lookback::Positions);
        let trace = plan.trace;
        let lifetimes = self.ttl.map_or(Markers::AsRecorded, Markers::Fixed);
        let of_prompt = |prompt: &Prompt| {
            let markers = trace.markers_of(prompt).iter().map(|marker| {
                let node = trace.node(marker.node);
                let ttl = lifetimes.ttl(marker, node.level, prompt.is_agent);
                Placement {
                    blocks: node.blocks,
                    ttl: ttl.unwrap_or(Ttl::FiveMinutes),
                    is_automatic: marker.is_automatic,
                }
            });
            markers.collect()
        };
        trace.prompts.iter().map(of_prompt).collect()
    }
}
