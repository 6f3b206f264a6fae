//! Texts in every vocabulary of Claude's: any text is counted, the same each time, whatever was counted before, and has no more
//! tokens than its bytes with markers.

use cachesim::base::vocabulary::Vocabulary;
use cachesim::tokens::counter;

const CLAUDES: [Vocabulary; 3] = [Vocabulary::Claude3, Vocabulary::Claude47, Vocabulary::Claude48];

pub(crate) fn check(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let doubled = format!("x {text}\n\n{text} x");
    for vocabulary in CLAUDES {
        let counter = counter(vocabulary).expect("vocabularies");
        let tokens = counter.tokens(&text);
        // Each character may be a word with a marker of its case, its beginning and its end.
        assert!(tokens <= 6 * text.len() as u64 + 2, "{vocabulary}: {tokens} for {text:?}");
        assert_eq!(counter.tokens(&text), tokens, "{vocabulary}: {text:?}");
        assert!(counter.tokens(&doubled) >= 2, "{vocabulary}: {text:?}");
    }
}
