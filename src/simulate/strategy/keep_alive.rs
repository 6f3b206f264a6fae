//! Keep-alive: a conversation that waits for its user is sent again before its entries expire.
//!
//! A client does not know when its user comes back, or whether: it pings until the limit, also
//! after the last request of a conversation.

use super::design::KeepAlive;
use super::plan::{Plan, Purpose, Role};
use crate::base::units::{Millis, Tokens};
use crate::requests::prompt::{Prompt, PromptTrace};

/// What a ping answers.
const PING_OUTPUT: Tokens = Tokens(1);

/// Adds the pings of every conversation.
pub(super) fn add_pings(plan: &mut Plan<'_>, pings: KeepAlive) {
    let trace = &*plan.trace;
    let ends = idle_until(trace);
    let mut added = Vec::new();
    for (place, prompt) in trace.prompts.iter().enumerate() {
        let Some(ping) = ping_of(trace, prompt).filter(|_| pings.agents || !prompt.is_agent) else {
            continue;
        };
        let Role::Recorded(after) = plan.role(place) else { continue };
        let role = Role::Added { after, purpose: Purpose::KeepAlive, output: PING_OUTPUT };
        let last = ends[place].map_or(pings.limit, |end| {
            // One that would be sent together with the next request is of no use.
            end.since(prompt.start).saturating_sub(1).min(pings.limit)
        });
        let count = last.checked_div(pings.every).unwrap_or(0);
        added.extend((1..=count).map(|number| {
            let start = Millis(prompt.start.0.saturating_add(number.saturating_mul(pings.every)));
            (Prompt { start, readable_from: start, ..ping.clone() }, role)
        }));
    }
    plan.add(added);
}

/// When the conversation goes on after each prompt, if it does, be it on another branch: nobody waits
/// after one that was left.
fn idle_until(trace: &PromptTrace) -> Vec<Option<Millis>> {
    let firsts = first_prompts(trace);
    let mut next: Vec<Option<Millis>> = vec![None; trace.prompts.len()];
    let mut ends = next.clone();
    for (place, prompt) in trace.prompts.iter().enumerate().rev() {
        ends[place] = next[firsts[place]].replace(prompt.start);
    }
    ends
}

/// The first prompt of the conversation that each belongs to.
fn first_prompts(trace: &PromptTrace) -> Vec<usize> {
    let mut firsts: Vec<usize> = Vec::with_capacity(trace.prompts.len());
    for (place, prompt) in trace.prompts.iter().enumerate() {
        let is_of_its_kind = |before: &usize| trace.prompts[*before].is_agent == prompt.is_agent;
        let before = prompt.predecessor.filter(is_of_its_kind);
        let first = before.and_then(|before| firsts.get(before)).copied();
        firsts.push(first.unwrap_or(place));
    }
    firsts
}

/// The request that reads what a prompt has cached, and nothing else; `None` where nothing is.
fn ping_of(trace: &PromptTrace, prompt: &Prompt) -> Option<Prompt> {
    let last = trace.markers_of(prompt).last().filter(|last| last.end >= prompt.minimum)?;
    let rare = prompt.rare_of_next();
    Some(Prompt { total: last.end, basis: last.basis, rare, ..prompt.clone() })
}
