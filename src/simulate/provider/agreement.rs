//! The rules against the record: what Codex reported as cached, and what a provider's rules give.

use std::collections::BTreeMap;

use super::Provider;
use crate::base::units::Tokens;
use crate::requests::prompt::SharedPrefix;
use crate::simulate::cache::{TokenRatio, simulate_automatic};
use crate::simulate::rollout::{Rollout, RolloutTrace, build};

/// How reads under the rules compare with those recorded, over all requests but the first of each
/// session, whose read the simulation is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RolloutAgreement {
    /// Requests compared.
    pub requests: u64,
    /// Those whose reads differ by no more than 1 % of the prompt.
    pub within_1_percent: u64,
    /// Those whose reads differ by less than the rules' step.
    pub within_step: u64,
    /// Those whose reads differ by less than the step that the record of their session shows.
    pub within_recorded_step: u64,
    /// All that was read.
    pub recorded: Tokens,
    /// All that is read under the rules.
    pub simulated: Tokens,
    /// The differences, without their signs.
    pub error: Tokens,
    /// Requests that read less than half of what their predecessor sent, in the record and under
    /// the rules.
    pub both_lost: u64,
    /// In the record only: other machines, evictions, changed prompts.
    pub only_recorded_lost: u64,
    /// Under the rules only: prefixes that lived longer than assumed.
    pub only_simulated_lost: u64,
    /// Requests that read more than their predecessor sent: one that was not recorded came between.
    pub beyond_predecessor: u64,
}

/// Compares the requests of the provider's models.
#[must_use]
pub fn agreement(rollouts: &[Rollout], provider: &Provider) -> RolloutAgreement {
    let RolloutTrace { trace, requests, predecessors, symbols } =
        build(rollouts, SharedPrefix::Auto);
    let outcomes = simulate_automatic(&trace, &provider.policy(false), |_| TokenRatio::ONE);
    let steps: Vec<Tokens> = rollouts.iter().map(recorded_step_of_session).collect();
    let mut agreement = RolloutAgreement::default();
    for (index, prompt) in trace.prompts.iter().enumerate() {
        let (rollout, number) = requests[index];
        let recorded = rollouts[rollout].requests[number].cached;
        let (Some(recorded), Some(predecessor)) = (recorded, predecessors[index]) else { continue };
        if provider.serves(symbols.text(prompt.model)) {
            agreement.add(&ComparedRequest {
                recorded,
                simulated: outcomes[index].read,
                prompt: prompt.total,
                predecessor: trace.prompts[predecessor].total,
                step: provider.cache.step,
                recorded_step: steps[rollout],
            });
        }
    }
    agreement
}

/// One request under the rules and in the record.
struct ComparedRequest {
    recorded: Tokens,
    simulated: Tokens,
    prompt: Tokens,
    predecessor: Tokens,
    step: Tokens,
    recorded_step: Tokens,
}

impl RolloutAgreement {
    fn add(&mut self, one: &ComparedRequest) {
        let error = one.recorded.abs_diff(one.simulated);
        self.requests += 1;
        self.within_1_percent += u64::from(Tokens(error.0 * 100) <= one.prompt);
        self.within_step += u64::from(error < one.step);
        self.within_recorded_step += u64::from(error < one.recorded_step.max(one.step));
        self.recorded += one.recorded;
        self.simulated += one.simulated;
        self.error += error;
        let is_lost = |read: Tokens| read.0 * 2 < one.predecessor.0.min(one.prompt.0);
        let recorded_is_lost = is_lost(one.recorded);
        let simulated_is_lost = is_lost(one.simulated);
        self.both_lost += u64::from(recorded_is_lost && simulated_is_lost);
        self.only_recorded_lost += u64::from(recorded_is_lost && !simulated_is_lost);
        self.only_simulated_lost += u64::from(!recorded_is_lost && simulated_is_lost);
        self.beyond_predecessor += u64::from(one.recorded > one.predecessor);
    }
}

/// The largest step that all recorded reads of a model are apart by, in all of its sessions; `None`
/// where there are not two different ones.
#[must_use]
pub fn recorded_step(rollouts: &[Rollout], model: &str) -> Option<Tokens> {
    let of_model = |rollout: &Rollout| steps_by_model(rollout).get(model).copied();
    let step = rollouts.iter().filter_map(of_model).fold(0, greatest_common_divisor);
    (step > 0).then_some(Tokens(step))
}

/// The coarsest step of the session's models.
fn recorded_step_of_session(rollout: &Rollout) -> Tokens {
    Tokens(steps_by_model(rollout).into_values().max().unwrap_or(0))
}

fn steps_by_model(rollout: &Rollout) -> BTreeMap<&str, u64> {
    let mut firsts: BTreeMap<&str, u64> = BTreeMap::new();
    let mut steps: BTreeMap<&str, u64> = BTreeMap::new();
    for request in &rollout.requests {
        let Some(read) = request.cached.filter(|read| *read > Tokens::ZERO) else { continue };
        let model = rollout.symbols.text(request.model);
        let first = *firsts.entry(model).or_insert(read.0);
        let step = steps.entry(model).or_default();
        *step = greatest_common_divisor(*step, read.0.abs_diff(first));
    }
    steps
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}
