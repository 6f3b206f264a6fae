//! `cachesim chart`.

use std::ffi::OsStr;
use std::io::{self, IsTerminal};
use std::path::Path;

use crate::analysis::Gaps;
use crate::breaks::{Analysis, Options};
use crate::cache::Reading;
use crate::cli::args::{ChartArgs, ChartFormat, ChartKindArg, RecordedBreaksArg, ThemeArg};
use crate::cli::error::CliError;
use crate::cli::output::Output;
use crate::cli::prepared::Prepared;
use crate::cli::strategies::strategies;
use crate::context::windows;
use crate::ledger::{Ledger, Session, StrategyColumn};
use crate::report::{
    Chart, Theme, WINDOW_KINDS, breaks_chart, context_chart, cost_chart, daily_chart,
    dearest_session, gaps_chart, png, strategies_chart, svg, terminal_safe, turns_chart,
};
use crate::strategy::Strategy;

/// A picture of the input.
pub(in crate::cli) fn chart(args: &ChartArgs) -> Result<(), CliError> {
    let format = args.picture_format();
    let is_to_terminal = args.output.output.as_os_str() == "-" && io::stdout().is_terminal();
    if is_to_terminal {
        let message = "a picture is nothing for a terminal: give -o FILE, or redirect the output";
        return Err(CliError::Usage(message.to_owned()));
    }
    refuse_other_formats(&args.output.output)?;
    let strategies = simulated(args)?;
    let output = Output::open(&args.output)?;
    let chart = drawn(args, &strategies)?;
    let bytes = match format {
        ChartFormat::Svg => svg(&chart, args.theme.theme()).into_bytes(),
        ChartFormat::Png => {
            let theme = if args.theme == ThemeArg::Dark { Theme::Dark } else { Theme::Light };
            png(&chart, theme, args.scale)?
        }
    };
    output.write(|out| out.write_all(&bytes))
}

/// A file whose name promises another format would not open.
fn refuse_other_formats(output: &Path) -> Result<(), CliError> {
    const OTHERS: [&str; 8] = ["pdf", "jpg", "jpeg", "gif", "webp", "html", "json", "csv"];
    let name = output.extension().and_then(OsStr::to_str).map(str::to_ascii_lowercase);
    match name.filter(|name| OTHERS.contains(&name.as_str())) {
        Some(name) => Err(CliError::Usage(format!(
            "-o {}: a chart is an SVG or a PNG, not a .{name}; name the file .svg or .png",
            terminal_safe(&output.to_string_lossy()),
        ))),
        None => Ok(()),
    }
}

/// The strategies that a kind of chart is made of.
fn simulated(args: &ChartArgs) -> Result<Vec<Strategy>, CliError> {
    let named = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        strategies(&names, args.output.quiet)
    };
    match args.kind {
        ChartKindArg::Cost | ChartKindArg::Strategies => {
            strategies(&args.strategy, args.output.quiet)
        }
        ChartKindArg::Context | ChartKindArg::Daily => named(&["billed"]),
        ChartKindArg::Turns | ChartKindArg::Gaps | ChartKindArg::Breaks => {
            named(&["billed", "replay", "5m", "1h"])
        }
    }
}

fn drawn(args: &ChartArgs, strategies: &[Strategy]) -> Result<Chart, CliError> {
    let mut columns = strategies.to_vec();
    if args.kind == ChartKindArg::Strategies {
        columns.push(Strategy::bound(Some(args.reading.reading())));
    }
    let mut run = prepared(args, columns)?;
    if let Some(id) = &args.session {
        keep_session(&mut run, id)?;
    }
    let ledger = run.ledger()?;
    Ok(Picture { run: &run, ledger: &ledger, shown: strategies.len() }.chart(args.kind))
}

fn prepared(args: &ChartArgs, strategies: Vec<Strategy>) -> Result<Prepared<'_>, CliError> {
    let (keeps_breaks, reading, keeps_bytes) = match args.kind {
        // Breaks are told from a replay by the letter that knows none of them.
        ChartKindArg::Turns | ChartKindArg::Gaps | ChartKindArg::Breaks => {
            (false, Reading::Literal, true)
        }
        _ => (args.breaks == RecordedBreaksArg::Keep, args.reading.reading(), false),
    };
    let options = args.tokens.read_options(keeps_bytes);
    let assumptions = args.simulation.assumptions(keeps_breaks, reading);
    Prepared::new(&args.input, &args.simulation, &args.output, options, strategies, assumptions)
}

/// Leaves one session: that whose id begins like this.
fn keep_session(run: &mut Prepared<'_>, id: &str) -> Result<(), CliError> {
    let symbols = &run.history.symbols;
    let sessions = &mut run.selection.sessions;
    sessions.retain(|session| symbols.text(session.id).starts_with(id));
    match sessions.len() {
        0 => Err(CliError::NoInput(format!("--session: no session in the input begins with {id}"))),
        1 => Ok(()),
        several => Err(CliError::Usage(format!(
            "--session: {several} sessions begin with {id}; give more of its id"
        ))),
    }
}

/// A ledger that a chart is made of.
struct Picture<'a> {
    run: &'a Prepared<'a>,
    ledger: &'a Ledger<'a>,
    /// How many columns were asked for; a bound may stand behind them.
    shown: usize,
}

impl Picture<'_> {
    fn chart(&self, kind: ChartKindArg) -> Chart {
        let (ledger, selection, history) = (self.ledger, &self.run.selection, &self.run.history);
        let (columns, bound) = ledger.columns.split_at(self.shown);
        let columns: Vec<&StrategyColumn> = columns.iter().collect();
        match kind {
            ChartKindArg::Turns => {
                let breaks = self.breaks().breaks.list;
                turns_chart(ledger, &self.run.steps, selection, self.session(), &breaks)
            }
            ChartKindArg::Cost => cost_chart(ledger, &columns, selection),
            ChartKindArg::Gaps => {
                let breaks = self.breaks().breaks.list;
                gaps_chart(history, selection, &Gaps::new(&self.run.steps, selection, &breaks))
            }
            ChartKindArg::Strategies => {
                let total = |column| ledger.totals(column, selection.requests()).cost();
                strategies_chart(ledger, &columns, bound.first().and_then(total), selection)
            }
            ChartKindArg::Breaks => breaks_chart(history, selection, &self.breaks()),
            ChartKindArg::Context => self.context(),
            ChartKindArg::Daily => daily_chart(ledger, columns[0], selection),
        }
    }

    /// # Panics
    /// Never: the ledger has the record and its replay.
    fn breaks(&self) -> Analysis {
        let Prepared { trace, steps, selection, .. } = self.run;
        Analysis::new(self.ledger, trace, steps, selection, Options::default())
            .expect("the record and its replay are simulated")
    }

    /// # Panics
    /// Never: the ledger has the record.
    fn context(&self) -> Chart {
        let Prepared { trace, steps, selection, history, .. } = self.run;
        let session = self.session();
        let windows = windows(self.ledger, steps, trace, session, WINDOW_KINDS)
            .expect("the ledger has the record");
        context_chart(history, selection, session, &windows)
    }

    /// # Panics
    /// Never: a run without any session ends before it is simulated.
    fn session(&self) -> &Session {
        dearest_session(self.ledger, &self.run.selection).expect("there is a session")
    }
}
