//! Agreement of the rules with the record: reads that other agents recorded, and reads under a
//! provider's rules.

use serde::Serialize;

use super::Provider;
use super::unmarked::Unmarked;
use crate::base::{ByKey, Tokens};
use crate::requests::conversation::History;
use crate::requests::prompt::PromptTrace;

/// Comparison of reads under the rules with recorded ones, over all requests but the first of each
/// session, whose read is an input of the simulation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RolloutAgreement {
    /// Number of compared requests.
    pub requests: u64,
    /// Requests whose reads differ by at most 1 % of the prompt.
    pub within_1_percent: u64,
    /// Requests whose reads differ by less than the rules' step.
    pub within_step: u64,
    /// Requests whose reads differ by less than the step that their session's record shows.
    pub within_recorded_step: u64,
    /// Sum of the cached tokens, as recorded.
    #[serde(rename = "recorded_cached_tokens")]
    pub recorded: Tokens,
    /// Sum of the cached tokens, by the rules.
    #[serde(rename = "simulated_cached_tokens")]
    pub simulated: Tokens,
    /// Sum of the absolute differences.
    #[serde(rename = "error_tokens")]
    pub error: Tokens,
    /// Requests that read less than half of what their predecessor sent, both in the record and
    /// under the rules.
    #[serde(rename = "lost_in_both")]
    pub both_lost: u64,
    /// Requests with such a loss only in the record: other machines, evictions, changed prompts.
    #[serde(rename = "lost_in_record_only")]
    pub only_recorded_lost: u64,
    /// Requests with such a loss only under the rules: prefixes that lived longer than assumed.
    #[serde(rename = "lost_under_rules_only")]
    pub only_simulated_lost: u64,
    /// Requests that read more than their predecessor sent: an unrecorded one came between.
    #[serde(skip)]
    pub beyond_predecessor: u64,
}

/// Compares the requests of the provider's models that were sent without markers.
pub fn agreement(history: &History, trace: &PromptTrace, provider: &Provider) -> RolloutAgreement {
    let mut agreement = RolloutAgreement::default();
    let Some(unmarked) = Unmarked::of(history, trace) else { return agreement };
    let outcomes = provider.rules.simulate(&unmarked.prompts(), false);
    let first = history.sent_with_markers().len();
    let steps = recorded_steps(history);
    for (place, outcome) in outcomes.iter().enumerate() {
        let request = &history.requests[first + place];
        let model = unmarked.model(place);
        // The read of a session's first request is an input of the simulation, so it would always agree.
        let Some(predecessor) = history.predecessor(request) else { continue };
        if provider.serves(model) {
            let of_session = steps.iter().filter(|((file, _), _)| *file == request.file);
            agreement.add(&Compared {
                recorded: request.recorded().prompt.read,
                simulated: outcome.read,
                prompt: request.prompt_total(),
                predecessor: predecessor.prompt_total(),
                step: provider.rules.counting().step,
                recorded_step: Tokens(of_session.map(|(_, step)| *step).max().unwrap_or(0)),
            });
        }
    }
    agreement
}

/// Request under the rules and in the record.
struct Compared {
    recorded: Tokens,
    simulated: Tokens,
    prompt: Tokens,
    predecessor: Tokens,
    step: Tokens,
    recorded_step: Tokens,
}

impl RolloutAgreement {
    fn add(&mut self, one: &Compared) {
        let error = one.recorded.abs_diff(one.simulated);
        self.requests += 1;
        self.within_1_percent += u64::from(Tokens(error.0 * 100) <= one.prompt);
        self.within_step += u64::from(error < one.step);
        self.within_recorded_step += u64::from(error < one.recorded_step.max(one.step));
        self.recorded += one.recorded;
        self.simulated += one.simulated;
        self.error += error;
        // Less than half of the predecessor, or of a prompt that has become shorter since.
        let is_lost = |read: Tokens| read.0 * 2 < one.predecessor.0.min(one.prompt.0);
        let recorded_is_lost = is_lost(one.recorded);
        let simulated_is_lost = is_lost(one.simulated);
        self.both_lost += u64::from(recorded_is_lost && simulated_is_lost);
        self.only_recorded_lost += u64::from(recorded_is_lost && !simulated_is_lost);
        self.only_simulated_lost += u64::from(!recorded_is_lost && simulated_is_lost);
        self.beyond_predecessor += u64::from(one.recorded > one.predecessor);
    }
}

/// Greatest common divisor of the differences between a model's recorded reads, over all of its sessions.
///
/// `None` if there are not two different reads.
pub fn recorded_step(history: &History, model: &str) -> Option<Tokens> {
    let steps = recorded_steps(history);
    let of_model = steps.iter().filter(|((_, name), _)| *name == model).map(|(_, step)| *step);
    let step = of_model.fold(0, greatest_common_divisor);
    (step > 0).then_some(Tokens(step))
}

/// Greatest common divisor of the differences between the recorded reads of each file and model.
fn recorded_steps(history: &History) -> ByKey<(usize, &str), u64> {
    let mut firsts: ByKey<(usize, &str), u64> = ByKey::new();
    let mut steps: ByKey<(usize, &str), u64> = ByKey::new();
    for request in history.sent_elsewhere() {
        let read = request.recorded().prompt.read;
        if read == Tokens::ZERO {
            continue;
        }
        let key = (request.file, history.symbols.text(request.model));
        let first = *firsts.entry(key).or_insert(read.0);
        let step = steps.entry(key).or_default();
        // Differences, as a constant offset is not part of the step.
        *step = greatest_common_divisor(*step, read.0.abs_diff(first));
    }
    steps
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}
