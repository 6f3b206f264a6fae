#!/usr/bin/env python3
"""Times `cachesim statusline` and `cachesim hook` on a large session that grows by a turn.

    python3 benches/statusline.py BINARY [MEGABYTES]

The session is made of one of ../shared/corpus that is repeated, later and with other ids, until it is as large. Prints the wall
time and the peak memory of a first look, and of looks after a turn was added: the median and the slowest of twenty of each
command. A turn with a new break has the whole session read.
"""

import datetime
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SHARED = Path(__file__).resolve().parent.parent.parent / "shared"
LOOKS = 20
IDS = re.compile(rb'"(uuid|parentUuid|logicalParentUuid|requestId|id)":"([^"]{6,})"')
DAYS = re.compile(rb'"timestamp":"(\d{4}-\d\d-\d\d)T')
BETWEEN_ROUNDS = datetime.timedelta(days=3)


def later(day, rounds):
    """A day as many rounds later."""
    moved = datetime.date.fromisoformat(day.decode()) + rounds * BETWEEN_ROUNDS
    return moved.isoformat().encode()


def pieces():
    """The lines of a large session, again and again, each time later and with other ids."""
    files = sorted((SHARED / "corpus").rglob("*.jsonl"), key=lambda path: -path.stat().st_size)
    lines = [line for line in files[0].read_bytes().splitlines() if line]
    round_ = 0
    while True:
        for line in lines:
            line = IDS.sub(lambda found: b'"%s":"%s-%d"' % (*found.groups(), round_), line)
            moved = lambda found: b'"timestamp":"%sT' % later(found[1], round_)
            yield DAYS.sub(moved, line) + b"\n"
        round_ += 1


def look(binary, command, path, home):
    """The seconds and the kilobytes of one look, and what it prints."""
    event = json.dumps({"hook_event_name": "Stop", "transcript_path": str(path)})
    before = time.perf_counter()
    child = subprocess.Popen(
        [binary, command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={"HOME": home}
    )
    child.stdin.write(event.encode())
    child.stdin.close()
    line = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - before
    if status:
        sys.exit(f"{command} failed")
    return seconds, usage.ru_maxrss, line.decode().strip()


def grow(path, lines):
    """Adds a turn: lines up to the next answer."""
    with path.open("ab") as file:
        answered = False
        while not answered:
            added = next(lines)
            answered = b'"type":"assistant"' in added
            file.write(added)


def main():
    binary = sys.argv[1]
    size = int(sys.argv[2] if len(sys.argv) > 2 else 150) * 1_000_000
    with tempfile.TemporaryDirectory() as home:
        path = Path(home) / "session.jsonl"
        lines = pieces()
        with path.open("wb") as file:
            while file.tell() < size:
                file.write(next(lines))
        seconds, memory, line = look(binary, "statusline", path, home)
        print(f"{path.stat().st_size / 1e6:.0f} MB, a first look: {seconds * 1e3:.0f} ms, {memory / 1024:.0f} MiB")
        print(line)
        for command in ("statusline", "hook"):
            looks = []
            for _ in range(LOOKS):
                grow(path, lines)
                looks.append(look(binary, command, path, home))
            times = [seconds * 1e3 for seconds, _, _ in looks]
            memory = [memory / 1024 for _, memory, _ in looks]
            print(
                f"{command}: {LOOKS} looks, each after a turn: median {statistics.median(times):.1f} ms, "
                f"slowest {max(times):.1f} ms; median {statistics.median(memory):.0f} MiB, "
                f"most {max(memory):.0f} MiB"
            )
            print(looks[-1][2])


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    main()
