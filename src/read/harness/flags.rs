//! Flags of a bundle record: the state of the client when it sends a request, grouped by the module that uses them.

use std::borrow::Cow;

use super::block::Deletion;
use super::place::BundleError;
use super::raw::Object;

/// Identities of the client, unless the record replaces them.
pub(crate) const IDENTITIES: [&str; 3] = [
    "You are Claude Code, Anthropic's official CLI for Claude.",
    "You are Claude Code, Anthropic's official CLI for Claude, running within the Claude Agent SDK.",
    "You are a Claude agent, built on Anthropic's Claude Agent SDK.",
];

const DEFAULT_PROVIDER: &str = "first_party";
const BEDROCK: &str = "bedrock";
const DEFAULT_QUERY_SOURCE: &str = "repl_main_thread";
pub(crate) const DEFAULT_ALLOW_LIST: [&str; 2] = ["repl_main_thread*", "sdk"];

/// Keys of all flags.
pub(super) const FLAGS: [&str; 15] = [
    "caching",
    "global_scope",
    "upfront_mcp_tools",
    "provider",
    "query_source",
    "subscriber",
    "overage",
    "ttl_1h_allowlist",
    "bedrock_1h",
    "skip_cache_write",
    "cleared",
    "simple",
    "proactive",
    "cached_microcompaction",
    "identity_prefixes",
];

/// All flags of a record.
#[derive(Debug)]
pub(super) struct Flags<'a> {
    /// Cleared or compacted conversation: the session starts again with this record.
    pub(super) is_cleared: bool,
    pub(super) has_caching: bool,
    /// Side branch, whose own tail no later request reads.
    pub(super) skips_cache_write: bool,
    pub(super) cache: CacheFlags,
    pub(super) base: BaseFlags,
    pub(super) system: SystemFlags<'a>,
    pub(super) ttl: TtlFlags<'a>,
}

/// Flags for deletions from the cache.
#[derive(Debug)]
pub(super) struct CacheFlags {
    /// Main conversation on the service's own host: only there the service deletes results.
    pub(super) may_be_edited: bool,
    /// Results that the service is to delete.
    pub(super) deletion: Option<Deletion>,
}

/// Flags for the source of the system prompt.
#[derive(Debug)]
pub(super) struct BaseFlags {
    /// Short line in place of the default prompt.
    pub(super) is_simple: bool,
    /// Agent's prompt after the default one instead of in its place.
    pub(super) has_proactive_agent: bool,
}

/// Flags for the blocks of the system prompt.
#[derive(Debug)]
pub(super) struct SystemFlags<'a> {
    /// Static part that may be cached for everyone.
    pub(super) allows_global_scope: bool,
    /// Request to the provider's own service.
    pub(super) is_first_party: bool,
    /// Neither the tools nor the provider forbid a global scope.
    pub(super) may_have_global_scope: bool,
    pub(super) identities: Vec<Cow<'a, str>>,
}

/// Flags for the TTL of a marker.
#[derive(Debug)]
pub(super) struct TtlFlags<'a> {
    /// Bedrock, with an hour switched on.
    pub(super) has_bedrock_hour: bool,
    /// Subscriber within the limit.
    pub(super) is_eligible: bool,
    pub(super) allow_list: Vec<Cow<'a, str>>,
    /// Part of the client that sends the request; `None` is on no list.
    pub(super) query_source: Option<Cow<'a, str>>,
}

impl<'a> Flags<'a> {
    pub(super) fn read(flags: &Object<'a>) -> Result<Self, BundleError> {
        let provider = flags.string("provider")?.unwrap_or(Cow::Borrowed(DEFAULT_PROVIDER));
        Ok(Self {
            is_cleared: is_set(flags, "cleared")?,
            has_caching: is_not_off(flags, "caching")?,
            skips_cache_write: is_set(flags, "skip_cache_write")?,
            cache: CacheFlags {
                may_be_edited: provider == DEFAULT_PROVIDER && is_main_thread(flags)?,
                deletion: deletion(flags)?,
            },
            base: BaseFlags {
                is_simple: is_set(flags, "simple")?,
                has_proactive_agent: is_set(flags, "proactive")?,
            },
            system: SystemFlags::read(flags, &provider)?,
            ttl: TtlFlags::read(flags, &provider)?,
        })
    }
}

impl<'a> SystemFlags<'a> {
    fn read(flags: &Object<'a>, provider: &str) -> Result<Self, BundleError> {
        let has_global_scope = is_not_off(flags, "global_scope")?;
        // They come before the system prompt and differ from one installation to the next.
        let has_user_tools = is_set(flags, "upfront_mcp_tools")?;
        let is_first_party = provider == DEFAULT_PROVIDER;
        let may_have_global_scope = !has_user_tools && is_first_party;
        Ok(Self {
            is_first_party,
            allows_global_scope: has_global_scope && may_have_global_scope,
            may_have_global_scope,
            identities: strings_or(flags, "identity_prefixes", &IDENTITIES)?,
        })
    }

    /// Replaces the flag `global_scope`.
    pub(super) fn set_global_scope(&mut self, has_global_scope: bool) {
        self.allows_global_scope = has_global_scope && self.may_have_global_scope;
    }
}

impl<'a> TtlFlags<'a> {
    fn read(flags: &Object<'a>, provider: &str) -> Result<Self, BundleError> {
        let has_hour_switch = is_set(flags, "bedrock_1h")?;
        let is_subscriber = is_not_off(flags, "subscriber")?;
        let is_over_limit = is_set(flags, "overage")?;
        Ok(Self {
            has_bedrock_hour: has_hour_switch && provider == BEDROCK,
            is_eligible: is_subscriber && !is_over_limit,
            allow_list: strings_or(flags, "ttl_1h_allowlist", &DEFAULT_ALLOW_LIST)?,
            query_source: query_source(flags)?,
        })
    }
}

fn is_set(flags: &Object<'_>, name: &str) -> Result<bool, BundleError> {
    Ok(flags.boolean(name)?.unwrap_or(false))
}

fn is_not_off(flags: &Object<'_>, name: &str) -> Result<bool, BundleError> {
    Ok(flags.boolean(name)?.unwrap_or(true))
}

fn strings_or<'a>(
    flags: &Object<'a>,
    name: &str,
    default: &[&'static str],
) -> Result<Vec<Cow<'a, str>>, BundleError> {
    let given = flags.strings(name)?;
    Ok(given.unwrap_or_else(|| default.iter().copied().map(Cow::Borrowed).collect()))
}

/// Source of the request. Here a null is not as good as absent: it says that there is no source.
fn query_source<'a>(flags: &Object<'a>) -> Result<Option<Cow<'a, str>>, BundleError> {
    match flags.get("query_source") {
        Some(_) => flags.string("query_source"),
        None => Ok(Some(Cow::Borrowed(DEFAULT_QUERY_SOURCE))),
    }
}

fn is_main_thread(flags: &Object<'_>) -> Result<bool, BundleError> {
    // Sources of the main thread may have a suffix, as the `*` of the allow-list shows.
    Ok(query_source(flags)?.is_some_and(|source| source.starts_with(DEFAULT_QUERY_SOURCE)))
}

fn deletion(flags: &Object<'_>) -> Result<Option<Deletion>, BundleError> {
    let name = "cached_microcompaction";
    let Some(settings) = flags.object(name, "flags.cached_microcompaction")? else {
        return Ok(None);
    };
    // A list of results counts before the numbers, which it may replace.
    if let Some(calls) = settings.strings("delete")? {
        let calls = calls.into_iter().map(Cow::into_owned).collect();
        return Ok(Some(Deletion::Of(calls)));
    }
    let count = |name: &str| {
        let expected = "a whole number from 1 on, unless `delete` names the results";
        let count = settings.whole_number(name).filter(|count| *count > 0);
        count.ok_or_else(|| settings.unexpected(name, expected))
    };
    let (trigger, keep_recent) = (count("trigger_threshold")?, count("keep_recent")?);
    Ok(Some(Deletion::Beyond { trigger, keep_recent }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(flags: &str) -> Result<Flags<'_>, BundleError> {
        let raw = serde_json::from_str(flags).expect("JSON");
        Flags::read(&Object::read(raw, "flags").expect("an object"))
    }

    #[test]
    fn a_null_is_the_default_except_for_the_source() {
        let flags = read(
            r#"{"caching":null,"subscriber":null,"ttl_1h_allowlist":null,"provider":null,
                "identity_prefixes":null,"query_source":null,"unknown":{}}"#,
        )
        .expect("flags");
        assert!(flags.has_caching && flags.ttl.is_eligible && flags.system.allows_global_scope);
        assert_eq!(flags.ttl.allow_list, DEFAULT_ALLOW_LIST);
        assert_eq!(flags.system.identities, IDENTITIES);
        assert_eq!(flags.ttl.query_source, None);
        assert!(read("{}").expect("flags").ttl.query_source.is_some());
    }

    #[test]
    fn switches_hold_for_their_provider_only() {
        assert!(!read(r#"{"bedrock_1h":true}"#).expect("flags").ttl.has_bedrock_hour);
        let bedrock = read(r#"{"bedrock_1h":true,"provider":"bedrock"}"#).expect("flags");
        assert!(bedrock.ttl.has_bedrock_hour);
        assert!(!bedrock.system.allows_global_scope);
    }

    #[test]
    fn a_scope_can_be_set_where_nothing_else_forbids_it() {
        for (flags, allows) in [
            ("{}", true),
            (r#"{"global_scope":false}"#, true),
            (r#"{"upfront_mcp_tools":true}"#, false),
            (r#"{"provider":"bedrock"}"#, false),
        ] {
            let mut system = read(flags).expect("flags").system;
            system.set_global_scope(true);
            assert_eq!(system.allows_global_scope, allows, "{flags}");
            system.set_global_scope(false);
            assert!(!system.allows_global_scope, "{flags}");
        }
    }

    #[test]
    fn a_flag_of_another_type_is_an_error() {
        for flags in [
            r#"{"caching":"no"}"#,
            r#"{"cleared":1}"#,
            r#"{"provider":[]}"#,
            r#"{"ttl_1h_allowlist":"sdk"}"#,
            r#"{"ttl_1h_allowlist":[1]}"#,
            r#"{"query_source":{}}"#,
            r#"{"simple":"yes"}"#,
            r#"{"proactive":1}"#,
            r#"{"cached_microcompaction":true}"#,
            r#"{"cached_microcompaction":{}}"#,
            r#"{"cached_microcompaction":{"trigger_threshold":3,"keep_recent":0}}"#,
            r#"{"cached_microcompaction":{"delete":"toolu_1"}}"#,
        ] {
            assert!(read(flags).is_err(), "{flags}");
        }
    }
}
