//! Sessions of other agents → requests of a history, in the order in which they were sent.

use std::sync::Arc;

use super::between::{Between, Trail};
use super::{History, InputFile, Request, RequestIndex};
use crate::base::id::{HasSymbols, Symbol};
use crate::read::agent::{AgentFile, AgentRequest};

/// A request, and where it stands.
struct Placed {
    file: usize,
    session: Symbol,
    request: AgentRequest,
    ends_turn: bool,
}

impl History {
    /// Adds the requests of other agents' sessions after all others. Each goes on from the one before it
    /// in its file.
    pub fn add_agents(&mut self, files: Vec<AgentFile>) {
        let first_file = self.files.len();
        let mut last_of_file = vec![None; files.len()];
        let mut placed: Vec<Placed> = Vec::new();
        for file in files {
            placed.extend(self.take_over_agent(file));
        }
        placed.sort_by_key(|one| (one.request.start, one.file, one.request.line));
        for one in placed {
            let index = RequestIndex(self.requests.len());
            let predecessor = last_of_file[one.file - first_file].replace(index);
            self.requests.push(request_of(&one, predecessor));
            self.of_agents.push(one.request);
        }
    }

    /// Moves a file's strings over to those of the history.
    fn take_over_agent(&mut self, file: AgentFile) -> Vec<Placed> {
        let symbols = self.symbols.absorb(file.symbols);
        let own_session = self.symbols.intern(&file.stem);
        self.bytes += file.extent.bytes;
        self.lines += file.extent.lines;
        self.diagnostics.absorb(file.diagnostics);
        self.files.push(InputFile { label: Arc::clone(&file.label), trail: Trail::default() });
        let number = self.files.len() - 1;
        let begin_turns: Vec<bool> = file.requests.iter().map(|one| one.begins_turn).collect();
        let place = |(index, mut request): (usize, AgentRequest)| {
            request.move_symbols(&symbols);
            Placed {
                file: number,
                session: request.session.unwrap_or(own_session),
                request,
                ends_turn: *begin_turns.get(index + 1).unwrap_or(&true),
            }
        };
        file.requests.into_iter().enumerate().map(place).collect()
    }
}

fn request_of(placed: &Placed, predecessor: Option<RequestIndex>) -> Request {
    let recorded = &placed.request;
    Request {
        message: None,
        request: None,
        model: recorded.model,
        vendor: recorded.vendor,
        session: placed.session,
        agent: None,
        client_version: recorded.client_version,
        project: recorded.project,
        branch: None,
        file: placed.file,
        line: recorded.line,
        start: recorded.start,
        answered: None,
        finished: recorded.finished,
        usage: Some(recorded.usage.clone()),
        output_is_lower_bound: false,
        ends_turn: placed.ends_turn,
        has_thinking: recorded.reasoning.0 > 0,
        came_at_once: false,
        has_text: false,
        answer_positions: 0,
        effort: None,
        agent_setting: None,
        verdict: None,
        predecessor,
        between: Between {
            has_prompt: recorded.begins_turn,
            has_compaction: recorded.is_after_compaction,
            has_interruption: recorded.is_after_interruption,
            ..Between::default()
        },
        fresh_replacement: None,
        recovered_results: 0,
        is_live: true,
    }
}
