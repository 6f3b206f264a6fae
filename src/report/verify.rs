//! Verification for people.

use super::breaks_view::by_rule;
use super::novelties::add_novelties;
use super::{
    BREAKS_BEYOND_RULES, Columns, Document, Grid, Inputs, Value, answer_grid, bytes, counted,
    dollars, grouped, percent, share, tokens,
};
use crate::base::{ByKey, Client, Picodollars};
use crate::explain::analysis::{
    Added, Agreement, Answer, CountTally, Counts, RuleCount, ServiceAgreement, Unsimulated,
    Verification, Worst,
};
use crate::explain::breaks::Summary;
use crate::explain::client_count::ClientCount;
use crate::read::agent::Vendor;
use crate::requests::conversation::History;
use crate::requests::prompt::MeasuredRule;
use crate::simulate::provider::NotSimulated;

/// Parts that are shown besides the agreement of the rules with the record.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shown<'a> {
    /// True if the measured rules are shown.
    pub rules: bool,
    /// Accuracy of counted tokens, if it is shown.
    pub counts: Option<&'a Counts>,
}

/// Agreement of the rules with the record, as a document.
pub fn verify_document(
    history: &History,
    answer: &Answer,
    (verification, breaks): (&Verification, &Summary),
    shown: Shown<'_>,
) -> Document {
    let mut document = Document::default();
    document.text(conclusion(verification));
    document.grid(answer_grid(answer));
    agreement(&mut document, &Inputs::of(history), (verification, breaks), shown);
    worst(&mut document, history, verification);
    document
}

/// How far the rules and the record agree, in a sentence.
pub(super) fn conclusion(verification: &Verification) -> String {
    let Verification { all, without_large_misses: outside, dollars: money, .. } = verification;
    if all.requests == 0 {
        return "No request can be held against the rules of markers.".to_owned();
    }
    let of_dollars = match money.explained().filter(|_| money.is_known()) {
        Some(share) => {
            let billed = dollars(Some(money.billed));
            format!(
                " With the breaks, they explain {} of the {billed} billed.",
                percent(Some(share))
            )
        }
        None => String::new(),
    };
    let outside = match outside.requests {
        0 => String::new(),
        requests => {
            let within = percent(share(outside.within, requests));
            format!(", and by {within} of those without a large miss")
        }
    };
    format!(
        "The rules say within 1 % of the prompt what was read by {} of {}{outside}.{of_dollars}",
        percent(share(all.within, all.requests)),
        counted(all.requests, "request", "requests"),
    )
}

/// Agreement of the rules with the record, for one history or several.
pub(super) fn agreement(
    document: &mut Document,
    inputs: &Inputs,
    (verification, breaks): (&Verification, &Summary),
    shown: Shown<'_>,
) {
    document.lead("How well the rules reproduce the record");
    document.text(coverage(inputs, verification));
    document.grid(figures(verification));
    if let Some(note) = unpriced(verification) {
        document.text(note);
    }
    if shown.rules {
        rules(document, verification);
    }
    if let Some(shown) = shown.counts {
        counts(document, shown);
    }
    if verification.all.requests > 0 {
        document.heading("By client version");
        document.grid(groups("client", &verification.by_client_version));
        document.heading("By model");
        document.grid(groups("model", &verification.by_model));
    }
    by_rule(document, breaks);
    services(document, verification);
    client_counts(document, verification);
    add_novelties(document, &verification.novelties);
}

/// Clients' own counts of sessions, with the parts of what they differ by from the lines.
fn client_counts(document: &mut Document, verification: &Verification) {
    if verification.client_counts.is_empty() {
        return;
    }
    document.heading("Clients' own counts");
    let mut columns = Columns::<(&String, &ClientCount)>::new();
    columns.left("session", |(session, _)| (*session).clone());
    columns.right("client", |(_, count)| count.counted);
    columns.right("lines", |(_, count)| count.of_lines);
    columns.right("no line", |(_, count)| count.beside_lines());
    columns.right("cut output", |(_, count)| count.cut_output);
    columns.right("unexplained", |(_, count)| count.unexplained());
    document.grid(columns.grid(&verification.client_counts));
}

/// Measured rules, and the number of agreeing records for each by client version.
fn rules(document: &mut Document, verification: &Verification) {
    document.heading("Rules that were measured");
    document.text(RULES);
    for rule in MeasuredRule::ALL {
        document.text(format!("{} ({}): {}", rule.name(), rule.versions(), rule.meaning()));
    }
    let mut columns = Columns::<(&(MeasuredRule, String), &RuleCount)>::new();
    columns.left("rule", |((rule, _), _)| rule.name());
    columns.left("client", |((_, version), _)| version.clone());
    columns.right("for", |(_, count)| count.agreeing);
    columns.right("against", |(_, count)| count.against);
    document.grid(columns.grid(&verification.rules));
}

/// Accuracy of counted tokens, by model and by the content that was added.
fn counts(document: &mut Document, counts: &Counts) {
    document.heading("How well counted tokens hold");
    if counts.is_empty() {
        document.text("No step of a transcript has all that it added in its lines and a model whose vocabulary is known.");
        return;
    }
    document.text(COUNTS);
    let mut columns = Columns::<(&(String, Added), &CountTally)>::new();
    columns.left("model", |((model, _), _)| model.clone());
    columns.left("added", |((_, added), _)| added.name());
    columns.right("steps", |(_, tally)| tally.steps);
    columns.right("exact", |(_, tally)| share(tally.exact, tally.steps));
    columns.right("within", |(_, tally)| share(tally.within, tally.steps));
    columns.right("worst", |(_, tally)| tally.worst);
    document.grid(columns.grid(counts));
}

/// Explanation of the counts.
const COUNTS: &str = "Steps of which all that was added stands in lines: what the prompt grew by beyond the answer, \
    against results and texts counted in the model's vocabulary with what frames them; `within` is 1 % or 3 tokens.";

/// Explanation of the measured rules.
const RULES: &str = "No documentation has these. Each decides for the clients that it names, by lines and by other \
    requests; where it decided, the record is for it if the request read nearer to what the rule says than to \
    what it would read without.";

/// Basis of the figures of services without markers.
const UNMARKED: &str = "Services whose caches need no markers: each is held against its own rules, of which a \
    part is undocumented; `cachesim compare --provider` lists what is assumed. Large misses are reads of over \
    2,000 tokens and over 5 % less than these rules find. These requests are in none of the figures above but the \
    dollars.";

/// Requests outside the rules of markers: those to services whose caches need none, and those without an
/// expectation.
fn services(document: &mut Document, verification: &Verification) {
    if verification.unmarked.is_empty() && verification.not_simulated.is_empty() {
        return;
    }
    document.heading("Requests outside the rules of markers");
    if !verification.unmarked.is_empty() {
        document.text(UNMARKED);
        document.grid(by_service(verification));
    }
    if !verification.not_simulated.is_empty() {
        let lacks_writes = |(reason, model): &(NotSimulated, String)| {
            *reason != NotSimulated::OwnCache && Vendor::of(model) == Vendor::Anthropic
        };
        let of_claude =
            if verification.not_simulated.keys().any(lacks_writes) { OF_CLAUDE } else { "" };
        document.text(format!("{NOT_SIMULATED}{of_claude}"));
        document.grid(not_simulated(verification));
    }
}

const NOT_SIMULATED: &str = "Nothing is expected of these, so they count as recorded under every strategy. The last \
    column is how many of them read the prompt before within 1 %, as they would from a cache that keeps all.";

/// Reason why requests to Claude are among them.
const OF_CLAUDE: &str = " Claude's are among them where the record does not tell of each request what was written: \
    without that the rules of markers cannot be followed.";

/// Requests that are not simulated, with the reasons.
fn not_simulated(verification: &Verification) -> Grid {
    let mut columns = Columns::<(&(NotSimulated, String), &Unsimulated)>::new();
    columns.left("model", |((_, model), _)| model.clone());
    columns.right("requests", |(_, count)| count.requests);
    columns.wrapped("not simulated", |((reason, _), _)| reason.label());
    let reads = columns.right("read it all", |(_, count)| {
        // Without a predecessor there is no prompt that could have been read.
        let pairs = Some(count.pairs).filter(|pairs| *pairs > 0)?;
        Some(format!("{} of {}", grouped(count.pairs_within), grouped(pairs)))
    });
    reads.unknown("-");
    columns.grid(&verification.not_simulated)
}

/// Agreement for services whose caches need no markers, by client and model.
fn by_service(verification: &Verification) -> Grid {
    let mut columns = Columns::<(&(Client, String), &ServiceAgreement)>::new();
    columns.wrapped("service", |((client, model), _)| format!("{}: {model}", client.label()));
    columns.right("requests", |(_, one)| one.all.requests);
    columns.right("within 1 %", |(_, one)| share(one.all.within, one.all.requests));
    columns.right("without large misses", |(_, one)| {
        share(one.outside_breaks.within, one.outside_breaks.requests)
    });
    columns.right("under 5 min", |(_, one)| one.soon).hidden(2);
    columns.right("within a step", |(_, one)| share(one.soon_within_step, one.soon)).hidden(3);
    let error = |all: &Agreement| Value::exact_share(share(all.error.0, all.prompt.0));
    columns.right("read error", move |(_, one)| error(&one.all)).hidden(1);
    columns.grid(&verification.unmarked)
}

/// Requests that were compared, and those left out.
pub(super) fn coverage(inputs: &Inputs, verification: &Verification) -> String {
    let coverage = &verification.coverage;
    let unmarked = match coverage.unmarked {
        0 => String::new(),
        count => format!(
            " {} outside the rules of markers stand apart.",
            counted(count, "request", "requests")
        ),
    };
    format!(
        "{} in {} ({}); {} of them simulated. {} compared. Left out, as the simulation takes their read \
         from the record: {} of a chain, {} after a change of model.{unmarked} A large miss is a read of \
         over 2,000 tokens and over 5 % less than was left, inside the lifetime.",
        counted(coverage.requests, "request", "requests"),
        counted(inputs.files, "file", "files"),
        bytes(inputs.bytes),
        percent(share(coverage.simulated, coverage.requests)),
        counted(coverage.compared, "request is", "requests are"),
        counted(coverage.openings, "first request", "first requests"),
        counted(coverage.model_changes, "request", "requests"),
    )
}

/// Figures of the agreement between the rules and the record.
pub(super) fn figures(verification: &Verification) -> Grid {
    let mut rows: Vec<(String, Value, String)> = Vec::new();
    // A share of nothing has no meaning, so it has no row.
    let mut add = |name: &str, value: Option<Value>, of: String| {
        rows.extend(value.map(|value| (name.to_owned(), value, of)));
    };
    let all = &verification.all;
    let outside = &verification.without_large_misses;
    let exact = |share: Option<f64>| share.map(|share| Value::exact_share(Some(share)));
    let share_of = |part, whole| exact(share(part, whole));
    let requests = |count| counted(count, "request", "requests");
    add(
        "read within 1 % of the prompt",
        share_of(all.within, all.requests),
        requests(all.requests),
    );
    let misses = all.requests - outside.requests;
    add(
        "  without large misses",
        share_of(outside.within, outside.requests),
        format!("{}, {} left out", requests(outside.requests), counted(misses, "miss", "misses")),
    );
    add("read to the token", share_of(all.exact, all.requests), requests(all.requests));
    add(
        "read error without large misses",
        share_of(outside.error.0, outside.prompt.0),
        format!("{} tokens", tokens(outside.prompt)),
    );
    // No line of a transcript foretells these, so no rule could be right.
    let unknowable = [
        ("written too recently to be read", &verification.too_recent),
        ("suggestions that no line tells of", &verification.suggestions),
    ];
    for (name, apart) in unknowable.into_iter().filter(|(_, apart)| apart.requests > 0) {
        add(
            name,
            Some(counted(apart.requests, "request", "requests").into()),
            format!("left out above, {} tokens of error", tokens(apart.error)),
        );
    }
    let expiries = &verification.expiries;
    add(
        "expiries: precision",
        share_of(expiries.both, expiries.simulated),
        format!("{} simulated", grouped(expiries.simulated)),
    );
    add(
        "expiries: recall",
        share_of(expiries.both, expiries.recorded),
        format!("{} recorded", grouped(expiries.recorded)),
    );
    let money = &verification.dollars;
    let known = |amount| Some(amount).filter(|_| money.is_known());
    add(
        "dollars explained",
        exact(money.explained()),
        format!("{} billed", dollars(known(money.billed))),
    );
    if money.apart != Picodollars::ZERO {
        let apart = Some(taken_off(Some(money.apart)));
        add("  samplings billed apart", apart, "the same under every strategy".to_owned());
    }
    add(
        &format!("  {BREAKS_BEYOND_RULES}"),
        Some(taken_off(known(money.beyond_rules()))),
        String::new(),
    );
    add(
        "  unexplained",
        Some(taken_off(known(money.unexplained()))),
        "leaves expected by the rules".to_owned(),
    );
    add("  expected by the rules", Some(known(money.replay).into()), String::new());
    add(
        "tokens conserved",
        share_of(
            verification.conserved_rows - verification.violations,
            verification.conserved_rows,
        ),
        format!("{} rows", grouped(verification.conserved_rows)),
    );
    let mut columns = Columns::<(String, Value, String)>::new();
    columns.left("figure", |(name, ..)| name.clone());
    columns.right("value", |(_, value, _)| value.clone());
    columns.wrapped("of", |(.., of)| of.clone());
    columns.grid(rows)
}

/// Amount as a step down from the bill.
fn taken_off(amount: Option<Picodollars>) -> Value {
    Value::difference(amount.map(|amount| Picodollars(-amount.0)))
}

/// Number of requests that the dollars leave out, in a sentence, if any.
pub(super) fn unpriced(verification: &Verification) -> Option<String> {
    let count = verification.unpriced();
    (count > 0).then(|| {
        let requests = counted(count, "request", "requests");
        let are = if count == 1 { "is" } else { "are" };
        format!("{requests} of models without a price {are} in none of the dollars.")
    })
}

/// Agreement by name.
pub(super) fn groups(name: &'static str, agreements: &ByKey<String, Agreement>) -> Grid {
    let mut columns = Columns::<(&String, &Agreement)>::new();
    columns.left(name, |(name, _)| (*name).clone());
    columns.right("requests", |(_, one)| one.requests);
    columns.right("within 1 %", |(_, one)| share(one.within, one.requests));
    columns.right("exact", |(_, one)| share(one.exact, one.requests));
    columns.right("read error", |(_, one)| Value::exact_share(share(one.error.0, one.prompt.0)));
    columns.grid(agreements)
}

fn worst(document: &mut Document, history: &History, verification: &Verification) {
    if verification.worst.is_empty() {
        return;
    }
    document.heading("The worst requests");
    let mut columns = Columns::<Worst>::new();
    columns.wrapped("where", |one| {
        let request = history.request(one.request);
        format!("{}:{}", history.files[request.file].label, request.line)
    });
    let step = |one: &Worst| if one.is_break { "large miss" } else { one.kind.name() };
    columns.left("step", move |one| step(one).replace('_', " ")).hidden(2);
    columns.right("prompt", |one| history.request(one.request).prompt_total()).hidden(1);
    columns.right("recorded read", |one| one.recorded);
    columns.right("simulated", |one| one.simulated);
    document.grid(columns.grid(&verification.worst));
}
