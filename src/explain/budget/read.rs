//! Reader of the budgets in a configuration file.

use std::collections::BTreeSet;

use rust_decimal::Decimal;
use rust_decimal::prelude::FromPrimitive;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::amount::{Amount, Unit};
use super::metric::{BreakKinds, LintKinds, Metric, Quantity};
use super::{Budget, BudgetLevel, Limit, LimitChange, NamePattern, Selector};
use crate::base::toml_text::{Fault, quoted, refuse_unknown_keys, text, texts};
use crate::base::{ByKey, Refusal, nearest, suggestion};
use crate::explain::breaks::Cause;
use crate::explain::lint::{Rule, Severity};
use crate::simulate::strategy::{ALL as STRATEGIES, Strategy};

/// Keys of a budget.
pub const KEYS: [&str; 18] = [
    "name",
    "metric",
    "max",
    "min",
    "max_increase",
    "max_decrease",
    "level",
    "message",
    "project",
    "session",
    "model",
    "files",
    "strategy",
    "causes",
    "severity",
    "rules",
    "listed",
    "allow_refused",
];

/// Reads the value of `budget`, a list of tables.
pub(crate) fn read(list: &Spanned<DeValue<'_>>) -> Result<Vec<Budget>, Fault> {
    let expected = "a list of tables, [[budget]]";
    let not_tables = |value| Fault::mistyped("budget", expected, value);
    let tables = list.get_ref().as_array().ok_or_else(|| not_tables(list))?;
    let mut budgets: Vec<Budget> = Vec::with_capacity(tables.len());
    let mut offsets: ByKey<String, usize> = ByKey::new();
    for element in tables {
        let table = element.get_ref().as_table().ok_or_else(|| not_tables(element))?;
        let budget = budget(table, element.span().start)?;
        // Outputs refer to a budget by its name alone.
        if offsets.insert(budget.name.clone(), budget.offset).is_some() {
            let message =
                format!("two budgets are called `{}`; give one a `name`", quoted(&budget.name));
            return Err(Fault::at(budget.offset, message));
        }
        budgets.push(budget);
    }
    Ok(budgets)
}

fn budget(table: &DeTable<'_>, offset: usize) -> Result<Budget, Fault> {
    refuse_unknown_keys(table, &KEYS, "a budget")?;
    let metric = metric(table, offset)?;
    let mut budget = Budget {
        level: level(table)?,
        message: text(table, "message")?.map(|(message, _)| message.to_owned()),
        selector: selector(table, metric)?,
        breaks: break_kinds(table, metric)?,
        lint: lint_kinds(table, metric)?,
        listed: listed(table, metric)?,
        allow_refused: allow_refused(table, metric)?,
        offset,
        ..Budget::new(metric, limit(table, metric, offset)?)
    };
    budget.name = match text(table, "name")? {
        Some(("", at)) => return Err(Fault::at(at, "`name` is empty")),
        Some((name, _)) => name.to_owned(),
        // A budget without a name is called by its own words, as in `cost at most $1.00`.
        None => budget.to_string(),
    };
    Ok(budget)
}

fn metric(table: &DeTable<'_>, offset: usize) -> Result<Metric, Fault> {
    let names = || Metric::ALL.map(|metric| metric.name);
    let Some((name, at)) = text(table, "metric")? else {
        let message = format!("the budget has no `metric`; there are {}", names().join(", "));
        return Err(Fault::at(offset, message));
    };
    Metric::by_name(name).ok_or_else(|| unknown("metric", name, at, &names()))
}

fn level(table: &DeTable<'_>) -> Result<BudgetLevel, Fault> {
    let Some((name, at)) = text(table, "level")? else { return Ok(BudgetLevel::Fail) };
    BudgetLevel::by_name(name)
        .ok_or_else(|| unknown("level", name, at, &BudgetLevel::ALL.map(BudgetLevel::name)))
}

/// The only limit of a budget.
fn limit(table: &DeTable<'_>, metric: Metric, offset: usize) -> Result<Limit, Fault> {
    let given: Vec<_> =
        Limit::KEYS.into_iter().filter_map(|key| Some((key, table.get(key)?))).collect();
    let [(key, value)] = given[..] else {
        let problem = if given.is_empty() { "no limit" } else { "several limits" };
        let message =
            format!("the budget has {problem}; give it one of {}", Limit::KEYS.join(", "));
        return Err(Fault::at(offset, message));
    };
    if metric.quantity == Quantity::UnlistedChanges && key != "max" {
        let message = format!("{} takes `max` alone: a baseline has no changes", metric.name);
        return Err(Fault::at(value.span().start, message));
    }
    Ok(match key {
        "max" => Limit::Max(bound(key, value, metric)?),
        "min" => Limit::Min(bound(key, value, metric)?),
        "max_increase" => Limit::MaxIncrease(change(key, value, metric)?),
        _ => Limit::MaxDecrease(change(key, value, metric)?),
    })
}

/// Reads an amount in the unit of a metric.
fn bound(key: &str, value: &Spanned<DeValue<'_>>, metric: Metric) -> Result<Amount, Fault> {
    let unit = metric.unit();
    let amount = amount(value).and_then(|amount| amount.of_unit(unit));
    let amount =
        // A share cannot exceed 100 %, so a limit above it is a mistake.
        amount.filter(|amount| unit != Unit::Percent || amount.value <= Decimal::ONE_HUNDRED);
    amount.ok_or_else(|| {
        let expected = format!("{} for {}", unit.example(), metric.name);
        Fault::mistyped(key, &expected, value)
    })
}

/// Reads a change: in per cent of the baseline, or in the unit of a metric.
///
/// For a share "per cent" would be ambiguous, so its changes are in points.
fn change(key: &str, value: &Spanned<DeValue<'_>>, metric: Metric) -> Result<LimitChange, Fault> {
    let unit = metric.unit();
    // `Amount` reads `2 %` and `2 points` alike, so the text decides.
    let is_in_points = value.get_ref().as_str().is_some_and(|text| text.ends_with("points"));
    let change = amount(value).and_then(|amount| match (amount.unit, unit) {
        (Unit::Percent, Unit::Percent) => is_in_points.then_some(LimitChange::Absolute(amount)),
        (Unit::Percent, _) => (!is_in_points).then_some(LimitChange::Relative(amount.value)),
        _ => amount.of_unit(unit).map(LimitChange::Absolute),
    });
    change.ok_or_else(|| {
        let expected = match unit {
            Unit::Percent => "a number of points like \"2 points\"".to_owned(),
            other => format!("a percentage of the baseline like \"7 %\", or {}", other.example()),
        };
        Fault::mistyped(key, &format!("{expected} for {}", metric.name), value)
    })
}

/// Reads an amount from a text or a whole number.
fn amount(value: &Spanned<DeValue<'_>>) -> Option<Amount> {
    match value.get_ref() {
        DeValue::String(text) => Amount::parse(text),
        DeValue::Integer(integer) => {
            // TOML writes whole numbers in other radices, too.
            let number = u64::from_str_radix(integer.as_str(), integer.radix()).ok()?;
            Some(Amount { value: Decimal::from_u64(number)?, unit: Unit::Count })
        }
        _ => None,
    }
}

fn selector(table: &DeTable<'_>, metric: Metric) -> Result<Selector, Fault> {
    let pattern = |key: &'static str| -> Result<Option<NamePattern>, Fault> {
        let Some((text, at)) = text(table, key)? else { return Ok(None) };
        if metric.quantity == Quantity::LintFindings {
            let message =
                format!("`{key}` does not apply: {} is about all captured prompts", metric.name);
            return Err(Fault::at(at, message));
        }
        let unreadable =
            |problem| Fault::at(at, format!("`{key}` is no pattern of names: {problem}"));
        NamePattern::parse(text).map(Some).map_err(unreadable)
    };
    Ok(Selector {
        project: pattern("project")?,
        session: pattern("session")?,
        model: pattern("model")?,
        files: pattern("files")?,
        strategy: strategy(table, metric)?,
    })
}

fn strategy(table: &DeTable<'_>, metric: Metric) -> Result<Option<String>, Fault> {
    let Some((name, at)) = text(table, "strategy")? else { return Ok(None) };
    if !metric.is_of_strategy() {
        let message = format!("`strategy` does not apply: {} is one for all of them", metric.name);
        return Err(Fault::at(at, message));
    }
    if Strategy::by_name(name).is_none() {
        let names: Vec<&str> = STRATEGIES.iter().map(|known| known.name.as_ref()).collect();
        return Err(unknown("strategy", name, at, &names));
    }
    Ok(Some(name.to_owned()))
}

fn break_kinds(table: &DeTable<'_>, metric: Metric) -> Result<BreakKinds, Fault> {
    let names = texts(table, "causes")?;
    // An empty list names no cause, so all of them count.
    let Some((_, at)) = names.first() else { return Ok(BreakKinds::All) };
    if !metric.is_of_breaks() {
        let message = "`causes` does not apply: it is for breaks, breaks_cost and breaks_share";
        return Err(Fault::at(*at, message));
    }
    let mut causes = BTreeSet::new();
    for (name, at) in names {
        match name.as_str() {
            BreakKinds::EXPECTED => {
                causes.extend(Cause::ALL.into_iter().filter(|cause| cause.is_expected()));
            }
            BreakKinds::UNEXPECTED => {
                causes.extend(Cause::ALL.into_iter().filter(|cause| !cause.is_expected()));
            }
            name => {
                let words = [BreakKinds::EXPECTED, BreakKinds::UNEXPECTED];
                let names: Vec<&str> =
                    words.into_iter().chain(Cause::ALL.map(Cause::name)).collect();
                let cause =
                    Cause::by_name(name).ok_or_else(|| unknown("causes", name, at, &names))?;
                causes.insert(cause);
            }
        }
    }
    Ok(BreakKinds::Causes(causes))
}

fn lint_kinds(table: &DeTable<'_>, metric: Metric) -> Result<LintKinds, Fault> {
    let severity = text(table, "severity")?;
    let rules = texts(table, "rules")?;
    let first = severity.map(|(_, at)| at).or(rules.first().map(|(_, at)| *at));
    if let Some(at) = first.filter(|_| metric.quantity != Quantity::LintFindings) {
        let message = "`severity` and `rules` do not apply: they are for lint_findings";
        return Err(Fault::at(at, message));
    }
    let mut kinds = LintKinds::default();
    if let Some((name, at)) = severity {
        kinds.severity = Severity::by_name(name)
            .ok_or_else(|| unknown("severity", name, at, &Severity::ALL.map(Severity::name)))?;
    }
    for (name, at) in &rules {
        let rule = Rule::by_name(name)
            .ok_or_else(|| unknown("rules", name, *at, &Rule::ALL.map(Rule::name)))?;
        kinds.rules.insert(rule);
    }
    Ok(kinds)
}

/// Parts and settings that may change.
fn listed(table: &DeTable<'_>, metric: Metric) -> Result<Vec<String>, Fault> {
    let names = texts(table, "listed")?;
    match names.first() {
        Some((_, at)) if metric.quantity != Quantity::UnlistedChanges => {
            Err(Fault::at(*at, "`listed` does not apply: it is for unlisted_changes"))
        }
        _ => Ok(names.into_iter().map(|(name, _)| name).collect()),
    }
}

/// Refusals that a cost may have.
fn allow_refused(table: &DeTable<'_>, metric: Metric) -> Result<BTreeSet<Refusal>, Fault> {
    let names = texts(table, "allow_refused")?;
    let refusal = |(name, at): &(String, usize)| {
        if !metric.is_cost() {
            let message = "`allow_refused` does not apply: it is for budgets on a cost";
            return Err(Fault::at(*at, message));
        }
        let known = Refusal::ALL.map(Refusal::name);
        Refusal::by_name(name).ok_or_else(|| unknown("allow_refused", name, *at, &known))
    };
    names.iter().map(refusal).collect()
}

fn unknown(key: &str, name: &str, at: usize, known: &[&str]) -> Fault {
    let near = suggestion(&nearest(name, known.iter().copied()));
    let message =
        format!("`{key}`: `{}` is unknown{near}; there are {}", quoted(name), known.join(", "));
    Fault::at(at, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Vec<Budget>, String> {
        let table = DeTable::parse(text).expect("TOML");
        let list = table.get_ref().get("budget").expect("budgets");
        read(list).map_err(|fault| fault.in_file("cachesim.toml", text).to_string())
    }

    fn problem(lines: &str) -> String {
        parse(&format!("[[budget]]\n{lines}")).expect_err("a problem")
    }

    #[test]
    fn a_budget_is_read_with_all_its_keys() {
        let text = r#"
            [[budget]]
            name = "opus"
            metric = "cost_per_session"
            max = "0.80 USD"
            level = "warn"
            message = "dear"
            model = "claude-opus-*"
            project = "work/*"
            session = "fix-*"
            files = "main/**"
            strategy = "replay"
            [[budget]]
            metric = "breaks"
            max_increase = 2
            causes = ["unexpected", "compaction"]
            [[budget]]
            metric = "lint_findings"
            max = 0
            severity = "warning"
            rules = "tool-order"
            [[budget]]
            metric = "hit_rate"
            max_decrease = "2 points"
        "#;
        let budgets = parse(text).expect("budgets");
        let names: Vec<&str> = budgets.iter().map(|budget| budget.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "opus",
                "breaks at most 2 more than the baseline",
                "lint_findings at most 0",
                "hit_rate at most 2 points less than the baseline"
            ]
        );
        assert_eq!(
            budgets[0].to_string(),
            "cost_per_session at most $0.8000 \
             (project work/*, session fix-*, model claude-opus-*, files main/**, strategy replay)"
        );
        assert!(budgets[0].selector.has_request("claude-opus-5", "main/a/b.jsonl"));
        assert!(!budgets[0].selector.has_request("claude-sonnet-4-5", "main/a.jsonl"));
        assert!(budgets[0].selector.has_session("fix-1", Some("work/a")));
        assert!(!budgets[0].selector.has_session("mend-1", Some("work/a")));
        assert!(!budgets[0].selector.has_session("fix-1", None));
        assert!(budgets[1].breaks.has(Cause::Compaction));
        assert!(!budgets[1].breaks.has(Cause::TtlExpired1h));
        let has = |rule: Rule| budgets[2].lint.has(rule, rule.severity());
        assert!(has(Rule::ToolOrder) && !has(Rule::ToolSet));
    }

    #[test]
    fn wrong_units_are_refused_with_what_is_meant() {
        assert_eq!(
            problem("metric = \"cost\"\nmax = 0.8"),
            "cachesim.toml:3:7: `max` is an amount of dollars like \"0.80 USD\" or \"$0.80\" for \
             cost, not 0.8"
        );
        assert_eq!(
            problem("metric = \"cost\"\nmax = \"5 %\""),
            "cachesim.toml:3:7: `max` is an amount of dollars like \"0.80 USD\" or \"$0.80\" for \
             cost, not \"5 %\""
        );
        assert_eq!(
            problem("metric = \"hit_rate\"\nmax_decrease = \"2 %\""),
            "cachesim.toml:3:16: `max_decrease` is a number of points like \"2 points\" for \
             hit_rate, not \"2 %\""
        );
        assert!(problem("metric = \"hit_rate\"\nmin = \"700 %\"").contains("a percentage"));
        assert!(problem("metric = \"breaks\"\nmax = \"2 USD\"").contains("a whole number like 3"));
        assert!(
            problem("metric = \"written_tokens\"\nmax = \"$2\"").contains("a number of tokens")
        );
        assert!(problem("metric = \"cost\"\nmax_increase = \"5 tokens\"").contains("\"7 %\", or"));
    }

    #[test]
    fn what_means_nothing_is_refused_with_its_place_and_the_nearest() {
        assert_eq!(
            problem("metrik = \"cost\""),
            "cachesim.toml:2:1: `metrik` is no key of a budget (did you mean `metric`, `min` or `message`?); \
             there are name, metric, max, min, max_increase, max_decrease, level, message, project, session, \
             model, files, strategy, causes, severity, rules, listed, allow_refused"
        );
        assert!(
            problem("metric = \"cost_per_sesion\"").contains("did you mean `cost_per_session`")
        );
        assert!(problem("max = 1").contains("2:") || problem("max = 1").contains("1:"));
        assert!(problem("metric = \"cost\"").contains("has no limit"));
        assert!(
            problem("metric = \"cost\"\nmax = \"$1\"\nmin = \"$0\"").contains("several limits")
        );
        assert!(
            problem("metric = \"cost\"\nmax = \"$1\"\nstrategy = \"rep1ay\"")
                .contains("did you mean `replay`")
        );
        assert!(
            problem("metric = \"breaks\"\nmax = 0\ncauses = [\"tool_changed\"]")
                .contains("did you mean `tools_changed`")
        );
        assert!(
            problem("metric = \"cost\"\nmax = \"$1\"\ncauses = [\"rewound\"]")
                .contains("not apply")
        );
        assert!(
            problem("metric = \"lint_findings\"\nmax = 0\nmodel = \"x\"").contains("not apply")
        );
        assert!(problem("metric = \"cost\"\nmax = \"$1\"\nfiles = \"a[\"").contains("no pattern"));
        let twice = "metric = \"cost\"\nmax = \"$1\"\n[[budget]]\nmetric = \"cost\"\nmax = \"$1\"";
        assert!(problem(twice).contains("two budgets are called `cost at most $1.00`"));
    }
}
