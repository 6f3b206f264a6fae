//! A saved report → the snapshot it was made of.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;

use super::fingerprint::{BlockId, Blocks, Digest, Fingerprint, Pieces, SnapshotBlock};
use super::{Figures, LintCount, Snapshot, SnapshotSession, SnapshotTurn, TurnBreak, TurnMarker};
use crate::base::ttl::Ttl;
use crate::base::units::{Millis, Picodollars, Tokens};
use crate::explain::breaks::Cause;
use crate::explain::lint::Rule;
use crate::read::capture::Part;

/// The formats that can be read: the name, and its version.
const FORMAT: &str = "cachesim.report";
const VERSION: u32 = 1;

/// How to come by a baseline, for messages.
const HOW_TO_SAVE: &str = "save one with `cachesim check PATH --export report=FILE`";

/// Why a file is no baseline.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BaselineError {
    /// It is no JSON, or lacks what a report has.
    #[error("line {line}, column {column}: {problem}; {HOW_TO_SAVE}")]
    Malformed {
        /// From 1 on; 0 of an empty file.
        line: usize,
        /// From 1 on.
        column: usize,
        /// What the parser says.
        problem: String,
    },
    /// It is something else.
    #[error("it is no report (its schema is {0}); {HOW_TO_SAVE}")]
    NoReport(String),
    /// A newer version wrote it.
    #[error(
        "it is a {FORMAT}/v{0}, written by cachesim {1}; this version reads {FORMAT}/v{VERSION}: \
         update cachesim, or save the baseline anew with this version"
    )]
    Newer(u32, String),
    /// It contradicts itself.
    #[error("it is damaged: {0}; {HOW_TO_SAVE}")]
    Damaged(String),
}

/// What comes before all else.
#[derive(Deserialize)]
struct Head {
    schema: Option<String>,
    tool_version: Option<String>,
}

#[derive(Deserialize)]
struct ReportDocument {
    prices: Option<PricesDocument>,
    tokens: Option<String>,
    totals: BTreeMap<String, FiguresDocument>,
    sessions: Vec<SessionDocument>,
    #[serde(default)]
    blocks: Vec<BlockDocument>,
    lint: Option<Vec<LintDocument>>,
    #[serde(default)]
    applicability: Vec<ApplicabilityDocument>,
}

#[derive(Deserialize)]
struct ApplicabilityDocument {
    strategy: String,
    applicable: bool,
    obstacles: Vec<ObstacleDocument>,
}

#[derive(Deserialize)]
struct ObstacleDocument {
    reason: String,
}

#[derive(Deserialize)]
struct PricesDocument {
    id: String,
}

#[derive(Deserialize)]
struct SessionDocument {
    session_id: String,
    #[serde(default)]
    files: Vec<Arc<str>>,
    project: Option<String>,
    totals: BTreeMap<String, FiguresDocument>,
    turns: Option<Vec<TurnDocument>>,
}

#[derive(Deserialize)]
struct TurnDocument {
    request_id: Option<String>,
    agent_id: Option<String>,
    model: String,
    file: Arc<str>,
    line: u64,
    start: String,
    totals: BTreeMap<String, FiguresDocument>,
    r#break: Option<BreakDocument>,
    block: Option<usize>,
    front: Option<usize>,
    #[serde(default)]
    markers: Vec<MarkerDocument>,
}

#[derive(Deserialize)]
struct MarkerDocument {
    block: usize,
    ttl: String,
}

#[derive(Deserialize)]
struct BreakDocument {
    cause: String,
    rewritten_tokens: Tokens,
    excess_usd: Option<Picodollars>,
}

#[derive(Deserialize)]
struct FiguresDocument {
    requests: u64,
    input_tokens: Tokens,
    cache_read_input_tokens: Tokens,
    ephemeral_5m_input_tokens: Tokens,
    ephemeral_1h_input_tokens: Tokens,
    output_tokens: Tokens,
    cost_usd: Option<Picodollars>,
    #[serde(default)]
    unpriced_requests: u64,
}

#[derive(Deserialize)]
struct BlockDocument {
    parent: Option<usize>,
    part: String,
    name: Option<String>,
    #[serde(default)]
    fields: BTreeMap<String, String>,
    bytes: u64,
    digest: String,
    #[serde(default)]
    pieces: String,
}

#[derive(Deserialize)]
struct LintDocument {
    rule: String,
    findings: u64,
}

/// Reads a saved `cachesim.report/v1`, with or without turns and blocks.
///
/// # Errors
/// Why it cannot be a baseline, with what to do.
pub fn parse_baseline(json: &[u8]) -> Result<Snapshot, BaselineError> {
    let head: Head = serde_json::from_slice(json).map_err(|error| malformed(&error))?;
    check_schema(&head)?;
    let document: ReportDocument =
        serde_json::from_slice(json).map_err(|error| malformed(&error))?;
    let strategies: Vec<String> = document.totals.into_keys().collect();
    let blocks = blocks(document.blocks)?;
    let reader = BaselineReader { strategies: &strategies, blocks: &blocks };
    let sessions = document.sessions.into_iter().map(|session| reader.session(session));
    let sessions = sessions.collect::<Result<_, _>>()?;
    let lint = document.lint.map(|lint| lint.iter().map(lint_count).collect());
    Ok(Snapshot {
        prices: document.prices.map(|prices| prices.id),
        counting: document.tokens,
        inapplicable: inapplicable(document.applicability),
        sessions,
        lint: lint.transpose()?,
        blocks,
        strategies,
    })
}

/// Why strategies that are not applicable are not.
fn inapplicable(documents: Vec<ApplicabilityDocument>) -> BTreeMap<String, String> {
    let idle = documents.into_iter().filter(|document| !document.applicable);
    let reason = |document: ApplicabilityDocument| {
        let reasons = document.obstacles.into_iter().map(|obstacle| obstacle.reason);
        (document.strategy, reasons.collect::<Vec<_>>().join("; "))
    };
    idle.map(reason).collect()
}

fn malformed(error: &serde_json::Error) -> BaselineError {
    let (line, column) = (error.line(), error.column());
    let problem = error.to_string();
    // The place is said in front.
    let problem = problem.split(" at line ").next().unwrap_or_default().to_owned();
    BaselineError::Malformed { line, column, problem }
}

fn check_schema(head: &Head) -> Result<(), BaselineError> {
    let Some(schema) = head.schema.as_deref() else {
        return Err(BaselineError::NoReport("missing".to_owned()));
    };
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

fn lint_count(lint: &LintDocument) -> Result<LintCount, BaselineError> {
    let rule = Rule::by_name(&lint.rule);
    let rule = rule.ok_or_else(|| damaged(format!("`{}` is no rule of lint", lint.rule)))?;
    if lint.findings > MOST_COUNT {
        return Err(damaged("figures that no session has"));
    }
    Ok(LintCount { rule, findings: lint.findings })
}

fn blocks(documents: Vec<BlockDocument>) -> Result<Blocks, BaselineError> {
    let block = |(number, document): (usize, BlockDocument)| {
        block(number, document).ok_or_else(|| damaged(format!("block {number} makes no sense")))
    };
    let list = documents.into_iter().enumerate().map(block);
    let list = list.collect::<Result<_, _>>()?;
    Ok(Blocks::new(list))
}

fn block(number: usize, document: BlockDocument) -> Option<SnapshotBlock> {
    let parent = document.parent.map(BlockId);
    if parent.is_some_and(|parent| parent.0 >= number) {
        return None;
    }
    let field = |(name, text): (String, String)| Some((name, Digest::parse(&text)?));
    Some(SnapshotBlock {
        parent,
        part: Part::ALL.into_iter().find(|part| part.name() == document.part)?,
        name: document.name,
        fields: document.fields.into_iter().map(field).collect::<Option<_>>()?,
        fingerprint: Fingerprint {
            bytes: document.bytes,
            digest: Digest::parse(&document.digest)?,
        },
        pieces: Pieces::parse(&document.pieces, document.bytes)?,
    })
}

struct BaselineReader<'a> {
    strategies: &'a [String],
    blocks: &'a Blocks,
}

impl BaselineReader<'_> {
    fn session(&self, document: SessionDocument) -> Result<SnapshotSession, BaselineError> {
        let turns = document.turns.map(|turns| {
            turns.into_iter().map(|turn| self.turn(turn)).collect::<Result<Vec<_>, _>>()
        });
        let turns: Option<Vec<SnapshotTurn>> = turns.transpose()?;
        // As of the run: so both sides count alike.
        let totals = match &turns {
            Some(turns) => Figures::of_turns(turns, self.strategies.len()),
            None => self.figures(&document.totals)?,
        };
        let (id, files, project) = (document.session_id, document.files, document.project);
        Ok(SnapshotSession { id, files, project, totals, turns })
    }

    fn turn(&self, document: TurnDocument) -> Result<SnapshotTurn, BaselineError> {
        let start: Result<jiff::Timestamp, _> = document.start.parse();
        let start = start.map_err(|_| damaged(format!("`{}` is no moment", document.start)))?;
        let marker = |marker: MarkerDocument| {
            let ttl =
                [Ttl::FiveMinutes, Ttl::OneHour].into_iter().find(|ttl| ttl.name() == marker.ttl);
            let ttl = ttl.ok_or_else(|| damaged(format!("`{}` is no TTL", marker.ttl)))?;
            Ok(TurnMarker { block: self.block(marker.block)?, ttl })
        };
        Ok(SnapshotTurn {
            figures: self.figures_of_request(&document.totals)?,
            broken: document.r#break.as_ref().map(turn_break).transpose()?,
            block: document.block.map(|block| self.block(block)).transpose()?,
            front: document.front.map(|block| self.block(block)).transpose()?,
            markers: document.markers.into_iter().map(marker).collect::<Result<_, _>>()?,
            start: Millis(start.as_millisecond()),
            request_id: document.request_id,
            agent_id: document.agent_id,
            model: document.model,
            file: document.file,
            line: document.line,
        })
    }

    /// Those of one request.
    fn figures_of_request(
        &self,
        totals: &BTreeMap<String, FiguresDocument>,
    ) -> Result<Vec<Option<Figures>>, BaselineError> {
        if totals.values().any(|figures| figures.requests != 1) {
            return Err(damaged("a turn that is not one request"));
        }
        self.figures(totals)
    }

    fn block(&self, number: usize) -> Result<BlockId, BaselineError> {
        if number >= self.blocks.list.len() {
            return Err(damaged(format!("there is no block {number}")));
        }
        Ok(BlockId(number))
    }

    fn figures(
        &self,
        totals: &BTreeMap<String, FiguresDocument>,
    ) -> Result<Vec<Option<Figures>>, BaselineError> {
        let of_strategy = |strategy: &String| totals.get(strategy).map(figures).transpose();
        self.strategies.iter().map(of_strategy).collect()
    }
}

/// More tokens than all providers have served of one session, and more dollars: what is larger is no
/// figure, and could not be added up.
const MOST_TOKENS: Tokens = Tokens(1_000_000_000_000_000);
const MOST_COST: Picodollars = Picodollars(1_000_000_000_000_000_000_000_000);
const MOST_COUNT: u64 = 1_000_000_000_000;

fn figures(document: &FiguresDocument) -> Result<Figures, BaselineError> {
    let tokens = [
        document.input_tokens,
        document.cache_read_input_tokens,
        document.ephemeral_5m_input_tokens,
        document.ephemeral_1h_input_tokens,
        document.output_tokens,
    ];
    let cost = document.cost_usd.unwrap_or_default();
    let is_sound = tokens.iter().all(|tokens| *tokens <= MOST_TOKENS)
        && (Picodollars::ZERO..=MOST_COST).contains(&cost)
        && document.requests <= MOST_COUNT
        && document.unpriced_requests <= document.requests;
    if !is_sound {
        return Err(damaged("figures that no session has"));
    }
    // Without a cost none of its requests has a price.
    let unpriced =
        if document.cost_usd.is_some() { document.unpriced_requests } else { document.requests };
    Ok(Figures {
        requests: document.requests,
        input: document.input_tokens,
        read: document.cache_read_input_tokens,
        write_5m: document.ephemeral_5m_input_tokens,
        write_1h: document.ephemeral_1h_input_tokens,
        output: document.output_tokens,
        cost,
        unpriced,
    })
}

fn turn_break(document: &BreakDocument) -> Result<TurnBreak, BaselineError> {
    let cause = Cause::by_name(&document.cause);
    let cause = cause.ok_or_else(|| damaged(format!("`{}` is no cause", document.cause)))?;
    let excess = document.excess_usd.unwrap_or_default();
    if document.rewritten_tokens > MOST_TOKENS || excess.0.abs() > MOST_COST.0 {
        return Err(damaged("figures that no session has"));
    }
    Ok(TurnBreak {
        cause,
        rewritten: document.rewritten_tokens,
        excess: document.excess_usd,
        evidence: None,
    })
}
