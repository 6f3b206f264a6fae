//! What frames the parts of a prompt, in tokens beside their texts.
//!
//! Measured: of recorded exchanges (Sonnet 3.5 to 4.6, Opus 4.8, Sonnet 5) and of steps in sessions of clients that tell
//! what each prompt grew by (Opus 4.5 to 5, Sonnet 4.5 and 5, Haiku 4.5, Fable 5). `docs/accuracy.md` says how well they
//! hold. What one exchange or none shows is marked.

use crate::base::vocabulary::Vocabulary;

/// The frames of a family of models.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frames {
    /// A message of the user's, with a text.
    pub(crate) user_turn: u64,
    /// A message of the model's, with a text alone.
    pub(crate) assistant_turn: u64,
    /// A message of the system's in the middle of a conversation. (Newer models: one exchange, and attachments.)
    pub(crate) system_turn: u64,
    /// Whether results are written between tags of text; newer models have tokens for them.
    pub(crate) writes_tags: bool,
    /// What is around the calls of a message, with its turn.
    pub(crate) calls: u64,
    /// The only result of a message, with its turn.
    pub(crate) result: u64,
    /// A result without output.
    pub(crate) empty_result: u64,
    /// Several results of a message, with its turn.
    pub(crate) several_results: u64,
    /// What each of several results has more than an only one, beside the name of its tool.
    pub(crate) one_of_several: u64,
    /// A text after the results of its message.
    pub(crate) text_after_results: u64,
    /// What the client puts around a reminder: tags, or for newer models a blank line. (Not for Sonnet 5.)
    pub(crate) reminder: u64,
    /// What all reminders of a step have besides: a message of their own.
    pub(crate) reminders: u64,
    /// The definition of a deferred tool that a result refers to, beside its line. (Three exchanges each.)
    pub(crate) reference: u64,
    /// The result of a tool that the service ran.
    pub(crate) server_result: u64,
    /// A file that is put into a container. (One exchange each.)
    pub(crate) container: u64,
    /// That a request asks for extended thinking with a budget. (Sonnet 4.)
    pub(crate) thinking_budget: u64,
    /// Thinking, beside its text.
    pub(crate) thinking: u64,
    /// Bytes of a signature for a hundred tokens of the thinking that it hides, and bytes that hide none.
    pub(crate) signature: (u64, u64),
    /// Tools that the service defines, by the beginning of their type. (One exchange or two each; those of newer models
    /// but for code execution are the older ones' by 1.3.)
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
    thinking: 15,
    signature: (356, 220),
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
    /// The frames of a vocabulary's prompts. Those of other makers are not known, and taken for the newest ones.
    pub(crate) fn of(vocabulary: Vocabulary) -> &'static Self {
        match vocabulary {
            Vocabulary::Claude3 => &CLAUDE_3,
            Vocabulary::Claude47 => &CLAUDE_4_7,
            Vocabulary::Claude48 | Vocabulary::O200k => &CLAUDE_4_8,
        }
    }
}
