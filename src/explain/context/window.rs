//! Contents of the context window of a conversation, request by request.

use rustc_hash::FxHashMap;

use super::Sources;
use super::segment::{ContextKind, SegmentId, SegmentTree};
use crate::base::{Order as _, Tokens};
use crate::requests::conversation::RequestIndex;
use crate::requests::prompt::{PromptTrace, Step};
use crate::simulate::ledger::{Ledger, Session};

/// Contents of the prompts of a session's main conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Windows {
    /// Kinds of content with most sent tokens, largest first.
    pub kinds: Vec<ContextKind>,
    /// True if these are sub-agents' prompts, because there are no others.
    pub is_of_agents: bool,
    /// Prompts, in the order of their answers.
    pub requests: Vec<Window>,
}

/// Contents of one prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// Request of the prompt.
    pub request: RequestIndex,
    /// Tokens of each of the kinds.
    pub tokens: Vec<Tokens>,
    /// Tokens of all other kinds.
    pub others: Tokens,
}

/// Windows of a session, by the `most` largest kinds of content. Sub-agents are left out unless there
/// are no others. `None` if the ledger lacks the record.
pub fn windows(
    ledger: &Ledger<'_>,
    steps: &[Step],
    trace: &PromptTrace,
    session: &Session,
    most: usize,
) -> Option<Windows> {
    let column = ledger.billed()?;
    let ratios = ledger.ratios();
    let sources = Sources { ledger, column, steps, trace, ratios };
    let mut tree = SegmentTree::default();
    let last_of = sources.prompts(&mut tree, session);
    let is_main = |index: &RequestIndex| ledger.history.request(*index).agent.is_none();
    let is_of_agents = !session.requests.iter().any(is_main);
    let is_shown = |index: &RequestIndex| is_of_agents || is_main(index);
    let requests: Vec<RequestIndex> = session.requests.iter().copied().filter(is_shown).collect();
    let kinds = largest_kinds(&tree, &requests, &last_of, most);
    let sums = KindSums::new(&tree, &kinds);
    let window = |request: &RequestIndex| {
        let last = last_of.get(request).copied()??;
        let tokens = sums.until(last).to_vec();
        let others = Tokens(tree.segment(last).end).saturating_sub(tokens.iter().copied().sum());
        Some(Window { request: *request, tokens, others })
    };
    let requests = requests.iter().filter_map(window).collect();
    Some(Windows { kinds, is_of_agents, requests })
}

/// Kinds with most sent tokens, over all requests.
fn largest_kinds(
    tree: &SegmentTree,
    requests: &[RequestIndex],
    last_of: &FxHashMap<RequestIndex, Option<SegmentId>>,
    most: usize,
) -> Vec<ContextKind> {
    // The number of prompts that contain a segment. Children come after their parents.
    let mut prompts = vec![0_u64; tree.segments.len()];
    for last in requests.iter().filter_map(|index| last_of.get(index).copied().flatten()) {
        prompts[last.0] += 1;
    }
    let mut sent: FxHashMap<ContextKind, u128> = FxHashMap::default();
    for (place, segment) in tree.segments.iter().enumerate().rev() {
        let times = prompts[place];
        if let Some(parent) = segment.parent {
            prompts[parent.0] += times;
        }
        let kind = tree.items[segment.item.0].kind;
        *sent.entry(kind).or_default() += u128::from(times) * u128::from(segment.tokens());
    }
    let mut kinds: Vec<(ContextKind, u128)> =
        sent.into_iter().filter(|(_, tokens)| *tokens > 0).collect();
    kinds.order_by_key(|(kind, tokens)| (std::cmp::Reverse(*tokens), *kind));
    kinds.truncate(most);
    kinds.into_iter().map(|(kind, _)| kind).collect()
}

/// Prefix sums: tokens of each kind from the beginning of a prompt to the end of a segment.
struct KindSums {
    width: usize,
    sums: Vec<Tokens>,
}

impl KindSums {
    fn new(tree: &SegmentTree, kinds: &[ContextKind]) -> Self {
        let mut all = Self { width: kinds.len(), sums: Vec::new() };
        // Parents come before their children, so their sums are complete.
        for segment in &tree.segments {
            let begin = all.sums.len();
            match segment.parent {
                Some(parent) => {
                    let from = parent.0 * all.width;
                    all.sums.extend_from_within(from..from + all.width);
                }
                None => all.sums.resize(begin + all.width, Tokens::ZERO),
            }
            let kind = tree.items[segment.item.0].kind;
            if let Some(place) = kinds.iter().position(|one| *one == kind) {
                all.sums[begin + place] += Tokens(segment.tokens());
            }
        }
        all
    }

    fn until(&self, last: SegmentId) -> &[Tokens] {
        &self.sums[last.0 * self.width..(last.0 + 1) * self.width]
    }
}
