//! The figures of a strategy that an expression can ask for.

/// A figure of a strategy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Metric {
    /// Dollars.
    Cost,
    /// Dollars a recorded request.
    PerRequest,
    /// Tokens sent in full.
    Input,
    /// Tokens read from cache.
    Read,
    /// Tokens written to cache, for five minutes or an hour.
    Written,
    /// Tokens written for five minutes.
    WrittenFiveMinutes,
    /// Tokens written for an hour.
    WrittenOneHour,
    /// Tokens answered.
    Output,
    /// The share of the prompts' tokens that was read, from 0 to 1.
    HitRate,
    /// Recorded requests.
    Requests,
    /// Requests sent besides those recorded.
    AddedRequests,
    /// What it costs more than the cheapest possible one, as a share of that.
    Gap,
}

/// Each metric with its name in JSON outputs, then its short one.
const NAMES: [(Metric, &str, &str); 12] = [
    (Metric::Cost, "cost_usd", "cost"),
    (Metric::PerRequest, "per_request_usd", "per_request"),
    (Metric::Input, "input_tokens", "input"),
    (Metric::Read, "cache_read_input_tokens", "read"),
    (Metric::Written, "cache_creation_input_tokens", "written"),
    (Metric::WrittenFiveMinutes, "ephemeral_5m_input_tokens", "written_5m"),
    (Metric::WrittenOneHour, "ephemeral_1h_input_tokens", "written_1h"),
    (Metric::Output, "output_tokens", "output"),
    (Metric::HitRate, "hit_rate", "hit_rate"),
    (Metric::Requests, "requests", "requests"),
    (Metric::AddedRequests, "added_requests", "added_requests"),
    (Metric::Gap, "gap", "gap"),
];

impl Metric {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        NAMES.iter().map(|(metric, ..)| *metric)
    }

    /// The metric of a name, as in JSON outputs or short.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        NAMES.iter().find(|(_, long, short)| [long, short].contains(&&name)).map(|(own, ..)| *own)
    }

    /// The short name.
    #[must_use]
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(own, ..)| *own == self).map_or("", |(.., short)| short)
    }

    /// Every name.
    pub(super) fn names() -> impl Iterator<Item = &'static str> {
        NAMES.iter().flat_map(|(_, long, short)| [*short, *long])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_is_found_by_its_names() {
        for (metric, long, short) in NAMES {
            assert_eq!(Metric::by_name(long), Some(metric));
            assert_eq!(Metric::by_name(short), Some(metric));
            assert_eq!(metric.name(), short);
        }
        assert_eq!(Metric::by_name("Cost"), None);
    }
}
