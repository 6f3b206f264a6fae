#!/usr/bin/env python3
"""Runs each recorder against a mock of the Messages API, and has `cachesim` read what it recorded.

    RECORDERS_ENV=FOLDER python3 test.py [NAME ...]

The folder holds the libraries as `setup.sh FOLDER` installs them. A recorder whose library is missing is
skipped; where the variable CI is set, that is a failure. CACHESIM names the program if it is not on the path.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Callable

from agents import check_agent
from checks import CALLS, body, check, check_reading
from mock_api import WORDS, MockApi
from tools import HERE, KEY, Skipped, free_port, needed, run, send, served, wait_for

RECORDERS = HERE.parent


def see(command: list[Any], calls: list[Any] = CALLS) -> list[Any]:
    """Sends the calls, and says what the caller saw."""
    return json.loads(run(command, input=json.dumps(calls)))


def drive(mock: MockApi, plainly: list[Any], recorded: list[Any]) -> None:
    """Sends all calls without a recorder and then with it: both times the same must be seen."""
    without = see(plainly)
    mock.reset()
    seen = see(recorded)
    for one, other in zip(seen, without, strict=True):
        assert one == other, f"not seen alike:\n{one}\n{other}"
    assert [one["text"] for one in seen[:2]] == ["".join(WORDS)] * 2, seen[:2]
    assert seen[5]["is_live"], "the stream did not come piece by piece"
    assert ["error" in one for one in seen[4:]] == [False] * 3 + [True] * 3, seen[4:]


def python_sdk(mock: MockApi, folder: Path, library: str, kind: str) -> None:
    command = [needed(library, "bin", "python"), HERE / "drive_python.py", kind, mock.url]
    drive(mock, command, [*command, folder / "capture.jsonl"])
    check(folder / "capture.jsonl", mock.exchanges)


def typescript_sdk(mock: MockApi, folder: Path) -> None:
    command = ["node", HERE / "drive_node.mjs", node_modules("@anthropic-ai/sdk"), mock.url]
    drive(mock, command, [*command, folder / "capture.jsonl"])
    check(folder / "capture.jsonl", mock.exchanges)


def node_modules(package: str) -> Path:
    """The folder of a package's folder."""
    needed("node_modules", package)
    if not shutil.which("node"):
        raise Skipped("there is no node")
    return needed("node_modules")


def pytest(mock: MockApi, folder: Path) -> None:
    python = needed("python", "bin", "pytest").with_name("python")
    files = [RECORDERS / "python" / name for name in ("cachesim_recorder.py", "cachesim_pytest.py")]
    check_agent(mock, folder, files, [python, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--junitxml"], "-k")


def vitest(mock: MockApi, folder: Path) -> None:
    modules = node_modules("vitest")
    (folder / "node_modules").symlink_to(modules)
    files = [RECORDERS / "typescript" / name for name in ("recorder.mjs", "vitest.mjs")]
    command = ["node", modules / "vitest" / "vitest.mjs", "run", "--reporter=junit", "--outputFile"]
    check_agent(mock, folder, files, command, "-t")


def mitmproxy(mock: MockApi, folder: Path) -> None:
    mitmdump, python = needed("mitmproxy", "bin", "mitmdump"), needed("python", "bin", "python")
    capture = folder / "capture.jsonl"
    options = ["--set", f"cachesim_capture={capture}", "--set", f"confdir={folder}", "--listen-host", "127.0.0.1"]
    reverse, regular = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
    modes = ["--mode", f"reverse:{mock.url}@{reverse[17:]}", "--mode", f"regular@{regular[17:]}"]
    addon = RECORDERS / "mitmproxy" / "cachesim_addon.py"
    with served([mitmdump, "-s", addon, *options, *modes], folder) as log:
        wait_for(r"(?s)listening at.*listening at", log)
        command = [python, HERE / "drive_python.py", "sync"]
        drive(mock, [*command, mock.url], [*command, reverse])
        # A client of another kind: with line ends in its body, and a session in its `user_id`.
        user = {"user_id": json.dumps({"device_id": "d", "session_id": "5e55-10n"})}
        send(mock.url, json.dumps(body(2, metadata=user), indent=2).replace("\n", "\r\n").encode(), regular)
        wait_for("5e55-10n", capture)
    check(capture, mock.exchanges)
    assert '"session_id": "5e55-10n"' in capture.read_text("utf-8")


def raw(mock: MockApi, folder: Path) -> None:
    bodies = [body(turns, stream=turns % 2 == 0) for turns in range(1, 12)] + [body(1, "MOCK overloaded ")]
    for number, one in enumerate(bodies):
        path = folder / f"{number}.json"
        path.write_bytes(json.dumps(one, ensure_ascii=number % 2 == 0, indent=number % 3 or None).encode())
        path.with_suffix(".response.json").write_bytes(send(mock.url, path.read_bytes()))
    script = RECORDERS / "raw" / "raw_to_capture.py"
    for options in ([], ["--every", "30", "--start", "2026-11-02T09:00:00Z"]):
        command = [sys.executable, script, folder, *options]
        done = subprocess.run(command, capture_output=True, check=False)
        assert done.returncode == 1 and b"11.json: it was answered with an error" in done.stderr, done.stderr
        (folder / "capture.jsonl").write_bytes(done.stdout)
        check(folder / "capture.jsonl", mock.exchanges)
    assert b'{"timestamp": "2026-11-02T09:05:00.000Z", "request_id": "10", ' in done.stdout


def litellm(mock: MockApi, folder: Path) -> None:
    program, python = needed("litellm", "bin", "litellm"), needed("python", "bin", "python")
    (folder / "config.yaml").write_text(f"""
model_list:
  - {{model_name: claude-opus-5, litellm_params: {{model: anthropic/claude-opus-5, api_key: {KEY}, api_base: "{mock.url}"}}}}
general_settings: {{master_key: {KEY}}}
litellm_settings: {{callbacks: [payload_log.handler]}}
""")
    shutil.copy(RECORDERS / "litellm" / "payload_log.py", folder)
    payloads = folder / "litellm.jsonl"
    user = {"metadata": {"user_id": "user_1_account__session_5e55-10n"}}
    calls = [{"how": how, "body": body(turns, **user)} for turns, how in enumerate(["create", "stream", "events"], 1)]
    port = str(free_port())
    with served([program, "--config", "config.yaml", "--host", "127.0.0.1", "--port", port], folder) as log:
        wait_for(r"(Application startup complete)", log)
        seen = see([python, HERE / "drive_python.py", "sync", f"http://127.0.0.1:{port}"], calls)
        assert [one["text"] for one in seen[:2]] == ["".join(WORDS)] * 2, seen
        wait_for(r"(?s)(.*\n){3}", payloads)
    assert KEY not in payloads.read_text()
    check_reading(payloads, [one.usage for one in mock.exchanges])
    # Without the bodies, as other loggers of LiteLLM have them, their usage is known.
    rows = [json.loads(line) for line in payloads.read_text().splitlines()]
    bare = folder / "bare.jsonl"
    bare.write_text("".join(json.dumps({**row, "proxy_server_request": None}) + "\n" for row in rows))
    check_reading(bare, [one.usage for one in mock.exchanges], has_bodies=False)


TESTS: dict[str, Callable[[MockApi, Path], None]] = {
    "python": lambda mock, folder: python_sdk(mock, folder, "python", "sync"),
    "python-async": lambda mock, folder: python_sdk(mock, folder, "python", "async"),
    "python-httpx": lambda mock, folder: python_sdk(mock, folder, "python-httpx", "sync"),
    "python-httpx-async": lambda mock, folder: python_sdk(mock, folder, "python-httpx", "async"),
    "pytest": pytest,
    "typescript": typescript_sdk,
    "vitest": vitest,
    "mitmproxy": mitmproxy,
    "raw": raw,
    "litellm": litellm,
}


def main(names: list[str]) -> int:
    passed = failed = skipped = 0
    for name in names or TESTS:
        begun, outcome = time.monotonic(), "ok"
        with MockApi() as mock, tempfile.TemporaryDirectory() as folder:
            try:
                TESTS[name](mock, Path(folder))
                passed += 1
            except Skipped as reason:
                outcome = f"skipped: {reason}"
                skipped += 1
            except AssertionError as error:
                outcome = f"FAILED: {error}"
                failed += 1
        print(f"{name:20}{time.monotonic() - begun:5.1f} s  {outcome}", flush=True)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not passed or (skipped and os.environ.get("CI")) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
