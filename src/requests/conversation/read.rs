//! History of all sources, read on all cores.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::file::FileBuilder;
use super::join::Files;
use super::{FileConversation, History, PassedOver, build};
use crate::base::Order as _;
use crate::read::agent::{AgentFile, database};
use crate::read::capture::{CaptureOptions, Captures, load_bundles, load_captures};
use crate::read::harness::Harness;
use crate::read::input::{Chunk, Discovered, InOrder, Location, OpenSource, Source};
use crate::read::transcript::{Keeping, Measure, Spare, load_open, unreadable};
use crate::read::{Format, Log, other_table};

/// Largest file that one thread reads alone, in bytes.
const SMALL_FILE: u64 = 8 * 1024 * 1024;

/// Most entries whose memory a thread keeps between files.
const MOST_SPARE_ENTRIES: usize = 20_000;

/// Options for reading sources.
pub type ReadOptions = CaptureOptions;

/// Content of a file.
enum Content {
    Transcript(Box<FileConversation>),
    Captures(Box<Captures>),
    Agent(Box<AgentFile>),
    Log(Box<Log>),
    /// No session at all, with a description for people.
    Other(String),
    /// Bundles, not read yet, as their sessions may continue from one file to the next.
    ///
    /// Standard input and pipes stay open; files, of which there may be thousands, are opened again.
    Bundles(Option<Box<OpenSource>>),
}

/// Reads every source and joins their contents.
///
/// The result is that of reading them in order, whatever the number of threads. `on_file` is called with the
/// size of each finished file.
pub fn read(discovered: Discovered, options: ReadOptions, on_file: impl Fn(u64) + Sync) -> History {
    let Discovered { sources, mut diagnostics } = discovered;
    let all_threads = rayon::current_num_threads();
    let mut together = Together {
        files: Files::default(),
        captures: Vec::new(),
        agents: Vec::new(),
        passed_over: PassedOver::default(),
        harness: Harness::with_global_scope(options.global_scope),
        options: options.clone(),
    };
    let in_order = InOrder::new(|(source, content)| together.add(source, content));
    let read_one = |number: usize, threads: usize, workspace: &mut Workspace| {
        let source = &sources[number];
        let content = read_source(source, threads, workspace, &options);
        on_file(source.size);
        (source, content)
    };
    let is_alone = sources.len() == 1;
    let Turns { divided, undivided } = Turns::of(&sources, all_threads);
    for number in divided {
        let mut workspace = Workspace::new(&options, is_alone);
        let part = read_one(number, all_threads, &mut workspace);
        // Freeing the workspace takes about as long as joining the file.
        rayon::join(|| drop(workspace), || in_order.add(number, part));
    }
    let next = AtomicUsize::new(0);
    rayon::scope(|scope| {
        for _ in 0..all_threads {
            scope.spawn(|_| {
                let mut workspace = Workspace::new(&options, is_alone);
                while let Some(&number) = undivided.get(next.fetch_add(1, Ordering::Relaxed)) {
                    in_order.add(number, read_one(number, 1, &mut workspace));
                    workspace.limit(&options);
                }
            });
        }
    });
    in_order.finish();
    let Together { files, captures, agents, passed_over, .. } = together;
    let mut history = files.join();
    history.passed_over = passed_over;
    history.duplicates += agents.iter().map(|file| file.copies).sum::<u64>();
    history.captured.counting = options.counting;
    let unmarked = history.add_agents(agents);
    history.add_captures(captures);
    history.add_unmarked(unmarked);
    history.set_models(options.models);
    diagnostics.absorb(std::mem::take(&mut history.diagnostics));
    history.diagnostics = diagnostics;
    history.name_projects(options.naming);
    history
}

/// Order in which files are read, by their positions among the sources.
struct Turns {
    /// Large files, one after another, each by all threads.
    divided: Vec<usize>,
    /// Other files, each by one thread: a free thread takes the next one.
    undivided: Vec<usize>,
}

impl Turns {
    /// Decides which files are divided among threads.
    ///
    /// If a file is a small part of each thread's share anyway, dividing it would only add the cost of
    /// joining its lines. A larger one is read early, so that no thread still has it to read when the others
    /// are done.
    fn of(sources: &[Source], threads: usize) -> Self {
        let all: u64 = sources.iter().map(|source| source.size).sum();
        let share = all / threads.max(1) as u64;
        let is_divided = |number: &usize| sources[*number].size > SMALL_FILE.max(share / 4);
        let is_early = |number: &usize| sources[*number].size > share / 32;
        let (divided, mut undivided): (Vec<usize>, Vec<usize>) =
            (0..sources.len()).partition(is_divided);
        undivided.order_by_key(|number| !is_early(number));
        Self { divided, undivided }
    }
}

/// Contents of the files so far.
struct Together {
    files: Files,
    captures: Vec<Captures>,
    agents: Vec<AgentFile>,
    passed_over: PassedOver,
    /// State that places bundles, whose sessions continue from file to file.
    harness: Harness,
    options: ReadOptions,
}

impl Together {
    /// Adds the next file.
    fn add(&mut self, source: &Source, content: Content) {
        match content {
            Content::Transcript(conversation) => self.files.add(*conversation),
            Content::Captures(file) => self.captures.push(*file),
            Content::Agent(file) => self.agents.push(*file),
            Content::Log(log) => {
                let Log { requests, captures } = *log;
                self.agents.push(requests);
                self.captures.push(captures);
            }
            Content::Other(what) => self.passed_over.add(&source.label, what),
            Content::Bundles(open) => self.add_bundles(source, open.map(|open| *open)),
        }
    }

    fn add_bundles(&mut self, source: &Source, open: Option<OpenSource>) {
        if let Some(mut open) = open.or_else(|| OpenSource::open(source).ok()) {
            self.captures.push(load_bundles(&mut open, &mut self.harness, &self.options));
        }
    }
}

/// Memory that a thread uses for one file after another.
struct Workspace {
    buffer: Chunk,
    spare: Spare,
    builder: FileBuilder,
}

impl Workspace {
    fn new(options: &ReadOptions, is_alone: bool) -> Self {
        let builder = FileBuilder::new(!options.leaves_out_trails, is_alone);
        Self { buffer: Chunk::default(), spare: Spare::default(), builder }
    }

    fn read_transcript(
        &mut self,
        open: &mut OpenSource,
        threads: usize,
        options: &ReadOptions,
    ) -> FileConversation {
        let Self { spare, builder, .. } = self;
        let expected = open.expected();
        let label = Arc::clone(&open.label);
        // Counting needs the vocabulary of a model, which the first lines name.
        let measure = || Measure::of_file(open.first_lines()?, &options.models);
        let measure = options.counts_contents.then(measure).flatten();
        let vocabulary = measure.as_ref().map(|measure| measure.vocabulary);
        let keeping = Keeping { titles: options.keeps_titles, measure };
        let mut transcript = load_open(open, threads, &keeping, spare, |entries, lines| {
            builder.make_room(expected, entries.len());
            builder.add(entries, lines, &label);
        });
        let mut conversation = builder.finish(&mut transcript);
        conversation.trail.vocabulary = vocabulary;
        spare.give_back_entries(transcript.entries);
        conversation
    }

    /// Frees the memory if it is large.
    fn limit(&mut self, options: &ReadOptions) {
        if self.spare.entries() > MOST_SPARE_ENTRIES {
            *self = Self::new(options, false);
        }
    }
}

fn read_source(
    source: &Source,
    threads: usize,
    workspace: &mut Workspace,
    options: &ReadOptions,
) -> Content {
    let buffer = std::mem::take(&mut workspace.buffer);
    let mut open = match OpenSource::open_into(source, buffer) {
        Ok(open) => open,
        Err(error) => return Content::Transcript(Box::new(build(unreadable(source, &error)))),
    };
    let mut format = open.first_lines().map_or(Format::Transcript, Format::of);
    if matches!(format, Format::Transcript) && open.begins_list() {
        open = match open.of_list() {
            Ok(open) => open,
            Err(error) => return Content::Transcript(Box::new(build(unreadable(source, &error)))),
        };
        format = open.first_lines().map_or(Format::Transcript, Format::of);
    }
    let content = match format {
        Format::Transcript | Format::Capture | Format::Bundle if source.may_be_other => {
            Content::Other(what_else(source, &open, format))
        }
        Format::Transcript if source.is_table() => {
            Content::Agent(Box::new(AgentFile::foreign(&open, what_else(source, &open, format))))
        }
        Format::Transcript => {
            Content::Transcript(Box::new(workspace.read_transcript(&mut open, threads, options)))
        }
        Format::Agent(agent) => {
            Content::Agent(Box::new((agent.read)(&mut open).called(agent.file)))
        }
        Format::Log(format) => {
            let Log { requests, mut captures } = format.read(&mut open, options);
            captures.client = format.client();
            let requests = requests.called(format.file());
            Content::Log(Box::new(Log { requests, captures }))
        }
        Format::Database => match database::read(&open) {
            Ok(file) => Content::Agent(Box::new(file.called("a database"))),
            Err(what) if source.may_be_other => Content::Other(what),
            Err(what) => Content::Agent(Box::new(AgentFile::foreign(&open, what))),
        },
        Format::Capture => Content::Captures(Box::new(load_captures(&mut open, threads, options))),
        Format::Bundle => {
            let is_opened_anew =
                matches!(source.location, Location::File(_)) && !source.is_read_once();
            return Content::Bundles((!is_opened_anew).then(|| Box::new(open)));
        }
    };
    workspace.buffer = open.into_buffer();
    content
}

/// Description for people of a file that holds no session and no log.
fn what_else(source: &Source, open: &OpenSource, format: Format) -> String {
    let first = open.first_lines().filter(|_| source.is_table());
    first.and_then(|chunk| other_table(chunk.bytes())).unwrap_or_else(|| match format {
        Format::Capture | Format::Bundle => {
            "captured requests, which are read in files called *.jsonl, or where the file itself is named"
                .to_owned()
        }
        _ => "no session and no log of a program that is known".to_owned(),
    })
}
