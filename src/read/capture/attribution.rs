//! Whether the client's attribution line is part of a captured request's cache key.

use super::record::Request;

/// How the attribution line of Claude Code begins.
pub(crate) const ATTRIBUTION: &str = "x-anthropic-billing-header";

/// Where the text of a block begins with the line.
const TEXT_OF_LINE: &str = "\"text\":\"x-anthropic-billing-header";

/// What names of models have on other platforms and behind gateways alone.
const OTHER_MODELS: [&str; 3] = ["anthropic.", "@", "/"];

/// The host of Anthropic's own service.
const FIRST_PARTY: &str = "anthropic.com";

/// Whether the attribution line of the system prompt is part of the key (`--attribution`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AttributionKey {
    /// As the record shows: it is part of the key behind gateways and on other platforms, and not at
    /// Anthropic's own service, which replaces it. What shows nothing is taken to have been sent there.
    #[default]
    Auto,
    /// Never: every line is as good as any other.
    Neutral,
    /// Always: its bytes count.
    Literal,
}

/// Where a request was sent, as far as its record tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Host {
    /// To Anthropic's own service.
    FirstParty,
    /// Through a gateway, or to another platform.
    Other,
    /// The record does not say.
    Unknown,
}

impl Host {
    /// That of an address.
    pub(super) fn of_url(url: &str) -> Self {
        let host = url.split_once("://").map_or(url, |(_, rest)| rest);
        let host = host.split(['/', ':', '?', '#']).next().unwrap_or(host);
        let is_own =
            host.strip_suffix(FIRST_PARTY).is_some_and(|sub| sub.is_empty() || sub.ends_with('.'));
        if is_own { Self::FirstParty } else { Self::Other }
    }

    /// That of a bundle.
    pub(super) fn of_bundle(is_first_party: bool) -> Self {
        if is_first_party { Self::FirstParty } else { Self::Other }
    }

    /// Where only the body can tell: other platforms have names of their own for the models, and take
    /// beta features in the body.
    fn shown_by(self, body: &Request<'_>) -> Self {
        let model = body.model.as_str().unwrap_or_default();
        let is_elsewhere =
            body.anthropic_beta.is_some() || OTHER_MODELS.iter().any(|part| model.contains(part));
        if self == Self::Unknown && is_elsewhere { Self::Other } else { self }
    }
}

impl AttributionKey {
    /// Whether the line of a request is no part of the key.
    pub(super) fn is_neutral(self, host: Host, body: &Request<'_>) -> bool {
        match self {
            Self::Auto => host.shown_by(body) != Host::Other,
            Self::Neutral => true,
            Self::Literal => false,
        }
    }
}

/// The canonical bytes of a block that begins with the attribution line without that line, of which only
/// the name stays; what stands on further lines stays, too. `None` for any other block.
pub(super) fn neutral(block: &[u8]) -> Option<Vec<u8>> {
    let start = memchr::memmem::find(block, TEXT_OF_LINE.as_bytes())? + TEXT_OF_LINE.len();
    let mut end = start;
    while let Some(byte) = block.get(end) {
        match byte {
            b'"' => break,
            b'\\' if block.get(end + 1) == Some(&b'n') => break,
            b'\\' => end += 2,
            _ => end += 1,
        }
    }
    let end = end.min(block.len());
    Some([&block[..start], &block[end..]].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_told_apart() {
        for (url, host) in [
            ("https://api.anthropic.com/v1/messages?beta=true", Host::FirstParty),
            ("https://anthropic.com:443/v1/messages", Host::FirstParty),
            ("https://notanthropic.com/v1/messages", Host::Other),
            ("http://localhost:8080/anthropic.com/v1/messages", Host::Other),
        ] {
            assert_eq!(Host::of_url(url), host, "{url}");
        }
    }

    #[test]
    fn auto_takes_what_shows_nothing_for_the_providers_own_service() {
        let is_neutral = |host, body: &str| {
            let body: Request<'_> = serde_json::from_str(body).expect("a body");
            AttributionKey::Auto.is_neutral(host, &body)
        };
        let plain = r#"{"model":"claude-opus-5"}"#;
        assert!(is_neutral(Host::Unknown, plain) && is_neutral(Host::FirstParty, plain));
        assert!(!is_neutral(Host::Other, plain));
        let elsewhere = r#"{"model":"us.anthropic.claude-opus-4-5-20251101-v1:0"}"#;
        assert!(!is_neutral(Host::Unknown, elsewhere));
        let betas = r#"{"model":"claude-opus-5","anthropic_beta":["a"]}"#;
        assert!(!is_neutral(Host::Unknown, betas));
    }

    #[test]
    fn only_the_line_is_cut_out() {
        for (block, left) in [
            (
                r#"{"type":"text","text":"x-anthropic-billing-header: cch=a\"\\b;"}"#,
                Some(r#"{"type":"text","text":"x-anthropic-billing-header"}"#),
            ),
            (
                r#"{"type":"text","text":"x-anthropic-billing-header: cch=a;\nBe brief."}"#,
                Some(r#"{"type":"text","text":"x-anthropic-billing-header\nBe brief."}"#),
            ),
            (r#"{"type":"text","text":"Send x-anthropic-billing-header: cch=a"}"#, None),
        ] {
            assert_eq!(neutral(block.as_bytes()), left.map(|left| left.as_bytes().to_vec()));
        }
    }
}
