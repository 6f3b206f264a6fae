//! Studies: from files to figures, with everything in between.
//!
//! A [`Study`] knows which parts of its input were kept, and refuses whatever needs more. It reads and simulates under
//! one set of assumptions, so that no figure is based on half of its data.

use std::path::PathBuf;
use std::sync::Arc;

use crate::base::{Millis, Ordered as _, Ttl, Zone};
use crate::explain::advice::Advice;
use crate::explain::analysis::{Answer, CountedStep, Counts, Verification, counted_steps, verify};
use crate::explain::blocks::{BlockLength, BlockSources, Quota, blocks};
use crate::explain::breaks::{Analysis, Break, Breaks, Options, Reconciliation, find};
use crate::explain::compare::Comparison;
use crate::explain::context::{Context, context};
use crate::explain::lint::{Linted, Rule, lint};
use crate::read::capture::BlockParts;
use crate::read::input::discover;
use crate::requests::conversation::{History, ReadOptions, RequestIndex, read};
use crate::requests::prompt::{PromptTrace, Step, build, build_counted, steps};
use crate::simulate::cache::Reading;
use crate::simulate::ledger::{Filter, FilterError, Ledger, Selection, Totals};
use crate::simulate::pricing::{PriceTable, settle_lifetimes};
use crate::simulate::strategy::{Assumptions, Strategy};

/// Options of a study.
#[derive(Clone, Debug)]
pub struct StudyOptions {
    /// Parts of the input to keep. By default all.
    pub read: ReadOptions,
    /// Prices. By default the built-in ones.
    pub prices: PriceTable,
    /// Filter of the reported requests. By default all.
    pub filter: Filter,
    /// True to leave out requests on rewound branches.
    pub only_live: bool,
    /// Time zone of days. By default UTC.
    pub zone: Zone,
    /// Assumptions of every simulation.
    pub assumptions: Assumptions,
}

impl Default for StudyOptions {
    fn default() -> Self {
        let parts = BlockParts::Landmarks;
        Self {
            read: ReadOptions {
                keeps_bytes: true,
                parts,
                counts_contents: true,
                ..ReadOptions::default()
            },
            prices: PriceTable::built_in(),
            filter: Filter::default(),
            only_live: false,
            zone: Zone::default(),
            assumptions: Assumptions::default(),
        }
    }
}

/// Reason for which there is no study, or no answer from it.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// An input without requests.
    #[error("no request in the input")]
    NoRequest,
    /// A filter that selects nothing, or names something that does not exist.
    #[error(transparent)]
    Filter(#[from] FilterError),
    /// More tokens in all requests than any figure allows.
    #[error(
        "{file}:{line}: with this request the input has more than 10^15 tokens, which no figure is made \
         for; its usage cannot be real: take the request out"
    )]
    TooManyTokens {
        /// File of the request that exceeds the limit.
        file: Arc<str>,
        /// Line of the request in the file.
        line: u64,
    },
    /// Only requests on rewound branches are selected.
    #[error("every selected request is on a rewound branch; ask for all of them")]
    NothingLive,
    /// Prompts are needed, but none was captured.
    #[error(
        "no captured prompt in the input: a transcript does not hold the system prompt and the tools; give \
         a capture, a bundle or a claude-trace log"
    )]
    NoCapturedPrompt,
    /// The bytes of captured prompts are needed, but were not kept.
    #[error("{0} needs the bytes of captured prompts; read the input with `keeps_bytes`")]
    NoBytes(String),
    /// The parts of blocks are needed, but were not kept.
    #[error("{0} needs the parts of captured blocks; read the input with `BlockParts::Landmarks`")]
    NoParts(String),
    /// Trails between requests are needed, but were not kept.
    #[error("{0} needs what lies between requests; read the input without `leaves_out_trails`")]
    NoTrails(String),
    /// A strategy is needed that the ledger lacks.
    #[error("{0} needs {1} among the strategies of the ledger")]
    NotSimulated(&'static str, &'static str),
}

/// Requests that were read, ready to be simulated.
#[derive(Debug)]
pub struct Study {
    /// All requests.
    pub history: History,
    /// Reported requests.
    pub selection: Selection,
    /// Prices of tokens.
    pub prices: PriceTable,
    /// Step of each request from the one before it.
    pub steps: Vec<Step>,
    /// Prompts as recorded.
    pub trace: PromptTrace,
    kept: ReadOptions,
    assumptions: Assumptions,
}

/// Most tokens of an input. Sums of tokens have 64 bits, and a strategy may send each prompt again for every one of
/// 10,080 pings.
const MOST_TOKENS: u64 = 1_000_000_000_000_000;

/// # Errors
/// The first request with which the input exceeds the limit.
fn check_tokens(history: &History, trace: &PromptTrace) -> Result<(), StudyError> {
    let mut all = 0_u64;
    for (request, prompt) in history.requests.iter().zip(&trace.prompts) {
        let recorded = request.usage.as_ref().map_or(0, |usage| {
            let prompt = usage.prompt.total();
            prompt.0.saturating_add(usage.output.0)
        });
        all = all.saturating_add(prompt.total.0.max(recorded));
        if all > MOST_TOKENS {
            let file = Arc::clone(&history.files[request.file].label);
            return Err(StudyError::TooManyTokens { file, line: request.line });
        }
    }
    Ok(())
}

impl Study {
    /// Reads files and folders.
    ///
    /// # Errors
    /// There is no request, or the filter leaves none.
    pub fn read(paths: &[PathBuf], options: StudyOptions) -> Result<Self, StudyError> {
        Self::of(read(discover(paths), options.read.clone(), |_| {}), options)
    }

    /// Makes a study of a history that was read with the same options.
    ///
    /// # Errors
    /// There is no request, or the filter leaves none.
    pub fn of(mut history: History, options: StudyOptions) -> Result<Self, StudyError> {
        let StudyOptions { read: kept, prices, filter, only_live, zone, assumptions } = options;
        if history.requests.is_empty() {
            return Err(StudyError::NoRequest);
        }
        history.zone = zone;
        let has_others = !history.sent_elsewhere().is_empty();
        let prices = if has_others { prices.naming_providers() } else { prices };
        settle_lifetimes(&mut history, &prices);
        let (selection, (steps, trace)) = rayon::join(
            || select(&filter, only_live, &history),
            || {
                let steps = steps(&history);
                let trace = build(&history, &steps, assumptions.shared_prefix);
                (steps, trace)
            },
        );
        check_tokens(&history, &trace)?;
        Ok(Self { selection: selection?, history, prices, steps, trace, kept, assumptions })
    }

    /// Assumptions of the simulations.
    pub fn assumptions(&self) -> Assumptions {
        self.assumptions
    }

    /// Simulates strategies.
    ///
    /// # Errors
    /// A strategy needs a part of the input that was not kept.
    pub fn run(&self, strategies: &[Strategy]) -> Result<Ledger<'_>, StudyError> {
        self.run_with(strategies, &[])
    }

    /// Simulates strategies, and the bound of the same prompts under both readings.
    ///
    /// # Errors
    /// A strategy needs a part of the input that was not kept.
    pub fn run_with_bounds(&self, strategies: &[Strategy]) -> Result<Ledger<'_>, StudyError> {
        let own = self.assumptions.reading;
        self.run_with(strategies, &[own, own.other()])
    }

    /// Simulates strategies, and the bound under some readings.
    ///
    /// # Errors
    /// A strategy needs a part of the input that was not kept.
    pub fn run_with(
        &self,
        strategies: &[Strategy],
        readings: &[Reading],
    ) -> Result<Ledger<'_>, StudyError> {
        strategies.iter().try_for_each(|strategy| self.allow(strategy))?;
        Ok(self.ledger(strategies, readings, &self.assumptions))
    }

    /// Totals of the selected requests under strategies, in their order.
    ///
    /// # Errors
    /// A strategy needs a part of the input that was not kept.
    pub fn totals<'t>(
        &self,
        strategies: &'t [Strategy],
    ) -> Result<Vec<(&'t Strategy, Totals)>, StudyError> {
        let ledger = self.run(strategies)?;
        let total = |column| ledger.totals(column, self.selection.requests());
        Ok(strategies.iter().zip(ledger.columns.iter().map(total)).collect())
    }

    /// File and line of the first line of a request's answer.
    pub fn place(&self, index: RequestIndex) -> String {
        let request = self.history.request(index);
        format!("{}:{}", self.history.files[request.file].label, request.line)
    }

    /// Finds the breaks: requests that read less than they could have.
    ///
    /// # Errors
    /// Captured prompts were read without their bytes, or trails were left out.
    pub fn breaks(&self, options: Options) -> Result<Findings<'_>, StudyError> {
        self.need_evidence_of_breaks()?;
        let Self { trace, steps, selection, .. } = self;
        // Breaks are judged by the rules as documented: by the letter, with nothing kept of the record.
        let assumptions = self.assuming(false, Reading::Literal);
        let empty = Ledger::empty(&self.history, steps, trace, &self.prices, &assumptions);
        let simulated = (&*evidence_strategies(), &[Reading::Literal][..]);
        let (ledger, analysis) = empty.filled(trace, simulated, |ledger| {
            Analysis::new(ledger, trace, steps, selection, options)
        });
        self.findings(ledger, analysis)
    }

    /// Fails if the evidence of breaks was not kept.
    fn need_evidence_of_breaks(&self) -> Result<(), StudyError> {
        self.need_bytes("finding breaks")?;
        self.need_trails("finding breaks")
    }

    fn findings<'s>(
        &'s self,
        ledger: Ledger<'s>,
        analysis: Option<Analysis>,
    ) -> Result<Findings<'s>, StudyError> {
        let analysis =
            analysis.ok_or(StudyError::NotSimulated("finding breaks", BILLED_AND_EXPECTED))?;
        Ok(Findings { study: self, ledger, analysis })
    }

    /// Finds the breaks in a ledger of [`evidence`](Self::evidence).
    ///
    /// # Errors
    /// As for [`breaks`](Self::breaks), or the ledger is of another kind.
    pub fn breaks_in<'s>(
        &'s self,
        ledger: Ledger<'s>,
        options: Options,
    ) -> Result<Findings<'s>, StudyError> {
        self.need_evidence_of_breaks()?;
        let Self { trace, steps, selection, .. } = self;
        let analysis = Analysis::new(&ledger, trace, steps, selection, options);
        self.findings(ledger, analysis)
    }

    /// Finds unstable prefixes of captured prompts, most expensive first, in a ledger that [`run`](Self::run) made of at
    /// least [`lint_strategies`].
    ///
    /// # Errors
    /// There is no captured prompt, its bytes were not kept, or the ledger is of another kind.
    pub fn lint(&self, ledger: &Ledger<'_>) -> Result<Linted, StudyError> {
        self.need_prompts()?;
        self.need_bytes("looking for unstable prefixes")?;
        if ledger.expected().is_none() {
            return Err(StudyError::NotSimulated("looking for unstable prefixes", "`replay`"));
        }
        Ok(lint(ledger, &self.trace, &self.assumptions.replay(), &self.selection))
    }

    /// Composition of the contexts of the selected sessions, with the `top` most expensive items of each.
    ///
    /// # Errors
    /// Trails between requests or the bytes of captured prompts were not kept, or the ledger lacks `billed`.
    pub fn context(&self, ledger: &Ledger<'_>, top: usize) -> Result<Context, StudyError> {
        self.need_bytes("taking contexts apart")?;
        self.need_trails("taking contexts apart")?;
        let context = context(ledger, &self.steps, &self.trace, &self.selection, top);
        context.ok_or(StudyError::NotSimulated("taking contexts apart", "`billed`"))
    }

    /// Usage windows of plans of these lengths, with the consumers of each. At `now` a window may be open.
    ///
    /// # Errors
    /// As for [`context`](Self::context) and [`breaks`](Self::breaks).
    pub fn blocks(
        &self,
        ledger: &Ledger<'_>,
        lengths: &[BlockLength],
        now: Millis,
    ) -> Result<Vec<Quota>, StudyError> {
        let breaks = &self.breaks_among(ledger, &self.selection)?;
        let Self { steps, trace, selection, .. } = self;
        let sources = BlockSources { ledger, steps, trace, selection, breaks, now };
        let blocks = blocks(sources, lengths);
        blocks.ok_or(StudyError::NotSimulated("summing windows up", BILLED_AND_EXPECTED))
    }

    /// Compares the replay of a ledger with its record; `dollars` is the part of the difference that breaks explain.
    ///
    /// # Errors
    /// The ledger lacks one of the two.
    pub fn verify(
        &self,
        ledger: &Ledger<'_>,
        dollars: Reconciliation,
    ) -> Result<Verification, StudyError> {
        let verification = verify(ledger, &self.steps, &self.selection, dollars);
        verification.ok_or(StudyError::NotSimulated("verifying the rules", BILLED_AND_EXPECTED))
    }

    /// Steps of transcripts whose additions are all in lines, each with its recorded and its counted size; empty unless
    /// contents were counted (`ReadOptions::counts_contents`).
    pub fn counted_steps(&self) -> Vec<CountedStep> {
        counted_steps(&self.history, &self.steps)
    }

    /// Agreement of counted and recorded sizes of these steps, by model and kind of addition.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::new();
        for step in self.counted_steps() {
            let model = self.history.text(Some(self.history.request(step.request).model));
            let key = (model.unwrap_or_default().to_owned(), step.added);
            counts.entry(key).or_default().add(&step);
        }
        counts
    }

    /// Compares the strategies of a ledger with the first of them, and with the bounds if
    /// [`run_with_bounds`](Self::run_with_bounds) made the ledger.
    pub fn compare<'l>(&self, ledger: &'l Ledger<'_>) -> Comparison<'l> {
        Comparison::new(ledger, &self.selection)
    }

    /// Breaks among some requests, in a ledger of the record and its replay. Faster than [`breaks`](Self::breaks).
    ///
    /// # Errors
    /// As for [`breaks`](Self::breaks), or the ledger lacks either.
    pub fn breaks_among(
        &self,
        ledger: &Ledger<'_>,
        selection: &Selection,
    ) -> Result<Breaks, StudyError> {
        self.need_evidence_of_breaks()?;
        let found = find(ledger, &self.trace, &self.steps, selection, Options::default());
        found.ok_or(StudyError::NotSimulated("finding breaks", BILLED_AND_EXPECTED))
    }

    /// Simulates the record and its replay, under the literal reading.
    pub fn record_and_replay(&self) -> Ledger<'_> {
        let assumptions = self.assuming(false, Reading::Literal);
        self.ledger(&[Strategy::billed(), Strategy::expected()], &[], &assumptions)
    }

    /// Simulates the strategies for finding and pricing breaks, under the literal reading.
    pub fn evidence(&self) -> Ledger<'_> {
        let assumptions = self.assuming(false, Reading::Literal);
        self.ledger(&evidence_strategies(), &[Reading::Literal], &assumptions)
    }

    /// Simulates strategies over captured prompts that are sized by their bytes alone, as if no usage were recorded.
    /// `None` without captured prompts.
    ///
    /// # Errors
    /// A strategy needs a part of the input that was not kept.
    pub fn counted(&self, strategies: &[Strategy]) -> Result<Option<Ledger<'_>>, StudyError> {
        strategies.iter().try_for_each(|strategy| self.allow(strategy))?;
        if !self.has_captures() {
            return Ok(None);
        }
        let Self { history, steps, prices, assumptions, .. } = self;
        let trace = build_counted(history, steps, assumptions.shared_prefix);
        Ok(Some(Ledger::counted(history, steps, &trace, prices, strategies, assumptions)))
    }

    /// Assumptions with recorded breaks kept or not, under a reading.
    fn assuming(&self, keeps_breaks: bool, reading: Reading) -> Assumptions {
        Assumptions { keeps_breaks, reading, ..self.assumptions }
    }

    /// Simulated record with its breaks, the starting point of advice.
    fn as_recorded(&self, reading: Reading) -> Ledger<'_> {
        self.ledger(&[Strategy::billed()], &[], &self.assuming(true, reading))
    }

    fn ledger(
        &self,
        strategies: &[Strategy],
        readings: &[Reading],
        assumptions: &Assumptions,
    ) -> Ledger<'_> {
        let Self { history, steps, trace, prices, .. } = self;
        Ledger::with_bounds(history, steps, trace, prices, (strategies, readings), assumptions)
    }

    /// Fails without captured prompts.
    ///
    /// # Errors
    /// No prompt was captured.
    pub fn need_prompts(&self) -> Result<(), StudyError> {
        self.has_captures().then_some(()).ok_or(StudyError::NoCapturedPrompt)
    }

    /// Fails if a strategy needs a part of the input that was not kept.
    fn allow(&self, strategy: &Strategy) -> Result<(), StudyError> {
        if strategy.needs_bytes() {
            self.need_bytes(&strategy.name)?;
        }
        if strategy.manages_context() {
            self.need_trails(&strategy.name)?;
        }
        let is_partial = self.kept.parts != BlockParts::Landmarks;
        if strategy.needs_block_parts() && is_partial && self.has_captures() {
            return Err(StudyError::NoParts(strategy.name.to_string()));
        }
        Ok(())
    }

    fn need_bytes(&self, what: &str) -> Result<(), StudyError> {
        // A transcript has no bytes of prompts that could be missing.
        let is_kept = self.kept.keeps_bytes || !self.has_captures();
        is_kept.then_some(()).ok_or_else(|| StudyError::NoBytes(what.to_owned()))
    }

    fn need_trails(&self, what: &str) -> Result<(), StudyError> {
        // Trails lie between the requests of transcripts only.
        let is_kept = !self.kept.leaves_out_trails || self.history.of_transcripts().is_empty();
        is_kept.then_some(()).ok_or_else(|| StudyError::NoTrails(what.to_owned()))
    }

    fn has_captures(&self) -> bool {
        !self.history.captured.requests.is_empty()
    }
}

fn select(filter: &Filter, only_live: bool, history: &History) -> Result<Selection, StudyError> {
    let selection = filter.select(history)?;
    if !only_live {
        return Ok(selection);
    }
    let live = selection.live(history);
    if live.is_empty() { Err(StudyError::NothingLive) } else { Ok(live) }
}

/// Names of the strategies that finding breaks requires.
const BILLED_AND_EXPECTED: &str = "`billed` and `replay`";

/// Strategies for finding and pricing breaks, besides the bound.
pub fn evidence_strategies() -> Vec<Strategy> {
    let lifetimes = [Ttl::FiveMinutes, Ttl::OneHour].map(Strategy::lifetime);
    [Strategy::billed(), Strategy::expected()].into_iter().chain(lifetimes).collect()
}

/// Strategies for finding and pricing unstable prefixes.
pub fn lint_strategies() -> Vec<Strategy> {
    // Several rules may have the same latch, which is simulated once.
    let latched: Vec<&str> = Rule::ALL.into_iter().filter_map(Rule::latched_by).ordered();
    let latched = latched.into_iter().filter_map(Strategy::by_name);
    latched.chain([Strategy::expected()]).collect()
}

/// Parts of an input to keep for strategies: those asked for, and those that any strategy needs.
pub fn options_for(strategies: &[Strategy], asked: ReadOptions) -> ReadOptions {
    let needs_parts = strategies.iter().any(Strategy::needs_block_parts);
    ReadOptions {
        parts: if needs_parts { BlockParts::Landmarks } else { asked.parts },
        keeps_bytes: asked.keeps_bytes || strategies.iter().any(Strategy::needs_bytes),
        leaves_out_trails: asked.leaves_out_trails
            && !strategies.iter().any(Strategy::manages_context),
        ..asked
    }
}

/// Breaks of a study, and the ledger in which they were found.
#[derive(Debug)]
pub struct Findings<'s> {
    study: &'s Study,
    /// Billed and expected requests, both lifetimes, and the bound.
    pub ledger: Ledger<'s>,
    /// Breaks, their sums and patterns.
    pub analysis: Analysis,
}

/// Results of a study for people.
#[derive(Debug)]
pub struct AdviceAndAnswer {
    /// Ranked changes, or `None` if nothing has a price.
    pub advice: Option<Advice>,
    /// Figures that come first.
    pub answer: Answer,
}

impl Findings<'_> {
    /// All breaks.
    pub fn list(&self) -> &[Break] {
        &self.analysis.breaks.list
    }

    /// The answer without a change: finding one takes many simulations.
    pub fn figures(&self) -> Answer {
        Answer::new(&self.ledger, &self.analysis, &self.study.selection)
    }

    /// The answer and the ranked changes, simulated under a reading. This takes many simulations.
    pub fn advice_and_answer(&self, reading: Reading) -> AdviceAndAnswer {
        let Self { study, ledger, analysis } = self;
        let as_recorded = study.as_recorded(reading);
        let advice = Advice::new(&as_recorded, &study.trace, &study.selection, analysis);
        let first = advice.as_ref().map(Advice::to_first);
        let answer = Answer::new(ledger, analysis, &study.selection);
        let answer = answer.with_change(first.as_ref());
        AdviceAndAnswer { advice, answer }
    }

    /// The answer, with only the first of the changes.
    pub fn answer(self) -> Answer {
        self.answer_and_breaks().0
    }

    /// The answer, with only the first of the changes, and all breaks.
    pub fn answer_and_breaks(self) -> (Answer, Vec<Break>) {
        let Self { study, ledger, analysis } = self;
        let answer = Answer::new(&ledger, &analysis, &study.selection);
        // Simulating changes takes memory as well, and nothing needs the ledger any more.
        drop(ledger);
        let as_recorded = study.as_recorded(Reading::Conservative);
        let first = Advice::first(&as_recorded, &study.trace, &study.selection, &analysis);
        (answer.with_change(first.as_ref()), analysis.breaks.list)
    }
}
