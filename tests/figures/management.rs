//! Context management: prompts and costs worked out by hand, and the laws that every session keeps.

mod session;

use std::borrow::Cow;
use std::sync::OnceLock;

use cachesim::base::units::{Picodollars, Tokens};
use cachesim::read::input::{Discovered, discover};
use cachesim::requests::conversation::{History, ReadOptions, RequestIndex, read};
use cachesim::requests::prompt::{build, steps};
use cachesim::simulate::ledger::{Ledger, StrategyColumn};
use cachesim::simulate::management::{
    ByService, ByTime, Compaction, Effects, Files, Management, MemoryUpdates, Microcompaction,
    Parts, ResultBudget, ResultClearing, SessionMemory, Skills,
};
use cachesim::simulate::pricing::{PriceTable, RequestRates};
use cachesim::simulate::strategy::{
    ALL, Applicability, Assumptions, Design, Material, Obstacle, Strategy, StrategyKind,
};
use session::Session;

use crate::common::{project, shared};

/// What became of a session: read, written for an hour and sent in full, by request; what was done.
struct Outcome {
    rows: Vec<(u64, u64, u64)>,
    cost: Picodollars,
    effects: Effects,
}

#[allow(clippy::large_types_passed_by_value)] // a test makes it in the call
fn design(management: Management) -> Strategy {
    let design = Design { management: Some(Box::new(management)), ..Design::default() };
    Strategy {
        name: Cow::Borrowed("managed"),
        summary: Cow::Borrowed(""),
        kind: StrategyKind::Counterfactual(design),
    }
}

#[allow(clippy::large_types_passed_by_value)] // a test makes it in the call
fn managed(history: &History, management: Management) -> Outcome {
    under(history, design(management), |ledger, column| {
        let requests = || (0..history.requests.len()).map(RequestIndex::new);
        let simulated = column.simulated.as_ref().expect("a simulation");
        Outcome {
            rows: rows(ledger, column),
            cost: ledger.totals(column, requests()).cost().expect("prices"),
            effects: simulated.managed.expect("management").1,
        }
    })
}

/// Looks at a history under a strategy.
fn under<T>(
    history: &History,
    strategy: Strategy,
    look: impl FnOnce(&Ledger<'_>, &StrategyColumn) -> T,
) -> T {
    let steps = steps(history);
    let trace = build(history, &steps, Assumptions::default().shared_prefix);
    let prices = PriceTable::built_in();
    let assumptions = Assumptions::default();
    let ledger = Ledger::new(history, &steps, &trace, &prices, &[strategy], &assumptions);
    look(&ledger, &ledger.columns[0])
}

fn rows(ledger: &Ledger<'_>, column: &StrategyColumn) -> Vec<(u64, u64, u64)> {
    let requests = (0..ledger.history.requests.len()).map(RequestIndex::new);
    let billings = requests.flat_map(|index| ledger.rows(column, index)).map(|row| row.billing);
    billings.map(|billing| (billing.read.0, billing.write_1h.0, billing.input.0)).collect()
}

fn effects(events: u64, results: u64, tokens: Tokens) -> Effects {
    Effects { events, results, tokens, ..Effects::default() }
}

/// In millionths of a dollar, of which a token of input costs 5, one written for an hour 10, one
/// read ½ and one of output 25.
fn micro_dollars(count: i128) -> Picodollars {
    Picodollars(count * 1_000_000)
}

/// Four answers with a result each, an hour and a minute of silence, a prompt, and a result.
fn silent_hour() -> Session {
    let mut session = Session::new();
    session.prompt().open("Read", 1);
    session.results(1).call("Bash", 1);
    session.results(1).call("Grep", 1);
    session.results(1).call("Read", 0);
    session.wait(61).prompt().answer("Read", 1, 8_000);
    session.results(1).call("Read", 0);
    session
}

/// Clears all results but so many when the last answer is older than so many milliseconds.
fn by_time(gap: i64, keep_recent: u32) -> Management {
    let by_time = Some(ByTime { gap, keep_recent });
    Management::Microcompaction(Microcompaction { by_time, by_service: None })
}

#[test]
fn after_a_silence_all_but_the_newest_results_are_cleared() {
    let outcome = managed(&silent_hour().history(), by_time(60 * 60_000, 1));
    // Prompts of 10,000, 10,600, 11,200, 11,800, 12,400 and 13,000 tokens. Before the fifth the
    // first two results are cleared: 76 bytes remain of each (placeholder 34, quotes 2, frame 40),
    // 32 tokens of 500. 12,400 − 2 × 468 = 11,464, of which other traffic keeps 8,000 warm.
    assert_eq!(
        outcome.rows,
        [
            (8_000, 1_998, 2),
            (9_998, 600, 2),
            (10_598, 600, 2),
            (11_198, 600, 2),
            (8_000, 3_462, 2),
            (11_462, 600, 2),
        ],
    );
    let expected = effects(1, 2, Tokens(936));
    assert_eq!(outcome.effects, expected);
    // 59,256 read, 7,860 written, 12 in full, 600 of output.
    assert_eq!(outcome.cost, micro_dollars(29_628 + 78_600 + 60 + 15_000));
}

/// A prompt, and so many answers that call a tool; every result has 500 tokens.
fn tool_loop(session: &mut Session, tool: &str, results: &[usize]) -> History {
    session.prompt().open(tool, results[0]);
    for (place, count) in results.iter().enumerate() {
        session.results(*count).call(tool, results.get(place + 1).copied().unwrap_or(0));
    }
    session.history()
}

/// The rows of the requests as recorded.
fn recorded(history: &History) -> Vec<(u64, u64, u64)> {
    under(history, Strategy::by_name("as-recorded").expect("a strategy"), rows)
}

const PAIRWISE: Management = Management::Microcompaction(Microcompaction {
    by_time: None,
    by_service: Some(ByService { trigger: 2, keep_recent: 1 }),
});

#[test]
fn deleted_results_leave_the_reads_and_nothing_is_written_anew() {
    let history = tool_loop(&mut Session::new(), "Bash", &[1, 1, 1, 1, 1]);
    let outcome = managed(&history, PAIRWISE);
    // Prompts of 10,000, 10,600, 11,200, 11,800, 12,400 and 13,000 tokens. The fourth would have
    // three results: two go, 936 tokens, from the cached 11,198 as well. The sixth has r3, r4 and
    // r5 left: r3 and r4 go, 1,872 in all, so that 12,398 − 1,872 is read.
    assert_eq!(
        outcome.rows,
        [
            (8_000, 1_998, 2),
            (9_998, 600, 2),
            (10_598, 600, 2),
            (10_262, 600, 2),
            (10_862, 600, 2),
            (10_526, 600, 2),
        ],
    );
    assert_eq!(outcome.effects, effects(2, 4, Tokens(1_872)));
    // 60,246 read, 4,998 written, 12 in full, 600 of output.
    assert_eq!(outcome.cost, micro_dollars(30_123 + 49_980 + 60 + 15_000));
}

#[test]
fn results_of_the_last_message_are_deleted_later() {
    let history = tool_loop(&mut Session::new(), "Bash", &[4, 1]);
    let outcome = managed(&history, PAIRWISE);
    // The second prompt brings four results, which nothing can refer to yet. The third, of 12,700
    // tokens, deletes them: 4 × 468 = 1,872, of the cached 12,098 as well.
    assert_eq!(outcome.rows, [(8_000, 1_998, 2), (9_998, 2_100, 2), (10_226, 600, 2)]);
}

#[test]
fn sub_agents_and_other_tools_are_left_alone() {
    for history in [
        tool_loop(&mut Session::of_agent(), "Bash", &[1, 1, 1, 1, 1]),
        tool_loop(&mut Session::new(), "Task", &[1, 1, 1, 1, 1]),
        tool_loop(&mut Session::new(), "mcp__a__b", &[1, 1, 1, 1, 1]),
    ] {
        under(&history, design(PAIRWISE), |ledger, column| {
            let simulated = column.simulated.as_ref().expect("a simulation");
            assert_eq!(simulated.managed.expect("management").1, Effects::default());
            let idle = Applicability::None(vec![Obstacle::NothingToTakeOut]);
            assert_eq!((&simulated.applicability, rows(ledger, column)), (&idle, Vec::new()));
        });
    }
}

#[test]
fn the_service_clears_only_as_much_as_is_worth_it() {
    let history = tool_loop(&mut Session::new(), "Bash", &[1, 1, 1, 1, 1, 1]);
    let management = Management::ToolResultClearing(ResultClearing {
        trigger: Tokens(12_000),
        keep: Tokens(1_000),
        clear_at_least: Tokens(900),
    });
    let outcome = managed(&history, management);
    // The fifth prompt has 12,400 tokens and four results. The newest two hold 1,000, the others go:
    // 936. The first of them came in with the second request, so that what the first one had cached
    // is read. The sixth, of 12,064, could clear one result, 468: too little. The seventh, of
    // 12,664, clears two; in what the fifth had written anew nothing but its end is cached.
    assert_eq!(
        outcome.rows,
        [
            (8_000, 1_998, 2),
            (9_998, 600, 2),
            (10_598, 600, 2),
            (11_198, 600, 2),
            (9_998, 1_464, 2),
            (11_462, 600, 2),
            (9_998, 1_728, 2),
        ],
    );
    assert_eq!(outcome.effects, effects(2, 4, Tokens(1_872)));
}

fn compaction(threshold: u64) -> Management {
    Management::Compaction(Compaction {
        threshold: Some(Tokens(threshold)),
        summary: Tokens(1_000),
        files: Files { count: 2, each: Tokens(300), all: Tokens(500) },
        skills: Skills { each: Tokens::ZERO, all: Tokens::ZERO },
        agents: Tokens::ZERO,
        tools: Tokens::ZERO,
        mcp: Tokens::ZERO,
        ..Compaction::default()
    })
}

#[test]
fn a_summary_takes_the_conversations_place() {
    let history = tool_loop(&mut Session::new(), "Read", &[1; 7]);
    let outcome = managed(&history, compaction(12_000));
    // Before the fifth request there are 11,800 tokens, an answer of 100, and a result of 1,160
    // bytes, which the client takes for 290: 12,190. The summary's request has 11,900 + 500 and
    // 2,500 of its own, reads 11,798, and answers with 1,000 + 2,000. Behind it stand 9,500 in front
    // of the messages, 1,000, and two files of 300 at the most, 500 together: 11,000, of which tools
    // and system prompt (8,000) are read. The sixth and the seventh prompt have 11,600 and 12,200;
    // 12,200 + 100 + 290 is too large again.
    assert_eq!(
        outcome.rows,
        [
            (8_000, 1_998, 2),
            (9_998, 600, 2),
            (10_598, 600, 2),
            (11_198, 600, 2),
            (11_798, 3_100, 2),
            (8_000, 2_998, 2),
            (10_998, 600, 2),
            (11_598, 600, 2),
            (12_198, 3_100, 2),
            (8_000, 2_998, 2),
        ],
    );
    // From 12,400 and 12,800 to 11,000.
    assert_eq!(outcome.effects, effects(2, 0, Tokens(3_200)));
    // 102,386 read, 17,194 written, 20 in full, 8 × 100 and 2 × 3,000 of output.
    assert_eq!(outcome.cost, micro_dollars(51_193 + 171_940 + 100 + 170_000));
}

#[test]
fn a_recorded_compaction_is_undone() {
    let mut session = Session::new();
    session.prompt().open("Read", 1).results(1).call("Read", 0);
    session.compact().prompt().answer("Read", 1, 8_000);
    session.results(1).call("Read", 0);
    let history = session.history();
    // Recorded: 10,000, 10,600, then 9,500 with a summary and a prompt of 500 each, 10,500, and
    // 11,100. Without the compaction the third is 10,600 + 100 + 500.
    let undone = managed(&history, compaction(100_000));
    let expected = [(8_000, 1_998, 2), (9_998, 600, 2), (10_598, 600, 2), (11_198, 600, 2)];
    assert_eq!(undone.rows, expected);
    assert_eq!(undone.effects, Effects::default());
    let kept = recorded(&history);
    assert_eq!(kept[2..], [(8_000, 2_498, 2), (10_498, 600, 2)]);
}

fn session_memory(minimum_messages: u32, maximum: u64) -> Management {
    Management::SessionMemory(SessionMemory {
        threshold: Some(Tokens(12_000)),
        memory: Tokens(1_000),
        minimum: Tokens(1_000),
        minimum_messages,
        maximum: Tokens(maximum),
        // It is written once, after the first request.
        updates: MemoryUpdates { growth: Tokens(1_000_000), ..MemoryUpdates::default() },
        ..SessionMemory::default()
    })
}

#[test]
fn a_memory_keeps_the_latest_pairs_until_refills_come_too_fast() {
    let history = tool_loop(&mut Session::new(), "Read", &[1; 7]);
    let outcome = managed(&history, session_memory(0, 1_300));
    // Before the fifth request, of 12,400 tokens, there are 12,190. Two answers of 100 with their
    // results of 500 hold the minimum: 9,500 + 1,000 + 1,200 = 11,700. With the next answer and
    // result there are 12,090 again, and so on; the third refill in a row stops it.
    assert_eq!(
        outcome.rows[5..],
        [(8_000, 3_698, 2), (8_000, 3_698, 2), (8_000, 3_698, 2), (11_698, 600, 2)],
    );
    // 10,000 and an answer of 100, 2,500 of its own: what the first request had cached is read.
    assert_eq!(outcome.rows[1], (9_998, 2_600, 2));
    assert_eq!(outcome.effects, effects(3, 0, Tokens(700 + 600 + 600)));
    // No message of these has text, so the maximum decides: three pairs, 12,300 tokens.
    let outcome = managed(&history, session_memory(1, 2_000));
    assert_eq!(outcome.rows[5], (8_000, 4_298, 2));
}

/// Prompts and answers alternate: a cut between an answer and the next prompt splits nothing.
#[test]
fn a_memory_keeps_single_messages() {
    let mut session = Session::new();
    session.prompt().open("Read", 0);
    (0..4).for_each(|_| {
        session.prompt().call("Read", 0);
    });
    let history = session.history();
    let outcome = managed(&history, session_memory(3, 40_000));
    // Before the fifth request, of 12,400 tokens, there are 11,800, an answer of 100, and a prompt of 1,162
    // bytes, which the client takes for 290: 12,190. A prompt, an answer and a prompt have text: 500 +
    // 100 + 500, which is more than 1,000, too. 9,500 + 1,000 + 1,100 = 11,600.
    assert_eq!(outcome.rows[5], (8_000, 3_598, 2));
    assert_eq!(outcome.effects, effects(1, 0, Tokens(800)));
    // With one more, the answer before the first of them stays, too.
    let outcome = managed(&history, session_memory(4, 40_000));
    assert_eq!(outcome.rows[5], (8_000, 3_698, 2));
}

#[allow(clippy::large_types_passed_by_value)] // a test makes it in the call
fn together(parts: Parts) -> Management {
    Management::Several(parts)
}

/// A memory of at most so many tokens of messages, first written at a size, and a summary where it does not do.
fn memory_or_summary(minimum_messages: u32, maximum: u64, first: u64) -> Management {
    let Parts { memory, .. } = session_memory(minimum_messages, maximum).parts();
    let memory = memory.map(|memory| SessionMemory {
        updates: MemoryUpdates { first: Tokens(first), ..memory.updates },
        ..memory
    });
    together(Parts { memory, ..compaction(12_000).parts() })
}

#[test]
fn a_memory_comes_before_a_summary_and_one_breaker_counts_for_both() {
    let history = tool_loop(&mut Session::new(), "Read", &[1; 7]);
    // 11,700 tokens are below the threshold: three times the memory, and after three quick refills no summary either.
    let both = managed(&history, memory_or_summary(0, 1_300, 10_000));
    let alone = managed(&history, session_memory(0, 1_300));
    assert_eq!((both.rows, both.effects), (alone.rows, alone.effects));
    // With three pairs, 9,500 + 1,000 + 1,800 = 12,300 are not: a summary takes the place, both before the fifth request
    // and before the eighth, where the pairs since are three as well.
    let both = managed(&history, memory_or_summary(1, 2_000, 10_000));
    let summaries = managed(&history, compaction(12_000));
    let (fork, rest) = (both.rows[1], [&both.rows[..1], &both.rows[2..]].concat());
    assert_eq!((fork, &rest), ((9_998, 2_600, 2), &summaries.rows));
    assert_eq!(both.effects, summaries.effects);
    // A memory that was never written does not do either, and costs nothing.
    let late = managed(&history, memory_or_summary(0, 1_300, 1_000_000));
    assert_eq!((late.rows, late.effects), (summaries.rows, summaries.effects));
}

/// Old results are placeholders before the conversation is summarised, and those that come in are cut before that.
#[test]
fn results_are_cleared_before_a_summary() {
    let micro = by_time(60 * 60_000, 1).parts();
    let rule =
        together(Parts { microcompaction: micro.microcompaction, ..compaction(12_000).parts() });
    let outcome = managed(&silent_hour().history(), rule);
    // Before the fifth request there are 11,800 tokens, an answer of 100 and a prompt of 290 by the client's estimate:
    // 12,190. Two results become placeholders: 12,400 - 936 = 11,464, and 2,500 more ask for the summary, of which tools
    // and system prompt are warm. 9,500, 1,000 and the one file that was read, 300, are 10,800.
    assert_eq!(outcome.rows[4..], [(8_000, 5_962, 2), (8_000, 2_798, 2), (10_798, 600, 2)]);
    assert_eq!(outcome.effects, effects(2, 2, Tokens(936 + 664)));
    // Each result of 1,158 characters comes in as a preview of 500, (500 + 40) / 2.4 = 225 tokens: prompts of 10,000,
    // 10,325 and so on, 12,275 at last; the eighth finds 11,950 + 100 + 125.
    let budget = budget(1_000, 10_000).parts();
    let rule = together(Parts { budget: budget.budget, ..compaction(12_176).parts() });
    let history = tool_loop(&mut Session::new(), "Bash", &[1; 7]);
    assert_eq!(managed(&history, rule).effects, effects(7, 7, Tokens(7 * 275)));
    let rule = together(Parts { budget: budget.budget, ..compaction(12_175).parts() });
    assert_eq!(managed(&history, rule).effects.events, 8);
}

/// What every built-in way does to a history, held against the laws.
fn keep_the_laws(history: &History) -> Result<(), String> {
    with_material(history, all_keep_the_laws)
}

/// Prepares the simulations of a history.
fn with_material<T>(history: &History, simulate: impl FnOnce(Material<'_>) -> T) -> T {
    let steps = steps(history);
    let trace = build(history, &steps, Assumptions::default().shared_prefix);
    let totals = trace.prompts.iter().map(|prompt| prompt.total);
    let rates = RequestRates::new(history, &PriceTable::built_in(), totals);
    let assumptions = Assumptions::default();
    let (steps, trace, rates, ratios) = (&steps, &trace, &rates, &OnceLock::new());
    simulate(Material { history, steps, trace, rates, ratios, assumptions: &assumptions })
}

fn all_keep_the_laws(material: Material<'_>) -> Result<(), String> {
    let recorded: Vec<Tokens> = material.trace.prompts.iter().map(|prompt| prompt.total).collect();
    let of_record = of_record().simulate(material).expect("a simulation");
    if never().simulate(material).expect("a simulation").outcomes != of_record.outcomes {
        return Err("what is never reached changes something".to_owned());
    }
    for strategy in ALL.iter() {
        let simulated = strategy.simulate(material).filter(|one| one.managed.is_some());
        let Some((simulated, totals)) =
            simulated.and_then(|mut one| one.totals.take().map(|totals| (one, totals)))
        else {
            continue;
        };
        let name = &strategy.name;
        if (totals.len(), simulated.outcomes.len()) != (recorded.len(), recorded.len()) {
            return Err(format!("{name}: other requests"));
        }
        // Recorded compactions are undone.
        let may_grow = simulated.managed.is_some_and(|(rule, _)| rule.trigger().is_some());
        let totals = totals.iter().map(|sent| sent.total);
        for ((total, outcome), recorded) in totals.zip(&simulated.outcomes).zip(&recorded) {
            let total = &total;
            let is_billed = outcome.refusal.is_some() || outcome.total() == *total;
            if !is_billed || (total > recorded && !may_grow) {
                return Err(format!("{name}: {outcome:?}, {total:?} of {recorded:?}"));
            }
        }
        for added in simulated.added() {
            // What it adds to the conversation is 2,500 in every built-in way.
            if added.outcome.refusal.is_none() && added.outcome.total() <= Tokens(2_500) {
                return Err(format!("{name}: {added:?}"));
            }
        }
    }
    Ok(())
}

/// The requests as they were sent.
fn of_record() -> Strategy {
    Strategy { kind: StrategyKind::Counterfactual(Design::default()), ..never() }
}

/// A rule that nothing meets.
fn never() -> Strategy {
    design(Management::ToolResultClearing(ResultClearing {
        trigger: Tokens(u64::MAX),
        keep: Tokens::ZERO,
        clear_at_least: Tokens::ZERO,
    }))
}

#[test]
fn every_fixture_and_every_session_keeps_the_laws() {
    for folder in [Some(project("fixtures")), shared("corpus")].into_iter().flatten() {
        let files = discover(std::slice::from_ref(&folder));
        let history = read(files, ReadOptions::default(), |_| {});
        assert!(!history.requests.is_empty());
        assert_eq!(keep_the_laws(&history), Ok(()), "{}", folder.display());
    }
}

/// Clears all results but the newest 1,000 tokens of them, whatever that saves.
fn clearing(trigger: u64) -> Management {
    Management::ToolResultClearing(ResultClearing {
        trigger: Tokens(trigger),
        keep: Tokens(1_000),
        clear_at_least: Tokens::ZERO,
    })
}

fn budget(each: u64, message: u64) -> Management {
    Management::ResultBudget(ResultBudget { each, message, preview: 500 })
}

/// Where a rule may not act, its simulation is the record's, request by request.
#[test]
fn a_rule_that_may_not_act_changes_nothing() {
    // Of every kind one that few sessions meet, and one that most do.
    let rules = [
        by_time(60 * 60_000, 1),
        by_time(60_000, 1),
        compaction(150_000),
        compaction(30_000),
        clearing(100_000),
        clearing(30_000),
        budget(20_000, 40_000),
        budget(2_000, 4_000),
    ];
    let folders = [Some(project("fixtures")), shared("corpus"), shared("corpus-b")];
    let files = folders.into_iter().flatten().flat_map(|folder| discover(&[folder]).sources);
    // For each rule, on how many files it may act, and on how many not.
    let mut counts = rules.map(|_| (0, 0));
    for file in files {
        let files = Discovered { sources: vec![file], ..Discovered::default() };
        let history = read(files, ReadOptions::default(), |_| {});
        with_material(&history, |material| {
            let as_recorded = of_record().simulate(material).expect("a simulation").outcomes;
            for (rule, (may, may_not)) in rules.into_iter().zip(&mut counts) {
                if rule.may_act(&history) {
                    *may += 1;
                    continue;
                }
                *may_not += 1;
                let simulated = design(rule).simulate(material).expect("a simulation");
                assert!(simulated.outcomes == as_recorded, "{rule:?}");
                assert_eq!(simulated.added().count(), 0, "{rule:?}");
            }
        });
    }
    assert!(counts.iter().all(|(may, may_not)| *may > 0 && *may_not > 0), "{counts:?}");
}

#[test]
fn a_rule_may_act_from_its_limit_on() {
    let history = tool_loop(&mut Session::new(), "Read", &[1; 7]);
    // Before the eighth request there are 13,600 tokens, an answer of 100 and a result of 289 by the client's estimate. It
    // has 14,200, and each result 1,158 characters.
    for (rule, may_act) in [
        (compaction(13_989), true),
        (compaction(13_990), false),
        (clearing(14_199), true),
        (clearing(14_200), false),
        (budget(1_157, 10_000), true),
        (budget(1_158, 10_000), false),
        (budget(10_000, 1_157), true),
        (budget(10_000, 1_158), false),
        (PAIRWISE, true),
        (session_memory(0, 40_000), true),
    ] {
        assert_eq!(rule.may_act(&history), may_act, "{rule:?}");
    }
    // An answer comes two seconds after what is sent, and the next prompt a minute and 61 after that.
    let history = silent_hour().history();
    let pause = 62 * 60_000 - 2_000;
    assert!(by_time(pause - 1, 1).may_act(&history));
    assert!(!by_time(pause, 1).may_act(&history));
    // These act on main conversations alone.
    let history = tool_loop(&mut Session::of_agent(), "Read", &[1; 7]);
    for rule in [PAIRWISE, session_memory(0, 40_000), by_time(-1, 1)] {
        assert!(!rule.may_act(&history), "{rule:?}");
    }
}

/// Ten thousand requests with a result each, which every rule meets again and again.
#[test]
fn long_sessions_take_linear_time() {
    let results = vec![1; 10_000];
    let history = tool_loop(&mut Session::new(), "Read", &results);
    let started = std::time::Instant::now();
    assert_eq!(keep_the_laws(&history), Ok(()));
    let elapsed = started.elapsed();
    assert!(elapsed.as_secs() < 60, "{elapsed:?}");
}
