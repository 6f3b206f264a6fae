#!/usr/bin/env python3
"""Measures a table of 100,000 rows: `rows.py BINARY [ROUNDS]`.

`analyze` of one session of 100,000 requests (`sessions.py long`, 140 MB), once with a row for each and once without rows, in
turn. Reading comes before either, so what the table adds before its first byte is the difference of the two. Prints medians.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LONG = Path(__file__).with_name("sessions.py")
ROUNDS = 5


def run(command: list[str]) -> tuple[float, float, float, int]:
    """Seconds to the first byte and to the end, MiB at the peak, and lines."""
    begin = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    first, lines = 0.0, 0
    while block := os.read(process.stdout.fileno(), 1 << 16):
        first = first or time.monotonic() - begin
        lines += block.count(b"\n")
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0, command
    return first, time.monotonic() - begin, usage.ru_maxrss / 1024, lines


def main() -> None:
    binary, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else ROUNDS
    with tempfile.TemporaryDirectory() as folder:
        session = Path(folder, "long.jsonl")
        subprocess.run([sys.executable, LONG, "long", session], check=True)
        base = [binary, "analyze", "--color", "never", str(session)]
        ways = {"all": [], "none": []}
        for _ in range(rounds):
            for turns, runs in ways.items():
                runs.append(run([*base, "--turns", turns]))
    medians = {turns: [statistics.median(each) for each in zip(*runs)] for turns, runs in ways.items()}
    print("| turns | first byte s | whole s | peak MiB | lines |\n| --- | ---: | ---: | ---: | ---: |")
    for turns, (first, whole, peak, lines) in medians.items():
        print(f"| {turns} | {first:.2f} | {whole:.2f} | {peak:.0f} | {lines:,.0f} |")
    added = medians["all"][0] - medians["none"][0]
    print(f"\nThe table's first byte comes {added:.2f} s after that of an answer without one.")


if __name__ == "__main__":
    main()
