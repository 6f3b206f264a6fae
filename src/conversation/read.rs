//! Sources → history, on all cores.

use std::collections::VecDeque;
use std::sync::Arc;

use rayon::prelude::*;

use super::file::{FileConversation, build, build_gathered};
use super::files::Files;
use super::gathered::Gathered;
use super::history::History;
use crate::capture::{CaptureOptions, Captures, load_bundles, load_captures};
use crate::harness::Harness;
use crate::input::{Chunk, Discovered, Format, Location, OpenSource, Source};
use crate::transcript::{load_open, unreadable};

/// Files up to this size are read by one thread each.
const SMALL_FILE: u64 = 8 * 1024 * 1024;

/// How sources are read.
pub type ReadOptions = CaptureOptions;

/// So many files are read before what they hold is put together: enough for all threads, and few
/// enough that what they were read into, which the next ones use again, is no large part of memory.
const BATCH: usize = 256;

/// What a file holds.
enum Content {
    Transcript(Box<FileConversation>),
    Captures(Box<Captures>),
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
    let all_threads = rayon::current_num_threads();
    let read_one = |source: &Source, threads: usize, buffer: &mut Chunk| {
        let content = read_source(source, threads, buffer, options);
        on_file(source.size);
        content
    };
    let sources = &discovered.sources;
    let large = largest_undivided(sources, all_threads);
    let mut together = Together {
        files: Files::default(),
        captures: Vec::new(),
        harness: Harness::with_global_scope(options.global_scope),
        options,
    };
    // While a batch is read, what the one before holds is put together.
    let mut before: Vec<(&Source, Content)> = Vec::new();
    for batch in sources.chunks(BATCH) {
        let (contents, ()) = rayon::join(
            || read_batch(batch, large, &read_one),
            || together.add(std::mem::take(&mut before)),
        );
        before = batch.iter().zip(contents).collect();
    }
    together.add(before);
    let Together { files, captures, .. } = together;
    let mut history = files.join();
    history.captured.counting = options.counting;
    history.add_captures(captures);
    let mut diagnostics = discovered.diagnostics;
    diagnostics.absorb(std::mem::take(&mut history.diagnostics));
    history.diagnostics = diagnostics;
    history
}

/// What the files so far hold.
struct Together {
    files: Files,
    captures: Vec<Captures>,
    /// What places bundles, whose sessions go on from file to file.
    harness: Harness,
    options: ReadOptions,
}

impl Together {
    /// Adds the next files.
    fn add(&mut self, contents: Vec<(&Source, Content)>) {
        for (source, content) in contents {
            match content {
                Content::Transcript(conversation) => self.files.add(*conversation),
                Content::Captures(file) => self.captures.push(*file),
                Content::Bundles(open) => self.add_bundles(source, open.map(|open| *open)),
            }
        }
    }

    fn add_bundles(&mut self, source: &Source, open: Option<OpenSource>) {
        if let Some(mut open) = open.or_else(|| OpenSource::open(source).ok()) {
            self.captures.push(load_bundles(&mut open, &mut self.harness, self.options));
        }
    }
}

/// What each of some files holds, in their order.
fn read_batch(
    batch: &[Source],
    largest_undivided: u64,
    read_one: &(impl Fn(&Source, usize, &mut Chunk) -> Content + Sync),
) -> Vec<Content> {
    let is_large = |source: &Source| source.size > largest_undivided;
    let all_threads = rayon::current_num_threads();
    let mut large: VecDeque<Content> = batch
        .iter()
        .filter(|source| is_large(source))
        .map(|source| read_one(source, all_threads, &mut Chunk::default()))
        .collect();
    let small = batch.par_iter().map_init(Chunk::default, |buffer, source| {
        (!is_large(source)).then(|| read_one(source, 1, buffer))
    });
    let small: Vec<Option<Content>> = small.collect();
    small.into_iter().filter_map(|content| content.or_else(|| large.pop_front())).collect()
}

/// Files of more bytes than this are read by all threads. Where a file is a small part of what each
/// thread reads anyway, sharing it out would only make its lines be joined.
fn largest_undivided(sources: &[Source], threads: usize) -> u64 {
    let all: u64 = sources.iter().map(|source| source.size).sum();
    SMALL_FILE.max(all / (4 * threads.max(1)) as u64)
}

fn read_source(
    source: &Source,
    threads: usize,
    buffer: &mut Chunk,
    options: ReadOptions,
) -> Content {
    let mut open = match OpenSource::open_into(source, std::mem::take(buffer)) {
        Ok(open) => open,
        Err(error) => return Content::Transcript(Box::new(build(unreadable(source, &error)))),
    };
    let content = match open.format {
        // A rollout is named as another program's file.
        Format::Transcript | Format::Rollout => {
            let mut gathered = Gathered::of_stretches(open.expected_chunks());
            let label = Arc::clone(&open.label);
            let transcript = load_open(&mut open, threads, options.keeps_titles, |entries| {
                gathered.add(entries, &label);
            });
            Content::Transcript(Box::new(build_gathered(
                transcript,
                gathered,
                !options.leaves_out_trails,
            )))
        }
        Format::Capture => Content::Captures(Box::new(load_captures(&mut open, threads, options))),
        Format::Bundle => {
            let is_file = matches!(source.location, Location::File(_));
            return Content::Bundles((!is_file).then(|| Box::new(open)));
        }
    };
    *buffer = open.into_buffer();
    content
}
