//! Saved reports as baselines.
//!
//! Besides totals these have the turns of each session, and fingerprints of the blocks of captured prompts. A
//! report is read back into the snapshot that it was made of; everything else in it is skipped.

use serde::Deserialize;

use crate::base::{ByKey, Picodollars, Tokens};
use crate::explain::snapshot::{
    Blocks, ByStrategy, Figures, LintCount, Snapshot, SnapshotBlock, SnapshotSession, SnapshotTurn,
    TurnBreak,
};

/// Name of the format that can be read, in version `VERSION`.
const FORMAT: &str = "cachesim.report";
const VERSION: u32 = 1;

/// Way to make a baseline, for messages.
const HOW_TO_SAVE: &str = "save one with `cachesim check PATH --save-baseline FILE`";

/// Reason why a file is no baseline.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BaselineError {
    /// Not JSON, or without a field of reports.
    #[error("line {line}, column {column}: {problem}; {HOW_TO_SAVE}")]
    Malformed {
        /// Line of the problem, from 1 on; 0 in an empty file.
        line: usize,
        /// Column of the problem, from 1 on.
        column: usize,
        /// Message of the parser.
        problem: String,
    },
    /// Another format, with its schema.
    #[error("it is no report (its schema is {0}); {HOW_TO_SAVE}")]
    NoReport(String),
    /// Format of a newer version, with that version and the program's.
    #[error(
        "it is a {FORMAT}/v{0}, written by cachesim {1}; this version reads {FORMAT}/v{VERSION}: \
         update cachesim, or save the baseline again with this version"
    )]
    Newer(u32, String),
    /// Contradiction in the data.
    #[error("it is damaged: {0}; {HOW_TO_SAVE}")]
    Damaged(String),
}

/// Fields that identify the format.
#[derive(Deserialize)]
struct Head {
    schema: Option<String>,
    tool_version: Option<String>,
}

/// Fields of a saved report that a snapshot is made of.
#[derive(Deserialize)]
struct Saved {
    prices: Option<SavedPrices>,
    options: Option<String>,
    damage: Option<u64>,
    totals: ByStrategy<Figures>,
    #[serde(default)]
    applicability: Vec<SavedApplicability>,
    sessions: Vec<SnapshotSession>,
    tokens: Option<String>,
    #[serde(default)]
    blocks: Vec<SnapshotBlock>,
    lint: Option<Vec<LintCount>>,
}

#[derive(Deserialize)]
struct SavedPrices {
    id: String,
}

#[derive(Deserialize)]
struct SavedApplicability {
    strategy: String,
    applicable: bool,
    obstacles: Vec<SavedObstacle>,
}

#[derive(Deserialize)]
struct SavedObstacle {
    reason: String,
}

/// Reads a saved `cachesim.report/v1`, with or without turns and blocks.
///
/// # Errors
/// The file cannot be a baseline; the message says what to do.
pub fn parse_baseline(json: &[u8]) -> Result<Snapshot, BaselineError> {
    // The schema comes first: a report of a newer version may not parse as this one.
    check_schema(parsed(json)?)?;
    let mut saved: Saved = parsed(json)?;
    check_blocks(&saved.blocks)?;
    check_lint(saved.lint.as_deref().unwrap_or_default())?;
    let blocks = saved.blocks.len();
    saved.sessions.iter_mut().try_for_each(|session| check_session(session, blocks))?;
    Ok(Snapshot {
        prices: saved.prices.map(|prices| prices.id),
        counting: saved.tokens.map(counting),
        options: saved.options.unwrap_or_default(),
        is_of_rows: false,
        damage: saved.damage.unwrap_or_default(),
        inapplicable: inapplicable(saved.applicability),
        sessions: saved.sessions,
        lint: saved.lint,
        is_uncompared: false,
        blocks: Blocks::new(saved.blocks),
        strategies: saved.totals.0.into_iter().map(|(name, _)| name.to_string()).collect(),
    })
}

fn parsed<'a, T: Deserialize<'a>>(json: &'a [u8]) -> Result<T, BaselineError> {
    serde_json::from_slice(json).map_err(|error| malformed(&error))
}

/// Reasons of the strategies that are not applicable.
fn inapplicable(all: Vec<SavedApplicability>) -> ByKey<String, String> {
    let idle = all.into_iter().filter(|one| !one.applicable);
    let reason = |one: SavedApplicability| {
        let reasons: Vec<String> = one.obstacles.into_iter().map(|one| one.reason).collect();
        (one.strategy, reasons.join("; "))
    };
    idle.map(reason).collect()
}

fn malformed(error: &serde_json::Error) -> BaselineError {
    let (line, column) = (error.line(), error.column());
    let problem = error.to_string().replace("unknown variant", "unknown word");
    // The message gives the place at its beginning. A list of all words, such as causes, would be long.
    let end =
        [" at line ", ", expected one of"].into_iter().filter_map(|end| problem.find(end)).min();
    let problem = problem[..end.unwrap_or(problem.len())].to_owned();
    BaselineError::Malformed { line, column, problem }
}

fn check_schema(head: Head) -> Result<(), BaselineError> {
    let Some(schema) = head.schema else {
        return Err(BaselineError::NoReport("missing".to_owned()));
    };
    // The name is from a file, and may be of any length.
    let shown = || format!("`{}`", schema.chars().take(80).collect::<String>());
    let version = schema.strip_prefix(FORMAT).and_then(|rest| rest.strip_prefix("/v"));
    let version = version.and_then(|version| version.parse().ok());
    match version.ok_or_else(|| BaselineError::NoReport(shown()))? {
        VERSION => Ok(()),
        version if version > VERSION => {
            let tool = head.tool_version.unwrap_or_else(|| "of another version".to_owned());
            Err(BaselineError::Newer(version, tool))
        }
        _ => Err(BaselineError::NoReport(shown())),
    }
}

fn sound(is_sound: bool, problem: impl FnOnce() -> String) -> Result<(), BaselineError> {
    if is_sound { Ok(()) } else { Err(BaselineError::Damaged(problem())) }
}

fn plausible(is_plausible: bool) -> Result<(), BaselineError> {
    sound(is_plausible, || "figures that no session has".to_owned())
}

fn check_lint(counts: &[LintCount]) -> Result<(), BaselineError> {
    plausible(counts.iter().all(|count| count.findings <= MOST_COUNT))
}

fn check_blocks(blocks: &[SnapshotBlock]) -> Result<(), BaselineError> {
    // A block comes after its parent, so that no chain of parents is a cycle.
    let mut all = blocks.iter().enumerate();
    all.try_for_each(|(place, block)| {
        sound(block.is_sound_at(place), || format!("block {place} makes no sense"))
    })
}

fn check_session(session: &mut SnapshotSession, blocks: usize) -> Result<(), BaselineError> {
    let Some(turns) = &mut session.turns else { return check_figures(&mut session.totals) };
    turns.iter_mut().try_for_each(|turn| check_turn(turn, blocks))?;
    // Both sides sum their turns, so that they count alike.
    session.totals = Figures::of_turns(turns);
    Ok(())
}

fn check_turn(turn: &mut SnapshotTurn, blocks: usize) -> Result<(), BaselineError> {
    let marked = turn.markers.iter().map(|marker| marker.block);
    for block in marked.chain(turn.block).chain(turn.front) {
        sound(block.0 < blocks, || format!("there is no block {}", block.0))?;
    }
    check_request(&mut turn.figures)?;
    if let Some(counted) = &mut turn.counted {
        check_request(&mut counted.prompts)?;
        plausible(counted.output.is_none_or(is_cost))?;
    }
    turn.broken.as_ref().map_or(Ok(()), check_break)
}

/// Checks the figures of one request.
fn check_request(figures: &mut ByStrategy<Figures>) -> Result<(), BaselineError> {
    let is_one = figures.0.iter().all(|(_, figures)| figures.requests == 1);
    sound(is_one, || "a turn that is not one request".to_owned())?;
    check_figures(figures)
}

/// Limits beyond all tokens and dollars that providers ever served in one session.
///
/// A larger value is no figure, and could not be added up.
const MOST_TOKENS: Tokens = Tokens(1_000_000_000_000_000);
const MOST_COST: Picodollars = Picodollars(1_000_000_000_000_000_000_000_000);
const MOST_COUNT: u64 = 1_000_000_000_000;

fn is_cost(cost: Picodollars) -> bool {
    (Picodollars::ZERO..=MOST_COST).contains(&cost)
}

fn check_figures(all: &mut ByStrategy<Figures>) -> Result<(), BaselineError> {
    for (_, figures) in &mut all.0 {
        let Figures { input, read, write_5m, write_1h, output, .. } = *figures;
        let tokens = [input, read, write_5m, write_1h, output];
        plausible(
            tokens.iter().all(|tokens| *tokens <= MOST_TOKENS)
                && is_cost(figures.costs.sum)
                && figures.requests <= MOST_COUNT
                && figures.costs.unknown <= figures.requests,
        )?;
        figures.count_priced();
    }
    Ok(())
}

fn check_break(broken: &TurnBreak) -> Result<(), BaselineError> {
    let excess = broken.excess.unwrap_or_default();
    plausible(broken.rewritten <= MOST_TOKENS && excess.0.abs() <= MOST_COST.0)
}

/// Measurement of prompts; before there were counts, `auto` meant estimates.
fn counting(written: String) -> String {
    if written == "auto" { "estimated".to_owned() } else { written }
}
