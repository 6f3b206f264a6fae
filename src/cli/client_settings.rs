//! Claude Code's settings files: where they are, what is written to one of them, and the copies that take it back.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::{env, fs};

use jiff::Timestamp;
use tempfile::NamedTempFile;

use super::error::CliError;
use super::folders::{make_private, state_folder};
use super::input::shown_path;
use super::output_file::{OutputFile, place};
use super::places::claude_homes;
use crate::read::input::{MOST_SETTINGS, read_whole};
use crate::settings::{
    Applied, Conflict, Layer, LayerFile, Layers, Promise, Setting, SettingsError, SettingsText,
};

/// The folder of a home or a project that holds its settings.
const FOLDER: &str = ".claude";

/// Where administrators put settings.
fn managed_folder() -> &'static Path {
    Path::new(if cfg!(target_os = "macos") {
        "/Library/Application Support/ClaudeCode"
    } else if cfg!(windows) {
        r"C:\Program Files\ClaudeCode"
    } else {
        "/etc/claude-code"
    })
}

/// A settings file that may be changed.
pub(super) struct SettingsFile {
    /// The file, with links resolved.
    pub(super) place: PathBuf,
    /// As the user names it.
    pub(super) shown: String,
    /// What it says. `None` where it is not there.
    text: Option<SettingsText>,
    layer: Layer,
    layers: Layers<fn(&str) -> Option<String>>,
}

impl SettingsFile {
    /// Reads the file that is named, or else the user's, and the files beside it that decide, too.
    ///
    /// # Errors
    /// One of them cannot be read, is damaged, or is an administrator's.
    pub(super) fn open(named: Option<&Path>) -> Result<Self, CliError> {
        let path = named.map_or_else(user_file, |path| Ok(path.to_owned()))?;
        let user = claude_homes().into_iter().next().map(|home| home.join("settings.json"));
        Self::among(&path, user.as_deref(), managed_folder())
    }

    /// The file at a path, among the user's and those of a folder that administrators manage.
    fn among(path: &Path, user: Option<&Path>, managed: &Path) -> Result<Self, CliError> {
        let shown = shown_path(path);
        let problem = |problem: &str| CliError::NoInput(format!("{shown}: {problem}"));
        let place = place(path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => problem(
                "its folder is not there; make it first, or name another file with --settings",
            ),
            _ => problem(&error.to_string()),
        })?;
        if fs::metadata(&place).is_ok_and(|metadata| !metadata.is_file()) {
            return Err(problem("it is no file"));
        }
        let text = read(&place)?;
        let files = layer_files(&place, user, managed);
        let own = files.iter().find(|(_, path)| is_same(path, &place));
        let layer = own.map_or(Layer::Named, |(layer, _)| *layer);
        if layer == Layer::Managed {
            return Err(problem(
                "it is managed by an administrator; name another file with --settings",
            ));
        }
        let mut others = Vec::new();
        for (layer, path) in files.into_iter().filter(|(_, path)| !is_same(path, &place)) {
            if let Some(text) = read(&path)? {
                others.push(LayerFile { layer, path, text });
            }
        }
        let environment: fn(&str) -> Option<String> = |name| env::var(name).ok();
        let layers = Layers { others, environment };
        Ok(Self { place, shown, text, layer, layers })
    }

    /// The file with keys set.
    ///
    /// # Errors
    /// A key would not act, since something stronger has it, or has no place.
    pub(super) fn with(
        &self,
        change: (&str, Timestamp),
        set: Vec<Setting>,
        promise: Option<Promise>,
    ) -> Result<Applied, CliError> {
        let empty = || SettingsText::parse(b"").map_err(|error| self.damaged(&error));
        let text = self.text.clone().map_or_else(empty, Ok)?;
        let own = LayerFile { layer: self.layer, path: self.place.clone(), text };
        for setting in &set {
            let conflict = self.layers.conflict(setting, &own);
            let conflict = conflict.map_err(|(path, error)| damaged(&path, &error))?;
            if let Some(conflict) = conflict {
                return Err(CliError::NoInput(told(&conflict)));
            }
        }
        Applied::new(self.place.clone(), change, set, self.text.clone(), promise)
            .map_err(|error| self.damaged(&error))
    }

    /// What it says.
    ///
    /// # Errors
    /// It is not there.
    pub(super) fn text(&self) -> Result<&SettingsText, CliError> {
        let missing =
            || CliError::NoInput(format!("{}: the file is not there any more", self.shown));
        self.text.as_ref().ok_or_else(missing)
    }

    /// Replaces the file as a whole, or removes it.
    ///
    /// # Errors
    /// It was changed since it was read, or what the system says.
    pub(super) fn replace(&self, text: Option<&str>) -> Result<(), CliError> {
        let failed = |source| CliError::OutputFile { path: self.place.clone(), source };
        let Some(text) = text else {
            self.refuse_changed()?;
            return fs::remove_file(&self.place).map_err(failed);
        };
        let mut file = OutputFile::open(&self.place).map_err(failed)?;
        file.write_all(text.as_bytes()).map_err(failed)?;
        self.refuse_changed()?;
        file.finish().map_err(failed)
    }

    /// That it is damaged.
    pub(super) fn damaged(&self, error: &SettingsError) -> CliError {
        damaged(&self.place, error)
    }

    fn refuse_changed(&self) -> Result<(), CliError> {
        if read(&self.place)? == self.text {
            return Ok(());
        }
        Err(CliError::NoInput(format!(
            "{}: another program wrote to it in this moment; nothing was changed, try again",
            self.shown
        )))
    }
}

/// The user's settings.
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

/// The files of a client that is started where a file belongs, or here, the strongest first.
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
    added.sort();
    let is_settings = |path: &PathBuf| path.extension().is_some_and(|one| one == "json");
    files.extend(added.into_iter().filter(is_settings).map(|path| (Layer::Managed, path)));
    // A home is no project: its file is the user's.
    let mut different: Vec<(Layer, PathBuf)> = Vec::new();
    for (layer, path) in files {
        if !different.iter().any(|(_, other)| is_same(other, &path)) {
            different.push((layer, path));
        }
    }
    different.sort_by_key(|(layer, _)| *layer);
    different
}

fn is_same(one: &Path, other: &Path) -> bool {
    let resolved = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    resolved(one) == resolved(other)
}

/// What a file says, if it is there.
fn read(path: &Path) -> Result<Option<SettingsText>, CliError> {
    match read_whole(path, MOST_SETTINGS) {
        Ok(bytes) => SettingsText::parse(&bytes).map(Some).map_err(|error| damaged(path, &error)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(CliError::NoInput(format!("cannot read {}: {error}", shown_path(path)))),
    }
}

fn damaged(path: &Path, error: &SettingsError) -> CliError {
    let path = shown_path(path);
    CliError::NoInput(format!("{path}{error}; nothing was changed: mend it first"))
}

/// Why a key would not act, and what to do.
fn told(conflict: &Conflict) -> String {
    match conflict {
        Conflict::Stronger { key, file: (Layer::Managed, path) } => format!(
            "`{key}` is managed by an administrator, in {}; nothing was changed",
            shown_path(path)
        ),
        Conflict::Stronger { key, file: (_, path) } => format!(
            "`{key}` is set in {0}, which is stronger; nothing was changed: set it there with --settings '{0}'",
            shown_path(path)
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

/// The most bytes of a record: two files of settings, each byte escaped.
const MOST_RECORD: u64 = 16 * MOST_SETTINGS;

/// The records of what was set, which take it back. Each is a file that its owner alone may read.
pub(super) struct Records(PathBuf);

impl Records {
    /// Those of the user.
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

    /// Keeps a record, and returns where.
    pub(super) fn keep(&self, applied: &Applied) -> Result<PathBuf, CliError> {
        let failed = |source| CliError::OutputFile { path: self.0.clone(), source };
        make_private(&self.0).map_err(failed)?;
        let mut file = NamedTempFile::new_in(&self.0).map_err(failed)?;
        file.write_all(&applied.to_json()).map_err(failed)?;
        // Several in one second stay apart.
        for number in 0.. {
            let path = self.0.join(format!("{}-{number:03}.json", applied.at.as_second()));
            match file.persist_noclobber(&path) {
                Ok(_) => return Ok(path),
                Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {
                    file = error.file;
                }
                Err(error) => return Err(failed(error.error)),
            }
        }
        Err(failed(io::ErrorKind::AlreadyExists.into()))
    }

    /// The newest record of a file that holds, and where it is.
    pub(super) fn newest(
        &self,
        place: &Path,
        holds: impl Fn(&Applied) -> bool,
    ) -> Option<(PathBuf, Applied)> {
        let entries = fs::read_dir(&self.0).into_iter().flatten().flatten();
        let records = entries.filter_map(|entry| {
            let path = entry.path();
            let applied = Applied::parse(&read_whole(&path, MOST_RECORD).ok()?)?;
            (applied.file == place && holds(&applied)).then_some((path, applied))
        });
        records
            .max_by(|(path, one), (other_path, other)| (one.at, path).cmp(&(other.at, other_path)))
    }

    /// Forgets a record.
    pub(super) fn forget(path: &Path) -> Result<(), CliError> {
        let failed = |source| CliError::OutputFile { path: path.to_owned(), source };
        fs::remove_file(path).map_err(failed)
    }
}
