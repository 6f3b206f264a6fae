//! The HTML report in a real Chromium: it is looked at and used as a reader would.
//!
//! Where there is no Chromium or no chromedriver these tests are skipped, and fail where `CI` is set.

mod accessibility;
mod appearance;
mod chrome;
mod driver;
mod harness;
mod hostile;
mod large;
mod reader;
mod report;
