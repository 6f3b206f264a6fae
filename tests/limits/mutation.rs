//! Damaged and hostile input: nothing panics, everything is counted, tokens are conserved.
//!
//! Real lines (where the corpus is there) and those of the fixtures are mutated at random, from
//! fixed seeds. `TEST_MUTATION_ROUNDS` sets how long; `fuzz/` has coverage-guided targets.

use std::fs;
use std::sync::OnceLock;

use cachesim::base::units::{Picodollars, Tokens};
use cachesim::explain::analysis::{Answer, Gaps, Spending};
use cachesim::explain::breaks::{self, DetectionRule};
use cachesim::explain::context::windows;
use cachesim::explain::lint::lint;
use cachesim::read::input::{Discovered, Source};
use cachesim::read::transcript::load;
use cachesim::report::{
    BreakFile, BreaksViewOptions, RowEncoding, Theme, breaks_chart, breaks_document, context_chart,
    cost_chart, daily_chart, gaps_chart, strategies_chart, svg, turns_chart, write_breaks,
};
use cachesim::requests::conversation::{History, ReadOptions, read};
use cachesim::requests::prompt::{self, SharedPrefix};
use cachesim::simulate::cache::{Lookback, Reading};
use cachesim::simulate::ledger::{Ledger, Selection, StrategyColumn};
use cachesim::simulate::pricing::{PriceTable, RequestRates};
use cachesim::simulate::strategy::{ALL, Assumptions, Material, Strategy};

use crate::common::{files, is_thorough, project, shared};

/// A small generator with a fixed seed; the tests must be repeatable.
pub(super) struct Random(pub(super) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(super) fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit.max(1) as u64).expect("below a usize")
    }
}

fn rounds() -> usize {
    let rounds = std::env::var("TEST_MUTATION_ROUNDS").ok();
    rounds.and_then(|rounds| rounds.parse().ok()).unwrap_or(400)
}

/// Lines to mutate: those of every fixture, and some of every file of the corpus.
fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = files(project("fixtures"), ".jsonl");
    let fixtures = seeds.len();
    let more = ["captures", "corpus"].into_iter().filter_map(shared);
    seeds.extend(more.flat_map(|folder| files(folder, ".jsonl")));
    let mut lines = Vec::new();
    for (number, file) in seeds.iter().enumerate() {
        let bytes = fs::read(file).expect("a file");
        let all = bytes.split(|byte| *byte == b'\n').filter(|line| line.len() < 20_000);
        let some = if number < fixtures { usize::MAX } else { 40 };
        lines.extend(all.take(some).map(<[u8]>::to_vec));
    }
    lines
}

const TOKENS: [&[u8]; 16] = [
    b"null",
    b"-1",
    b"1e309",
    b"99999999999999999999",
    b"\"",
    b"{",
    b"}",
    b"[[[[[[",
    b"\\ud800",
    b"\xff",
    b"\x00",
    b"\n",
    b",",
    b"\"<synthetic>\"",
    b"\"1970-01-01T00:00:00Z\"",
    b"\"+292278994-08-17T07:12:55.807Z\"",
];

fn mutate(line: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..=random.below(3) {
        let at = random.below(line.len());
        match random.below(5) {
            0 if !line.is_empty() => line[at] = random.next().to_le_bytes()[0],
            1 => {
                let end = (at + random.below(40)).min(line.len());
                line.drain(at..end);
            }
            2 => {
                let token = TOKENS[random.below(TOKENS.len())];
                line.splice(at..at, token.iter().copied());
            }
            3 => line.truncate(at),
            _ => {
                // Replaces a number by another.
                if let Some(digit) = line.iter().skip(at).position(u8::is_ascii_digit) {
                    let token = TOKENS[random.below(4)];
                    line.splice(at + digit..=at + digit, token.iter().copied());
                }
            }
        }
    }
}

/// Reads files, whatever their format, and simulates them under every strategy.
fn check(files: &[Vec<u8>]) -> History {
    let sources = files.iter().enumerate();
    let sources =
        sources.map(|(number, bytes)| Source::in_memory(&format!("{number}.jsonl"), bytes));
    let discovered = Discovered { sources: sources.collect(), ..Discovered::default() };
    let options = ReadOptions { keeps_bytes: true, keeps_titles: true, ..ReadOptions::default() };
    let history = read(discovered, options, |_| {});
    for (index, request) in history.requests.iter().enumerate() {
        assert!(request.predecessor.is_none_or(|before| before.get() < index));
        assert!(history.predecessor(request).is_none_or(|before| before.start <= request.start));
    }
    let steps = prompt::steps(&history);
    let prices = PriceTable::built_in();
    for shared_prefix in [SharedPrefix::Auto, SharedPrefix::Cold, SharedPrefix::Warm] {
        let trace = prompt::build(&history, &steps, shared_prefix);
        let totals = trace.prompts.iter().map(|prompt| prompt.total);
        let rates = RequestRates::new(&history, &prices, totals);
        let assumptions = Assumptions { shared_prefix, ..Assumptions::default() };
        let material = Material {
            history: &history,
            steps: &steps,
            trace: &trace,
            rates: &rates,
            ratios: &OnceLock::new(),
            assumptions: &assumptions,
        };
        // The first ones stand for all where only the prefix kept warm differs.
        let tried = if shared_prefix == SharedPrefix::Auto { ALL.len() } else { 6 };
        for strategy in &ALL[..tried] {
            let Some(simulated) = strategy.simulate(material) else { continue };
            for (index, outcome) in simulated.outcomes.iter().enumerate() {
                let sent = simulated.totals.as_ref().map(|sent| sent[index].total);
                let sent = sent.unwrap_or(trace.prompts[index].total);
                let total = if outcome.refusal.is_some() { Tokens::ZERO } else { sent };
                assert_eq!(outcome.total(), total, "{}", strategy.name);
            }
        }
    }
    check_lint(&history);
    check_breaks(&history);
    history
}

/// Explains every difference to the last digit, and writes it in every format.
fn check_breaks(history: &History) {
    let assumptions = Assumptions::default();
    let steps = prompt::steps(history);
    let trace = prompt::build(history, &steps, assumptions.shared_prefix);
    let prices = PriceTable::built_in();
    let assumptions = Assumptions { keeps_breaks: false, reading: Reading::Literal, ..assumptions };
    let columns = (&ALL[..6], &[Reading::Literal][..]);
    let ledger = Ledger::with_bounds(history, &steps, &trace, &prices, columns, &assumptions);
    let selection = Selection::new(history, None, None);
    for rule in [DetectionRule::Complete, DetectionRule::Client] {
        let options = breaks::Options { rule, ignores_server_reason: false };
        let analysis = breaks::Analysis::new(&ledger, &trace, &steps, &selection, options)
            .expect("every strategy is simulated");
        for found in &analysis.breaks.list {
            assert!(found.rewritten <= found.shortfall(), "{found:?}");
            assert!(found.excess.is_none_or(|excess| excess.0 >= 0), "{found:?}");
        }
        let sums = analysis.summary.reconciliation;
        let explained = sums.beyond_rules() + sums.unexplained();
        assert_eq!(explained, sums.billed.minus(sums.apart).minus(sums.replay));
        let mut printed = Vec::new();
        for encoding in [RowEncoding::Jsonl, RowEncoding::Csv] {
            let mut file = BreakFile::new(encoding, false, true, &mut printed).expect("a file");
            file.write(history, &analysis.breaks, None).expect("memory takes all");
            file.finish().expect("memory takes all");
        }
        let answer = Answer::new(&ledger, &analysis, &selection);
        write_breaks(history, &analysis, answer.best_caching(), &mut printed)
            .expect("memory takes all");
        if let Some(steps) = &answer.waterfall {
            let left = steps.spent.minus(steps.breaks).minus(steps.unexplained);
            assert_eq!(left, steps.expected);
            // Nothing is known of what would be cheapest where no request has markers, or the record contradicts the rules.
            let has_none = history.sent_with_markers().is_empty() || answer.contradiction.is_some();
            assert!(has_none || steps.cheapest.is_some(), "{steps:?}");
            assert!(steps.rest().is_none_or(|rest| rest.0 >= 0), "{steps:?}");
        }
        let view = BreaksViewOptions { top: 20, shows_text: true, has_evidence: true };
        let document =
            breaks_document(history, ledger.steps, &answer, &analysis, None, &assumptions, view);
        printed.extend(document.to_markdown().into_bytes());
        assert!(!printed.contains(&0x1b), "an escape sequence");
    }
}

/// Draws every chart; each is well-formed XML, and what it is made of adds up.
fn check_charts(history: &History) {
    let assumptions = Assumptions::default();
    let steps = prompt::steps(history);
    let trace = prompt::build(history, &steps, assumptions.shared_prefix);
    let prices = PriceTable::built_in();
    let ledger = Ledger::new(history, &steps, &trace, &prices, &ALL[..6], &assumptions);
    let selection = Selection::new(history, None, None);
    let options = breaks::Options::default();
    let analysis = breaks::Analysis::new(&ledger, &trace, &steps, &selection, options)
        .expect("every strategy is simulated");
    let (list, billed) = (&analysis.breaks.list, &ledger.columns[0]);
    let gaps = Gaps::new(&steps, &selection, list);
    let rows = selection.requests().flat_map(|index| ledger.rows(billed, index));
    let cost: Picodollars = rows.filter_map(|row| row.cost).sum();
    assert_eq!(Spending::of(&ledger, billed, &selection).total(), cost);
    let columns: Vec<&StrategyColumn> = ledger.columns.iter().collect();
    let mut charts = vec![
        cost_chart(&ledger, &columns, &selection),
        gaps_chart(history, &selection, &gaps),
        strategies_chart(&ledger, &columns, None, &selection),
        breaks_chart(history, &selection, &analysis),
        daily_chart(&ledger, billed, &selection),
    ];
    for session in &selection.sessions {
        let windows = windows(&ledger, &steps, &trace, session, 3).expect("the record is there");
        for window in &windows.requests {
            let held: Tokens = window.tokens.iter().copied().sum();
            let total = history.request(window.request).prompt_total();
            assert_eq!(held + window.others, total, "{window:?}");
        }
        for shown in [&[], &columns[..]] {
            charts.push(turns_chart(&ledger, shown, &steps, &selection, session, list));
        }
        charts.push(context_chart(history, &selection, session, &windows));
    }
    for chart in &charts {
        let svg = svg(chart, Theme::Page);
        roxmltree::Document::parse(&svg).unwrap_or_else(|error| panic!("{error}: {svg}"));
        assert!(!svg.contains('\u{1b}'), "an escape sequence");
    }
}

/// Finds something or nothing, and never panics.
fn check_lint(history: &History) {
    let assumptions = Assumptions { lookback: Lookback::Blocks, ..Assumptions::default() };
    let steps = prompt::steps(history);
    let trace = prompt::build(history, &steps, assumptions.shared_prefix);
    let prices = PriceTable::built_in();
    let replay = Strategy::by_name("replay").expect("a strategy");
    let policy = assumptions.replay();
    let ledger = Ledger::new(history, &steps, &trace, &prices, &[replay], &assumptions);
    let selection = Selection::new(history, None, None);
    for finding in lint(&ledger, &trace, &policy, &selection).findings {
        assert!(finding.requests > 0 && finding.cost.is_none_or(|cost| cost.0 >= 0), "{finding:?}");
    }
}

#[test]
fn mutated_lines_never_panic() {
    let seeds = seeds();
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for _ in 0..rounds() * 10 {
        let mut line = seeds[random.below(seeds.len())].clone();
        mutate(&mut line, &mut random);
        let transcript = load(&Source::in_memory("mutated.jsonl", &line));
        let counted: u64 = transcript.diagnostics.counts().map(|(_, count)| count).sum();
        let is_known = !transcript.entries.is_empty() || counted > 0 || line.is_empty();
        // A line is used, counted, or of a type that carries nothing.
        assert!(is_known || transcript.lines > 0);
    }
}

#[test]
fn mutated_sessions_keep_every_law() {
    if !is_thorough() {
        return;
    }
    let seeds = seeds();
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    for round in 0..rounds() {
        let files: Vec<Vec<u8>> = (0..=random.below(2))
            .map(|_| {
                // Neighbouring lines belong together; mixing in others tears the chains.
                let start = random.below(seeds.len());
                let length = 1 + random.below(60);
                let mut lines: Vec<Vec<u8>> =
                    seeds[start..(start + length).min(seeds.len())].to_vec();
                for _ in 0..random.below(6) {
                    let from = random.below(lines.len());
                    let to = random.below(lines.len());
                    match random.below(4) {
                        0 => lines.swap(from, to),
                        1 => lines.insert(to, lines[from].clone()),
                        2 => lines[from] = seeds[random.below(seeds.len())].clone(),
                        _ => mutate(&mut lines[from], &mut random),
                    }
                }
                lines.join(&b'\n')
            })
            .collect();
        let history = check(&files);
        // Drawing takes longer than everything else.
        if round % 20 == 0 {
            check_charts(&history);
        }
    }
}

/// Requests of a file, and the sums of their prompts by class and of their outputs.
fn sums(bytes: &[u8]) -> (usize, [u64; 4]) {
    let sources = vec![Source::in_memory("a.jsonl", bytes)];
    let discovered = Discovered { sources, ..Discovered::default() };
    let history = read(discovered, ReadOptions::default(), |_| {});
    let mut sums = [0; 4];
    for usage in history.requests.iter().filter_map(|request| request.usage.as_ref()) {
        let prompt = usage.prompt;
        let written = prompt.total().0 - prompt.input.0 - prompt.read.0;
        let own = [prompt.input.0, prompt.read.0, written, usage.output.0];
        sums.iter_mut().zip(own).for_each(|(sum, own)| *sum += own);
    }
    (history.requests.len(), sums)
}

/// A damaged copy directly in front of a whole line takes nothing away and adds nothing, in any format.
#[test]
fn a_damaged_copy_in_front_of_a_line_changes_nothing() {
    let mut random = Random(0x0dd0_f00d_5eed_1234);
    let step = if is_thorough() { 1 } else { 5 };
    let mut pairs = 0;
    for file in files(project("fixtures"), ".jsonl").iter().step_by(step) {
        let bytes = fs::read(file).expect("a file");
        let lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
        let before = sums(&bytes);
        for _ in 0..4 {
            let at = random.below(lines.len());
            let line = lines[at];
            let from = 1 + random.below(line.len());
            let to = (from + 1 + random.below(80)).min(line.len());
            let mut damaged = line.get(..from).unwrap_or_default().to_vec();
            damaged.extend(line.get(to..).unwrap_or_default());
            // A document over several lines is damaged as a whole.
            if serde_json::from_slice::<serde_json::Value>(line).is_err() {
                continue;
            }
            // What still is JSON shows no damage.
            if damaged.is_empty() || serde_json::from_slice::<serde_json::Value>(&damaged).is_ok() {
                continue;
            }
            let mut all = lines.clone();
            all.insert(at, &damaged);
            assert_eq!(sums(&all.join(&b'\n')), before, "{}: line {}", file.display(), at + 1);
            pairs += 1;
        }
    }
    assert!(pairs > 50, "{pairs}");
}

/// The logs of `cases/trust`: figures by its README.
#[test]
fn damaged_lines_of_the_cases_hide_no_whole_ones() {
    let Some(folder) = shared("cases/trust/damage") else { return };
    for (name, requests, sums_of_all) in [
        ("gap-line", 2, [4, 27_000, 3_500, 160]),
        ("usage-line", 2, [4, 12_000, 8_000, 160]),
        ("read-line", 4, [8, 57_900, 4_900, 220]),
        ("qwen-line", 2, [5_208, 4_992, 0, 200]),
        ("fork-line", 1, [17_544, 3_456, 0, 100]),
        ("first-line", 4, [1_082, 3_948, 1_490, 158]),
    ] {
        let bytes = fs::read(folder.join(name).with_extension("jsonl")).expect("a file");
        assert_eq!(sums(&bytes), (requests, sums_of_all), "{name}");
    }
}

#[test]
fn shapes_that_invite_slowness_stay_linear() {
    if !is_thorough() {
        return;
    }
    let line = |number: usize, parent: &str, kind: &str| {
        let message = if kind == "assistant" {
            format!(
                r#""requestId":"r{number}","message":{{"id":"m{number}","model":"m","content":[],"usage":{{"cache_read_input_tokens":9000,"cache_creation_input_tokens":{number}}}}}"#
            )
        } else {
            r#""message":{"role":"user","content":"x"}"#.to_owned()
        };
        format!(
            r#"{{"type":"{kind}","uuid":"{kind}{number}","parentUuid":{parent},"timestamp":"2026-08-03T10:00:00Z",{message}}}"#
        )
    };
    let count = 5_000_usize;
    // One chain of user lines with an answer hanging off each; a star; one circle.
    let comb: Vec<String> = (0..count)
        .flat_map(|number| {
            let parent = number
                .checked_sub(1)
                .map_or_else(|| "null".to_owned(), |before| format!("\"user{before}\""));
            [line(number, &parent, "user"), line(number, &format!("\"user{number}\""), "assistant")]
        })
        .collect();
    let star: Vec<String> = std::iter::once(line(0, "null", "user"))
        .chain((0..count).map(|number| line(number, "\"user0\"", "assistant")))
        .collect();
    let circle: Vec<String> = (0..count)
        .map(|number| line(number, &format!("\"assistant{}\"", (number + 1) % count), "assistant"))
        .collect();
    for lines in [comb, star, circle] {
        check_charts(&check(&[lines.join("\n").into_bytes()]));
    }
}
