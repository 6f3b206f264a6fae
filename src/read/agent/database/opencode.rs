//! opencode and its forks, such as Kilo: `opencode.db`, `kilo.db`.
//!
//! Version 1 keeps the content of its export in the tables `message` and `part`, each with its JSON in
//! `data`. Version 2 keeps a message for each request in `session_message` (`opencode_step.rs`).

use super::opencode_place::{Generation, Place, Places, SESSIONS};
use super::table::Table;
use super::{Database, DatabaseFormat, Failure, Row, json, opencode_step};
use crate::read::agent::AgentFile;
use crate::read::agent::opencode::{MessageInfo, Part, Parts, Session};

/// Database of opencode.
pub(super) struct OpenCode;

impl DatabaseFormat for OpenCode {
    fn program(&self) -> &'static str {
        "opencode"
    }

    fn recognises(&self, database: &Database) -> Result<bool, Failure> {
        let has_messages = database
            .has("message", &["id", "session_id", "time_created", "data"])?
            && database.has("part", &["id", "message_id", "data"])?;
        let has_steps = database.has("session_message", &["id", "session_id", "type", "data"])?;
        for name in SESSIONS {
            if database.has(name, &["id", "slug", "directory", "version"])? {
                return Ok(has_messages || has_steps);
            }
        }
        Ok(false)
    }

    fn tables(&self) -> &'static [(&'static str, &'static [&'static str])] {
        const SESSION: &[&str] = &["id", "parent_id", "slug", "directory", "version"];
        &[
            (SESSIONS[0], SESSION),
            (SESSIONS[1], SESSION),
            ("message", &["id", "session_id", "time_created", "data"]),
            ("part", &["id", "message_id", "data"]),
            ("session_message", &["id", "session_id", "time_created", "seq", "type", "data"]),
        ]
    }

    fn read(&self, database: &Database, file: &mut AgentFile) -> Result<(), Failure> {
        let places = Places::of(database, file)?;
        let mut messages = database.table("message", &["data"])?;
        let mut parts = database.table("part", &["data"])?;
        let mut steps = database.table("session_message", &["type", "data"])?;
        // Messages are in the order of sessions, so one session is held at a time.
        let mut current = (usize::MAX, Session::default());
        for (number, place) in places.messages().iter().enumerate() {
            if current.0 != place.session {
                current = (place.session, places.session(place.session));
            }
            let session = &mut current.1;
            match (place.generation, &mut messages, &mut steps) {
                (Generation::First, Some(messages), _) => {
                    let rowids = places.parts(number);
                    let mut message = MessageRow { parts: parts.as_mut(), rowids, session };
                    let mut result = Ok(());
                    messages
                        .take(place.rowid, file, |row, file| result = message.read(row, file))?;
                    result?;
                }
                (Generation::Second, _, Some(steps)) => {
                    steps.take(place.rowid, file, |row, file| {
                        opencode_step::add(row, session, file);
                    })?;
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// Context for reading a message of version 1.
struct MessageRow<'m, 'd> {
    parts: Option<&'m mut Table<'d>>,
    rowids: &'m [Place],
    session: &'m mut Session,
}

impl MessageRow<'_, '_> {
    fn read(&mut self, row: &Row<'_>, file: &mut AgentFile) -> Result<(), Failure> {
        let mut repaired = None;
        let info: MessageInfo<'_> = match json(row.bytes("data"), &mut repaired) {
            Ok(info) => info,
            Err((kind, detail)) => {
                file.reject(kind, row.line(), detail);
                return Ok(());
            }
        };
        let mut so_far = Parts::of(&info);
        for place in self.rowids {
            let Some(parts) = self.parts.as_mut() else { break };
            parts.take(place.rowid, file, |row, file| {
                let mut repaired = None;
                match json::<Part<'_>>(row.bytes("data"), &mut repaired) {
                    Ok(part) => so_far.add(&part, file),
                    Err((kind, detail)) => file.reject(kind, row.line(), detail),
                }
            })?;
        }
        file.line = row.line();
        self.session.message(&info, so_far, file);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::Fixture;
    use super::*;
    use crate::read::agent::AgentRequest;
    use crate::read::input::{Kind, Source};

    type Told<'a> = (&'a str, [u64; 4], bool);

    fn told<'a>(file: &'a AgentFile, one: &AgentRequest) -> Told<'a> {
        let prompt = one.usage.prompt;
        let tokens = [prompt.input, prompt.read, prompt.write_5m, one.usage.output];
        let session = one.session.map_or("", |session| file.symbols.text(session));
        (session, tokens.map(|tokens| tokens.0), one.begins_turn)
    }

    #[test]
    fn messages_of_both_versions_count_once() {
        let file = Fixture::file("agent-opencode-db/opencode.sql").read();
        let requests: Vec<_> = file.requests.iter().map(|one| told(&file, one)).collect();
        assert_eq!(
            requests,
            [
                // The output of the first step includes its reasoning: 10150 = 1000 + 9000 + 150.
                ("ses_1", [1_000, 9_000, 0, 150], true),
                ("ses_1", [200, 9_980, 0, 30], false),
                // 10400 = 300 + 9960 + 100 + 40.
                ("ses_1", [300, 9_960, 0, 140], false),
                // Version 2 leaves the reasoning out: 60 + 90.
                ("ses_1", [400, 10_210, 0, 150], true),
                ("ses_3", [2, 5_000, 700, 20], true),
                ("ses_3", [4, 0, 1_500, 15], false),
                ("ses_2", [3, 0, 4_000, 50], true),
            ]
        );
        assert_eq!(file.diagnostics.count(Kind::TornLine), 1);
    }

    #[test]
    fn steps_are_timed_by_the_parts_in_the_order_of_their_ids() {
        let file = Fixture::file("agent-opencode-db/opencode.sql").read();
        let times = |one: &AgentRequest| [one.start, one.finished].map(|at| at.get() % 100_000);
        let times: Vec<_> = file.requests.iter().take(2).map(times).collect();
        // The tool ended at 5000, and the message at 9000.
        assert_eq!(times, [[1_000, 5_000], [5_000, 9_000]]);
    }

    #[test]
    fn what_lies_between_requests_is_told_of_version_2_too() {
        let file = Fixture::file("agent-opencode-db/opencode.sql").read();
        let request = &file.requests[5];
        assert!(request.is_after_compaction && request.is_after_interruption);
        let sub_agent = &file.requests[6];
        assert_eq!(sub_agent.agent, sub_agent.session);
    }

    #[test]
    fn a_request_is_known_as_in_an_export() {
        let export = r#"{"info":{"id":"ses_1"},"messages":[{"info":{"role":"assistant","modelID":"gpt-5.5",
            "providerID":"openai","tokens":{"total":10400,"input":300,"output":100,"reasoning":40,
            "cache":{"read":9960,"write":0}},"time":{"created":1791194410000,"completed":1791194414000}},
            "parts":[]}]}"#;
        let source = Source::in_memory("export.json", export.as_bytes());
        let mut open = crate::read::input::OpenSource::open(&source).expect("a file");
        let format = open.first_lines().map(crate::read::Format::of);
        let Some(crate::read::Format::Agent(format)) = format else { panic!("an agent's") };
        let exported = (format.read)(&mut open);
        let file = Fixture::file("agent-opencode-db/opencode.sql").read();
        assert_eq!(file.requests[2].identity, exported.requests[0].identity);
        assert!(exported.requests[0].identity.is_some());
    }

    #[test]
    fn a_database_of_another_program_is_left() {
        let views = "CREATE TABLE t (id, session_id, time_created, message_id, data, slug, directory, version);
            CREATE VIEW session AS SELECT * FROM t; CREATE VIEW message AS SELECT * FROM t;
            CREATE VIEW part AS SELECT * FROM t;";
        let other = "CREATE TABLE session (id, user); CREATE TABLE message (id, data);";
        let virtual_ones =
            "CREATE VIRTUAL TABLE threads USING fts5(id, summary, updated_at, data_type, data);";
        for statements in [views, other, virtual_ones] {
            assert!(Fixture::of(statements).try_read().is_none(), "{statements}");
        }
    }
}
