#!/usr/bin/env python3
"""Makes what other channels need of a release, from its archives.

    manifests.py --version V --archives DIR --out DIR [--base-url URL]

DIR has cachesim-TARGET.tar.gz (.zip) and its .sha256 for every target of targets.json. Made are:
cachesim.rb (a formula for Homebrew), cachesim.json (a manifest for Scoop), and container/, the
context of the Containerfile.
"""

import argparse
import hashlib
import json
import re
import shutil
import sys
import tarfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROJECT = HERE.parent

FORMULA = '''\
class Cachesim < Formula
  desc "Replays coding-agent sessions through the providers' prompt-cache rules"
  homepage "{homepage}"
  version "{version}"
  license "{license}"
{platforms}
  def install
    bin.install "cachesim"
    bash_completion.install "completions/cachesim.bash" => "cachesim"
    zsh_completion.install "completions/_cachesim"
    fish_completion.install "completions/cachesim.fish"
    man1.install Dir["man/*.1"]
  end

  test do
    assert_match version.to_s, shell_output("#{{bin}}/cachesim --version")
  end
end
'''

PLATFORM = '''
  on_{system} do
{chips}  end
'''

CHIP = '''\
    on_{chip} do
      url "{url}"
      sha256 "{sha256}"
    end
'''


def fail(message):
    sys.exit(f"manifests.py: {message}")


def of_cargo(field):
    """A text field of the `[package]` table, which stands first in Cargo.toml."""
    found = re.search(rf'^{field} = "(.*)"$', (PROJECT / "Cargo.toml").read_text("utf-8"), re.MULTILINE)
    return found[1] if found else fail(f"Cargo.toml has no {field}")


def checksum(archive):
    """The SHA-256 of an archive, which has to be the one beside it."""
    beside = archive.with_name(archive.name + ".sha256")
    if not archive.is_file() or not beside.is_file():
        fail(f"{archive} or its .sha256 is missing")
    found = hashlib.sha256(archive.read_bytes()).hexdigest()
    if beside.read_text("utf-8").split() != [found, archive.name]:
        fail(f"{beside} is not the checksum of {archive.name}")
    return found


def formula(targets, common):
    """The formula. Homebrew calls the systems macos and linux, and the chips arm and intel."""
    platforms = []
    for system, os in (("macos", "darwin"), ("linux", "linux")):
        chips = ""
        for chip, cpu in (("arm", "arm64"), ("intel", "x64")):
            target = next(each for each in targets if each["npm"] == {"os": os, "cpu": cpu})
            chips += CHIP.format(chip=chip, **target)
        platforms.append(PLATFORM.format(system=system, chips=chips))
    return FORMULA.format(platforms="".join(platforms), **common)


def scoop(targets, common):
    windows = next(each for each in targets if each["npm"]["os"] == "win32")
    return {
        "version": common["version"],
        "description": of_cargo("description"),
        "homepage": common["homepage"],
        "license": common["license"],
        "architecture": {
            "64bit": {
                "url": windows["url"],
                "hash": windows["sha256"],
                "extract_dir": f"cachesim-{windows['target']}",
            }
        },
        "bin": windows["binary"],
    }


def container(targets, folder):
    """The context of the Containerfile: the program for each architecture, and the licenses."""
    for target in targets:
        if "container" not in target:
            continue
        program = folder / f"linux-{target['container']}" / "cachesim"
        program.parent.mkdir(parents=True, exist_ok=True)
        with tarfile.open(target["path"]) as tar:
            packed = tar.extractfile(f"cachesim-{target['target']}/{target['binary']}")
            program.write_bytes(packed.read())
        program.chmod(0o755)
    for file in ("LICENSE", "THIRD_PARTY.md", "fonts/OFL.txt", "packaging/Containerfile"):
        shutil.copyfile(PROJECT / file, folder / Path(file).name)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--version", required=True)
    parser.add_argument("--archives", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--base-url", help="where the archives are, instead of the repository's releases")
    given = parser.parse_args()
    base = given.base_url or f"{of_cargo('repository')}/releases/download/v{given.version}"
    targets = json.loads((HERE / "targets.json").read_text("utf-8"))
    for target in targets:
        target["path"] = given.archives / f"cachesim-{target['target']}.{target['archive']}"
        target["sha256"] = checksum(target["path"])
        target["url"] = f"{base}/{target['path'].name}"
    common = {"version": given.version, "homepage": of_cargo("homepage"), "license": of_cargo("license")}

    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "cachesim.rb").write_text(formula(targets, common), "utf-8")
    (given.out / "cachesim.json").write_text(json.dumps(scoop(targets, common), indent=4) + "\n", "utf-8")
    container(targets, given.out / "container")


if __name__ == "__main__":
    main()
