//! The blocks of a system prompt and their scopes (Claude Code 2.1.88, as documented).
//!
//! The line that names the client's version and the sentence that says what it is are found
//! wherever they stand and go to the front. Of the rest, what stands before the boundary is the
//! same in all installations and may be cached for everyone; where that is not allowed, or there is
//! no boundary, the rest is one block.

use std::borrow::Cow;

use super::bundle::Context;
use super::flags::SystemFlags;
use super::git_status;
use super::marker::Scope;

/// What the line begins with that names the client's version.
const ATTRIBUTION_PREFIX: &str = "x-anthropic-billing-header";

/// Stands between the static and the dynamic part, and is never sent.
pub(crate) const BOUNDARY: &str = "__SYSTEM_PROMPT_DYNAMIC_BOUNDARY__";

/// The entry of the system context whose text is cut.
const GIT_STATUS: &str = "gitStatus";

/// A text block of the system prompt.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SystemBlock {
    pub(super) text: String,
    /// Nothing where the block has no marker.
    pub(super) scope: Option<Scope>,
}

/// The strings of a system prompt, told apart.
#[derive(Debug, Default)]
struct Strings<'s> {
    attribution: Option<&'s str>,
    identity: Option<&'s str>,
    before_boundary: Vec<&'s str>,
    after_boundary: Vec<&'s str>,
    has_boundary: bool,
}

/// Whether a text is the line that names the client's version.
pub(super) fn is_attribution(text: &str) -> bool {
    text.starts_with(ATTRIBUTION_PREFIX)
}

/// The string that stands after all others, where there is anything to tell.
pub(super) fn context_text(context: &Context<'_>) -> Option<String> {
    let line = |(name, value): &(Cow<'_, str>, Cow<'_, str>)| match &**name {
        GIT_STATUS => format!("{name}: {}", git_status::cut(value)),
        _ => format!("{name}: {value}"),
    };
    let lines: Vec<String> = context.iter().map(line).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// The blocks that strings, none of them empty, are sent as.
pub(super) fn blocks(strings: &[&str], flags: &SystemFlags<'_>) -> Vec<SystemBlock> {
    let strings = Strings::tell_apart(strings, flags);
    if flags.allows_global_scope && strings.has_boundary {
        strings.shared_by_everyone()
    } else {
        strings.shared_by_organisation()
    }
}

impl<'s> Strings<'s> {
    /// Of several attributions or identities the last one counts, and the others are dropped.
    fn tell_apart(strings: &[&'s str], flags: &SystemFlags<'_>) -> Self {
        let mut apart = Self::default();
        for text in strings {
            if *text == BOUNDARY {
                apart.has_boundary = true;
            } else if is_attribution(text) {
                apart.attribution = Some(text);
            } else if flags.identities.iter().any(|identity| identity == text) {
                apart.identity = Some(text);
            } else if apart.has_boundary {
                apart.after_boundary.push(text);
            } else {
                apart.before_boundary.push(text);
            }
        }
        apart
    }

    fn shared_by_everyone(self) -> Vec<SystemBlock> {
        present([
            (self.attribution.into_iter().collect(), None),
            (self.identity.into_iter().collect(), None),
            (self.before_boundary, Some(Scope::Global)),
            (self.after_boundary, None),
        ])
    }

    fn shared_by_organisation(self) -> Vec<SystemBlock> {
        let rest = [self.before_boundary, self.after_boundary].concat();
        present([
            (self.attribution.into_iter().collect(), None),
            (self.identity.into_iter().collect(), Some(Scope::Organisation)),
            (rest, Some(Scope::Organisation)),
        ])
    }
}

/// Those that have any text, their strings joined by blank lines.
fn present<const N: usize>(blocks: [(Vec<&str>, Option<Scope>); N]) -> Vec<SystemBlock> {
    blocks
        .into_iter()
        .filter(|(strings, _)| !strings.is_empty())
        .map(|(strings, scope)| SystemBlock { text: strings.join("\n\n"), scope })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scopes(strings: &[&str], allows_global_scope: bool) -> Vec<(String, Option<Scope>)> {
        let identities = vec![Cow::Borrowed("I am I.")];
        let may_have_global_scope = true;
        let flags = SystemFlags {
            allows_global_scope,
            is_first_party: true,
            may_have_global_scope,
            identities,
        };
        blocks(strings, &flags).into_iter().map(|block| (block.text, block.scope)).collect()
    }

    #[test]
    fn a_part_without_text_has_no_block() {
        assert_eq!(scopes(&[], true), []);
        assert_eq!(scopes(&[BOUNDARY, BOUNDARY], true), []);
        assert_eq!(scopes(&[BOUNDARY, "d"], true), [("d".to_owned(), None)]);
        let global = [("s".to_owned(), Some(Scope::Global))];
        assert_eq!(scopes(&["s", BOUNDARY], true), global);
    }

    #[test]
    fn behind_the_first_boundary_all_is_dynamic() {
        let strings = ["s", BOUNDARY, "d", BOUNDARY, "e"];
        let expected = [("s".to_owned(), Some(Scope::Global)), ("d\n\ne".to_owned(), None)];
        assert_eq!(scopes(&strings, true), expected);
        let organisation = [("s\n\nd\n\ne".to_owned(), Some(Scope::Organisation))];
        assert_eq!(scopes(&strings, false), organisation);
    }

    #[test]
    fn an_identity_is_the_whole_string() {
        let organisation = Some(Scope::Organisation);
        assert_eq!(
            scopes(&["I am I. Not you.", "I am I."], false),
            [("I am I.".to_owned(), organisation), ("I am I. Not you.".to_owned(), organisation)]
        );
    }

    #[test]
    fn a_context_is_told_line_by_line() {
        let entry = |name: &'static str, text: &'static str| (name.into(), text.into());
        assert_eq!(context_text(&vec![]), None);
        let context = vec![entry("a", "1"), entry("b", "")];
        assert_eq!(context_text(&context).as_deref(), Some("a: 1\nb: "));
    }
}
