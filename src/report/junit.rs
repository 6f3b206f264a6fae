//! The budgets of `check` as JUnit XML, which every CI service reads. Each budget is a test case.

use std::io::{self, Write};

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use super::check_view::CheckView;
use super::check_words::{
    beyond_lines, comparability, lacking_sentence, outcome_sentence, prompt_sentence,
};
use super::escape::terminal_safe;
use crate::explain::check::{BudgetOutcome, Status};

/// The name of the suite, and of the class of its cases.
const SUITE: &str = "cachesim check";

/// Writes the budgets: exceeded ones as failures, warnings as passed with a note, and those that do
/// not apply as skipped.
///
/// # Errors
/// Writing to `out` fails.
pub fn write_junit(view: CheckView<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut suite = TestSuite::new(SUITE);
    suite.add_test_cases(view.check.outcomes.iter().map(|outcome| test_case(view, outcome)));
    suite.add_test_cases(comparability(view.check, view.now).iter().map(|one| not_judged(one)));
    let mut report = Report::new(SUITE);
    report.add_test_suite(suite);
    let xml = report.to_string().map_err(io::Error::other)?;
    out.write_all(xml.as_bytes())
}

fn test_case(view: CheckView<'_>, outcome: &BudgetOutcome) -> TestCase {
    let sentence = outcome_sentence(outcome);
    let status = match outcome.status {
        Status::Passed | Status::Warned => TestCaseStatus::success(),
        Status::LeftOut => {
            let mut skipped = TestCaseStatus::skipped();
            let reason = outcome.left_out.as_ref().map(ToString::to_string);
            skipped.set_message(terminal_safe(&reason.unwrap_or_default()));
            skipped
        }
        Status::Failed => {
            let mut failure = TestCaseStatus::non_success(NonSuccessKind::Failure);
            failure.set_type(outcome.budget.metric.name);
            failure.set_message(terminal_safe(&sentence));
            failure.set_description(details(view, outcome));
            failure
        }
    };
    let mut case = TestCase::new(terminal_safe(&outcome.budget.name), status);
    case.set_classname(SUITE);
    if outcome.status == Status::Warned {
        let sentence = format!("warns: {sentence}");
        case.set_system_out([terminal_safe(&sentence).into(), details(view, outcome)].join("\n"));
    }
    case
}

/// What no budget can judge, as a skipped test.
fn not_judged(sentence: &str) -> TestCase {
    let mut skipped = TestCaseStatus::skipped();
    skipped.set_message(terminal_safe(sentence));
    let mut case = TestCase::new("what is compared", skipped);
    case.set_classname(SUITE);
    case
}

/// What a reader needs besides the figure: what it belongs to, what changed, and what to do, in lines.
fn details(view: CheckView<'_>, outcome: &BudgetOutcome) -> String {
    let mut lines: Vec<String> = Vec::new();
    lines.extend(outcome.budget.message.clone());
    lines.extend(Some(lacking_sentence(outcome)).filter(|sentence| !sentence.is_empty()));
    lines.extend(beyond_lines(view, outcome));
    let is_about_baseline = outcome.budget.limit.needs_baseline();
    if let Some(difference) = view.check.difference.as_ref().filter(|_| is_about_baseline) {
        let prompts = difference.prompts.iter().take(view.top);
        lines.extend(prompts.map(|prompt| prompt_sentence(view.now, prompt)));
    }
    lines.iter().map(|line| terminal_safe(line)).collect::<Vec<_>>().join("\n")
}
