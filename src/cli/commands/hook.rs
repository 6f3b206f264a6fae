//! Command `cachesim hook`.

use std::io::{self, Write as _};
use std::path::Path;

use serde_json::json;

use super::apply::{SettingsRequest, Wanted, set, undone};
use crate::base::{Millis, Picodollars};
use crate::cli::args::{HookArgs, LEAST};
use crate::cli::command_line::CommandLine;
use crate::cli::looking::told_by_client;
use crate::cli::{CliError, Looking, limits};
use crate::explain::breaks::Cause;
use crate::follow::Followed;
use crate::read::told::{HookEvent, Told};
use crate::report::{ColdMessage, HookNote};
use crate::settings::Applied;

/// Age in milliseconds above which a break is no news, as in a session that is older than the hook.
const NEWS: i64 = 60 * 60 * 1_000;

/// Answers an event of Claude Code: with a warning, or with nothing.
pub(in crate::cli) fn hook(args: &HookArgs) -> Result<(), CliError> {
    if args.setup.install || args.setup.undo {
        return change_of_settings(args);
    }
    let told = told_by_client("hook", "")?;
    let note = match (told.event, &told.transcript) {
        (Some(event), Some(path)) => {
            let hook = Hook { event, told: &told, now: limits::moment(), least: args.at_least };
            hook.note(&Looking::of(&args.prices)?.alone()?, path)?
        }
        _ => None,
    };
    if let Some(note) = note {
        let mut out = io::stdout().lock();
        writeln!(out, "{}", note.to_json())?;
        out.flush()?;
    }
    Ok(())
}

/// Name of the installed hooks' record.
pub(super) const HOOK: &str = "hook";

/// Events that the hook answers.
const EVENTS: [&str; 4] = ["SessionStart", "UserPromptSubmit", "PreCompact", "Stop"];

/// Has Claude Code run the hook at its events, or takes that back.
fn change_of_settings(args: &HookArgs) -> Result<(), CliError> {
    let request = SettingsRequest::of_setup(&args.setup);
    if args.setup.undo {
        return undone(request, |applied: &Applied| applied.change == HOOK, "hook --undo");
    }
    let hooks = json!({ "hooks": [{ "type": "command", "command": command(args)? }] });
    let wanted = Wanted {
        change: HOOK,
        title: "Has Claude Code run `cachesim hook` at its events.".to_owned(),
        promise: None,
        acts: "It acts in sessions that begin from now on.".to_owned(),
        undo: "hook --undo",
    };
    set(wanted, request, |text| {
        let added = EVENTS.iter().map(|event| text.appended(&["hooks", event], &hooks));
        added.filter_map(Result::transpose).collect()
    })
}

/// Command with the given options, for a shell.
fn command(args: &HookArgs) -> Result<String, CliError> {
    let mut line = CommandLine::of(HOOK)?;
    let least = args.at_least.to_string();
    if LEAST.parse() != Ok(args.at_least) {
        line.add("--at-least", &least);
    }
    line.add_prices(&args.prices)?;
    line.for_shell()
}

/// Event, with the least cost that is worth a warning.
struct Hook<'a> {
    event: HookEvent,
    told: &'a Told,
    now: Millis,
    least: Picodollars,
}

impl Hook<'_> {
    fn note(&self, looking: &Looking, path: &Path) -> Result<Option<HookNote>, CliError> {
        let session = looking.look(path)?;
        Ok(match self.event {
            HookEvent::Resumed => self.cold(looking, &session, ColdMessage::Next),
            HookEvent::Prompt => self.cold(looking, &session, ColdMessage::This),
            HookEvent::Compaction => self.cold(looking, &session, ColdMessage::Summary),
            HookEvent::Stop => self.broke(looking, path, &session),
        })
    }

    /// Note on a message that finds nothing in the cache.
    fn cold(
        &self,
        looking: &Looking,
        session: &Followed,
        message: ColdMessage,
    ) -> Option<HookNote> {
        let next = looking.next(session, self.told, self.now).filter(|next| next.left <= 0)?;
        let (warm, cold) = (next.warm?, next.cold?);
        let is_worth = cold.minus(warm) >= self.least;
        is_worth.then_some(HookNote::Cold { message, prompt: next.prompt, warm, cold })
    }

    /// Note on the most expensive break that was not reported yet.
    fn broke(&self, looking: &Looking, path: &Path, session: &Followed) -> Option<HookNote> {
        let told = looking.kept.told_break(path);
        let told = session.breaks.iter().rposition(|found| Some(found.request) == told);
        let new = &session.breaks[told.map_or(0, |place| place + 1)..];
        let of_worth = new.iter().filter_map(|found| {
            let excess = found.excess.filter(|excess| *excess >= self.least)?;
            let ago = self.now.since(found.sent);
            // A summary is requested by the user, and makes prompts shorter.
            let is_news = ago <= NEWS && found.cause != Cause::Compaction;
            is_news.then_some((excess, found.cause, ago))
        });
        let (excess, cause, ago) = of_worth.max_by_key(|(excess, ..)| *excess)?;
        // If this cannot be recorded, the note would come after each turn. All earlier breaks count as
        // reported.
        looking.kept.tell_break(path, session.last_break()?.request).ok()?;
        Some(HookNote::Broke { cause, excess, ago })
    }
}
