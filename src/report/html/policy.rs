//! The page's content security policy: its own script and its own style sheet, known by their hashes,
//! fonts that stand in the latter, and nothing else.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

/// The content of the page's `<meta http-equiv="Content-Security-Policy">`.
///
/// The texts are those between the tags, to the byte. (CSP Level 3, 6.7.3.3.)
pub(super) fn content_policy(script: &str, style: &str) -> String {
    format!(
        "default-src 'none'; script-src '{}'; style-src '{}'; font-src data:; base-uri 'none'; form-action 'none'",
        source_hash(script),
        source_hash(style),
    )
}

fn source_hash(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_the_specification() {
        // The example of CSP Level 2, 7.17: `alert('Hello, world.');`.
        let expected = "sha256-qznLcsROx4GACP2dm0UCKCzCG+HiZ1guq6ZZDob/Tng=";
        assert_eq!(source_hash("alert('Hello, world.');"), expected);
    }
}
