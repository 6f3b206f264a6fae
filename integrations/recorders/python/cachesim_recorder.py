"""Records what the Python SDK sends to the Messages API, as a capture that `cachesim` reads.

    import anthropic
    from cachesim_recorder import recording_client

    client = anthropic.Anthropic(http_client=recording_client("capture.jsonl"))

An asynchronous client takes `recording_async_client`. Both are the SDK's own HTTP clients with two hooks, so
that timeouts, retries and answers stay as they are. A failure to record is logged and never raised.

Each answered request is one line: the body byte for byte, with times, ids, beta features and usage. A request
that was refused, or that lost its connection before an answer began, leaves no line: nothing tells what became
of it. An answer that broke off has the usage known by then, or none.

Of the headers only `anthropic-beta` is written; keys are not. The prompts are: keep the file to yourself.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from datetime import datetime, timezone
from typing import Any, Union

import anthropic

Path = Union[str, "os.PathLike[str]"]

#: What names a request: `session_id`, `agent_id` or `scope`; or a function that tells for each request.
Labels = Union[Mapping[str, str], Callable[[], Mapping[str, str]]]

#: The HTTP library that the installed SDK uses: `httpx2` in newer versions, `httpx` in older ones.
_http: Any = sys.modules[anthropic.DefaultHttpxClient.__mro__[1].__module__.partition(".")[0]]

_log = logging.getLogger(__name__)
_LOST = "a request was not recorded: %s"
_SENT_AT = "cachesim_sent_at"


def recording_client(
    path: Path, labels: Labels | None = None, usage: bool = True, **options: Any
) -> anthropic.DefaultHttpxClient:
    """The SDK's HTTP client, which records to a file; further options are the client's own."""
    return anthropic.DefaultHttpxClient(event_hooks=Recorder(path, labels, usage).hooks(), **options)


def recording_async_client(path: Path, labels: Labels | None = None, usage: bool = True, **options: Any) -> Any:
    """The same for `anthropic.AsyncAnthropic`: an `anthropic.DefaultAsyncHttpxClient`."""
    return anthropic.DefaultAsyncHttpxClient(event_hooks=Recorder(path, labels, usage).async_hooks(), **options)


class Recorder:
    """Appends a line for each request to a file, from any thread. Made-up answers are recorded without `usage`."""

    def __init__(self, path: Path, labels: Labels | None = None, usage: bool = True) -> None:
        self._path = os.fspath(path)
        self.labels = labels or {}
        self.usage = usage
        self._lock = threading.Lock()

    def hooks(self) -> dict[str, list[Callable[..., Any]]]:
        """The `event_hooks` of a client."""
        return {"request": [self._sent], "response": [self._answered]}

    def async_hooks(self) -> dict[str, list[Callable[..., Any]]]:
        """The `event_hooks` of an asynchronous client."""

        def later(hook: Callable[[Any], None]) -> Callable[..., Any]:
            async def call(argument: Any) -> None:
                hook(argument)

            return call

        return {name: [later(hook) for hook in hooks] for name, hooks in self.hooks().items()}

    def _sent(self, request: Any) -> None:
        request.extensions[_SENT_AT] = _now()

    def _answered(self, response: Any) -> None:
        request = response.request
        if request.method == "POST" and request.url.path.endswith("/v1/messages") and response.is_success:
            try:
                recording = _Recording(self, response)
            except Exception as error:  # the function of the labels failed
                return _log.warning(_LOST, error)
            if response.is_stream_consumed:  # a test made it up: it is there as a whole
                recording.finish(response.text)
            else:
                response.stream = recording

    def append(self, line: bytes) -> None:
        """Appends a line with one write. Only the file's owner can read a file that this creates."""
        for_owner = lambda path, flags: os.open(path, flags, 0o600)  # noqa: E731
        with self._lock, open(self._path, "ab", buffering=0, opener=for_owner) as file:
            if file.write(line) < len(line):
                raise OSError("the line was cut")


class _Recording(_http.SyncByteStream, _http.AsyncByteStream):  # type: ignore[misc]
    """The stream of an answer: passes everything on as it comes, keeps a copy, and records it at its end."""

    def __init__(self, recorder: Recorder, response: Any) -> None:
        self._recorder, self._response, self._stream = recorder, response, response.stream
        self._labels = recorder.labels() if callable(recorder.labels) else recorder.labels
        self._chunks: list[bytes] = []
        self._started_at = ""
        self._is_finished = False

    def __getattr__(self, name: str) -> Any:  # a response asks its stream for `elapsed`
        return getattr(self._stream, name)

    def __iter__(self) -> Iterator[bytes]:
        try:
            for chunk in self._stream:
                yield self._kept(chunk)
        finally:  # also where the connection breaks
            self.finish()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._stream:
                yield self._kept(chunk)
        finally:
            self.finish()

    def close(self) -> None:
        self.finish()  # also where the caller stops reading
        self._stream.close()

    async def aclose(self) -> None:
        self.finish()
        await self._stream.aclose()

    def _kept(self, chunk: bytes) -> bytes:
        self._started_at = self._started_at or _now()
        self._chunks.append(chunk)
        return chunk

    def finish(self, text: str | None = None) -> None:
        """Records the answer, or what was received of it."""
        is_finished, self._is_finished = self._is_finished, True
        try:
            if not is_finished and (answer := _answer(self._text() if text is None else text)):
                self._recorder.append(self._line(answer))
        except Exception as error:  # a request must not fail over its recording
            _log.warning(_LOST, error)

    def _text(self) -> str:
        """What was received of the answer, decompressed."""
        encoding = self._response.headers.get("content-encoding", "identity")
        try:
            whole = _http.Response(200, headers={"content-encoding": encoding}, content=b"".join(self._chunks))
        except _http.DecodingError:  # it broke off
            return ""
        return str(whole.content, "utf-8", "replace")

    def _line(self, answer: dict[str, Any]) -> bytes:
        request = self._response.request
        beta = request.headers.get("anthropic-beta")
        fields = {
            "timestamp": request.extensions[_SENT_AT],
            "response_started_at": self._started_at,
            "request_id": self._response.headers.get("request-id") or f"local_{uuid.uuid4().hex}",
            **{name: self._labels.get(name) for name in ("session_id", "agent_id", "scope")},
            "message_id": answer["message_id"],
            "usage": answer["usage"] if self._recorder.usage else None,
        }
        known: dict[str, Any] = {name: value for name, value in fields.items() if value}
        # Headers without `anthropic-beta` tell that no beta feature was asked for.
        known["headers"] = {"anthropic-beta": beta} if beta else {}
        return json.dumps(known)[:-1].encode() + b',"request":' + _on_one_line(request.content) + b"}\n"


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


def _on_one_line(body: bytes) -> bytes:
    """A body as it is. Line ends, which JSON has only between its tokens, become spaces."""
    if not isinstance(json.loads(body.decode()), dict):
        raise ValueError("the body is no JSON object")
    return body.replace(b"\r", b" ").replace(b"\n", b" ")


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
