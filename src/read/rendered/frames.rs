//! Framing tokens of the parts of a prompt, in addition to their texts.
//!
//! Measured on recorded exchanges (Sonnet 3.5 to 4.6, Opus 4.8, Sonnet 5) and on steps in sessions of clients that
//! report the growth of each prompt (Opus 4.5 to 5, Sonnet 4.5 and 5, Haiku 4.5, Fable 5). `docs/accuracy.md` says how
//! well they hold. Values from one exchange or none are marked.

use crate::base::Vocabulary;

/// Framing tokens of a family of models.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frames {
    /// User's message with a text.
    pub(crate) user_turn: u64,
    /// Model's message with a text alone.
    pub(crate) assistant_turn: u64,
    /// System message in the middle of a conversation. (Newer models: one exchange, and attachments.)
    pub(crate) system_turn: u64,
    /// True if results are written between tags of text; newer models have tokens for them.
    pub(crate) writes_tags: bool,
    /// Frame around the calls of a message, with its turn.
    pub(crate) calls: u64,
    /// Only result of a message, with its turn.
    pub(crate) result: u64,
    /// Result without output.
    pub(crate) empty_result: u64,
    /// Several results of a message, with its turn.
    pub(crate) several_results: u64,
    /// Surplus of each of several results over an only one, besides the name of its tool.
    pub(crate) one_of_several: u64,
    /// Text after the results of its message.
    pub(crate) text_after_results: u64,
    /// Client's frame around a reminder: tags, or for newer models a blank line. (Not for Sonnet 5.)
    pub(crate) reminder: u64,
    /// Surplus of all reminders of a step: a message of their own.
    pub(crate) reminders: u64,
    /// Definition of a deferred tool that a result refers to, besides its line. (Three exchanges each.)
    pub(crate) reference: u64,
    /// Result of a tool that the service ran.
    pub(crate) server_result: u64,
    /// File that is put into a container. (One exchange each.)
    pub(crate) container: u64,
    /// Request for extended thinking with a budget. (Sonnet 4.)
    pub(crate) thinking_budget: u64,
    /// Choice of one tool, besides its name and what any forced choice adds; `None` if it is unknown. (Sonnet 4 and Haiku
    /// 4.5: to the token in eight public recordings.)
    pub(crate) named_choice: Option<u64>,
    /// Request for an answer by a schema, besides the schema with an indent of two; `None` if it is unknown. (Sonnet 4.5:
    /// 80 leaves at most two tokens in each of seven public recordings, two of which it was not derived from.)
    pub(crate) format: Option<u64>,
    /// Thinking, besides its text.
    pub(crate) thinking: u64,
    /// Bytes of a signature for a hundred tokens of the thinking that it hides, and bytes that hide none.
    pub(crate) signature: (u64, u64),
    /// Tools that the service defines, by the prefix of their type. (One exchange or two each; values of newer models,
    /// except code execution, are the older ones' by 1.3.)
    pub(crate) service_tools: [(&'static str, u64); 8],
}

/// Claude 3 to the 4.6 models.
const CLAUDE_3: Frames = Frames {
    user_turn: 3,
    assistant_turn: 3,
    system_turn: 3,
    writes_tags: true,
    calls: 18,
    result: 2,
    empty_result: 12,
    several_results: 13,
    one_of_several: 10,
    text_after_results: 6,
    reminder: 14,
    reminders: 0,
    reference: 21,
    server_result: 19,
    container: 6,
    thinking_budget: 29,
    named_choice: Some(2),
    format: Some(80),
    thinking: 15,
    signature: (356, 220),
    // The first matching prefix counts: a dated name before the general one, the rest last.
    service_tools: [
        ("bash_", 244),
        ("text_editor_", 745),
        ("memory_", 1_068),
        ("tool_search_", 188),
        ("code_execution_20250522", 421),
        ("code_execution_", 1_739),
        ("computer_", 4_500),
        ("", 130),
    ],
};

/// Opus 4.7.
const CLAUDE_4_7: Frames = Frames {
    user_turn: 6,
    assistant_turn: 4,
    system_turn: 6,
    calls: 20,
    empty_result: 16,
    text_after_results: 9,
    reminder: 18,
    thinking_budget: 0,
    named_choice: None,
    format: None,
    signature: (356, 220),
    service_tools: NEWER_TOOLS,
    ..CLAUDE_3
};

/// Opus 4.8 and later.
const CLAUDE_4_8: Frames = Frames {
    user_turn: 2,
    assistant_turn: 2,
    system_turn: 3,
    writes_tags: false,
    calls: 4,
    result: 5,
    empty_result: 16,
    several_results: 6,
    one_of_several: 17,
    text_after_results: 2,
    reminder: 1,
    reminders: 2,
    reference: 17,
    server_result: 16,
    container: 10,
    thinking_budget: 0,
    named_choice: None,
    format: None,
    thinking: 1,
    signature: (356, 320),
    service_tools: NEWER_TOOLS,
};

const NEWER_TOOLS: [(&str, u64); 8] = [
    ("bash_", 325),
    ("text_editor_", 970),
    ("memory_", 1_390),
    ("tool_search_", 243),
    ("code_execution_20250522", 550),
    ("code_execution_", 2_571),
    ("computer_", 4_500),
    ("", 170),
];

impl Frames {
    /// Frames of a vocabulary's prompts. Other makers' frames are unknown: the newest ones are taken.
    pub(crate) fn of(vocabulary: Vocabulary) -> &'static Self {
        match vocabulary {
            Vocabulary::Claude3 => &CLAUDE_3,
            Vocabulary::Claude47 => &CLAUDE_4_7,
            Vocabulary::Claude48 | Vocabulary::O200k => &CLAUDE_4_8,
        }
    }
}
