"""What the tests of the packages share: the program, the artifacts made from it, and runs of them.

TEST_CACHESIM is the program (target/debug/cachesim). TEST_PYTHON is the Python into which the wheel is
installed (this one). TEST_LIBRARIES is a folder with pandas, polars and pyarrow. TEST_WHEEL is a wheel to test in place of the one that build.py makes.
"""

import atexit
import functools
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PACKAGING = Path(__file__).resolve().parent.parent
PROJECT = PACKAGING.parent
FIXTURE = "fixtures/first-look"
TARGETS = json.loads((PACKAGING / "targets.json").read_text("utf-8"))
VERSION = re.search(r'^version = "(.*)"$', (PROJECT / "Cargo.toml").read_text("utf-8"), re.MULTILINE)[1]

# A small program in place of one that was built for another platform.
STAND_IN = f"#!/bin/sh\necho cachesim {VERSION} of {{}}\n"

# A program of this computer: the slot of a static one is filled with it, whatever it is linked to.
SYSTEM = {"Linux": "linux", "Darwin": "darwin"}[platform.system()]
CHIP = {"x86_64": "x64", "aarch64": "arm64", "arm64": "arm64"}[platform.machine()]
HOST = next(each for each in TARGETS if each["npm"] == {"os": SYSTEM, "cpu": CHIP})


def clean(**more):
    """The environment without what would change the program, npm, pip or Python."""
    begins = ("CACHESIM_", "NODE_", "npm_config_", "PIP_", "PYTHON", "COLUMNS")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(begins)}
    return {**kept, "HOME": str(folder("home")), **more}


@functools.cache
def scratch():
    made = Path(tempfile.mkdtemp(prefix="cachesim-packaging-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


def folder(name):
    made = scratch() / name
    made.mkdir(parents=True, exist_ok=True)
    return made


@functools.cache
def program():
    target = Path(os.environ.get("CARGO_TARGET_DIR", PROJECT / "target"))
    found = Path(os.environ.get("TEST_CACHESIM", target / "debug/cachesim")).resolve()
    if not found.is_file():
        sys.exit(f"{found} is missing: build it, or name a program with TEST_CACHESIM")
    return found


@functools.cache
def binaries():
    """DIR/TARGET/cachesim, as the builders take it."""
    place = folder("binaries") / HOST["target"] / HOST["binary"]
    place.parent.mkdir()
    shutil.copy2(program(), place)
    return place.parent.parent


def run(*command, cwd=PROJECT, env=None, check=True, **more):
    """Runs a command. Where it fails, what it said is the test's message."""
    done = subprocess.run(
        [str(each) for each in command], cwd=cwd, env=env or clean(), capture_output=True, **more
    )
    if check and done.returncode != 0:
        raise AssertionError(f"{command}: {done.returncode}\n{done.stdout.decode()}{done.stderr.decode()}")
    return done


def own(*args, **more):
    """What the program itself does."""
    return run(program(), *args, check=False, **more)


@functools.cache
def npm_packages():
    """The launcher and the package for this computer."""
    if not shutil.which("npm"):
        raise unittest.SkipTest("npm")
    out = folder("artifacts")
    run("node", PACKAGING / "npm/build.mjs", "--version", VERSION, "--binaries", binaries(), "--out", out)
    return out / f"cachesim-{VERSION}.tgz", out / f"cachesim-{SYSTEM}-{CHIP}-{VERSION}.tgz"


@functools.cache
def wheel():
    """The wheel for this computer."""
    if "TEST_WHEEL" in os.environ:
        return Path(shutil.copy(os.environ["TEST_WHEEL"], folder("artifacts")))
    build = [sys.executable, PACKAGING / "pypi/build.py", "--binaries", binaries()]
    return Path(run(*build, "--out", folder("artifacts")).stdout.decode().strip())


@functools.cache
def archive():
    """The archive for this computer."""
    made = run(PACKAGING / "archive.sh", HOST["target"], program(), folder("artifacts"))
    return Path(made.stdout.decode().strip())


def pack(target, out, content=None):
    """The archive of a target, with a stand-in for its program."""
    binary = folder("stand-ins") / target["target"]
    binary.write_text(content or STAND_IN.format(target["target"]))
    env = clean(SOURCE_DATE_EPOCH="1767225600")
    run(PACKAGING / "archive.sh", "--host-binary", program(), target["target"], binary, out, env=env)
    return out / f"cachesim-{target['target']}.{target['archive']}"


@functools.cache
def release():
    """A folder with the archives of all targets."""
    for target in TARGETS:
        pack(target, folder("release"))
    return folder("release")


class Same(unittest.TestCase):
    """Tests that an installed program does what the program itself does."""

    def assert_same(self, command, *args, env=None, **more):
        ours, theirs = run(*command, *args, env=env, check=False, **more), own(*args, **more)
        self.assertEqual(ours.stdout, theirs.stdout)
        self.assertEqual(ours.stderr, theirs.stderr)
        self.assertEqual(ours.returncode, theirs.returncode)
        return ours

    def assert_all_same(self, command, env=None):
        done = self.assert_same(command, "--version", env=env)
        self.assertEqual(done.stdout.decode(), f"cachesim {VERSION}\n")
        self.assertEqual(self.assert_same(command, "analyze", FIXTURE, env=env).returncode, 0)
        self.assertEqual(self.assert_same(command, "analyze", "fixtures/nowhere", env=env).returncode, 3)
        session = (PROJECT / FIXTURE / "session.jsonl").read_bytes()
        self.assert_same(command, "analyze", "-", "--format=json", env=env, input=session)
        self.assertEqual(self.assert_same(command, "analyze", "--no such", "", env=env).returncode, 2)
