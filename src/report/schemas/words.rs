//! The schemas of words: every name that an enumeration is written with, from where it is written.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::base::ttl::Ttl;
use crate::explain::analysis::Grouping;
use crate::explain::breaks::Ground;
use crate::explain::budget::{Level, Limit, Metric};
use crate::explain::check::{MatchedBy, PromptChangeKind, Status, Verdict};
use crate::explain::context::Kind as ContentKind;
use crate::explain::lint::{Rule, Severity};
use crate::read::capture::Part;
use crate::read::input::Kind as DiagnosticKind;
use crate::report::compare_json::reading_name;
use crate::report::prices_view::speed_name;
use crate::report::verify_view::kind_name;
use crate::requests::prompt::StepKind;
use crate::simulate::cache::{Reading, Refusal};
use crate::simulate::fork::{VARIANTS, Variant};
use crate::simulate::pricing::Speed;
use crate::simulate::provider::{self, Provider};
use crate::simulate::strategy::Obstacle;

/// All variants of an enumeration. One that is forgotten does not compile.
macro_rules! every {
    ($type:ident: $($variant:ident $(($value:expr))?),+) => {{
        let _is_exhaustive = |one: $type| match one {
            $($type::$variant { .. } => ()),+
        };
        [$($type::$variant $(($value))?),+]
    }};
}

/// Types that are written as one of some words.
macro_rules! words {
    ($($type:ident as $name:literal: $words:expr;)+) => {$(
        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                $name.into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "enum": $words })
            }
        }
    )+};
}

words! {
    DiagnosticKind as "DiagnosticKind": DiagnosticKind::ALL.map(DiagnosticKind::name).as_slice();
    Rule as "Rule": Rule::ALL.map(Rule::name).as_slice();
    Severity as "Severity": every!(Severity: Error, Warning, Note).map(Severity::name);
    Refusal as "Refusal":
        every!(Refusal: TtlConflict, TooManyBreakpoints, TtlOrder, UnmarkableBlock)
            .map(Refusal::name);
    Obstacle as "Obstacle":
        every!(
            Obstacle: NoCapturedPrompt, NoPromptBytes, PromptsAsDesigned, NoTranscript,
            NothingToTakeOut, NoKnownParent, NoFork, NoAgentsTogether, NoSideQuery, NothingShared, NoMarker,
            NoTtlChange, NothingToKeepAlive
        )
        .map(Obstacle::name);
    Reading as "Reading": every!(Reading: Literal, Conservative).map(reading_name);
    Ttl as "Ttl": every!(Ttl: FiveMinutes, OneHour).map(Ttl::name);
    Speed as "Speed": every!(Speed: Standard, Fast).map(speed_name);
    Ground as "Ground": every!(Ground: Excess, AtMostExcess, Simulated).map(Ground::name);
    StepKind as "Step":
        every!(StepKind: Opening, ModelChange, Continued, Rewritten, Expired).map(kind_name);
    ContentKind as "ContentKind":
        every!(
            ContentKind: HiddenPrefix, Tools, SystemPrompt, UserText, Media, Files, AgentReports,
            ToolResults(None), Reminders, Commands, Summaries, Answers, Unattributed
        )
        .map(ContentKind::name);
    Grouping as "Grouping": Grouping::ALL.map(Grouping::name).as_slice();
    Variant as "ForkVariant": VARIANTS.map(|variant| variant.name);
    Part as "PromptPart": Part::ALL.map(Part::name).as_slice();
    Metric as "Metric": Metric::ALL.map(|metric| metric.name).as_slice();
    Level as "Level": every!(Level: Warn, Fail).map(Level::name);
    Limit as "LimitKind": Limit::KEYS;
    Status as "BudgetStatus": every!(Status: Passed, LeftOut, Warned, Failed).map(Status::name);
    Verdict as "Verdict": every!(Verdict: Pass, Warn, Fail).map(Verdict::name);
    MatchedBy as "MatchedBy": every!(MatchedBy: Id, File, Order).map(MatchedBy::name);
    PromptChangeKind as "PromptChangeKind":
        every!(PromptChangeKind: Added, Removed, Moved, Changed).map(PromptChangeKind::name);
    Provider as "Provider": provider::ALL.each_ref().map(|provider| provider.name);
}
