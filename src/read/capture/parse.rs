//! Parser of one line of bytes into a captured request in the tree, and diagnostics.

use std::sync::Arc;

use serde_json::value::RawValue;

use super::attribution::Host;
use super::body::{BodyError, Likeness, WireMarker, WirePath, add_prompt};
use super::load::CaptureOptions;
use super::other_fields::{answer_fields, beta_features, is_us_only, other_fields};
use super::record::{Message, Record, Request, read_answer, seconds};
use super::tree::{WireNodeId, WireTree};
use crate::base::id::Moved;
use crate::base::{
    Facts, HasSymbols, Millis, Refusal, Symbol, Symbols, UNKNOWN_MODEL, has_symbols,
};
use crate::read::input::{
    Diagnostics, Kind, ObjectReader, PriceTier, Stretch, Text, Usage, UsageProblem, moment,
    read_usage,
};

/// Scope of records that name none.
const DEFAULT_SCOPE: &str = "default";

/// Endings of the addresses of requests: Bedrock and Google Cloud name the operation there.
pub(crate) const MESSAGES_ENDPOINTS: [&str; 5] =
    ["/messages", ":rawPredict", ":streamRawPredict", "/invoke", "/invoke-with-response-stream"];

/// Status codes of a successful answer.
const ANSWERED: std::ops::Range<f64> = 200.0..300.0;

/// Tag in front of a fork's directive.
pub(crate) const FORK_TAG: &str = "<fork-boilerplate>";

/// Captured request.
#[derive(Clone, Debug)]
pub struct WireRequest {
    /// Line of the record.
    pub line: u64,
    /// Number of damaged lines before it in its file, so that a request may be missing.
    pub lost_before: u32,
    /// Time at which it was sent.
    pub start: Millis,
    /// Start of its response.
    pub response_started: Option<Millis>,
    /// `request_id`.
    pub request: Option<Symbol>,
    /// Message id of the answer.
    pub message: Option<Symbol>,
    /// `session_id`.
    pub session: Option<Symbol>,
    /// `agent_id`.
    pub agent: Option<Symbol>,
    /// Workspace whose cache it uses.
    pub scope: Symbol,
    /// Model that was asked.
    pub model: Symbol,
    /// End of its prompt in the tree.
    pub leaf: WireNodeId,
    /// Markers in the order of the prefix.
    pub markers: Vec<WireMarker>,
    /// Results that it has deleted on the server (`cache_edits`), in the order of the prefix, each
    /// once.
    pub deleted: Vec<WireNodeId>,
    /// Number of deletions that refer to nothing in front of them.
    pub idle_edits: u32,
    /// Role of its attribution line in the key; `None` without a line.
    pub attribution: Option<AttributionPart>,
    /// Features that requests of its conversation share.
    pub likeness: Likeness,
    /// Number of its messages with a fork's directive.
    pub fork_messages: u32,
    /// Settings that change its price: `speed: fast` and `inference_geo: us`.
    pub asked_tier: PriceTier,
    /// Beta features that it asks for, in alphabetical order and joined by commas; `None` if the
    /// capture does not show them.
    pub betas: Option<Symbol>,
    /// Canonical JSON of an object with the other fields of its body, which may be part of the cache
    /// key; `None` if bytes are not kept.
    pub other_fields: Option<Symbol>,
    /// Canonical JSON of an object with the fields of its body that change the answer or its sending alone; `None` if
    /// bytes are not kept.
    pub answer_fields: Option<Symbol>,
    /// Reason for which the service refuses it, whatever its places of markers.
    pub refusal: Option<Refusal>,
    /// Usage that the answer reports, if it is known.
    pub usage: Option<Usage>,
    /// Facts of a request to a service without markers; `None` if it was sent under their rules.
    pub elsewhere: Option<Elsewhere>,
}

/// Facts of a captured request to a service whose caches need no markers. It has usage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elsewhere {
    /// True if written tokens are reported. If not, they are counted in the input.
    pub knows_writes: bool,
    /// True if the answer had reasoning.
    pub has_reasoning: bool,
    /// Tier at which it was billed.
    pub tier: PriceTier,
}

/// Role of an attribution line in the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttributionPart {
    /// Its bytes are part of the key.
    Literal,
    /// Any line is as good as another.
    Neutral,
}

/// Contents of a stretch of lines.
#[derive(Debug, Default)]
pub(super) struct ParsedRequests {
    pub(super) requests: Vec<WireRequest>,
    pub(super) tree: WireTree,
    pub(super) symbols: Symbols,
    pub(super) diagnostics: Diagnostics,
    /// Number of damaged lines, so that a request may be missing.
    lost: u32,
}

impl Stretch for ParsedRequests {
    fn diagnostics_mut(&mut self) -> &mut Diagnostics {
        &mut self.diagnostics
    }
}

impl ParsedRequests {
    /// Appends the contents of later lines.
    pub(super) fn append(&mut self, later: Self) {
        let nodes = self.tree.absorb(later.tree);
        let symbols = self.symbols.absorb(later.symbols);
        self.diagnostics.absorb(later.diagnostics);
        let lost = self.lost;
        self.requests.extend(later.requests.into_iter().map(|mut request| {
            request.move_to(&nodes, &symbols);
            request.lost_before = request.lost_before.saturating_add(lost);
            request
        }));
        self.lost = lost.saturating_add(later.lost);
    }
}

impl WireRequest {
    /// Replaces its nodes and symbols by those of other tables.
    pub(crate) fn move_to(&mut self, nodes: &[WireNodeId], symbols: &Moved) {
        let node = |id: WireNodeId| nodes[id.0 as usize];
        let move_marker = |marker: &mut WireMarker| marker.node = node(marker.node);
        self.leaf = node(self.leaf);
        self.markers.iter_mut().for_each(move_marker);
        self.deleted.iter_mut().for_each(|id| *id = node(*id));
        // The nodes may have another order in the other tree.
        self.deleted.sort_unstable();
        self.move_symbols(symbols);
    }
}

has_symbols!(WireRequest {
    request, message, session, agent, scope, model, betas, other_fields, answer_fields
} beside {
    line, lost_before, start, response_started, leaf, markers, deleted, idle_edits, attribution,
    likeness, fork_messages, asked_tier, refusal, usage, elsewhere
});

/// Times, ids and usage of a request, whatever the format.
struct Envelope<'a> {
    start: Option<Millis>,
    response_started: Option<Millis>,
    message: Option<String>,
    usage: Result<Usage, UsageProblem>,
    session: Option<&'a str>,
    headers: Option<&'a RawValue>,
    host: Host,
}

/// Parser of lines into [`ParsedRequests`].
pub(super) struct RequestParser<'a> {
    file: &'a Arc<str>,
    options: &'a CaptureOptions,
    /// Model of the last request, and its facts: most requests of a file are for one model.
    model: (String, Facts),
    /// Destination of the requests whose records do not say.
    host: Host,
    /// Facts of the next requests if they were sent to a service without markers.
    elsewhere: Option<Elsewhere>,
    parsed: ParsedRequests,
}

impl<'a> RequestParser<'a> {
    pub(super) fn new(file: &'a Arc<str>, options: &'a CaptureOptions) -> Self {
        let model = (String::new(), options.models.facts(""));
        let (host, parsed) = (Host::Unknown, ParsedRequests::default());
        Self { file, options, model, host, elsewhere: None, parsed }
    }

    /// Sets the destination of the next requests.
    pub(super) fn sent_to(&mut self, host: Host) {
        self.host = host;
    }

    /// Sets the service of the next requests.
    pub(super) fn answered_by(&mut self, elsewhere: Option<Elsewhere>) {
        self.elsewhere = elsewhere;
    }

    /// Number of requests so far.
    pub(super) fn count(&self) -> usize {
        self.parsed.requests.len()
    }

    pub(super) fn finish(self) -> ParsedRequests {
        self.parsed
    }

    fn record(&mut self, record: &Record<'_>, line: u64) {
        let Some(request) = record.request.0.as_ref() else {
            let detail = "no object `request`; a capture has the body as sent there";
            return self.reject(Kind::NotAMessagesRequest, line, detail);
        };
        if request.url.as_str().is_some_and(|url| !is_messages_endpoint(url)) {
            return self.reject(Kind::OtherEndpoint, line, "not /v1/messages");
        }
        if let Some(body) = request.body.0.as_ref() {
            return self.logged(record, request, body, line);
        }
        let envelope = Envelope {
            start: moment(&record.timestamp),
            response_started: moment(&record.response_started_at),
            message: record.message_id.as_str().map(str::to_owned),
            usage: read_usage(record.usage.0.as_ref()),
            session: record.session_id.as_str(),
            headers: record.headers,
            host: request.url.as_str().map_or(self.host, Host::of_url),
        };
        self.request(record, request, envelope, line);
    }

    /// Reads an exchange of a claude-trace log. Requests that were not answered, or with an error, are left
    /// out: their fate is unknown.
    fn logged(&mut self, record: &Record<'_>, sent: &Request<'_>, body: &Request<'_>, line: u64) {
        let Some(response) = record.response.0.as_ref() else {
            return self.reject(Kind::FailedRequest, line, "it was not answered");
        };
        let answered = read_answer(response);
        let is_error = response.status_code.0.is_some_and(|status| !ANSWERED.contains(&status));
        let is_empty = answered.message.is_none() && answered.usage == Err(UsageProblem::Missing);
        if is_error || is_empty {
            return self.reject(Kind::FailedRequest, line, "it was answered with an error");
        }
        let user = body.user();
        let envelope = Envelope {
            start: seconds(sent.timestamp).or_else(|| moment(&record.timestamp)),
            response_started: seconds(response.timestamp),
            message: answered.message,
            usage: answered.usage,
            session: record
                .session_id
                .as_str()
                .or_else(|| user.as_deref().and_then(session_of_user)),
            headers: sent.headers.or(record.headers),
            host: sent.url.as_str().map_or(self.host, Host::of_url),
        };
        self.request(record, body, envelope, line);
    }

    fn request(
        &mut self,
        record: &Record<'_>,
        body: &Request<'_>,
        envelope: Envelope<'_>,
        line: u64,
    ) {
        let Some(start) = envelope.start else {
            let detail = "no usable `timestamp`, the start of the request; it is left out";
            return self.reject(Kind::MissingTimestamp, line, detail);
        };
        let is_neutral = self.options.attribution.is_neutral(envelope.host, body);
        if let Some(name) = body.model.as_str().filter(|name| *name != self.model.0) {
            self.model = (name.to_owned(), self.options.models.facts(name));
        }
        let (tree, facts) = (&mut self.parsed.tree, &self.model.1);
        let path = match add_prompt(body, tree, self.options, facts, is_neutral) {
            Ok(path) => path,
            Err(error) => return self.reject_body(error, line),
        };
        let mut usage = self.usage(envelope.usage, line);
        if let Some((usage, elsewhere)) = usage.as_mut().zip(self.elsewhere) {
            usage.tier = elsewhere.tier;
        }
        // Without usage nothing says what such a service read.
        if self.elsewhere.is_some() && usage.is_none() {
            return;
        }
        let betas = beta_features(envelope.headers, body);
        let WirePath { leaf, mut markers, deleted, idle_edits, attribution, likeness, mut refusal } =
            path;
        let others = self.options.keeps_bytes.then(|| other_fields(body));
        let of_answer = self.options.keeps_bytes.then(|| answer_fields(body));
        let refuses_fast = body.speed.is("fast") && self.model.1.fast_mode.is_refused(start);
        refusal = refusal.or(refuses_fast.then_some(Refusal::NoFastMode));
        if self.elsewhere.is_some() {
            // No rule of markers holds there.
            markers.clear();
            refusal = None;
        }
        let symbols = &mut self.parsed.symbols;
        let mut symbol = |text: Option<&str>| {
            text.filter(|text| !text.is_empty()).map(|text| symbols.intern(text))
        };
        let request = WireRequest {
            line,
            lost_before: self.parsed.lost,
            start,
            response_started: envelope.response_started,
            request: symbol(record.request_id.as_str()),
            message: symbol(envelope.message.as_deref()),
            session: symbol(envelope.session),
            agent: symbol(record.agent_id.as_str()),
            scope: symbols.intern(name_or(&record.scope, DEFAULT_SCOPE)),
            model: symbols.intern(name_or(&body.model, UNKNOWN_MODEL)),
            leaf,
            markers,
            deleted,
            idle_edits,
            attribution,
            likeness,
            fork_messages: fork_messages(body),
            asked_tier: PriceTier::of_messages(body.speed.is("fast"), false, is_us_only(body)),
            betas: betas.map(|betas| symbols.intern(&betas)),
            other_fields: others.map(|others| symbols.intern(&others)),
            answer_fields: of_answer.map(|fields| symbols.intern(&fields)),
            refusal,
            usage,
            elsewhere: self.elsewhere,
        };
        self.parsed.requests.push(request);
    }

    fn reject_body(&mut self, error: BodyError, line: u64) {
        let (kind, detail) = match error {
            BodyError::NotMessages(what) => (Kind::NotAMessagesRequest, what),
            BodyError::TooDeep => (Kind::TooDeep, "nested more than 128 levels; it is left out"),
            BodyError::DuplicateKey => (Kind::DuplicateKey, "in a block; the request is left out"),
            BodyError::TooManyBlocks => (Kind::TooLong, "more than 100,000 blocks; it is left out"),
        };
        self.reject(kind, line, detail);
    }

    /// Usage of a request. Without it the request is simulated all the same; its bill stays unknown.
    fn usage(&mut self, usage: Result<Usage, UsageProblem>, line: u64) -> Option<Usage> {
        let kind = match usage {
            Ok(usage) => return Some(usage),
            Err(UsageProblem::Missing) => return None,
            Err(UsageProblem::Invalid) => Kind::InvalidUsage,
            Err(UsageProblem::WithoutCacheCounters) => Kind::UsageWithoutCacheCounters,
        };
        self.reject(kind, line, "the usage is not used");
        None
    }
}

impl ObjectReader for RequestParser<'_> {
    type Object<'a> = Record<'a>;
    const FILE: &'static str = "a capture";

    fn object(&mut self, record: &Record<'_>, _: &str, line: u64) {
        self.record(record, line);
    }

    fn reject(&mut self, kind: Kind, line: u64, detail: impl Into<String>) {
        // Only damage may hide a request; a line of another kind hides nothing.
        let is_lost = matches!(
            kind,
            Kind::TornLine
                | Kind::NotJson
                | Kind::NotUtf8
                | Kind::TooDeep
                | Kind::TooLong
                | Kind::DuplicateKey
        );
        self.parsed.lost = self.parsed.lost.saturating_add(u32::from(is_lost));
        self.parsed.diagnostics.add(kind, self.file, line, detail);
    }
}

/// Number of messages with the tag that a client puts in front of a fork's directive.
fn fork_messages(body: &Request<'_>) -> u32 {
    let messages = body.messages.0.iter().flatten().filter_map(|message| message.0.as_ref());
    let is_told = |message: &Message<'_>| {
        let is_user = message.role.is_some_and(|role| role.get() == "\"user\"");
        // The tag has no character that JSON escapes, so nothing is decoded.
        is_user && message.content.is_some_and(|content| content.get().contains(FORK_TAG))
    };
    let told = messages.filter(|message| is_told(message)).count();
    u32::try_from(told).unwrap_or(u32::MAX)
}

fn name_or<'t>(text: &'t Text<'_>, default: &'t str) -> &'t str {
    text.as_str().filter(|text| !text.is_empty()).unwrap_or(default)
}

pub(in crate::read) fn is_messages_endpoint(url: &str) -> bool {
    let path = url.split(['?', '#']).next().unwrap_or(url).trim_end_matches('/');
    MESSAGES_ENDPOINTS.iter().any(|end| path.ends_with(end))
}

/// Session that Claude Code names in `metadata.user_id`, after the words `session_` or in a JSON object.
/// The user, the account and the device, which are there, too, are never part of the name.
pub(in crate::read) fn session_of_user(user: &str) -> Option<&str> {
    #[derive(serde::Deserialize)]
    struct User<'a> {
        session_id: Option<&'a str>,
    }
    let behind_word = |text| str::rsplit_once(text, "session_").map(|(_, session)| session);
    let session = if user.trim_start().starts_with('{') {
        let session = serde_json::from_str::<User<'_>>(user).ok()?.session_id?;
        behind_word(session).unwrap_or(session)
    } else {
        behind_word(user)?
    };
    let end = session.find(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    let session = &session[..end.unwrap_or(session.len())];
    (!session.is_empty()).then_some(session)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_session_stands_in_the_user_id() {
        assert_eq!(session_of_user("user_ab_account__session_6fe4-1"), Some("6fe4-1"));
        let object = r#"{"device_id": "x", "session_id": "6fe4-1"}"#;
        assert_eq!(session_of_user(object), Some("6fe4-1"));
        assert_eq!(session_of_user("user"), None);
        assert_eq!(session_of_user("user_ab_session_6fe4-1_account_77"), Some("6fe4-1"));
        assert_eq!(session_of_user("user_ab_account_77_session_"), None);
        let both = r#"{"session_id": "user_ab_account_77_session_6fe4-1"}"#;
        assert_eq!(session_of_user(both), Some("6fe4-1"));
        for object in [
            r#"{"device_id": "x", "session_id": 7, "account_uuid": "77"}"#,
            r#"{"device_id": "x", "account_uuid": "77_session_ab""#,
            r#"{"device_id": "session_ab"}"#,
            r#"{"session_id": "user_ab_account_77_session_"}"#,
        ] {
            assert_eq!(session_of_user(object), None, "{object}");
        }
    }

    #[test]
    fn only_messages_are_requests() {
        let base = "https://api.example";
        assert!(is_messages_endpoint(&format!("{base}/v1/messages?beta=true")));
        assert!(!is_messages_endpoint(&format!("{base}/v1/messages/count_tokens?beta=true")));
        assert!(is_messages_endpoint(&format!("{base}/model/x/invoke-with-response-stream")));
    }
}
