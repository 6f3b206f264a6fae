//! Unstable prefixes of several histories.

use derive_more::AddAssign;

use super::{DomainSums, Figure};
use crate::base::{ByKey, KnownSum, Tokens};
use crate::explain::analysis::Answer;
use crate::explain::breaks::add_each;
use crate::explain::lint::{Finding, Linted, Rule, Severity};
use crate::report::lint::{LintScope, summary};
use crate::report::{Columns, Document};

/// Findings by rule.
#[derive(Clone, Debug)]
pub struct FindingSums {
    scope: LintScope,
    by_rule: ByKey<(Severity, Rule), RuleSum>,
}

/// Findings of a rule.
#[derive(AddAssign, Clone, Copy, Debug, Default)]
struct RuleSum {
    findings: u64,
    domains: u64,
    requests: u64,
    tokens: Tokens,
    costs: KnownSum,
}

impl RuleSum {
    fn add(&mut self, finding: &Finding) {
        self.findings += 1;
        // A sum begins with one history: one domain, however many findings.
        self.domains = 1;
        self.requests += finding.requests;
        self.tokens += finding.tokens;
        self.costs.add(finding.cost);
    }
}

impl FindingSums {
    /// Findings of a history.
    pub fn of(linted: &Linted) -> Self {
        let mut by_rule: ByKey<(Severity, Rule), RuleSum> = ByKey::new();
        for finding in &linted.findings {
            by_rule.entry((finding.severity(), finding.rule)).or_default().add(finding);
        }
        // Each domain is compared with all accepted findings: no sum shows which of them are gone everywhere,
        // or how much more they lose in all.
        let scope = LintScope { gone: 0, more: Tokens::ZERO, ..LintScope::of(linted) };
        Self { scope, by_rule }
    }

    /// Number of findings of each severity, gravest first.
    fn counts(&self) -> [u64; 3] {
        Severity::ALL.map(|severity| {
            let rules = self.by_rule.iter().filter(|((of, _), _)| *of == severity);
            rules.map(|(_, sum)| sum.findings).sum()
        })
    }
}

impl DomainSums for FindingSums {
    const COLUMN: Option<&'static str> = Some("findings");

    fn figure(&self) -> Figure {
        Figure::Count(self.counts().iter().sum())
    }

    fn absorb(&mut self, other: Self) {
        self.scope += other.scope;
        add_each(&mut self.by_rule, other.by_rule);
    }

    fn show(&self, _: &Answer, document: &mut Document) {
        document.heading(summary(self.counts(), &self.scope));
        if !self.by_rule.is_empty() {
            let mut columns = Columns::<(&(Severity, Rule), &RuleSum)>::new();
            columns.left("severity", |((severity, _), _)| severity.name());
            columns.left("rule", |((_, rule), _)| rule.name());
            columns.right("findings", |(_, sum)| sum.findings);
            columns.right("domains", |(_, sum)| sum.domains);
            columns.right("requests", |(_, sum)| sum.requests).hidden(2);
            columns.right("tokens", |(_, sum)| sum.tokens).hidden(1);
            columns.right("cost", |(_, sum)| sum.costs);
            document.grid(columns.grid(&self.by_rule));
            document
                .text("`cachesim lint` over a domain shows each; --explain RULE says what to do.");
        }
        for note in self.scope.notes() {
            document.text(note);
        }
    }
}
