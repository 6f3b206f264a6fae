#!/usr/bin/env python3
"""Make first inputs for the fuzz targets out of the fixtures, the strategies and the price files.

    fuzz/make_seeds.py FOLDER

Writes FOLDER/TARGET/NAME. `fuzz/run --minimise` keeps of them, and of what was found since, the
smallest inputs that reach everything, in `fuzz/seeds`.
"""

import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MOST_BYTES = 6_000

EXPRESSIONS = [
    "mine.cost > billed.cost * 1.05",
    "a.cost > 0 and b.cost / a.cost > 2 or not c.hit_rate < 90%",
    "\"of my own\".cost == $1.50 + -2 - (3 * 4)",
    "pinged[ttl=5m,keepalive.every=4m30s].written_tokens >= 25%",
    "not not (x.cost != 1)",
    "a-b.cost <= c.requests",
    "x.gap < 1 < 2",
    "1 > 0.0000000000000000000000000001",
    "",
]
CONFIGURATION = """schema = "cachesim.config/v1"
[defaults]
paths = ["sessions/", "~/x"]
strategy = ["billed", "mine.toml"]
shared_prefix = "auto"
ttl_grace = 2
strict_prices = true
jobs = 2
[check]
baseline = "baseline.json"
"""
BUDGETS = [
    'metric = "cost_per_session"\nmax = "0.80 USD"\nmodel = "claude-opus-*"\nmessage = "Ask."\n',
    'metric = "cost"\nmax_increase = "5 %"\nproject = "{shop,bank}/**"\n',
    'name = "surprises"\nmetric = "breaks"\nmax_increase = 0\ncauses = ["unexpected"]\nlevel = "warn"\n',
    'metric = "hit_rate"\nmin = "90 %"\nstrategy = "5m"\nsession = "a?"\nfiles = "[ab]*"\n',
    'metric = "lint"\nmax = 3\nrules = ["all"]\n',
]
LITELLM = {
    "some-model": {
        "litellm_provider": "anthropic",
        "mode": "chat",
        "input_cost_per_token": 3e-06,
        "output_cost_per_token": 1.5e-05,
        "cache_creation_input_token_cost": 3.75e-06,
        "cache_read_input_token_cost": 3e-07,
        "input_cost_per_token_above_200k_tokens": 6e-06,
    },
    "deepseek-v4-pro": {
        "input_cost_per_token": 1.3e-06,
        "output_cost_per_token": 4e-06,
        "input_cost_per_token_flex": 6.5e-07,
        "output_cost_per_token_flex": 2e-06,
        "off_peak_pricing": {
            "input_cost_per_token": 6e-07,
            "output_cost_per_token": 2e-06,
            "windows": [{"hours_utc": ["22:00-02:00"], "weekdays": [5, 6]}],
        },
    },
}

GENAI = [
    {
        "id": "openai",
        "models": [
            {
                "id": "gpt-5.5",
                "prices": [
                    {"prices": {"input_mtok": {"base": 4, "tiers": [{"start": 9, "price": 8}]}, "output_mtok": 9}},
                    {"constraint": {"start_date": "2026-12-01"}, "prices": {"input_mtok": 3, "output_mtok": 9}},
                    {
                        "constraint": {"start_time": "01:00:00Z", "end_time": "04:00:00Z"},
                        "prices": {"input_mtok": 2, "output_mtok": 9},
                    },
                ],
                "price_variants": [{"when": {"service_tier": "flex"}, "prices": {"input_mtok": 2, "output_mtok": 5}}],
            }
        ],
    }
]


def fixtures():
    """The bytes of every input of a fixture."""
    for path in sorted((ROOT / "fixtures").rglob("*.jsonl")):
        yield path.relative_to(ROOT / "fixtures").as_posix(), path.read_bytes()


def lines_up_to(data, most):
    """The first lines that have no more bytes than this together."""
    kept, size = [], 0
    for line in data.split(b"\n"):
        size += len(line) + 1
        if size > most:
            break
        kept.append(line)
    return b"\n".join(kept)


def sessions():
    """Beginnings of the fixtures, with whether they hold captured requests."""
    for _, data in fixtures():
        captured = re.search(rb'^\{"(request|prompt|timestamp":"[^"]*","request)', data, re.M)
        beginning = lines_up_to(data, MOST_BYTES)
        if beginning.strip():
            yield bool(captured) or b'"request":' in data, beginning


def rollout():
    """An invented session of another agent."""
    usage = {"input_tokens": 20000, "cached_input_tokens": 9088, "output_tokens": 300, "reasoning_output_tokens": 100}
    lines = [
        ("turn_context", {"model": "gpt-5.5", "cwd": "/work"}),
        ("event_msg", {"type": "task_started"}),
        ("event_msg", {"type": "user_message", "message": "x"}),
        ("response_item", {"type": "reasoning"}),
        ("response_item", {"type": "function_call_output", "output": "x"}),
        ("event_msg", {"type": "token_count", "info": {"total_token_usage": usage, "last_token_usage": usage}}),
        ("compacted", {"message": ""}),
        ("response_item", {"type": "message", "role": "assistant"}),
        ("event_msg", {"type": "token_count", "info": {"total_token_usage": {"input_tokens": 5}, "last_token_usage": usage}}),
    ]
    for number, (kind, payload) in enumerate(lines):
        time = f"2026-10-01T00:00:{number:02}Z"
        yield json.dumps({"timestamp": time, "type": kind, "payload": payload}, separators=(",", ":"))


def reports():
    """Reports that the program saves, where it is built, and findings that it can be told to accept."""
    program = ROOT / "target" / "debug" / "cachesim"
    program = Path(os.environ.get("CACHESIM", program))
    if not program.exists():
        sys.exit(f"there is no {program}: build it, or name another in CACHESIM")
    for name in ["expiry-5m", "captured-forks", "first-look", "unsorted-tools"]:
        for command in [["check", "--format", "report"], ["lint", "--format", "json"]]:
            folder = ROOT / "fixtures" / name
            environment = {"CACHESIM_NO_CONFIG": "1"}
            result = subprocess.run([program, *command, folder], capture_output=True, env=environment, check=False)
            if result.stdout:
                yield json.dumps(json.loads(result.stdout), separators=(",", ":")).encode()


def blocks(text):
    """The tables of a TOML file, each with what stands before the first."""
    head, *tables = re.split(r"(?m)^(?=\[\[)", re.sub(r"(?m)^#.*\n", "", text))
    return [head + table for table in tables]


def seeds():
    """Each target with an input."""
    for _, data in fixtures():
        for line in data.split(b"\n"):
            if 0 < len(line) < 700:
                yield "line", line
    for is_captured, data in sessions():
        yield ("capture" if is_captured else "transcript"), data
        yield "chain", data
        yield "parallel", bytes([len(data) % 4]) + data
    lines = list(rollout())
    for end in (3, 6, len(lines)):
        yield "agent", b"\0" + "\n".join(lines[:end]).encode()
    for text in EXPRESSIONS:
        yield "expression", text.encode()
    yield "budget", CONFIGURATION.encode()
    for budget in BUDGETS:
        yield "budget", f"[[budget]]\n{budget}".encode()
    for path in (ROOT / "strategies").glob("*.toml"):
        for block in blocks(path.read_text()):
            yield "strategy", block.encode()
    for path in (ROOT / "fixtures").rglob("*.toml"):
        if path.name not in ("expected.toml",):
            yield "strategy", path.read_bytes()
    for path in (ROOT / "models").glob("*.toml"):
        for block in blocks(path.read_text()):
            yield "prices", block.encode()
    yield "prices", json.dumps(LITELLM).encode()
    yield "prices", json.dumps(GENAI).encode()
    for data in reports():
        yield "baseline", data
    for number in range(24):
        noise = b"".join(hashlib.sha256(bytes([number, part])).digest() for part in range(24))
        yield "redact", noise
        yield "simulator", noise


def main():
    """Writes them."""
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for target, data in seeds():
        folder = Path(sys.argv[1]) / target
        folder.mkdir(parents=True, exist_ok=True)
        (folder / hashlib.sha1(data).hexdigest()[:16]).write_bytes(data)


if __name__ == "__main__":
    main()
