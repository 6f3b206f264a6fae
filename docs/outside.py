#!/usr/bin/env python3
"""A preprocessor of mdBook: links that lead out of docs/ become links into the repository, where their files are.

mdBook runs it with a context and the book as JSON on standard input, and takes the book from standard output.
"""

import json
import posixpath
import re
import sys
from pathlib import Path

MANIFEST = Path(__file__).resolve().parent.parent / "Cargo.toml"
REPOSITORY = re.search(r'^repository = "(.*)"$', MANIFEST.read_text(), re.MULTILINE)[1]
LINK = re.compile(r"\]\(((?:\.\./)+[^)\s]*)\)")


def outside(folder):
    """Replaces a link of a page in this folder of docs/, where it leads out of there."""

    def replaced(link):
        path = posixpath.normpath(posixpath.join("docs", folder, link[1]))
        return link[0] if path.startswith("docs/") else f"]({REPOSITORY}/blob/main/{path})"

    return replaced


def work(items):
    """Rewrites chapters, and those below them."""
    for chapter in (item["Chapter"] for item in items if isinstance(item, dict) and "Chapter" in item):
        if chapter["path"]:
            chapter["content"] = LINK.sub(outside(posixpath.dirname(chapter["path"])), chapter["content"])
        work(chapter["sub_items"])


def main():
    if sys.argv[1:2] == ["supports"]:
        return
    _, book = json.load(sys.stdin)
    work(book.get("items", book.get("sections")))
    json.dump(book, sys.stdout)


if __name__ == "__main__":
    main()
