//! Output of the ledger and its analyses: tables, JSON, pages and charts.
//!
//! Everything here is formatting. The only text of a transcript that is shown are ids, names of models, tools
//! and files, and quotes by `lint`, all of them escaped.

mod advice;
mod analyze_view;
mod answer_view;
mod applicability;
mod baseline;
mod blocks_json;
mod blocks_view;
mod breaks_json;
mod breaks_view;
mod caveats;
mod chart;
mod check_json;
mod check_view;
mod check_words;
mod columns;
mod compare_json;
mod compare_view;
mod config_view;
mod context_json;
mod context_view;
mod document;
mod domains;
mod escape;
mod explain_json;
mod explain_view;
mod fork;
mod groups;
mod hook_note;
mod html;
mod inputs;
mod json;
mod junit;
#[cfg(feature = "redact")]
mod kept;
mod key_notes;
mod lifetime_view;
mod lint;
mod money_notes;
mod notes;
mod novelties;
mod number;
mod part_json;
#[cfg(feature = "cli")]
mod patch_view;
mod price_changes;
mod price_file;
mod prices;
mod report_json;
mod rows;
mod sarif;
mod schemas;
mod screen;
mod session_names;
#[cfg(feature = "cli")]
mod settings_view;
mod since;
mod sources;
mod status_line;
mod table;
mod turns_view;
mod verify;
mod verify_json;
mod watch;
mod weights;

use answer_view::{BREAKS_BEYOND_RULES, WaterfallKind, WaterfallStep, answer_grid, steps};
use columns::Columns;
use document::{DocumentPart, Grid, title, wrapped};
use escape::{SafeText, csv_text, html_attribute, html_text, is_unsafe, markdown_text};
use json::{write_document, write_line, write_versioned};
use key_notes::key_notes;
use notes::notes;
use number::{
    Money, bar, bytes, dollar_difference, duration, equivalents, exact_percent, is_shown,
    known_dollars, part, percent, percent_difference, relative, share, short_tokens, tokens,
    with_sign,
};
use report_json::{ByStrategy, Prices, TotalsObject, is_zero};
use session_names::SessionNames;
use table::{Align, Tone, Value, wrap};

pub use advice::{advice_document, promised, write_advice};
pub use analyze_view::{AnalyzeViewOptions, analyze_document};
pub use baseline::{BaselineError, parse_baseline};
pub use blocks_json::write_blocks;
pub use blocks_view::{BlocksView, blocks_document};
pub use breaks_json::write_breaks;
pub use breaks_view::{BreaksViewOptions, breaks_document};
pub use chart::{
    Chart, Theme, UNDRAWN_STRATEGY, WINDOW_KINDS, breaks_chart, context_chart, cost_chart,
    daily_chart, dearest_session, gaps_chart, page_style, run_charts, strategies_chart, svg,
    turns_chart, waterfall_chart,
};
#[cfg(feature = "png")]
pub use chart::{PngError, png};
pub use check_json::write_check;
pub use check_view::{CheckView, check_document, comment, summary};
pub use compare_json::{write_comparison, write_comparison_csv, write_comparison_lines};
pub use compare_view::{CompareView, UNTOLD_OVER_DOMAINS, compare_document, domain_notes};
pub use config_view::{config_document, write_config};
pub use context_json::write_context;
pub use context_view::context_document;
pub use document::{Document, TextStyle};
pub use domains::{
    AgreementSums, AllDomains, ChangeSums, ContentSums, DomainSums, FindingSums, LossSums,
    StrategySums, WindowSums, write_domain_result,
};
pub use escape::terminal_safe;
pub use explain_json::write_explanation;
pub use explain_view::explain_document;
pub use fork::{fork_document, write_fork};
pub use groups::{groups_document, write_groups, write_groups_csv};
pub use hook_note::{ColdMessage, HookNote};
pub use html::{PageChart, PageView, RunPage, RunTurns, RunView, write_page, write_run_page};
pub use inputs::Inputs;
pub use json::write_record;
pub use junit::write_junit;
#[cfg(feature = "redact")]
pub use kept::{kept_document, write_kept};
pub use lint::{LintView, lint_document, parse_accepted, rule_document, write_lint};
pub use number::{counted, dollars, grouped};
pub use part_json::{
    DomainListing, Manifest, Part, PartFile, PartSettings, RUN_SCHEMA, write_domain,
};
#[cfg(feature = "cli")]
pub use patch_view::{markers_document, patch, readable};
pub use price_changes::{UpdateView, price_changes_document, write_price_changes};
pub use price_file::{WRITTEN_BY, write_price_file};
pub use prices::{
    formats_document, model_document, models_document, models_json, strategies_document,
};
pub use report_json::write_report;
pub use rows::breaks::{BREAK_SCHEMA, BreakFile};
pub use rows::ledger::{LEDGER_SCHEMA, LedgerFile};
pub use rows::parquet::{each_identified, each_request, stored_breaks, stored_rows};
pub use rows::{LedgerOf, Metadata, Place, RowEncoding};

pub use sarif::write_sarif;
pub use schemas::{MACHINE_FORMATS, MachineFormat};
#[cfg(feature = "cli")]
pub use settings_view::{settings_document, settings_outcome};
pub use since::{ToldChange, since_document, write_since};
pub use sources::{SourceRow, sources_document, write_sources};
pub use status_line::{STATUS_TEMPLATE, Status, StatusOfNext, StatusTemplate, TemplateError};
pub(crate) use table::shortened;
pub use turns_view::TurnDetail;
pub use verify::{Shown, verify_document};
pub use verify_json::write_verification;
pub use watch::{
    OpenSession, WatchEvent, WatchEventKind, WatchTable, WatchedNames, WatchedSession, watch_table,
};
pub use weights::{
    WeighedPrompt, WeighedText, prompt_document, text_document, write_prompt, write_text,
};
