//! Several domains together, each worked on its own: their common answer, the sums of a command, and a table with a
//! line for each. Programs get the result of each domain as a line of JSON.

mod agreement;
mod changes;
mod contents;
mod findings;
mod losses;
mod strategies;
mod windows;

pub use agreement::AgreementSums;
pub use changes::ChangeSums;
pub use contents::ContentSums;
pub use findings::FindingSums;
pub use losses::LossSums;
pub use strategies::StrategySums;
pub use windows::WindowSums;

use std::cmp::Reverse;
use std::io::{self, Write};

use serde::Serialize;
use serde_json::value::RawValue;

use super::{
    Columns, Document, Grid, Inputs, Value, answer_grid, bytes, counted, grouped, share, write_line,
};
use crate::base::{Order as _, Picodollars};
use crate::explain::analysis::Answer;
use crate::requests::conversation::History;
use crate::simulate::ledger::Totals;
use crate::simulate::pricing::PriceTable;

/// Sums of a command over domains.
pub trait DomainSums {
    /// Heading of the figure in the table of domains, if there is one.
    const COLUMN: Option<&'static str>;

    /// Figure in the table of domains.
    fn figure(&self) -> Figure;

    /// Adds the sums of another domain.
    fn absorb(&mut self, other: Self);

    /// Adds the sums to a document, after the common answer.
    fn show(&self, answer: &Answer, document: &mut Document);
}

/// Figure of a domain in the table, which adds up.
#[derive(Clone, Copy, Debug)]
pub enum Figure {
    /// No figure.
    None,
    /// A number of things.
    Count(u64),
    /// An amount, or `None` if it is unknown.
    Dollars(Option<Picodollars>),
    /// A part and the whole.
    Share(u64, u64),
}

impl Figure {
    fn absorb(&mut self, other: Self) {
        *self = match (*self, other) {
            (Self::Count(own), Self::Count(other)) => Self::Count(own + other),
            (Self::Dollars(own), Self::Dollars(other)) => {
                Self::Dollars(own.into_iter().chain(other).reduce(|own, other| own + other))
            }
            (Self::Share(part, of), Self::Share(other, of_other)) => {
                Self::Share(part + other, of + of_other)
            }
            // All domains of a command have figures of one kind.
            (own, _) => own,
        };
    }

    fn value(self) -> Value {
        match self {
            Self::None => Value::default(),
            Self::Count(count) => count.into(),
            Self::Dollars(amount) => amount.into(),
            Self::Share(part, of) => Value::exact_share(share(part, of)),
        }
    }
}

/// Domains, and their sums.
#[derive(Debug)]
pub struct AllDomains<S> {
    inputs: Inputs,
    prices: Option<(String, String)>,
    domains: Vec<DomainLine>,
    all: Option<(Answer, S)>,
}

/// A domain in the table.
#[derive(Debug)]
struct DomainLine {
    name: String,
    answer: Answer,
    figure: Figure,
}

impl<S> Default for AllDomains<S> {
    fn default() -> Self {
        Self { inputs: Inputs::default(), prices: None, domains: Vec::new(), all: None }
    }
}

impl<S: DomainSums> AllDomains<S> {
    /// Adds a domain.
    pub fn add(
        &mut self,
        name: &str,
        (history, prices): (&History, &PriceTable),
        answer: Answer,
        sums: S,
    ) {
        self.inputs.add(&Inputs::of(history));
        // All domains have the same prices. With other agents' prices among them the name is longer, and
        // `max` picks it.
        self.prices = self.prices.take().max(Some((prices.id.clone(), prices.as_of.clone())));
        let (name, figure) = (name.to_owned(), sums.figure());
        self.domains.push(DomainLine { name, answer: answer.clone(), figure });
        match &mut self.all {
            Some((all, own)) => {
                all.absorb(&answer);
                own.absorb(sums);
            }
            None => self.all = Some((answer, sums)),
        }
    }

    /// The common answer, the `top` most expensive domains, and the sums of the command. `without_requests` more
    /// domains have no request that is asked for.
    pub fn document(mut self, top: usize, without_requests: u64) -> Document {
        let mut document = Document::default();
        let Some((answer, sums)) = &self.all else { return document };
        document.grid(answer_grid(answer));
        let count = self.domains.len();
        let all = counted(count as u64, "domain", "domains");
        document.heading(if top < count {
            format!("The most expensive {} of {all}", grouped(top as u64))
        } else {
            all
        });
        let is_recorded = answer.is_recorded();
        self.domains.order_by_key(|line| Reverse(line.totals(is_recorded).cost()));
        let others = self.domains.split_off(top.min(count));
        document.grid(grid::<S>(&self.domains, &others, is_recorded));
        if without_requests > 0 {
            document.text(format!(
                "{} no request that is asked for.",
                counted(without_requests, "more domain has", "more domains have")
            ));
        }
        sums.show(answer, &mut document);
        document.text(self.origin());
        document
    }

    /// Sentence on the input and on the way it was worked.
    fn origin(&self) -> String {
        let (id, as_of) = self.prices.as_ref().map_or(("", ""), |(id, as_of)| (id, as_of));
        format!(
            "Read {} in {}: {}, {} left out. Prices: {id}, checked on {as_of}. Each domain is worked as if there were no \
             others; what else is assumed in one, and its single requests, stand under the same command over its folder.",
            bytes(self.inputs.bytes),
            counted(self.inputs.files, "file", "files"),
            counted(self.inputs.requests, "request", "requests"),
            counted(self.inputs.duplicates, "copy", "copies"),
        )
    }
}

impl DomainLine {
    /// Sums in the terms of the common answer: as recorded, or as the rules expect.
    fn totals(&self, is_recorded: bool) -> Totals {
        let simulated = self.answer.simulated.filter(|_| !is_recorded);
        simulated.unwrap_or(self.answer.billed)
    }
}

/// Table with a row for each listed domain, and one for the others.
fn grid<S: DomainSums>(listed: &[DomainLine], others: &[DomainLine], is_recorded: bool) -> Grid {
    let mut columns = Columns::<DomainRow>::new();
    columns.name("domain", |row| row.name.clone());
    columns.right("sessions", |row| row.answer.sessions).hidden(1);
    columns.right("requests", |row| row.totals.requests + row.totals.unrecorded).hidden(2);
    columns.right("hit", |row| row.totals.hit_rate()).hidden(3);
    let cost = if is_recorded { "cost" } else { "would cost" };
    columns.right(cost, |row| row.totals.all_costs());
    // Without a compared request the loss is unknown rather than zero.
    let lost = |answer: &Answer| answer.breaks.excess().filter(|_| answer.compared > 0);
    columns.right("breaks cost", move |row| lost(&row.answer));
    if let Some(heading) = S::COLUMN {
        columns.right(heading, |row| row.figure.value());
    }
    let rows = listed.iter().map(|line| (line.name.clone(), std::slice::from_ref(line)));
    let others = (counted(others.len() as u64, "other", "others"), others);
    let rows = rows.chain([others]);
    columns.grid(rows.filter_map(|(name, lines)| DomainRow::of(name, lines, is_recorded)))
}

/// Row of a domain, or of several together.
struct DomainRow {
    name: String,
    answer: Answer,
    totals: Totals,
    figure: Figure,
}

impl DomainRow {
    /// `None` of no domain.
    fn of(name: String, lines: &[DomainLine], is_recorded: bool) -> Option<Self> {
        let (first, rest) = lines.split_first()?;
        let (answer, totals) = (first.answer.clone(), first.totals(is_recorded));
        let mut row = Self { name, answer, totals, figure: first.figure };
        for line in rest {
            row.answer.absorb(&line.answer);
            row.figure.absorb(line.figure);
            row.totals += line.totals(is_recorded);
        }
        Some(row)
    }
}

/// Schema of a line.
pub(super) const SCHEMA: &str = "cachesim.domain-result/v1";

/// Result of a domain, as a line of `--domains --format json`.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct DomainResult<'a> {
    /// The format and its version.
    schema: &'static str,
    /// The domain.
    domain: &'a str,
    /// Document of the command for the domain's files alone, in the schema that it names.
    #[cfg_attr(test, schemars(with = "serde_json::Map<String, serde_json::Value>"))]
    result: &'a RawValue,
}

/// Writes the result of a domain as one line: the single JSON document of `write`, in a frame.
///
/// # Errors
/// `write` fails, or writing to `out`.
pub fn write_domain_result<E: From<io::Error>>(
    domain: &str,
    out: &mut dyn Write,
    write: impl FnOnce(&mut dyn Write) -> Result<(), E>,
) -> Result<(), E> {
    // As a whole in memory, so that a failure leaves no half a line.
    let mut line = OneLine::default();
    write(&mut line)?;
    let result = serde_json::from_slice(&line.text).map_err(io::Error::from)?;
    Ok(write_line(&DomainResult { schema: SCHEMA, domain, result }, out)?)
}

/// JSON without its line breaks and indents, whose strings have no raw line breaks.
#[derive(Default)]
struct OneLine {
    text: Vec<u8>,
    is_indent: bool,
}

impl Write for OneLine {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            let text = if self.is_indent { part.trim_ascii_start() } else { part };
            let line = text.strip_suffix(b"\n");
            self.text.extend_from_slice(line.unwrap_or(text));
            self.is_indent = line.is_some() || (self.is_indent && text.is_empty());
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
