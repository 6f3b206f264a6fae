"""Records what any client sends to the Messages API, as a capture that `cachesim` reads.

    mitmdump -s cachesim_addon.py                                  # then HTTPS_PROXY=http://127.0.0.1:8080
    mitmdump -s cachesim_addon.py --mode reverse:https://HOST      # then the client's base address

    --set cachesim_capture=FILE     the capture that lines are appended to [capture.jsonl]

Requests and answers pass through as they come. Each answered POST to `/v1/messages`, on any host, is one
line. It holds the body as it was sent, byte for byte, with times, ids, beta features and usage. A request
that was refused, or that lost its connection before an answer began, leaves no line: nothing tells what
became of it. An answer that broke off has the usage known by then, or none.

Of the headers only `anthropic-beta` is written; keys are not. The prompts are: keep the file to yourself.
"""

from __future__ import annotations

import json
import logging
import os
import re
import uuid
import zlib
from datetime import datetime, timezone
from typing import Any

from mitmproxy import ctx, http
from mitmproxy.addonmanager import Loader

_log = logging.getLogger("cachesim_addon")


class Recorder:
    """The addon."""

    def load(self, loader: Loader) -> None:
        loader.add_option("cachesim_capture", str, "capture.jsonl", "The capture that lines are appended to.")

    def responseheaders(self, flow: http.HTTPFlow) -> None:
        """Has the answer passed on piece by piece, and keeps a copy of it."""
        request, response = flow.request, flow.response
        is_messages = request.method == "POST" and request.path.partition("?")[0].endswith("/v1/messages")
        if not is_messages or response is None or not 200 <= response.status_code < 300:
            return
        flow.metadata["cachesim_chunks"] = chunks = []

        def keep(chunk: bytes) -> bytes:
            chunks.append(chunk)
            return chunk

        response.stream = keep

    def response(self, flow: http.HTTPFlow) -> None:
        """The answer is complete."""
        self._finish(flow)

    def error(self, flow: http.HTTPFlow) -> None:
        """The answer broke off, or none began."""
        self._finish(flow)

    def _finish(self, flow: http.HTTPFlow) -> None:
        chunks = flow.metadata.pop("cachesim_chunks", None)
        if chunks is None or flow.response is None:
            return
        try:
            if answer := _answer(_text(flow.response, b"".join(chunks))):
                _append(ctx.options.cachesim_capture, _line(flow.request, flow.response, answer))
        except Exception as error:  # a request must not fail over its recording
            _log.warning("a request was not recorded: %s", error)


addons = [Recorder()]


def _text(response: http.Response, received: bytes) -> str:
    """What was received of the answer, decompressed."""
    whole = http.Response.make(200, received)
    whole.headers["content-encoding"] = response.headers.get("content-encoding", "identity")
    try:
        content = whole.get_content()
    except ValueError:  # it broke off, and this mitmproxy unpacks whole answers alone
        content = _beginning(received)
    return (content or b"").decode("utf-8", "replace")


def _beginning(packed: bytes) -> bytes:
    """What comes out of gzip or deflate that broke off; of another form nothing."""
    try:
        return zlib.decompressobj(wbits=47).decompress(packed)
    except zlib.error:
        return b""


def _line(request: http.Request, response: http.Response, answer: dict[str, Any]) -> bytes:
    body = request.get_content() or b""
    beta = ",".join(request.headers.get_all("anthropic-beta"))
    fields = {
        "timestamp": _moment(request.timestamp_start),
        "response_started_at": _moment(response.timestamp_start),
        "request_id": response.headers.get("request-id") or f"local_{uuid.uuid4().hex}",
        "session_id": _session(json.loads(body.decode())),
        **answer,
    }
    known: dict[str, Any] = {name: value for name, value in fields.items() if value}
    # Headers without `anthropic-beta` tell that no beta feature was asked for.
    known["headers"] = {"anthropic-beta": beta} if beta else {}
    # Line ends, which JSON has only between its tokens, become spaces.
    on_one_line = body.replace(b"\r", b" ").replace(b"\n", b" ")
    return json.dumps(known)[:-1].encode() + b',"request":' + on_one_line + b"}\n"


def _session(body: dict[str, Any]) -> str | None:
    """The session that Claude Code names in `metadata.user_id`: in an object, or after `session_`."""
    user = str((body.get("metadata") or {}).get("user_id"))
    found = re.search(r'.*(?:session_(?!id")|"session_id": ?")([0-9A-Za-z-]+)', user)
    return found and found[1]


def _answer(text: str) -> dict[str, Any] | None:
    """The message's id and usage, of a message or of a stream of events; `None` of an error."""
    is_message = text.lstrip().startswith("{")
    data = [text] if is_message else [line[5:] for line in text.split("\n") if line.startswith("data:")]
    message_id, usage = "", dict[str, Any]()
    for json_text in (part for part in data if '"usage"' in part or '"error"' in part):
        try:
            event = json.loads(json_text)
        except ValueError:  # it broke off
            continue
        if event.get("type") == "error" and not usage:
            return None
        message = event.get("message") or event  # the first event of a stream has the message in it
        message_id = message_id or message.get("id")
        # Later figures are of the whole answer; one that is zero or missing tells nothing.
        told = (message.get("usage") or {}).items()
        usage.update({name: value for name, value in told if value or name not in usage})
    return {"message_id": message_id, "usage": usage}


def _append(path: str, line: bytes) -> None:
    """Appends a line with one write. Only the file's owner can read a file that this creates."""
    for_owner = lambda path, flags: os.open(path, flags, 0o600)  # noqa: E731
    with open(path, "ab", buffering=0, opener=for_owner) as file:
        if file.write(line) != len(line):
            raise OSError("the line was cut")


def _moment(seconds: float) -> str:
    moment = datetime.fromtimestamp(seconds, timezone.utc)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
