//! Services, whose limits windows belong to.

use crate::base::{ByKey, Millis, Order as _};
use crate::read::agent::Vendor;
use crate::requests::conversation::{History, RequestIndex};
use crate::simulate::provider::rules_of;

/// A service with limits of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Service {
    /// Service of Anthropic.
    Anthropic,
    /// Service of `OpenAI`.
    OpenAi,
    /// Another service, by the name of its rules.
    Named(&'static str),
    /// All services without known rules together.
    Other,
}

impl Service {
    /// Service that answered a request.
    pub(super) fn of(history: &History, index: RequestIndex) -> Self {
        match history.request(index).vendor {
            Vendor::Anthropic => Self::Anthropic,
            Vendor::OpenAi => Self::OpenAi,
            Vendor::Google => Self::Named("gemini"),
            Vendor::Other => {
                let model = history.model(index);
                let rules = rules_of(model.rsplit('/').next().unwrap_or(model));
                rules.map_or(Self::Other, |rules| Self::Named(rules.name))
            }
        }
    }

    /// Vendor whose rule for the beginning of windows holds.
    pub(super) fn vendor(self) -> Vendor {
        match self {
            Self::Anthropic => Vendor::Anthropic,
            Self::OpenAi => Vendor::OpenAi,
            Self::Named(_) | Self::Other => Vendor::Other,
        }
    }

    /// Name for people.
    pub fn label(self) -> &'static str {
        match self {
            Self::Named(name) => name,
            Self::Other => "other services",
            known => known.vendor().label(),
        }
    }

    /// Returns true if its plans are known to count over five hours and weeks.
    pub fn has_known_windows(self) -> bool {
        matches!(self, Self::Anthropic | Self::OpenAi)
    }
}

/// Requests of each service that were sent until now, in the order of sending. One without a time is in no window.
pub(super) fn services(history: &History, now: Millis) -> ByKey<Service, Vec<RequestIndex>> {
    let mut services: ByKey<Service, Vec<RequestIndex>> = ByKey::new();
    let all = (0..history.requests.len()).map(RequestIndex::new);
    let is_sent = |index: &RequestIndex| {
        let start = history.request(*index).start;
        start != Millis::UNTIMED && start <= now
    };
    for index in all.filter(is_sent) {
        services.entry(Service::of(history, index)).or_default().push(index);
    }
    for requests in services.values_mut() {
        requests.order_by_key(|index| (history.request(*index).start, *index));
    }
    services
}
