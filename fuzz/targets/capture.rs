//! Captured requests, bundles and the exchanges of claude-trace logs: any bytes give requests whose
//! prompts are paths through one tree, and which the rules split without a token left over.

use cachesim::base::ttl::Ttl;
use cachesim::simulate::strategy::Strategy;

use super::reading::{options, rows, sources, study};

pub(crate) fn check(bytes: &[u8]) {
    let Some(study) = study(sources(&[bytes]), options(None)) else { return };
    let captured = &study.history.captured.requests;
    assert!(captured.len() <= study.history.requests.len());
    rows(&study, &[Strategy::expected(), Strategy::lifetime(Ttl::OneHour)]);
}
