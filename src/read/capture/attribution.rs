//! Role of the client's attribution line in the cache key of a captured request.

use super::record::Request;

/// Beginning of Claude Code's attribution line.
pub(crate) const ATTRIBUTION: &str = "x-anthropic-billing-header";

/// Beginning of a text that is the line, with its key.
const TEXT_OF_LINE: &str = "\"text\":\"x-anthropic-billing-header";

/// Parts of model names that occur only on other platforms and behind gateways.
const OTHER_MODELS: [&str; 3] = ["anthropic.", "@", "/"];

/// Host of Anthropic's own service.
const FIRST_PARTY: &str = "anthropic.com";

/// Treatment of the system prompt's attribution line in the key (`--attribution`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AttributionKey {
    /// As the record shows: part of the key behind gateways and on other platforms, and not at
    /// Anthropic's own service, which replaces it. A record that shows nothing counts as sent there.
    #[default]
    Auto,
    /// Never: every line is as good as any other.
    Neutral,
    /// Always: its bytes count.
    Literal,
}

/// Destination of a request, if its record shows one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Host {
    /// Anthropic's own service.
    FirstParty,
    /// Gateway, or another platform.
    Other,
    /// The record does not say.
    Unknown,
}

impl Host {
    /// Host of an address.
    pub(super) fn of_url(url: &str) -> Self {
        let host = url.split_once("://").map_or(url, |(_, rest)| rest);
        let host = host.split(['/', ':', '?', '#']).next().unwrap_or(host);
        // Not every name with this ending: a dot must come before it.
        let is_own =
            host.strip_suffix(FIRST_PARTY).is_some_and(|sub| sub.is_empty() || sub.ends_with('.'));
        if is_own { Self::FirstParty } else { Self::Other }
    }

    /// Host of a bundle.
    pub(super) fn of_bundle(is_first_party: bool) -> Self {
        if is_first_party { Self::FirstParty } else { Self::Other }
    }

    /// Host by the body, if nothing else shows it: other platforms have names of their own for the models, and take
    /// beta features in the body.
    fn shown_by(self, body: &Request<'_>) -> Self {
        let model = body.model.as_str().unwrap_or_default();
        let is_elsewhere =
            body.anthropic_beta.is_some() || OTHER_MODELS.iter().any(|part| model.contains(part));
        if self == Self::Unknown && is_elsewhere { Self::Other } else { self }
    }
}

impl AttributionKey {
    /// Returns true if the line of a request is not part of the key.
    pub(super) fn is_neutral(self, host: Host, body: &Request<'_>) -> bool {
        match self {
            Self::Auto => host.shown_by(body) != Host::Other,
            Self::Neutral => true,
            Self::Literal => false,
        }
    }
}

/// Canonical bytes of a block that begins with the attribution line, without all of that line but
/// its name; further lines stay. `None` for any other block.
pub(super) fn neutral(block: &[u8]) -> Option<Vec<u8>> {
    let start = memchr::memmem::find(block, TEXT_OF_LINE.as_bytes())? + TEXT_OF_LINE.len();
    let mut end = start;
    while let Some(byte) = block.get(end) {
        match byte {
            b'"' => break,
            // Canonical bytes are JSON, so the line ends at an escaped line feed.
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
