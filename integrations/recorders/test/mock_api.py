"""A mock of the Messages API on the loopback interface, for the test of the recorders.

It keeps prefixes as the service does: a request reads the longest prefix that an earlier one marked with
`cache_control`, and writes from there to its own last marker. Four bytes count as a token. Answers are
JSON, or an event stream where the body asks for one; they are compressed for clients that accept gzip.

What a request's first system block begins with chooses a fault: `MOCK overloaded` is answered with 529 the
first time, `MOCK slow` pauses after the first events, `MOCK broken` loses its connection there, and `MOCK
refused` has an error as the first event of its stream.
"""

from __future__ import annotations

import gzip
import json
import threading
import time
import zlib
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Iterator

WORDS = ["The ", "answer: ", "“naïve” ", "\u2028", "done."]


@dataclass
class Exchange:
    """A request as it arrived, and what it was answered."""

    body: bytes
    headers: dict[str, str]
    status: int
    usage: dict[str, Any] = field(default_factory=dict)
    request_id: str = ""

    @property
    def message_id(self) -> str:
        return self.request_id.replace("req", "msg")


def prefixes(body: dict[str, Any]) -> Iterator[tuple[str, bool]]:
    """The prefix that ends with each block, and whether it is marked; markers are no part of it."""
    prompt = json.dumps(body.get("model"))
    blocks = [*body.get("tools", []), *as_blocks(body.get("system", []))]
    for message in body["messages"]:
        blocks += [{"role": message["role"], **block} for block in as_blocks(message["content"])]
    for block in blocks:
        marker = block.pop("cache_control", None)
        prompt += json.dumps(block)
        yield prompt, bool(marker)


def as_blocks(content: Any) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else [dict(block) for block in content]


class MockApi:
    """The server, in a thread of its own for as long as the `with` block lasts."""

    def __init__(self) -> None:
        self.exchanges: list[Exchange] = []
        self.lock = threading.Lock()
        self.cached: set[str] = set()
        self.faults: set[str] = set()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (Handler,), {"mock": self}))
        self.server.handle_error = lambda *_: None  # type: ignore[method-assign]
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def __enter__(self) -> MockApi:
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()

    def reset(self) -> None:
        """Forgets what was received and what is cached."""
        with self.lock:
            self.exchanges, self.cached, self.faults = [], set(), set()

    def receive(self, raw: bytes, headers: dict[str, str]) -> tuple[Exchange, dict[str, Any], str]:
        """Bills a request, and says which fault it asks for."""
        body = json.loads(raw)
        system = as_blocks(body.get("system", []))
        fault = system[0]["text"].split()[1] if system and system[0]["text"].startswith("MOCK ") else ""
        with self.lock:
            if fault == "overloaded" and fault not in self.faults:
                self.faults.add(fault)
                exchange = Exchange(raw, headers, 529)
            else:
                exchange = Exchange(raw, headers, 200, self.bill(body), f"req_mock_{len(self.exchanges)}")
            self.exchanges.append(exchange)
        return exchange, body, fault

    def bill(self, body: dict[str, Any]) -> dict[str, Any]:
        known = list(prefixes(body))
        read = max((len(prefix) for prefix, _ in known if prefix in self.cached), default=0) // 4
        end = max((len(prefix) for prefix, is_marked in known if is_marked), default=0) // 4
        written = max(end - read, 0)
        self.cached.update(prefix for prefix, is_marked in known if is_marked)
        return {
            "input_tokens": len(known[-1][0]) // 4 - read - written,
            "cache_creation_input_tokens": written,
            "cache_read_input_tokens": read,
            "cache_creation": {"ephemeral_5m_input_tokens": written, "ephemeral_1h_input_tokens": 0},
            "output_tokens": 7,
            "service_tier": "standard",
        }


class Handler(BaseHTTPRequestHandler):
    mock: MockApi
    protocol_version = "HTTP/1.1"
    timeout = 20

    def log_message(self, *_: object) -> None:
        pass

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers["content-length"]))
        if self.path.split("?")[0] != "/v1/messages":
            return self.answer(404, b'{"type":"error","error":{"type":"not_found_error","message":"no"}}', "")
        exchange, body, fault = self.mock.receive(raw, {k.lower(): v for k, v in self.headers.items()})
        if exchange.status != 200:
            error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
            return self.answer(exchange.status, json.dumps(error).encode(), "")
        if body.get("stream"):
            return self.stream(exchange, body, fault)
        message = {**message_of(body, exchange), "content": [{"type": "text", "text": "".join(WORDS)}]}
        self.answer(200, json.dumps(message).encode(), exchange.request_id, cut=fault == "broken")

    def answer(self, status: int, body: bytes, request_id: str, cut: bool = False) -> None:
        compressed = "gzip" in self.headers.get("accept-encoding", "")
        body = gzip.compress(body) if compressed else body
        self.begin(status, "application/json", request_id, compressed, {"content-length": str(len(body))})
        self.wfile.write(body[: len(body) // 2] if cut else body)
        self.close_connection = self.close_connection or cut

    def stream(self, exchange: Exchange, body: dict[str, Any], fault: str) -> None:
        compressed = "gzip" in self.headers.get("accept-encoding", "")
        packer = zlib.compressobj(wbits=31)
        self.begin(200, "text/event-stream", exchange.request_id, compressed, {"transfer-encoding": "chunked"})
        for number, event in enumerate(events(message_of(body, exchange), fault == "refused")):
            data = f"event: {event['type']}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n".encode()
            data = packer.compress(data) + packer.flush(zlib.Z_SYNC_FLUSH) if compressed else data
            # In two pieces, so that events and characters are cut in two.
            for piece in (data[: len(data) // 2], data[len(data) // 2 :]):
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                self.wfile.flush()
            if fault in ("broken", "slow") and number == 3:
                time.sleep(0.5)  # for the client to read what came so far
            if fault == "broken" and number == 3:
                self.close_connection = True
                return
        rest = packer.flush() if compressed else b""
        self.wfile.write((b"%x\r\n%s\r\n" % (len(rest), rest) if rest else b"") + b"0\r\n\r\n")

    def begin(self, status: int, kind: str, request_id: str, compressed: bool, more: dict[str, str]) -> None:
        self.send_response(status)
        headers = {"content-type": kind, **more, "retry-after-ms": "1"}
        headers |= {"content-encoding": "gzip"} if compressed else {}
        headers |= {"request-id": request_id} if request_id else {}
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()


def message_of(body: dict[str, Any], exchange: Exchange) -> dict[str, Any]:
    identity = {"id": exchange.message_id, "type": "message", "role": "assistant"}
    ending = {"stop_reason": "end_turn", "stop_sequence": None, "usage": exchange.usage}
    return {**identity, "model": body["model"], "content": [], **ending}


def events(message: dict[str, Any], refused: bool) -> Iterator[dict[str, Any]]:
    """The events of a streamed answer; the output's figure comes with the last but one."""
    if refused:
        yield {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
        return
    usage = message["usage"]
    yield {"type": "message_start", "message": {**message, "stop_reason": None, "usage": {**usage, "output_tokens": 1}}}
    yield {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    yield {"type": "ping"}
    for word in WORDS:
        yield {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": word}}
    yield {"type": "content_block_stop", "index": 0}
    delta = {"stop_reason": "end_turn", "stop_sequence": None}
    yield {"type": "message_delta", "delta": delta, "usage": {"output_tokens": usage["output_tokens"]}}
    yield {"type": "message_stop"}
