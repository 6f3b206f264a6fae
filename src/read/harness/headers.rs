//! Headers of requests, and those that a conversation keeps sending once it has sent them (Claude Code 2.1.88, as
//! documented): a mode that is left would change the bytes in front of the prompt.

use super::raw::{Object, ObjectWriter, key, quoted, write_object};
use crate::read::capture::{BETA_HEADER, feature_names};

/// Beginnings of the beta features that stay: those of auto mode, of fast mode and of deletions from the cache.
const KEPT: [&str; 4] = ["afk-mode-", "dangerous-tool-use-", "fast-mode-", "cache-editing-"];

/// Beta features that a conversation goes on requesting, in the order of their first appearance.
#[derive(Debug, Default)]
pub(super) struct HeaderLatches(Vec<String>);

impl HeaderLatches {
    /// Appends the headers of a record with the features that the conversation keeps.
    pub(super) fn write(&mut self, text: &mut String, headers: &Object<'_>) {
        let is_beta = |name: &str| name.eq_ignore_ascii_case(BETA_HEADER);
        let betas = headers.members.iter().filter(|member| is_beta(&key(member)));
        let mut names: Vec<String> =
            betas.filter_map(|member| feature_names(member.value)).flatten().collect();
        let is_kept = |name: &&String| KEPT.iter().any(|beginning| name.starts_with(beginning));
        for name in names.iter().filter(is_kept) {
            if !self.0.contains(name) {
                self.0.push(name.clone());
            }
        }
        let given = names.len();
        names.extend(
            self.0.iter().filter(|name| !names.contains(name)).cloned().collect::<Vec<_>>(),
        );
        let is_changed = names.len() > given;
        write_object(text, |writer: &mut ObjectWriter<'_>| {
            for member in &headers.members {
                if !(is_changed && is_beta(&key(member))) {
                    writer.copy(member.key.get(), member.value.get());
                }
            }
            if is_changed {
                writer.member(BETA_HEADER).push_str(&quoted(&names.join(",")));
            }
        });
    }
}
