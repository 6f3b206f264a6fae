"""Programs and servers that the test runs."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ENV = Path(os.environ.get("RECORDERS_ENV", HERE / "env")).resolve()
CACHESIM = os.environ.get("CACHESIM", "cachesim")
KEY = "sk-test-planted"


class Skipped(Exception):
    """What a recorder needs is missing."""


def needed(*path: str) -> Path:
    """A file that the folder of libraries has."""
    found = ENV.joinpath(*path)
    if not found.exists():
        raise Skipped(f"there is no {Path(*path)} in RECORDERS_ENV")
    return found


def run(command: list[Any], **options: Any) -> str:
    """What a program prints; it has to succeed, and to print no key."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=60, **options)
    told = f"{done.stdout[-2000:]}{done.stderr[-2000:]}"
    assert done.returncode == 0, f"{command} ended with {done.returncode}:\n{told}"
    assert KEY not in told, f"{command} printed the key"
    return done.stdout


def send(url: str, raw: bytes, proxy: str = "") -> bytes:
    """What a request is answered, errors included."""
    headers = {"content-type": "application/json", "x-api-key": KEY}
    request = urllib.request.Request(f"{url}/v1/messages?beta=true", raw, headers)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({"http": proxy} if proxy else {}))
    try:
        return opener.open(request, timeout=20).read()
    except urllib.error.HTTPError as error:
        return error.read()


@contextmanager
def served(command: list[Any], folder: Path) -> Iterator[Path]:
    """The log of a server that runs for as long as the `with` block lasts."""
    log, env = folder / "log", {**os.environ, "PYTHONUNBUFFERED": "1", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    with log.open("wb") as file:
        process = subprocess.Popen(list(map(str, command)), cwd=folder, env=env, stdout=file, stderr=file)
    try:
        yield log
    finally:
        process.terminate()
        process.wait(20)


def wait_for(pattern: str, log: Path) -> re.Match[str]:
    for _ in range(600):
        text = log.read_text("utf-8", "replace") if log.exists() else ""
        if found := re.search(pattern, text):
            return found
        time.sleep(0.1)
    raise AssertionError(f"{pattern} did not come: {text[-2000:]}")


def free_port() -> int:
    """A port for a server that cannot choose one itself."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
