"""Fails a test whose requests do not keep their prefix: a fixture for pytest.

    # conftest.py
    pytest_plugins = ["cachesim_pytest"]

    # test_agent.py
    def test_prefix(stable_prefix):
        agent.run(anthropic.Anthropic(http_client=stable_prefix.client()))

`cachesim_recorder.py`, which stands beside this file, records what the test sends. After a test that passed, the
program `cachesim` looks for what moved, and the test fails with its words: request, place, byte, tokens and dollars.

Options are those of a marker, for a test or, as `pytestmark`, for a module:

    @pytest.mark.stable_prefix(allow="tool-set", baseline="prefix.json")
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from cachesim_recorder import recording_async_client, recording_client


@dataclass(frozen=True)
class Options:
    """What the marker says."""

    #: Findings that fail: the least severity (`error`, `warning`, `note`) or names of rules, with commas between.
    fail_on: str = "warning"
    #: Rules whose findings are left out, with commas between.
    allow: str = ""
    #: How tokens are counted: `exact`, in the model's vocabulary, or `bytes:N`.
    tokens: str = "exact"
    #: A report that the requests are held against, relative to the test's file. UPDATE_BASELINE=1 writes it.
    baseline: str | None = None
    #: The program: a name on the path, or a path.
    program: str = "cachesim"
    #: Usage of the answers counts: of the real service, as that of made-up answers tells nothing.
    usage: bool = False


class StablePrefix:
    """Records the requests of a test, and judges them."""

    def __init__(self, folder: Path, tests: Path, options: Options) -> None:
        self.capture = folder / "capture.jsonl"
        self._tests, self._options = tests, options

    def client(self, **options: Any) -> Any:
        """The `http_client` of `anthropic.Anthropic`, with the options of `recording_client`."""
        return recording_client(self.capture, usage=self._options.usage, **options)

    def async_client(self, **options: Any) -> Any:
        """The `http_client` of `anthropic.AsyncAnthropic`."""
        return recording_async_client(self.capture, usage=self._options.usage, **options)

    def check(self) -> None:
        """Fails if the prefix moved, or if the requests cost more than the baseline's."""
        if not self.capture.exists():
            _fail("no request was recorded: give the SDK `http_client=stable_prefix.client()`, and answer its requests")
        options = self._options
        self._run("lint", f"--fail-on={options.fail_on}", *([f"--ignore={options.allow}"] if options.allow else []))
        if options.baseline is not None:
            key = "--save-baseline" if os.environ.get("UPDATE_BASELINE") else "--baseline"
            self._run("check", f"{key}={self._tests / options.baseline}")

    def _run(self, command: str, *arguments: str) -> None:
        """Runs the program in the folder of the capture, where no configuration of the project holds."""
        # A program that pip installed is beside the interpreter, which need not be on the path.
        name, scripts = self._options.program, sysconfig.get_path("scripts")
        program = shutil.which(name) or shutil.which(name, path=scripts)
        if program is None:
            _fail(f"there is no program {name}: `pip install cachesim`, or name its path as `program`")
        tokens = f"--assume=tokens={self._options.tokens}"
        done = subprocess.run(
            [os.path.abspath(program), command, self.capture.name, tokens, *arguments],
            cwd=self.capture.parent,
            env={**os.environ, "COLUMNS": "120"},
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        said = done.stderr.strip()
        if done.returncode == 1:
            _fail(f"{said}\n\n{done.stdout.strip()}\n\nThe requests are in {self.capture}.")
        if done.returncode == 2:
            _fail(f"{said}\n\nIf an option is unknown, {program} is older than this file: `pip install -U cachesim`.")
        if done.returncode:
            _fail(said)


def _fail(message: str) -> Any:
    pytest.fail(message, pytrace=False)


def pytest_configure(config: pytest.Config) -> None:
    options = ", ".join(Options.__annotations__)
    config.addinivalue_line("markers", f"stable_prefix({options}): options of the fixture `stable_prefix`")


@pytest.fixture
def stable_prefix(request: pytest.FixtureRequest, tmp_path: Path) -> StablePrefix:
    """What records the requests of a test, and fails the test if their prefix moved."""
    # The marker of the test before those of its class and module.
    marks = reversed(list(request.node.iter_markers("stable_prefix")))
    options = Options(**{name: value for mark in marks for name, value in mark.kwargs.items()})
    return StablePrefix(tmp_path, request.path.parent, options)


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Iterator[None]:
    """Checks after the call, not when the fixture ends: that would be an error beside a test that passed."""
    result = yield
    prefix = pyfuncitem.funcargs.get("stable_prefix")
    if isinstance(prefix, StablePrefix):
        prefix.check()
    return result
