//! Transcripts written line by line, for tests of what lies between two requests.

use serde_json::{Value, json};

const DAY: &str = "2026-08-03T00:00:00Z";

/// A transcript that grows.
#[derive(Clone)]
pub(super) struct Session {
    lines: Vec<String>,
    last: Option<String>,
    clock: i64,
    pub(super) version: &'static str,
    pub(super) model: &'static str,
    pub(super) id: &'static str,
    pub(super) agent: Option<&'static str>,
    /// Whether writes are for five minutes.
    pub(super) is_short: bool,
    pub(super) effort: Option<&'static str>,
    pub(super) is_fast: bool,
    pub(super) verdict: Option<&'static str>,
    /// Tokens that the service has deleted from the cache so far.
    pub(super) deleted: u64,
}

impl Session {
    pub(super) fn new() -> Self {
        Self {
            lines: Vec::new(),
            last: None,
            clock: 0,
            version: "2.1.219",
            model: "claude-opus-5",
            id: "s",
            agent: None,
            is_short: false,
            effort: None,
            is_fast: false,
            verdict: None,
            deleted: 0,
        }
    }

    /// Lets seconds pass.
    pub(super) fn wait(&mut self, seconds: i64) -> &mut Self {
        self.clock += seconds * 1_000;
        self
    }

    pub(super) fn at(&mut self, seconds: i64) -> &mut Self {
        self.clock = seconds * 1_000;
        self
    }

    /// The uuid of the last line of the chain.
    pub(super) fn last(&self) -> &str {
        self.last.as_deref().expect("a line")
    }

    /// Goes on from another line.
    pub(super) fn go_back_to(&mut self, uuid: &str) -> &mut Self {
        self.last = Some(uuid.to_owned());
        self
    }

    /// Adds a line of the chain and returns its uuid.
    pub(super) fn line(&mut self, fields: &Value) -> String {
        let uuid = format!("{}-{}{}", self.id, self.agent.unwrap_or("main"), self.lines.len());
        let day: jiff::Timestamp = DAY.parse().expect("a moment");
        let at = day + jiff::SignedDuration::from_millis(self.clock);
        let mut line = json!({
            "uuid": uuid, "parentUuid": self.last, "sessionId": self.id, "cwd": "/w/demo",
            "version": self.version, "timestamp": format!("{at:.3}"),
            "isSidechain": self.agent.is_some(), "agentId": self.agent,
        });
        let object = line.as_object_mut().expect("an object");
        object.extend(fields.as_object().expect("fields").clone());
        self.lines.push(line.to_string());
        self.last = Some(uuid.clone());
        uuid
    }

    /// A line that is no part of the chain's JSON.
    pub(super) fn raw(&mut self, line: &str) -> &mut Self {
        self.lines.push(line.to_owned());
        self
    }

    pub(super) fn prompt(&mut self, text: &str) -> &mut Self {
        self.line(&json!({"type": "user", "message": {"role": "user", "content": text}}));
        self
    }

    pub(super) fn result(&mut self) -> &mut Self {
        self.result_of(&json!("done"))
    }

    pub(super) fn result_of(&mut self, content: &Value) -> &mut Self {
        let block = json!({"type": "tool_result", "tool_use_id": "t", "content": content});
        self.line(&json!({"type": "user", "message": {"role": "user", "content": [block]}}));
        self
    }

    pub(super) fn system(&mut self, subtype: &str) -> &mut Self {
        self.line(&json!({"type": "system", "subtype": subtype, "content": "x"}));
        self
    }

    pub(super) fn attachment(&mut self, attachment: &Value) -> &mut Self {
        self.line(&json!({"type": "attachment", "attachment": attachment}));
        self
    }

    /// An answer two seconds later, in the middle of a turn.
    pub(super) fn call(&mut self, id: &str, read: u64, written: u64) -> String {
        self.answer(
            id,
            read,
            written,
            "tool_use",
            &[json!({"type": "tool_use", "id": "t", "name": "Bash", "input": {}})],
        )
    }

    /// An answer two seconds later that ends its turn.
    pub(super) fn end(&mut self, id: &str, read: u64, written: u64) -> String {
        self.answer(id, read, written, "end_turn", &[json!({"type": "text", "text": "done"})])
    }

    pub(super) fn answer(
        &mut self,
        id: &str,
        read: u64,
        written: u64,
        stop: &str,
        content: &[Value],
    ) -> String {
        self.wait(2);
        let (short, long) = if self.is_short { (written, 0) } else { (0, written) };
        let diagnostics = self.verdict.take().map(
            |reason| json!({"cache_miss_reason": {"type": reason, "cache_missed_input_tokens": 9}}),
        );
        let speed = if self.is_fast { "fast" } else { "standard" };
        self.line(&json!({
            "type": "assistant", "requestId": format!("req_{id}"), "effort": self.effort,
            "message": {
                "id": format!("msg_{id}"), "role": "assistant", "model": self.model,
                "content": content, "stop_reason": stop, "diagnostics": diagnostics,
                "usage": {
                    "input_tokens": 2, "cache_read_input_tokens": read,
                    "cache_creation_input_tokens": written, "output_tokens": 10, "speed": speed,
                    "cache_deleted_input_tokens": self.deleted,
                    "cache_creation": {
                        "ephemeral_5m_input_tokens": short, "ephemeral_1h_input_tokens": long,
                    },
                },
            },
        }))
    }

    pub(super) fn text(&self) -> String {
        let mut text = self.lines.join("\n");
        text.push('\n');
        text
    }
}
