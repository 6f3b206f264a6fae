"""Sends requests with the Python SDK: `drive_python.py sync|async URL [CAPTURE]` with the calls on standard input.

What the caller saw of each answer is printed, so that it can be compared with what is seen without a
recorder. The calls of one list inside the list are sent together.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import anthropic

sys.path.insert(0, str(Path(__file__).parents[1] / "python"))

Seen = dict[str, Any]


def send(client: anthropic.Anthropic, call: dict[str, Any]) -> Seen:
    seen: Seen = {"text": ""}
    times: list[float] = []
    try:
        if call["how"] == "create":
            raw = client.beta.messages.with_raw_response.create(**call["body"])
            message, was_timed = raw.parse(), raw.elapsed.total_seconds() > 0
            seen |= {"text": message.content[0].text, "usage": message.usage.to_dict(), "was_timed": was_timed}
        elif call["how"] == "events":
            events = client.beta.messages.create(**call["body"], stream=True)
            seen["events"] = [event.to_dict() for event in events]
        else:
            with client.beta.messages.stream(**call["body"]) as stream:
                for text in stream.text_stream:
                    times.append(time.monotonic())
                    seen["text"] += text
                    if call["how"] == "give up":
                        break
    except Exception as error:
        seen["error"] = type(error).__name__
    return {**seen, "is_live": times[-1] - times[0] > 0.25} if call["how"] == "live" else seen


async def send_async(client: anthropic.AsyncAnthropic, call: dict[str, Any]) -> Seen:
    seen: Seen = {"text": ""}
    times: list[float] = []
    try:
        if call["how"] == "create":
            message = await client.beta.messages.create(**call["body"])
            seen |= {"text": message.content[0].text, "usage": message.usage.to_dict()}
        elif call["how"] == "events":
            events = await client.beta.messages.create(**call["body"], stream=True)
            seen["events"] = [event.to_dict() async for event in events]
        else:
            async with client.beta.messages.stream(**call["body"]) as stream:
                async for text in stream.text_stream:
                    times.append(time.monotonic())
                    seen["text"] += text
                    if call["how"] == "give up":
                        break
    except Exception as error:
        seen["error"] = type(error).__name__
    return {**seen, "is_live": times[-1] - times[0] > 0.25} if call["how"] == "live" else seen


def main_sync(url: str, capture: str | None, calls: list[Any]) -> list[Any]:
    from cachesim_recorder import recording_client

    http_client = recording_client(capture, labels={"session_id": "test"}) if capture else None
    client = anthropic.Anthropic(api_key="sk-test-planted", base_url=url, max_retries=1, http_client=http_client)
    with ThreadPoolExecutor(8) as pool:
        return [
            list(pool.map(lambda one: send(client, one), call)) if isinstance(call, list) else send(client, call)
            for call in calls
        ]


async def main_async(url: str, capture: str | None, calls: list[Any]) -> list[Any]:
    from cachesim_recorder import recording_async_client

    http_client = recording_async_client(capture, labels=lambda: {"session_id": "test"}) if capture else None
    client = anthropic.AsyncAnthropic(
        api_key="sk-test-planted", base_url=url, max_retries=1, http_client=http_client
    )
    async with client:
        return [
            list(await asyncio.gather(*(send_async(client, one) for one in call)))
            if isinstance(call, list)
            else await send_async(client, call)
            for call in calls
        ]


if __name__ == "__main__":
    kind, url, capture = (*sys.argv[1:], None)[:3]
    calls = json.load(sys.stdin)
    seen = main_sync(url, capture, calls) if kind == "sync" else asyncio.run(main_async(url, capture, calls))
    print(json.dumps(seen))
