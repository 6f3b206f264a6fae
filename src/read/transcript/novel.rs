//! Names in lines of Claude Code that the program does not know, so that a format that moved is seen.
//!
//! Known names are those of the sessions of clients until 2.1.238 and of one of [`KNOWN_UNTIL`], and those that the
//! reference has of later clients.

use crate::base::words::identifier;
use crate::base::{Symbol, Symbols, has_symbols, names, words};

/// Newest client of which a session was seen.
pub const KNOWN_UNTIL: &str = "2.1.289";

words! {
    /// Part of a line that has a name.
    #[cfg_attr(test, derive(schemars::JsonSchema))]
    pub enum NovelPart {
        /// `version` of the client.
        Client = "client";
        /// `type` of a line.
        Line = "line";
        /// `subtype` of a system line.
        System = "system";
        /// `type` of an attachment.
        Attachment = "attachment";
        /// Key in a response's usage.
        Usage = "usage";
    }
}

/// Unknown name, with the number of lines that have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Novelty {
    /// Part of the line.
    pub part: NovelPart,
    /// Name as it is in the line, or `(no name)` for what is no identifier.
    pub name: Symbol,
    /// Version of the client, if the lines have one.
    pub client_version: Option<Symbol>,
    /// Number of lines.
    pub lines: u64,
}

has_symbols!(Novelty { name, client_version } beside { part, lines });

/// Most unknown names that are kept of a stretch of a file; damage can make any number of them.
const MOST: usize = 64;

/// Types of lines that say nothing of a prompt.
const LINES: &[&str] = names!(
    "agent-color agent-name ai-title api-request artifact-autoreact-ledger artifact-comment-monitor
     atis-latch attribution-snapshot bridge-session continued-in cost-state custom-title
     file-history-delta file-history-snapshot frame-link history-suppression
     marble-origami-snapshot mode permission-mode pr-link queue-operation relocated rewind-pointer
     saved_hook_context speculation-accept summary tag task-summary worktree-state"
);

/// Subtypes of system lines that say nothing of a prompt.
const SYSTEM: &[&str] = names!(
    "agents_killed api_error api_metrics bridge_status informational init memory_saved
     permission_retry scheduled_task_fire task_notification task_progress task_started thinking"
);

/// Attachments that the client sent, or may have sent.
pub(super) const SENT: &[&str] = names!(
    "agent_listing_delta already_read_file async_hook_response auto_mode batching_reminder_sent
     companion_intro compact_file_reference critical_system_reminder date date_change
     deferred_tools_delta diagnostics directory edited_text_file environment file goal_status
     hook_additional_context hook_blocking_error hook_success instructions invoked_skills
     mcp_instructions_delta model nested_memory opened_file_in_ide output_style
     plan_file_reference plan_mode plan_mode_exit plan_mode_reentry queued_command
     read_truncation_notice relevant_memories remote_session_change selected_lines_in_ide
     session_context silent_turn_reminder skill_listing task_reminder task_status todo_reminder
     token_usage total_tokens_reminder ultra_effort_enter ultra_effort_exit
     workflow_keyword_request"
);

/// Attachments that no client sends.
pub(super) const UNSENT: &[&str] = names!(
    "command_permissions credential_org deferred_tools_record hook_cancelled
     hook_non_blocking_error hook_system_message prompt_snapshot"
);

/// All known names that no other part of the program has.
pub(crate) const KNOWN_NAMES: [&[&str]; 4] = [LINES, SYSTEM, SENT, UNSENT];

/// Returns true if the program knows a name of a part.
pub(super) fn is_known(part: NovelPart, name: &str) -> bool {
    match part {
        NovelPart::Line => LINES.contains(&name),
        NovelPart::System => SYSTEM.contains(&name),
        NovelPart::Attachment => SENT.contains(&name) || UNSENT.contains(&name),
        NovelPart::Client | NovelPart::Usage => false,
    }
}

/// Counts a line with an unknown name.
pub(super) fn count(
    novelties: &mut Vec<Novelty>,
    part: NovelPart,
    name: &str,
    client_version: Option<Symbol>,
    symbols: &mut Symbols,
) {
    let name = symbols.intern(identifier(name));
    let is_same = |one: &&mut Novelty| {
        one.part == part && one.name == name && one.client_version == client_version
    };
    if let Some(one) = novelties.iter_mut().find(is_same) {
        one.lines += 1;
    } else if novelties.len() < MOST {
        novelties.push(Novelty { part, name, client_version, lines: 1 });
    }
}
