//! Placement of bundle records one after another, each with the decisions of its session so far.
//!
//! Errors of records that are not bundles.

use rustc_hash::FxHashMap;

use super::block::{Block, CacheEdits};
use super::bundle::{Bundle, Prompt};
use super::flags::Flags;
use super::headers::HeaderLatches;
use super::message::marked;
use super::normal_form::Repairs;
use super::raw::{ObjectWriter, quoted, write_list, write_object};
use super::system;
use super::system::{Part, Sections};
use super::tool::Schemas;
use super::ttl::{Latches, Scope};

/// Harness that places the markers of a stream of bundle records, and keeps the decisions of each session.
///
/// ```
/// use cachesim::read::harness::Harness;
///
/// let bundle = r#"{"request_id":"r1","prompt":{"model":"claude-opus-5","system":["Be brief."],
///     "tools":[],"messages":[{"role":"user","content":"hello"}]}}"#;
/// let placed = Harness::new().place(bundle)?;
/// let marker = r#""cache_control":{"type":"ephemeral","ttl":"1h"}"#;
/// assert_eq!(placed.text().matches(marker).count(), 2);
/// # Ok::<(), cachesim::read::harness::BundleError>(())
/// ```
#[derive(Debug, Default)]
pub struct Harness {
    /// Sessions by name. Records without a name share one.
    sessions: FxHashMap<Option<String>, Session>,
    /// Value in place of the flag `global_scope` of every record.
    global_scope: Option<bool>,
    /// True if the last placed record is sent to the provider's own service.
    is_first_party: bool,
    /// Keys of the last record that have no meaning here.
    unknown_keys: Vec<String>,
}

/// Placed bundle record: the text of one JSON object on one line, without a line end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Placed {
    /// Capture record, whose `request` carries the markers, and the repairs that it needed.
    Request(String, Repairs),
    /// `{"request_id": …, "error": "volatile_without_reason"}`: a section of the system prompt is
    /// recomputed for each request and no reason is given. The session is as if the record had never
    /// been.
    Refused(String),
}

/// Decisions of a session.
#[derive(Debug, Default)]
struct Session {
    latches: Latches,
    schemas: Schemas,
    conversation: Conversation,
}

/// Decisions that hold until a session is cleared or compacted.
#[derive(Debug, Default)]
struct Conversation {
    sections: Sections,
    headers: HeaderLatches,
    cache_edits: CacheEdits,
}

impl Harness {
    /// Harness that has seen no session.
    pub fn new() -> Self {
        Self::default()
    }

    /// Harness that has seen no session, with a value in place of the flag `global_scope` of every record.
    ///
    /// With the flag, the part of a system prompt before the boundary is cached for everyone, unless the tools or the
    /// provider forbid it. `None` leaves each record its own flag.
    pub fn with_global_scope(global_scope: Option<bool>) -> Self {
        Self { global_scope, ..Self::default() }
    }

    /// Returns true if the last placed record is sent to the provider's own service, and not through a
    /// gateway or to another platform.
    pub fn is_first_party(&self) -> bool {
        self.is_first_party
    }

    /// Keys of the last placed record, and of its flags, that have no meaning here.
    pub fn unknown_keys(&self) -> &[String] {
        &self.unknown_keys
    }

    /// Places one bundle record, given as the text of one JSON object. An error leaves all
    /// sessions as they were.
    pub fn place(&mut self, record: &str) -> Result<Placed, BundleError> {
        let mut bundle = Bundle::read(record)?;
        if let Some(global_scope) = self.global_scope {
            bundle.flags.system.set_global_scope(global_scope);
        }
        self.is_first_party = bundle.flags.system.is_first_party;
        self.unknown_keys = std::mem::take(&mut bundle.unknown_keys);
        // Refused before the session is touched: the record counts as never sent.
        if bundle.prompt.system.iter().any(Part::lacks_reason) {
            return Ok(Placed::Refused(on_one_line(refusal(&bundle))));
        }
        let name = bundle.session.as_ref().map(|name| name.clone().into_owned());
        let session = self.sessions.entry(name).or_default();
        if bundle.flags.is_cleared {
            session.conversation = Conversation::default();
        }
        let repairs = bundle.prompt.repairs;
        Ok(Placed::Request(on_one_line(session.capture_record(bundle)), repairs))
    }
}

impl Placed {
    /// JSON of the placed record or of the refusal.
    pub fn text(&self) -> &str {
        match self {
            Self::Request(text, _) | Self::Refused(text) => text,
        }
    }
}

impl Session {
    fn capture_record(&mut self, mut bundle: Bundle<'_>) -> String {
        let mut text = String::new();
        write_object(&mut text, |record| {
            for (name, value) in &bundle.repeated {
                record.member(name).push_str(value.get());
            }
            if let Some(headers) = &bundle.headers {
                self.conversation.headers.write(record.member("headers"), headers);
            }
            write_object(record.member("request"), |request| {
                self.write_request(request, &mut bundle.prompt, &bundle.flags);
            });
        });
        text
    }

    fn write_request(
        &mut self,
        request: &mut ObjectWriter<'_>,
        prompt: &mut Prompt<'_>,
        flags: &Flags<'_>,
    ) {
        request.member("model").push_str(prompt.model.get());
        self.write_system(request.member("system"), prompt, flags);
        write_list(request.member("tools"), &prompt.tools, |text, tool| {
            self.schemas.write(text, tool);
        });
        self.write_messages(request.member("messages"), prompt, flags);
        for setting in &prompt.settings {
            request.copy(setting.key.get(), setting.value.get());
        }
    }

    fn write_system(&mut self, text: &mut String, prompt: &Prompt<'_>, flags: &Flags<'_>) {
        let context = system::context_text(&prompt.system_context);
        let mut strings = self.conversation.sections.texts(&prompt.system);
        strings.extend(context.as_deref());
        let blocks = system::blocks(&strings, &flags.system);
        write_list(text, &blocks, |text, block| {
            let marker = block.scope.and_then(|scope| self.latches.marker(scope, flags));
            let mut block = Block::text(quoted(&block.text), false);
            // `write` adds nothing if there is no marker for the block's scope.
            block.is_marked = true;
            block.write(text, marker);
        });
    }

    fn write_messages(&mut self, text: &mut String, prompt: &mut Prompt<'_>, flags: &Flags<'_>) {
        let messages = &mut prompt.messages;
        let marked = marked(messages, flags.skips_cache_write);
        let marker = marked.and_then(|_| self.latches.marker(Scope::Organisation, flags));
        if let Some(index) = marked.filter(|_| marker.is_some()) {
            messages[index].mark();
        }
        // Without caching there is nothing to delete from.
        if flags.cache.may_be_edited && flags.has_caching {
            let cache_edits = &mut self.conversation.cache_edits;
            cache_edits.apply(messages, marked, flags.cache.deletion.as_ref());
        }
        write_list(text, &*messages, |text, message| message.write(text, marker));
    }
}

fn refusal(bundle: &Bundle<'_>) -> String {
    let mut text = String::new();
    write_object(&mut text, |record| {
        let id = bundle.request_id.map_or("null", |id| id.get());
        record.member("request_id").push_str(id);
        record.member("error").push_str("\"volatile_without_reason\"");
    });
    text
}

/// JSON on one line. A record may span lines, and parts of it are copied; inside strings a line end
/// is escaped, so any that is left is white space.
fn on_one_line(json: String) -> String {
    if json.contains(['\n', '\r']) { json.replace(['\n', '\r'], " ") } else { json }
}

/// Error of a record that is not a bundle. Nothing was placed and no session changed.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// The text is not JSON.
    #[error("the record is no JSON: {0}; expected one object")]
    Json(#[source] serde_json::Error),
    /// A value that the rules depend on is missing or of another type.
    #[error("`{field}` is {found}; expected {expected}")]
    Shape {
        /// Path of the value.
        field: String,
        /// Description of the value.
        found: &'static str,
        /// Description of a correct value.
        expected: &'static str,
    },
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::*;

    const HOUR: &str = r#""cache_control":{"type":"ephemeral","ttl":"1h"}"#;

    fn bundle(session: &str, section: &str, flags: &str) -> String {
        format!(
            r#"{{"session_id":"{session}","request_id":"r","prompt":{{"model":"m","tools":[],
            "system":[{{"section":"s","text":"{section}"}}],
            "messages":[{{"role":"user","content":"hi"}}]}},"flags":{flags}}}"#
        )
    }

    fn placed(harness: &mut Harness, record: &str) -> String {
        match harness.place(record) {
            Ok(Placed::Request(text, _)) => text,
            other => panic!("{record}: {other:?}"),
        }
    }

    #[test]
    fn what_the_rules_do_not_touch_is_copied() {
        let record = r#"{"usage":{"n": 1.0},"scope":"w","extra":1,"timestamp":"t","agent_id":null,
            "prompt":{"speed":"fast","max_tokens":1e3,"model":"m\u0021","tools":[{"b":1,"a": 2.50}],
            "messages":[{"role":"user","content":"a"},{"content":[{"z":1,"type":"text"}],"role":"x"}],
            "thinking":{"b":1,"a":12345678901234567890123}}}"#;
        assert_eq!(
            placed(&mut Harness::new(), record),
            concat!(
                r#"{"timestamp":"t","agent_id":null,"scope":"w","usage":{"n": 1.0},"#,
                r#""request":{"model":"m\u0021","system":[],"tools":[{"b":1,"a": 2.50}],"#,
                r#""messages":[{"role":"user","content":"a"},{"content":[{"z":1,"type":"text","#,
                r#""cache_control":{"type":"ephemeral","ttl":"1h"}}],"role":"x"}],"#,
                r#""speed":"fast","max_tokens":1e3,"thinking":{"b":1,"a":12345678901234567890123}}}"#
            )
        );
    }

    #[test]
    fn sessions_do_not_see_one_another() {
        let mut harness = Harness::new();
        let overage = r#"{"overage":true}"#;
        assert!(placed(&mut harness, &bundle("a", "1", "{}")).contains(HOUR));
        assert!(!placed(&mut harness, &bundle("b", "2", overage)).contains(HOUR));
        let a = placed(&mut harness, &bundle("a", "3", overage));
        assert!(a.contains(HOUR) && a.contains(r#""text":"1""#), "{a}");
        let b = placed(&mut harness, &bundle("b", "4", "{}"));
        assert!(!b.contains(HOUR) && b.contains(r#""text":"2""#), "{b}");
        // Lifetimes stay as they were decided, sections do not.
        let cleared = placed(&mut harness, &bundle("b", "5", r#"{"cleared":true}"#));
        assert!(!cleared.contains(HOUR) && cleared.contains(r#""text":"5""#), "{cleared}");
        let a = placed(&mut harness, &bundle("a", "6", "{}"));
        assert!(a.contains(r#""text":"1""#), "{a}");
        let cleared = placed(&mut harness, &bundle("a", "7", r#"{"overage":true,"cleared":true}"#));
        assert!(cleared.contains(HOUR) && cleared.contains(r#""text":"7""#), "{cleared}");
    }

    #[test]
    fn a_mode_once_on_stays_on_until_cleared() {
        let mut harness = Harness::new();
        let mut headers = |betas: &str, flags: &str| {
            let record = bundle("a", "1", flags);
            let record = record.replacen('{', &format!("{{\"headers\":{betas},"), 1);
            let text = placed(&mut harness, &record);
            let after = text.split("\"headers\":").nth(1).unwrap_or_default();
            after.split_inclusive('}').next().unwrap_or_default().to_owned()
        };
        let plain = r#"{"x":1,"anthropic-beta":"a-1"}"#;
        let auto = r#"{"Anthropic-Beta":"a-1, afk-mode-2026-01-31"}"#;
        assert_eq!(headers(plain, "{}"), plain);
        assert_eq!(headers(auto, "{}"), auto);
        let kept = r#"{"x":1,"anthropic-beta":"a-1,afk-mode-2026-01-31"}"#;
        assert_eq!(headers(plain, "{}"), kept);
        assert_eq!(headers("{}", "{}"), r#"{"anthropic-beta":"afk-mode-2026-01-31"}"#);
        // Other features come and go.
        let other = r#"{"anthropic-beta":["b-1"]}"#;
        let both = r#"{"anthropic-beta":"b-1,afk-mode-2026-01-31"}"#;
        assert_eq!(headers(other, "{}"), both);
        assert_eq!(headers(plain, r#"{"cleared":true}"#), plain);
    }

    #[test]
    fn keys_without_a_meaning_are_named() {
        let mut harness = Harness::new();
        let record = bundle("a", "1", r#"{"subscribed":true,"overage":false}"#);
        placed(&mut harness, &record.replacen('{', r#"{"header":{},"#, 1));
        assert_eq!(harness.unknown_keys(), ["header", "flags.subscribed"]);
        placed(&mut harness, &bundle("a", "1", "{}"));
        assert!(harness.unknown_keys().is_empty());
    }

    #[test]
    fn a_record_with_an_error_changes_nothing() {
        let mut harness = Harness::new();
        placed(&mut harness, &bundle("a", "1", "{}"));
        let cleared = bundle("a", "2", r#"{"cleared":true}"#);
        let broken = cleared.replace(r#""content":"hi"}"#, r#""content":"hi"},7"#);
        assert!(harness.place(&broken).is_err());
        let refused = cleared.replace(r#""text":"2""#, r#""text":"2","volatile":true"#);
        let refusal = r#"{"request_id":"r","error":"volatile_without_reason"}"#;
        assert_eq!(harness.place(&refused).expect("a bundle"), Placed::Refused(refusal.to_owned()));
        let after = placed(&mut harness, &bundle("a", "3", r#"{"overage":true}"#));
        assert!(after.contains(HOUR) && after.contains(r#""text":"1""#), "{after}");
    }

    #[test]
    fn without_caching_nothing_is_decided() {
        let mut harness = Harness::new();
        let without =
            placed(&mut harness, &bundle("a", "1", r#"{"caching":false,"subscriber":false}"#));
        assert!(!without.contains("cache_control") && without.contains(r#""content":"hi""#));
        assert!(placed(&mut harness, &bundle("a", "1", "{}")).contains(HOUR));
    }

    #[test]
    fn depth_and_damage_do_not_matter() {
        let deep = 200_000;
        let nest = format!("{}{}", "[".repeat(deep), "]".repeat(deep));
        let record = bundle("a", "1", "{}");
        let nested = record.replace("\"hi\"", &format!(r#"[{{"type":"text","text":{nest}}}]"#));
        assert!(placed(&mut Harness::new(), &nested).contains(&nest));
        for field in ["\"s\"", "\"m\"", "[]", "\"a\"", "{}", "\"user\"", "\"1\""] {
            for other in ["null", "7", "-1.5e999", "\"\\ud800\"", "[[]]", "{\"\":{}}", &nest] {
                place_anything(&record.replace(field, other));
            }
        }
        for index in 0..record.len() {
            for other in ["", "\"", "\\", "{", "}", "[", "]", ",", ":", "0", "\n", "\u{0}"] {
                let (before, after) = record.split_at(index);
                place_anything(&format!("{before}{other}{}", &after[1..]));
            }
            assert!(Harness::new().place(&record[..index]).is_err());
        }
    }

    /// Checks that any record at all is placed as JSON on one line.
    fn place_anything(record: &str) {
        if let Ok(placed) = Harness::new().place(record) {
            assert!(serde_json::from_str::<&RawValue>(placed.text()).is_ok(), "{record}");
            assert!(!placed.text().contains('\n'), "{record}");
        }
    }
}
