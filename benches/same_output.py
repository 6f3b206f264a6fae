#!/usr/bin/env python3
"""Holds the outputs of two builds against each other: standard output, standard error, files and exit codes.

    benches/same_output.py OLD NEW [PATH…]             every byte
    benches/same_output.py OLD NEW --figures [PATH…]   figures, keys, codes and their order; sentences may differ

Every command runs in every format, at 80 columns with one job and at 120 with eight, over the given files and folders, or
over the fixtures and all sessions and captures of ../shared. Build both with `--features full`. Names each run
that differs, with the first lines that do, and ends with 1 if there is one. `--only WORD` runs the commands that contain a word.
"""

import argparse
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"

# Folders of ../shared whose files belong together, and those that hold a case in each file or folder.
WHOLE = ["corpus", "corpus-b", "corpus-c", "captures"]
CASES = ["agents", "cases/builders", "cases/newest-client", "cases/real", "cases/seeds", "cases/sessions", "cases/trust"]

FORMATS = {
    "analyze": ["table", "json", "jsonl", "csv", "markdown"],
    "compare": ["table", "json", "jsonl", "csv", "markdown"],
    "breaks": ["table", "json", "jsonl", "csv", "markdown"],
    "lint": ["text", "json", "sarif", "markdown"],
    "check": ["text", "json", "junit", "sarif", "comment", "summary", "report"],
    **{name: ["text", "json", "markdown"] for name in ["advise", "blocks", "context", "verify"]},
}
STRATEGIES = (
    "billed,replay,none,5m,1h,mixed,as-recorded,every-10,cheapest-layout,cheapest-pings,microcompact-60m,"
    "compact-100k,session-memory-100k,forked-agents,sessions-apart,tools-sorted,stable-first,optimal"
)
CHARTS = ["turns", "breaks", "gaps", "cost", "context", "waterfall"]

# `{}` is the input, `{file}` one transcript of it, `{out}` a folder for what is written.
OVER_REQUESTS = [
    *([name, "{}", "--format", form] for name, forms in FORMATS.items() for form in forms),
    ["analyze", "{}", "--by", "project,model"],
    ["analyze", "{}", "--turns", "all"],
    ["analyze", "{}", "--strategy", STRATEGIES],
    ["compare", "{}", "--strategy", STRATEGIES, "--format", "json"],
    ["compare", "{}", "--provider", "openai,openai-5.6,deepseek,gemini,qwen-explicit"],
    ["explain", "{file}:2", "{}", "--format", "text"],
    ["explain", "{file}:2", "{}", "--format", "json"],
    ["report", "{}", "-o", "{out}/report.html"],
    *(["chart", kind, "{}", "-o", "{out}/chart.svg"] for kind in CHARTS),
    ["redact", "{}", "-o", "{out}/redacted"],
    ["watch", "{}", "--once"],
    ["fleet", "domains", "{}"],
    ["fleet", "part", "{}", "--gather", "{out}/gathered", "--export", "requests={out}/requests.parquet"],
    ["tokens", "{file}", "--json"],
    ["place", "{file}"],
    ["init", "{}", "--dry-run"],
]
# Commands that take an event of the client as JSON on standard input.
ON_EVENTS = [["statusline"], ["hook"]]
ALONE = [
    ["--help"],
    ["sources"],
    ["sources", "--json"],
    ["strategies"],
    ["strategies", "--json"],
    ["prices", "list", "--json"],
    ["prices", "show", "claude-opus-4-6"],
    ["config", "show"],
    ["fork", "--prefix", "80k", "--children", "6", "--json"],
    ["schema", "report"],
    ["completions", "bash"],
    ["man"],
]
# Commands that do their work in one thread.
WITHOUT_JOBS = {"watch", "tokens", "place", "statusline", "hook", "init"}


def inputs():
    """The inputs if none are given."""
    yield from sorted(path for path in (ROOT / "fixtures").iterdir() if path.is_dir())
    yield from (SHARED / name for name in WHOLE if (SHARED / name).exists())
    for folder in (SHARED / name for name in CASES if (SHARED / name).exists()):
        yield from sorted(path for path in folder.iterdir() if path.is_dir() or path.suffix == ".jsonl")


def transcript(path):
    """The first transcript of an input."""
    return path if path.is_file() else min(path.rglob("*.jsonl"), default=None)


def runs(paths, word):
    """All runs: a command, its input, its columns and its jobs."""
    for path, (columns, jobs) in itertools.product([None, *paths], [("80", "1"), ("120", "8")]):
        file = path and transcript(path)
        for command in ALONE if path is None else [*OVER_REQUESTS, *ON_EVENTS]:
            needs_file = "{file}" in " ".join(command) or command in ON_EVENTS
            if word in " ".join(command) and not (needs_file and path and not file):
                is_alone = path is None or command[0] in WITHOUT_JOBS
                yield command, path, columns, None if is_alone else jobs


def run(binary, case):
    """What a run prints and writes, and how it ends."""
    command, path, columns, jobs = case
    with tempfile.TemporaryDirectory() as folder:
        event = {"session_id": "s", "hook_event_name": "UserPromptSubmit", "cwd": folder, "prompt": "p"}
        event["transcript_path"] = str(path and transcript(path))
        filled = [one.replace("{}", str(path)).replace("{out}", folder) for one in command]
        filled = [one.replace("{file}", str(path and transcript(path))) for one in filled]
        environment = {"CACHESIM_NO_CONFIG": "1", "HOME": folder, "COLUMNS": columns, "PATH": os.environ["PATH"]}
        result = subprocess.run(
            [binary, *filled, *(["--jobs", jobs] if jobs else [])],
            capture_output=True,
            env=environment,
            input=json.dumps(event).encode() if command in ON_EVENTS else b"",
            check=False,
        )
        outputs = {"standard output": result.stdout, "standard error": result.stderr}
        for file in sorted(one for one in Path(folder).rglob("*") if one.is_file()):
            outputs[str(file.relative_to(folder))] = file.read_bytes()
        # A program says its own name in errors of usage.
        own = os.path.basename(binary).encode()
        outputs = {name: text.replace(folder.encode(), b"").replace(own, b"cachesim") for name, text in outputs.items()}
        outputs = {name: NOW.sub(b"now", text) for name, text in outputs.items()}
        return {"exit code": str(result.returncode).encode(), **outputs}


# Moments of today, which no input has.
NOW = re.compile(datetime.now(timezone.utc).strftime("%Y-%m-%d[T ][0-9:.]+").encode())
FIGURE = re.compile(r"[-+]?\$?\d[\d,.:]*%?|\bunknown\b")
# A string of JSON without white space is a key, a code, a date or a name; others are sentences.
SENTENCE = re.compile(r"\s")


def figures(text):
    """Lines of an output without its sentences: JSON by its values, anything else by its figures in their order."""
    text = text.decode(errors="replace")
    lines = []
    for line in [text] if text.startswith("{\n") else text.splitlines():
        try:
            lines.append(json.dumps(without_sentences(json.loads(line))))
        except ValueError:
            lines.append(" ".join(FIGURE.findall(line)))
    # Words wrap elsewhere when they change.
    return " ".join(line for line in lines if line)


def without_sentences(value):
    if isinstance(value, dict):
        return {key: without_sentences(one) for key, one in value.items()}
    if isinstance(value, list):
        return [without_sentences(one) for one in value]
    return FIGURE.findall(value) if isinstance(value, str) and SENTENCE.search(value) else value


def difference(old, new):
    """The beginning of the first difference of two texts."""
    at = next((at for at, (one, other) in enumerate(zip(old, new)) if one != other), min(len(old), len(new)))
    begin = max(at - 40, 0)
    return f"{old[begin:at + 80]!r}\n    {new[begin:at + 80]!r}"


def compare(old, new, case, only_figures):
    """The run and its first difference, if the builds differ in it."""
    before, after = run(old, case), run(new, case)
    for name in {**before, **after}:
        one, other = before.get(name, b""), after.get(name, b"")
        if only_figures:
            one, other = figures(one), figures(other)
        if one != other or (name in before) != (name in after):
            command, path, columns, jobs = case
            over = f" over {os.path.relpath(path)}" if path else ""
            return f"differs: {' '.join(command)}{over}, {columns} columns, jobs {jobs}: {name}\n    {difference(one, other)}"
    return None


def main():
    """Compares, and says what differs."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("old")
    arguments.add_argument("new")
    arguments.add_argument("paths", nargs="*", type=Path)
    arguments.add_argument("--figures", action="store_true")
    arguments.add_argument("--only", default="", metavar="WORD")
    given = arguments.parse_args()
    cases = list(runs([path.resolve() for path in given.paths] or list(inputs()), given.only))
    differing = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for one in pool.map(lambda case: compare(given.old, given.new, case, given.figures), cases):
            if one:
                differing += 1
                print(one, flush=True)
    print(f"{len(cases)} runs of each build, {differing} differ")
    sys.exit(1 if differing else 0)


if __name__ == "__main__":
    main()
