#!/usr/bin/env python3
"""Makes the pages that follow from the program: every command's help, and every field of the machine formats.

    python3 docs/generate.py BINARY [FOLDER]

They are written into FOLDER, docs/ if none is given, as commands.md and formats.md. Run it after a change of the
command line or of a format; a test compares what it writes with what is there.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parent
# Of more words than these the schema has the list.
MOST_WORDS = 4
COMMANDS = """# Commands

Every command and option, as `cachesim COMMAND --help` prints them. `cachesim COMMAND -h` prints them in brief, and
`cachesim man COMMAND` as a manual page.
"""
FORMATS = """# Machine formats

Each format has a name and a version, `cachesim.report/v1`. Within a version fields and words may be added; none is
removed, renamed or given another meaning. Money is an exact decimal in a string, and never a float.
`cachesim schema NAME` prints the JSON schema of a format, with every field at every depth. This page lists the fields
of the outermost object.
"""


def output(binary, *arguments):
    """What the program prints."""
    run = subprocess.run(
        [binary, *arguments], env={"COLUMNS": "80", "PATH": os.environ["PATH"]}, check=True, capture_output=True, text=True
    )
    return run.stdout


def subcommands(help_text):
    """The commands that a help lists, without the help itself."""
    list_, _, _ = help_text.partition("\nOptions:\n")
    lines = list_.splitlines()
    names = [line.split()[0] for line in lines if line.startswith("  ") and not line.startswith("   ")]
    return [name for name in names if name.isalpha() and name != "help"]


def command_pages(binary, words=()):
    """The help of a command, and of those below it."""
    text = output(binary, *words, "--help")
    title = " ".join(["cachesim", *words])
    lines = "\n".join(line.rstrip() for line in text.rstrip().splitlines())
    yield f"## {title}\n\n```text\n{lines}\n```\n"
    for name in subcommands(text):
        yield from command_pages(binary, [*words, name])


def kind(field, schema):
    """What a field holds, in a word or two."""
    if "$ref" in field:
        name = field["$ref"].rsplit("/", 1)[-1]
        return kind(schema["$defs"][name], schema)
    if "const" in field:
        return f"`{field['const']}`"
    for choice in ("anyOf", "oneOf"):
        if choice in field:
            kinds = {kind(one, schema) for one in field[choice]}
            if len(kinds) > MOST_WORDS:
                return "word"
            return " or ".join(sorted(kinds - {"null"})) + (" or null" if "null" in kinds else "")
    if "enum" in field:
        return "word"
    names = field.get("type", "any value")
    names = names if isinstance(names, list) else [names]
    names = [field["format"] if name == "string" and "format" in field else name for name in names]
    return " or ".join({"array": "list", "string": "text"}.get(name, name) for name in names)


def cell(text):
    """A text as a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def rows(schema):
    """The fields of an object: name, kind, meaning."""
    needed = schema.get("required", [])
    for name, field in schema.get("properties", {}).items():
        optional = "" if name in needed else ", optional"
        yield f"| `{name}` | {cell(kind(field, schema))}{optional} | {cell(field.get('description', ''))} |"


def objects(schema):
    """The objects that a document of a format may be."""
    if "properties" in schema:
        return [schema]
    parts = [part for choice in ("anyOf", "oneOf") for part in schema.get(choice, [])]
    named = [schema["$defs"][part["$ref"].rsplit("/", 1)[-1]] if "$ref" in part else part for part in parts]
    return [{**part, "$defs": schema.get("$defs", {})} for part in named if "properties" in part]


def format_page(path):
    """The section of a format."""
    schema = json.loads(path.read_text())
    yield f"## {path.name.removesuffix('.schema.json')}\n"
    yield f"{cell(schema.get('description', ''))}\n"
    for one in objects(schema):
        yield "| field | holds | what it is |\n| --- | --- | --- |"
        yield "\n".join(rows(one)) + "\n"


def main():
    binary = str(Path(sys.argv[1]).resolve())
    folder = Path(sys.argv[2]) if len(sys.argv) > 2 else DOCS
    commands = [COMMANDS, *command_pages(binary)]
    (folder / "commands.md").write_text("\n".join(commands))
    formats = [FORMATS]
    for path in sorted((DOCS.parent / "schemas").glob("*.schema.json")):
        formats += format_page(path)
    (folder / "formats.md").write_text("\n".join(formats))


if __name__ == "__main__":
    main()
