#!/usr/bin/env python3
"""What a newcomer does first: README's two commands, word for word, in a fresh clone with nothing beside it.

Says what each took, and fails if one fails. What a clone is built of is then held against benches/limits.toml, and the
tests that sessions beside the clone could hide run once more, thoroughly. On two idle cores all of it takes 25 minutes.

With --quick nothing is built once more: the tests of this checkout run in the clone, those that read most of what it has.
"""

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

# Those that read all of `../shared` where it is there, so that what they say of fixtures alone is never seen.
ALONE = ["planted::", "samples::", "licences::"]


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


def quick(clone):
    """Runs the tests that are built here, in the clone."""
    build = ["cargo", "test", "--locked", "--features", "validate", "--no-run", "--test", "tests"]
    built = subprocess.run(build, cwd=ROOT, check=True, stderr=subprocess.PIPE, text=True).stderr
    tests = ROOT / re.search(r"Executable .*\((.*)\)", built)[1]
    run([str(tests), *ALONE, "documents::", "init::", "action::"], clone, TEST_THOROUGH="1", CARGO_MANIFEST_DIR=str(clone))


def main():
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(folder) / "clone"
        # Of anyone's checkout, as this may be run as root.
        safe = "git -c safe.directory=* upload-pack"
        subprocess.run(["git", "clone", "--quiet", "--upload-pack", safe, str(ROOT), str(clone)], check=True)
        if "--quick" in sys.argv[1:]:
            return quick(clone)
        took = [(command, *run(shlex.split(command), clone)) for command in of_readme()]
        tests = ["cargo", "test", "--test", "tests", "--", *ALONE]
        run(tests, clone, TEST_THOROUGH="1")
        run([sys.executable, str(clone / "benches" / "limits.py"), "--built"], clone)
        for command, elapsed, cores in took:
            print(f"{elapsed:6.0f} s, {cores / 60:5.1f} CPU-minutes: {command}")


if __name__ == "__main__":
    main()
