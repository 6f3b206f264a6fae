//! Models: their names, as platforms and clients write them, and what is known of each.
//!
//! The facts stand in `models/anthropic.toml`, which says what each means and where it comes from. A
//! price file may hold further ones (`--prices`), which are laid over those key by key.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::sync::{Arc, LazyLock};

use jiff::civil::Date;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::toml_text::{Fault, TomlError, quoted, refuse_unknown_keys, text, texts};
use super::units::{Millis, Tokens};
use super::wording::{alternatives, grouped};

/// The built-in facts. The prices beside them are read by `simulate/pricing`.
const BUILT_IN: &str = include_str!("../../models/anthropic.toml");

/// The region prefixes of Bedrock model ids.
const BEDROCK_REGIONS: [&str; 5] = ["us", "eu", "apac", "jp", "au"];

/// The prefix of Bedrock model ids in the government's regions, and the beginning of these regions' names.
const GOVERNMENT: &str = "us-gov";

/// Where a model was called, as far as its name tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Platform {
    /// The Claude API, or a platform at its prices.
    #[default]
    Global,
    /// A regional endpoint of Bedrock or Google Cloud, which costs more for newer models.
    Regional,
    /// A region of Bedrock that is the government's alone (`GovCloud`), which costs more for all.
    Government,
}

/// Strips what clients and platforms add to a model id: `[1m]`, Bedrock's region, vendor and
/// version, and Google Cloud's `@date`. Gateways write Claude's versions with a point, `claude-opus-4.6`.
#[must_use]
pub fn canonical_name(name: &str) -> Cow<'_, str> {
    let name = name.split('[').next().unwrap_or(name);
    let name = name.split('@').next().unwrap_or(name);
    let name = name.rsplit('/').next().unwrap_or(name);
    let name = name.rsplit_once("anthropic.").map_or(name, |(_, rest)| rest);
    let name = strip_bedrock_version(name);
    if name.starts_with("claude-") && name.contains('.') {
        return Cow::Owned(name.replace('.', "-"));
    }
    Cow::Borrowed(name)
}

/// The platform that a model's name reveals.
#[must_use]
pub fn platform(name: &str) -> Platform {
    let (folders, name) = name.rsplit_once('/').unwrap_or(("", name));
    if folders.split(['/', ':']).any(|folder| folder.starts_with(GOVERNMENT)) {
        return Platform::Government;
    }
    match name.split_once(".anthropic.") {
        Some((GOVERNMENT, _)) => Platform::Government,
        Some((region, _)) if BEDROCK_REGIONS.contains(&region) => Platform::Regional,
        _ => Platform::Global,
    }
}

/// Strips `-v1:0` or `-v1`.
fn strip_bedrock_version(name: &str) -> &str {
    let base = name.split(':').next().unwrap_or(name);
    match base.rsplit_once("-v") {
        Some((front, version))
            if !version.is_empty() && version.bytes().all(|byte| byte.is_ascii_digit()) =>
        {
            front
        }
        _ => base,
    }
}

/// What is known of one model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    minimum: Minimum,
    /// Whether the thinking of earlier turns leaves its prompts when a new one arrives.
    pub drops_thinking: bool,
    /// What it does with thinking after another prefix than its own.
    pub prefix_check: PrefixCheck,
    /// What the service adds to the system prompt where there are tools.
    pub tools_prompt: Tokens,
    /// What frames every prompt.
    pub frame: Tokens,
    /// Whether its cache outlives another effort.
    pub effort_keeps_cache: bool,
    /// Whether the client's own rule for breaks looks at it.
    pub client_reports_breaks: bool,
    /// What counts its tokens.
    pub tokenizer: Arc<Tokenizer>,
    /// How many tokens other providers count for a thousand of its own: as many where its tokenizer is
    /// only assumed.
    pub elsewhere_per_1000: u64,
}

/// What a model does with thinking that stands after another prefix than the one it was made after, where a
/// request does not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrefixCheck {
    /// It does not look.
    None,
    /// The service leaves the block out.
    Drops,
    /// It refuses the request of accounts made since 2026-08-31, and leaves the block out for others.
    RefusesNewAccounts,
    /// It refuses the request.
    Refuses,
}

impl PrefixCheck {
    /// Every one, by its name in price files.
    const ALL: [(&str, Self); 4] = [
        ("none", Self::None),
        ("drops", Self::Drops),
        ("refuses_new_accounts", Self::RefusesNewAccounts),
        ("refuses", Self::Refuses),
    ];
}

impl Facts {
    /// The shortest prefix that it caches on the day of `at`, in UTC.
    #[must_use]
    pub fn minimum(&self, at: Millis) -> Tokens {
        self.minimum.at(at)
    }
}

/// The shortest prefix that is cached, by day.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Minimum {
    /// Before the days that are named.
    first: Tokens,
    /// From such a day on, rising.
    later: Arc<[(Date, Tokens)]>,
}

impl Minimum {
    fn at(&self, at: Millis) -> Tokens {
        if self.later.is_empty() {
            return self.first;
        }
        let moment = jiff::Timestamp::from_millisecond(at.get()).ok();
        let day = moment.map(|moment| moment.to_zoned(jiff::tz::TimeZone::UTC).date());
        let holds = |(from, _): &&(Date, Tokens)| day.is_some_and(|day| day >= *from);
        self.later.iter().rfind(holds).map_or(self.first, |(_, tokens)| *tokens)
    }
}

/// What counts the tokens of some models.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tokenizer {
    /// Its name.
    pub id: String,
    /// Characters for a hundred tokens, by [kind of text](Self::KINDS).
    pub characters_per_100: [NonZeroU64; 7],
    /// Bytes of a transcript's contents for a thousand tokens.
    pub bytes_per_1000: NonZeroU64,
    /// The longest edge to which the service scales an image down, in pixels.
    pub image_edge: NonZeroU64,
    /// The most tokens that an image has.
    pub image_tokens: NonZeroU64,
    /// How many tokens other providers count for a thousand.
    pub elsewhere_per_1000: NonZeroU64,
}

impl Tokenizer {
    /// The kinds of text whose characters are counted: listings with numbers and hashes, identifiers
    /// like UUIDs, and ideographs with what else there is.
    pub const KINDS: [&'static str; 7] =
        ["prose", "code", "json", "listing", "identifiers", "ideographs", "base64"];
}

/// What is known of all models. A clone is as cheap as a reference.
#[derive(Clone, Debug)]
pub struct Models(Arc<Known>);

#[derive(Clone, Debug)]
struct Known {
    /// Of names of which no entry knows more.
    usual: Facts,
    tokenizers: Tokenizers,
    /// The nearer later.
    entries: Vec<Entry>,
}

type Tokenizers = BTreeMap<String, Arc<Tokenizer>>;

/// Facts, and the names for which they hold.
#[derive(Clone, Debug)]
struct Entry {
    scope: Scope,
    text: String,
    given: Given,
}

/// Which names an entry is for, the nearest last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Scope {
    /// Those that have its text anywhere, as they are written.
    Part,
    /// Those that begin with its text.
    Prefix,
    /// The one that is its text.
    Name,
}

impl Entry {
    /// Whether it is for a model, by its name as written and by its canonical one.
    fn is_for(&self, written: &str, canonical: &str) -> bool {
        match self.scope {
            Scope::Part => written.contains(&self.text) || canonical.contains(&self.text),
            Scope::Prefix if canonical.starts_with(&self.text) => true,
            // An id may end in what is taken off of names.
            Scope::Prefix | Scope::Name => canonical == canonical_name(&self.text),
        }
    }
}

/// The facts that an entry has.
#[derive(Clone, Debug, Default)]
struct Given {
    minimum: Option<Minimum>,
    drops_thinking: Option<bool>,
    prefix_check: Option<PrefixCheck>,
    tools_prompt: Option<Tokens>,
    frame: Option<Tokens>,
    effort_keeps_cache: Option<bool>,
    client_reports_breaks: Option<bool>,
    tokenizer: Option<Arc<Tokenizer>>,
}

impl Given {
    fn lay_over(&self, facts: &mut Facts) {
        let Self { minimum, tokenizer, .. } = self;
        facts.minimum = minimum.as_ref().unwrap_or(&facts.minimum).clone();
        facts.drops_thinking = self.drops_thinking.unwrap_or(facts.drops_thinking);
        facts.prefix_check = self.prefix_check.unwrap_or(facts.prefix_check);
        facts.tools_prompt = self.tools_prompt.unwrap_or(facts.tools_prompt);
        facts.frame = self.frame.unwrap_or(facts.frame);
        facts.effort_keeps_cache = self.effort_keeps_cache.unwrap_or(facts.effort_keeps_cache);
        let reports = self.client_reports_breaks.unwrap_or(facts.client_reports_breaks);
        facts.client_reports_breaks = reports;
        if let Some(tokenizer) = tokenizer {
            facts.elsewhere_per_1000 = tokenizer.elsewhere_per_1000.get();
            facts.tokenizer = Arc::clone(tokenizer);
        }
    }
}

impl Default for Models {
    fn default() -> Self {
        Self::built_in()
    }
}

impl Models {
    /// What is compiled in; read once.
    ///
    /// # Panics
    /// Never: a test reads the same text.
    #[must_use]
    pub fn built_in() -> Self {
        static MODELS: LazyLock<Models> = LazyLock::new(|| {
            let known = parse(BUILT_IN, None).expect("the compiled-in facts are well-formed");
            Models(Arc::new(known))
        });
        MODELS.clone()
    }

    /// What is known of a model, by its name as written. It looks through all entries, so ask once for
    /// a model rather than for each of its requests.
    #[must_use]
    pub fn facts(&self, name: &str) -> Facts {
        let canonical = canonical_name(name);
        let mut facts = self.0.usual.clone();
        for entry in self.0.entries.iter().filter(|entry| entry.is_for(name, &canonical)) {
            entry.given.lay_over(&mut facts);
        }
        facts
    }

    /// What is taken to hold of a model of which nothing is known.
    #[must_use]
    pub fn usual(&self) -> &Facts {
        &self.0.usual
    }

    /// Lays the facts of a price file over these, key by key; other programs' JSON has none.
    ///
    /// # Errors
    /// What in the file cannot be used; nothing of it is then.
    pub fn overlay(&mut self, content: &str, file: &str) -> Result<(), TomlError> {
        if JsonShape::of(content).is_none() {
            let known = parse(content, Some(&self.0));
            self.0 = Arc::new(known.map_err(|fault| fault.in_file(file, content))?);
        }
        Ok(())
    }
}

/// What other programs' tables of prices are, in place of this program's TOML.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JsonShape {
    /// LiteLLM's.
    Object,
    /// That of genai-prices.
    List,
}

impl JsonShape {
    /// `None` of TOML, in which a brace never comes first, nor right after a first bracket.
    pub(crate) fn of(text: &str) -> Option<Self> {
        let text = text.trim_start();
        let in_list =
            || text.strip_prefix('[').is_some_and(|rest| rest.trim_start().starts_with('{'));
        if text.starts_with('{') { Some(Self::Object) } else { in_list().then_some(Self::List) }
    }
}

/// What is known with a file laid over what was known before; the built-in one has nothing before it.
fn parse(content: &str, before: Option<&Known>) -> Result<Known, Fault> {
    let document = DeTable::parse(content)
        .map_err(|error| Fault::at(error.span().map_or(0, |span| span.start), error.message()))?;
    let document = document.get_ref();
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
    let missing = || Fault::at(0, "`usual` needs all facts");
    Ok(Facts {
        minimum: given.minimum.ok_or_else(missing)?,
        drops_thinking: given.drops_thinking.ok_or_else(missing)?,
        prefix_check: given.prefix_check.ok_or_else(missing)?,
        tools_prompt: given.tools_prompt.ok_or_else(missing)?,
        frame: given.frame.ok_or_else(missing)?,
        effort_keeps_cache: given.effort_keeps_cache.ok_or_else(missing)?,
        client_reports_breaks: given.client_reports_breaks.ok_or_else(missing)?,
        tokenizer: given.tokenizer.ok_or_else(missing)?,
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
        // Of equal ones the later stays the nearer: a model's, and that of the file on top.
        self.entries.sort_by_key(|entry| (entry.scope, entry.text.len()));
        Ok(())
    }
}

/// The keys of facts.
const FACTS: [&str; 8] = [
    "minimum",
    "drops_thinking",
    "prefix_check",
    "tools_prompt",
    "frame",
    "effort_keeps_cache",
    "client_reports_breaks",
    "tokenizer",
];

/// The facts of a table that has other keys, too.
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
        frame: tokens("frame")?,
        effort_keeps_cache: flag(table, "effort_keeps_cache")?,
        client_reports_breaks: flag(table, "client_reports_breaks")?,
        tokenizer: tokenizer.transpose()?.map(Arc::clone),
    })
}

fn prefix_check(value: &Spanned<DeValue<'_>>) -> Result<PrefixCheck, Fault> {
    let known = value.get_ref().as_str().and_then(|name| {
        PrefixCheck::ALL.iter().find(|(known, _)| *known == name).map(|(_, check)| *check)
    });
    let names = PrefixCheck::ALL.map(|(name, _)| name);
    known.ok_or_else(|| Fault::mistyped("prefix_check", &alternatives(&names), value))
}

/// A number of tokens, or rows of it with their first days.
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
    refuse_unknown_keys(table, &[&["id", CHARACTERS], &OWN[..]].concat(), "a tokenizer")?;
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
        characters_per_100,
        bytes_per_1000: positive(table, OWN[0])?,
        image_edge: positive(table, OWN[1])?,
        image_tokens: positive(table, OWN[2])?,
        elsewhere_per_1000: positive(table, OWN[3])?,
    })
}

/// Says of which entry a fault is.
fn of(kind: &str, name: &str, mut fault: Fault) -> Fault {
    fault.message = format!("{kind} `{}`: {}", quoted(name), fault.message);
    fault
}

/// The tables of a list, which need not be there, and where they stand.
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

/// No figure of a model is larger; the bound keeps sums of them exact.
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
