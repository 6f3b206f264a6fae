//! `cachesim hook`.

use std::io::{self, Write as _};
use std::path::Path;

use crate::base::units::{Millis, Picodollars};
use crate::cli::args::HookArgs;
use crate::cli::error::CliError;
use crate::cli::limits;
use crate::cli::looking::{Looking, told_by_client};
use crate::follow::Followed;
use crate::read::told::{HookEvent, Told};
use crate::report::{ColdMessage, HookNote};

/// A break that is older is no news, as in a session that went on before there was a hook.
const NEWS: i64 = 60 * 60 * 1_000;

/// Answers an event of Claude Code: with a warning, or with nothing.
pub(in crate::cli) fn hook(args: &HookArgs) -> Result<(), CliError> {
    let told = told_by_client("hook", "")?;
    let note = match (told.event, &told.transcript) {
        (Some(event), Some(path)) => {
            let hook = Hook { event, told: &told, now: limits::moment(), least: args.at_least };
            Looking::of(&args.looking)?.with_threads(|looking| hook.note(looking, path))?
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

/// An event, and from what costs on it is worth a warning.
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

    /// Of a message that finds nothing in the cache.
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

    /// Of a break that was not told yet.
    fn broke(&self, looking: &Looking, path: &Path, session: &Followed) -> Option<HookNote> {
        let found = session.last_break?;
        let excess = found.excess.filter(|excess| *excess >= self.least)?;
        let ago = self.now.since(found.sent);
        let is_news = ago <= NEWS && looking.told_break(path) != Some(found.request);
        // What cannot be kept would be told after each turn.
        let is_kept = is_news && looking.tell_break(path, found.request).is_ok();
        is_kept.then_some(HookNote::Broke { cause: found.cause, excess, ago })
    }
}
