//! The GitHub Action and the examples for CI: that what they name exists, and that the steps of the
//! action do what they say when a runner runs them.

mod commands;
mod document;
mod examples;
mod install;
mod metadata;
mod notes;
mod program;
mod runner;
mod scenarios;

pub(crate) use document::{Action, Workflow, read};
pub(crate) use program::script;
