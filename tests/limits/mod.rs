//! Hostile inputs, faults, secrets that may not be shown, licences, sizes.

mod ceilings;
mod copies;
#[cfg(unix)] // signals, pipes and limits of a shell
mod faults;
#[cfg(unix)] // its guards are of a shell
mod inputs;
mod licences;
mod mutation;
mod oldest_compiler;
mod planted;
mod seeds;
