"""Random texts with their tokens as the package `ctok` counts them, one a line: [text, 3.0, 4.7, 4.8].

    python3 package.py SEED COUNT      (with `ctok` on Python's path)
    python3 package.py --long          texts of a quarter of a megabyte, and long runs

Frames are taken off. Half of a surrogate pair is counted as it is and written as U+FFFD, for which readers take it.
Characters that Python's tables do not have are left out: they came with a later Unicode.
"""

import json
import random
import re
import sys
import unicodedata

from ctok import token_count

FRAMES = {"3.0": 7, "4.7": 11, "4.8": 6}
SURROGATE = re.compile("[\ud800-\udfff]")


def is_known(character):
    code = ord(character)
    is_noncharacter = 0xFDD0 <= code <= 0xFDEF or code & 0xFFFE == 0xFFFE
    return unicodedata.category(character) != "Cn" or is_noncharacter


def known(first, end):
    return [character for character in map(chr, range(first, end)) if is_known(character)]


PLANES = [known(plane << 16, (plane + 1) << 16) for plane in range(17)]
BORDERS = [0, 0x80, 0x250, 0x370, 0x530, 0x600, 0x780, 0x900, 0xE00, 0xF00, 0x1200, 0x1680, 0x1900, 0x1C80]
BORDERS += [0x1D00, 0x2000, 0x2070, 0x2C00, 0x3000, 0x3100, 0x4E00, 0xA000, 0xA640, 0xA800, 0xAC00, 0xD7B0]
BLOCKS = [known(first, end) for first, end in zip(BORDERS, BORDERS[1:])]
BLOCKS += [known(0xE000, 0xE020), known(0xF900, 0x10000), known(0x1F300, 0x1FB00), known(0x1D400, 0x1D800)]
WORDS = "the quick FOX don't I'll We're it's 'tis HTTP getElementsBy fooBar Straße İstanbul ΣΑΣ ẞ x' 'x O'Brien 's 'S a".split()
SPACES = [" ", "  ", "\n", "\t", " \n", "\n\n", "   ", "\u3000", "\u00a0", "\r\n", " \t", "\x00", "\x07"]
MARKS = "!?.,;:()[]{}<>=+-*/\\|&^%$#@~`'\"_"
CODE = ["fn main() {", "let x = &y;", "==", "=>", "});", "</div>", "#include <a.h>", "//", "0x1F", "a_b", "x[i]++"]
ODD = ["👩‍👩‍👧", "⚖️", "❤️‍🔥", "🇩🇪", "é", "e\u0301", "\u0301", "a\u0323\u0307", "ำ", "\u0e4d\u0e32", "²", "½x", "०१"]
ODD += ["٣٤", "’“”", "ﬁ", "\ufeff", "\u200d", "\u00ad", "\ud800", "\udfff", "\ufdd0", "\u0711", "\u0730", "Ⓐ", "ℳ", "ǅ"]


class Texts:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def some(self, characters, most):
        return "".join(self.random.choice(characters) for _ in range(self.random.randint(1, most)))

    def piece(self):
        choice = self.random.random()
        pick = self.random.choice
        if choice < 0.22:
            return pick(WORDS)
        if choice < 0.48:
            return pick(SPACES) if choice < 0.32 else " "
        if choice < 0.58:
            return self.some(MARKS, 5)
        if choice < 0.64:
            return str(self.random.randint(0, 10 ** self.random.randint(1, 9)))
        if choice < 0.70:
            return pick(CODE)
        if choice < 0.90:
            return self.some(pick(BLOCKS), 4)
        if choice < 0.96:
            return pick(ODD)
        return self.some(pick(PLANES) or WORDS, 2)

    def text(self):
        choice = self.random.random()
        if choice < 0.65:
            return "".join(self.piece() for _ in range(self.random.randint(1, 14)))
        if choice < 0.75:
            return self.some(self.random.choice(BLOCKS) + [" ", " ", "'", ".", "1"], 20)
        if choice < 0.82:
            return self.some(self.random.choice(PLANES) or WORDS, 12)
        if choice < 0.90:
            return self.random.choice(" \na-=A1文é\"\t#") * self.random.randint(1, 400)
        return self.text() + self.random.choice(["\n", "\n\n", " ", "\n \n", "\t"]) * self.random.randint(0, 3)


def long_texts():
    size, runs = 1 << 18, 1 << 13
    return ["a" * size, "文" * (size // 3), "é\u0301" * (size // 4), "\n" * runs + "x", "-" * runs]


def write(text):
    counts = [token_count(text, version) - frame for version, frame in FRAMES.items()]
    print(json.dumps([SURROGATE.sub("\ufffd", text), *counts]))


if sys.argv[1] == "--long":
    texts = long_texts()
else:
    source = Texts(int(sys.argv[1]))
    texts = (source.text() for _ in range(int(sys.argv[2])))
for text in texts:
    write(text)
