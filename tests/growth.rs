//! Work and memory grow with the input, and no faster, whatever its shape.
//!
//! `benches/shapes.py` writes each shape (chains, stars, circles of parents, many files, markers, blocks, tools,
//! keys, …) at 1, 4 and 8 times a size, and this program runs every command over sessions on them: itself, as a
//! child, with the command line of `cachesim` and an allocator that counts. Nothing is timed.
//!
//! What it sees: bytes allocated in all, which most work shows in, and the peak of bytes held. A loop that
//! allocates nothing shows in neither, so `valgrind` counts instructions as well, where it is installed: those of
//! `lint` on captures, whose rules compare parts of prompts with each other; of all commands and shapes under
//! `CACHESIM_GROWTH=all`, which takes far longer. `CACHESIM_GROWTH=large` counts the bytes of all commands and shapes
//! at 8,000, 32,000 and 64,000 elements, and the instructions of those that grew once at a quarter of these sizes.
//! What it cannot see: memory outside of the allocator (stacks, mapped files), and growth that begins beyond the sizes
//! tried.
//!
//! What is missing is counted by `tests`, with all else that is.
//!
//! `cargo test --features full --test growth -- NAME` tries those cases whose `COMMAND::SHAPE` contains the name.

use std::alloc::System;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use cap::Cap;
use serde::Deserialize;

#[global_allocator]
static COUNTED: Cap<System> = Cap::new(System, usize::MAX);

/// The file to which a child writes what it allocated.
const COUNTS: &str = "GROWTH_COUNTS";

/// The elements of the smallest size where allocations are counted: so many that buffers of a fixed size are little.
const BASE: &str = "512";

/// Where instructions are counted, which takes fifty times as long.
const STEPPED_BASE: &str = "100";

/// The same two of large sizes.
const LARGE_BASES: [&str; 2] = ["8000", "2000"];

/// Commands whose work grew faster than their input at such sizes once.
const ONCE_GREW: [&str; 3] = ["advise", "blocks", "part"];

/// The sizes tried, as places in the list of a case: 1, 4 and 8 times the base.
const SIZES: [usize; 3] = [0, 2, 3];

/// How much more instructions 8 times the size may take over the smallest than 4 times the size does. Of work that
/// grows like n^1.2 that is (8^1.2 − 1) / (4^1.2 − 1); of n it is 2.33, of n^1.5 3.1, and of n² 4.2.
const MOST_STEPS: f64 = 2.59;

/// The same at large sizes, of n^1.1: what is the same for every size counts for nothing there.
const MOST_STEPS_LARGE: f64 = 2.46;

/// The same of bytes allocated, where one buffer that doubles once more is a step.
const MOST_BYTES: f64 = 3.1;

/// What such a buffer takes once more.
const BUFFER: u64 = 2 << 20;

/// How many times the peak at 4 times the size that at 8 times may be: 2 of n, 4 of n².
const MOST_PEAK: u64 = 3;

/// What the largest size takes beyond the smallest must be that much of the smallest to say anything: the start
/// of the program is the same for all.
const LEAST: f64 = 0.1;

/// A command on a shape, with its arguments at each size.
#[derive(Deserialize)]
struct Case {
    shape: String,
    command: String,
    runs: Vec<Vec<String>>,
}

/// What is counted of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Instructions,
    BytesAllocated,
    BytesAtPeak,
}

fn main() -> ExitCode {
    match env::var_os(COUNTS) {
        Some(file) => count_allocations(Path::new(&file)),
        None => try_all(),
    }
}

/// The program itself, and what it allocated.
fn count_allocations(file: &Path) -> ExitCode {
    let code = cachesim::cli::main();
    let counts = format!("{} {}", COUNTED.total_allocated(), COUNTED.max_allocated());
    fs::write(file, counts).expect("a file for the counts");
    code
}

fn try_all() -> ExitCode {
    let filters: Vec<String> = env::args().skip(1).filter(|one| !one.starts_with('-')).collect();
    let folders = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
    let bases = if is_asked("large") { LARGE_BASES } else { [BASE, STEPPED_BASE] };
    let written = bases.into_iter().zip(&folders);
    let written: Option<Vec<_>> =
        written.map(|(base, folder)| cases(folder.path(), base)).collect();
    let Some([counted, stepped]) = written.and_then(|both| <[Vec<Case>; 2]>::try_from(both).ok())
    else {
        println!("growth: no cases without python3");
        return ExitCode::SUCCESS;
    };
    let is_meant = |case: &Case| filters.iter().all(|filter| case.name().contains(filter.as_str()));
    let mut stepped: Vec<Case> =
        stepped.into_iter().filter(|case| is_meant(case) && case.is_stepped()).collect();
    let has_valgrind = Command::new("valgrind").arg("--version").output().is_ok();
    if !has_valgrind {
        stepped.clear();
    }
    let counted = counted.into_iter().filter(is_meant).map(|case| (case, false));
    // What takes longest comes first.
    let cases: Vec<(Case, bool)> =
        stepped.into_iter().map(|case| (case, true)).chain(counted).collect();
    let (next, faults) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let try_next = || {
        while let Some((case, is_stepped)) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
            let found = case.faults(*is_stepped);
            faults.lock().expect("no thread panics here").extend(found);
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(try_next))));
    let mut faults = faults.into_inner().expect("no thread panics here");
    faults.sort();
    for fault in &faults {
        eprintln!("{fault}");
    }
    let without = if has_valgrind { "" } else { ", no instructions counted without valgrind" };
    println!("growth: {} cases, {} grow too fast{without}", cases.len(), faults.len());
    ExitCode::from(u8::from(!faults.is_empty()))
}

/// Whether `CACHESIM_GROWTH` asks for more than every run tries.
fn is_asked(what: &str) -> bool {
    env::var("CACHESIM_GROWTH").is_ok_and(|value| value == what)
}

/// Writes the shapes. `None` where there is no Python.
fn cases(folder: &Path, base: &str) -> Option<Vec<Case>> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/shapes.py");
    let mut python = Command::new("python3");
    let status =
        python.arg(script).arg("--write").arg(folder).args(["--base", base]).status().ok()?;
    assert!(status.success(), "benches/shapes.py --write fails");
    let text = fs::read_to_string(folder.join("cases.json")).expect("the cases");
    Some(serde_json::from_str(&text).expect("JSON"))
}

impl Case {
    fn name(&self) -> String {
        format!("{}::{}", self.command, self.shape)
    }

    /// Whether its instructions are counted.
    fn is_stepped(&self) -> bool {
        let compares =
            ["edits", "fields", "keys", "markers", "messages", "paragraphs", "system", "tools"];
        if is_asked("large") {
            return ONCE_GREW.contains(&self.command.as_str());
        }
        let is_chosen = self.command == "lint" && compares.contains(&self.shape.as_str());
        is_chosen || is_asked("all")
    }

    /// What grows too fast: instructions, or bytes.
    fn faults(&self, is_stepped: bool) -> Vec<String> {
        let runs = SIZES.map(|size| {
            let run = &self.runs[size];
            if is_stepped { vec![instructions(run)] } else { allocations(run).to_vec() }
        });
        let [small, middle, large] = &runs;
        let counts = small.iter().zip(middle).zip(large);
        counts
            .filter_map(|(((what, small), (_, middle)), (_, large))| {
                let counts = [*small, *middle, *large];
                what.grows_too_fast(counts).then(|| format!("{}: {what:?} {counts:?}", self.name()))
            })
            .collect()
    }
}

impl What {
    /// Whether counts at 1, 4 and 8 times a size grow faster than they may.
    #[allow(clippy::cast_precision_loss)] // counts are far below 2^53
    fn grows_too_fast(self, [small, middle, large]: [u64; 3]) -> bool {
        let (most, large) = match self {
            Self::Instructions if is_asked("large") => (MOST_STEPS_LARGE, large),
            Self::Instructions => (MOST_STEPS, large),
            Self::BytesAllocated => (MOST_BYTES, large.saturating_sub(BUFFER)),
            Self::BytesAtPeak => return large > MOST_PEAK * middle,
        };
        let beyond = |count: u64| count.saturating_sub(small) as f64;
        beyond(large) > LEAST * small as f64 && beyond(large) > most * beyond(middle)
    }
}

/// The program, as a child, in an environment that holds nothing of the user's.
fn child(program: &Path, arguments: &[String], folder: &Path) -> Command {
    let out = folder.to_str().expect("a plain path");
    let mut command = Command::new(program);
    command
        .args(arguments.iter().map(|argument| argument.replace("OUT", out)))
        .env_clear()
        .env("CACHESIM_NO_CONFIG", "1")
        .env("HOME", "/nonexistent")
        .env(COUNTS, folder.join("counts"))
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

fn own_path() -> PathBuf {
    env::current_exe().expect("the path of this program")
}

/// The bytes that a run allocates in all, and at its peak.
fn allocations(arguments: &[String]) -> [(What, u64); 2] {
    let folder = tempfile::tempdir().expect("a folder");
    let status = child(&own_path(), arguments, folder.path()).status().expect("the program runs");
    assert!(status.code().is_some_and(|code| code < 5), "{arguments:?}: {status}");
    let counts = fs::read_to_string(folder.path().join("counts")).expect("the counts");
    let mut counts = counts.split(' ').map(|count| count.parse().expect("a number"));
    [What::BytesAllocated, What::BytesAtPeak].map(|what| (what, counts.next().expect("two counts")))
}

/// The instructions of a run.
fn instructions(arguments: &[String]) -> (What, u64) {
    let folder = tempfile::tempdir().expect("a folder");
    let counts = folder.path().join("instructions");
    let options = ["--tool=cachegrind", "--cache-sim=no"].map(str::to_owned);
    let out = format!("--cachegrind-out-file={}", counts.display());
    let own = own_path().to_str().expect("a plain path").to_owned();
    let all: Vec<String> =
        options.into_iter().chain([out, own]).chain(arguments.iter().cloned()).collect();
    let mut valgrind = child(Path::new("valgrind"), &all, folder.path());
    valgrind.env("PATH", env::var_os("PATH").unwrap_or_default()).status().expect("valgrind runs");
    let text = fs::read_to_string(&counts).expect("what valgrind writes");
    let summary = text.lines().find_map(|line| line.strip_prefix("summary: "));
    let count = summary.and_then(|count| count.split(' ').next()?.parse().ok());
    (What::Instructions, count.expect("a sum"))
}
