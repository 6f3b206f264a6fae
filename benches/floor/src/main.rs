//! The floor under the time of `cachesim analyze`: what it takes to parse every line of a folder of
//! transcripts into a borrowed struct, and nothing else. Files are mapped and cut into chunks that
//! end at line borders, and a number of threads share the chunks.
//!
//! `floor FOLDER THREADS` prints the lines, those that are not such a struct, and the sum of all
//! output tokens (of lines, not of requests: a response of several lines counts several times).

use std::borrow::Cow;
use std::fs::{self, File};
use std::hint::black_box;
use std::iter::Sum;
use std::path::{Path, PathBuf};
use std::{env, io};

use memmap2::Mmap;
use rayon::prelude::*;
use serde::Deserialize;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// A chunk has at least so many bytes, unless its file ends: enough to make the cost of sharing
/// vanish, and little enough that no thread waits long for the last one.
const CHUNK_BYTES: usize = 4 << 20;

/// A string of a line, copied only where it has escapes. In an `Option` serde borrows through a
/// type of its own alone: an `Option<Cow<str>>` would copy every string.
#[derive(Deserialize)]
#[serde(transparent)]
struct Text<'a>(
    #[serde(borrow)]
    #[expect(dead_code, reason = "the parse is what is timed; nothing reads the text")]
    Cow<'a, str>,
);

/// What a reader of costs and chains needs of a line.
#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Line<'a> {
    r#type: Option<Text<'a>>,
    uuid: Option<Text<'a>>,
    parent_uuid: Option<Text<'a>>,
    session_id: Option<Text<'a>>,
    timestamp: Option<Text<'a>>,
    request_id: Option<Text<'a>>,
    is_sidechain: Option<bool>,
    #[serde(borrow)]
    message: Option<Message<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Message<'a> {
    id: Option<Text<'a>>,
    #[serde(borrow)]
    model: Option<Text<'a>>,
    usage: Option<Usage>,
}

/// Tokens of one response, as its line states them.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Usage {
    #[serde(rename = "input_tokens")]
    input: u64,
    #[serde(rename = "output_tokens")]
    output: u64,
    #[serde(rename = "cache_read_input_tokens")]
    cache_read: u64,
    #[serde(rename = "cache_creation_input_tokens")]
    cache_write: u64,
    cache_creation: Option<CacheCreation>,
}

/// Tokens written to the cache, by TTL.
#[derive(Deserialize, Default)]
#[serde(default)]
struct CacheCreation {
    #[serde(rename = "ephemeral_5m_input_tokens")]
    five_minutes: u64,
    #[serde(rename = "ephemeral_1h_input_tokens")]
    one_hour: u64,
}

/// What is printed, so that no line's parse can be left out.
#[derive(Clone, Copy, Default)]
struct Count {
    lines: u64,
    unreadable_lines: u64,
    output_tokens: u64,
}

impl Sum for Count {
    fn sum<I: Iterator<Item = Self>>(counts: I) -> Self {
        counts.fold(Self::default(), |sum, count| Self {
            lines: sum.lines + count.lines,
            unreadable_lines: sum.unreadable_lines + count.unreadable_lines,
            output_tokens: sum.output_tokens + count.output_tokens,
        })
    }
}

/// Adds the `*.jsonl` files in and below `folder`.
fn collect_files(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect_files(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "jsonl") {
            files.push(path);
        }
    }
    Ok(())
}

fn map(path: &Path) -> io::Result<Mmap> {
    let file = File::open(path)?;
    // SAFETY: the map is only read, and the trees that are timed do not change meanwhile.
    unsafe { Mmap::map(&file) }
}

/// Whole lines of a file, piece by piece.
fn chunks(file: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = file;
    std::iter::from_fn(move || {
        let beyond = rest.get(CHUNK_BYTES..).unwrap_or_default();
        let end =
            memchr::memchr(b'\n', beyond).map_or(rest.len(), |line_end| CHUNK_BYTES + line_end + 1);
        let (chunk, after) = rest.split_at(end);
        rest = after;
        (!chunk.is_empty()).then_some(chunk)
    })
}

fn parse_line(line: &[u8]) -> Count {
    let count = Count { lines: 1, ..Count::default() };
    match serde_json::from_slice::<Line>(line) {
        Ok(line) => {
            let line = black_box(line);
            let usage = line.message.and_then(|message| message.usage);
            Count { output_tokens: usage.map_or(0, |usage| usage.output), ..count }
        }
        Err(_) => Count { unreadable_lines: 1, ..count },
    }
}

fn parse_chunk(chunk: &[u8]) -> Count {
    let mut start = 0;
    memchr::memchr_iter(b'\n', chunk)
        .chain(std::iter::once(chunk.len()))
        .map(|end| &chunk[std::mem::replace(&mut start, end + 1)..end])
        .filter(|line| !line.is_empty())
        .map(parse_line)
        .sum()
}

fn main() -> io::Result<()> {
    let mut arguments = env::args_os().skip(1);
    let folder = PathBuf::from(arguments.next().expect("the first argument is a folder"));
    let threads = arguments
        .next()
        .and_then(|threads| threads.to_str()?.parse().ok())
        .expect("the second argument is a number of threads");
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build_global()
        .expect("the pool is built once");

    let mut files = Vec::new();
    collect_files(&folder, &mut files)?;
    let maps = files.iter().map(|path| map(path)).collect::<io::Result<Vec<_>>>()?;
    let chunks: Vec<&[u8]> = maps.iter().flat_map(|map| chunks(map)).collect();
    let Count { lines, unreadable_lines, output_tokens } =
        chunks.par_iter().map(|chunk| parse_chunk(chunk)).sum();
    println!("{lines} lines, {unreadable_lines} unreadable, {output_tokens} output tokens");
    Ok(())
}
