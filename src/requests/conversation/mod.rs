//! Entries → chains: which lines are one response, which request came before which, and what the
//! client added between them.

mod agent_types;
mod between;
mod captured;
mod file;
mod files;
mod fold;
mod gathered;
mod graph;
mod history;
mod join;
mod live;
mod nested;
mod origin;
mod project;
mod read;
mod response;
mod results;
mod rewrite;
mod titles;
mod trail;

pub use between::Between;
pub use captured::CapturedPrompts;
pub use file::{FileConversation, FileResponse, build};
pub use history::{ConversationKey, History, InputFile, Request, RequestIndex};
pub use join::join;
pub(crate) use project::project_names;
pub use read::{ReadOptions, read};
pub use response::{ResponseKey, ResponseLines};
pub use rewrite::{Lines, Place, Rewrite};
pub use trail::{ContentSource, Trail, TrailContent, TrailEntry, TrailIndex};
