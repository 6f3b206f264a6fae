//! Reading by several threads against reading by one: the same rows, and the same words about what
//! was wrong.

use std::sync::LazyLock;

use cachesim::read::input::Source;
use cachesim::simulate::strategy::Strategy;
use rayon::{ThreadPool, ThreadPoolBuilder};

use super::reading::{history, options, rows};
use cachesim::study::Study;

/// A file is cut into pieces of half a megabyte; three of them have two borders.
const LEAST_BYTES: usize = 1_200_000;

/// Lines as long as this make a file large in few lines.
const FILLER: usize = 60_000;

static ONE: LazyLock<ThreadPool> = LazyLock::new(|| pool(1));
static SEVERAL: LazyLock<ThreadPool> = LazyLock::new(|| pool(3));

fn pool(threads: usize) -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(threads).build().expect("threads")
}

pub(crate) fn check(bytes: &[u8]) {
    let Some((kind, rest)) = bytes.split_first() else { return };
    let place = kind % 4;
    let sources = if place < 3 {
        // One large file that begins, continues or ends with the lines.
        vec![large(rest, place)]
    } else {
        let files = rest.split(|byte| *byte == 0x1c).take(5).enumerate();
        files.map(|(number, file)| Source::in_memory(&format!("{number}"), file)).collect()
    };
    let [one, several] = [&ONE, &SEVERAL].map(|pool| pool.install(|| told(sources.clone())));
    assert_eq!(one, several);
}

/// A file so large that all threads read it, with the lines at a border of its pieces.
fn large(lines: &[u8], place: u8) -> Source {
    let filler = [br#"{"type":"user","note":""#, &*vec![b'x'; FILLER], b"\"}\n"].concat();
    let mut file = Vec::with_capacity(LEAST_BYTES + lines.len());
    let before = [0, 8, 16][usize::from(place)];
    for number in 0..=LEAST_BYTES / FILLER {
        if number == before {
            file.extend_from_slice(lines);
            file.push(b'\n');
            file.extend_from_slice(lines);
            file.push(b'\n');
        }
        file.extend_from_slice(&filler);
    }
    // What is on disk is what decides who reads it.
    Source { size: 1 << 30, ..Source::in_memory("large", &file) }
}

/// All that is said of sources.
fn told(sources: Vec<Source>) -> (String, Vec<String>) {
    let options = options(None);
    let history = history(sources, &options);
    let said = history.diagnostics.examples().iter().map(ToString::to_string);
    let counts =
        history.diagnostics.counts().map(|(kind, count)| format!("{count} {}", kind.name()));
    let said = said.chain(counts).collect();
    let Ok(study) = Study::of(history, options) else { return (String::new(), said) };
    let rows = rows(&study, &[Strategy::billed(), Strategy::expected()]);
    (String::from_utf8(rows).expect("JSON"), said)
}
