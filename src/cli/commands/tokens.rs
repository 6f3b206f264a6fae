//! Command `cachesim tokens`: the size of a text or a request.

use std::io;
use std::path::Path;

use jiff::civil::{Date, Time};
use serde::de::IgnoredAny;

use crate::base::{Models, Tokens, Vocabulary};
use crate::cli::args::TokensCommandArgs;
use crate::cli::{CliError, read_given, tables, warn};
use crate::explain::weights::{Division, weigh};
use crate::read::capture::as_records;
use crate::read::input::{Diagnostics, Discovered, LONGEST_LINE, ServiceTier, Source};
use crate::report::{
    WeighedPrompt, WeighedText, counted, prompt_document, text_document, write_prompt, write_text,
};
use crate::requests::conversation::{History, ReadOptions, RequestIndex, read};
use crate::simulate::pricing::{PriceTable, Rates};
use crate::tokens::counter;

/// Counts the tokens of a text or a request.
pub(in crate::cli) fn tokens(args: &TokensCommandArgs) -> Result<(), CliError> {
    let (prices, models) = tables(&args.prices, None)?;
    let file = if args.file == Path::new("-") {
        "standard input".into()
    } else {
        args.file.display().to_string()
    };
    let text = input(&args.file)
        .map_err(|error| CliError::NoInput(format!("cannot read {file}: {error}")))?;
    match as_records(&text, args.model.as_deref()) {
        Some(requests) => {
            drop(text);
            count_request(args, &file, requests, &prices, models)
        }
        None if args.by != Division::Part || args.request.is_some() => {
            Err(CliError::Usage(format!(
                "{file}: a text has no tools, blocks or requests; leave out --by and --request, or give the body of a \
             request"
            )))
        }
        None => {
            note_text(args, &file, &text);
            count_text(args, &file, &text, &models)
        }
    }
}

/// Text of a file or of standard input, limited to the length of a line of captured requests.
fn input(file: &Path) -> io::Result<String> {
    let text = read_given(file, LONGEST_LINE as u64)?;
    // Some editors put a byte order mark before a text.
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

/// Warns if something that may have been meant as a request is counted as a text.
fn note_text(args: &TokensCommandArgs, file: &str, text: &str) {
    // The first line is enough to decide, and a large text is not parsed.
    let is_json =
        serde_json::from_str::<IgnoredAny>(text.lines().next().unwrap_or_default()).is_ok();
    if text.trim_start().starts_with(['{', '[']) && is_json && !args.shown.output.quiet {
        warn(format!(
            "{file}: counted as a text: it is no body with a list of messages, no captured request and no bundle; of \
             a session `cachesim context` says what its pieces take"
        ));
    }
}

fn count_text(
    args: &TokensCommandArgs,
    file: &str,
    text: &str,
    models: &Models,
) -> Result<(), CliError> {
    let vocabularies = match &args.model {
        None => Vocabulary::ALL.to_vec(),
        Some(model) => vec![models.facts(model).vocabulary.ok_or_else(|| unknown(model))?],
    };
    let weighed = |vocabulary: Vocabulary| {
        // For an empty text, the counter would count the frame's remainder of a word's beginning.
        let counter = counter(vocabulary)?;
        let tokens = Tokens(if text.is_empty() { 0 } else { counter.tokens(text) });
        let model = vocabulary.measured_of().map(|model| args.model.as_deref().unwrap_or(model));
        let message = model.map(|model| tokens + models.facts(model).frame);
        Some(WeighedText { vocabulary, tokens, message })
    };
    let texts: Option<Vec<WeighedText>> = vocabularies.into_iter().map(weighed).collect();
    let texts = texts.ok_or_else(|| {
        CliError::Usage("this program was built without vocabularies (feature `tokens`)".to_owned())
    })?;
    args.shown.show(|| text_document(file, &texts), |out| write_text(file, &texts, out))
}

fn unknown(model: &str) -> CliError {
    CliError::Usage(format!(
        "--model: the vocabulary of `{model}` is not known; a price file can name it (`vocabulary` in [model.facts]): {}",
        Vocabulary::ALL.map(Vocabulary::name).join(", ")
    ))
}

fn count_request(
    args: &TokensCommandArgs,
    file: &str,
    requests: String,
    prices: &PriceTable,
    models: Models,
) -> Result<(), CliError> {
    let history = captured(file, requests, models)?;
    let all = history.captured.requests.len();
    let place = args.request.unwrap_or(all);
    let wire = place.checked_sub(1).and_then(|place| history.captured.requests.get(place));
    let wire = wire.ok_or_else(|| no_request(file, place, all))?;
    let request = history.request(RequestIndex::new(place - 1));
    let model = history.text(Some(request.model)).unwrap_or_default();
    let weights = weigh(&history, wire, args.by);
    let facts = history.facts(request.model);
    let rates = rates_of(prices, model, weights.total);
    let prompt = WeighedPrompt {
        file,
        place: (place, all),
        model,
        vocabulary: facts.vocabulary.filter(|vocabulary| counter(*vocabulary).is_some()),
        is_counted: history.captured.tree.node(wire.leaf).is_counted,
        weights: &weights,
        division: args.by,
        // Usage was recorded for the request's own model, not for another one.
        recorded: request
            .usage
            .as_ref()
            .filter(|_| args.model.is_none())
            .map(|usage| usage.prompt.total()),
        rates,
    };
    args.shown.show(|| prompt_document(&prompt), |out| write_prompt(&prompt, out))
}

/// Prices of a model on the day of a table, for a prompt of this size.
fn rates_of<'p>(prices: &'p PriceTable, model: &str, prompt: Tokens) -> Option<&'p Rates> {
    let day: Date = prices.as_of.parse().ok()?;
    let day = day.to_datetime(Time::MIN);
    let rate = prices.find(model)?.rate_at(day, prompt, ServiceTier::Standard)?;
    Some(&rate.rates)
}

fn no_request(file: &str, place: usize, all: usize) -> CliError {
    let requests = counted(all as u64, "request", "requests");
    CliError::Usage(format!(
        "--request {place}: {file} has {requests}; give a number from 1 to {all}"
    ))
}

/// Requests of an input, or the reason that there are none.
fn captured(file: &str, requests: String, models: Models) -> Result<History, CliError> {
    let sources = vec![Source::in_memory(file, requests.as_bytes())];
    drop(requests);
    let discovered = Discovered { sources, diagnostics: Diagnostics::default() };
    let options = ReadOptions { keeps_bytes: true, models, ..ReadOptions::default() };
    let history = read(discovered, options, |_| ());
    if history.captured.requests.is_empty() {
        let why = history.diagnostics.examples().first().map_or_else(
            || "no request to the Messages API".to_owned(),
            |example| {
                format!("{}: {}; --model names a model", example.kind.label(), example.detail)
            },
        );
        return Err(CliError::NoInput(format!("{file}: {why}")));
    }
    Ok(history)
}
