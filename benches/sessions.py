#!/usr/bin/env python3
"""Writes unusual sessions, the same bytes every time: `sessions.py NAME FILE [REQUESTS]`, where NAME is

    long        100,000 requests, one after the other, in a conversation that is never compacted
    snapshots   150 MB, of which 84 % are lines of 20 KB to 2 MB that say nothing of requests
    gaps        36,000 requests of a conversation, each a day and a half after the one before it
    cycles      36,000 requests, every ten of which name each other as parents in a ring
    ring        36,000 requests in one ring
"""

import datetime
import json
import sys
from collections.abc import Iterator

START = datetime.datetime(2026, 8, 3)
REQUESTS = 100_000
SECONDS_APART = 20
WRITTEN_TOKENS = 150

HOSTILE_REQUESTS = 36_000
LONG_PAUSE = 36 * 3_600
RING = 10

BYTES = 150_000_000
SNAPSHOT_PERCENT = 84
# So that a line has 2.3 KB in the mean, as in the real sessions of ../shared/corpus.
RESULT_BYTES = 3_400


def line(content: dict) -> str:
    return json.dumps(content, separators=(",", ":")) + "\n"


def identity(kind: str, number: int) -> str:
    return f"{kind * 8}-0000-4000-8000-{number:012x}"


def timestamp(seconds: int) -> str:
    at = START + datetime.timedelta(seconds=seconds)
    return f"{at.isoformat()}.000Z"


def entry(kind: str, own: str, parent: str | None, seconds: int, message: dict) -> dict:
    """What lines of both sides of a conversation look like."""
    return {
        "parentUuid": parent,
        "isSidechain": False,
        "userType": "external",
        "cwd": "/home/dev/src/project",
        "sessionId": identity("5", 0),
        "version": "2.1.290",
        "type": kind,
        "uuid": own,
        "timestamp": timestamp(seconds),
        "message": message,
    }


def request(number: int, result_bytes: int = 200) -> str:
    """The two lines of a request: a tool result of so many bytes, and the response to it."""
    before = identity("a", number - 1) if number else None
    user, seconds = identity("b", number), SECONDS_APART * number
    result = {
        "type": "tool_result",
        "tool_use_id": f"toolu_{number:024}",
        "content": f"{number:08} " + "let x = 1; " * (result_bytes // 11),
    }
    asked = entry("user", user, before, seconds, {"role": "user", "content": [result]})
    return line(asked) + answer(number, user, seconds, 20_000 + WRITTEN_TOKENS * number)


def answer(number: int, parent: str | None, seconds: int, read: int) -> str:
    """The line of a response, which calls a tool."""
    call = {"type": "tool_use", "id": f"toolu_{number + 1:024}", "name": "Read", "input": {}}
    response = {
        "id": f"msg_{number:024}",
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-4-5-20251101",
        "content": [call],
        "stop_reason": "tool_use",
        "usage": {
            "input_tokens": 2,
            "cache_read_input_tokens": read,
            "cache_creation_input_tokens": WRITTEN_TOKENS,
            "cache_creation": {
                "ephemeral_5m_input_tokens": 0,
                "ephemeral_1h_input_tokens": WRITTEN_TOKENS,
            },
            "output_tokens": 60,
        },
    }
    answered = entry("assistant", identity("a", number), parent, seconds, response)
    return line(answered | {"requestId": f"req_{number:024}"})


def backed_up(file: int) -> dict:
    return {"backupFileName": f"{file:016x}@v3", "version": 3, "backupTime": timestamp(SECONDS_APART * file)}


def attributed(file: int) -> dict:
    return {"contentHash": f"{file:064x}", "claudeContribution": file, "mtime": 1785715200000}


def snapshot(number: int, size: int) -> str:
    """A line of about `size` bytes on the files that the client watches; two kinds take turns."""
    message = identity("a", number)
    state = backed_up if number % 2 == 0 else attributed
    path = "src/module{:05}/file.rs"
    count = size // len(line({path.format(0): state(10_000)}))
    files = {path.format(file): state(file) for file in range(count)}
    if state is attributed:
        content = {"type": "attribution-snapshot", "messageId": message, "surface": "cli"}
        return line(content | {"fileStates": files, "promptCount": number})
    return line({
        "type": "file-history-snapshot",
        "messageId": message,
        "snapshot": {"messageId": message, "trackedFileBackups": files, "timestamp": timestamp(0)},
        "isSnapshotUpdate": True,
    })  # fmt: skip


def snapshot_sizes() -> Iterator[int]:
    """From 20 KB to 2 MB, as many small ones as large ones on a logarithmic scale, mixed."""
    number = 0
    while True:
        yield int(20_000 * 100 ** (number * 7 % 20 / 19))
        number += 1


def long_session(count: int = REQUESTS) -> Iterator[str]:
    return map(request, range(count))


def session_with_gaps(count: int = HOSTILE_REQUESTS) -> Iterator[str]:
    for number in range(count):
        parent = identity("a", number - 1) if number else None
        yield answer(number, parent, LONG_PAUSE * number, 20_000 + WRITTEN_TOKENS * number)


def cyclic_session(count: int = HOSTILE_REQUESTS) -> Iterator[str]:
    for number in range(count):
        first = number - number % RING
        parent = identity("a", first + (number + RING - 1) % RING)
        yield answer(number, parent, LONG_PAUSE * number, 20_000 + WRITTEN_TOKENS * (number % RING))


def ring_session(count: int = HOSTILE_REQUESTS) -> Iterator[str]:
    for number in range(count):
        parent = identity("a", (number + 1) % count)
        yield answer(number, parent, SECONDS_APART * number, 20_000 + WRITTEN_TOKENS * number)


def snapshot_session() -> Iterator[str]:
    sizes = enumerate(snapshot_sizes())
    requests = (request(number, RESULT_BYTES) for number in range(REQUESTS))
    in_all = in_snapshots = 0
    while in_all < BYTES:
        if 100 * in_snapshots < SNAPSHOT_PERCENT * in_all:
            text = snapshot(*next(sizes))
            in_snapshots += len(text)
        else:
            text = next(requests)
        in_all += len(text)
        yield text


def main() -> None:
    lines = {
        "long": long_session,
        "snapshots": snapshot_session,
        "gaps": session_with_gaps,
        "cycles": cyclic_session,
        "ring": ring_session,
    }[sys.argv[1]]
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.writelines(lines(*map(int, sys.argv[3:])))


if __name__ == "__main__":
    main()
