//! Captured requests as another prompt design would have sent them: the same requests at the same times,
//! their blocks in another order or in place of others, under other markers.
//!
//! A design rewrites the trace and nothing after it: the requests keep their places, so that outcomes
//! under a design stand beside those of the requests as sent. What the model answered, and so every later
//! request, is taken to be the same.

mod attribution;
mod blocks;
mod contents;
mod deferral;
mod kept_break;
mod latch;
mod layout;
mod markers;
mod paragraphs;
mod prompt_design;
mod redesign;
mod reminders;
mod scopes;
mod stable_first;
mod static_text;

pub use prompt_design::{
    Attribution, Deferral, Deferred, PromptDesign, Reminders, Scopes, Settings, SystemPrompt, Tools,
};
pub use redesign::{Redesigned, ToolSearch, redesign};
