//! Tables, JSON, rows, pages and charts, on terminals and in files.

mod browser;
mod chart;
mod cli;
mod contracts;
#[cfg(feature = "fleet")]
mod domains;
mod first_lines;
#[cfg(feature = "fleet")]
mod fleet;
mod names;
mod output_files;
mod report;
#[cfg(feature = "fleet")]
mod runs;
mod same_bytes;
#[cfg(feature = "validate")]
mod schemas;
mod terminal;
mod titles;
mod turns;
mod widths;
