//! `OpenAI`'s tokenizer, from the library `tiktoken`.

use std::sync::LazyLock;

use tiktoken::CoreBpe;

use super::Count;

/// Counter for GPT-4o and all later models.
pub(super) struct O200k;

static ENCODING: LazyLock<&'static CoreBpe> = LazyLock::new(|| {
    tiktoken::get_encoding("o200k_base").expect("the vocabulary is part of the program")
});

impl Count for O200k {
    fn tokens(&self, text: &str) -> u64 {
        ENCODING.count(text) as u64
    }
}
