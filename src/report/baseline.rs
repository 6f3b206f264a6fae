//! Saved reports as baselines.
//!
//! Besides totals these have the turns of each session, and fingerprints of the blocks of captured prompts. A
//! report is read back into the snapshot that it was made of; everything else in it is skipped.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::applicability::ApplicabilityObject;
use super::report_json::{ByStrategy, Report, SessionTotals, TotalsObject};
use crate::base::known::KnownSum;
use crate::base::units::{Millis, Picodollars, Tokens};
use crate::explain::snapshot::{
    BlockId, Blocks, Counted, Digest, Figures, Fingerprint, Pieces, Settings, Snapshot,
    SnapshotBlock, SnapshotSession, SnapshotTurn, TurnBreak, TurnMarker,
};
use crate::read::capture::Part;

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

/// Request, with its sums under each strategy that it is recorded under.
#[derive(Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(super) struct TurnObject<'a> {
    /// Its id.
    request_id: Option<Cow<'a, str>>,
    /// Sub-agent that sent it; null on the main chain.
    agent_id: Option<Cow<'a, str>>,
    /// Model it was sent to.
    #[serde(borrow)]
    model: Cow<'a, str>,
    /// File that has it, relative to the given paths.
    #[serde(borrow)]
    file: Cow<'a, str>,
    /// Line in the file.
    line: u64,
    /// Time of sending, as well as it is known.
    start: Millis,
    /// Sums of its rows under each strategy that it is recorded under.
    totals: ByStrategy<'a>,
    /// Figures by the rules and the bytes of its prompt alone, if it is captured.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    counted: Option<CountedObject<'a>>,
    /// Break, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    r#break: Option<TurnBreak>,
    /// Last block of its prompt, by its place in `blocks`.
    #[serde(skip_serializing_if = "Option::is_none")]
    block: Option<BlockId>,
    /// Last block that conversations are meant to share.
    #[serde(skip_serializing_if = "Option::is_none")]
    front: Option<BlockId>,
    /// Markers of its prompt.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    markers: Vec<TurnMarker>,
    /// Of a captured request, first 64 bits of the BLAKE2b of each setting besides its prompt, by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<BTreeMap<String, String>>"))]
    settings: Option<Settings>,
}

/// Figures of a captured request by the rules and the bytes of its prompt, whatever usage is recorded for it.
#[derive(Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
struct CountedObject<'a> {
    /// Prompt under each strategy, without output; `billed` is the replay.
    #[serde(borrow)]
    prompt: ByStrategy<'a>,
    /// Cost of its recorded output, in dollars; null if the output or its price is unknown.
    output_usd: Option<Picodollars>,
}

impl<'a> TurnObject<'a> {
    /// Turn of a snapshot.
    pub(super) fn new(snapshot: &'a Snapshot, turn: &'a SnapshotTurn) -> Self {
        let by_strategy = |figures: &'a [Option<Figures>]| {
            let figures = snapshot.strategies.iter().zip(figures);
            let known =
                figures.filter_map(|(name, figures)| Some((name.into(), figures.as_ref()?.into())));
            ByStrategy(known.collect())
        };
        let counted = turn.counted.as_ref().map(|counted| CountedObject {
            prompt: by_strategy(&counted.prompts),
            output_usd: counted.output,
        });
        Self {
            request_id: turn.request_id.as_deref().map(Cow::from),
            agent_id: turn.agent_id.as_deref().map(Cow::from),
            model: (&turn.model).into(),
            file: Cow::from(&*turn.file),
            line: turn.line,
            start: turn.start,
            totals: by_strategy(&turn.figures),
            counted,
            r#break: turn.broken.clone(),
            block: turn.block,
            front: turn.front,
            markers: turn.markers.clone(),
            settings: turn.settings.clone(),
        }
    }
}

/// Block of a captured prompt, by its identity.
#[derive(Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(super) struct BlockObject<'a> {
    /// Block in front, by its place in `blocks`.
    parent: Option<BlockId>,
    /// Part of the prompt.
    part: Part,
    /// Name of a tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<Cow<'a, str>>,
    /// Digests of a tool's fields.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(test, schemars(with = "BTreeMap<String, String>"))]
    fields: BTreeMap<String, Digest>,
    /// Length of its canonical bytes.
    bytes: u64,
    /// First 64 bits of their BLAKE2b.
    #[cfg_attr(test, schemars(with = "String"))]
    digest: Digest,
    /// Digests of up to 64 pieces of equal length, of tools and the system prompt.
    #[serde(borrow, default, skip_serializing_if = "str::is_empty")]
    pieces: Cow<'a, str>,
}

impl<'a> From<&'a SnapshotBlock> for BlockObject<'a> {
    fn from(block: &'a SnapshotBlock) -> Self {
        Self {
            parent: block.parent,
            part: block.part,
            name: block.name.as_deref().map(Cow::from),
            fields: block.fields.clone(),
            bytes: block.fingerprint.bytes,
            digest: block.fingerprint.digest,
            pieces: block.pieces.to_string().into(),
        }
    }
}

/// Reads a saved `cachesim.report/v1`, with or without turns and blocks.
///
/// # Errors
/// The file cannot be a baseline; the message says what to do.
pub fn parse_baseline(json: &[u8]) -> Result<Snapshot, BaselineError> {
    // The schema comes first: a report of a newer version may not parse as this one.
    let head: Head = serde_json::from_slice(json).map_err(|error| malformed(&error))?;
    check_schema(&head)?;
    let report: Report<'_> = serde_json::from_slice(json).map_err(|error| malformed(&error))?;
    let strategies = report.totals.0.into_iter().map(|(name, _)| name.into_owned());
    let strategies: Vec<String> = strategies.collect();
    let blocks = blocks(report.blocks)?;
    let reader = BaselineReader { strategies: &strategies, blocks: &blocks };
    let sessions = report.sessions.into_iter().map(|session| reader.session(session));
    let sessions = sessions.collect::<Result<_, _>>()?;
    if report.lint.iter().flatten().any(|count| count.findings > MOST_COUNT) {
        return Err(damaged(NO_FIGURES));
    }
    Ok(Snapshot {
        prices: report.prices.map(|prices| prices.id.into_owned()),
        counting: report.tokens.map(counting),
        options: report.options.map(Cow::into_owned).unwrap_or_default(),
        is_of_rows: false,
        damage: report.damage.unwrap_or_default(),
        inapplicable: inapplicable(report.applicability),
        sessions,
        lint: report.lint,
        is_uncompared: false,
        blocks,
        strategies,
    })
}

/// Reasons of the strategies that are not applicable.
fn inapplicable(objects: Vec<ApplicabilityObject<'_>>) -> BTreeMap<String, String> {
    let idle = objects.into_iter().filter(|object| !object.applicable);
    let reason = |object: ApplicabilityObject<'_>| {
        let reasons: Vec<_> = object.obstacles.into_iter().map(|one| one.reason).collect();
        (object.strategy.into_owned(), reasons.join("; "))
    };
    idle.map(reason).collect()
}

fn malformed(error: &serde_json::Error) -> BaselineError {
    let (line, column) = (error.line(), error.column());
    let problem = error.to_string();
    // The message already gives the place at its beginning.
    let problem = problem.split(" at line ").next().unwrap_or_default().to_owned();
    BaselineError::Malformed { line, column, problem }
}

fn check_schema(head: &Head) -> Result<(), BaselineError> {
    let Some(schema) = head.schema.as_deref() else {
        return Err(BaselineError::NoReport("missing".to_owned()));
    };
    // The name is from a file, and may be of any length.
    let shown = || format!("`{}`", schema.chars().take(80).collect::<String>());
    let version = schema.strip_prefix(FORMAT).and_then(|rest| rest.strip_prefix("/v"));
    let version = version.and_then(|version| version.parse().ok());
    match version.ok_or_else(|| BaselineError::NoReport(shown()))? {
        VERSION => Ok(()),
        version if version > VERSION => {
            let tool = head.tool_version.clone().unwrap_or_else(|| "of another version".to_owned());
            Err(BaselineError::Newer(version, tool))
        }
        _ => Err(BaselineError::NoReport(shown())),
    }
}

fn damaged(problem: impl Into<String>) -> BaselineError {
    BaselineError::Damaged(problem.into())
}

fn blocks(objects: Vec<BlockObject<'_>>) -> Result<Blocks, BaselineError> {
    let block = |(number, object): (usize, BlockObject<'_>)| {
        block(number, object).ok_or_else(|| damaged(format!("block {number} makes no sense")))
    };
    let list = objects.into_iter().enumerate().map(block);
    let list = list.collect::<Result<_, _>>()?;
    Ok(Blocks::new(list))
}

fn block(number: usize, object: BlockObject<'_>) -> Option<SnapshotBlock> {
    // A block comes after its parent, so that no chain of parents is a cycle.
    if object.parent.is_some_and(|parent| parent.0 >= number) {
        return None;
    }
    Some(SnapshotBlock {
        parent: object.parent,
        part: object.part,
        name: object.name.map(Cow::into_owned),
        fields: object.fields,
        fingerprint: Fingerprint { bytes: object.bytes, digest: object.digest },
        pieces: Pieces::parse(&object.pieces, object.bytes)?,
    })
}

struct BaselineReader<'a> {
    strategies: &'a [String],
    blocks: &'a Blocks,
}

impl BaselineReader<'_> {
    fn session(&self, object: SessionTotals<'_>) -> Result<SnapshotSession, BaselineError> {
        let turns = object.turns.map(|turns| {
            turns.into_iter().map(|turn| self.turn(turn)).collect::<Result<Vec<_>, _>>()
        });
        let turns: Option<Vec<SnapshotTurn>> = turns.transpose()?;
        // Both sides sum their turns, so that they count alike.
        let totals = match &turns {
            Some(turns) => Figures::of_turns(turns, self.strategies.len()),
            None => self.figures(&object.totals)?,
        };
        Ok(SnapshotSession {
            id: object.session_id.into_owned(),
            files: object.files.into_iter().map(Arc::from).collect(),
            project: object.project.map(Cow::into_owned),
            totals,
            turns,
        })
    }

    fn turn(&self, object: TurnObject<'_>) -> Result<SnapshotTurn, BaselineError> {
        let marked = object.markers.iter().map(|marker| marker.block);
        for block in marked.chain(object.block).chain(object.front) {
            self.check_block(block)?;
        }
        if object.r#break.as_ref().is_some_and(|broken| !is_possible(broken)) {
            return Err(damaged(NO_FIGURES));
        }
        Ok(SnapshotTurn {
            figures: self.figures_of_request(&object.totals)?,
            counted: object.counted.as_ref().map(|counted| self.counted(counted)).transpose()?,
            broken: object.r#break,
            block: object.block,
            front: object.front,
            markers: object.markers,
            settings: object.settings,
            start: object.start,
            request_id: object.request_id.map(Cow::into_owned),
            agent_id: object.agent_id.map(Cow::into_owned),
            model: object.model.into_owned(),
            file: Arc::from(object.file),
            line: object.line,
        })
    }

    fn counted(&self, object: &CountedObject<'_>) -> Result<Counted, BaselineError> {
        let output = object.output_usd;
        if output.is_some_and(|cost| !(Picodollars::ZERO..=MOST_COST).contains(&cost)) {
            return Err(damaged(NO_FIGURES));
        }
        Ok(Counted { prompts: self.figures_of_request(&object.prompt)?, output })
    }

    /// Figures of one request.
    fn figures_of_request(
        &self,
        totals: &ByStrategy<'_>,
    ) -> Result<Vec<Option<Figures>>, BaselineError> {
        if totals.0.iter().any(|(_, totals)| totals.requests != 1) {
            return Err(damaged("a turn that is not one request"));
        }
        self.figures(totals)
    }

    fn check_block(&self, block: BlockId) -> Result<(), BaselineError> {
        if block.0 >= self.blocks.list.len() {
            return Err(damaged(format!("there is no block {}", block.0)));
        }
        Ok(())
    }

    fn figures(&self, totals: &ByStrategy<'_>) -> Result<Vec<Option<Figures>>, BaselineError> {
        let of_strategy = |strategy: &String| totals.get(strategy).map(figures).transpose();
        self.strategies.iter().map(of_strategy).collect()
    }
}

/// Limits beyond all tokens and dollars that providers ever served in one session.
///
/// A larger value is no figure, and could not be added up.
const MOST_TOKENS: Tokens = Tokens(1_000_000_000_000_000);
const MOST_COST: Picodollars = Picodollars(1_000_000_000_000_000_000_000_000);
const MOST_COUNT: u64 = 1_000_000_000_000;

const NO_FIGURES: &str = "figures that no session has";

fn is_possible(broken: &TurnBreak) -> bool {
    let excess = broken.excess.unwrap_or_default();
    broken.rewritten <= MOST_TOKENS && excess.0.abs() <= MOST_COST.0
}

fn figures(totals: &TotalsObject) -> Result<Figures, BaselineError> {
    let tokens = [
        totals.input_tokens,
        totals.cache_read_input_tokens,
        totals.ephemeral_5m_input_tokens,
        totals.ephemeral_1h_input_tokens,
        totals.output_tokens,
    ];
    let cost = totals.cost_usd.unwrap_or_default();
    let is_sound = tokens.iter().all(|tokens| *tokens <= MOST_TOKENS)
        && (Picodollars::ZERO..=MOST_COST).contains(&cost)
        && totals.requests <= MOST_COUNT
        && totals.unpriced_requests <= totals.requests;
    if !is_sound {
        return Err(damaged(NO_FIGURES));
    }
    // Without a cost none of the requests has a price.
    let unknown =
        if totals.cost_usd.is_some() { totals.unpriced_requests } else { totals.requests };
    Ok(Figures {
        requests: totals.requests,
        input: totals.input_tokens,
        read: totals.cache_read_input_tokens,
        write_5m: totals.ephemeral_5m_input_tokens,
        write_1h: totals.ephemeral_1h_input_tokens,
        output: totals.output_tokens,
        costs: KnownSum { sum: cost, known: totals.requests - unknown, unknown },
    })
}

/// Measurement of prompts; before there were counts, `auto` meant estimates.
fn counting(written: Cow<'_, str>) -> String {
    if written == "auto" { "estimated".to_owned() } else { written.into_owned() }
}
