//! Program behind a resource.

use super::export::Resource;
use super::{Attributes, names};
use crate::base::{Client, Symbol};
use crate::read::agent::AgentFile;
use crate::read::input::{Shape, Text};

/// Service names of agents.
const AGENTS: [(&str, Client); 6] = [
    ("github-copilot", Client::Copilot),
    ("copilot-chat", Client::Copilot),
    ("claude-code", Client::ClaudeCode),
    ("gemini-cli", Client::Gemini),
    ("qwen-code", Client::Qwen),
    ("opencode", Client::OpenCode),
];

/// Program that reports, and the facts that apply to everything it reports.
#[derive(Clone, Copy, Debug)]
pub(super) struct Origin {
    pub(super) client: Client,
    pub(super) version: Option<Symbol>,
    /// Session, if the program has only one.
    pub(super) session: Option<Symbol>,
}

impl Origin {
    pub(super) fn of(resource: &Shape<Resource<'_>>, file: &mut AgentFile) -> Self {
        let untold = Attributes::default();
        let attributes = resource.0.as_ref().map_or(&untold, |resource| &resource.attributes);
        Self {
            client: client(&attributes.text(names::SERVICE)),
            version: file.symbol(&attributes.text(names::VERSION)),
            session: file.symbol(&attributes.text(names::SESSION)),
        }
    }
}

fn client(service: &Text<'_>) -> Client {
    let known = AGENTS.iter().find(|(name, _)| service.is(name));
    known.map_or(Client::OpenTelemetry, |(_, client)| *client)
}
