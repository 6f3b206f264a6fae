//! Models: their names, as platforms and clients write them, and the known facts of each.
//!
//! The facts are in `models/anthropic.toml`, which gives the meaning and the source of each. A price file (`--prices`)
//! may have more, which replace them key by key.

use std::borrow::Cow;
use std::num::NonZeroU64;
use std::sync::{Arc, LazyLock};

use jiff::civil::Date;

pub(crate) use super::model_table::BUILT_IN;
use crate::base::by_key::ByKey;

/// Name of a model that is not named.
pub(crate) const UNKNOWN_MODEL: &str = "unknown";

use super::model_table::{of_document, parse};
use super::toml_text::TomlError;
use super::units::{Millis, Tokens};
use super::vocabulary::Vocabulary;

/// Region prefixes of Bedrock model ids.
const BEDROCK_REGIONS: [&str; 5] = ["us", "eu", "apac", "jp", "au"];

/// Prefix of Bedrock model ids in government regions, and of the names of these regions.
const GOVERNMENT: &str = "us-gov";

/// Platform of a call, by the name of the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Platform {
    /// Claude API, or a platform at its prices.
    #[default]
    Global,
    /// Regional endpoint of Bedrock or Google Cloud, which costs more for newer models.
    Regional,
    /// Government region of Bedrock (`GovCloud`), which costs more for all models.
    Government,
}

/// Prefix of Claude's names on Databricks.
const DATABRICKS: &str = "databricks-";

/// Suffix by which gateways ask for fast mode.
const FAST: &str = "-fast";

/// First version of Claude whose names begin with the family.
const FAMILY_FIRST: u32 = 4;

/// Strips additions of clients and platforms from a model id: `[1m]`, Bedrock's region, vendor and version, and Google
/// Cloud's `@date`. Gateways write Claude's versions with a point, `claude-opus-4.6`, in front of the family,
/// `claude-4.6-opus`, and with a suffix for [fast mode](is_fast).
pub fn canonical_name(name: &str) -> Cow<'_, str> {
    let name = name.split('[').next().unwrap_or(name);
    let name = name.split('@').next().unwrap_or(name);
    // Gateways and ARNs put a path in front of the name.
    let name = name.rsplit('/').next().unwrap_or(name);
    let name = name.rsplit_once("anthropic.").map_or(name, |(_, rest)| rest);
    let name = strip_bedrock_version(name);
    let name = name.strip_prefix(DATABRICKS).filter(|rest| is_claude(rest)).unwrap_or(name);
    if is_claude(name) { of_claude(name) } else { Cow::Borrowed(name) }
}

/// Returns true if a name asks for fast mode of Claude: `claude-opus-5-fast`.
pub fn is_fast(name: &str) -> bool {
    let name = name.split('[').next().unwrap_or(name).to_ascii_lowercase();
    name.ends_with(FAST) && name.contains("claude-")
}

fn is_claude(name: &str) -> bool {
    name.get(..7).is_some_and(|begin| begin.eq_ignore_ascii_case("claude-"))
}

/// Claude's own name of a model, in lower case, without points and with the family in front.
fn of_claude(name: &str) -> Cow<'_, str> {
    let is_plain = |byte: u8| byte != b'.' && !byte.is_ascii_uppercase();
    let begins_with_family = !name.as_bytes().get(7).is_some_and(u8::is_ascii_digit);
    if name.bytes().all(is_plain) && begins_with_family && !name.ends_with(FAST) {
        return Cow::Borrowed(name);
    }
    let name = name.to_ascii_lowercase().replace('.', "-");
    let name = name.strip_suffix(FAST).unwrap_or(&name);
    let mut parts: Vec<&str> = name.split('-').collect();
    let is_number = |part: &&str| part.len() <= 2 && part.parse::<u32>().is_ok();
    let versions = parts[1..].iter().take_while(|part| is_number(part)).count();
    let first = parts.get(1).and_then(|part| part.parse::<u32>().ok());
    if versions + 1 < parts.len() && first.is_some_and(|first| first >= FAMILY_FIRST) {
        parts[1..versions + 2].rotate_right(1);
    }
    Cow::Owned(parts.join("-"))
}

/// Platform that a model's name reveals.
pub fn platform(name: &str) -> Platform {
    // The region of an ARN is a part between colons.
    let (folders, name) = name.rsplit_once('/').unwrap_or(("", name));
    if folders.split(['/', ':']).any(|folder| folder.starts_with(GOVERNMENT)) {
        return Platform::Government;
    }
    // Google Cloud names the region in the path.
    let mut parts = folders.split('/').skip_while(|folder| *folder != "locations");
    if parts.nth(1).is_some_and(|region| region != "global") {
        return Platform::Regional;
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

/// Treatment of a feature by the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Support {
    /// It is not refused, as far as is known.
    Taken,
    /// It is refused from this day on, in UTC.
    RefusedFrom(Date),
}

impl Support {
    /// Returns true if the feature is refused on the day of `at`, in UTC.
    pub fn is_refused(self, at: Millis) -> bool {
        match self {
            Self::Taken => false,
            Self::RefusedFrom(from) => day(at).is_some_and(|day| day >= from),
        }
    }
}

/// Facts about one model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    pub(super) minimum: Minimum,
    /// True if the thinking of earlier turns leaves the prompt when a new turn begins.
    pub drops_thinking: bool,
    /// Treatment of thinking after a changed prefix.
    pub prefix_check: PrefixCheck,
    /// Tokens that the service adds to the system prompt of a request with tools.
    pub tools_prompt: Tokens,
    /// Tokens that it adds besides if the model has to call a tool; `None` if they are unknown.
    pub forced_choice: Option<Tokens>,
    /// Tokens that frame every prompt.
    pub frame: Tokens,
    /// True if the cache survives a change of effort.
    pub effort_keeps_cache: bool,
    /// True if a request without `thinking` is answered as with `adaptive`, false as with `disabled`; `None` if unknown.
    pub thinks: Option<bool>,
    /// Effort of a request that names none.
    pub default_effort: Arc<str>,
    /// True if the client's own rule for breaks covers the model.
    pub client_reports_breaks: bool,
    /// Messages of the role `system`.
    pub system_role: Support,
    /// Fast mode.
    pub fast_mode: Support,
    /// Most tokens of a prompt with its answer; `None` if unknown.
    pub window: Option<Tokens>,
    /// Estimator of the model's tokens.
    pub tokenizer: Arc<Tokenizer>,
    /// Vocabulary in which the model counts tokens; `None` if unknown.
    pub vocabulary: Option<Vocabulary>,
    /// Tokens that other providers count for 1,000 of the model's own; 1,000 if its tokenizer is only assumed.
    pub elsewhere_per_1000: u64,
}

/// Treatment of thinking after another prefix than its original one, if the request does not choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrefixCheck {
    /// No check.
    None,
    /// The service drops the block.
    Drops,
    /// The service refuses the request of accounts made since 2026-08-31, and drops the block for others.
    RefusesNewAccounts,
    /// The service refuses the request.
    Refuses,
}

impl PrefixCheck {
    /// All variants, by their names in price files.
    pub(super) const ALL: [(&str, Self); 4] = [
        ("none", Self::None),
        ("drops", Self::Drops),
        ("refuses_new_accounts", Self::RefusesNewAccounts),
        ("refuses", Self::Refuses),
    ];
}

impl Facts {
    /// Shortest prefix that is cached on the day of `at`, in UTC.
    pub fn minimum(&self, at: Millis) -> Tokens {
        self.minimum.at(at)
    }
}

/// Shortest prefix that is cached, by day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Minimum {
    /// Minimum before the first dated one.
    pub(super) first: Tokens,
    /// Minimums with their first days, ascending.
    pub(super) later: Arc<[(Date, Tokens)]>,
}

impl Minimum {
    fn at(&self, at: Millis) -> Tokens {
        // Most minimums have no dates, and need no calendar.
        if self.later.is_empty() {
            return self.first;
        }
        let day = day(at);
        let holds = |(from, _): &&(Date, Tokens)| day.is_some_and(|day| day >= *from);
        self.later.iter().rfind(holds).map_or(self.first, |(_, tokens)| *tokens)
    }
}

/// Day of a moment, in UTC.
fn day(at: Millis) -> Option<Date> {
    let moment = jiff::Timestamp::from_millisecond(at.get()).ok()?;
    Some(moment.to_zoned(jiff::tz::TimeZone::UTC).date())
}

/// Estimator of the tokens of some models.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tokenizer {
    /// Name that models refer to.
    pub id: String,
    /// Vocabulary, if known.
    pub vocabulary: Option<Vocabulary>,
    /// Characters per hundred tokens, by [kind of text](Self::KINDS).
    pub characters_per_100: [NonZeroU64; 7],
    /// Bytes of a transcript's contents per thousand tokens.
    pub bytes_per_1000: NonZeroU64,
    /// Longest edge to which the service scales an image down, in pixels.
    pub image_edge: NonZeroU64,
    /// Most tokens of an image.
    pub image_tokens: NonZeroU64,
    /// Tokens that other providers count for 1,000 of these.
    pub elsewhere_per_1000: NonZeroU64,
}

impl Tokenizer {
    /// Kinds of text whose characters are counted: listings with numbers and hashes, identifiers like UUIDs, and
    /// ideographs with all other characters.
    pub const KINDS: [&'static str; 7] =
        ["prose", "code", "json", "listing", "identifiers", "ideographs", "base64"];
}

/// Facts about all models. A clone is as cheap as a reference.
#[derive(Clone, Debug)]
pub struct Models(Arc<Known>);

#[derive(Clone, Debug)]
pub(super) struct Known {
    /// Facts of a name without an entry.
    pub(super) usual: Facts,
    pub(super) tokenizers: Tokenizers,
    /// Entries, the nearest last.
    pub(super) entries: Vec<Entry>,
}

pub(super) type Tokenizers = ByKey<String, Arc<Tokenizer>>;

/// Facts, and the names to which they apply.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) scope: Scope,
    pub(super) text: String,
    pub(super) given: Given,
}

/// Names to which an entry applies, the nearest scope last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Scope {
    /// Names that contain the text, as they are written.
    Part,
    /// Names that begin with the text.
    Prefix,
    /// The one name that equals the text.
    Name,
}

impl Entry {
    /// Returns true if the entry applies to a model, by its written or its canonical name.
    fn is_for(&self, written: &str, canonical: &str) -> bool {
        match self.scope {
            Scope::Part => written.contains(&self.text) || canonical.contains(&self.text),
            Scope::Prefix if canonical.starts_with(&self.text) => true,
            // An id itself may end in a suffix that canonical names lose.
            Scope::Prefix | Scope::Name => canonical == canonical_name(&self.text),
        }
    }
}

/// Entry of a table for a vocabulary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GivenVocabulary {
    /// A known vocabulary.
    Known(Vocabulary),
    /// An explicitly unknown one.
    None,
}

impl GivenVocabulary {
    /// The vocabulary, if known.
    pub(super) fn known(self) -> Option<Vocabulary> {
        match self {
            Self::Known(vocabulary) => Some(vocabulary),
            Self::None => None,
        }
    }
}

/// Facts that an entry sets.
#[derive(Clone, Debug, Default)]
pub(super) struct Given {
    pub(super) minimum: Option<Minimum>,
    pub(super) drops_thinking: Option<bool>,
    pub(super) prefix_check: Option<PrefixCheck>,
    pub(super) tools_prompt: Option<Tokens>,
    pub(super) forced_choice: Option<Tokens>,
    pub(super) frame: Option<Tokens>,
    pub(super) effort_keeps_cache: Option<bool>,
    pub(super) thinks: Option<bool>,
    pub(super) default_effort: Option<Arc<str>>,
    pub(super) client_reports_breaks: Option<bool>,
    pub(super) system_role: Option<Support>,
    pub(super) fast_mode: Option<Support>,
    pub(super) window: Option<Tokens>,
    pub(super) tokenizer: Option<Arc<Tokenizer>>,
    pub(super) vocabulary: Option<GivenVocabulary>,
}

impl Given {
    fn lay_over(&self, facts: &mut Facts) {
        let Self { minimum, tokenizer, default_effort, .. } = self;
        facts.minimum = minimum.as_ref().unwrap_or(&facts.minimum).clone();
        facts.default_effort = default_effort.as_ref().unwrap_or(&facts.default_effort).clone();
        facts.thinks = self.thinks.or(facts.thinks);
        facts.drops_thinking = self.drops_thinking.unwrap_or(facts.drops_thinking);
        facts.prefix_check = self.prefix_check.unwrap_or(facts.prefix_check);
        facts.tools_prompt = self.tools_prompt.unwrap_or(facts.tools_prompt);
        facts.forced_choice = self.forced_choice.or(facts.forced_choice);
        facts.frame = self.frame.unwrap_or(facts.frame);
        facts.effort_keeps_cache = self.effort_keeps_cache.unwrap_or(facts.effort_keeps_cache);
        let reports = self.client_reports_breaks.unwrap_or(facts.client_reports_breaks);
        facts.client_reports_breaks = reports;
        facts.system_role = self.system_role.unwrap_or(facts.system_role);
        facts.fast_mode = self.fast_mode.unwrap_or(facts.fast_mode);
        facts.window = self.window.or(facts.window);
        if let Some(tokenizer) = tokenizer {
            facts.elsewhere_per_1000 = tokenizer.elsewhere_per_1000.get();
            facts.vocabulary = tokenizer.vocabulary;
            facts.tokenizer = Arc::clone(tokenizer);
        }
        // After the tokenizer: an explicit vocabulary wins over that of the tokenizer.
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
    /// The compiled-in facts, parsed once.
    ///
    /// # Panics
    /// Never: a test reads the same text.
    pub fn built_in() -> Self {
        static MODELS: LazyLock<Models> = LazyLock::new(|| {
            let known = of_document(BUILT_IN.get_ref(), None);
            let known = known.expect("the compiled-in facts are well-formed");
            Models(Arc::new(known))
        });
        MODELS.clone()
    }

    /// Facts of a model, by its name as written. The call looks through all entries: ask once per model rather than
    /// once per request.
    pub fn facts(&self, name: &str) -> Facts {
        let canonical = canonical_name(name);
        let mut facts = self.0.usual.clone();
        // Nearer entries come later and override.
        for entry in self.0.entries.iter().filter(|entry| entry.is_for(name, &canonical)) {
            entry.given.lay_over(&mut facts);
        }
        facts
    }

    /// Facts assumed for an unknown model.
    pub fn usual(&self) -> &Facts {
        &self.0.usual
    }

    /// Overrides the facts key by key with those of a price file; other programs' JSON has none.
    ///
    /// # Errors
    /// A part of the file that cannot be used; the facts stay as they were.
    pub fn overlay(&mut self, content: &str, file: &str) -> Result<(), TomlError> {
        if JsonShape::of(content).is_none() {
            let known = parse(content, &self.0);
            self.0 = Arc::new(known.map_err(|fault| fault.in_file(file, content))?);
        }
        Ok(())
    }
}

/// Shape of other programs' price tables, which are JSON instead of TOML.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JsonShape {
    /// Table of LiteLLM.
    Object,
    /// Table of genai-prices.
    List,
}

impl JsonShape {
    /// `None` for TOML, in which a brace never comes first, nor right after a first bracket.
    pub(crate) fn of(text: &str) -> Option<Self> {
        let text = text.trim_start();
        let in_list =
            || text.strip_prefix('[').is_some_and(|rest| rest.trim_start().starts_with('{'));
        if text.starts_with('{') { Some(Self::Object) } else { in_list().then_some(Self::List) }
    }
}
