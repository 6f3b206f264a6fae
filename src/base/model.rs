//! Models: their names, as platforms and clients write them, and what is known of each.
//!
//! The facts stand in `models/anthropic.toml`, which says what each means and where it comes from. A
//! price file may hold further ones (`--prices`), which are laid over those key by key.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::sync::{Arc, LazyLock};

use jiff::civil::Date;

pub(crate) use super::model_table::BUILT_IN;
use super::model_table::{of_document, parse};
use super::toml_text::TomlError;
use super::units::{Millis, Tokens};
use super::vocabulary::Vocabulary;

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
    pub(super) minimum: Minimum,
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
    /// The most tokens of a prompt with its answer; `None` where that is not known.
    pub window: Option<Tokens>,
    /// What estimates its tokens.
    pub tokenizer: Arc<Tokenizer>,
    /// The vocabulary in which its tokens are counted; `None` where it is not known.
    pub vocabulary: Option<Vocabulary>,
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
    pub(super) const ALL: [(&str, Self); 4] = [
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
pub(super) struct Minimum {
    /// Before the days that are named.
    pub(super) first: Tokens,
    /// From such a day on, rising.
    pub(super) later: Arc<[(Date, Tokens)]>,
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

/// What estimates the tokens of some models.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tokenizer {
    /// Its name.
    pub id: String,
    /// Its vocabulary, where that is known.
    pub vocabulary: Option<Vocabulary>,
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
pub(super) struct Known {
    /// Of names of which no entry knows more.
    pub(super) usual: Facts,
    pub(super) tokenizers: Tokenizers,
    /// The nearer later.
    pub(super) entries: Vec<Entry>,
}

pub(super) type Tokenizers = BTreeMap<String, Arc<Tokenizer>>;

/// Facts, and the names for which they hold.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) scope: Scope,
    pub(super) text: String,
    pub(super) given: Given,
}

/// Which names an entry is for, the nearest last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Scope {
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

/// What a table says of a vocabulary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GivenVocabulary {
    /// It is this one.
    Known(Vocabulary),
    /// None is known.
    None,
}

impl GivenVocabulary {
    /// The vocabulary, if one is known.
    pub(super) fn known(self) -> Option<Vocabulary> {
        match self {
            Self::Known(vocabulary) => Some(vocabulary),
            Self::None => None,
        }
    }
}

/// The facts that an entry has.
#[derive(Clone, Debug, Default)]
pub(super) struct Given {
    pub(super) minimum: Option<Minimum>,
    pub(super) drops_thinking: Option<bool>,
    pub(super) prefix_check: Option<PrefixCheck>,
    pub(super) tools_prompt: Option<Tokens>,
    pub(super) frame: Option<Tokens>,
    pub(super) effort_keeps_cache: Option<bool>,
    pub(super) client_reports_breaks: Option<bool>,
    pub(super) window: Option<Tokens>,
    pub(super) tokenizer: Option<Arc<Tokenizer>>,
    pub(super) vocabulary: Option<GivenVocabulary>,
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
        facts.window = self.window.or(facts.window);
        if let Some(tokenizer) = tokenizer {
            facts.elsewhere_per_1000 = tokenizer.elsewhere_per_1000.get();
            facts.vocabulary = tokenizer.vocabulary;
            facts.tokenizer = Arc::clone(tokenizer);
        }
        if let Some(vocabulary) = self.vocabulary {
            facts.vocabulary = vocabulary.known();
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
            let known = of_document(BUILT_IN.get_ref(), None);
            let known = known.expect("the compiled-in facts are well-formed");
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
            let known = parse(content, &self.0);
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
