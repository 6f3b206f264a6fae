//! Vocabulary that stays besides field names ([`super::shape`]): a fixed list of words, and forms
//! that contain none.
//!
//! A word stays only in a field of its kind. Phrases that stay in texts are in [`super::phrases`].

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::OnceLock;

use super::phrases::{known_phrases, ranges_of};
use super::shape::reachable;
use super::words::SHORTEST_WORD;
use crate::base::model::canonical_name;
use crate::base::names;
use crate::base::project::CLIENT_FOLDERS;
use crate::read::agent::database::AGENT_PROVIDERS;
use crate::read::agent::{
    AGENT_FOLDERS, COMPACTION, EVENT_PREFIX, EVENTS, OPENCLAW, OPENCLAW_FOLDERS, ROO_FOLDERS,
    SESSION_FOLDER, TASK_STEM, TELLING_WRITES, THREAD,
};
use crate::read::capture::MESSAGES_ENDPOINTS;
use crate::read::harness::DEFAULT_ALLOW_LIST;
use crate::read::log::{MARKS_OF_CHANGE, TAKEN_OUT};
use crate::read::transcript::{KNOWN_NAMES, SYNTHETIC_MODEL};
use crate::requests::difference::BETA_FAMILIES;
use crate::simulate::pricing::PriceTable;

/// Values of enumerated fields, sorted by their bytes.
const WORDS: &[&str] = names!(
    "1h 5m AGENT CHAIN CompactionEnd Converse ConverseStream EMBEDDING ERROR EVALUATOR
     EVENT GENERATION GET GUARDRAIL InvokeModel InvokeModelWithResponseStream LLM
     ModelInvocationLog Notification OK POST PermissionRequest PostToolUse
     PostToolUseFailure PreCompact PreToolUse RETRIEVER SPAN STATUS_CODE_ERROR SessionEnd
     SessionStart StatusUpdate StepBegin StepInterrupted Stop SubagentEvent SubagentStart
     SubagentStop TOOL TRUE ToolCall ToolResult True TurnBegin UserPromptSubmit
     _aresponses_websocket aanthropic_messages aborted acceptEdits acompletion adaptive
     advisor_message agenerate_content agenerate_content_stream agent-setting
     agent_message agent_progress agent_reasoning agent_reasoning_raw_content
     agent_reasoning_section_break ai.generateObject.doGenerate
     ai.generateText.doGenerate ai.streamObject.doStream ai.streamText.doStream
     ai.toolCall all allm_passthrough_route anthropic anthropic_messages any
     api_req_started application/json application/pdf aresponses array ask assistant
     atext_completion attachment attribution_snapshot auto available away_summary base64
     bashExecution bash_ bash_code_execution_tool_result bash_progress batch bedrock
     boolean branch_summary bypassPermissions cache_edits cache_read cache_write
     cachesim.rows/v1 canceled carried_forward chain chat chat_compression chunked
     citations_delta claude-code claude-code-github-action claude-desktop claude-vscode
     clear clear_thinking_ clear_tool_uses_ cli code_execution_ code_execution_20260120
     code_execution_tool_result commentary compact compact_ compact_boundary compacted
     compaction complete completed completion completion_with_retries computer_
     condense_context config.update container_upload content content-replacement
     content_block_delta content_block_start content_block_stop context.append_loop_event
     context.append_message context_window copilot-agent copilot-chat custom
     custom_tool_call custom_tool_call_output danger-full-access default delete
     deleted_api_reqs dequeue developer direct disabled document dontAsk enabled
     encrypted_content end_turn enqueue ephemeral error errored event_msg execute_tool
     expired external failed failure fallback_message false fast final_answer first_party
     flex fork-context-ref foundry full full_compaction.complete function function_call
     function_call_output gemini gemini-cli generate_content generate_content_stream
     github-copilot global gzip high hook_progress human identity image image/gif
     image/jpeg image/png image/webp image_url in_progress info input input_file
     input_image input_json_delta input_text input_tokens integer
     inter_agent_communication_metadata invoke_agent json json_schema keep-alive
     last-prompt llm llm.request llm_passthrough_route local local-agent local_command
     local_shell_call logout low managed manual marble-origami-commit max max_tokens mcp
     mcp_progress mcp_tool_call_end mcp_tool_result mcp_tool_use medium memory_ message
     message_delta message_end message_start message_stop messages_changed metadata
     metric micro_compaction.apply microcompact_boundary minimal model_changed
     model_context_window_exceeded model_refusal_fallback namespace never none normal
     not_available null number object omitted on-failure on-request openai opencode
     output output_text output_tokens pass_through_endpoint patch_apply_end pause_turn
     pending ping plan popAll previous_message_not_found priority progress project prompt
     query_update queued qwen-code read-only reasoning redacted_thinking refusal remote
     remove response_item responses resume retry say sdk-cli sdk-py sdk-ts search_result
     search_results_received server_tool_use session session.compaction_complete
     session.compaction_start session.model_change session.resume session.shutdown
     session.start session_meta signature_delta sliding_window_truncation snip span
     sparse spine.close spine.next spine.root_compact standard started startup
     step-finish stop_hook_summary stop_sequence string sub_agent_activity subagent
     subagent_usage succeeded success suggestion summarised summarized summary_text
     system system_changed task-notification task_complete text text/event-stream
     text/plain text_completion text_delta text_editor text_editor_
     text_editor_code_execution_tool_result thinking_delta thinking_turns
     thread_settings_applied token_count token_usage_record tool tool.call tool.result
     toolCall toolResult tool_addition tool_reference tool_removal tool_result
     tool_search_tool_bm25_ tool_search_tool_regex_ tool_search_tool_result tool_use
     tool_uses tools.set_active_tools tools_changed true turn turn.prompt turn_aborted
     turn_completed turn_context turn_duration typed ultra ultrafast unavailable
     untrusted url us usage.record user user_feedback user_message user_message_chunk
     vertex waiting_for_task warning web_fetch_ web_fetch_tool_result web_search_
     web_search_call web_search_tool_result workspace-write world_state xhigh"
);

/// Words in model names that the price tables lack: platforms' words, and general ones.
const MODEL_WORDS: &[&str] = names!(
    "air anthropic apac au auto bedrock beta chat chatgpt coder codex databricks deepseek default eu exp
     experimental fast flash free gemini gemma glm global google gov gpt grok high instruct it
     jp k kimi large latest lite llama low m max meta mini mistral mistralai model moonshot
     moonshotai nano o openai oss plus preview pro qwen reasoning review router small thinking
     turbo ultra us v vision"
);

/// Beginnings of the beta features that the service documents, except for those that readers
/// distinguish.
const BETAS: &[&str] = names!(
    "advanced-tool-use- claude-code- code-execution- compact- computer-use- context-1m-
     context-management- effort- extended-cache-ttl- files-api- fine-grained-tool-streaming-
     inline-tools- interleaved-thinking- mcp-client- mid-conversation- oauth- output-128k- pdfs-
     prompt-caching- redact-thinking- skills- structured-outputs- token-efficient-tools-
     web-fetch-"
);

/// Names of services and programs, anywhere in the name of a route, besides those that readers
/// distinguish.
const ROUTES: &[&str] = names!(
    "amazon-bedrock antigravity az.ai.openai azure azure.ai.openai codex copilot deepseek
     gcp.gemini gcp.gen_ai gemini github google kimi litellm moonshot ollama openai opencode
     openrouter vertex zed.dev"
);

/// Prefixes of identifiers that show their kind.
const ID_KINDS: &[&str] =
    names!("agent- call_ chatcmpl- gen- msg_ prt_ req_ resp_ ses_ sess_ srvtoolu_ toolu_ vrtx_");

/// Parts of the addresses of requests, and of the names of models in them.
const ADDRESS_PARTS: &[&str] = names!(
    "anthropic apac api au audio batches beta chat com complete completions converse
     converse-stream count_tokens edits embeddings eu file generateContent generations global
     http https images jp locations messages model models moderations projects publishers
     responses session speech streamGenerateContent transcriptions true update us"
);

/// Words in `metadata.user_id`.
pub(super) const USER_PARTS: &[&str] = names!("account session user");

/// Words of five letters or more, in lower case, that may occur in redacted text: those of the
/// fixed lists, and the beginnings of identifiers and pictures. Apart from the names of tools,
/// if they are kept, no other word of the input stays.
pub fn allowed_words() -> BTreeSet<String> {
    let fields =
        reachable().into_iter().flat_map(|(shape, _)| shape.fields).flat_map(|(_, names)| *names);
    let lists = [
        WORDS,
        BETAS,
        ID_KINDS,
        ADDRESS_PARTS,
        USER_PARTS,
        VERSION_PARTS,
        COUNTER_PARTS,
        &CLIENT_FOLDERS,
        &MESSAGES_ENDPOINTS,
        &EVENTS,
        &[SYNTHETIC_MODEL, "unknown", "bytes", "mcp__", SESSION_FOLDER, EVENT_PREFIX],
    ];
    let of_models = model_words().iter().map(String::as_str);
    fields
        .copied()
        .chain(lists.concat())
        .chain(KNOWN_NAMES.concat())
        .chain(known_phrases())
        .chain(BETA_FAMILIES.iter().map(|(family, _)| *family))
        .chain(sources())
        .chain(of_models)
        .chain(told_apart())
        .chain(routes())
        .chain(changes())
        .flat_map(|text| text.split(|one: char| !one.is_alphabetic()))
        .filter(|word| word.chars().count() >= SHORTEST_WORD as usize)
        .map(str::to_lowercase)
        .collect()
}

/// Returns true for a value of an enumerated field that stays.
pub(super) fn is_word(text: &str) -> bool {
    // Types of the service's tools and features end with a date, such as `bash_20250124`.
    let undated = text.trim_end_matches(|character: char| character.is_ascii_digit());
    WORDS.binary_search(&text).is_ok()
        || KNOWN_NAMES.iter().any(|names| names.contains(&text))
        || (undated.ends_with('_') && WORDS.binary_search(&undated).is_ok())
}

/// Returns true for a model name that stays: all its words are known ones of model names.
pub(super) fn is_model(text: &str) -> bool {
    text == SYNTHETIC_MODEL
        || text == "unknown"
        || text
            .split(|character: char| !character.is_alphabetic())
            .all(|word| word.is_empty() || model_words().contains(&*word.to_lowercase()))
}

/// Start of the part of a model name that may stay: after an address, if there is one.
pub(super) fn model_start(text: &str) -> usize {
    text.rfind('/').map_or(0, |slash| slash + 1)
}

/// Ranges that stay of a model name with unknown words, so that vendors and families remain distinct:
/// everything from its first known word to its first unknown one, then known words.
/// Digits after an unknown word may be an account's.
pub(super) fn model_ranges(text: &str) -> Vec<Range<usize>> {
    let (mut at, mut has_known, mut has_unknown) = (0, false, false);
    let mut ranges = Vec::new();
    for piece in text.split_inclusive(|one: char| !one.is_alphabetic()) {
        let word = piece.trim_end_matches(|one: char| !one.is_alphabetic());
        let is_known = model_words().contains(&*word.to_lowercase());
        has_known |= is_known;
        has_unknown |= !is_known && !word.is_empty();
        if has_known && !has_unknown {
            ranges.push(at..at + piece.len());
        } else if is_known {
            ranges.push(at..at + word.len());
        }
        at += piece.len();
    }
    ranges
}

fn model_words() -> &'static BTreeSet<String> {
    static WORDS: OnceLock<BTreeSet<String>> = OnceLock::new();
    WORDS.get_or_init(|| {
        let tables = [&PriceTable::built_in(), PriceTable::of_providers()];
        let names = tables.into_iter().flat_map(PriceTable::models).flat_map(|model| {
            std::iter::once(&model.id).chain(&model.aliases).map(|name| canonical_name(name))
        });
        let names: Vec<Cow<'_, str>> = names.collect();
        let words = names.iter().flat_map(|name| name.split(|one: char| !one.is_alphabetic()));
        let words = words.chain(MODEL_WORDS.iter().copied()).map(str::to_lowercase);
        words.filter(|word| !word.is_empty()).collect()
    })
}

/// Words in versions.
const VERSION_PARTS: &[&str] = names!("alpha beta dev rc v bedrock vertex");

/// Returns true for a version: numbers and known words, separated by dots, hyphens or plus signs.
pub(super) fn is_version(text: &str) -> bool {
    let is_part = |part: &str| {
        part.bytes().all(|byte| byte.is_ascii_digit()) || VERSION_PARTS.contains(&part)
    };
    text.split(['.', '-', '+']).all(is_part)
}

/// Returns true for a text that may be a moment or a day.
pub(super) fn is_moment(text: &str) -> bool {
    text.bytes().all(|byte| {
        byte.is_ascii_digit()
            || matches!(byte, b'-' | b':' | b'.' | b',' | b'T' | b'Z' | b't' | b'z' | b'+' | b' ')
    })
}

/// Returns true for a beta feature that stays.
pub(super) fn is_beta(name: &str) -> bool {
    let families = BETA_FAMILIES.iter().map(|(family, _)| *family);
    let rest = families.chain(BETAS.iter().copied()).find_map(|family| name.strip_prefix(family));
    rest.is_some_and(|rest| {
        let is_part = |part: &str| {
            part.bytes().all(|byte| byte.is_ascii_digit())
                || matches!(part, "scope" | "output" | "config" | "tool" | "changes" | "system")
        };
        rest.split('-').all(is_part)
    })
}

/// Returns true for a text that can be the name of a tool.
pub(super) fn is_tool_name(text: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    text.len() <= 128 && text.bytes().all(is_allowed)
}

/// Length of the prefix of an identifier that shows its kind, in bytes.
pub(super) fn id_kind(text: &str) -> usize {
    let mut kinds = ID_KINDS.iter().chain([&THREAD]);
    kinds.find(|kind| text.starts_with(**kind)).map_or(0, |kind| kind.len())
}

/// Length of the beginning of an identifier of opencode's up to the end of its time: twelve hexadecimal
/// digits after a known kind.
pub(super) fn time_in_id(text: &str) -> usize {
    const DIGITS: usize = 12;
    let kind = id_kind(text);
    let digits = text[kind..].bytes().take(DIGITS).take_while(u8::is_ascii_hexdigit).count();
    if kind > 0 && digits == DIGITS { kind + DIGITS } else { kind }
}

/// Returns true for a part of an address that stays.
pub(super) fn is_address_part(part: &str) -> bool {
    let is_version = part.strip_prefix('v').is_some_and(|rest| is_version(rest) && rest.len() < 3);
    let mut ends = MESSAGES_ENDPOINTS.iter().map(|end| end.trim_start_matches([':', '/']));
    // Some services have the model in the address.
    let is_named_model = || part.contains("claude") && is_model(part);
    is_version || ADDRESS_PARTS.contains(&part) || ends.any(|end| end == part) || is_named_model()
}

/// Marks that gateways write into a body that they changed.
pub(super) fn changes() -> impl Iterator<Item = &'static str> {
    MARKS_OF_CHANGE.into_iter().chain([TAKEN_OUT])
}

/// Ranges of known services and programs in the name of a route.
pub(super) fn route_names(text: &str) -> Vec<Range<usize>> {
    ranges_of(&text.to_ascii_lowercase(), routes())
}

fn routes() -> impl Iterator<Item = &'static str> {
    ROUTES.iter().copied().chain(TELLING_WRITES).chain([OPENCLAW]).chain(AGENT_PROVIDERS)
}

/// Returns true if readers recognise a folder or a file by this name, without its ending.
pub(super) fn is_told_apart(name: &str) -> bool {
    told_apart().any(|known| known == name)
}

/// Returns true for a word of such a name.
pub(super) fn is_part_of_told_apart(word: &str) -> bool {
    let mut words = told_apart().flat_map(|name| name.split(|one: char| !one.is_alphabetic()));
    words.any(|known| known == word)
}

fn told_apart() -> impl Iterator<Item = &'static str> {
    let folders = AGENT_FOLDERS.into_iter().chain(ROO_FOLDERS).chain(OPENCLAW_FOLDERS);
    folders.chain([TASK_STEM])
}

/// Returns true for a folder name that stays.
pub(super) fn is_folder(name: &str) -> bool {
    CLIENT_FOLDERS.contains(&name)
}

/// Parts of the names of counters that distinguish them.
const COUNTER_PARTS: &[&str] = names!(
    "cache ephemeral creation write 1h 5m input_ prompt_ output_ completion_ reason thought
     _tokens"
);

/// Ranges of the name of a counter that say what it counts, in whatever case.
pub(super) fn counter_parts(text: &str) -> Vec<Range<usize>> {
    ranges_of(&text.to_ascii_lowercase(), COUNTER_PARTS.iter().copied())
}

/// Returns true for a number, or one of the words.
pub(super) fn is_figure(text: &str) -> bool {
    let is_of_number =
        |byte: u8| matches!(byte, b'0'..=b'9' | b'.' | b'-' | b'+' | b'_' | b'e' | b'E' | b' ');
    is_word(text)
        || (text.bytes().all(is_of_number) && text.bytes().any(|byte| byte.is_ascii_digit()))
}

/// Length of the beginning of an event's or a span's name that says what it is.
pub(super) fn known_event(text: &str) -> usize {
    let front = if text.starts_with(EVENT_PREFIX) { EVENT_PREFIX.len() } else { 0 };
    if EVENTS.contains(&&text[front..]) { text.len() } else { front }
}

/// Length of the prefix of a query source that a harness knows.
pub(super) fn known_source(text: &str) -> usize {
    let common = |known: &str| {
        // Entries of the allow list may end with a wildcard.
        let known = known.trim_end_matches('*').bytes();
        known.zip(text.bytes()).take_while(|(one, other)| one == other).count()
    };
    sources().map(common).max().unwrap_or(0)
}

fn sources() -> impl Iterator<Item = &'static str> {
    DEFAULT_ALLOW_LIST.into_iter().chain([COMPACTION])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_in_order_to_be_found() {
        assert!(WORDS.is_sorted());
        for word in ["assistant", "task-notification", "image/png", "bash_20250124", "1h"] {
            assert!(is_word(word), "{word}");
        }
        for text in ["", "secret", "bash_x", "20250124"] {
            assert!(!is_word(text), "{text}");
        }
    }

    #[test]
    fn models_are_made_of_the_words_of_models() {
        for name in [
            "claude-opus-5[1m]",
            "us.anthropic.claude-opus-4-5-20251101-v1:0",
            "gpt-5.4-mini",
            "codex-auto-review",
            "<synthetic>",
        ] {
            assert!(is_model(name), "{name}");
        }
        for (name, kept) in [
            ("acme-claude-opus-4-5", "claudeopus"),
            ("gpt-5.4-acme-7-mini", "gpt-5.4-mini"),
            ("12-acme", ""),
        ] {
            let ranges = model_ranges(name).into_iter();
            let stays: String = ranges.map(|range| &name[range]).collect();
            assert_eq!((is_model(name), stays.trim_matches('-')), (false, kept), "{name}");
        }
        for name in ["acme-tuned", "claude-for-acme", "arn:aws:bedrock:us-east-1:1:p"] {
            assert!(!is_model(name), "{name}");
        }
    }

    #[test]
    fn forms_hold_no_words() {
        assert!(is_version("2.1.34") && is_version("1.0.0-beta.2") && !is_version("2.1-secret"));
        assert!(is_moment("2026-08-03T10:00:00.123Z") && !is_moment("Monday"));
        assert!(is_beta("fast-mode-2026-02-01") && is_beta("context-1m-2025-08-07"));
        assert!(!is_beta("fast-mode-secret") && !is_beta("acme-2026-01-01"));
    }
}
