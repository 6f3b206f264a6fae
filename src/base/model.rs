//! Model names as platforms and clients write them.

/// The region prefixes of Bedrock model ids.
const BEDROCK_REGIONS: [&str; 6] = ["us", "eu", "apac", "jp", "au", "us-gov"];

/// Where a model was called, as far as its name tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Platform {
    /// The Claude API, or a platform at its prices.
    #[default]
    Global,
    /// A regional endpoint of Bedrock or Google Cloud, which costs more for newer models.
    Regional,
}

/// Strips what clients and platforms add to a model id: `[1m]`, Bedrock's region, vendor and
/// version, and Google Cloud's `@date`.
#[must_use]
pub fn canonical_name(name: &str) -> &str {
    let name = name.split('[').next().unwrap_or(name);
    let name = name.split('@').next().unwrap_or(name);
    let name = name.rsplit('/').next().unwrap_or(name);
    let name = name.rsplit_once("anthropic.").map_or(name, |(_, rest)| rest);
    strip_bedrock_version(name)
}

/// The platform that a model's name reveals.
#[must_use]
pub fn platform(name: &str) -> Platform {
    let name = name.rsplit('/').next().unwrap_or(name);
    match name.split_once(".anthropic.") {
        Some((region, _)) if BEDROCK_REGIONS.contains(&region) => Platform::Regional,
        _ => Platform::Global,
    }
}

/// Strips `-v1:0` or `-v1`.
fn strip_bedrock_version(name: &str) -> &str {
    let base = name.split(':').next().unwrap_or(name);
    match base.rsplit_once("-v") {
        Some((front, version))
            if !version.is_empty() && version.bytes().all(|byte| byte.is_ascii_digit()) =>
        {
            front
        }
        _ => base,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_platforms_add_is_taken_off() {
        for (name, canonical) in [
            ("claude-opus-5", "claude-opus-5"),
            ("claude-opus-5[1m]", "claude-opus-5"),
            ("us.anthropic.claude-opus-4-5-20251101-v1:0", "claude-opus-4-5-20251101"),
            ("anthropic.claude-sonnet-4-20250514-v1:0", "claude-sonnet-4-20250514"),
            ("claude-opus-4-5@20251101", "claude-opus-4-5"),
            (
                "arn:aws:bedrock:us-east-1:1:p/global.anthropic.claude-haiku-4-5-v1",
                "claude-haiku-4-5",
            ),
            ("gpt-5", "gpt-5"),
            ("", ""),
        ] {
            assert_eq!(canonical_name(name), canonical, "{name}");
        }
    }

    #[test]
    fn regional_endpoints_show_in_the_name() {
        assert_eq!(platform("eu.anthropic.claude-opus-5-v1:0"), Platform::Regional);
        assert_eq!(platform("global.anthropic.claude-opus-5-v1:0"), Platform::Global);
        assert_eq!(platform("claude-opus-5"), Platform::Global);
    }
}
