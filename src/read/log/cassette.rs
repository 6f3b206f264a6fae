//! Cassettes: HTTP exchanges that a test recorded, as VCR for Ruby and Python and Betamax write them, in JSON or YAML.
//!
//! A time is that of the recording, or of the answer's header, if there is one.

use std::borrow::Cow;
use std::sync::Arc;

use jiff::fmt::rfc2822;
use serde_json::value::RawValue;

use super::document::Document;
use super::elements::each_element;
use super::exchange::{ANSWERED, Envelope, Exchange};
use super::moment::Moment;
use super::rows::{RowFormat, RowReader};
use super::yaml::as_json;
use super::{Log, LogFormat, LogLayout, LogReader};
use crate::base::{ByKey, Client, Millis};
use crate::read::agent::{FirstObject, Rejected};
use crate::read::answer::decoded;
use crate::read::capture::CaptureOptions;
use crate::read::input::{
    Diagnostics, Kind, Number, ObjectReader as _, OpenSource, Shape, Text, lenient, only_value,
};

/// Lists of exchanges in the formats.
const LISTS: [&str; 2] = ["interactions", "http_interactions"];

/// Beginning of a file in which one in YAML names its list, in bytes.
const BEGINNING: usize = 4_096;

/// Format of cassettes.
pub(super) struct Cassette;

impl LogFormat for Cassette {
    fn recognises(&self, first: &FirstObject<'_>) -> bool {
        let exchanges = LISTS.iter().filter_map(|list| first.first_of(list));
        exchanges.into_iter().any(|one| one.has_member("request"))
    }

    fn begins(&self, bytes: &[u8]) -> bool {
        let beginning = bytes.get(..BEGINNING).unwrap_or(bytes);
        let is_list = |line: &[u8]| {
            let name = line.trim_ascii_end().strip_suffix(b":");
            name.is_some_and(|name| LISTS.iter().any(|list| name == list.as_bytes()))
        };
        beginning.split(|byte| *byte == b'\n').any(is_list)
    }

    fn file(&self) -> &'static str {
        Self::FILE
    }

    fn client(&self) -> Client {
        Client::Capture
    }

    fn layout(&self) -> Option<LogLayout> {
        None
    }

    fn read(&self, open: &mut OpenSource, options: &CaptureOptions) -> Log {
        let label = Arc::clone(&open.label);
        let mut reader = RowReader::<Self>::new(LogReader::new(open, &label, options));
        let mut diagnostics = Diagnostics::default();
        let document = Document::read(open, &mut diagnostics);
        let mut text = Cow::Borrowed(document.text(open, &mut diagnostics));
        if !text.starts_with('{') {
            match as_json(&text) {
                Some(json) => text = json.to_string().into(),
                None => reader.log.reject(Kind::NotJson, 1, "it is no YAML without aliases either"),
            }
        }
        for list in LISTS {
            let mut number = 0;
            let read = each_element(&text, &[list], |exchange| {
                number += 1;
                reader.text(exchange, number);
            });
            if let Err(error) = read {
                let kind = if error.is_eof() { Kind::TornLine } else { Kind::NotJson };
                reader.log.reject(kind, number, "the exchanges before it are used");
            }
        }
        reader.log.file.diagnostics.absorb(diagnostics);
        reader.log.finish(open, document.extent)
    }
}

impl RowFormat for Cassette {
    type Row<'a> = Interaction<'a>;
    const FILE: &'static str = "a cassette of HTTP exchanges";

    fn row(log: &mut LogReader<'_>, row: &Interaction<'_>, line: u64) -> Result<(), Rejected> {
        let other = (Kind::OtherEndpoint, "no request to a model");
        let request = row.request.0.as_ref().ok_or(other)?;
        let is_post = request.method.as_str().is_some_and(|one| one.eq_ignore_ascii_case("post"));
        let url = request.uri.as_str().filter(|_| is_post).ok_or(other)?;
        let failed = (Kind::FailedRequest, "it was not answered, or with an error");
        let response = row.response.0.as_ref().ok_or(failed)?;
        let code = response.status.0.as_ref().and_then(|status| status.code.0);
        if !code.is_some_and(|code| ANSWERED.contains(&code)) {
            return Err(failed);
        }
        let [sent, answer] = [request.body, response.body].map(|body| body.and_then(text_of));
        let sent_at = row.recorded_at.as_str().and_then(time).or_else(|| response.date());
        let exchange = Exchange {
            line,
            sent: sent.as_deref().ok_or(other)?,
            answer: answer.as_deref().unwrap_or_default(),
            envelope: Envelope { sent: sent_at, ..Envelope::default() },
            ..Exchange::default()
        };
        log.exchange_at(url, &exchange)
    }
}

/// Text of a body: a string, or a string inside an object, in base64 if its name says so.
fn text_of(body: &RawValue) -> Option<Cow<'_, str>> {
    if body.get().starts_with('"') {
        return only_value::<Text<'_>>(body.get()).ok()?.0;
    }
    let body = only_value::<Shape<Body<'_>>>(body.get()).ok()?.0?;
    if let Some(text) = body.base64_string.as_str() {
        let base64 = Text(Some("base64".into()));
        return decoded(text, &base64).map(|text| text.into_owned().into());
    }
    body.string.0
}

/// Time as a log or a header writes it.
fn time(text: &str) -> Option<Millis> {
    let of_header = || rfc2822::parse(text).ok().map(|at| at.timestamp().as_millisecond());
    Moment::of(text).0.or_else(|| of_header().map(Millis::new))
}

impl Response<'_> {
    /// Time in the header of the answer, whose names and values differ by program.
    fn date(&self) -> Option<Millis> {
        let headers: ByKey<String, &RawValue> = serde_json::from_str(self.headers?.get()).ok()?;
        let date = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("date"))?.1.get();
        let list: Option<Vec<String>> = serde_json::from_str(date).ok();
        time(&list.and_then(|list| list.into_iter().next()).or(serde_json::from_str(date).ok())?)
    }
}

lenient! {
    pub(super) struct Interaction<'a> {
        request: Shape<Request<'a>>,
        response: Shape<Response<'a>>,
        recorded_at: Text<'a>,
    }

    struct Request<'a> {
        method: Text<'a>,
        uri: Text<'a>,
        body: Option<&'a RawValue>,
    }

    struct Response<'a> {
        status: Shape<Status>,
        headers: Option<&'a RawValue>,
        body: Option<&'a RawValue>,
    }

    struct Status {
        code: Number,
    }

    struct Body<'a> {
        string: Text<'a>,
        base64_string: Text<'a>,
    }
}
