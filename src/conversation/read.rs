//! Sources → history, on all cores.

use rayon::prelude::*;

use super::file::{FileConversation, build};
use super::history::{History, join};
use crate::capture::{CaptureOptions, Captures, load_bundles, load_captures};
use crate::harness::Harness;
use crate::input::{Discovered, Format, Location, OpenSource, Source};
use crate::transcript::{load, load_open};

/// How sources are read.
pub type ReadOptions = CaptureOptions;

/// What a file holds.
enum Content {
    Transcript(FileConversation),
    Captures(Captures),
    /// Bundles, not read yet: their sessions may go on from one file to the next. Standard input
    /// stays open; of thousands of files each is opened anew.
    Bundles(Option<Box<OpenSource>>),
}

/// Reads every source and joins what they hold.
///
/// Large files are read one after another, each by all threads; small ones side by side. Either
/// way the result is that of reading them in order. `on_file` is called with the size of each file
/// that is done.
pub fn read(discovered: Discovered, options: ReadOptions, on_file: impl Fn(u64) + Sync) -> History {
    let read_one = |source: &Source| {
        let content = read_source(source, options);
        on_file(source.size);
        content
    };
    let sources = &discovered.sources;
    let mut large: Vec<(usize, Content)> = sources
        .iter()
        .enumerate()
        .filter(|(_, source)| source.is_large())
        .map(|(index, source)| (index, read_one(source)))
        .collect();
    let mut contents: Vec<(usize, Content)> = sources
        .par_iter()
        .enumerate()
        .filter(|(_, source)| !source.is_large())
        .map(|(index, source)| (index, read_one(source)))
        .collect();
    contents.append(&mut large);
    contents.sort_by_key(|(index, _)| *index);
    let mut conversations = Vec::new();
    let mut captures = Vec::new();
    let mut harness = Harness::with_global_scope(options.global_scope);
    for (index, content) in contents {
        match content {
            Content::Transcript(conversation) => conversations.push(conversation),
            Content::Captures(file) => captures.push(file),
            Content::Bundles(open) => {
                let reopened = || OpenSource::open(&discovered.sources[index]).ok();
                if let Some(open) = open.map(|open| *open).or_else(reopened) {
                    captures.push(load_bundles(open, &mut harness, options));
                }
            }
        }
    }
    let mut history = join(conversations);
    history.captured.counting = options.counting;
    history.add_captures(captures);
    let mut diagnostics = discovered.diagnostics;
    diagnostics.absorb(std::mem::take(&mut history.diagnostics));
    history.diagnostics = diagnostics;
    history
}

fn read_source(source: &Source, options: ReadOptions) -> Content {
    match OpenSource::open(source) {
        Ok(open) => match open.format {
            // A rollout is named as another program's file.
            Format::Transcript | Format::Rollout => {
                Content::Transcript(build(load_open(open, options.keeps_titles)))
            }
            Format::Capture => Content::Captures(load_captures(open, options)),
            Format::Bundle => {
                let is_file = matches!(source.location, Location::File(_));
                Content::Bundles((!is_file).then(|| Box::new(open)))
            }
        },
        // Names the file and what the system says.
        Err(_) => Content::Transcript(build(load(source))),
    }
}
