//! Sessions while they are written: `statusline`, `hook`, `watch`, `mcp`.

mod follow;
mod hook;
#[cfg(target_os = "linux")] // links, signals, and processes as /proc lists them
#[cfg(feature = "validate")]
mod mcp;
mod next;
mod statusline;
#[cfg(feature = "watch")]
pub(crate) mod watch;
