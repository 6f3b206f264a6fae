//! Files as they are: transcripts, captured requests, prompt bundles.
//!
//! The modules stand in the order of the flow: each uses only those before it.

pub mod input;

pub mod transcript;

pub mod harness;

pub mod capture;
