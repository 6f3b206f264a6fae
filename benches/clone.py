#!/usr/bin/env python3
"""What a newcomer does first: README's two commands, word for word, in a fresh clone with nothing beside it.

Says what each took, and fails if one fails. The tests that sessions beside the clone could hide run once more,
thoroughly, and what a clone is built of is held against benches/limits.toml. On two idle cores all of it takes 25
minutes.

With --libraries FOLDER the libraries that this target folder holds are not built once more, so the seconds are not those
of a newcomer, and what the clone is built of is not counted.
"""

import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

COMMANDS = ["cargo run --release -- analyze fixtures/first-look", "cargo test"]

# Those that read `../shared` if it is there, or all of a checkout, so that what they say of a clone is never seen.
ALONE = ["planted::", "samples::", "licences::", "documents::", "init::", "action::"]


def of_readme():
    blocks = re.findall(r"^```console\n\$ (cargo .*)$", (ROOT / "README.md").read_text(), re.MULTILINE)
    if blocks != COMMANDS:
        sys.exit(f"README.md has other commands: {blocks}")
    return blocks


def run(command, folder, **more):
    """Runs a command of a user with nothing set. Returns its seconds, and those of all cores."""
    unset = {"CI", "CARGO_TARGET_DIR", "CARGO_INCREMENTAL", "CARGO_PROFILE_DEV_DEBUG", "CARGO_PROFILE_TEST_DEBUG"}
    environment = {name: value for name, value in os.environ.items() if name not in unset} | more
    print(f"$ {shlex.join(command)}", flush=True)
    began = time.monotonic()
    process = subprocess.Popen(command, cwd=folder, env=environment)
    _, status, usage = os.wait4(process.pid, 0)
    took = time.monotonic() - began
    if status:
        sys.exit(f"{shlex.join(command)}: ended with {os.waitstatus_to_exitcode(status)}")
    return took, usage.ru_utime + usage.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--libraries", type=Path, metavar="FOLDER")
    libraries = parser.parse_args().libraries
    shared = {}
    if libraries:
        # What is kept for a second build and for a debugger changes what a library is built as.
        shared = {name: value for name, value in os.environ.items() if name.startswith(("CARGO_INC", "CARGO_PROFILE"))}
        shared["CARGO_TARGET_DIR"] = str(libraries.resolve())
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(folder) / "clone"
        # Of anyone's checkout, as this may be run as root.
        safe = "git -c safe.directory=* upload-pack"
        subprocess.run(["git", "clone", "--quiet", "--upload-pack", safe, str(ROOT), str(clone)], check=True)
        took = [(command, *run(shlex.split(command), clone, **shared)) for command in of_readme()]
        tests = ["cargo", "test", "--test", "tests", "--", *ALONE]
        run(tests, clone, **shared, TEST_THOROUGH="1")
        if not libraries:
            run([sys.executable, str(clone / "benches" / "limits.py"), "--built"], clone)
        for command, elapsed, cores in took:
            print(f"{elapsed:6.0f} s, {cores / 60:5.1f} CPU-minutes: {command}")


if __name__ == "__main__":
    main()
