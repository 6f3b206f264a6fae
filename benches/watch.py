#!/usr/bin/env python3
"""Measures what `cachesim watch` takes of a core with many open sessions.

    python3 benches/watch.py BINARY [SECONDS]

Two hundred sessions are made of those of ../shared/corpus, each without its last 400 lines. They are watched while none grows,
and while five and twenty of them grow by five lines every five seconds. Prints the processor time as a share of a core, the
peak of the memory, and how many events were told.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SHARED = Path(__file__).resolve().parent.parent.parent / "shared"
SESSIONS = 200
LEAST = 300_000
LEFT = 400
TURN = 5
EVERY = 5.0
BEGINS = 6.0
TICKS = os.sysconf("SC_CLK_TCK")


def sessions(folder):
    """Files in folders of their own, each with the lines that it does not have yet."""
    files = sorted((SHARED / "corpus").rglob("*.jsonl"))
    files = [path for path in files if path.stat().st_size > LEAST]
    for number in range(SESSIONS):
        lines = files[number % len(files)].read_bytes().splitlines(keepends=True)
        cut = max(1, len(lines) - LEFT)
        path = folder / str(number) / files[number % len(files)].name
        path.parent.mkdir()
        path.write_bytes(b"".join(lines[:cut]))
        yield path, lines[cut:]


def processor(pid):
    """The seconds of processor time that a process took."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def peak(pid):
    """The most memory that it had, in MiB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    (line,) = [line for line in lines if line.startswith("VmHWM")]
    return int(line.split()[1]) / 1024


def watch(binary, growing, seconds):
    with tempfile.TemporaryDirectory() as folder:
        files = list(sessions(Path(folder)))
        size = sum(path.stat().st_size for path, _ in files) / 1e6
        with open(Path(folder) / "told", "w+") as told:
            child = subprocess.Popen([binary, "watch", folder, "--jsonl"], stdout=told)
            time.sleep(BEGINS)
            before, began, turns = processor(child.pid), time.monotonic(), 0
            while time.monotonic() - began < seconds:
                for path, rest in files[:growing]:
                    turn = rest[turns * TURN : (turns + 1) * TURN]
                    with open(path, "ab") as file:
                        file.writelines(turn)
                turns += 1
                time.sleep(EVERY)
            share = (processor(child.pid) - before) / (time.monotonic() - began)
            memory = peak(child.pid)
            child.send_signal(signal.SIGTERM)
            child.wait()
            told.seek(0)
            events = sum(1 for _ in told)
    print(
        f"{SESSIONS} sessions ({size:.0f} MB), {growing} of them growing: "
        f"{share:.2%} of a core, {memory:.0f} MiB, {events} events"
    )


def main():
    binary = sys.argv[1]
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 30.0
    if not (SHARED / "corpus").is_dir():
        print("skipped: it needs ../shared")
        return
    for growing in (0, 5, 20):
        watch(binary, growing, seconds)


main()
