//! `cachesim.event/v1`: a line for each event of `watch`.

use std::io::{self, Write};

use serde::Serialize;

use super::super::write_line;
use super::event::{WatchEvent, WatchEventKind, WatchedNames};
use crate::base::Millis;

pub(in crate::report) const SCHEMA: &str = "cachesim.event/v1";

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::report) struct EventObject<'a> {
    /// The format and its version.
    schema: &'static str,
    /// Start of a break's request; for other events the time of notice.
    at: Millis,
    /// Session id; null for events of all sessions.
    session_id: Option<&'a str>,
    /// Sub-agent id; null in a main conversation.
    agent_id: Option<&'a str>,
    /// Name of the project, if recorded.
    project: Option<&'a str>,
    /// The event.
    event: &'a WatchEventKind,
}

impl WatchEvent<'_> {
    /// Writes the event for programs, as a line.
    ///
    /// # Errors
    /// Writing fails.
    pub fn write_json(&self, names: &WatchedNames, out: &mut dyn Write) -> io::Result<()> {
        let session = self.session.as_slice();
        let projects = names.projects(session);
        let [session] = session else { return write_line(&self.object(None), out) };
        let project = session.project().and_then(|path| projects.get(path));
        write_line(&self.object(project.map(String::as_str)), out)
    }

    fn object<'a>(&'a self, project: Option<&'a str>) -> EventObject<'a> {
        let session = self.session;
        EventObject {
            schema: SCHEMA,
            at: self.at,
            session_id: session.map(|session| session.id()),
            agent_id: session.and_then(|session| session.agent()),
            project,
            event: &self.kind,
        }
    }
}
