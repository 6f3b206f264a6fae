//! Attacks on what is sent: its size, its order, its markers, lifetimes and model.

use serde_json::json;

use super::Answer::{Exceeds, Refuses, Warns};
use super::{Attack, COST, first_text, keep_for_an_hour, lengthen, unmark};

pub(super) const ATTACKS: &[Attack] = &[
    // Size.
    Attack { name: "a longer description", change: |p| p.grow(), answer: COST },
    Attack {
        name: "a longer description in one session",
        change: |p| {
            p.only(
                |at| at >= 3,
                |request| {
                    lengthen(&mut request["tools"][1]["description"], 3_000);
                },
            );
        },
        answer: Exceeds("cost of a session"),
    },
    Attack {
        name: "a longer system prompt",
        change: |p| p.requests(|_, request| lengthen(&mut request["system"][1]["text"], 3_000)),
        answer: COST,
    },
    Attack {
        name: "a longer first message",
        change: |p| p.requests(|_, request| lengthen(first_text(request), 3_000)),
        answer: COST,
    },
    Attack {
        name: "a longer result",
        change: |p| {
            p.requests(|_, request| {
                if let Some(result) = request.pointer_mut("/messages/2/content/0/content") {
                    lengthen(result, 9_000);
                }
            });
        },
        answer: COST,
    },
    Attack {
        name: "a new tool",
        change: |p| {
            p.requests(|_, request| {
                let mut tool = request["tools"][1].clone();
                tool["name"] = json!("search_more");
                lengthen(&mut tool["description"], 3_000);
                request["tools"].as_array_mut().expect("tools").push(tool);
            });
        },
        answer: COST,
    },
    Attack {
        name: "the same tools under other names, too",
        change: |p| {
            p.requests(|_, request| {
                let tools = request["tools"].as_array_mut().expect("tools");
                for number in 0..12 {
                    let mut tool = tools[0].clone();
                    tool["name"] = json!(format!("read_file_{number}"));
                    tools.push(tool);
                }
            });
        },
        answer: COST,
    },
    Attack {
        name: "a larger schema",
        change: |p| {
            p.requests(|_, request| {
                let mut words = json!("");
                lengthen(&mut words, 3_000);
                request["tools"][0]["input_schema"]["properties"]["path"]["description"] = words;
            });
        },
        answer: COST,
    },
    Attack {
        name: "an enumeration of a thousand words",
        change: |p| {
            p.requests(|_, request| {
                let words: Vec<String> = (0..1_000).map(|at| format!("value{at}")).collect();
                request["tools"][0]["input_schema"]["properties"]["path"]["enum"] = json!(words);
            });
        },
        answer: COST,
    },
    Attack {
        name: "a document in the first message",
        change: |p| {
            p.requests(|_, request| {
                let mut words = json!("");
                lengthen(&mut words, 3_000);
                let source = json!({"type": "text", "media_type": "text/plain", "data": words});
                let document = json!({"type": "document", "source": source});
                request["messages"][0]["content"]
                    .as_array_mut()
                    .expect("blocks")
                    .insert(0, document);
            });
        },
        answer: COST,
    },
    Attack {
        name: "spaces that nobody sees in a diff",
        change: |p| {
            p.requests(|_, request| {
                let system = &mut request["system"][1]["text"];
                *system =
                    json!(format!("{}{}", system.as_str().expect("a text"), " \n".repeat(2_000)));
            });
        },
        answer: COST,
    },
    // Order.
    Attack {
        name: "tools in another order in every second request",
        change: |p| {
            p.only(
                |at| at % 2 == 1,
                |request| {
                    request["tools"].as_array_mut().expect("tools").reverse();
                },
            );
        },
        answer: COST,
    },
    Attack {
        name: "fields of a schema in another order in every second request",
        change: |p| {
            p.only(
                |at| at % 2 == 1,
                |request| {
                    let schema = &mut request["tools"][0]["input_schema"];
                    *schema = json!({"type": "object", "additionalProperties": false,
                    "required": schema["required"], "properties": schema["properties"]});
                },
            );
        },
        answer: COST,
    },
    Attack {
        name: "system blocks that take turns",
        change: |p| {
            p.only(
                |at| at % 2 == 1,
                |request| {
                    request["system"].as_array_mut().expect("blocks").reverse();
                },
            );
        },
        answer: COST,
    },
    // Drift.
    Attack {
        name: "the time in the system prompt",
        change: |p| {
            p.each(|_, line| {
                let time = line["timestamp"].as_str().expect("a time").to_owned();
                line["request"]["system"][0]["text"] = json!(format!("It is {time}."));
            });
        },
        answer: COST,
    },
    Attack {
        name: "a counter in a description",
        change: |p| {
            p.requests(|at, request| {
                request["tools"][2]["description"] =
                    json!(format!("Runs tests, {at} times so far."));
            });
        },
        answer: COST,
    },
    Attack {
        name: "a number at the beginning of the first message",
        change: |p| {
            p.requests(|at, request| {
                let words = "and more of what was said before ".repeat(300);
                *first_text(request) = json!(format!("{at} {words}"));
            });
        },
        answer: COST,
    },
    Attack {
        name: "another tool in the last request",
        change: |p| {
            p.only(
                |at| at == 2,
                |request| {
                    request["tools"][0]["name"] = json!("read_any_file");
                },
            );
        },
        answer: COST,
    },
    Attack {
        name: "a description that grows by a word a request",
        change: |p| {
            p.requests(|at, request| {
                lengthen(&mut request["tools"][0]["description"], 30 * (at + 1));
            });
        },
        answer: COST,
    },
    // Markers.
    Attack {
        name: "no markers",
        change: |p| p.requests(|_, request| unmark(request)),
        answer: COST,
    },
    Attack {
        name: "no marker in one request",
        change: |p| {
            p.only(
                |at| at == 2,
                |request| {
                    unmark(request);
                },
            );
        },
        answer: COST,
    },
    Attack {
        name: "markers on the first block alone",
        change: |p| {
            p.requests(|_, request| {
                unmark(request);
                request["tools"][0]["cache_control"] = json!({"type": "ephemeral"});
            });
        },
        answer: COST,
    },
    Attack {
        name: "more markers than are allowed",
        change: |p| {
            p.requests(|_, request| {
                for tool in request["tools"].as_array_mut().expect("tools") {
                    tool["cache_control"] = json!({"type": "ephemeral"});
                }
                for block in request["system"].as_array_mut().expect("blocks") {
                    block["cache_control"] = json!({"type": "ephemeral"});
                }
            });
        },
        answer: Exceeds("refusals"),
    },
    Attack {
        name: "a marker behind what changes",
        change: |p| {
            p.requests(|at, request| {
                unmark(request);
                request["system"][0]["text"] = json!(format!("This is request {at}."));
                request["system"][1]["cache_control"] = json!({"type": "ephemeral"});
            });
        },
        answer: COST,
    },
    // Lifetimes.
    Attack {
        name: "an hour everywhere",
        change: |p| {
            p.requests(|_, request| {
                keep_for_an_hour(request);
            });
        },
        answer: COST,
    },
    Attack {
        name: "an hour in the first request of each session",
        change: |p| {
            p.only(
                |at| at == 0 || at == 3,
                |request| {
                    keep_for_an_hour(request);
                },
            );
        },
        answer: COST,
    },
    Attack {
        name: "pauses that no entry survives",
        change: |p| {
            p.each(|at, line| {
                line["timestamp"] = json!(format!("2026-09-01T{:02}:00:00.000Z", 10 + at));
            });
        },
        answer: COST,
    },
    Attack {
        name: "one pause that no entry survives",
        change: |p| {
            p.each(|at, line| {
                if at == 2 {
                    line["timestamp"] = json!("2026-09-01T10:30:00.000Z");
                }
            });
        },
        answer: COST,
    },
    // The model.
    Attack {
        name: "a more expensive model",
        change: |p| p.requests(|_, request| request["model"] = json!("claude-opus-4-5")),
        answer: COST,
    },
    Attack {
        name: "another model in between",
        change: |p| {
            p.only(
                |at| at == 1,
                |request| {
                    request["model"] = json!("claude-sonnet-4-6");
                },
            );
        },
        answer: COST,
    },
    Attack {
        name: "a model without a price",
        change: |p| p.requests(|_, request| request["model"] = json!("claude-unheard-of")),
        answer: Refuses(3, "nothing was priced"),
    },
    Attack {
        name: "one request of a model without a price",
        change: |p| {
            p.grow();
            p.only(
                |at| at == 0,
                |request| {
                    request["model"] = json!("claude-unheard-of");
                },
            );
        },
        answer: COST,
    },
    // Settings, which are in no message, tool or system prompt.
    Attack {
        name: "longer answers",
        change: |p| p.requests(|_, request| request["max_tokens"] = json!(64_000)),
        answer: Warns("Other settings than in the baseline: `max_tokens`"),
    },
    Attack {
        name: "another temperature",
        change: |p| p.requests(|_, request| request["temperature"] = json!(0.3)),
        answer: Warns("Other settings than in the baseline: `temperature`"),
    },
    Attack {
        name: "fewer words to choose from",
        change: |p| p.requests(|_, request| request["top_k"] = json!(5)),
        answer: Warns("Other settings than in the baseline: `top_k`"),
    },
    Attack {
        name: "the same by their share",
        change: |p| p.requests(|_, request| request["top_p"] = json!(0.5)),
        answer: Warns("Other settings than in the baseline: `top_p`"),
    },
    Attack {
        name: "an end of the answer",
        change: |p| p.requests(|_, request| request["stop_sequences"] = json!(["END"])),
        answer: Warns("Other settings than in the baseline: `stop_sequences`"),
    },
    Attack {
        name: "another user",
        change: |p| p.requests(|_, request| request["metadata"] = json!({"user_id": "someone"})),
        answer: Warns("Other settings than in the baseline: `metadata`"),
    },
    Attack {
        name: "no answer beside a forced choice",
        change: |p| {
            p.only(
                |at| at == 1,
                |request| {
                    request["max_tokens"] = json!(0);
                    request["tool_choice"] = json!({"type": "any"});
                },
            );
        },
        answer: Exceeds("cost"),
    },
    Attack {
        name: "a lifetime that nobody has",
        change: |p| {
            p.only(
                |at| at == 1,
                |request| {
                    request["cache_control"] = json!({"type": "ephemeral", "ttl": "30m"});
                },
            );
        },
        answer: Exceeds("cost"),
    },
    Attack {
        name: "a type of marker that nobody has",
        change: |p| {
            p.only(
                |at| at == 1,
                |request| {
                    request["cache_control"] = json!({"type": "persistent"});
                },
            );
        },
        answer: Exceeds("cost"),
    },
    Attack {
        name: "a marker on a deferred tool",
        change: |p| {
            p.only(
                |at| at == 1,
                |request| {
                    request["tools"][0]["defer_loading"] = json!(true);
                    request["tools"][0]["cache_control"] = json!({"type": "ephemeral"});
                },
            );
        },
        answer: Exceeds("cost"),
    },
    Attack {
        name: "a message of the system",
        change: |p| {
            p.only(
                |at| at == 1,
                |request| {
                    let all = request["messages"].as_array_mut().expect("messages");
                    all.insert(1, json!({"role": "system", "content": "Be brief."}));
                },
            );
        },
        answer: Exceeds("cost"),
    },
    Attack {
        name: "fast mode of a model that has none",
        change: |p| {
            p.only(
                |at| at == 1,
                |request| {
                    request["speed"] = json!("fast");
                },
            );
        },
        answer: Exceeds("cost"),
    },
    Attack {
        name: "another tier",
        change: |p| p.requests(|_, request| request["service_tier"] = json!("standard_only")),
        answer: Warns("Other settings than in the baseline: `service_tier`"),
    },
    Attack {
        name: "tools that a server names",
        change: |p| {
            p.requests(|_, request| {
                request["mcp_servers"] =
                    json!([{"type": "url", "url": "https://example.com", "name": "more"}]);
            });
        },
        answer: Warns("Other settings than in the baseline: `mcp_servers`"),
    },
    Attack {
        name: "a container with skills",
        change: |p| {
            p.requests(|_, request| {
                request["container"] =
                    json!({"skills": [{"type": "anthropic", "skill_id": "pptx"}]});
            });
        },
        answer: Warns("Other settings than in the baseline: `container`"),
    },
    Attack {
        name: "contexts that are edited",
        change: |p| {
            p.requests(|_, request| {
                request["context_management"] =
                    json!({"edits": [{"type": "clear_tool_uses_20250919"}]});
            });
        },
        answer: Warns("Other settings than in the baseline: `context_management`"),
    },
    Attack {
        name: "more effort",
        change: |p| p.requests(|_, request| request["output_config"] = json!({"effort": "max"})),
        answer: Warns("Other settings than in the baseline: `effort`"),
    },
    Attack {
        name: "more thinking",
        change: |p| {
            p.requests(|_, request| {
                request["thinking"] = json!({"type": "enabled", "budget_tokens": 20_000});
            });
        },
        answer: Warns("Other settings than in the baseline: `thinking`"),
    },
    Attack {
        name: "a field that nobody knows",
        change: |p| p.requests(|_, request| request["brand_new"] = json!(1)),
        answer: Warns("Other settings than in the baseline: other fields"),
    },
    Attack {
        name: "beta features",
        change: |p| {
            p.each(|_, line| line["headers"] = json!({"anthropic-beta": "context-1m-2025-08-07"}));
        },
        answer: Warns("Other settings than in the baseline: `betas`"),
    },
    Attack {
        name: "another setting and no usage",
        change: |p| {
            p.each(|_, line| {
                line["request"]["mcp_servers"] = json!([{"type": "url", "name": "more"}]);
                line.as_object_mut().expect("a line").remove("usage");
            });
        },
        answer: Warns("Other settings than in the baseline: `mcp_servers`"),
    },
];
