#!/usr/bin/env python3
"""Makes a capture for `cachesim` from a folder of raw request bodies.

    raw_to_capture.py bodies > capture.jsonl
    raw_to_capture.py bodies --every 30 --start 2026-11-02T09:00:00Z > capture.jsonl

Each `NAME.json` is the body of one request to the Messages API, as it was sent. Its bytes are kept; only
line ends, which JSON has only between its tokens, become spaces. If there is a `NAME.response.json`, it is the
answer: a message, or the events of a stream. Its id and usage are used, and no text of it.

Requests were sent when their files were last changed, and stand in that order. With `--every`, they are
ordered by name (`2.json` before `10.json`), and sent that many seconds apart.

A body that is none, or that was answered with an error, is named on standard error and left out.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, Iterator

ANSWER = ".response.json"


def main() -> int:
    arguments = read_arguments()
    status = 0
    for path, sent in in_order(arguments.folder, arguments.every, arguments.start):
        try:
            sys.stdout.buffer.write(line(path, sent, arguments.session))
        except ValueError as error:
            print(f"{path.name}: {error}", file=sys.stderr)
            status = 1
    return status


def read_arguments() -> argparse.Namespace:
    summary, _, rest = (__doc__ or "").partition("\n")
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=summary, epilog=rest, formatter_class=form)
    parser.add_argument("folder", type=Path, help="the folder of the bodies")
    parser.add_argument("--every", type=float, metavar="SECONDS", help="order by name, this far apart")
    parser.add_argument("--start", type=moment, metavar="TIME", help="when the first was sent [its file's time]")
    parser.add_argument("--session", metavar="ID", help="the session of all requests [the capture's name]")
    arguments = parser.parse_args()
    if arguments.start and arguments.every is None:
        parser.error("--start needs --every")
    return arguments


def moment(text: str) -> datetime:
    """An RFC 3339 time; without an offset it is UTC."""
    time = datetime.fromisoformat(text.replace("Z", "+00:00"))
    return time if time.tzinfo else time.replace(tzinfo=timezone.utc)


def in_order(folder: Path, every: float | None, start: datetime | None) -> Iterator[tuple[Path, datetime]]:
    """The bodies, with the times when they were sent."""
    bodies = sorted((path for path in folder.glob("*.json") if not path.name.endswith(ANSWER)), key=by_name)
    if every is None:
        yield from sorted(((path, changed(path)) for path in bodies), key=lambda body: body[1])
        return
    for number, path in enumerate(bodies):
        start = start or changed(path)
        yield path, start + timedelta(seconds=number * every)


def by_name(path: Path) -> list[tuple[int, str]]:
    """Orders names as people do: by their numbers."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.findall(r"\d+|\D+", path.stem)]


def changed(path: Path) -> datetime:
    return datetime.fromtimestamp(path.stat().st_mtime, timezone.utc)


def line(path: Path, sent: datetime, session: str | None) -> bytes:
    """A line of the capture."""
    body = path.read_bytes().strip()
    if not isinstance(json.loads(body.decode()), dict):
        raise ValueError("no JSON object")
    fields = {
        "timestamp": sent.astimezone(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "request_id": path.stem,
        "session_id": session,
        **answer(path.with_name(path.stem + ANSWER)),
    }
    known = json.dumps({name: value for name, value in fields.items() if value})
    return known[:-1].encode() + b',"request":' + body.replace(b"\r", b" ").replace(b"\n", b" ") + b"}\n"


def answer(path: Path) -> dict[str, Any]:
    """The id and the usage of an answer; nothing where there is no file."""
    text = path.read_text("utf-8") if path.exists() else ""
    is_message = text.lstrip().startswith("{")
    data = [text] if is_message else [line[5:] for line in text.split("\n") if line.startswith("data:")]
    message_id, usage = "", dict[str, Any]()
    for event in map(json.loads, (text for text in data if '"usage"' in text or '"error"' in text)):
        if event.get("type") == "error" and not usage:
            raise ValueError("it was answered with an error")
        message = event.get("message") or event  # the first event of a stream has the message in it
        message_id = message_id or message.get("id")
        # Later figures are of the whole answer; one that is zero or missing tells nothing.
        told = (message.get("usage") or {}).items()
        usage.update({name: value for name, value in told if value or name not in usage})
    return {"message_id": message_id, "usage": usage}


if __name__ == "__main__":
    sys.exit(main())
