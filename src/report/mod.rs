//! The ledger and its analyses → bytes. Nothing is computed here beyond formatting, and no text of
//! a transcript is shown but ids, names of models, tools and files, and what `lint` quotes, all of
//! them escaped.

mod agreement_view;
mod analyze_view;
mod break_rows;
mod breaks_json;
mod breaks_view;
mod compare_json;
mod compare_view;
mod context_json;
mod context_view;
mod document;
mod escape;
mod fork_json;
mod fork_view;
mod ledger_rows;
mod lint_json;
mod lint_view;
mod managed;
mod number;
mod prices_view;
mod report_json;
mod sarif;
mod strategies_view;
mod verify_json;
mod verify_view;

pub use analyze_view::analyze_document;
pub use break_rows::{write_break_csv, write_break_rows};
pub use breaks_json::write_breaks;
pub use breaks_view::{BreaksViewOptions, breaks_document};
pub use compare_json::{write_comparison, write_comparison_csv, write_comparison_lines};
pub use compare_view::{agreement_document, compare_document};
pub use context_json::write_context;
pub use context_view::context_document;
pub use document::{Document, TextStyle};
pub use escape::{terminal_safe, write_record};
pub use fork_json::write_fork;
pub use fork_view::fork_document;
pub use ledger_rows::{write_csv, write_jsonl};
pub use lint_json::write_lint;
pub use lint_view::lint_document;
pub use number::{counted, grouped};
pub use prices_view::{model_document, models_document, models_json};
pub use report_json::write_report;
pub use sarif::write_sarif;
pub use strategies_view::strategies_document;
pub use verify_json::write_verification;
pub use verify_view::verify_document;
