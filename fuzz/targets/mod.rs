//! What the fuzz targets check, as functions of any bytes. The programs in `fuzz_targets/` each take one
//! of these files; the tests of the project take them all and call them on the seeds.

mod agent;
mod baseline;
mod budget;
mod capture;
mod chain;
mod expression;
mod parallel;
mod place;
mod prices;
mod reading;
mod redact;
mod simulator;
mod strategy;
mod tokens;
mod transcript;

/// The name of a target, and what it checks.
pub(crate) type Target = (&'static str, fn(&[u8]));

/// Each target but that of `line`, which is made of files of the library.
pub(crate) const ALL: [Target; 13] = [
    ("agent", agent::check),
    ("baseline", baseline::check),
    ("budget", budget::check),
    ("capture", capture::check),
    ("chain", chain::check),
    ("expression", expression::check),
    ("parallel", parallel::check),
    ("prices", prices::check),
    ("redact", redact::check),
    ("simulator", simulator::check),
    ("strategy", strategy::check),
    ("tokens", tokens::check),
    ("transcript", transcript::check),
];
