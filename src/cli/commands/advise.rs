//! Command `cachesim advise`.

use std::path::PathBuf;

use super::apply::{SettingsRequest, Wanted, last, set, undone};
use super::hook::HOOK;
use super::statusline::STATUSLINE;
use super::template;
use crate::base::{Client, Zone};
use crate::cli::args::{AdviseArgs, AdviseSettingsArgs, Json, LAST};
use crate::cli::{CliError, Output, PreparedRun, Setup, limits};
use crate::explain::advice::{Advice, AdviceEntry, Who};
use crate::explain::breaks::Options;
use crate::explain::compare::SinceChange;
use crate::report::{
    ChangeSums, ToldChange, advice_document, promised, since_document, write_advice, write_since,
};
use crate::settings::{Applied, Promise, Setting};
use crate::simulate::cache::Reading;
use crate::simulate::strategy::Strategy;
use crate::study::{AdviceAndAnswer, evidence_strategies};

/// Shows the changes to make and their savings; or makes a change by settings.
pub(in crate::cli) fn advise(args: &AdviseArgs) -> Result<(), CliError> {
    let output = Output::open(&args.output)?;
    let AdviseSettingsArgs { apply, undo, since_change, template, file } = &args.settings;
    let request = SettingsRequest::new(file, args.output.color);
    if *undo {
        return undone(request, is_advice, "advise --undo");
    }
    if let Some(day) = since_change {
        return show_since(args, day, request, output);
    }
    let is_number = |wanted: &&String| wanted.parse::<usize>().is_ok();
    // A code alone is enough: no session is read.
    if let (Some(code), Some(file)) = (apply.as_ref().filter(|wanted| !is_number(wanted)), template)
    {
        return template::show(code, file, output);
    }
    let setup = setup(args, true, evidence_strategies())?;
    let told = |run: &PreparedRun| -> Result<AdviceAndAnswer, CliError> {
        let findings = run.study.breaks_in(run.evidence()?, Options::default())?;
        Ok(findings.advice_and_answer(args.reading))
    };
    if let Some(wanted) = apply {
        let none = || CliError::NoInput("no model has a price: there is no change".to_owned());
        let run = setup.whole()?;
        let advice = told(&run)?.advice.ok_or_else(none)?;
        return match template {
            Some(file) => template::show(entry(&advice, wanted)?.change.code, file, output),
            None => applied(&advice, wanted, request),
        };
    }
    let document = |run: &PreparedRun| {
        let AdviceAndAnswer { advice, answer } = told(run)?;
        Ok(advice_document(&run.study.history, &answer, advice.as_ref(), args.top))
    };
    let sums = |run: &PreparedRun| {
        let AdviceAndAnswer { advice, answer } = told(run)?;
        Ok((answer, ChangeSums::of(advice.as_ref(), args.top)))
    };
    args.view(output).show(&setup, document, sums, |Json, run, out| {
        Ok(write_advice(&run.study.history, told(run)?.advice.as_ref(), out)?)
    })
}

fn setup(
    args: &AdviseArgs,
    keeps_bytes: bool,
    strategies: Vec<Strategy>,
) -> Result<Setup<'_>, CliError> {
    let options = args.simulation.read_options(keeps_bytes);
    let assumptions = args.simulation.assumptions(false, Reading::Literal);
    args.setup(options, strategies, assumptions)
}

/// Makes the change with a number in the list, or with a code.
fn applied(advice: &Advice, wanted: &str, request: SettingsRequest<'_>) -> Result<(), CliError> {
    let AdviceEntry { change, alone, .. } = entry(advice, wanted)?;
    let settings = change.settings();
    if settings.is_empty() {
        let how = match (change.who, change.setting, change.field) {
            (Who::User, Some(setting), _) => format!("in Claude Code it is done by {setting}"),
            (_, _, Some(field)) => format!("who builds the agent does it in the request: {field}"),
            _ => "only the service could".to_owned(),
        };
        let label = change.label;
        let problem = format!("--apply {wanted}: no setting alone does it ({label}): {how}");
        return Err(CliError::Usage(problem));
    }
    let promise = Promise { saving_usd: *alone, spent_usd: advice.bill.spent() };
    let how = change.setting.map(|setting| format!(" Claude Code: {setting}.")).unwrap_or_default();
    let since = settings.iter().find_map(|setting| setting.since);
    let since =
        since.map_or_else(String::new, |since| format!(", in Claude Code {since} and later"));
    let wanted = Wanted {
        change: change.code,
        title: format!("{}{how}", promised(advice, change, *alone)),
        promise: Some(promise),
        acts: format!("It acts in sessions that begin from now on{since}."),
        undo: "advise --undo",
    };
    set(wanted, request, |_| Ok(settings.iter().map(Setting::from).collect()))
}

fn is_advice(applied: &Applied) -> bool {
    applied.change != STATUSLINE && applied.change != HOOK
}

/// Shows the effect of the change that was made on a day, or of the last one.
fn show_since(
    args: &AdviseArgs,
    day: &str,
    request: SettingsRequest<'_>,
    output: Output,
) -> Result<(), CliError> {
    let zone = limits::zone_of(args.input.filter.timezone.as_deref())?;
    let told = if day == LAST {
        // Its value needs a `=`: after a space, a day is parsed as a path.
        refuse_day_as_path(args, &zone)?;
        last(request, is_advice)?
    } else {
        if request.file.is_some() {
            let problem = "--settings says whose last change is meant; leave it out where --since-change has a day";
            return Err(CliError::Usage(problem.to_owned()));
        }
        let at = limits::span_of(day, "--since-change", &zone)?;
        ToldChange { code: None, at, promised: None, in_force: None }
    };
    // A change on record is a key of Claude Code's settings.
    let only = told.code.as_ref().map(|_| Client::ClaudeCode);
    let run = setup(args, false, vec![Strategy::billed()])?.whole()?;
    let ledger = run.ledger()?;
    let since = SinceChange::new(&ledger, &run.study.selection, &told.at, only);
    let since = since.as_ref();
    let document = || Ok(since_document(&told, since, &zone));
    output.show(args.format.chosen, document, |Json, out| write_since(&ledger, &told, since, out))
}

/// Refuses a day that was meant for the option.
fn refuse_day_as_path(args: &AdviseArgs, zone: &Zone) -> Result<(), CliError> {
    let is_day = |path: &&PathBuf| {
        let day = path.to_str().filter(|_| !path.exists());
        day.is_some_and(|day| limits::span_of(day, "--since-change", zone).is_ok())
    };
    match args.input.paths.iter().find(is_day) {
        Some(day) => Err(CliError::Usage(format!(
            "{0} is no path; a day is written --since-change={0}",
            day.display()
        ))),
        None => Ok(()),
    }
}

fn entry<'a>(advice: &'a Advice, wanted: &str) -> Result<&'a AdviceEntry, CliError> {
    let found = match wanted.parse::<usize>() {
        Ok(number) => number.checked_sub(1).and_then(|place| advice.changes.get(place)),
        Err(_) => advice.changes.iter().find(|entry| entry.change.code == wanted),
    };
    found.ok_or_else(|| {
        if advice.unsupported.is_some() {
            return CliError::Usage(format!(
                "--apply {wanted}: no change is advised, as the rules charge far more than was billed; `cachesim \
                 advise` has the figures"
            ));
        }
        let entries = advice.changes.iter().enumerate();
        let known: Vec<String> = entries
            .filter(|(_, entry)| !entry.change.settings().is_empty())
            .map(|(place, entry)| format!("{} ({})", place + 1, entry.change.code))
            .collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        CliError::Usage(format!(
            "--apply {wanted}: the list has no such change; those that settings make: {known}"
        ))
    })
}
