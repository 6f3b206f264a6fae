#!/usr/bin/env python3
"""Times an organisation: `fleet.py BINARY [DEVELOPERS [FOLDER]]`, 25 MB of sessions each [default: 40 of them].

It prints what the input takes whole and in domains, by format, what rows and parts take, and what that is for a
terabyte. Commands take turns; each figure is the median of five rounds. FOLDER keeps the sessions between runs.
"""

import os
import pathlib
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).parent
GENERATOR = HERE.parent.parent / "shared" / "tools" / "gen_transcripts.py"
ROUNDS = 5


def generate(root: pathlib.Path, developers: int) -> None:
    for number in range(1, developers + 1):
        folder = root / f"dev-{number:03}"
        if not folder.exists():
            arguments = ["--out", folder, "--mb", "25", "--sessions", "12", "--seed", str(number)]
            subprocess.run([sys.executable, GENERATOR, *arguments], check=True, stdout=subprocess.DEVNULL)


def timed(command: list[str]) -> tuple[float, float, int]:
    """Seconds on the clock, of all processes on a core, and the most memory of one in bytes."""
    began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cores = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.monotonic() - began, cores, usage.ru_maxrss * 1024


def main(binary: str, developers: int, root: pathlib.Path) -> None:
    generate(root, developers)
    size = sum(file.stat().st_size for file in root.rglob("*") if file.is_file())
    with tempfile.TemporaryDirectory() as work:
        out, parts = f"{work}/rows", f"{work}/parts"
        rows = [binary, "analyze", str(root), "--quiet", "--jobs", "1", "--output", out, "--format"]
        script = [str(HERE.parent / "integrations/xargs/parts.sh"), str(root), parts]
        os.environ["CACHESIM"] = str(pathlib.Path(binary).resolve())
        commands = {
            "whole, sums": [*rows, "json"],
            **{f"whole, {kind}": [*rows, kind] for kind in ("csv", "jsonl", "parquet")},
            **{f"domains, {kind}": [*rows, kind, "--domains", "depth:1"] for kind in ("csv", "parquet")},
            "parts": script,
        }
        measured = {name: [] for name in commands}
        sizes = {}
        for _ in range(ROUNDS):
            for name, command in commands.items():
                shutil.rmtree(parts, ignore_errors=True)
                measured[name].append(timed(command))
                sizes[name] = os.path.getsize(out)
        with open(out, "wb") as lines:
            subprocess.run([*rows[:-3], "--format", "csv"], stdout=lines, check=True)
        count = sum(1 for _ in open(out, "rb")) - 1
    print(f"{developers} developers, {size / 1e6:,.0f} MB, {count:,} rows\n")
    print("| | s | s of a core | MiB | bytes a row | hours of a core a TB |\n| --- | --- | --- | --- | --- | --- |")
    for name, runs in measured.items():
        clock, cores, memory = (statistics.median(values) for values in zip(*runs))
        width = f"{sizes[name] / count:.1f}" if "sums" not in name and name != "parts" else ""
        hours = cores / size * 1e12 / 3600
        print(f"| {name} | {clock:.2f} | {cores:.2f} | {memory / 2**20:.0f} | {width} | {hours:.2f} |")
    sums, parquet = (statistics.median(run[1] for run in measured[name]) for name in ("whole, sums", "whole, parquet"))
    print(f"\nBeyond sums, Parquet takes {(parquet - sums) / count * 1e6:.2f} µs a row.")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    developers = int(sys.argv[2]) if len(sys.argv) > 2 else 40
    if len(sys.argv) > 3:
        main(sys.argv[1], developers, pathlib.Path(sys.argv[3]))
    else:
        with tempfile.TemporaryDirectory() as folder:
            main(sys.argv[1], developers, pathlib.Path(folder))
