//! Fields of rows of databases. The name of its table decides the fields of a row.

use super::agents::{OPENCODE_INFO, OPENCODE_PART, USAGE};
use crate::base::names;
use crate::read::agent::database::{
    LEDGER_COLUMNS, REQUEST_COLUMNS, SESSION_COLUMNS, SPAN_COLUMNS,
};
use crate::redact::shape::{Field, Shape};

shapes! {
    /// Line of `cachesim.rows/v1`.
    pub(super) static ROWS = "row of a database" {
        Word: "schema";
        Key(TABLES): "table";
        Key(COLUMNS): "columns";
        Number: "rowid";
        Told: "row";
    }

    /// Tables by name.
    static TABLES = "tables" {
        Shaped(SESSION): "session session_v2 sessions";
        Shaped(MESSAGE): "message";
        Shaped(PART): "part";
        Shaped(STEP): "session_message";
        Shaped(EVENT): "assistant_usage_events";
        Shaped(SPAN): "spans";
        Shaped(SPAN_ATTRIBUTE): "span_attributes";
        Shaped(THREAD): "threads";
        Shaped(LEDGER): "usage_ledger";
        Shaped(ANSWER): "gen_metadata steps trajectory_metadata_blob";
    }
}

/// All columns, for lines that name them.
static COLUMNS: Shape = Shape {
    name: "columns",
    fields: &[
        // Only names count here, since no values follow them.
        (
            Field::Free,
            names!(
                "id parent_id slug directory version session_id time_created data message_id seq
                 type cwd key value folder_paths summary updated_at data_type idx metadata"
            ),
        ),
        (Field::Free, &REQUEST_COLUMNS),
        (Field::Free, &SPAN_COLUMNS),
        (Field::Free, &SESSION_COLUMNS),
        (Field::Free, &LEDGER_COLUMNS),
    ],
    ..Shape::PLAIN
};

shapes! {
    static SESSION = "row of a session" {
        Identifier: "id parent_id parent_session_id";
        Path: "directory cwd working_dir";
        Version: "version";
        Route: "provider_name";
        Number: "accumulated_total_tokens";
        Free: "slug";
    }

    static MESSAGE = "row of a message of opencode" {
        Timed: "id";
        Identifier: "session_id";
        Number: "time_created";
        Json(OPENCODE_INFO): "data";
    }

    static PART = "row of a part of opencode" {
        Timed: "id message_id";
        Json(OPENCODE_PART): "data";
    }

    static STEP = "row of a message of version 2 of opencode" {
        Timed: "id";
        Identifier: "session_id";
        Number: "time_created seq";
        Word: "type";
        Json(STEP_DATA): "data";
    }

    static STEP_DATA = "message of version 2 of opencode" (like: Some(&OPENCODE_INFO)) {
        Shaped(MODEL): "model";
    }

    static MODEL = "model of a row" {
        Model: "id model";
        Route: "providerID provider";
    }

    static EVENT = "row of a request of Copilot CLI" {
        Number:
            "id turn_index input_tokens output_tokens cache_read_tokens cache_write_tokens
             reasoning_tokens total_nano_aiu duration_ms";
        Identifier: "session_id agent_id parent_tool_call_id";
        Model: "model";
        Word: "initiator";
        Json(USAGE): "token_details_json";
        Moment: "created_at";
    }

    static SPAN = "row of a span of Copilot" {
        Identifier: "span_id trace_id parent_span_id conversation_id chat_session_id";
        Moment: "start_time_ms end_time_ms";
        Number: "status_code input_tokens output_tokens cached_tokens reasoning_tokens";
        Word: "operation_name";
        Route: "provider_name";
        Model: "request_model response_model";
    }

    static SPAN_ATTRIBUTE = "row of an attribute of a span of Copilot" {
        Identifier: "span_id";
        Key(SPAN_ATTRIBUTES): "key";
        Told: "value";
    }

    static SPAN_ATTRIBUTES = "attributes of a span of Copilot" {
        Figure: "gen_ai.usage.cache_creation.input_tokens github.copilot.nano_aiu";
        Identifier: "gen_ai.response.id copilot_chat.server_request_id copilot_chat.debug_name";
    }

    static LEDGER = "row of a request of Goose" {
        Identifier: "session_id";
        Moment: "created_timestamp";
        Model: "model";
        Number: "input_tokens output_tokens cache_read_tokens cache_write_tokens is_compaction";
        Word: "cost_source";
    }

    static ANSWER = "row of Antigravity" {
        Number: "idx";
        Json(ANSWER_RECORD): "data metadata";
    }

    static ANSWER_RECORD = "record of Antigravity" {
        Path: "folder";
        Model: "model label";
        Identifier: "id";
        Moment: "at";
        Number: "number input output written read thinking";
    }

    static THREAD = "row of a thread of Zed" {
        Identifier: "id parent_id";
        Path: "folder_paths";
        Moment: "created_at updated_at";
        Word: "data_type";
        Json(THREAD_DATA): "data";
        Free: "summary";
    }

    static THREAD_DATA = "thread of Zed" {
        Shaped(THREAD_MESSAGE): "messages";
        Shaped(MODEL): "model";
        Shaped(USAGE_BY_MESSAGE): "request_token_usage";
        Shaped(THREAD_USAGE): "cumulative_token_usage";
    }

    static THREAD_MESSAGE = "message of Zed" {
        Shaped(THREAD_MESSAGE): "User";
        Free: "Agent Compaction";
        Identifier: "id";
        Word: "role";
    }

    /// Usage by the user's messages, or in a list.
    static USAGE_BY_MESSAGE = "usage by message"
        (
            like: Some(&THREAD_USAGE),
            names_are: Field::Identifier,
            others: Field::Shaped(&THREAD_USAGE)
        ) {}

    static THREAD_USAGE = "usage of Zed" {
        Number: "input_tokens output_tokens cache_creation_input_tokens cache_read_input_tokens";
    }
}
