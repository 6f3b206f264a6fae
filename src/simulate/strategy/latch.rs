//! Markers that keep the TTL with which their conversation began.

use super::plan::{Plan, Role};
use crate::requests::prompt::{Level, Step};

/// Gives every marker of a recorded request the TTL that markers of its level had when its conversation
/// began, or was switched to its model. Where no TTL is known of that, the markers stay as they are.
pub(super) fn latch_ttl(plan: &mut Plan<'_>, steps: &[Step]) {
    for place in 0..plan.trace.prompts.len() {
        let Role::Recorded(index) = plan.role(place) else { continue };
        let Some(first) = steps[steps[index].opening.0].ttl else { continue };
        let trace = plan.trace.to_mut();
        for marker in trace.prompts[place].markers.clone() {
            let node = trace.markers[marker].node;
            let ttl = match trace.nodes[node.index()].level {
                Level::System => first.system,
                Level::Messages => first.messages,
            };
            let marker = &mut trace.markers[marker];
            marker.ttl = marker.ttl.map(|_| ttl);
        }
    }
}
