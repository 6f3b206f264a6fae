//! Commands, from their arguments to their output. The commands about the program are in `about`, those that
//! explain one study in `explain`.

mod about;
mod advise;
mod analyze;
mod apply;
mod blocks;
mod chart;
mod check;
mod compare;
mod convert;
mod domains;
mod explain;
mod gather;
mod hook;
mod init;
mod lint;
mod mcp;
mod part;
mod prices;
mod report;
mod statusline;
mod template;
mod tokens;
mod watch;

pub(super) use about::{completions, config, man, schema, sources, strategies};
pub(super) use advise::advise;
pub(super) use analyze::analyze;
pub(super) use blocks::blocks;
pub(super) use chart::chart;
pub(super) use check::check;
pub(super) use compare::{compare, fork};
pub(super) use convert::{place, redact};
pub(super) use domains::domains;
pub(super) use explain::{breaks, context, explain, verify};
pub(super) use gather::gather;
pub(super) use hook::hook;
pub(super) use init::init;
pub(super) use lint::lint;
pub(super) use mcp::mcp;
pub(super) use part::part;
pub(super) use prices::prices;
pub(super) use report::report;
pub(super) use statusline::statusline;
pub(super) use tokens::tokens;
pub(super) use watch::watch;
