"""Tests of tiny agents, in `agent/`, by pytest and by Vitest: which of them fail, and with which words."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from mock_api import MockApi
from tools import CACHESIM, HERE, KEY

#: What is said of each test that has to fail.
FAIL = {
    # The last digit of the second follows 47 bytes. 43,500 bytes a token each, written for $6.25 and not read for $0.50.
    "clock": r"--fail-on: 1 finding of timestamp.*timestamp at system\[0\].*capture.jsonl:2 .*a moment differs; "
    r"byte 47: “.*29T10:00:.*became.*29T10:00:.*2 requests; 43,5\d\d tokens not read, \$0\.250\d",
    "nothing recorded": "no request was recorded: give the SDK",
    "nothing compared": "nothing could be compared: no request follows another",
    "no program": "(no program no-such-program|no-such-program cannot be run).*install",
    "old program": "unexpected argument '--assume'.*is older than this file",
    "own failure": "what the test itself says",
}
PASS = {"stable", "stable as billed", "stable made up", "clock allowed", "clock not asked for"}
# 400 times 54 bytes in a block of text, and 200 times 10 more.
LONGER = r"2 of 8 budgets exceeded.*system\[0\].*21,625 bytes became 23,625"
OLD = """#!/bin/sh
echo "error: unexpected argument '--assume' found" >&2
exit 2
"""


def check_agent(mock: MockApi, folder: Path, files: list[Path], command: list[Any], option: str) -> None:
    """Runs the tests of an agent beside the files that its builder has copied.

    The command ends with the option that names a JUnit file; another option selects tests by name.
    """
    for file in [*(HERE / "agent").iterdir(), *files]:
        if file.is_file():
            shutil.copy(file, folder)
    old = folder / "old-cachesim"
    old.write_text(OLD)
    old.chmod(0o755)
    program = Path(shutil.which(CACHESIM) or CACHESIM).resolve()
    env = {**os.environ, "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}", "MOCK_API": mock.url}

    def told(*more: str, **variables: str) -> dict[str, str]:
        """What is said of each test that fails, and an empty text of others."""
        junit = folder / "junit.xml"
        junit.unlink(missing_ok=True)
        line = [*map(str, command[:-1]), f"{command[-1]}={junit}", *more]
        done = subprocess.run(line, cwd=folder, env={**env, **variables}, capture_output=True, text=True, check=False)
        assert junit.exists(), done.stdout + done.stderr
        assert KEY not in done.stdout + done.stderr, "the key was printed"
        cases = ElementTree.parse(junit).iter("testcase")
        return {name_of(case): "".join(f"{one.text}" for one in case.iter("failure")) for case in cases}

    every = told()
    assert every.keys() - {"stable async", "stable concurrently"} == FAIL.keys() | PASS | {"baseline"}, every.keys()
    failing = {**FAIL, "baseline": "baseline.*prefix.json"}
    for name, said in every.items():
        check_words(name, said, failing.get(name))
    assert not (folder / "prefix.json").exists()
    for variables, words in (({"UPDATE_BASELINE": "1"}, None), ({}, None), ({"IS_LONGER": "1"}, LONGER)):
        check_words("baseline", told(option, "baseline", **variables)["baseline"], words)


def name_of(case: ElementTree.Element) -> str:
    """Name of a test as Vitest has it."""
    return str(case.get("name")).removeprefix("test_").replace("_", " ")


def check_words(name: str, said: str, words: str | None) -> None:
    """Nothing is said of a test that has to pass."""
    assert bool(said) == bool(words), f"{name}: {said or 'passed'}"
    assert not words or re.search(words, said, re.DOTALL), f"{name}: not {words!r} but {said}"
