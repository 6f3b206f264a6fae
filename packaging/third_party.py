#!/usr/bin/env python3
"""Writes THIRD_PARTY.md anew: what stands above the mark stays, below it come the libraries that are linked.

    third_party.py [FILE]

They are those of Cargo.lock, for all platforms and with the feature `full`. Each has its licence, and the copyright lines of its
own files; the text of each licence stands once. Run it after Cargo.lock changed: a test compares.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
FILE = PROJECT / "THIRD_PARTY.md"
MARK = "## Libraries\n"
INTRODUCTION = """
`packaging/third_party.py` lists them: every library that is linked into the program, on some platform, with its licence and
the holders that its files name.

"""
NAMES = re.compile(r"(licen[cs]e|copying|notice|copyright)", re.IGNORECASE)
HOLDER = re.compile(r"^\W*(copyright\s+(?:\(c\)|©|\d{4}).*?)\W*$", re.IGNORECASE | re.MULTILINE)
# The first words of a licence's text, by which a file with it is known.
TEXTS = {
    "MIT": "Permission is hereby granted, free of charge, to any person obtaining",
    "Apache-2.0": "Apache License",
    "BSD-2-Clause": "Redistribution and use in source and binary forms",
    "BSD-3-Clause": "Redistribution and use in source and binary forms",
    "ISC": "Permission to use, copy, modify, and/or distribute this software",
    "Zlib": "This software is provided 'as-is'",
    "Unicode-3.0": "UNICODE LICENSE V3",
    "CC0-1.0": "Creative Commons Legal Code",
    "MIT-0": "Permission is hereby granted, free of charge, to any person obtaining",
}


def linked():
    """The packages that are linked: those that the program needs, and what these need, except for building."""
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--offline", "--features", "full"]
    found = json.loads(subprocess.run(command, cwd=PROJECT, check=True, capture_output=True).stdout)
    packages = {package["id"]: package for package in found["packages"]}
    needs = {
        node["id"]: [dep["pkg"] for dep in node["deps"] if any(kind["kind"] is None for kind in dep["dep_kinds"])]
        for node in found["resolve"]["nodes"]
    }
    root, seen = found["resolve"]["root"], set()
    waiting = list(needs[root])
    while waiting:
        package = waiting.pop()
        if package not in seen:
            seen.add(package)
            waiting += needs[package]
    return sorted((packages[each] for each in seen), key=lambda each: (each["name"], each["version"]))


def texts_of(package):
    """The texts of a package's files about its licence."""
    folder = Path(package["manifest_path"]).parent
    files = sorted(path for path in folder.iterdir() if path.is_file() and NAMES.search(path.name))
    return [path.read_text("utf-8", "replace") for path in files]


def without_address(holder):
    return " ".join(re.sub(r"\s*<[^>]*>?", "", holder).split())


def holders(package):
    """The holders of the copyright that its files name; else its authors."""
    lines = [line for text in texts_of(package) for line in HOLDER.findall(text)]
    lines = [without_address(line) for line in lines if "[" not in line and "{" not in line]
    authors = [without_address(author) for author in package["authors"]]
    return list(dict.fromkeys(lines)) or authors or ["(its files name nobody)"]


def licence_text(name, packages):
    """The text of a licence without the holders. What begins as another one is taken of a package that has no other."""
    for package in packages:
        for text in texts_of(package):
            is_sure = package["license"] == name or list(TEXTS.values()).count(TEXTS[name]) == 1
            if is_sure and TEXTS[name] in text and (name != "MIT" or len(text) < 1500):
                return HOLDER.sub("", text).strip()
    sys.exit(f"third_party.py: no file has the text of {name}")


def sections(packages):
    """The list, and the texts."""
    yield MARK + INTRODUCTION
    for package in packages:
        licence = package["license"].replace("/", " OR ")
        yield f"- **{package['name']}** {package['version']}, {licence}: {'; '.join(holders(package))}\n"
    used = sorted({name for package in packages for name in re.findall(r"[\w.-]+", package["license"]) if name in TEXTS})
    for name in used:
        yield f"\n### {name}\n\n```text\n{licence_text(name, packages)}\n```\n"


def main():
    above, mark, _ = FILE.read_text("utf-8").partition(MARK)
    if not mark:
        above = above.rstrip() + "\n\n"
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else FILE
    target.write_text(above + "".join(sections(linked())), "utf-8")


if __name__ == "__main__":
    main()
