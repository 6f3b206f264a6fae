//! Captured requests as another prompt design would have sent them: the same requests at the same times,
//! their blocks in another order or in place of others, under other markers.
//!
//! A design rewrites the trace and nothing after it: the requests keep their places, so that outcomes
//! under a design stand beside those of the requests as sent. What the model answered, and so every later
//! request, is taken to be the same.
//!
//! A trace is rewritten as if its captured requests had been sent by another design: tools sorted,
//! static text in front, scopes on or off, settings latched, the attribution line stable. Nothing
//! is parsed again: the blocks of a prompt as sent, known by their bytes (`contents.rs`), are laid
//! out anew (`layout.rs`) and form a path through the same tree (`blocks.rs`), which grows by
//! prefixes that were never sent. Every block keeps its size, so a total changes only by what was
//! replaced. Where tools are deferred (`deferral.rs`), definitions move into the conversation, and
//! searches are added. A recorded break is kept unless differing bytes explain it and the design
//! has more of them in common. Bundles know the boundary of static text; with scopes on or off
//! they are placed once more.

mod blocks;
mod deferral;
mod latch;
mod layout;
mod prompt_design;
mod redesign;
mod reminders;
mod stable_first;

pub use prompt_design::{
    Attribution, Deferral, Deferred, PromptDesign, Reminders, Scopes, Settings, SystemPrompt, Tools,
};
pub use redesign::{Redesigned, ToolSearch, redesign};
