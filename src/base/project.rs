//! Names of projects: without the user's home, and on request without any word.
//!
//! A project is a folder. Lines name it by its path (`/home/ann/src/app`), and Claude Code names the folder of its
//! transcripts after that path, with `-` for every character other than letters and digits (`-home-ann-src-app`). Both
//! lead to the same digest.

use std::path::Path;

use blake2::Blake2bMac;
use blake2::digest::consts::U6;
use blake2::digest::{KeyInit, Mac};

use crate::base::by_key::ByKey;

/// Key of the digests, the same in every run and on every machine.
const KEY: &[u8] = b"cachesim project name v1";

/// Prefix of a project's digest.
const DIGEST: &str = "project-";

/// Folders in which clients keep transcripts; their names reveal nothing about a user.
pub const CLIENT_FOLDERS: [&str; 4] = ["projects", "subagents", "tool-results", "workflows"];

/// Endings of the file names that are read from a folder.
const ENDINGS: [&str; 3] = [".jsonl", ".jsonl.gz", ".jsonl.zst"];

/// Number of last parts of a path that distinguish projects: equal ones count as one project.
const MOST_PARTS: usize = 16;

/// Form of the names of projects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProjectNames {
    /// The shortest end of the folder's path that distinguishes it from the others.
    #[default]
    Relative,
    /// A digest of the path below the home. Anybody who guesses the path can compute it as well.
    Hash,
}

/// Naming of projects, with the user's home.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProjectNaming {
    /// Form of the names.
    pub names: ProjectNames,
    /// The user's home, if its form does not show it (`/home/ann`, `/Users/ann`, `C:\Users\ann`).
    pub home: Option<String>,
}

impl ProjectNaming {
    /// Names of projects by their paths. Different paths have different names if their last sixteen parts differ.
    pub fn of_paths(&self, paths: &[&str]) -> Vec<String> {
        let parts: Vec<Vec<&str>> = paths.iter().map(|path| self.parts(path)).collect();
        match self.names {
            ProjectNames::Relative => distinct(&parts),
            ProjectNames::Hash => parts.iter().map(|parts| digest(&dashed_path(parts))).collect(),
        }
    }

    /// Label of a file: its path below the given folder, with `/` between the parts. The name of the file itself stays,
    /// as it identifies the session; the name of a folder does not.
    pub fn label(&self, label: &str) -> String {
        let path = self.path(label);
        let (folders, last) =
            path.rsplit_once('/').map_or((None, &*path), |(folders, last)| (Some(folders), last));
        // `-` is standard input.
        let is_file = ENDINGS.iter().any(|ending| last.ends_with(ending)) || last == "-";
        let last = if is_file { last.to_owned() } else { self.folder(last) };
        let folders = folders.into_iter().flat_map(|folders| folders.split('/'));
        folders.map(|folder| self.folder(folder)).chain([last]).collect::<Vec<_>>().join("/")
    }

    /// Name of a domain called after folders, without the path to a home.
    pub fn domain_of_folders(&self, path: &str) -> String {
        let folders = path.split('/').map(|folder| self.without_home(folder));
        self.domain(&folders.collect::<Vec<_>>().join("/"))
    }

    /// Name of a domain as given, or its digest, as any name may be a person's.
    pub fn domain(&self, name: &str) -> String {
        match self.names {
            ProjectNames::Relative => name.to_owned(),
            ProjectNames::Hash => digest(name),
        }
    }

    /// A path with `~` for the user's home.
    pub fn path(&self, path: &str) -> String {
        // A home of `/` would make every path one below the home.
        let home = self.home.as_deref().map(Path::new).filter(|home| home.parent().is_some());
        if let Some(rest) = home.and_then(|home| Path::new(path).strip_prefix(home).ok()) {
            return Path::new("~").join(rest).to_string_lossy().trim_end_matches('/').to_owned();
        }
        let separated: Vec<&str> = path.split_inclusive(['/', '\\']).collect();
        let named: Vec<&str> =
            separated.iter().map(|part| part.trim_end_matches(['/', '\\'])).collect();
        let is_absolute = named.first().is_some_and(|first| first.is_empty());
        let home = match named.as_slice() {
            [_, parts @ ..] if is_absolute => home_parts(parts) + 1,
            [drive, ..] if drive.ends_with(':') => home_parts(&named),
            _ => 0,
        };
        if home < 2 {
            return path.to_owned();
        }
        let rest = separated[home..].concat();
        if rest.is_empty() { "~".to_owned() } else { format!("~/{rest}") }
    }

    /// A folder in the label of a file.
    fn folder(&self, folder: &str) -> String {
        let folder = self.without_home(folder);
        // These reveal nothing, and keep labels readable.
        let tells_nothing = CLIENT_FOLDERS.contains(&&*folder)
            || matches!(&*folder, "" | "~" | "." | "..")
            || folder.bytes().all(|byte| byte.is_ascii_digit())
            || is_uuid(&folder);
        match self.names {
            ProjectNames::Hash if !tells_nothing => digest(&folder),
            _ => folder,
        }
    }

    /// Name of a folder of Claude Code, without the user's home.
    fn without_home(&self, folder: &str) -> String {
        let own = self.home.as_deref().map(dashed);
        let own = own.filter(|home| home.len() > 1 && is_below(folder, home));
        let length = own.map(|home| home.len()).or_else(|| {
            let homes = ["-home-", "-Users-", "C--Users-"];
            let Some(home) = homes.iter().find(|home| folder.starts_with(**home)) else {
                return is_below(folder, "-root").then_some("-root".len());
            };
            let begin = home.len();
            Some(folder[begin..].find('-').map_or(folder.len(), |name| begin + name))
        });
        length.map_or_else(|| folder.to_owned(), |length| format!("~{}", &folder[length..]))
    }

    /// Parts of the path of a project, with `~` for the user's home.
    fn parts<'p>(&self, path: &'p str) -> Vec<&'p str> {
        let mut parts: Vec<&str> =
            path.split(['/', '\\']).filter(|part| !part.is_empty()).collect();
        let own = self.home.as_deref().unwrap_or_default();
        let own: Vec<&str> = own.split(['/', '\\']).filter(|part| !part.is_empty()).collect();
        let is_own = !own.is_empty() && parts.starts_with(&own);
        let home = if is_own { own.len() } else { home_parts(&parts) };
        if home > 0 {
            parts.splice(..home, ["~"]);
        }
        parts
    }
}

/// Returns true if a folder's name is that of a place or of one below it.
fn is_below(folder: &str, place: &str) -> bool {
    folder.strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

/// Number of parts at the beginning of a path that have the form of a home.
fn home_parts(parts: &[&str]) -> usize {
    match parts {
        ["home" | "Users", _, ..] => 2,
        [drive, "Users", _, ..] if drive.ends_with(':') => 3,
        // A Windows drive as the Linux subsystem mounts it.
        ["mnt", _, "Users", _, ..] => 4,
        ["root", ..] => 1,
        _ => 0,
    }
}

/// Shortest distinct ends of paths: one more part for each name that two paths share, up to sixteen.
fn distinct(paths: &[Vec<&str>]) -> Vec<String> {
    let mut lengths = vec![1; paths.len()];
    let mut names = Vec::new();
    for _ in 0..MOST_PARTS {
        names = paths.iter().zip(&lengths).map(|(parts, length)| name(parts, *length)).collect();
        let mut counts: ByKey<&String, usize> = ByKey::new();
        for name in &names {
            *counts.entry(name).or_default() += 1;
        }
        for (name, length) in names.iter().zip(&mut lengths) {
            *length += usize::from(counts[name] > 1);
        }
    }
    names
}

fn name(parts: &[&str], length: usize) -> String {
    if parts.is_empty() {
        return "/".to_owned();
    }
    parts[parts.len().saturating_sub(length)..].join("/")
}

/// Path in the form of Claude Code's folder names.
fn dashed_path(parts: &[&str]) -> String {
    let begins_itself = parts.first().is_some_and(|first| *first == "~" || first.ends_with(':'));
    let names = parts.iter().map(|part| if *part == "~" { "~".to_owned() } else { dashed(part) });
    let names = names.collect::<Vec<_>>().join("-");
    if begins_itself { names } else { format!("-{names}") }
}

fn dashed(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}

fn is_uuid(text: &str) -> bool {
    let is_place = |(place, byte): (usize, u8)| match place {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    };
    text.len() == 36 && text.bytes().enumerate().all(is_place)
}

/// First 48 bits of a keyed BLAKE2b, as `project-` and twelve hexadecimal digits.
///
/// # Panics
/// Never: the key is shorter than BLAKE2b's longest.
fn digest(name: &str) -> String {
    let mut mac = Blake2bMac::<U6>::new_from_slice(KEY).expect("a key of at most 64 bytes");
    mac.update(name.as_bytes());
    let bytes = mac.finalize().into_bytes();
    let digits = bytes.iter().fold(0_u64, |digits, byte| digits << 8 | u64::from(*byte));
    format!("{DIGEST}{digits:012x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hashed() -> ProjectNaming {
        ProjectNaming { names: ProjectNames::Hash, home: None }
    }

    #[test]
    fn names_of_projects_are_as_short_as_their_folders_allow() {
        let names = |paths: &[&str]| ProjectNaming::default().of_paths(paths);
        let paths = ["/home/ann/work/api", "/home/ann/play/api", "/srv/web", "C:\\code\\tool", "/"];
        assert_eq!(names(&paths), ["work/api", "play/api", "web", "tool", "/"]);
        assert_eq!(names(&["/a/x", "a/x"]), ["a/x", "a/x"]);
        // No name reveals the user.
        let homes = ["/home/ann", "/home/bob/web", "/Users/ann/web", "C:\\Users\\ann\\go\\web"];
        assert_eq!(names(&homes), ["~", "~/web", "~/web", "go/web"]);
        assert_eq!(names(&["/root", "/mnt/c/Users/ann/x"]), ["~", "x"]);
        let own = ProjectNaming { home: Some("/data/ann".to_owned()), ..ProjectNaming::default() };
        assert_eq!(own.of_paths(&["/data/ann/x", "/srv/x", "/data/ann"]), ["~/x", "srv/x", "~"]);
    }

    #[test]
    fn homes_are_in_no_label_and_in_no_path() {
        let own = ProjectNaming { home: Some("/data/ann".to_owned()), ..ProjectNaming::default() };
        for (label, shown) in [
            ("-home-ann-work-app/s.jsonl", "~-work-app/s.jsonl"),
            ("-Users-ann/s.jsonl", "~/s.jsonl"),
            ("C--Users-ann-app/s.jsonl", "~-app/s.jsonl"),
            ("-root-app/s.jsonl", "~-app/s.jsonl"),
            ("-rooted/s.jsonl", "-rooted/s.jsonl"),
            ("-srv-home-app/s.jsonl", "-srv-home-app/s.jsonl"),
            ("-data-ann-app/s.jsonl", "~-app/s.jsonl"),
            ("-data-anna-app/s.jsonl", "-data-anna-app/s.jsonl"),
            ("home/s.jsonl", "home/s.jsonl"),
            ("home/ann/s.jsonl", "home/ann/s.jsonl"),
            ("-home-/s.jsonl", "~/s.jsonl"),
            ("/home/ann/none/s.jsonl", "~/none/s.jsonl"),
            ("/data/ann/s.jsonl", "~/s.jsonl"),
            ("C:\\Users\\ann\\s.jsonl", "~/s.jsonl"),
        ] {
            assert_eq!(own.label(label), shown);
        }
        assert_eq!(own.path("/data/ann/"), "~");
        assert_eq!(own.path("/data/annals"), "/data/annals");
        assert_eq!(own.path("/Users/ann"), "~");
    }

    /// Computed with Python: `hashlib.blake2b(name, key=b"cachesim project name v1", digest_size=6)`.
    #[test]
    fn digests_are_those_of_keyed_blake2b() {
        assert_eq!(digest("~-src-app"), "project-0c40ca5484c4");
        assert_eq!(digest("-srv-web"), "project-e110137e7cde");
    }

    #[test]
    fn a_project_has_one_digest_by_its_path_and_by_its_folder() {
        let hashed = hashed();
        for (path, folder) in [
            ("/home/ann/src/app.d", "-home-ann-src-app-d"),
            ("/Users/bob/src/app_d", "~-src-app-d"),
            ("/srv/web", "-srv-web"),
            ("C:\\code\\tool", "C--code-tool"),
        ] {
            let label = hashed.label(&format!("{folder}/a.jsonl"));
            assert_eq!(label, format!("{}/a.jsonl", hashed.of_paths(&[path])[0]));
        }
        let names = hashed.of_paths(&["/home/ann/x", "/Users/bob/x", "/srv/x"]);
        assert_eq!(names[0], names[1], "homes differ between machines");
        assert_ne!(names[0], names[2]);
        let session = "5e1f0000-0000-4000-8000-000000000001";
        let label = format!("projects/-srv-web/{session}/subagents/agent-a1.jsonl");
        let digest = digest("-srv-web");
        let shown = format!("projects/{digest}/{session}/subagents/agent-a1.jsonl");
        assert_eq!(hashed.label(&label), shown);
        assert_eq!(hashed.label("a.jsonl"), "a.jsonl");
        assert_eq!(hashed.label("-srv-web"), digest, "a folder that cannot be read");
        assert_eq!(hashed.label("-"), "-");
    }
}
