//! Sessions that are followed while they are written, against the whole of what is written.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use cachesim::BreakOptions;
use cachesim::base::units::{Picodollars, Tokens};
use cachesim::explain::breaks::Cause;
use cachesim::explain::next::Standing;
use cachesim::follow::{Followed, Follower, WindowSize};
use cachesim::requests::conversation::RequestIndex;
use cachesim::study::{Study, StudyError, StudyOptions};
use rayon::prelude::*;

use crate::common::{files, project, transcripts};

/// Windows so small that short sessions go on from many places.
const SMALL: WindowSize = WindowSize { open: 3, context: 6, most: 96 * 1_024 };

/// What a session is said to have cost, and what its next message costs.
#[derive(Debug, Default, PartialEq, Eq)]
struct Figures {
    cost: Picodollars,
    read: Tokens,
    prompt: Tokens,
    breaks: Vec<(Cause, Option<Picodollars>)>,
    next: Option<(Option<Picodollars>, Option<Picodollars>)>,
}

impl Figures {
    fn followed(followed: &Followed) -> Self {
        let requests = followed.requests.iter();
        Self {
            cost: requests.clone().filter_map(|one| one.cost).sum(),
            read: requests.clone().map(|one| one.read).sum(),
            prompt: requests.map(|one| one.prompt).sum(),
            breaks: followed.breaks.iter().map(|one| (one.cause, one.excess)).collect(),
            next: followed.next.as_ref().map(|next| (next.warm, next.cold)),
        }
    }

    /// What `analyze` says of the whole file.
    fn whole(path: &Path) -> Self {
        let options = StudyOptions::default();
        let study = match Study::read(&[path.to_owned()], options) {
            Err(StudyError::NoRequest) => return Self::default(),
            study => study.expect("a study"),
        };
        let findings = study.breaks(BreakOptions::default()).expect("breaks");
        let billed = &findings.figures().billed;
        let mut breaks: Vec<_> = findings.list().iter().collect();
        breaks.sort_by_key(|one| one.request);
        let indices = (0..study.history.requests.len()).map(RequestIndex::new).rev();
        let mut main = indices.clone().filter(|one| study.history.request(*one).agent.is_none());
        let last = main.next().or(indices.clone().next()).expect("a request");
        let key = study.history.request(last).conversation();
        let standing = indices
            .filter(|one| study.history.request(*one).conversation() == key)
            .find_map(|one| Standing::after(&findings.ledger, &study.steps, one));
        Self {
            cost: billed.cost().unwrap_or_default(),
            read: billed.read,
            prompt: billed.prompt(),
            breaks: breaks.into_iter().map(|one| (one.cause, one.excess)).collect(),
            next: standing.map(|one| {
                let prompt = one.least_prompt();
                (one.cost(one.warm(prompt)), one.cost(one.cold(prompt)))
            }),
        }
    }
}

fn sessions(corpus: &str) -> Vec<PathBuf> {
    let Some(folder) = transcripts(corpus) else { return Vec::new() };
    files(folder, ".jsonl")
}

/// What following a session came to.
#[derive(Debug, Default)]
struct Course {
    looks: u64,
    /// All that was read, and what it had been to read everything anew each time.
    read: u64,
    anew: u64,
    breaks: u64,
}

/// Writes a session a few lines at a time, and compares after them.
fn replay(path: &Path, size: WindowSize, step: usize) -> Course {
    let folder = tempfile::tempdir().expect("a folder");
    let copy = folder.path().join(path.file_name().expect("a name"));
    let mut file = File::create(&copy).expect("a file");
    let content = std::fs::read(path).expect("a session");
    let follower = Follower::new(StudyOptions::default(), size);
    let mut kept: Option<Vec<u8>> = None;
    let mut course = Course::default();
    let mut last_break = None;
    let lines: Vec<&[u8]> = content.split_inclusive(|byte| *byte == b'\n').collect();
    for lines in lines.chunks(step) {
        file.write_all(&lines.concat()).expect("written");
        let before = kept.as_ref().map(|bytes| Followed::decode(bytes, 1).expect("what was kept"));
        let followed = follower.look(&copy, before).expect("a look");
        let figures = Figures::followed(&followed);
        assert_eq!(figures, Figures::whole(&copy), "{}: {}", path.display(), course.looks + 1);
        course.looks += 1;
        course.read += followed.read;
        course.anew += followed.bytes;
        course.breaks += u64::from(followed.last_break() != last_break);
        last_break = followed.last_break();
        kept = Some(followed.encode(1).expect("room"));
    }
    course
}

fn by_size() -> Vec<(u64, PathBuf)> {
    let all = ["corpus", "corpus-b"].into_iter().flat_map(sessions);
    let size = |path: &PathBuf| std::fs::metadata(path).expect("a file").len();
    let mut all: Vec<(u64, PathBuf)> = all.map(|path| (size(&path), path)).collect();
    all.sort();
    all
}

#[test]
fn every_beginning_of_a_session_has_the_figures_of_the_whole() {
    let all = by_size();
    let chosen = all.iter().filter(|(size, _)| *size > 200_000).take(50);
    let chosen: Vec<&PathBuf> = chosen.map(|(_, path)| path).collect();
    if chosen.is_empty() {
        return;
    }
    let courses: Vec<Course> = chosen.par_iter().map(|path| replay(path, SMALL, 1)).collect();
    let sum = |of: fn(&Course) -> u64| courses.iter().map(of).sum::<u64>();
    assert_eq!((courses.len(), sum(|one| one.looks)), (50, 16_563));
    assert!(sum(|one| one.breaks) > 90);
    // Windows were gone on from, and not whole files.
    assert!(sum(|one| one.read) * 3 < sum(|one| one.anew));
}

#[test]
fn large_sessions_are_followed_from_their_ends() {
    let all = by_size();
    let chosen: Vec<&PathBuf> = all.iter().rev().skip(1).take(4).map(|(_, path)| path).collect();
    let follow = |path: &&PathBuf| replay(path, WindowSize::default(), 9);
    let courses: Vec<Course> = chosen.par_iter().map(follow).collect();
    assert!(courses.iter().all(|one| one.read * 2 < one.anew), "{courses:?}");
}

/// Something that is done to a file, whose content is given.
type Change = fn(&Path, &[u8]);

/// What a look says of a file after something else was done to it than adding lines.
fn after(change: impl FnOnce(&Path, &[u8])) -> Option<(Figures, Figures, bool)> {
    let (_, path) = by_size().into_iter().find(|(size, _)| *size > 400_000)?;
    let content = std::fs::read(path).expect("a session");
    let folder = tempfile::tempdir().expect("a folder");
    let copy = folder.path().join("session.jsonl");
    std::fs::write(&copy, &content).expect("written");
    let follower = Follower::new(StudyOptions::default(), SMALL);
    let before = follower.look(&copy, None).expect("a look");
    change(&copy, &content);
    let followed = follower.look(&copy, Some(before)).expect("a look");
    let is_whole = followed.read == followed.bytes;
    Some((Figures::followed(&followed), Figures::whole(&copy), is_whole))
}

#[test]
fn a_file_that_became_another_is_read_anew() {
    let changes: [(&str, Change); 4] = [
        ("cut", |path, content| std::fs::write(path, &content[..content.len() / 2]).expect("cut")),
        ("emptied", |path, _| std::fs::write(path, "").expect("emptied")),
        ("replaced", |path, content| {
            let lines: Vec<&[u8]> = content.split_inclusive(|byte| *byte == b'\n').collect();
            std::fs::write(path, lines[lines.len() / 3..].concat()).expect("replaced");
        }),
        ("overwritten", |path, content| {
            let mut other = content.to_vec();
            // A digit in the last settled lines, and one line more.
            let at = content.len() - 40_000;
            let digit = other[at..].iter().position(u8::is_ascii_digit).expect("a digit");
            other[at + digit] ^= 1;
            other.extend_from_slice(b"{}\n");
            std::fs::write(path, other).expect("overwritten");
        }),
    ];
    for (what, change) in changes {
        let Some((followed, whole, is_whole)) = after(change) else { return };
        assert_eq!(followed, whole, "{what}");
        assert!(is_whole, "{what}");
    }
}

#[test]
fn a_file_that_did_not_change_is_not_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let copy = folder.path().join("session.jsonl");
    std::fs::copy(project("fixtures/first-look/session.jsonl"), &copy).expect("a copy");
    let follower = Follower::new(StudyOptions::default(), WindowSize::default());
    let first = follower.look(&copy, None).expect("a look");
    assert_eq!(first.read, first.bytes);
    let second = follower.look(&copy, Some(first.clone())).expect("a look");
    assert_eq!((second.read, Figures::followed(&second)), (0, Figures::followed(&first)));
    std::fs::remove_file(&copy).expect("removed");
    assert!(follower.look(&copy, Some(second)).is_err());
}
