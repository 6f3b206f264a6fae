//! `--fail-if`: expressions that fail a run.

use super::error::CliError;
use super::output::say;
use super::strategies::hint;
use crate::explain::compare::{Comparison, Expression};
use crate::simulate::strategy::Strategy;

/// An expression with the text that was typed.
pub(super) struct Gate {
    text: String,
    expression: Expression,
}

/// Parses the expressions, which may refer to these strategies.
pub(super) fn gates(texts: &[String], strategies: &[Strategy]) -> Result<Vec<Gate>, CliError> {
    texts.iter().map(|text| gate(text, strategies)).collect()
}

fn gate(text: &str, strategies: &[Strategy]) -> Result<Gate, CliError> {
    let expression = Expression::parse(text)
        .map_err(|source| CliError::Expression { expression: text.to_owned(), source })?;
    let names: Vec<&str> = strategies.iter().map(|strategy| strategy.name.as_ref()).collect();
    for reference in expression.references() {
        let name = reference.strategy.as_str();
        if !names.contains(&name) {
            let hint = hint(name, &names);
            return Err(CliError::Usage(format!(
                "--fail-if '{text}': `{name}` is not compared{hint}; name it in --strategy",
            )));
        }
    }
    Ok(Gate { text: text.to_owned(), expression })
}

/// Fails where expressions hold, and names all of them.
pub(super) fn check(gates: &[Gate], comparison: &Comparison<'_>) -> Result<(), CliError> {
    let mut failed: Vec<&Gate> = Vec::new();
    for gate in gates {
        let figure = |strategy: &str, metric| comparison.figure(strategy, metric);
        let holds = gate
            .expression
            .evaluate(&figure)
            .map_err(|source| CliError::Expression { expression: gate.text.clone(), source })?;
        if holds {
            failed.push(gate);
        }
    }
    let Some((last, others)) = failed.split_last() else { return Ok(()) };
    for gate in others {
        say(&CliError::GateFailed(gate.text.clone()).to_string());
    }
    Err(CliError::GateFailed(last.text.clone()))
}
