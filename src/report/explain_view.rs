//! Story of one request in sentences, with its figures under each strategy.

use super::breaks_view::evidence;
use super::{
    Columns, Document, Grid, SessionNames, Value, bytes, counted, dollars, duration, grouped,
    tokens,
};
use crate::base::refusal::ANSWERED;
use crate::base::{Basis, Tokens, Ttl};
use crate::explain::analysis::Event;
use crate::explain::breaks::Break;
use crate::explain::context::ContextKind;
use crate::explain::story::{NewContent, Story, Under};
use crate::read::agent::Vendor;
use crate::requests::conversation::{History, Request};
use crate::simulate::ledger::Ledger;
use crate::simulate::pricing::Billing;

/// Number of lines named for each kind of content.
const MOST_LINES: usize = 8;

/// Story of a request, as a document.
pub fn explain_document(ledger: &Ledger<'_>, story: &Story<'_>, shows_text: bool) -> Document {
    let history = ledger.history;
    let request = history.request(story.located.index);
    let mut document = Document::default();
    document.heading(format!(
        "{}: turn {} of {} in session {}",
        request_name(history, request),
        grouped(story.located.turn as u64),
        grouped(story.located.session.requests.len() as u64),
        SessionNames::of(history).name(request.session),
    ));
    document.text(sent(ledger, story));
    if let Some(found) = story.lost {
        lost(&mut document, history, found, shows_text);
    }
    // The client keeps nothing of the single requests in a sum.
    if request.sum_of == 1 {
        document.text(new_content(history, story));
        document.text(cached(history, story));
    }
    if let Some(billed) = story.under.iter().find(|under| under.strategy == "billed") {
        document.text(billed_sentence(request, billed));
    }
    document.heading("Under each strategy");
    document.grid(figures(story));
    for under in &story.under {
        let reasons = reasons(history, request, under);
        document.text(format!("{}: {}", label(under.strategy), reasons.join(" ")));
    }
    document
}

fn request_name(history: &History, request: &Request) -> String {
    match history.text(request.request.or(request.message)) {
        Some(id) => format!("Request {id}"),
        None => "A request without an id".to_owned(),
    }
}

/// Name of a strategy for people.
fn label(strategy: &str) -> &str {
    match strategy {
        "billed" => "As billed",
        "replay" => "As expected by the rules (replay)",
        other => other,
    }
}

fn place(history: &History, request: &Request) -> String {
    format!("{}:{}", history.files[request.file].label, request.line)
}

/// Sender, time and size of the request.
fn sent(ledger: &Ledger<'_>, story: &Story<'_>) -> String {
    let history = ledger.history;
    let request = history.request(story.located.index);
    let by = match request.agent {
        None => "the main conversation".to_owned(),
        Some(agent) => {
            let kind = history.agent_types.get(&agent).map(|kind| history.symbols.text(*kind));
            let kind = kind.map_or_else(String::new, |kind| format!(" ({kind})"));
            format!("sub-agent {}{kind}", history.symbols.text(agent))
        }
    };
    let gap = story
        .gap
        .map_or_else(String::new, |gap| format!(", {} after the request before it", duration(gap)));
    if request.sum_of > 1 {
        return format!(
            "A sum of {}, sent from {} ({}) on by {by} to {}: prompts of {} tokens together. {} is where it stands.",
            counted(u64::from(request.sum_of), "request", "requests"),
            history.zone.moment(request.start),
            history.zone.name(),
            history.symbols.text(request.model),
            tokens(ledger.prompt_total(story.located.index)),
            place(history, request),
        );
    }
    format!(
        "Sent {} ({}) by {by} to {}{gap}: a prompt of {} tokens. {} is where its answer begins.",
        history.zone.moment(request.start),
        history.zone.name(),
        history.symbols.text(request.model),
        tokens(ledger.prompt_total(story.located.index)),
        place(history, request),
    )
}

fn new_content(history: &History, story: &Story<'_>) -> String {
    let added = match story.added {
        Some(added) => format!("the client added {} tokens (derived)", tokens(added)),
        None => "how many tokens the client added cannot be told".to_owned(),
    };
    let pieces: Vec<String> = story.new_content.iter().map(|one| new_piece(history, one)).collect();
    if pieces.is_empty() {
        return format!("New: {added}; no line tells of what.");
    }
    format!("New: {added}: {}.", pieces.join("; "))
}

fn new_piece(history: &History, one: &NewContent) -> String {
    let named = one.lines.iter().take(MOST_LINES).map(|line| grouped(*line));
    let named: Vec<String> = named.collect();
    let more = match one.lines.len().saturating_sub(MOST_LINES) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let lines = if one.lines.len() == 1 { "line" } else { "lines" };
    // Media have no known size.
    let size = if one.bytes > 0 { format!(", {}", bytes(one.bytes)) } else { String::new() };
    format!(
        "{} ({}{size}; {lines} {}{more})",
        kind_label(history, one.kind),
        counted(one.pieces, "piece", "pieces"),
        named.join(", "),
    )
}

fn kind_label(history: &History, kind: ContextKind) -> String {
    match kind {
        ContextKind::UserText => "what the user wrote".to_owned(),
        ContextKind::Media => "images and documents".to_owned(),
        ContextKind::AgentReports => "reports of sub-agents".to_owned(),
        ContextKind::ToolResults(Some(tool)) => {
            format!("results of {}", history.symbols.text(tool))
        }
        ContextKind::ToolResults(None) => "results of tools".to_owned(),
        ContextKind::Summaries => "a summary".to_owned(),
        other => other.name().replace('_', " "),
    }
}

/// Prefix that the previous request had left, and the time of this request against its lifetime.
fn cached(history: &History, story: &Story<'_>) -> String {
    let Some(cached) = story.cached else {
        return "Cached before: nothing of this conversation, of which it is the first request."
            .to_owned();
    };
    let before = place(history, history.request(cached.by));
    let basis = if cached.basis == Basis::Measured { "" } else { " by the rules" };
    let left = format!("Cached before: {} tokens{basis}, left by {before}", tokens(cached.tokens));
    match (cached.lifetime, story.gap) {
        (Some((ttl, until)), Some(gap)) => format!(
            "{left}, the newest of them for {} and so until {}; this request came {}.",
            ttl_words(ttl),
            history.zone.moment(until),
            in_time(ttl, gap),
        ),
        _ => format!("{left}; for how long is not known."),
    }
}

fn ttl_words(ttl: Ttl) -> &'static str {
    match ttl {
        Ttl::FiveMinutes => "5 minutes",
        Ttl::OneHour => "an hour",
    }
}

fn in_time(ttl: Ttl, gap: i64) -> String {
    match gap - ttl.millis() {
        ..0 => "in time".to_owned(),
        // At the end of its lifetime an entry is already gone.
        0 => "at that very moment, which is too late".to_owned(),
        late => format!("{} too late", duration(late)),
    }
}

fn billed_sentence(request: &Request, billed: &Under<'_>) -> String {
    let Some(row) = &billed.row else {
        return "Billed: its usage was not recorded.".to_owned();
    };
    let split = &row.billing;
    let mut written: Vec<String> = Vec::new();
    for (ttl, written_for) in [(Ttl::FiveMinutes, split.write_5m), (Ttl::OneHour, split.write_1h)] {
        if written_for == Tokens::ZERO {
            continue;
        }
        // Lifetimes elsewhere are not Claude's TTLs.
        let lifetime = if request.vendor == Vendor::Anthropic {
            format!(" for {}", ttl_words(ttl))
        } else {
            String::new()
        };
        written.push(format!("{} written{lifetime}", tokens(written_for)));
    }
    if written.is_empty() {
        written.push("none written".to_owned());
    }
    let at_least = if request.output_is_lower_bound { "at least " } else { "" };
    format!(
        "Billed: {} tokens read from cache, {}, {} sent in full, {at_least}{} of output: {}.",
        tokens(split.read),
        written.join(" and "),
        tokens(split.input),
        tokens(split.output),
        dollars(billed.totals.cost()),
    )
}

fn figures(story: &Story<'_>) -> Grid {
    let mut columns = Columns::<Under<'_>>::new();
    columns.left("strategy", |under| match under.strategy {
        "replay" => "expected".to_owned(),
        other => other.to_owned(),
    });
    let mut count = |heading, place: Option<usize>, count: fn(&Billing) -> Tokens| {
        let count = move |under: &Under<'_>| Some(count(&under.row.as_ref()?.billing));
        columns.right(heading, count).unknown("–").hidden(place);
    };
    count("read", None, |split| split.read);
    count("written 5m", None, |split| split.write_5m);
    count("written 1h", None, |split| split.write_1h);
    count("input", Some(2), |split| split.input);
    count("output", Some(1), |split| split.output);
    let cost = |under: &Under<'_>| under.row.as_ref().map(|_| Value::from(under.totals.cost()));
    columns.right("cost", cost).unknown("–");
    columns.grid(&story.under)
}

/// Reasons for the read of a strategy, in sentences.
pub(super) fn reasons(history: &History, request: &Request, under: &Under<'_>) -> Vec<String> {
    let Some(row) = &under.row else {
        return vec!["It has no figures here.".to_owned()];
    };
    if let Some(refusal) = row.refusal {
        let answer = if request.usage.is_some() { ANSWERED } else { "" };
        return vec![format!("The service refuses it: {}{answer}.", refusal.label())];
    }
    let has_expired = under.events.iter().any(|event| matches!(event, Event::Expired(..)));
    // An expired entry could not be read, so a break is no news.
    let is_told = |event: &&Event| !(has_expired && matches!(event, Event::Break(..)));
    let told = under.events.iter().filter(is_told);
    let mut reasons: Vec<String> = told.map(|event| reason(history, request, event)).collect();
    let expired = under.shortfall.filter(|_| has_expired);
    reasons.extend(expired.map(|gone| format!("{} tokens were gone.", tokens(gone))));
    // After an expiry these tokens are already named as gone.
    match under.shortfall.filter(|_| !has_expired) {
        Some(Tokens::ZERO) => {
            reasons.insert(0, "It read all that the request before had left.".to_owned());
        }
        Some(short) if under.events.is_empty() => reasons.push(format!(
            "It read {} tokens less than the request before had left.",
            tokens(short)
        )),
        _ => {}
    }
    if reasons.is_empty() {
        reasons.push("Nothing happened that is worth a word.".to_owned());
    }
    reasons
}

fn reason(history: &History, request: &Request, event: &Event) -> String {
    match event {
        Event::Sum(requests) => format!(
            "It is the sum of {}, of which the client keeps no more.",
            counted(u64::from(*requests), "request", "requests")
        ),
        Event::Opening => "It is the first of its conversation.".to_owned(),
        Event::ModelChange => format!(
            "The model changed to {}, which has caches of its own.",
            history.symbols.text(request.model)
        ),
        Event::Compaction => "The conversation was summarised before it.".to_owned(),
        Event::Microcompaction => "Old tool results were cleared before it.".to_owned(),
        Event::ThinkingDropped => {
            "Earlier thinking was dropped, and what came after it was rewritten.".to_owned()
        }
        Event::Shrunk => "Earlier messages were taken out or rewritten.".to_owned(),
        Event::Rewrite => "Earlier messages were rewritten.".to_owned(),
        Event::Restart => {
            "It begins with another first message than the request before.".to_owned()
        }
        Event::Expired(gap, ttl) => format!(
            "Expired: entries lived for {}, and it came {} after the request before, {}.",
            ttl_words(*ttl),
            duration(*gap),
            in_time(*ttl, *gap),
        ),
        Event::Break(short, _) => {
            format!("Broke: {} tokens were cached and not read.", tokens(*short))
        }
        Event::BackgroundWrite(extra) => format!(
            "It read {} tokens more than the record explains: a request that was not recorded wrote \
             them.",
            tokens(*extra)
        ),
        Event::UncachedTail(tail) => {
            format!("{} tokens after the last marker were sent in full.", tokens(*tail))
        }
        Event::Rewound => "The branch was left later.".to_owned(),
    }
}

/// Adds the lost tokens and their causes, with the lines that show them.
fn lost(document: &mut Document, history: &History, found: &Break, shows_text: bool) {
    document.text(format!(
        "It read {} of {} tokens that it could have read. {} were sent again, which cost {} more than \
         reading them.",
        tokens(found.read),
        tokens(found.expected),
        tokens(found.rewritten),
        dollars(found.excess),
    ));
    for (number, candidate) in found.candidates.iter().enumerate() {
        let role = if number == 0 { "Cause" } else { "Also fits" };
        document.text(format!(
            "{role}: {}, {} confidence. Evidence: {}.",
            candidate.cause.meaning(),
            candidate.confidence.name(),
            evidence(history, found, candidate, shows_text),
        ));
    }
    if found.candidates.is_empty() {
        document.text("Cause: unknown; no line tells.");
    }
}
