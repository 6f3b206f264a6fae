#!/usr/bin/env python3
"""Holds what the project is made of against benches/limits.toml. All of it is counted, nothing is timed.

    benches/limits.py            code lines and crates
    benches/limits.py --built    also what target/release holds: IR lines, bytes and instructions (valgrind, if it is there)

Ends with 1 if something is larger than its limit, and says if a limit may come down.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIMITS = ROOT / "benches" / "limits.toml"

# A limit that is a tenth above what is counted is of no use.
LOOSE = 1.1

# The name of each command whose instructions are counted, and what it does.
COMMANDS = {
    "analyze": ["analyze", "fixtures/first-look"],
    "breaks": ["breaks", "fixtures/compaction"],
    "compare": ["compare", "fixtures/first-look", "--json"],
    "check": ["check", "fixtures/first-look"],
    "lint": ["lint", "fixtures/captured-clock", "--json"],
}


def code_lines():
    """Lines of src that are neither empty nor a comment."""
    lines = (line.strip() for file in (ROOT / "src").rglob("*.rs") for line in file.read_text().splitlines())
    return sum(1 for line in lines if line and not line.startswith("//"))


def crates():
    """Packages that the default build compiles, this one included."""
    tree = ["cargo", "tree", "--locked", "--prefix", "none", "--edges", "normal,build", "--format", "{p}"]
    out = subprocess.run(tree, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return len({" ".join(line.split()[:2]) for line in out.splitlines() if line.strip()})


def ir_lines():
    """Lines of LLVM IR of the library, before any optimisation."""
    with tempfile.TemporaryDirectory() as folder:
        ir = Path(folder) / "library.ll"
        rustc = ["cargo", "rustc", "--locked", "--quiet", "--release", "--lib", "--"]
        emitted = [f"--emit=llvm-ir={ir}", "-Cno-prepopulate-passes", "-Ccodegen-units=1"]
        subprocess.run([*rustc, *emitted], cwd=ROOT, check=True)
        count, is_in_function = 0, False
        with ir.open(errors="replace") as lines:
            for line in lines:
                if line.startswith("define "):
                    is_in_function = True
                elif line.startswith("}"):
                    is_in_function = False
                # An instruction is indented by two; its cases and labels by more or not at all. `cargo llvm-lines`
                # counts so, too.
                elif is_in_function and line.startswith("  ") and not line.startswith("   "):
                    count += 1
        return count


def program():
    return Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release" / "cachesim"


def instructions(arguments):
    """Instructions of a run, on one thread."""
    counted = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "CACHESIM_NO_CONFIG": "1", "RAYON_NUM_THREADS": "1"}
    command = [*counted, str(program()), *arguments]
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    return int(re.search(r"I\s+refs:\s+([\d,]+)", run.stderr)[1].replace(",", ""))


def measured(is_built):
    yield "code_lines", code_lines()
    yield "crates", crates()
    if not is_built:
        return
    yield "bytes", program().stat().st_size
    if shutil.which("valgrind"):
        for name, arguments in COMMANDS.items():
            yield f"instructions.{name}", instructions(arguments)
    # Last, as it builds the library once more.
    yield "ir_lines", ir_lines()


def main():
    limits = tomllib.loads(LIMITS.read_text())
    is_exceeded = False
    for name, count in measured("--built" in sys.argv[1:]):
        table, _, key = name.rpartition(".")
        limit = limits[table][key] if table else limits[key]
        told = f"{count:,} of at most {limit:,}"
        if count > limit:
            is_exceeded = True
            told += ": too many. Find what can go; or raise the limit in benches/limits.toml, and say why there"
        elif count * LOOSE < limit:
            told += ": the limit may come down"
        print(f"{name:22} {told}", flush=True)
    sys.exit(is_exceeded)


if __name__ == "__main__":
    main()
