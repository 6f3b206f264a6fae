//! Responses that occur only inside progress lines: sub-agents whose own file is missing.

use rustc_hash::FxHashMap;

use super::between::Between;
use super::file::FileResponse;
use super::graph::Graph;
use super::response::{ResponseKey, ResponseLines};
use super::trail::{Call, Calls, Trail};
use crate::base::id::Symbol;
use crate::read::transcript::{Entry, EntryKind, NestedContent};

#[derive(Default)]
struct Agent {
    latest: Option<usize>,
    between: Between,
}

/// The nested responses of a file in the order of their first lines. Whether one has a line of its
/// own elsewhere is only known when all files are.
///
/// `predecessor` counts within this list.
pub(super) fn nested_responses(
    entries: &[Entry],
    graph: &Graph,
    trail: &mut Trail,
    calls: &mut Calls,
) -> Vec<FileResponse> {
    let mut responses: Vec<FileResponse> = Vec::new();
    let mut by_key: FxHashMap<ResponseKey, usize> = FxHashMap::default();
    let mut agents: FxHashMap<Option<Symbol>, Agent> = FxHashMap::default();
    for (entry, link) in entries.iter().zip(&graph.links) {
        let EntryKind::Progress(Some(nested)) = &entry.kind else {
            continue;
        };
        let agent = agents.entry(nested.agent).or_default();
        // The line before it, which may have been the agent's, is missing.
        agent.between.has_hole |= link.missing.is_some();
        let line = match &nested.content {
            NestedContent::Response(line) => line,
            NestedContent::User(user) => {
                let between = &mut agent.between;
                between.user_messages += 1;
                between.newest_user_entry = between.newest_user_entry.max(entry.timestamp);
                between.trail = trail.go_on_with_user(between.trail, entry.line, user, calls);
                continue;
            }
        };
        calls.extend(line.tool_uses.iter().map(|call| {
            let caller = None;
            (call.id, Call { tool: call.tool, caller })
        }));
        let key = ResponseKey::of(line, entry.session);
        if let Some(known) = by_key.get(&key) {
            responses[*known].lines.add(line.clone(), entry.timestamp);
            continue;
        }
        responses.push(FileResponse {
            key,
            file: 0,
            lines: ResponseLines::begin(line.clone(), entry.line, entry.timestamp),
            session: entry.session,
            agent: nested.agent,
            is_sidechain: true,
            is_forked: entry.is_forked,
            client_version: entry.client_version,
            project: entry.project,
            branch: entry.branch,
            agent_setting: None,
            predecessor: agent.latest,
            continues: None,
            has_gap: false,
            is_fork: false,
            between: std::mem::take(&mut agent.between),
            recovered_results: 0,
            is_live: true,
            is_nested: true,
        });
        by_key.insert(key, responses.len() - 1);
        agent.latest = Some(responses.len() - 1);
    }
    skip_responses_without_usage(&mut responses);
    responses
}

/// A response without usage is no request: the chain goes on over it.
fn skip_responses_without_usage(responses: &mut [FileResponse]) {
    for index in 0..responses.len() {
        // A predecessor comes earlier, so its own predecessor is right already.
        if let Some(before) = responses[index].predecessor
            && responses[before].lines.usage.is_err()
        {
            responses[index].predecessor = responses[before].predecessor;
            responses[index].between.has_hole = true;
        }
    }
}
