//! The budgets of `check` as JUnit XML, which every CI service reads. Each budget is a test case.

use std::io::{self, Write};

use askama::Template;

use super::check_view::CheckView;
use super::check_words::{
    beyond_lines, comparability, lacking_sentence, outcome_sentence, prompt_sentence,
    shown_settings,
};
use super::terminal_safe;
use crate::explain::check::{BudgetOutcome, Status};

#[derive(Template)]
#[template(path = "junit/junit.xml", whitespace = "preserve")]
struct Suite {
    /// Name of the suite, and of the class of its cases.
    name: &'static str,
    cases: Vec<Case>,
    skipped: usize,
    failures: usize,
}

struct Case {
    name: String,
    outcome: Outcome,
}

enum Outcome {
    Passed,
    Warned(String),
    Skipped(String),
    Failed { metric: &'static str, message: String, details: String },
}

/// Writes the budgets: exceeded ones as failures, warnings as passed with a note, and inapplicable ones as skipped.
///
/// # Errors
/// Writing to `out` fails.
pub fn write_junit(view: CheckView<'_>, out: &mut dyn Write) -> io::Result<()> {
    let budgets = view.check.outcomes.iter().map(|outcome| Case {
        name: terminal_safe(&outcome.budget.name).into(),
        outcome: outcome_of(view, outcome),
    });
    // Facts that no budget can judge.
    let mut sentences = comparability(view.check, view.now);
    sentences.extend(shown_settings(view.check));
    let not_judged = sentences.iter().map(|sentence| Case {
        name: "what is compared".to_owned(),
        outcome: Outcome::Skipped(terminal_safe(sentence).into()),
    });
    let cases: Vec<Case> = budgets.chain(not_judged).collect();
    let count = |is: fn(&Outcome) -> bool| cases.iter().filter(|case| is(&case.outcome)).count();
    let suite = Suite {
        name: "cachesim check",
        skipped: count(|outcome| matches!(outcome, Outcome::Skipped(_))),
        failures: count(|outcome| matches!(outcome, Outcome::Failed { .. })),
        cases,
    };
    out.write_all(suite.render().map_err(io::Error::other)?.as_bytes())?;
    writeln!(out)
}

fn outcome_of(view: CheckView<'_>, outcome: &BudgetOutcome) -> Outcome {
    let message = terminal_safe(&outcome_sentence(outcome)).into_owned();
    match outcome.status {
        Status::Passed => Outcome::Passed,
        Status::Warned => {
            Outcome::Warned([format!("warns: {message}"), details(view, outcome)].join("\n"))
        }
        Status::LeftOut => {
            let reason = outcome.left_out.as_ref().map(ToString::to_string).unwrap_or_default();
            Outcome::Skipped(terminal_safe(&reason).into())
        }
        Status::Failed => Outcome::Failed {
            metric: outcome.budget.metric.name,
            message,
            details: details(view, outcome),
        },
    }
}

/// Lines of context for a figure: its subject, the changes, and the remedy.
fn details(view: CheckView<'_>, outcome: &BudgetOutcome) -> String {
    let mut lines: Vec<String> = Vec::new();
    lines.extend(outcome.budget.message.clone());
    lines.extend(Some(lacking_sentence(outcome)).filter(|sentence| !sentence.is_empty()));
    lines.extend(beyond_lines(view, outcome));
    // Changed prompts explain a figure only against a baseline.
    let is_about_baseline = outcome.budget.limit.needs_baseline();
    if let Some(difference) = view.check.difference.as_ref().filter(|_| is_about_baseline) {
        let prompts = difference.prompts.iter().take(view.top);
        lines.extend(prompts.map(|prompt| prompt_sentence(view.now, prompt)));
    }
    lines.iter().map(|line| terminal_safe(line)).collect::<Vec<_>>().join("\n")
}
