#!/usr/bin/env python3
"""Hold the output of two binaries against each other, byte for byte.

    benches/same_output.py OLD NEW [PATH…]

Every command over requests runs in every format, with one job and with eight, over the given files and
folders, or over the fixtures and what `../shared` has. Standard output, standard error and the exit
code must be equal. What differs is named, and the exit code is 1 then.
"""

import itertools
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FORMATS = {
    "analyze": ["table", "json", "jsonl", "csv", "markdown"],
    "compare": ["table", "json", "jsonl", "csv", "markdown"],
    "breaks": ["table", "json", "jsonl", "csv", "markdown"],
    "context": ["table", "json", "markdown"],
    "verify": ["table", "json", "markdown"],
    "advise": ["table", "json", "markdown"],
    "lint": ["text", "json", "sarif", "markdown"],
}
STRATEGIES = (
    "billed,replay,none,5m,1h,mixed,as-recorded,every-10,cheapest-layout,cheapest-pings,microcompact-60m,"
    "compact-100k,session-memory-100k,forked-agents,sessions-apart,tools-sorted,stable-first,optimal"
)
BESIDE = [
    ["analyze", "--by", "project"],
    ["analyze", "--strategy", STRATEGIES],
    ["compare", "--strategy", STRATEGIES, "--format", "json"],
    ["compare", "--provider", "openai,openai-5.6,deepseek,gemini,qwen-explicit"],
    ["report"],
    *(["chart", kind] for kind in ["turns", "breaks", "gaps", "cost", "waterfall"]),
]
JOBS = ["1", "8"]


def inputs():
    """The inputs where none are given."""
    yield from sorted(path for path in (ROOT / "fixtures").iterdir() if path.is_dir())
    shared = ROOT.parent / "shared"
    for name in ["corpus", "corpus-b", "captures", "conformance", "placement"]:
        if (shared / name).exists():
            yield shared / name


def commands():
    """All commands, without their input."""
    for command, formats in FORMATS.items():
        for form in formats:
            yield [command, "--format", form]
    yield from BESIDE


def run(binary, command, path, jobs):
    """What a command prints and how it ends."""
    environment = {"CACHESIM_NO_CONFIG": "1", "HOME": "/nonexistent", "COLUMNS": "120"}
    with tempfile.TemporaryDirectory() as folder:
        extra = ["-o", f"{folder}/out.svg"] if command[0] == "chart" else []
        result = subprocess.run(
            [binary, *command, str(path), "--jobs", jobs, *extra],
            capture_output=True,
            env=environment,
            check=False,
        )
        files = [one.read_bytes() for one in sorted(Path(folder).iterdir())]
    return result.returncode, result.stdout, result.stderr.replace(folder.encode(), b""), files


def compare(old, new, case):
    """The case, where the binaries differ in it."""
    command, path, jobs = case
    is_same = run(old, command, path, jobs) == run(new, command, path, jobs)
    return None if is_same else f"{' '.join(command)} --jobs {jobs} {os.path.relpath(path)}"


def main():
    """Compares, and says what differs."""
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    old, new, *paths = sys.argv[1:]
    cases = list(itertools.product(commands(), paths or inputs(), JOBS))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        differing = [one for one in pool.map(lambda case: compare(old, new, case), cases) if one]
    for one in differing:
        print(f"differs: {one}")
    print(f"{len(cases)} runs of each binary, {len(differing)} differ")
    sys.exit(1 if differing else 0)


if __name__ == "__main__":
    main()
