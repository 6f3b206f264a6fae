//! What the content of a line is, as far as its form shows: typed, a reminder, a report, a command.

/// What a piece of user-side content is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ContentKind {
    /// What a user wrote; in a sub-agent, its task.
    #[default]
    UserText,
    /// A file, or a part of one, that the client attached.
    File,
    /// What a sub-agent or a background task reported, outside a tool's result.
    AgentReport,
    /// What the client added for the model alone.
    Reminder,
    /// What a skill says, when it is used.
    Skill,
    /// A command given to the client, or its output.
    Command,
    /// The summary of a conversation that was compacted.
    Summary,
}

/// How the message begins that the client adds where a resumed session broke off.
pub(super) const CONTINUATION: &str = "Continue from where you left off";

/// Beginnings of texts that the client writes in the user's name.
pub(crate) const BEGINNINGS: [(&str, ContentKind); 12] = [
    ("<command-", ContentKind::Command),
    ("<local-command-", ContentKind::Command),
    ("<bash-input>", ContentKind::Command),
    ("<bash-stdout>", ContentKind::Command),
    ("<bash-stderr>", ContentKind::Command),
    ("<user-memory-input>", ContentKind::Command),
    ("<task-notification>", ContentKind::AgentReport),
    ("<teammate-message", ContentKind::AgentReport),
    ("<system-reminder>", ContentKind::Reminder),
    ("[Request interrupted by user", ContentKind::Reminder),
    ("Base directory for this skill", ContentKind::Skill),
    // The client's own is hidden from the user, which tells it from what a user types.
    (CONTINUATION, ContentKind::UserText),
];

/// Where the beginning of a text ends that tells its kind; `None` where it tells none.
pub(crate) fn beginning_of(text: &str) -> Option<usize> {
    let known = BEGINNINGS.iter().find(|(beginning, _)| text.starts_with(beginning));
    known.map(|(beginning, _)| beginning.len())
}

/// The kind of a user's text, by its beginning, decoded or as JSON without its quotes.
pub(super) fn kind_of_text(text: &str) -> ContentKind {
    let known = BEGINNINGS.iter().find(|(beginning, _)| text.starts_with(beginning));
    known.map_or(ContentKind::UserText, |(_, kind)| *kind)
}

/// The kind of an attachment by its `type` and, of a queued command, its `commandMode`. All others
/// are reminders, those of unknown types among them: the client wraps them as such.
pub(super) fn kind_of_attachment(name: &str, command_mode: &str) -> ContentKind {
    match name {
        "file" | "edited_text_file" | "selected_lines_in_ide" => ContentKind::File,
        "queued_command" if command_mode == "task-notification" => ContentKind::AgentReport,
        "queued_command" => ContentKind::UserText,
        "task_status" => ContentKind::AgentReport,
        _ => ContentKind::Reminder,
    }
}

/// Whether an attachment reaches the model: what hooks did is for the user, save for the output of
/// those that add context.
pub(super) fn is_sent(name: &str, hook_event: &str) -> bool {
    match name {
        "hook_success" => matches!(hook_event, "SessionStart" | "UserPromptSubmit"),
        "hook_system_message"
        | "hook_non_blocking_error"
        | "hook_cancelled"
        | "command_permissions" => false,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_known_by_their_beginnings() {
        assert_eq!(kind_of_text("please go on"), ContentKind::UserText);
        assert_eq!(kind_of_text("<command-name>/mcp</command-name>"), ContentKind::Command);
        assert_eq!(kind_of_text("<task-notification>\n"), ContentKind::AgentReport);
        assert_eq!(kind_of_text("see <task-notification>"), ContentKind::UserText);
    }

    #[test]
    fn attachments_are_reminders_unless_they_are_something_else() {
        assert_eq!(kind_of_attachment("edited_text_file", ""), ContentKind::File);
        assert_eq!(kind_of_attachment("queued_command", "prompt"), ContentKind::UserText);
        assert_eq!(
            kind_of_attachment("queued_command", "task-notification"),
            ContentKind::AgentReport
        );
        assert_eq!(kind_of_attachment("something_new", ""), ContentKind::Reminder);
        assert!(is_sent("something_new", ""));
        assert!(is_sent("hook_success", "SessionStart"));
        assert!(!is_sent("hook_success", "PostToolUse"));
    }
}
