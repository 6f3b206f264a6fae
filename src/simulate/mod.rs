//! Simulation of costs: cache rules, other designs of the requests, prices, and the ledger of both.
//!
//! The modules are in the order of the flow: each uses only those before it.

pub mod management;

pub mod cache;

pub mod design;

pub mod pricing;

pub mod provider;

pub mod strategy;

pub mod ledger;

pub mod fork;
