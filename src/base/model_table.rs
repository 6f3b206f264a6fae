//! Parser of a table of models: `models/anthropic.toml`, or a price file over it.

use std::num::NonZeroU64;
use std::sync::{Arc, LazyLock};

use jiff::civil::Date;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::model::{
    Entry, Facts, Given, GivenVocabulary, Known, Minimum, PrefixCheck, Scope, Support, Tokenizer,
    Tokenizers,
};
use super::order::Order as _;
use super::toml_text::{Fault, parsed, quoted, refuse_unknown_keys, text, texts};
use super::units::Tokens;
use super::vocabulary::Vocabulary;
use super::wording::{alternatives, grouped};

/// The built-in table of facts, and of prices for `PriceTable`. It is parsed once for both.
pub(crate) static BUILT_IN: LazyLock<Spanned<DeTable<'static>>> = LazyLock::new(|| {
    DeTable::parse(include_str!("../../models/anthropic.toml"))
        .expect("the compiled-in table is TOML")
});

/// Parses a file and overrides the earlier facts.
pub(super) fn parse(content: &str, before: &Known) -> Result<Known, Fault> {
    let document = parsed(content)?;
    of_document(document.get_ref(), Some(before))
}

/// Reads a table and overrides the earlier facts; the built-in table has none before it.
pub(super) fn of_document(document: &DeTable<'_>, before: Option<&Known>) -> Result<Known, Fault> {
    let mut tokenizers = before.map_or_else(Tokenizers::new, |before| before.tokenizers.clone());
    for (table, at) in tables(document, "tokenizer")? {
        let id = id(table, at)?;
        let tokenizer = tokenizer(table, at, id).map_err(|fault| of("tokenizer", id, fault))?;
        tokenizers.insert(id.to_owned(), Arc::new(tokenizer));
    }
    let mut known = match (before, document.get("usual")) {
        (Some(before), None) => Known { tokenizers, ..before.clone() },
        (Some(_), Some(usual)) => {
            let message = "`usual` is for the built-in table alone; give a family the prefix \"\"";
            return Err(Fault::at(usual.span().start, message));
        }
        (None, usual) => {
            let usual = usual.and_then(|usual| usual.get_ref().as_table());
            let usual = usual.ok_or_else(|| Fault::at(0, "there is no table `usual`"))?;
            let given = given(usual, &tokenizers, &[])?;
            Known { usual: usual_facts(given)?, tokenizers, entries: Vec::new() }
        }
    };
    known.add_entries(document)?;
    Ok(known)
}

fn usual_facts(given: Given) -> Result<Facts, Fault> {
    let missing =
        || Fault::at(0, "`usual` needs all facts but `forced_choice`, `thinks` and `window`");
    Ok(Facts {
        minimum: given.minimum.ok_or_else(missing)?,
        drops_thinking: given.drops_thinking.ok_or_else(missing)?,
        prefix_check: given.prefix_check.ok_or_else(missing)?,
        tools_prompt: given.tools_prompt.ok_or_else(missing)?,
        forced_choice: given.forced_choice,
        frame: given.frame.ok_or_else(missing)?,
        effort_keeps_cache: given.effort_keeps_cache.ok_or_else(missing)?,
        thinks: given.thinks,
        default_effort: given.default_effort.ok_or_else(missing)?,
        client_reports_breaks: given.client_reports_breaks.ok_or_else(missing)?,
        system_role: given.system_role.ok_or_else(missing)?,
        fast_mode: given.fast_mode.ok_or_else(missing)?,
        window: given.window,
        tokenizer: given.tokenizer.ok_or_else(missing)?,
        vocabulary: given.vocabulary.ok_or_else(missing)?.known(),
        // The usual tokenizer is only assumed, so nothing is known of the ratio.
        elsewhere_per_1000: 1_000,
    })
}

impl Known {
    /// Adds the families and the models of a file.
    fn add_entries(&mut self, document: &DeTable<'_>) -> Result<(), Fault> {
        const SCOPES: [(&str, Scope); 3] =
            [("part", Scope::Part), ("prefix", Scope::Prefix), ("name", Scope::Name)];
        for (table, at) in tables(document, "family")? {
            let told = SCOPES.iter().filter_map(|(key, scope)| {
                Some(text(table, key).transpose()?.map(|(text, _)| (text, *scope)))
            });
            let [(text, scope)] = told.collect::<Result<Vec<_>, _>>()?[..] else {
                return Err(Fault::at(at, "a family needs one of `part`, `prefix` and `name`"));
            };
            let given = given(table, &self.tokenizers, &SCOPES.map(|(key, _)| key));
            let given = given.map_err(|fault| of("family", text, fault))?;
            self.entries.push(Entry { scope, text: text.to_owned(), given });
        }
        for (table, at) in tables(document, "model")? {
            // A model without facts is in the table for its prices.
            let Some(facts) = table.get("facts") else { continue };
            let id = id(table, at)?;
            let names = texts(table, "aliases").and_then(|aliases| {
                let facts = as_table("facts", facts)?;
                Ok((aliases, given(facts, &self.tokenizers, &[])?))
            });
            let (aliases, given) = names.map_err(|fault| of("model", id, fault))?;
            let aliases = aliases.into_iter().map(|(alias, _)| alias);
            let entry = |text| Entry { scope: Scope::Prefix, text, given: given.clone() };
            self.entries.extend(std::iter::once(id.to_owned()).chain(aliases).map(entry));
        }
        // The sort is stable: of equal entries the later is nearer, a model after a family and the upper file
        // after the lower.
        self.entries.order_by_key(|entry| (entry.scope, entry.text.len()));
        Ok(())
    }
}

/// Keys of facts.
const FACTS: [&str; 15] = [
    "minimum",
    "drops_thinking",
    "prefix_check",
    "tools_prompt",
    "forced_choice",
    "frame",
    "effort_keeps_cache",
    "thinks",
    "default_effort",
    "client_reports_breaks",
    "refuses_system_role",
    "refuses_fast",
    "window",
    "tokenizer",
    "vocabulary",
];

/// Facts of a table that may have other keys as well.
fn given(table: &DeTable<'_>, tokenizers: &Tokenizers, others: &[&str]) -> Result<Given, Fault> {
    refuse_unknown_keys(table, &[&FACTS[..], others].concat(), "what is known of models")?;
    let tokenizer = table.get("tokenizer").map(|value| {
        let known = value.get_ref().as_str().and_then(|name| tokenizers.get(name));
        let names: Vec<&str> = tokenizers.keys().map(String::as_str).collect();
        known.ok_or_else(|| Fault::mistyped("tokenizer", &alternatives(&names), value))
    });
    let tokens = |key| Ok(number(table, key, 0)?.map(Tokens));
    Ok(Given {
        minimum: table.get("minimum").map(minimum).transpose()?,
        drops_thinking: flag(table, "drops_thinking")?,
        prefix_check: table.get("prefix_check").map(prefix_check).transpose()?,
        tools_prompt: tokens("tools_prompt")?,
        forced_choice: tokens("forced_choice")?,
        frame: tokens("frame")?,
        effort_keeps_cache: flag(table, "effort_keeps_cache")?,
        thinks: flag(table, "thinks")?,
        default_effort: text(table, "default_effort")?.map(|(effort, _)| effort.into()),
        client_reports_breaks: flag(table, "client_reports_breaks")?,
        system_role: refused(table, "refuses_system_role")?,
        fast_mode: refused(table, "refuses_fast")?,
        window: tokens("window")?,
        tokenizer: tokenizer.transpose()?.map(Arc::clone),
        vocabulary: table.get("vocabulary").map(vocabulary).transpose()?,
    })
}

/// Name of a vocabulary, or `none`.
fn vocabulary(value: &Spanned<DeValue<'_>>) -> Result<GivenVocabulary, Fault> {
    const NONE: &str = "none";
    match value.get_ref().as_str() {
        Some(NONE) => Ok(GivenVocabulary::None),
        name => name.and_then(Vocabulary::by_name).map(GivenVocabulary::Known).ok_or_else(|| {
            let names = Vocabulary::ALL.map(Vocabulary::name).into_iter().chain([NONE]);
            let names: Vec<&str> = names.collect();
            Fault::mistyped("vocabulary", &alternatives(&names), value)
        }),
    }
}

fn prefix_check(value: &Spanned<DeValue<'_>>) -> Result<PrefixCheck, Fault> {
    let known = value.get_ref().as_str().and_then(|name| {
        PrefixCheck::ALL.iter().find(|(known, _)| *known == name).map(|(_, check)| *check)
    });
    let names = PrefixCheck::ALL.map(|(name, _)| name);
    known.ok_or_else(|| Fault::mistyped("prefix_check", &alternatives(&names), value))
}

/// Refusal of a feature: `true`, `false`, or its first day.
fn refused(table: &DeTable<'_>, key: &str) -> Result<Option<Support>, Fault> {
    let read = |value: &Spanned<DeValue<'_>>| match value.get_ref().as_bool() {
        Some(true) => Ok(Support::RefusedFrom(Date::MIN)),
        Some(false) => Ok(Support::Taken),
        None => day(value)
            .map(Support::RefusedFrom)
            .ok_or_else(|| Fault::mistyped(key, "true, false, or the first day of it", value)),
    };
    table.get(key).map(read).transpose()
}

/// A number of tokens, or rows of numbers with their first days.
fn minimum(value: &Spanned<DeValue<'_>>) -> Result<Minimum, Fault> {
    const ROWS: &str = "a number of tokens, or a list of rows with `tokens` and, after the first row, a \
                        later day `from`";
    let wrong = |value| Fault::mistyped("minimum", ROWS, value);
    let Some(rows) = value.get_ref().as_array() else {
        let first = tokens(value).ok_or_else(|| wrong(value))?;
        return Ok(Minimum { first: Tokens(first), later: Arc::default() });
    };
    let mut first = None;
    let mut later: Vec<(Date, Tokens)> = Vec::new();
    for row in rows {
        let table = row.get_ref().as_table().ok_or_else(|| wrong(row))?;
        refuse_unknown_keys(table, &["from", "tokens"], "a row of `minimum`")?;
        let tokens = number(table, "tokens", 0)?.map(Tokens).ok_or_else(|| wrong(row))?;
        let from = table.get("from").map(|from| day(from).ok_or_else(|| wrong(from)));
        match from.transpose()? {
            Some(from) if later.last().is_none_or(|(before, _)| *before < from) => {
                later.push((from, tokens));
            }
            None if first.is_none() => {}
            _ => return Err(wrong(row)),
        }
        first = first.or(Some(tokens));
    }
    Ok(Minimum { first: first.ok_or_else(|| wrong(value))?, later: later.into() })
}

fn tokenizer(table: &DeTable<'_>, at: usize, id: &str) -> Result<Tokenizer, Fault> {
    const OWN: [&str; 4] =
        ["bytes_per_1000_tokens", "image_edge", "image_tokens", "elsewhere_per_1000"];
    const CHARACTERS: &str = "characters_per_100_tokens";
    refuse_unknown_keys(
        table,
        &[&["id", "vocabulary", CHARACTERS], &OWN[..]].concat(),
        "a tokenizer",
    )?;
    let missing = |key| Fault::at(at, format!("`{key}` is missing"));
    let characters = table.get(CHARACTERS).ok_or_else(|| missing(CHARACTERS))?;
    let characters = as_table(CHARACTERS, characters)?;
    refuse_unknown_keys(characters, &Tokenizer::KINDS, CHARACTERS)?;
    let positive =
        |table, key| number(table, key, 1)?.and_then(NonZeroU64::new).ok_or_else(|| missing(key));
    let mut characters_per_100 = [NonZeroU64::MIN; 7];
    for (kind, to) in Tokenizer::KINDS.into_iter().zip(&mut characters_per_100) {
        *to = positive(characters, kind)?;
    }
    Ok(Tokenizer {
        id: id.to_owned(),
        vocabulary: table
            .get("vocabulary")
            .map(vocabulary)
            .transpose()?
            .and_then(GivenVocabulary::known),
        characters_per_100,
        bytes_per_1000: positive(table, OWN[0])?,
        image_edge: positive(table, OWN[1])?,
        image_tokens: positive(table, OWN[2])?,
        elsewhere_per_1000: positive(table, OWN[3])?,
    })
}

/// Adds the name of the entry to a fault.
fn of(kind: &str, name: &str, mut fault: Fault) -> Fault {
    fault.message = format!("{kind} `{}`: {}", quoted(name), fault.message);
    fault
}

/// Tables of an optional list, with their offsets.
fn tables<'a, 'i>(
    document: &'a DeTable<'i>,
    key: &str,
) -> Result<Vec<(&'a DeTable<'i>, usize)>, Fault> {
    let Some(list) = document.get(key) else { return Ok(Vec::new()) };
    let tables = list.get_ref().as_array().map(|list| {
        list.iter().map(|one| Some((one.get_ref().as_table()?, one.span().start))).collect()
    });
    tables.flatten().ok_or_else(|| Fault::mistyped(key, "a list of tables", list))
}

fn as_table<'a, 'i>(key: &str, value: &'a Spanned<DeValue<'i>>) -> Result<&'a DeTable<'i>, Fault> {
    value.get_ref().as_table().ok_or_else(|| Fault::mistyped(key, "a table", value))
}

fn id<'a>(table: &'a DeTable<'_>, at: usize) -> Result<&'a str, Fault> {
    let id = text(table, "id")?.filter(|(id, _)| !id.is_empty());
    id.map(|(id, _)| id).ok_or_else(|| Fault::at(at, "it has no `id`"))
}

fn flag(table: &DeTable<'_>, key: &str) -> Result<Option<bool>, Fault> {
    let read = |value: &Spanned<DeValue<'_>>| {
        let flag = value.get_ref().as_bool();
        flag.ok_or_else(|| Fault::mistyped(key, "true or false", value))
    };
    table.get(key).map(read).transpose()
}

fn number(table: &DeTable<'_>, key: &str, least: u64) -> Result<Option<u64>, Fault> {
    let read = |value: &Spanned<DeValue<'_>>| {
        let expected = || format!("a whole number from {least} to {}", grouped(MOST));
        let number = tokens(value).filter(|number| *number >= least);
        number.ok_or_else(|| Fault::mistyped(key, &expected(), value))
    };
    table.get(key).map(read).transpose()
}

/// Largest figure of a model. The bound keeps sums exact.
const MOST: u64 = 1_000_000_000;

fn tokens(value: &Spanned<DeValue<'_>>) -> Option<u64> {
    let DeValue::Integer(integer) = value.get_ref() else { return None };
    let number = u64::from_str_radix(integer.as_str(), integer.radix()).ok();
    number.filter(|number| *number <= MOST)
}

fn day(value: &Spanned<DeValue<'_>>) -> Option<Date> {
    let DeValue::Datetime(day) = value.get_ref() else { return None };
    day.to_string().parse().ok()
}
