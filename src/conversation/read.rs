//! Sources → history, on all cores.

use rayon::prelude::*;

use super::file::{FileConversation, build};
use super::history::{History, join};
use crate::input::{Discovered, Source};
use crate::transcript::load;

/// Reads every source and joins the conversations.
///
/// Large files are read one after another, each by all threads; small ones side by side. Either
/// way the result is that of reading them in order. `on_file` is called with the size of each file
/// that is done.
pub fn read(discovered: Discovered, on_file: impl Fn(u64) + Sync) -> History {
    let read_one = |source: &Source| {
        let conversation = build(load(source));
        on_file(source.size);
        conversation
    };
    let sources = &discovered.sources;
    let mut large: Vec<(usize, FileConversation)> = sources
        .iter()
        .enumerate()
        .filter(|(_, source)| source.is_large())
        .map(|(index, source)| (index, read_one(source)))
        .collect();
    let mut conversations: Vec<(usize, FileConversation)> = sources
        .par_iter()
        .enumerate()
        .filter(|(_, source)| !source.is_large())
        .map(|(index, source)| (index, read_one(source)))
        .collect();
    conversations.append(&mut large);
    conversations.sort_by_key(|(index, _)| *index);
    let mut history = join(conversations.into_iter().map(|(_, one)| one).collect());
    let mut diagnostics = discovered.diagnostics;
    diagnostics.absorb(std::mem::take(&mut history.diagnostics));
    history.diagnostics = diagnostics;
    history
}
