//! The redactor, on sessions of plausible lines with hostile values: lines keep their lengths and
//! their damage, no secret survives, and the figures are those of the original.

use arbitrary::{Result, Unstructured};
use cachesim::base::ttl::Ttl;
use cachesim::read::input::Source;
use cachesim::redact::{Survey, ToolNames};
use cachesim::simulate::strategy::Strategy;
use cachesim::study::Study;
use serde_json::{Value, json};

use super::reading::{history, options, rows};

/// A word of text that must not be in any output: of no list of allowed words.
const SECRET: &str = "Zwqxkvbrphlm";

/// A word of names of tools, which stay unless they are to be hashed.
const TOOL: &str = "Vjqhgpxnwtkf";

/// More lines find nothing that fewer do not.
const MOST_LINES: usize = 12;

pub(crate) fn check(bytes: &[u8]) {
    let Ok(lines) = session(&mut Unstructured::new(bytes)) else { return };
    let source = Source::in_memory("session.jsonl", &lines);
    for tool_names in [ToolNames::Keep, ToolNames::Hash] {
        let after = redacted(&source, tool_names);
        assert_eq!(lengths(&after), lengths(&lines));
        let text = String::from_utf8_lossy(&after).to_lowercase();
        assert!(!text.contains(&SECRET.to_lowercase()), "the secret is in {text}");
        let names_stay = matches!(tool_names, ToolNames::Keep);
        assert!(names_stay || !text.contains(&TOOL.to_lowercase()), "a tool's name is in {text}");
        assert_eq!(redacted(&source, tool_names), after);
        assert_same(&told(&lines), &told(&after));
    }
}

fn redacted(source: &Source, tool_names: ToolNames) -> Vec<u8> {
    let mut survey = Survey::default();
    survey.read(source).expect("memory can be read");
    let mut out = Vec::new();
    survey.finish(tool_names).write(source, &mut out).expect("memory takes all");
    out
}

fn lengths(bytes: &[u8]) -> Vec<usize> {
    bytes.split(|byte| *byte == b'\n').map(<[u8]>::len).collect()
}

/// The same figures; the first that differ are named.
fn assert_same((old, damage): &Told, (new, new_damage): &Told) {
    assert_eq!(damage, new_damage);
    assert_eq!(old.len(), new.len());
    let differing = old.iter().zip(new).find(|(old, new)| old != new);
    assert_eq!(differing, None);
}

/// Rows, and how often each kind of damage was found.
type Told = (Vec<String>, Vec<(String, u64)>);

/// All figures, without names.
fn told(bytes: &[u8]) -> Told {
    let options = options(None);
    let history = history(vec![Source::in_memory("session.jsonl", bytes)], &options);
    let counts = history.diagnostics.counts().map(|(kind, count)| (kind.name().to_owned(), count));
    let counts = counts.collect();
    let Ok(study) = Study::of(history, options) else { return (Vec::new(), counts) };
    let strategies = [Strategy::billed(), Strategy::expected(), Strategy::lifetime(Ttl::OneHour)];
    let rows = rows(&study, &strategies);
    let rows = rows.split(|byte| *byte == b'\n').filter(|row| !row.is_empty());
    let rows = rows.map(|row| {
        let mut row: Value = serde_json::from_slice(row).expect("a row");
        let fields = row.as_object_mut().expect("an object");
        for name in ["session_id", "agent_id", "request_id", "message_id", "model", "project"] {
            fields.remove(name);
        }
        row.to_string()
    });
    (rows.collect(), counts)
}

/// The lines of a session, of one format mostly.
fn session(u: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    let format = u.int_in_range(0..=3_u8)?;
    let mut lines = Vec::new();
    for number in 0..u.int_in_range(1..=MOST_LINES)? {
        if u.is_empty() {
            break;
        }
        let mut line = match format {
            0 | 1 => transcript_line(u, number)?,
            2 => capture_line(u, number)?,
            _ => rollout_line(u, number)?,
        }
        .to_string()
        .into_bytes();
        damage(u, &mut line)?;
        lines.extend(line);
        lines.push(b'\n');
    }
    Ok(lines)
}

/// Sometimes a line is torn, has another byte, or stands twice on its line.
fn damage(u: &mut Unstructured<'_>, line: &mut Vec<u8>) -> Result<()> {
    match u.int_in_range(0..=24_u8)? {
        0 => line.truncate(u.choose_index(line.len())?),
        1 => {
            let at = u.choose_index(line.len())?;
            line[at] = *u.choose(b"\"\\{}[],:0x\xff ")?;
        }
        2 => line.extend(line.clone()),
        _ => {}
    }
    Ok(())
}

fn transcript_line(u: &mut Unstructured<'_>, number: usize) -> Result<Value> {
    let kind = *u.choose(&[
        "user",
        "assistant",
        "assistant",
        "user",
        "system",
        "attachment",
        "progress",
        "summary",
    ])?;
    let mut line = json!({
        "type": kind,
        "uuid": format!("u{number}"),
        "parentUuid": if number == 0 { Value::Null } else { json!(format!("u{}", number - 1)) },
        "sessionId": "s",
        "timestamp": time(u, number)?,
        "cwd": text(u)?,
        "gitBranch": text(u)?,
        "version": u.choose(&["2.1.200", "2.0.1", SECRET])?,
    });
    match kind {
        "user" => line["message"] = json!({"role": "user", "content": content(u, number)?}),
        "assistant" => {
            line["requestId"] = json!(format!("req_{}", u.int_in_range(0..=number)?));
            line["message"] = json!({
                "id": format!("msg_{}", u.int_in_range(0..=number)?),
                "role": "assistant",
                "model": model(u)?,
                "content": content(u, number)?,
                "stop_reason": u.choose(&["end_turn", "tool_use", "refusal", SECRET])?,
                "usage": usage(u)?,
            });
        }
        "system" => {
            line["subtype"] = json!(u.choose(&[
                "compact_boundary",
                "api_error",
                "local_command",
                "microcompact_boundary",
                SECRET
            ])?);
            line["content"] = text(u)?;
            line["compactMetadata"] = json!({"trigger": "auto", "preTokens": count(u)?});
        }
        "attachment" => {
            let kind = u.choose(&["file", "deferred_tools_delta", "microcompact", SECRET])?;
            line["attachment"] =
                json!({"type": kind, "content": text(u)?, "addedNames": [tool_name(u)?]});
        }
        "summary" => line["summary"] = text(u)?,
        _ => line["data"] = json!({"type": "agent_progress", "message": text(u)?}),
    }
    unexpected(u, line)
}

fn capture_line(u: &mut Unstructured<'_>, number: usize) -> Result<Value> {
    let mut tools = Vec::new();
    for _ in 0..u.int_in_range(0..=2_u8)? {
        let mut tool = json!({"name": tool_name(u)?, "description": text(u)?, "input_schema": {"type": "object", "properties": {SECRET: {"type": "string", "description": text(u)?}}}});
        mark(u, &mut tool)?;
        tools.push(tool);
    }
    let mut messages = Vec::new();
    for at in 0..u.int_in_range(1..=4_u8)? {
        let role = if at % 2 == 0 { "user" } else { "assistant" };
        messages.push(json!({"role": role, "content": content(u, number)?}));
    }
    let mut line = json!({
        "timestamp": time(u, number)?,
        "request_id": format!("req_{number}"),
        "session_id": "s",
        "request": {"model": model(u)?, "max_tokens": 100, "tools": tools, "system": content(u, number)?, "messages": messages},
    });
    if u.ratio(1, 2)? {
        line["usage"] = usage(u)?;
    }
    unexpected(u, line)
}

fn rollout_line(u: &mut Unstructured<'_>, number: usize) -> Result<Value> {
    let kind = if number == 0 {
        "session_meta"
    } else {
        *u.choose(&["turn_context", "event_msg", "event_msg", "response_item", "compacted"])?
    };
    let payload = match kind {
        "session_meta" => json!({"id": "s", "cwd": text(u)?, "cli_version": "0.1.0"}),
        "turn_context" => {
            json!({"model": *u.choose(&["gpt-5", "gpt-5.6", "o3", SECRET])?, "cwd": text(u)?})
        }
        "event_msg" => {
            let input = u64::from(u.arbitrary::<u16>()?);
            let last = json!({"input_tokens": input, "cached_input_tokens": u.int_in_range(0..=input)?, "output_tokens": count(u)?, "reasoning_output_tokens": count(u)?, "total_tokens": input});
            json!({"type": u.choose(&["token_count", "token_count", "task_started", "user_message", SECRET])?, "message": text(u)?,
                "info": {"last_token_usage": last.clone(), "total_token_usage": {"input_tokens": u.arbitrary::<u32>()?}}})
        }
        "response_item" => {
            json!({"type": u.choose(&["message", "function_call", "function_call_output", "reasoning", SECRET])?, "role": u.choose(&["user", "assistant"])?, "content": content(u, number)?})
        }
        _ => json!({"message": text(u)?}),
    };
    let line = json!({"type": kind, "timestamp": time(u, number)?, "payload": payload});
    unexpected(u, line)
}

/// Sometimes a field has a value of another type, or a field is there that nobody knows.
fn unexpected(u: &mut Unstructured<'_>, mut line: Value) -> Result<Value> {
    let fields = line.as_object_mut().expect("a line is an object");
    if u.ratio(1, 8)? {
        let names: Vec<String> = fields.keys().cloned().collect();
        let name = u.choose(&names)?.clone();
        fields.insert(name, hostile(u)?);
    }
    if u.ratio(1, 8)? {
        fields.insert(SECRET.to_owned(), hostile(u)?);
    }
    Ok(line)
}

fn hostile(u: &mut Unstructured<'_>) -> Result<Value> {
    Ok(match u.int_in_range(0..=6_u8)? {
        0 => Value::Null,
        1 => json!(u.arbitrary::<bool>()?),
        2 => json!(u.arbitrary::<i64>()?),
        3 => json!(u.arbitrary::<f32>()?),
        4 => json!([text(u)?, {SECRET: text(u)?}]),
        5 => json!({"type": "text", SECRET: [text(u)?]}),
        _ => text(u)?,
    })
}

fn content(u: &mut Unstructured<'_>, number: usize) -> Result<Value> {
    if u.ratio(1, 4)? {
        return text(u);
    }
    let mut blocks = Vec::new();
    for at in 0..u.int_in_range(0..=3_u8)? {
        let mut block = match u.int_in_range(0..=5_u8)? {
            0 => {
                json!({"type": "tool_use", "id": format!("toolu_{number}_{at}"), "name": u.choose(&["Read", "Bash", "mcp__zone__look", "Task"])?, "input": {"file_path": text(u)?, SECRET: count(u)?}})
            }
            1 => {
                json!({"type": "tool_result", "tool_use_id": format!("toolu_{}_{at}", number.saturating_sub(1)), "content": text(u)?})
            }
            2 => json!({"type": "thinking", "thinking": text(u)?, "signature": text(u)?}),
            3 => {
                json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": text(u)?}})
            }
            4 => {
                json!({"type": "tool_result", "tool_use_id": "toolu_0_0", "content": [{"type": "text", "text": text(u)?}]})
            }
            _ => json!({"type": "text", "text": text(u)?}),
        };
        mark(u, &mut block)?;
        blocks.push(block);
    }
    Ok(Value::Array(blocks))
}

fn mark(u: &mut Unstructured<'_>, block: &mut Value) -> Result<()> {
    if u.ratio(1, 3)? {
        block["cache_control"] = match u.int_in_range(0..=2_u8)? {
            0 => json!({"type": "ephemeral"}),
            1 => json!({"type": "ephemeral", "ttl": "1h"}),
            _ => json!({"type": "ephemeral", "ttl": SECRET, "scope": text(u)?}),
        };
    }
    Ok(())
}

/// A text with the secret in it, among characters that are escaped, cut or taken for something else, or
/// one that other modules look for.
fn text(u: &mut Unstructured<'_>) -> Result<Value> {
    const AROUND: [&str; 16] = [
        "",
        " ",
        "\n",
        "\"",
        "\\",
        "\u{0}",
        "\u{1b}[31m",
        "é",
        "🦀",
        "{\"type\":\"user\"}",
        "/home/",
        "@",
        "http://",
        "<command-name>/",
        "<system-reminder>",
        "\u{202e}",
    ];
    const PHRASES: [&str; 6] = [
        "This session is being continued from a previous conversation",
        "[Request interrupted by user]",
        "Caveat: The messages below",
        "<local-command-stdout>",
        "x-anthropic-billing-header: cc_version=2.1.1;",
        "You are Claude Code, Anthropic's official CLI for Claude.",
    ];
    let mut text = String::new();
    for _ in 0..u.int_in_range(1..=3_u8)? {
        text += u.choose(&AROUND)?;
        text += match u.int_in_range(0..=3_u8)? {
            0 => u.choose(&PHRASES)?,
            1 => {
                let length = u.int_in_range(0..=12_usize)?;
                std::str::from_utf8(u.bytes(length.min(u.len()))?).unwrap_or_default()
            }
            _ => SECRET,
        };
    }
    if u.ratio(1, 6)? {
        text = text.repeat(usize::from(u.int_in_range(2..=60_u8)?));
    }
    Ok(Value::String(text))
}

fn tool_name(u: &mut Unstructured<'_>) -> Result<Value> {
    let names =
        [TOOL, "Read", "mcp__zone__Vjqhgpxnwtkf", "\u{1b}[31mVjqhgpxnwtkf", "Vjqhgpxnwtkf é"];
    Ok(json!(u.choose(&names)?))
}

fn time(u: &mut Unstructured<'_>, number: usize) -> Result<Value> {
    Ok(match u.int_in_range(0..=20_u8)? {
        0 => json!(SECRET),
        1 => json!("1970-01-01T00:00:00Z"),
        2 => json!("+292278994-08-17T07:12:55.807Z"),
        3 => json!(u.arbitrary::<u32>()?),
        _ => json!(format!(
            "2026-08-03T{:02}:{:02}:{:02}.000Z",
            1 + number / 4,
            number % 60,
            u.int_in_range(0..=59_u8)?
        )),
    })
}

fn model(u: &mut Unstructured<'_>) -> Result<Value> {
    let models = [
        "claude-opus-5",
        "claude-opus-5",
        "claude-haiku-4-5",
        "claude-sonnet-4-5-20250929",
        "<synthetic>",
        "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    ];
    Ok(json!(u.choose(&models)?))
}

fn usage(u: &mut Unstructured<'_>) -> Result<Value> {
    let (five, hour) = (count(u)?, count(u)?);
    let sum = five.as_u64().zip(hour.as_u64()).and_then(|(five, hour)| five.checked_add(hour));
    Ok(json!({
        "input_tokens": count(u)?,
        "cache_read_input_tokens": count(u)?,
        "cache_creation_input_tokens": sum,
        "cache_creation": {"ephemeral_5m_input_tokens": five, "ephemeral_1h_input_tokens": hour},
        "output_tokens": count(u)?,
        "service_tier": u.choose(&["standard", "priority", SECRET])?,
        "speed": u.choose(&["standard", "fast"])?,
    }))
}

fn count(u: &mut Unstructured<'_>) -> Result<Value> {
    Ok(match u.int_in_range(0..=20_u8)? {
        0 => json!(u.arbitrary::<i64>()?),
        1 => json!(u64::MAX),
        2 => Value::Null,
        _ => json!(u.arbitrary::<u16>()?),
    })
}
