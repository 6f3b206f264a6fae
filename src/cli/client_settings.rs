//! Claude Code's settings files: their places, changes of one of them, and the records that take a change
//! back.

use std::borrow::Cow;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::{env, fs};

use jiff::Timestamp;
use tempfile::NamedTempFile;

use super::folders::{make_private, state_folder};
use super::output_file::place;
use super::places::claude_homes;
use super::{CliError, OutputFile, shown_path};
use crate::base::Order as _;
use crate::read::input::{MOST_SETTINGS, read_whole};
use crate::settings::{
    Applied, Conflict, Layer, LayerFile, Layers, Promise, Setting, SettingsError, SettingsText,
};

/// Folder of a home or a project that holds its settings.
const FOLDER: &str = ".claude";

/// Folder of the settings that administrators manage.
fn managed_folder() -> &'static Path {
    Path::new(if cfg!(target_os = "macos") {
        "/Library/Application Support/ClaudeCode"
    } else if cfg!(windows) {
        r"C:\Program Files\ClaudeCode"
    } else {
        "/etc/claude-code"
    })
}

/// Settings file that may be changed.
pub(super) struct SettingsFile {
    /// Path of the file, with links resolved.
    pub(super) place: String,
    /// Path as the user writes it.
    pub(super) shown: String,
    /// Content of the file. `None` if it does not exist.
    pub(super) text: Option<SettingsText>,
}

impl SettingsFile {
    /// Reads the named file, otherwise the user's.
    ///
    /// # Errors
    /// The file cannot be read, or is damaged.
    pub(super) fn open(named: Option<&Path>) -> Result<Self, CliError> {
        let path = named.map_or_else(user_file, |path| Ok(path.to_owned()))?;
        let shown = shown_path(&path);
        let problem = |problem: &str| CliError::NoInput(format!("{shown}: {problem}"));
        let place = place(&path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => problem(
                "its folder is not there; make it first, or name another file with --settings",
            ),
            _ => problem(&error.to_string()),
        })?;
        // A folder, a pipe or a device cannot be replaced by a file.
        if fs::metadata(&place).is_ok_and(|metadata| !metadata.is_file()) {
            return Err(problem("it is no file"));
        }
        let text = read(&place)?;
        let place = place.into_os_string().into_string();
        let place = place.map_err(|_| problem("its path is no UTF-8; name another file"))?;
        Ok(Self { place, shown, text })
    }

    /// Content of the file, empty if it does not exist.
    pub(super) fn known(&self) -> Result<SettingsText, SettingsError> {
        self.text.clone().map_or_else(|| SettingsText::parse(b""), Ok)
    }

    /// Change of the file that sets keys.
    ///
    /// # Errors
    /// A key would not act, as a stronger file or variable decides, or has no place.
    pub(super) fn with(
        &self,
        change: (&str, Timestamp),
        set: Vec<Setting>,
        promise: Option<Promise>,
    ) -> Result<Applied, CliError> {
        let user = claude_homes().into_iter().next().map(|home| home.join("settings.json"));
        let files = layer_files(Path::new(&self.place), user.as_deref(), managed_folder());
        self.refuse_conflicts(&set, files)?;
        let before = self.text.as_ref();
        let applied = Applied::new(&self.place, change, set, before, promise);
        let applied = applied.map_err(|error| self.damaged(&error))?;
        if applied.after.len() as u64 > MOST_SETTINGS {
            let most = MOST_SETTINGS >> 20;
            let problem =
                format!("{}: it would have more than {most} MiB; nothing was changed", self.shown);
            return Err(CliError::NoInput(problem));
        }
        Ok(applied)
    }

    /// Refuses keys that would not act, by the files of a client.
    fn refuse_conflicts(
        &self,
        set: &[Setting],
        files: Vec<(Layer, PathBuf)>,
    ) -> Result<(), CliError> {
        let own = files.iter().find(|(_, path)| is_same(path, Path::new(&self.place)));
        let layer = own.map_or(Layer::Named, |(layer, _)| *layer);
        if layer == Layer::Managed {
            let problem = "it is managed by an administrator; name another file with --settings";
            return Err(CliError::NoInput(format!("{}: {problem}", self.shown)));
        }
        let mut others = Vec::new();
        for (layer, path) in files {
            if is_same(&path, Path::new(&self.place)) {
                continue;
            }
            if let Some(text) = read(&path)? {
                others.push(LayerFile { layer, path, text });
            }
        }
        let layers = Layers { others, environment: |name: &str| env::var(name).ok() };
        let text = self.known().map_err(|error| self.damaged(&error))?;
        let own = LayerFile { layer, path: self.place.clone().into(), text };
        for setting in set {
            let conflict = layers.conflict(setting, &own);
            let conflict = conflict.map_err(|(path, error)| damaged(&path, &error))?;
            if let Some(conflict) = conflict {
                return Err(CliError::NoInput(told(&conflict)));
            }
        }
        Ok(())
    }

    /// Replaces the file as a whole, or removes it.
    ///
    /// # Errors
    /// The file was changed since it was read, or an error of the system.
    pub(super) fn replace(&self, text: Option<&str>) -> Result<(), CliError> {
        let place = Path::new(&self.place);
        let failed = |source| CliError::OutputFile { path: PathBuf::from(&self.shown), source };
        let Some(text) = text else {
            self.refuse_changed()?;
            return fs::remove_file(place).map_err(failed);
        };
        let mut file = OutputFile::open(place).map_err(failed)?;
        file.write_all(text.as_bytes()).map_err(failed)?;
        // Checked last, so that another program has little time to write in between.
        self.refuse_changed()?;
        file.finish().map_err(failed)
    }

    /// Error for a damaged file.
    pub(super) fn damaged(&self, error: &SettingsError) -> CliError {
        damaged(Path::new(&self.place), error)
    }

    fn refuse_changed(&self) -> Result<(), CliError> {
        if read(Path::new(&self.place))? == self.text {
            return Ok(());
        }
        Err(CliError::NoInput(format!(
            "{}: another program wrote to it in this moment; nothing was changed, try again",
            self.shown
        )))
    }
}

/// Path as a word of a shell.
pub(super) fn word(path: &str) -> String {
    shlex::try_quote(path).map_or_else(|_| path.to_owned(), Cow::into_owned)
}

/// Path of the user's settings.
fn user_file() -> Result<PathBuf, CliError> {
    let mut homes = claude_homes().into_iter();
    match (homes.next(), homes.next()) {
        (Some(home), None) => Ok(home.join("settings.json")),
        (None, _) => Err(CliError::Usage(
            "no home folder is known; name the file with --settings FILE".to_owned(),
        )),
        (Some(_), Some(_)) => Err(CliError::Usage(
            "CLAUDE_CONFIG_DIR names several folders; name the file with --settings FILE"
                .to_owned(),
        )),
    }
}

/// Settings files of a client that is started in the file's project, or here, the strongest first.
fn layer_files(place: &Path, user: Option<&Path>, managed: &Path) -> Vec<(Layer, PathBuf)> {
    let folder =
        place.parent().filter(|folder| folder.file_name().is_some_and(|name| name == FOLDER));
    let is_user = user.is_some_and(|user| is_same(user, place));
    let project = folder.filter(|_| !is_user).and_then(Path::parent).unwrap_or(Path::new(""));
    let of_project = |name| project.join(FOLDER).join(name);
    let mut files: Vec<(Layer, PathBuf)> = Vec::new();
    files.extend(user.map(|user| (Layer::User, user.to_owned())));
    files.push((Layer::Project, of_project("settings.json")));
    files.push((Layer::Local, of_project("settings.local.json")));
    files.push((Layer::Managed, managed.join("managed-settings.json")));
    let added = fs::read_dir(managed.join("managed-settings.d")).into_iter().flatten().flatten();
    let mut added: Vec<PathBuf> = added.map(|entry| entry.path()).collect();
    added.order();
    let is_settings = |path: &PathBuf| path.extension().is_some_and(|one| one == "json");
    files.extend(added.into_iter().filter(is_settings).map(|path| (Layer::Managed, path)));
    // A home is not a project: its file is the user's.
    let mut different: Vec<(Layer, PathBuf)> = Vec::new();
    for (layer, path) in files {
        if !different.iter().any(|(_, other)| is_same(other, &path)) {
            different.push((layer, path));
        }
    }
    different.order_by_key(|(layer, _)| *layer);
    different
}

fn is_same(one: &Path, other: &Path) -> bool {
    let resolved = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    resolved(one) == resolved(other)
}

/// Content of a settings file, if it exists.
fn read(path: &Path) -> Result<Option<SettingsText>, CliError> {
    let unread =
        |problem: &str| CliError::NoInput(format!("cannot read {}: {problem}", shown_path(path)));
    // Reading from a pipe may never end.
    if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
        return Err(unread("it is no file; nothing was changed"));
    }
    match read_whole(path, MOST_SETTINGS) {
        Ok(bytes) => SettingsText::parse(&bytes).map(Some).map_err(|error| damaged(path, &error)),
        Err(error) if is_missing(&error) => Ok(None),
        Err(error) => Err(unread(&error.to_string())),
    }
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn damaged(path: &Path, error: &SettingsError) -> CliError {
    let path = shown_path(path);
    CliError::NoInput(format!("{path}{error}; nothing was changed: mend it first"))
}

/// Explanation of a key that would not act, with what to do.
fn told(conflict: &Conflict) -> String {
    match conflict {
        Conflict::Stronger { key, file: (Layer::Managed, path) } => format!(
            "`{key}` is managed by an administrator, in {}; nothing was changed",
            shown_path(path)
        ),
        Conflict::Stronger { key, file: (_, path) } => format!(
            "`{key}` would not act here, as it is set in {}, which is stronger; nothing was changed: set it there with \
             --settings {}, or run this in another folder",
            shown_path(path),
            word(&fs::canonicalize(path).unwrap_or_else(|_| path.clone()).display().to_string())
        ),
        Conflict::Variable { key, variable, file } => format!(
            "`{key}` would not act, as {variable} is set in {}; nothing was changed: take it out there first",
            file.as_deref().map_or_else(|| "the environment".to_owned(), shown_path)
        ),
        Conflict::TurnedOff { key, by: (switch, value), file } => format!(
            "`{key}` would not act, as `{switch}` is {value} in {}; nothing was changed: take it out there first",
            shown_path(file)
        ),
    }
}

/// Most bytes of a record: two settings files, each byte escaped.
const MOST_RECORD: u64 = 16 * MOST_SETTINGS;

/// Records of changes, which take them back. Each is a file that only its owner may read, named by its
/// number.
pub(super) struct Records(PathBuf);

/// Record with its path.
pub(super) struct Record {
    pub(super) path: PathBuf,
    pub(super) applied: Applied,
}

impl Records {
    /// Records of the user.
    ///
    /// # Errors
    /// The user has no folder for them.
    pub(super) fn of_user() -> Result<Self, CliError> {
        let folder = state_folder().map(|folder| Self(folder.join("applied")));
        folder.ok_or_else(|| {
            let problem = "there is no folder in which a copy could be kept; set XDG_STATE_HOME";
            CliError::Usage(problem.to_owned())
        })
    }

    /// Keeps other runs from changing settings until the lock is dropped.
    pub(super) fn lock(&self) -> Result<File, CliError> {
        let locked = || {
            make_private(&self.0)?;
            let lock = OpenOptions::new().create(true).append(true).open(self.0.join("lock"))?;
            lock.lock()?;
            Ok(lock)
        };
        locked().map_err(|error| self.failed(error))
    }

    /// Keeps a record, and returns its path.
    pub(super) fn keep(&self, applied: &Applied) -> Result<PathBuf, CliError> {
        let last = self.numbered().map(|(number, _)| number).max().unwrap_or(0);
        let path = self.0.join(format!("{:06}.json", last + 1));
        let kept = || {
            let mut file = NamedTempFile::new_in(&self.0)?;
            file.write_all(&applied.to_json()?)?;
            // Never over another file, even if something else took the number.
            file.persist_noclobber(&path).map_err(|error| error.error)
        };
        kept().map_err(|error| self.failed(error))?;
        Ok(path)
    }

    fn failed(&self, source: io::Error) -> CliError {
        CliError::OutputFile { path: self.0.clone(), source }
    }

    /// Files of records, by their numbers.
    fn numbered(&self) -> impl Iterator<Item = (u64, PathBuf)> {
        let entries = fs::read_dir(&self.0).into_iter().flatten().flatten();
        entries.filter_map(|entry| {
            let path = entry.path();
            let is_record = path.is_file() && path.extension().is_some_and(|one| one == "json");
            let number = path.file_stem()?.to_str()?.parse().ok()?;
            // A number without a next one is not from this program.
            let is_record = is_record && number < u64::MAX;
            is_record.then_some((number, path))
        })
    }

    /// Newest record of a file that satisfies `holds`.
    pub(super) fn newest(&self, place: &str, holds: impl Fn(&Applied) -> bool) -> Option<Record> {
        let mut files: Vec<(u64, PathBuf)> = self.numbered().collect();
        files.order();
        files.into_iter().rev().find_map(|(_, path)| {
            // A damaged record is passed over for an older one.
            let applied = Applied::parse(&read_whole(&path, MOST_RECORD).ok()?)?;
            (applied.file == place && holds(&applied)).then_some(Record { path, applied })
        })
    }
}

impl Record {
    /// Removes the record.
    pub(super) fn forget(path: &Path) -> Result<(), CliError> {
        fs::remove_file(path).map_err(CliError::unwritable(path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_whose_they_are() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        for one in ["home/.claude", "work/.claude", "managed/managed-settings.d"] {
            fs::create_dir_all(path(one)).expect("a folder");
        }
        for one in [
            "home/.claude/settings.json",
            "managed/managed-settings.d/10-a.json",
            "managed/managed-settings.d/x",
        ] {
            fs::write(path(one), "{}").expect("written");
        }
        let user = path("home/.claude/settings.json");
        let files = layer_files(&path("work/.claude/settings.json"), Some(&user), &path("managed"));
        let expected = [
            (Layer::Managed, path("managed/managed-settings.json")),
            (Layer::Managed, path("managed/managed-settings.d/10-a.json")),
            (Layer::Local, path("work/.claude/settings.local.json")),
            (Layer::Project, path("work/.claude/settings.json")),
            (Layer::User, user),
        ];
        assert_eq!(files, expected);
    }

    #[test]
    fn what_an_administrator_manages_is_left_to_them() {
        let folder = tempfile::tempdir().expect("a folder");
        let managed = folder.path().join("managed-settings.json");
        fs::write(&managed, "{\"promptCacheTtl\": \"5m\"}").expect("written");
        let set = [Setting::top("promptCacheTtl", "1h".into())];
        let of = |path: &Path| {
            let file = SettingsFile::open(Some(path)).expect("readable");
            let files = layer_files(Path::new(&file.place), None, folder.path());
            file.refuse_conflicts(&set, files).map_err(|error| error.to_string())
        };
        let own = of(&managed).expect_err("refused");
        assert!(own.contains("it is managed by an administrator"), "{own}");
        let other = of(&folder.path().join("settings.json")).expect_err("refused");
        assert!(other.contains("`promptCacheTtl` is managed by an administrator, in "), "{other}");
    }
}
