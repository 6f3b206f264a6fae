//! Breaks, advice, comparisons and budgets: the reasons of a cost, and the changes that lower it.
//!
//! The modules are in the order of the flow: each uses only those before it.

pub mod compare;

pub mod context;

pub mod lint;

pub mod breaks;

pub mod next;

pub mod blocks;

pub mod advice;

pub mod client_count;

pub mod snapshot;

pub mod budget;

pub mod config;

pub mod check;

pub mod analysis;

pub mod run;

pub mod story;

pub mod weights;
