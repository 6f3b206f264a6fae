//! Changes of Claude Code's settings for the commands that make them, and their undoing.

use std::path::Path;

use jiff::Timestamp;

use crate::base::Millis;
use crate::cli::args::{ColorArg, SettingsArgs, SetupArgs};
use crate::cli::client_settings::{Record, Records, SettingsFile, word};
use crate::cli::consent::Consent;
use crate::cli::limits::now;
use crate::cli::{CliError, Output, shown_path};
use crate::report::{Document, ToldChange, settings_document, settings_outcome};
use crate::settings::{
    Applied, KeyChange, Promise, Setting, SettingsError, SettingsText, UndoError, Undone,
};

/// File that is changed, and the consent to it.
#[derive(Clone, Copy)]
pub(super) struct SettingsRequest<'a> {
    /// Path of the file. `None` for the user's.
    pub(super) file: Option<&'a Path>,
    /// Consent to write the change once it was shown.
    pub(super) consent: Consent,
    /// Colours of the output.
    pub(super) color: ColorArg,
}

impl<'a> SettingsRequest<'a> {
    /// Request of the options.
    pub(super) fn new(args: &'a SettingsArgs, color: ColorArg) -> Self {
        let SettingsArgs { settings, yes, dry_run } = args;
        Self { file: settings.as_deref(), consent: Consent::new(*yes, *dry_run), color }
    }

    /// Request of a command that has itself run by Claude Code.
    pub(super) fn of_setup(args: &'a SetupArgs) -> Self {
        let request = Self::new(&args.file, ColorArg::Auto);
        if args.apply { Self { consent: Consent::Given, ..request } } else { request }
    }

    fn show(&self, document: &Document) -> Result<(), CliError> {
        Output::standard(self.color).text(document)
    }
}

/// Change to make, with the words about it.
pub(super) struct Wanted {
    /// Code by which the record is found.
    pub(super) change: &'static str,
    /// Description of the change, in a sentence.
    pub(super) title: String,
    pub(super) promise: Option<Promise>,
    /// Place and time from which it acts, in a sentence.
    pub(super) acts: String,
    /// Command that takes it back.
    pub(super) undo: &'static str,
}

/// Shows the change of a file by setting keys, and sets them with consent. The keys may depend on the file's
/// content.
pub(super) fn set(
    wanted: Wanted,
    request: SettingsRequest<'_>,
    keys: impl FnOnce(&SettingsText) -> Result<Vec<Setting>, SettingsError>,
) -> Result<(), CliError> {
    let Wanted { change, title, promise, acts, undo } = wanted;
    let records = Records::of_user()?;
    // Taking the lock creates the folder of records, which a dry run must not do.
    let _lock = request.consent.is_possible().then(|| records.lock()).transpose()?;
    let file = SettingsFile::open(request.file)?;
    let set = file.known().and_then(|text| keys(&text)).map_err(|error| file.damaged(&error))?;
    let applied = file.with((change, now()), set, promise)?;
    let changes = applied.changes().map_err(|error| file.damaged(&error))?;
    request.show(&settings_document(&title, &file.shown, &changes))?;
    let end = if changes.is_empty() {
        format!("{} already says so: there is nothing to write.", file.shown)
    } else if !request.consent.is_given()? {
        format!("Nothing is written.{}", request.consent.way())
    } else {
        // The record comes first: a change without one could not be taken back.
        let copy = records.keep(&applied)?;
        if let Err(error) = file.replace(Some(&applied.after)) {
            // Nothing was changed, so there is nothing to take back.
            Record::forget(&copy)?;
            return Err(error);
        }
        let named = request.file.map(|_| format!(" --settings {}", word(&file.place)));
        let (named, copy) = (named.unwrap_or_default(), shown_path(&copy));
        format!(
            "Written; all else in the file is as it was. {acts} `cachesim {undo}{named}` takes it back, from {copy}."
        )
    };
    request.show(&settings_outcome(&end))
}

/// Last change of a file that satisfies `holds`.
pub(super) fn last(
    request: SettingsRequest<'_>,
    holds: impl Fn(&Applied) -> bool,
) -> Result<ToldChange, CliError> {
    let file = SettingsFile::open(request.file)?;
    let record = Records::of_user()?.newest(&file.place, holds).ok_or_else(|| {
        CliError::NoInput(format!(
            "no change is on record that `advise --apply` made in {}; name its day, as in --since-change=2026-11-20",
            file.shown
        ))
    })?;
    let applied = record.applied;
    let at = Millis::new(applied.at.as_millisecond());
    let promised = applied.promise.as_ref().and_then(Promise::share);
    let has_value = |setting: &Setting| {
        Ok(value_of(setting, file.text.as_ref())?.as_ref() == Some(&setting.value))
    };
    let values: Result<Vec<bool>, SettingsError> = applied.set.iter().map(has_value).collect();
    let in_force = values.map_err(|error| file.damaged(&error))?.into_iter().all(|holds| holds);
    Ok(ToldChange { code: Some(applied.change), at: at..at, promised, in_force: Some(in_force) })
}

/// Takes back the last change of a file that satisfies `holds`.
pub(super) fn undone(
    request: SettingsRequest<'_>,
    holds: impl Fn(&Applied) -> bool,
    undo: &str,
) -> Result<(), CliError> {
    let records = Records::of_user()?;
    // Only --dry-run withholds it: taking a change back is not asked about again.
    let is_written = request.consent != Consent::Withheld;
    let _lock = is_written.then(|| records.lock()).transpose()?;
    let file = SettingsFile::open(request.file)?;
    let Record { path, applied } = records.newest(&file.place, holds).ok_or_else(|| {
        let shown = &file.shown;
        CliError::NoInput(format!("nothing is on record that `{undo}` could take back in {shown}"))
    })?;
    let undone = applied.undone(file.text.as_ref());
    let undone = undone.map_err(|error| not_undone(&file, &path, &applied, &error))?;
    let changes =
        changes(&applied, file.text.as_ref(), &undone).map_err(|error| file.damaged(&error))?;
    let end = if is_written {
        let said = written(&file, &undone, &applied)?;
        Record::forget(&path)?;
        said.to_owned()
    } else {
        format!("Nothing is written.{}", request.consent.way())
    };
    let at = Timestamp::from_second(applied.at.as_second()).unwrap_or(applied.at);
    let title = format!("Takes back `{}`, set at {at}.", applied.change);
    request.show(&settings_document(&title, &file.shown, &changes))?;
    request.show(&settings_outcome(&end))
}

/// Writes a file whose change is taken back, and says so.
fn written(
    file: &SettingsFile,
    undone: &Undone,
    applied: &Applied,
) -> Result<&'static str, CliError> {
    Ok(match undone {
        Undone::Already => "Nothing is written: the keys are what they were before.",
        Undone::Removed => {
            file.replace(None)?;
            "The file was not there before, and is removed."
        }
        Undone::File(text) => {
            file.replace(Some(text.as_str()))?;
            if applied.before.as_deref() == Some(text.as_str()) {
                "Written; the file is what it was, to the byte."
            } else {
                "Written; all else in the file is as it was."
            }
        }
    })
}

/// Value of a key in a file.
fn value_of(
    setting: &Setting,
    text: Option<&SettingsText>,
) -> Result<Option<serde_json::Value>, SettingsError> {
    Ok(text.map(|text| text.get(&setting.path())).transpose()?.flatten())
}

/// Error for a change that is not taken back, with what to do.
fn not_undone(file: &SettingsFile, path: &Path, applied: &Applied, error: &UndoError) -> CliError {
    let (shown, copy) = (&file.shown, shown_path(path));
    CliError::NoInput(format!(
        "{shown}: {error}, so `{}` is not taken back, and nothing was changed. The file as it was is `before` in {copy}; \
         remove that record to leave the change as it is",
        applied.change
    ))
}

/// Changes of the keys when they are taken back.
fn changes(
    applied: &Applied,
    now: Option<&SettingsText>,
    undone: &Undone,
) -> Result<Vec<KeyChange>, SettingsError> {
    let after = match undone {
        Undone::Already => return Ok(Vec::new()),
        Undone::Removed => None,
        Undone::File(text) => Some(text),
    };
    let change = |setting: &Setting| {
        let (before, after) = (value_of(setting, now)?, value_of(setting, after)?);
        Ok(KeyChange { key: setting.name(), before, after })
    };
    applied.set.iter().map(change).collect()
}
