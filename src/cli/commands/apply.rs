//! Sets keys of Claude Code's settings for the commands that do, and takes them back.

use std::path::Path;

use jiff::Timestamp;

use crate::cli::client_settings::{Records, SettingsFile};
use crate::cli::error::CliError;
use crate::cli::input::shown_path;
use crate::cli::limits::now;
use crate::report::{Document, settings_document};
use crate::settings::{
    Applied, KeyChange, Promise, Setting, SettingsError, SettingsText, UndoError,
};

/// In which file, and whether anything is written.
#[derive(Clone, Copy)]
pub(super) struct SettingsRequest<'a> {
    /// The file. `None` for the user's.
    pub(super) file: Option<&'a Path>,
    /// Whether the difference is shown, and nothing is written.
    pub(super) only_shows: bool,
}

/// What is to be set, and what is said about it.
pub(super) struct Wanted {
    /// The code by which the record is found.
    pub(super) change: &'static str,
    /// What the change is, in a sentence.
    pub(super) title: String,
    pub(super) set: Vec<Setting>,
    pub(super) promise: Option<Promise>,
    /// Where and from when on it acts, in a sentence.
    pub(super) acts: String,
    /// How it is written, where it is only shown.
    pub(super) apply: &'static str,
    /// The command that takes it back.
    pub(super) undo: &'static str,
}

/// How a command writes that was asked only to show.
pub(super) const DRY_RUN: &str = "The same command without --dry-run";

/// Sets keys, and says what was before.
pub(super) fn set(wanted: Wanted, request: SettingsRequest<'_>) -> Result<Document, CliError> {
    let Wanted { change, title, set, promise, acts, apply, undo } = wanted;
    let file = SettingsFile::open(request.file)?;
    let applied = file.with((change, now()), set, promise)?;
    let changes = applied.changes().map_err(|error| file.damaged(&error))?;
    let end = if changes.iter().all(|change| change.before == change.after) {
        format!("{} already says so: there is nothing to write.", file.shown)
    } else if request.only_shows {
        format!("Nothing is written. {apply} writes it; all else in the file stays as it is.")
    } else {
        let copy = Records::of_user()?.keep(&applied)?;
        if let Err(error) = file.replace(Some(&applied.after)) {
            Records::forget(&copy)?;
            return Err(error);
        }
        let named = request.file.map(|_| format!(" --settings '{}'", file.shown));
        let (named, copy) = (named.unwrap_or_default(), shown_path(&copy));
        format!(
            "Written; all else in the file is as it was. {acts} `cachesim {undo}{named}` takes it back, from {copy}."
        )
    };
    Ok(settings_document(&title, &file.shown, &changes, &end))
}

/// Takes back what was set last in a file, of the changes that hold.
pub(super) fn undone(
    request: SettingsRequest<'_>,
    holds: impl Fn(&Applied) -> bool,
    undo: &str,
) -> Result<Document, CliError> {
    let file = SettingsFile::open(request.file)?;
    let (copy, applied) = Records::of_user()?.newest(&file.place, holds).ok_or_else(|| {
        let shown = &file.shown;
        CliError::NoInput(format!("nothing is on record that `{undo}` could take back in {shown}"))
    })?;
    let now = file.text()?;
    let before = applied.undone(now).map_err(|error| match error {
        UndoError::Settings(error) => file.damaged(&error),
        UndoError::Changed(key) => CliError::NoInput(format!(
            "{}: `{key}` was changed since it was set; nothing was changed. The file as it was is kept in {}",
            file.shown,
            shown_path(&copy)
        )),
    })?;
    let changes = changes(&applied, now, before.as_ref()).map_err(|error| file.damaged(&error))?;
    let text = before.as_ref().map(SettingsText::as_str);
    let end = if request.only_shows {
        format!("Nothing is written. {DRY_RUN} writes it; all else in the file stays as it is.")
    } else {
        file.replace(text)?;
        Records::forget(&copy)?;
        let said = match text {
            None => "The file was not there before, and is removed.",
            Some(_) if text == applied.before.as_deref() => {
                "Written; the file is what it was, to the byte."
            }
            Some(_) => "Written; all else in the file is as it was.",
        };
        said.to_owned()
    };
    let at = applied.at.as_second();
    let at =
        Timestamp::from_second(at).map_or_else(|_| String::new(), |at| format!(", set at {at}"));
    let title = format!("Takes back `{}`{at}.", applied.change);
    Ok(settings_document(&title, &file.shown, &changes, &end))
}

/// What happens to the keys when they are taken back.
fn changes(
    applied: &Applied,
    now: &SettingsText,
    undone: Option<&SettingsText>,
) -> Result<Vec<KeyChange>, SettingsError> {
    let change = |setting: &Setting| {
        let key: Vec<&str> = setting.key.iter().map(String::as_str).collect();
        let after = undone.map(|undone| undone.get(&key)).transpose()?.flatten();
        Ok(KeyChange { key: setting.key.clone(), before: now.get(&key)?, after })
    };
    applied.set.iter().map(change).collect()
}
