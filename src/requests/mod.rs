//! Requests in their conversations, and their prompts as paths through one tree.
//!
//! Modules are in the order of the flow: each uses only the ones before it.

pub mod conversation;

pub mod difference;

pub mod prompt;

pub mod content;

pub(crate) mod counted;

pub mod seams;
