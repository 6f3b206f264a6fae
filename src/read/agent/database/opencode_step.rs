//! Message of opencode's version 2: a text of the user, or a request.
//!
//! The model is in an object of its own. There is no total; the output leaves out the reasoning if
//! version 2 wrote the message itself, which then has the time `streamed`. A message that was moved from
//! version 1 keeps its old output.

use serde::de::IgnoredAny;

use super::{Row, json};
use crate::read::agent::opencode::{MessageInfo, Parts, Session, Times, TokenUsage};
use crate::read::agent::{AgentFile, Size};
use crate::read::input::{Flag, Shape, Text, lenient};

/// Reads a row of `session_message`.
pub(super) fn add(row: &Row<'_>, session: &mut Session, file: &mut AgentFile) {
    let kind = row.text("type");
    let is_compaction = kind.is("compaction");
    if kind.is("user") {
        session.happened.begins_turn = true;
        return;
    }
    if !is_compaction && !kind.is("assistant") {
        return;
    }
    file.line = row.line();
    let mut repaired = None;
    match json::<Step<'_>>(row.bytes("data"), &mut repaired) {
        Ok(step) => {
            let info = step.info(is_compaction, is_of_second(session, file));
            // Most compactions report no request.
            if !is_compaction || info.tokens.0.is_some() {
                session.answer(&info, Parts::of(&info), file);
            }
            // A compaction that failed leaves the history as it was.
            if is_compaction && info.error.0.is_none() {
                session.happened.compact(Size::default(), file);
            }
        }
        Err((kind, detail)) => file.reject(kind, file.line, detail),
    }
}

/// Returns true if version 2 began the session.
fn is_of_second(session: &Session, file: &AgentFile) -> bool {
    session.client_version.is_some_and(|version| file.symbols.text(version).starts_with("2."))
}

lenient! {
    struct Step<'a> {
        model: Shape<Model<'a>>,
        /// Id of the model, under its name in early versions.
        #[serde(rename = "modelID")]
        model_id: Text<'a>,
        #[serde(rename = "providerID")]
        provider_id: Text<'a>,
        error: Shape<IgnoredAny>,
        time: Shape<Times>,
        tokens: Shape<TokenUsage>,
    }

    struct Model<'a> {
        id: Text<'a>,
        #[serde(rename = "providerID")]
        provider_id: Text<'a>,
    }
}

impl<'a> Step<'a> {
    /// Message as version 1 would have written it.
    fn info(self, is_compaction: bool, is_of_second: bool) -> MessageInfo<'a> {
        let old = Model { id: self.model_id, provider_id: self.provider_id };
        let Model { id, provider_id } = self.model.0.unwrap_or(old);
        let is_apart = is_of_second || self.time.0.is_some_and(|times| times.streamed.0.is_some());
        let tokens = self.tokens.0.filter(|_| is_apart).map(TokenUsage::with_reasoning_apart);
        let mut info = MessageInfo::default();
        info.model_id = id;
        info.provider_id = provider_id;
        info.summary = Flag(is_compaction);
        info.error = self.error;
        info.time = self.time;
        info.tokens = Shape(tokens.or(self.tokens.0));
        info
    }
}
