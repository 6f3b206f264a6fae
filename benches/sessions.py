#!/usr/bin/env python3
"""Writes unusual sessions, the same bytes every time: `sessions.py NAME FILE`, where NAME is

    long        100,000 requests, one after the other, in a conversation that is never compacted
    snapshots   150 MB, of which 84 % are lines of 20 KB to 2 MB that say nothing of requests
"""

import datetime
import json
import sys
from collections.abc import Iterator

START = datetime.datetime(2026, 8, 3)
REQUESTS = 100_000
SECONDS_APART = 20
WRITTEN_TOKENS = 150

BYTES = 150_000_000
SNAPSHOT_PERCENT = 84
# So that a line has 2.3 KB in the mean, as in the real sessions of ../shared/corpus.
RESULT_BYTES = 3_400


def line(content: dict) -> str:
    return json.dumps(content, separators=(",", ":")) + "\n"


def identity(kind: str, number: int) -> str:
    return f"{kind * 8}-0000-4000-8000-{number:012x}"


def timestamp(number: int) -> str:
    at = START + datetime.timedelta(seconds=SECONDS_APART * number)
    return f"{at.isoformat()}.000Z"


def entry(kind: str, own: str, parent: str | None, number: int, message: dict) -> dict:
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
        "timestamp": timestamp(number),
        "message": message,
    }


def request(number: int, result_bytes: int = 200) -> str:
    """The two lines of a request: a tool result of so many bytes, and the response to it."""
    before = identity("a", number - 1) if number else None
    user, assistant = identity("b", number), identity("a", number)
    result = {
        "type": "tool_result",
        "tool_use_id": f"toolu_{number:024}",
        "content": f"{number:08} " + "let x = 1; " * (result_bytes // 11),
    }
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
            "cache_read_input_tokens": 20_000 + WRITTEN_TOKENS * number,
            "cache_creation_input_tokens": WRITTEN_TOKENS,
            "cache_creation": {
                "ephemeral_5m_input_tokens": 0,
                "ephemeral_1h_input_tokens": WRITTEN_TOKENS,
            },
            "output_tokens": 60,
        },
    }
    asked = entry("user", user, before, number, {"role": "user", "content": [result]})
    answered = entry("assistant", assistant, user, number, response)
    return line(asked) + line(answered | {"requestId": f"req_{number:024}"})


def backed_up(file: int) -> dict:
    return {"backupFileName": f"{file:016x}@v3", "version": 3, "backupTime": timestamp(file)}


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


def long_session() -> Iterator[str]:
    return map(request, range(REQUESTS))


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
    lines = {"long": long_session, "snapshots": snapshot_session}[sys.argv[1]]
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.writelines(lines())


if __name__ == "__main__":
    main()
