//! Inputs: sessions, captures, logs, settings and strategy files, as read, redacted and written back.

mod agents;
mod captures;
mod chains;
mod configuration;
mod logs;
mod novelties;
mod other_apis;
mod reading;
#[cfg(unix)] // servers are started by a shell
mod recorders;
mod redact;
mod rollouts;
mod settings;
mod sources;
mod strategies;
mod suggestions;
mod template;
mod token_keys;
mod untold;
