#!/usr/bin/env python3
"""Times every command over sessions on hostile shapes, each at 1, 2, 4 and 8 times its size.

    benches/shapes.py BINARY [--shape NAME]… [--command NAME]… [--base N] [--runs N]
    benches/shapes.py --write FOLDER [--shape NAME]… [--base N]

The first prints a Markdown table: the user seconds (least of the runs) and peak memory of the largest
size, and the exponents of both: the slope of log time and log memory over log size between the two
largest sizes. An exponent of time is printed in bold above 1.2, where the time is long enough to tell.
The second writes the files, FOLDER/SHAPE/FACTOR/…, the same bytes every time, and FOLDER/cases.json
with the command lines, for `tests/growth.rs`. A shape of twice the size has twice the elements and twice the
bytes.
"""

import argparse
import datetime
import json
import math
import os
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

FACTORS = [1, 2, 4, 8]
BASE = 500
START = datetime.datetime(2026, 8, 3)
SESSION = "55555555-0000-4000-8000-000000000001"
MODEL = "claude-opus-4-5-20251101"
MARK = {"type": "ephemeral"}
STRATEGIES = (
    "billed,replay,none,5m,1h,mixed,as-recorded,every-10,cheapest-layout,cheapest-pings,microcompact-60m,"
    "compact-100k,forked-agents,sessions-apart,optimal"
)
# Designs of what captures hold.
DESIGNS = "replay,tools-sorted,static-first,stable-first,stable-attribution,latched-settings,latched-ttl,deferred-tools"
# The longest time from which an exponent follows, in seconds: below it the start counts for more.
SHORTEST = 0.05


def moment(seconds):
    return f"{(START + datetime.timedelta(seconds=seconds)).isoformat()}.000Z"


def jsonl(values):
    return "".join(json.dumps(value, separators=(",", ":")) + "\n" for value in values)


def uuid(number):
    return f"00000000-0000-4000-8000-{number:012x}"


# Transcripts: a request is a question and its answer. `parent` gives the request before, by number.


def turn(number, parent, seconds, prefix=0, agent=None, text="go on", call=None):
    """The two lines of a request."""
    common = {
        "isSidechain": agent is not None,
        "cwd": "/w/demo",
        "sessionId": SESSION,
        "version": "2.1.219",
        **({"agentId": agent} if agent else {}),
    }
    question, answer = prefix + 2 * number, prefix + 2 * number + 1
    usage = {
        "input_tokens": 2,
        "cache_read_input_tokens": 20_000 + 10 * number,
        "cache_creation_input_tokens": 150,
        "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 150},
        "output_tokens": 60,
    }
    content = [{"type": "tool_use", "id": f"toolu_{answer}", "name": "Read", "input": call or {}}]
    return [
        common
        | {"parentUuid": parent, "type": "user", "uuid": uuid(question), "timestamp": moment(seconds)}
        | {"message": {"role": "user", "content": text}},
        common
        | {"parentUuid": uuid(question), "type": "assistant", "uuid": uuid(answer), "requestId": f"req_{answer}"}
        | {"timestamp": moment(seconds + 2)}
        | {
            "message": {
                "id": f"msg_{answer}",
                "type": "message",
                "role": "assistant",
                "model": MODEL,
                "content": content,
                "stop_reason": "tool_use",
                "usage": usage,
            }
        },
    ]


def conversation(count, before, pause=lambda number: 20, **more):
    """Requests, each after the one that `before` gives by number."""
    lines, seconds, prefix = [], 0, more.get("prefix", 0)
    for number in range(count):
        seconds += pause(number)
        parent = before(number)
        lines += turn(number, None if parent is None else uuid(prefix + 2 * parent + 1), seconds, **more)
    return {"session.jsonl": jsonl(lines)}


def straight(number):
    return number - 1 if number else None


def chain(count):
    """A conversation."""
    return conversation(count, straight)


def star(count):
    """All requests follow the first."""
    return conversation(count, lambda number: 0 if number else None)


def cycle(count):
    """The parents run in a circle."""
    return conversation(count, lambda number: (number + 1) % count)


def gaps(count):
    """Pauses beyond five minutes and beyond an hour."""
    return conversation(count, straight, lambda number: [20, 400, 20, 4_000][number % 4])


def rewinds(count):
    """Each request goes back to the one at half its number."""
    return conversation(count, lambda number: number // 2 if number else None)


def comb(count):
    """After every request one that leads nowhere."""
    return conversation(count, lambda number: max(0, (number - 1) // 2 * 2) if number else None)


def files(count):
    """Sessions of two requests, a file each."""
    written = {}
    for number in range(count // 2):
        lines = turn(0, None, 100 * number, prefix=4 * number)
        lines += turn(1, lines[1]["uuid"], 100 * number + 20, prefix=4 * number)
        session = uuid(number)
        written[f"{session}.jsonl"] = jsonl(line | {"sessionId": session} for line in lines)
    return written


def agents(count):
    """A session with sub-agents, a file and a request each."""
    written = conversation(4, straight)
    for number in range(count):
        lines = turn(0, None, 10 * number, prefix=1_000 + 2 * number, agent=f"a{number}")
        written[f"session/subagents/agent-a{number}.jsonl"] = jsonl(lines)
    return written


def nested(depth, inner):
    for _ in range(depth):
        inner = {"a": [inner]}
    return inner


def depth(count):
    """A call's input that is nested."""
    call = "[" * (20 * count) + "]" * (20 * count)
    written = conversation(4, straight)
    return {name: text.replace('"input":{}', f'"input":{call}', 1) for name, text in written.items()}


def text(count):
    """One question that is long, with escapes."""
    return conversation(4, straight, text="a line of \"text\"\n" * (20 * count))


# Captures: two requests, one after the other, of one session. What differs comes last, so that all is compared.


def capture(*bodies):
    first = {"model": MODEL, "max_tokens": 1_024}
    lines = [
        {"timestamp": moment(20 * number), "request_id": f"req_{number}", "session_id": SESSION}
        | {"request": first | body}
        for number, body in enumerate(bodies)
    ]
    return {"session.jsonl": jsonl(lines)}


def block(words, **more):
    return {"type": "text", "text": words, **more}


def ask(*content):
    return {"messages": [{"role": "user", "content": list(content)}]}


def markers(count):
    """Marked blocks, too many."""
    blocks = [block(f"block {number}", cache_control=MARK) for number in range(count)]
    return capture(ask(*blocks), ask(*blocks, block("more")))


def messages(count):
    """Short messages, of which the second request changed the middle one."""
    def body(middle):
        roles = ["user", "assistant"]
        words = [f"message {number}" for number in range(count)]
        words[count // 2] = middle
        said = [{"role": roles[number % 2], "content": one} for number, one in enumerate(words)]
        said[-1]["content"] = [block(words[-1], cache_control=MARK)]
        return {"messages": said}

    return capture(body("it was"), body("it is"))


def system(count):
    """Blocks of the system prompt, all of which changed."""
    def body(minute):
        blocks = [block(f"rule {number} at 10:{minute:02}:00") for number in range(count)]
        blocks[-1] |= {"cache_control": MARK}
        return {"system": blocks} | ask(block("go"))

    return capture(body(1), body(2))


def paragraphs(count):
    """One block of the system prompt with paragraphs, of which every other changed."""
    def body(word):
        words = [f"paragraph {number} {word if number % 2 else ''}" for number in range(count)]
        return {"system": [block("\n\n".join(words), cache_control=MARK)]} | ask(block("go"))

    return capture(body("then"), body("now"))


def tool(number, keys=None):
    keys = keys or {"path": {"type": "string"}}
    schema = {"type": "object", "properties": keys}
    return {"name": f"tool_{number}", "description": "It works.", "input_schema": schema}


def tools(count):
    """Tools, in turned order, of which the last one is another."""
    some = [tool(number) for number in range(count)]
    question = ask(block("go", cache_control=MARK))
    return capture({"tools": some} | question, {"tools": [*some[:0:-1], tool(count)]} | question)


def keys(count):
    """Keys of a tool's schema, of which the last one changed."""
    def body(kind):
        schema = {f"key_{number}": {"type": "string"} for number in range(count)}
        schema[f"key_{count - 1}"] = {"type": kind}
        return {"tools": [tool(0, schema)]} | ask(block("go", cache_control=MARK))

    return capture(body("string"), body("number"))


def fields(count):
    """Other fields of the body, all of which changed."""
    def body(value):
        return {f"field_{number}": value for number in range(count)} | ask(block("go", cache_control=MARK))

    return capture(body(1), body(2))


def edits(count):
    """Results that are deleted on the server, and half of them back."""
    def body(deleted):
        said = [{"role": "user", "content": [block("go")]}]
        calls = [{"type": "tool_use", "id": f"t{number}", "name": "Read", "input": {}} for number in range(count)]
        results = [
            {"type": "tool_result", "tool_use_id": f"t{number}", "content": "x", "cache_reference": f"t{number}"}
            for number in range(count)
        ]
        dropped = [{"type": "delete", "cache_reference": f"t{number}"} for number in range(deleted)]
        last = [*results, {"type": "cache_edits", "edits": dropped}, block("on", cache_control=MARK)]
        return {"messages": [*said, {"role": "assistant", "content": calls}, {"role": "user", "content": last}]}

    return capture(body(count), body(count // 2))


def blocks(count):
    """Blocks of one message, 64,000 at the largest size."""
    some = [block(f"block {number}") for number in range(16 * count)]
    return capture(ask(*some, block("go", cache_control=MARK)), ask(*some, block("go"), block("on", cache_control=MARK)))


def users(count):
    """Sessions of 40 users, 500 of each at the largest size, with the user in front of what all share."""
    lines = []
    for number in range(40 * (count // 8)):
        user = f"The user is u{number % 40}.\n" + "Keep to the rules of the house. " * 70
        body = {"model": MODEL, "max_tokens": 1_024, "system": [block(user, cache_control=MARK)]}
        named = {"request_id": f"req_{number}", "session_id": f"s{number}"}
        lines.append({"timestamp": moment(number), **named, "request": body | ask(block(f"question {number}"))})
    return {"session.jsonl": jsonl(lines)}


def schema_depth(count):
    """A tool whose schema is nested."""
    deep = "[" * (20 * count) + "]" * (20 * count)
    question = ask(block("go", cache_control=MARK))
    written = capture({"tools": [tool(0)]} | question, {"tools": [tool(1)]} | question)
    return {name: text.replace('"string"', deep) for name, text in written.items()}


def bundle(count):
    """A harness's bundle with sections, tools and messages."""
    prompt = {
        "model": MODEL,
        "system": [f"section {number}" for number in range(count)],
        "tools": [tool(number) for number in range(count)],
        "messages": [
            {"role": ["user", "assistant"][number % 2], "content": f"message {number}"} for number in range(count | 1)
        ],
    }
    lines = [
        {"timestamp": moment(20 * number), "session_id": SESSION, "request_id": f"r{number}", "prompt": prompt}
        for number in range(2)
    ]
    return {"session.jsonl": jsonl(lines)}


TRANSCRIPTS = [chain, star, cycle, gaps, rewinds, comb, files, agents, depth, text]
CAPTURES = [markers, messages, system, paragraphs, tools, keys, fields, edits, schema_depth, blocks, users]
SHAPES = {shape.__name__.replace("_", "-"): shape for shape in [*TRANSCRIPTS, *CAPTURES, bundle]}
REQUESTS = {shape: "req_1" for shape in SHAPES} | {"files": f"{uuid(1)}:1", "bundle": "r1"}


def commands(shape):
    """The commands over sessions, by name, without their input."""
    several = {
        "analyze": ["analyze"],
        "breaks": ["breaks"],
        "compare": ["compare", "--strategy", STRATEGIES],
        "context": ["context"],
        "blocks": ["blocks"],
        "part": ["fleet", "part", "--domain", "all"],
        "advise": ["advise"],
        "report": ["report"],
        "verify": ["verify"],
        "check": ["check"],
        "lint": ["lint"],
        "chart": ["chart", "turns"],
        "explain": ["explain", REQUESTS[shape]],
        "redact": ["redact"],
    }
    if SHAPES[shape] not in TRANSCRIPTS:
        several["designs"] = ["compare", "--strategy", DESIGNS]
    if shape == "bundle":
        several["place"] = ["place"]
    return several


def write(folder, shapes, base):
    """Writes the files, and returns their folders by shape."""
    written = {}
    for name in shapes:
        for factor in FACTORS:
            place = folder / name / str(factor)
            written.setdefault(name, []).append(place)
            for path, content in SHAPES[name](base * factor).items():
                (place / path).parent.mkdir(parents=True, exist_ok=True)
                (place / path).write_text(content)
    return written


def arguments(command, path, output):
    """A command line, without the program. `redact` and `fleet part` write a folder, all others a file."""
    jobs = [] if command[0] in ("redact", "place") else ["--jobs", "1"]
    out = {"chart": ["-q", "-o", f"{output}/out.svg"], "fleet": ["--root", str(path), "--out", f"{output}/out"]}
    return [*command, str(path), *jobs, *out.get(command[0], ["-q", "-o", f"{output}/out"])]


def measure(binary, command, path, runs):
    """User seconds and peak memory in MiB, least of some runs, and the exit code."""
    best = (math.inf, math.inf)
    for _ in range(runs):
        with tempfile.TemporaryDirectory() as folder:
            child = os.posix_spawn(
                binary,
                [binary, *arguments(command, path, folder)],
                {"CACHESIM_NO_CONFIG": "1", "HOME": "/nonexistent"},
                file_actions=[(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_WRONLY, 0) for stream in (1, 2)],
            )
            _, status, usage = os.wait4(child, 0)
        best = min(best[0], usage.ru_utime), min(best[1], usage.ru_maxrss / 1024)
    return *best, os.waitstatus_to_exitcode(status)


def write_cases(folder, written):
    """Writes the command lines of all shapes, with one for each factor; OUT stands for a folder."""
    cases = [
        {"shape": shape, "command": name, "runs": [arguments(command, place, "OUT") for place in places]}
        for shape, places in written.items()
        for name, command in commands(shape).items()
    ]
    (folder / "cases.json").write_text(json.dumps(cases))


def exponent(values):
    """The slope of a logarithm over the logarithm of the size, between the two largest."""
    return math.log2(max(values[-1], 1e-9) / max(values[-2], 1e-9))


def bench(options):
    """Prints the table."""
    print(f"{options.base * FACTORS[-1]} elements; exponents between half of them and all\n")
    print("| shape | command | user s | exponent | peak MiB | exponent | exit |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as folder:
        # What a process has held counts for its children's peaks, so that another one writes the files.
        with ProcessPoolExecutor(1) as writer:
            written = writer.submit(write, Path(folder), options.shape or SHAPES, options.base).result()
        for shape, places in written.items():
            for name, command in commands(shape).items():
                if options.command and name not in options.command:
                    continue
                measured = [measure(options.binary, command, place, options.runs) for place in places]
                seconds, peaks, codes = zip(*measured)
                slope = exponent(seconds)
                shown = "" if seconds[-1] < SHORTEST else f"{slope:.2f}"
                shown = f"**{shown}**" if shown and slope > 1.2 else shown
                print(
                    f"| {shape} | {name} | {seconds[-1]:.2f} | {shown} | {peaks[-1]:.0f} "
                    f"| {exponent(peaks):.2f} | {codes[-1]} |",
                    flush=True,
                )


def main():
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", nargs="?", help="the program to time")
    parser.add_argument("--write", type=Path, metavar="FOLDER")
    parser.add_argument("--shape", action="append", choices=SHAPES)
    parser.add_argument("--command", action="append")
    parser.add_argument("--base", type=int, default=BASE, help="elements at the smallest size [default: %(default)s]")
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    if options.write:
        write_cases(options.write, write(options.write, options.shape or SHAPES, options.base))
    elif options.binary:
        bench(options)
    else:
        parser.error("name a program, or --write a folder")


if __name__ == "__main__":
    main()
