#!/usr/bin/env python3
"""Packs programs that are built already as wheels, so that every channel ships the same bytes.

    build.py --binaries DIR --out DIR [--target T …] [--version V]

Programs are read from DIR/TARGET/cachesim (cachesim.exe). Without --target all that are there are
packed. What `maturin build` makes of pyproject.toml is the same, save that it compiles the program.
Needs Python 3.11 and nothing else. The same input gives the same bytes.
"""

import argparse
import base64
import hashlib
import json
import os
import re
import sys
import time
import tomllib
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROJECT = HERE.parent.parent


def fail(message):
    sys.exit(f"build.py: {message}")


def licenses(project):
    """The files of the licenses, with their names as metadata has them."""
    found = [path for pattern in project["license-files"] for path in HERE.glob(pattern)]
    return sorted((path.relative_to(HERE).as_posix(), path) for path in found)


def metadata(project, cargo, version):
    """The core metadata, version 2.4."""
    fields = [
        ("Metadata-Version", "2.4"),
        ("Name", project["name"]),
        ("Version", version),
        *(("Classifier", each) for each in project["classifiers"]),
        *(
            ("Requires-Dist", f"{each} ; extra == '{extra}'")
            for extra, needed in project["optional-dependencies"].items()
            for each in needed
        ),
        *(("Provides-Extra", extra) for extra in project["optional-dependencies"]),
        *(("License-File", name) for name, _ in licenses(project)),
        ("Summary", project["description"]),
        ("Keywords", ",".join(project["keywords"])),
        ("Home-Page", cargo["homepage"]),
        ("License-Expression", project["license"]),
        ("Requires-Python", project["requires-python"]),
        ("Description-Content-Type", "text/markdown; charset=UTF-8; variant=GFM"),
    ]
    readme = (HERE / project["readme"]).read_text("utf-8")
    return "".join(f"{name}: {value}\n" for name, value in fields) + "\n" + readme


def wheel_version(version):
    """The version as Python writes it: 1.2.0-rc.1 is 1.2.0rc1."""
    found = re.fullmatch(r"(\d+\.\d+\.\d+)(?:-(alpha|beta|rc)\.?(\d+))?", version)
    if not found:
        fail(f"{version} is no version that Python knows")
    number, stage, count = found.groups()
    return number + ({"alpha": "a", "beta": "b", "rc": "rc"}[stage] + count if stage else "")


class Wheel:
    """A wheel that is written file by file, with RECORD as its end."""

    def __init__(self, path):
        epoch = int(os.environ.get("SOURCE_DATE_EPOCH", 0))
        # A ZIP has no time before 1980.
        self.time = max(time.gmtime(epoch)[:6], (1980, 1, 1, 0, 0, 0))
        self.zip = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9)
        self.record = []

    def add(self, name, content, mode=0o644):
        entry = zipfile.ZipInfo(name, self.time)
        entry.create_system = 3  # Unix, whose modes follow
        entry.external_attr = (0o100000 | mode) << 16
        entry.compress_type = zipfile.ZIP_DEFLATED
        self.zip.writestr(entry, content)
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        self.record.append(f"{name},sha256={digest},{len(content)}\n")

    def close(self, name):
        self.record.append(f"{name},,\n")
        self.add(name, "".join(self.record).encode())
        self.zip.close()


def pack(target, program, version, texts, files, out):
    """Makes the wheel of a target and gives its path."""
    tag = f"py3-none-{target['wheel']}"
    info = f"cachesim-{version}.dist-info"
    path = out / f"cachesim-{version}-{tag}.whl"
    wheel = Wheel(path)
    for file in sorted((HERE / "python" / "cachesim").iterdir()):
        if file.suffix == ".py" or file.name == "py.typed":
            wheel.add(f"cachesim/{file.name}", file.read_bytes())
    wheel.add(f"cachesim-{version}.data/scripts/{target['binary']}", program.read_bytes(), 0o755)
    wheel.add(f"{info}/METADATA", texts.encode())
    tags = [f"Tag: py3-none-{each}\n" for each in target["wheel"].split(".")]
    lines = ["Wheel-Version: 1.0\n", "Generator: cachesim build.py\n", "Root-Is-Purelib: false\n", *tags]
    wheel.add(f"{info}/WHEEL", "".join(lines).encode())
    for name, file in files:
        wheel.add(f"{info}/licenses/{name}", file.read_bytes())
    wheel.close(f"{info}/RECORD")
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binaries", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--target", action="append")
    parser.add_argument("--version", help="instead of the one of Cargo.toml")
    given = parser.parse_args()
    targets = json.loads((HERE.parent / "targets.json").read_text("utf-8"))
    unknown = set(given.target or []) - {each["target"] for each in targets}
    if unknown:
        fail(f"not in targets.json: {', '.join(sorted(unknown))}")
    project = tomllib.loads((HERE / "pyproject.toml").read_text("utf-8"))["project"]
    cargo = tomllib.loads((PROJECT / "Cargo.toml").read_text("utf-8"))["package"]
    version = wheel_version(given.version or cargo["version"])
    texts = metadata(project, cargo, version)

    given.out.mkdir(parents=True, exist_ok=True)
    made = 0
    for target in targets:
        program = given.binaries / target["target"] / target["binary"]
        if given.target is not None and target["target"] not in given.target:
            continue
        if program.is_file():
            print(pack(target, program, version, texts, licenses(project), given.out))
            made += 1
        elif given.target:
            fail(f"{program} is missing")
    if not made:
        fail(f"{given.binaries} has no program of any target")


if __name__ == "__main__":
    main()
