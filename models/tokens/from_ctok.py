"""Writes the pieces of the package `ctok` as front-coded lists, which the program reads.

    python3 from_ctok.py FOLDER     (with `ctok` on Python's path)

A line has how many bytes a piece shares with the one before it, and the rest: markers and white space are escaped,
and so are bytes of characters that were cut. What the package calls a byte fallback, the first bytes of a
character, is a piece like any other, as it begins where a character begins. Single bytes are always pieces and left out.
"""

import sys
from pathlib import Path

from ctok.constants import BOW_G, CAPS_G, EOW_G, SHIFT_G
from ctok.main import FAMILIES, _document
from ctok.notation import parse_marked

FILES = {"claude-3": "v3", "claude-4.7": "v4.7"}
MARKERS = {BOW_G: b"\x01", EOW_G: b"\x02", SHIFT_G: b"\x03", CAPS_G: b"\x04"}
ESCAPES = {1: b"\\b", 2: b"\\e", 3: b"\\u", 4: b"\\c", 9: b"\\t", 10: b"\\n", 32: b"\\s", 92: b"\\\\"}


def marked(piece):
    return b"".join(MARKERS.get(character) or character.encode() for character in parse_marked(piece))


def pieces(family):
    for group, names in _document(FAMILIES[family].pieces)["tokens"].items():
        if group == "bytes_fallback":
            yield from map(bytes.fromhex, names)
            continue
        yield from map(marked, names)
        if group == "contractions":
            yield from (marked(name) + MARKERS[EOW_G] for name in names)


def escaped(rest):
    try:
        rest.decode()
        is_whole = True
    except UnicodeDecodeError:
        is_whole = False
    for byte in rest:
        yield ESCAPES.get(byte) or (b"\\x%02x" % byte if byte >= 0x80 and not is_whole else bytes([byte]))


def front_coded(sorted_pieces):
    before = b""
    for piece in sorted_pieces:
        shared = 0
        while shared < min(len(piece), len(before)) and piece[shared] == before[shared]:
            shared += 1
        yield b"%d %s\n" % (shared, b"".join(escaped(piece[shared:])))
        before = piece


HEADER = """# The pieces of a tokenizer of Claude's, from the package ctok 1.3.0, Copyright (c) 2026 Sander Land, MIT licence
# (THIRD_PARTY.md). Written by from_ctok.py.
"""

for name, family in FILES.items():
    known = sorted({piece for piece in pieces(family) if len(piece) > 1})
    Path(sys.argv[1], f"{name}.txt").write_bytes(HEADER.encode() + b"".join(front_coded(known)))
