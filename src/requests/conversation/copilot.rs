//! Deduplication of Copilot's requests that its events, its rows and its spans report: each counts once.
//!
//! Rows and spans report single requests; a request in both is recognised by its session, model, figures and
//! time. Events report compactions, and sums of all other requests of a run, from which the single ones are
//! subtracted.

use rustc_hash::FxHashMap;

use super::agents::Placed;
use super::logged::Copies;
use crate::base::{Client, Order as _, Symbol, Tokens};
use crate::read::agent::AgentRequest;
use crate::read::input::Usage;

/// Most milliseconds between the times of two sources for one request, and between a request and its run's
/// event.
const LATEST_MILLIS: i64 = 60_000;

/// Session, model and token counts that a request has in all sources, besides its time.
type Figures = (Symbol, Symbol, [Tokens; 4]);

/// Result of the deduplication.
#[derive(Default)]
pub(super) struct Found {
    /// Number of requests and sums that are left out.
    pub(super) left_out: u64,
    /// Files and lines of sums that are smaller than their single requests. Both count.
    pub(super) contradictions: Vec<(usize, u64)>,
}

/// Leaves out requests that several sources report.
pub(super) fn each_once(placed: &mut Vec<Placed>, compaction: Symbol) -> Found {
    let is_compaction = |one: &Placed| one.request.query_source == Some(compaction);
    let mut groups: FxHashMap<Figures, Vec<usize>> = FxHashMap::default();
    for (number, one) in placed.iter().enumerate().filter(|(_, one)| is_copilots(one)) {
        if !one.request.is_report || is_compaction(one) {
            groups.entry(figures(one)).or_default().push(number);
        }
    }
    let mut copies = Copies::of(placed);
    for group in groups.into_values().filter(|group| group.len() > 1) {
        find_copies(placed, group, &mut copies);
    }
    let mut found = Found { left_out: copies.leave_out(placed), ..Found::default() };
    take_out_of_sums(placed, compaction, &mut found);
    found
}

fn is_copilots(one: &Placed) -> bool {
    one.request.client == Client::Copilot
}

fn figures(one: &Placed) -> Figures {
    let Usage { prompt, output, .. } = one.request.usage;
    let figures = [prompt.input, prompt.read, prompt.written(), output];
    (one.session, one.request.model, figures)
}

/// Finds the copies among requests with the same figures.
///
/// Requests of one file are different ones; each is paired with at most one of another file, at about the
/// same time. Reports come last, as rows and spans have more facts.
fn find_copies(placed: &[Placed], mut group: Vec<usize>, copies: &mut Copies) {
    let finished = |number: usize| placed[number].request.finished.get();
    group.order_by_key(|number| {
        let one = &placed[*number];
        (one.request.is_report, one.file, finished(*number))
    });
    let mut originals: Vec<usize> = Vec::new();
    for of_file in group.chunk_by(|one, other| placed[*one].file == placed[*other].file) {
        let mut unpaired = Vec::new();
        let mut next = 0;
        for number in of_file {
            let at = finished(*number);
            // Both lists are sorted by time, so that the search never goes back.
            let early = |original: &usize| finished(*original) < at.saturating_sub(LATEST_MILLIS);
            next += originals[next..].partition_point(early);
            match originals.get(next) {
                Some(original) if finished(*original) <= at.saturating_add(LATEST_MILLIS) => {
                    copies.note(*number, *original);
                    next += 1;
                }
                _ => unpaired.push(*number),
            }
        }
        if !unpaired.is_empty() {
            originals.extend(unpaired);
            originals.order_by_key(|number| finished(*number));
        }
    }
}

/// Subtracts single requests from the sums of their runs, and drops the sums that become empty. Sums have no
/// compactions.
fn take_out_of_sums(placed: &mut Vec<Placed>, compaction: Symbol, found: &mut Found) {
    let is_counted =
        |one: &&Placed| is_copilots(one) && one.request.query_source != Some(compaction);
    let mut singles: FxHashMap<(Symbol, Symbol), Vec<Single>> = FxHashMap::default();
    for one in placed.iter().filter(is_counted).filter(|one| !one.request.is_report) {
        singles.entry((one.session, one.request.model)).or_default().push(Single::of(&one.request));
    }
    if singles.is_empty() {
        return;
    }
    for of_model in singles.values_mut() {
        // The earliest is taken from the end.
        of_model.order_by_key(|single| std::cmp::Reverse(single.finished));
    }
    let mut sums: Vec<usize> = (0..placed.len()).collect();
    sums.retain(|number| is_counted(&&placed[*number]) && placed[*number].request.is_report);
    sums.order_by_key(|number| placed[*number].request.finished);
    let mut is_left = vec![true; placed.len()];
    for number in sums {
        let one = &mut placed[number];
        if let Some(singles) = singles.get_mut(&(one.session, one.request.model)) {
            match subtract(singles, &mut one.request) {
                Ok(is_more) => is_left[number] = is_more,
                Err(DoNotFit) => found.contradictions.push((one.file, one.request.line)),
            }
        }
    }
    let before = placed.len();
    let mut is_left = is_left.into_iter();
    placed.retain(|_| is_left.next().unwrap_or(true));
    found.left_out += (before - placed.len()) as u64;
}

/// Error: single requests have more tokens than the sum.
struct DoNotFit;

/// Request that a row or a span reports.
struct Single {
    finished: i64,
    usage: Usage,
}

impl Single {
    fn of(request: &AgentRequest) -> Self {
        Self { finished: request.finished.get(), usage: request.usage.clone() }
    }
}

/// Subtracts the single requests up to a sum from it, each once, and returns true if anything is left.
///
/// # Errors
/// The requests have more tokens than the sum: some belong to something else. The sum stays unchanged.
fn subtract(singles: &mut Vec<Single>, sum: &mut AgentRequest) -> Result<bool, DoNotFit> {
    let latest = sum.finished.get().saturating_add(LATEST_MILLIS);
    let first_later = singles.partition_point(|single| single.finished > latest);
    let own = singles.split_off(first_later);
    let rest = own.iter().try_fold(sum.usage.clone(), |mut rest, single| {
        let less = |now: &mut Tokens, one: Tokens| {
            *now = Tokens(now.0.checked_sub(one.0)?);
            Some(())
        };
        less(&mut rest.prompt.input, single.usage.prompt.input)?;
        less(&mut rest.prompt.read, single.usage.prompt.read)?;
        less(&mut rest.prompt.write_5m, single.usage.prompt.write_5m)?;
        less(&mut rest.output, single.usage.output)?;
        Some(rest)
    });
    let rest = rest.ok_or(DoNotFit)?;
    let requests = u32::try_from(own.len()).unwrap_or(u32::MAX);
    // At least 1, as a sum with tokens left covers some request.
    sum.sum_of = sum.sum_of.saturating_sub(requests).max(1);
    sum.reasoning = sum.reasoning.min(rest.output);
    let is_left = rest.prompt.total() + rest.output > Tokens::ZERO;
    sum.usage = rest;
    Ok(is_left)
}
