//! Antigravity: `conversations/*.db`, with a row for each answer of a model, as Protocol Buffers.
//!
//! No schema is published. The numbers are those of `ModelUsageStats` in the program's own descriptors, and sums by
//! them agree with a bill. The input leaves out what was read and written, the output includes the thinking; a
//! counter of zero is left out. Since version 1.1.18 only steps have times: the id of the answer joins both. A
//! request in the background is in a step alone. Some answers name no model, but the same label as others.

use rustc_hash::{FxHashMap, FxHashSet};

use super::protobuf::Message;
use super::{Database, DatabaseFormat, Failure, Row, json};
use crate::base::{Client, EntryId, Millis, Symbol};
use crate::read::agent::{
    AgentFile, AgentRequest, Follows, Rejected, Time, Vendor, parts, tell_nothing, tokens,
};
use crate::read::input::{Count, Kind, Text, Usage, lenient};

/// Table of the answers.
const ANSWERS: &str = "gen_metadata";

/// Table of the steps: messages, calls of tools and what answers them.
const STEPS: &str = "steps";

/// Table of facts about the conversation.
const CONVERSATION: &str = "trajectory_metadata_blob";

/// Name of the choice of a model, which is not that of the model that answered.
const CHOICE: &str = "gemini-default";

/// Export of a damaged message: JSON that is cut off.
const DAMAGED: &str = "{";

/// Database of a conversation.
pub(super) struct Antigravity;

impl DatabaseFormat for Antigravity {
    fn program(&self) -> &'static str {
        "Antigravity"
    }

    fn recognises(&self, database: &Database) -> Result<bool, Failure> {
        Ok(database.has(ANSWERS, &["idx", "data"])? && database.has(STEPS, &["metadata"])?)
    }

    fn tables(&self) -> &'static [(&'static str, &'static [&'static str])] {
        &[(CONVERSATION, &["data"]), (STEPS, &["metadata"]), (ANSWERS, &["idx", "data"])]
    }

    fn read(&self, database: &Database, file: &mut AgentFile) -> Result<(), Failure> {
        let mut conversation = Conversation::default();
        let all = [(CONVERSATION, "data"), (STEPS, "metadata"), (ANSWERS, "data")];
        for (name, column) in all {
            let Some(mut table) = database.table(name, &[column])? else { continue };
            table.each(file, |row, file| {
                let mut repaired = None;
                match Record::of(name, row.bytes(column), &mut repaired) {
                    Ok(record) => conversation.add(name, row.line(), &record, file),
                    Err((kind, detail)) => file.reject(kind, row.line(), detail),
                }
            })?;
        }
        conversation.end(file);
        Ok(())
    }

    fn exported(&self, table: &str, column: &str, row: &Row<'_>) -> Option<String> {
        if column == "idx" {
            return None;
        }
        let mut repaired = None;
        let record = Record::of(table, row.bytes(column), &mut repaired);
        // A message holds text of the conversation, so that even a damaged one is not exported.
        Some(record.map_or_else(|_| DAMAGED.to_owned(), |record| record.to_json()))
    }
}

lenient! {
    /// What is read of a row. An export has it as JSON.
    struct Record<'a> {
        /// Folder of the conversation.
        folder: Text<'a>,
        model: Text<'a>,
        /// Name of the model for people.
        label: Text<'a>,
        /// Number of the model in the program.
        number: Count,
        /// Id of the answer.
        id: Text<'a>,
        at: Time,
        input: Count,
        output: Count,
        written: Count,
        read: Count,
        thinking: Count,
    }
}

impl<'a> Record<'a> {
    fn of(
        table: &str,
        bytes: &'a [u8],
        repaired: &'a mut Option<String>,
    ) -> Result<Self, Rejected> {
        // A brace would begin a group, which no message has.
        if bytes.starts_with(b"{") {
            return json(bytes, repaired);
        }
        let message = Message::of(bytes);
        let message = message.ok_or((Kind::UnreadableFile, "the message of the row is damaged"))?;
        Ok(match table {
            CONVERSATION => {
                let folder = message.message(1).and_then(|folder| folder.text(1));
                let folder = folder.map(|uri| uri.strip_prefix("file://").unwrap_or(uri));
                Self { folder: text(folder), ..Self::default() }
            }
            STEPS => Self { at: time(message.message(1)), ..Self::of_usage(message.message(9)) },
            _ => {
                let Some(call) = message.message(1) else { return Ok(Self::default()) };
                Self {
                    model: text(call.text(19)),
                    label: text(call.text(21)),
                    at: time(call.message(9).and_then(|start| start.message(4))),
                    ..Self::of_usage(call.message(4))
                }
            }
        })
    }

    /// Figures of a message `ModelUsageStats`.
    fn of_usage(usage: Option<Message<'a>>) -> Self {
        let Some(usage) = usage else { return Self::default() };
        let count = |number| usage.number(number).map_or(Count::Missing, Count::Value);
        Self {
            number: count(1),
            input: count(2),
            output: count(3),
            written: count(4),
            read: count(5),
            thinking: count(9),
            id: text([11, 12, 7].into_iter().find_map(|number| usage.text(number))),
            ..Self::default()
        }
    }

    fn to_json(&self) -> String {
        let texts = [
            ("folder", &self.folder),
            ("model", &self.model),
            ("label", &self.label),
            ("id", &self.id),
        ];
        let texts = texts.into_iter().filter_map(|(key, text)| Some((key, text.as_str()?.into())));
        let counts = [
            ("number", self.number),
            ("input", self.input),
            ("output", self.output),
            ("written", self.written),
            ("read", self.read),
            ("thinking", self.thinking),
        ];
        let counts =
            counts.into_iter().filter_map(|(key, count)| Some((key, count.value()?.into())));
        let at = self.at.0.map(|at| ("at", at.get().into()));
        let named = texts.chain(counts).chain(at).map(|(key, value)| (key.to_owned(), value));
        serde_json::Value::Object(named.collect()).to_string()
    }
}

fn text(text: Option<&str>) -> Text<'_> {
    Text(text.map(Into::into))
}

/// Moment of a message `Timestamp`: seconds and billionths.
fn time(message: Option<Message<'_>>) -> Time {
    let millis = message.and_then(|message| {
        let seconds = i64::try_from(message.number(1)?).ok()?.checked_mul(1_000)?;
        seconds.checked_add(i64::try_from(message.number(2).unwrap_or(0) / 1_000_000).ok()?)
    });
    Time(millis.map(Millis::new))
}

type Model = (Symbol, Vendor);

/// Answer that a row or a step records.
#[derive(Clone, Copy)]
struct Answer {
    line: u64,
    model: Option<Model>,
    label: Option<Model>,
    number: Count,
    id: Option<Symbol>,
    at: Option<Millis>,
    /// Input, output, written, read, thinking.
    counts: [Count; 5],
}

/// Rows of a conversation.
#[derive(Default)]
struct Conversation {
    project: Option<Symbol>,
    answers: Vec<Answer>,
    steps: Vec<Answer>,
    /// Models by their labels and by their numbers.
    by_label: FxHashMap<Symbol, Model>,
    by_number: FxHashMap<u64, Model>,
}

impl Conversation {
    fn add(&mut self, table: &str, line: u64, record: &Record<'_>, file: &mut AgentFile) {
        if table == CONVERSATION {
            self.project = self.project.or_else(|| file.symbol(&record.folder));
            return;
        }
        let mut model = |name: &Text<'_>| name.as_str().map(|_| file.model(name));
        let answer = Answer {
            line,
            model: model(&record.model).filter(|_| !record.model.is(CHOICE)),
            label: model(&record.label),
            number: record.number,
            id: file.symbol(&record.id),
            at: record.at.0,
            counts: [record.input, record.output, record.written, record.read, record.thinking],
        };
        if table == STEPS {
            // Most steps have no usage.
            self.steps.extend(Some(answer).filter(|one| !tell_nothing(&one.counts)));
            return;
        }
        self.answers.push(answer);
        let Some(model) = answer.model else { return };
        self.by_label.extend(answer.label.map(|(label, _)| (label, model)));
        self.by_number.extend(answer.number.value().map(|number| (number, model)));
    }

    /// Adds the requests: those of the conversation, and then those of steps alone.
    fn end(self, file: &mut AgentFile) {
        let timed = self.steps.iter().rev().filter_map(|step| step.id.zip(step.at));
        let times: FxHashMap<Symbol, Millis> = timed.collect();
        let mut known: FxHashSet<Symbol> = self.answers.iter().filter_map(|one| one.id).collect();
        let is_new = |step: &&Answer| step.id.is_some_and(|id| known.insert(id));
        let background: Vec<_> = self.steps.iter().filter(is_new).copied().collect();
        let answers = self.answers.iter().map(|one| {
            let at = one.at.or_else(|| times.get(&one.id?).copied());
            (Answer { at, ..*one }, Follows::Previous)
        });
        let background = background.into_iter().map(|one| (one, Follows::Nothing));
        for (answer, follows) in answers.chain(background) {
            match self.request(&answer, follows, file) {
                Ok(request) => file.requests.push(request),
                Err((kind, detail)) => file.reject(kind, file.line, detail),
            }
        }
    }

    fn request(
        &self,
        answer: &Answer,
        follows: Follows,
        file: &mut AgentFile,
    ) -> Result<AgentRequest, Rejected> {
        file.line = answer.line;
        let usage = answer.usage()?;
        let thinking = tokens(answer.counts[4])?.unwrap_or_default();
        let at = answer.at.unwrap_or_else(|| file.untimed());
        let (model, vendor) = self.model_of(answer).unwrap_or_else(|| file.model(&Text::default()));
        let name = match answer.id {
            Some(id) => Some(file.symbols.text(id).to_owned()),
            // Copies have the same time and figures.
            None => answer.at.map(|at| format!("{}:{:?}", at.get(), answer.counts)),
        };
        let shows_writes =
            vendor != Vendor::Anthropic || matches!(answer.counts[2], Count::Value(_));
        Ok(AgentRequest {
            identity: name.map(|name| EntryId::of(&format!("antigravity:{name}"))),
            message: answer.id,
            project: self.project,
            reasoning: thinking.min(usage.output),
            follows,
            knows_writes: shows_writes,
            ..AgentRequest::new((Client::Antigravity, file.line), (model, vendor), (at, at), usage)
        })
    }

    /// Model that answered: the one that is named, or the one that answers of the same label or number name.
    fn model_of(&self, answer: &Answer) -> Option<Model> {
        let of_label = || self.by_label.get(&answer.label?.0).copied();
        let of_number = || self.by_number.get(&answer.number.value()?).copied();
        answer.model.or_else(of_label).or_else(of_number).or(answer.label)
    }
}

impl Answer {
    fn usage(&self) -> Result<Usage, Rejected> {
        if tell_nothing(&self.counts) {
            return Err((Kind::MissingUsage, "the answer has no tokens"));
        }
        let [input, output, written, read, _] = self.counts;
        let of_zero = |count| if count == Count::Missing { Count::Value(0) } else { count };
        let prompt = parts(of_zero(input), of_zero(read), written)?;
        let output = tokens(output)?.unwrap_or_default();
        Ok(Usage { prompt, output, ..Usage::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::Fixture;
    use super::*;

    #[test]
    fn each_answer_is_a_request_with_the_time_and_the_model_of_its_row_or_of_others() {
        let file = Fixture::file("agent-antigravity/conversation.sql").read();
        let told = |one: &AgentRequest| {
            let prompt = one.usage.prompt;
            let tokens =
                [prompt.input, prompt.read, prompt.write_5m, one.usage.output, one.reasoning];
            let at = one.start.get() - 1_791_194_400_000;
            (tokens.map(|tokens| tokens.0), at, file.symbols.text(one.model), one.follows)
        };
        let (on, alone) = (Follows::Previous, Follows::Nothing);
        let (flash, claude) = ("gemini-3.6-flash", "claude-sonnet-4-6");
        assert_eq!(
            file.requests.iter().map(told).collect::<Vec<_>>(),
            [
                ([5_000, 0, 0, 40, 25], 10_250, flash, on),
                // The time is that of the step.
                ([300, 4_800, 0, 60, 0], 20_000, flash, on),
                // The model is that of the same label.
                ([200, 5_000, 0, 10, 0], 25_000, flash, on),
                ([10, 2_000, 900, 70, 0], 30_000, claude, on),
                // Without a time, until that of the others is known.
                ([50, 0, 0, 5, 0], -1_791_194_400_000, "Gemini 3.8 Flash (Low)", on),
                // In the background, of the model with the same number.
                ([800, 0, 0, 12, 0], 12_000, flash, alone),
            ]
        );
        let texts = [file.requests[0].message, file.requests[0].project];
        assert_eq!(
            texts.map(|symbol| symbol.map(|symbol| file.symbols.text(symbol))),
            [Some("answer-00000001"), Some("/w/demo")]
        );
    }

    #[test]
    fn what_is_no_answer_is_named() {
        let file = Fixture::file("agent-antigravity/conversation.sql").read();
        let named: Vec<_> =
            file.diagnostics.examples().iter().map(|one| (one.kind, one.line)).collect();
        assert_eq!(
            named,
            [
                (Kind::UnreadableFile, 6),
                (Kind::MissingUsage, 5),
                (Kind::MissingTimestamp, 7),
                (Kind::InvalidUsage, 8),
            ]
        );
    }
}
