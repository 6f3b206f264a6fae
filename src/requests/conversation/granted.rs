//! Lifetimes that the service granted. A marker asks for one; recorded usage says for which one a write was made, and
//! gateways strip `ttl`.

use rustc_hash::FxHashMap;

use super::History;
use crate::base::{Symbol, Tokens, Ttl};
use crate::read::capture::WireRequest;
use crate::read::input::Usage;

/// Numbers of requests that asked for an hour and wrote something, and of those that got one.
#[derive(Clone, Copy, Debug, Default)]
struct Grants {
    asked: u64,
    got: u64,
}

impl History {
    /// Gives the markers of captured requests the lifetime that was granted: that of a request's own write, and of
    /// all requests of a scope and model if none of them got the hour that it asked for.
    pub(super) fn grant_lifetimes(&mut self) {
        let first = self.requests.len() - self.captured.requests.len();
        let mut grants: FxHashMap<(Symbol, Symbol), Grants> = FxHashMap::default();
        let own: Vec<Option<bool>> = self
            .captured
            .requests
            .iter()
            .zip(&self.requests[first..])
            .map(|(wire, request)| got_hour(wire, request.usage.as_ref()))
            .collect();
        for (wire, got) in self.captured.requests.iter().zip(&own) {
            let grants = grants.entry((wire.scope, wire.model)).or_default();
            grants.asked += u64::from(got.is_some());
            grants.got += u64::from(*got == Some(true));
        }
        for (wire, got) in self.captured.requests.iter_mut().zip(own) {
            let all = grants[&(wire.scope, wire.model)];
            if got == Some(false) || (all.asked > 0 && all.got == 0) {
                for marker in &mut wire.markers {
                    marker.ttl = Ttl::FiveMinutes;
                }
            }
        }
    }
}

/// Returns true if a request that asked for an hour wrote something for one, and false if all that it wrote was for five
/// minutes. `None` if it did not ask for one up to its last marker, or if usage does not tell.
pub(crate) fn got_hour(wire: &WireRequest, usage: Option<&Usage>) -> Option<bool> {
    let usage = usage.filter(|usage| !usage.lifetime_is_assumed)?;
    // Behind a marker for five minutes the end is written for five.
    let asked = wire.markers.last()?.asked == Ttl::OneHour;
    let has_written = usage.prompt.written() > Tokens::ZERO;
    (asked && has_written).then_some(usage.prompt.write_1h > Tokens::ZERO)
}
