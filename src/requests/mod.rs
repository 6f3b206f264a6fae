//! What was sent: requests in their conversations, and their prompts as paths through one tree.
//!
//! The modules stand in the order of the flow: each uses only those before it.

pub mod conversation;

pub mod difference;

pub mod prompt;

pub mod content;

pub(crate) mod counted;

pub mod seams;
