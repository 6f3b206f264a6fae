"""What the test sends, and what a capture of it has to hold."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from mock_api import Exchange
from tools import CACHESIM, KEY, run

MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def body(turns: int, system: str = "", topic: str = "Turn", **more: Any) -> dict[str, Any]:
    """A request of a conversation with so many turns; those with the same system prompt share prefixes."""
    marker = {"cache_control": {"type": "ephemeral"}}
    texts = [f"{topic} {turn}: naïve “words” and a line end\n" for turn in range(2 * turns - 1)]
    messages: list[dict[str, Any]] = [
        {"role": "assistant" if turn % 2 else "user", "content": [{"type": "text", "text": text}]}
        for turn, text in enumerate(texts)
    ]
    messages[-1]["content"][0].update(marker)
    tools = [{"name": "run", "description": "Runs tests.", "input_schema": {"type": "object", "properties": {}}}]
    prompt = [{"type": "text", "text": system + "Keep the build green. " * 900, **marker}]
    return {"model": "claude-opus-5", "max_tokens": 64, "tools": tools, "system": prompt, "messages": messages, **more}


def call(how: str, *of_body: Any, **more: Any) -> dict[str, Any]:
    return {"how": how, "body": body(*of_body, **more)}


#: Those of a list inside the list are sent together.
CALLS: list[Any] = [
    call("create", 1),
    call("stream", 2),
    call("events", 3),
    [call(how, 1, topic=f"Task {task} {how}", betas=["context-1m-2025-08-07"]) for task in range(4) for how in ("create", "stream")],
    call("give up", 3, topic="Gave up"),
    call("live", 1, "MOCK slow "),
    call("create", 1, "MOCK overloaded "),
    call("events", 1, "MOCK broken "),
    call("create", 1, "MOCK broken "),
    call("events", 1, "MOCK refused "),
]


def check(capture: Path, exchanges: list[Exchange]) -> None:
    """Holds a capture against what the mock received and billed, and has `cachesim` read it."""
    text = capture.read_text("utf-8")
    assert KEY not in text and "x-api-key" not in text.lower(), "the capture holds a key"
    lines = text.split("\n")[:-1]
    answered = [one for one in exchanges if one.status == 200 and b"MOCK refused" not in one.body]
    received = [re.sub(r"[\r\n]", " ", one.body.decode()) for one in answered]
    recorded = [line.partition(',"request":')[2][:-1] for line in lines]
    assert sorted(recorded) == sorted(received), "the bodies are not byte for byte those that were received"

    by_message = {one.message_id: one for one in answered}
    assert len(by_message) == len(answered)
    billed = [check_record(record, by_message) for record in map(json.loads, lines)]
    known = [usage for usage in billed if usage]
    lost = [one for one in answered if b"MOCK broken" in one.body and not json.loads(one.body).get("stream")]
    assert len(known) == len(answered) - len(lost), "usage is missing"
    check_reading(capture, known, len(lines))


def check_record(record: dict[str, Any], by_message: dict[str, Exchange]) -> dict[str, Any] | None:
    """A line's usage, as the mock billed it; `None` of a line without."""
    times = [record["timestamp"], record.get("response_started_at", record["timestamp"])]
    assert all(map(MOMENT.fullmatch, times)) and times == sorted(times), times
    if "usage" not in record:
        return None
    exchange = by_message[record["message_id"]]
    # An answer that broke off, or that the caller gave up, has the output of its first event.
    is_cut = "MOCK broken" in json.dumps(record) or "Gave up" in json.dumps(record)
    expected = exchange.usage | ({"output_tokens": record["usage"]["output_tokens"]} if is_cut else {})
    assert record["usage"] == expected, (record["usage"], expected)
    betas = exchange.headers.get("anthropic-beta")
    assert record.get("headers", {}).get("anthropic-beta") == betas, (record.get("headers"), betas)
    return exchange.usage


def check_reading(
    capture: Path, billed: list[dict[str, Any]], requests: int | None = None, has_bodies: bool = True
) -> None:
    """Has `cachesim` read a capture or a log, and holds its sums against what was billed."""

    def report(command: str) -> dict[str, Any]:
        report = json.loads(run([CACHESIM, command, "--no-config", "--format", "json", capture]))
        assert report["inputs"]["requests"] == (requests or len(billed)), report["inputs"]
        assert not report["inputs"]["skipped"], report["inputs"]
        return report

    totals = report("analyze")["totals"]["billed"]
    sums = {
        "requests": len(billed),
        "input_tokens": sum(usage["input_tokens"] for usage in billed),
        "cache_read_input_tokens": sum(usage["cache_read_input_tokens"] for usage in billed),
        "ephemeral_5m_input_tokens": sum(usage["cache_creation_input_tokens"] for usage in billed),
    }
    assert {name: totals[name] for name in sums} == sums, f"{totals} is not {sums}"
    assert sums["cache_read_input_tokens"] > 0 and report("breaks")["compared"] > 0
    assert not has_bodies or report("lint")["compared_requests"] > 0
