//! Transcripts of tool loops whose sizes come out even: every piece of content has 500 tokens.

use std::fmt::Write as _;

use cachesim::base::units::Millis;
use cachesim::read::input::Source;
use cachesim::read::transcript::load;
use cachesim::requests::conversation::{History, build, join};

/// Begins at this moment.
const DAY: i64 = 1_785_715_200_000;

/// What a piece of content of 500 tokens is written as: at 2,400 bytes for 1,000 tokens it has 1,200
/// bytes, of which 40 frame it.
const TEXT: usize = 1_160;

/// A transcript that grows. Every answer has 100 tokens; what was recorded of a prompt is what the
/// rules say, for an hour and with two tokens after the marker.
pub(super) struct Session {
    text: String,
    lines: usize,
    minutes: i64,
    total: u64,
    /// The end of the last prompt's cached prefix.
    cached: u64,
    /// The line of the last answer, after which its calls are named.
    answered: usize,
    agent: bool,
}

impl Session {
    pub(super) fn new() -> Self {
        Self {
            text: String::new(),
            lines: 0,
            minutes: 0,
            total: 0,
            cached: 0,
            answered: 0,
            agent: false,
        }
    }

    /// A sub-agent's conversation.
    pub(super) fn of_agent() -> Self {
        Self { agent: true, ..Self::new() }
    }

    /// Lets minutes pass.
    pub(super) fn wait(&mut self, minutes: i64) -> &mut Self {
        self.minutes += minutes;
        self
    }

    fn line(&mut self, seconds: i64, fields: &str) {
        let parent = self
            .lines
            .checked_sub(1)
            .map_or_else(|| "null".to_owned(), |before| format!("\"u{before}\""));
        let at = Millis::new(DAY + self.minutes * 60_000 + seconds * 1_000);
        let agent = if self.agent { r#""isSidechain":true,"agentId":"g","# } else { "" };
        writeln!(
            self.text,
            r#"{{"uuid":"u{}","parentUuid":{parent},{agent}"sessionId":"s","version":"2.1.219","timestamp":"{at}",{fields}}}"#,
            self.lines,
        )
        .expect("a string takes everything");
        self.lines += 1;
    }

    /// The user types a prompt.
    pub(super) fn prompt(&mut self) -> &mut Self {
        let text = "x".repeat(TEXT);
        let fields = format!(r#""type":"user","message":{{"role":"user","content":"{text}"}}"#);
        self.line(0, &fields);
        self.total += 500;
        self
    }

    /// The results of the last answer's calls.
    pub(super) fn results(&mut self, count: usize) -> &mut Self {
        let answered = self.answered;
        // With its quotes.
        let text = "x".repeat(TEXT - 2);
        let block = |call| {
            format!(
                r#"{{"type":"tool_result","tool_use_id":"t{answered}-{call}","content":"{text}"}}"#
            )
        };
        let blocks: Vec<String> = (0..count).map(block).collect();
        let blocks = blocks.join(",");
        let fields = format!(r#""type":"user","message":{{"role":"user","content":[{blocks}]}}"#);
        self.line(0, &fields);
        self.total += 500 * count as u64;
        self
    }

    /// What a compaction leaves: a summary of 500 tokens.
    pub(super) fn compact(&mut self) -> &mut Self {
        self.line(0, r#""type":"system","subtype":"compact_boundary""#);
        let text = "x".repeat(TEXT);
        let fields = format!(
            r#""type":"user","isCompactSummary":true,"message":{{"role":"user","content":"{text}"}}"#
        );
        self.line(0, &fields);
        self.total = 9_500 + 500;
        self
    }

    /// The first answer: 8,000 tokens of its prompt were warm, and 9,500 stand in front of the
    /// first message.
    pub(super) fn open(&mut self, tool: &str, calls: usize) -> &mut Self {
        self.total += 9_500;
        self.answer(tool, calls, 8_000)
    }

    /// An answer two seconds later, whose prompt reads all that was cached.
    pub(super) fn call(&mut self, tool: &str, calls: usize) -> &mut Self {
        self.answer(tool, calls, self.cached)
    }

    /// An answer whose prompt reads so much; without calls it ends the turn.
    pub(super) fn answer(&mut self, tool: &str, calls: usize, read: u64) -> &mut Self {
        let number = self.lines;
        self.answered = number;
        let use_of = |call| {
            format!(r#"{{"type":"tool_use","id":"t{number}-{call}","name":"{tool}","input":{{}}}}"#)
        };
        let mut blocks: Vec<String> = (0..calls).map(use_of).collect();
        if calls == 0 {
            blocks.push(r#"{"type":"text","text":"done"}"#.to_owned());
        }
        let stop = if calls == 0 { "end_turn" } else { "tool_use" };
        let written = self.total - 2 - read;
        let fields = format!(
            r#""type":"assistant","requestId":"r{number}","message":{{"id":"m{number}","model":"claude-opus-5","stop_reason":"{stop}","content":[{}],"usage":{{"input_tokens":2,"cache_read_input_tokens":{read},"cache_creation_input_tokens":{written},"cache_creation":{{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":{written}}},"output_tokens":100}}}}"#,
            blocks.join(","),
        );
        self.line(2, &fields);
        self.cached = self.total - 2;
        self.total += 100;
        self.wait(1)
    }

    pub(super) fn history(&self) -> History {
        let source = Source::in_memory("session.jsonl", self.text.as_bytes());
        join(vec![build(load(&source))])
    }
}
