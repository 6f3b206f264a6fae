"""The archives and what is made of them: checksums, Homebrew, Scoop, the container."""

import hashlib
import json
import os
import re
import shutil
import sys
import tarfile
import unittest
import zipfile

from common import HOST, PACKAGING, PROJECT, STAND_IN, TARGETS, VERSION
from common import archive, folder, npm_packages, own, pack, program, release, run, wheel

BASE = "https://git.example/OWNER/cachesim/releases/download"


def contents(path):
    """Each file of an archive with its rights."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as packed:
            return {each.filename: each.external_attr >> 16 & 0o777 for each in packed.infolist()}
    with tarfile.open(path) as packed:
        return {each.name: each.mode for each in packed}


class Archives(unittest.TestCase):
    def test_what_is_in_them(self):
        commands = {"cachesim.1", "cachesim-analyze.1", "cachesim-prices-list.1"}
        completions = {"cachesim.bash", "_cachesim", "cachesim.fish", "cachesim.elv", "_cachesim.ps1"}
        texts = {"README.md", "LICENSE", "THIRD_PARTY.md", "CHANGELOG.md", "fonts/OFL.txt"}
        wanted = texts | {f"man/{each}" for each in commands} | {f"completions/{each}" for each in completions}
        for target in TARGETS:
            found = contents(release() / f"cachesim-{target['target']}.{target['archive']}")
            top = f"cachesim-{target['target']}/"
            self.assertEqual({name for name in found if not (name + "/").startswith(top)}, set())
            self.assertLessEqual({top + each for each in wanted}, set(found))
            self.assertEqual(found[top + target["binary"]], 0o755)
            self.assertEqual(found[top + "README.md"], 0o644)

    def test_the_program_and_its_completions_come_out_as_they_were(self):
        with tarfile.open(archive()) as tar:
            top = f"cachesim-{HOST['target']}"
            self.assertEqual(tar.extractfile(f"{top}/{HOST['binary']}").read(), program().read_bytes())
            self.assertEqual(tar.extractfile(f"{top}/completions/_cachesim").read(), own("completions", "zsh").stdout)

    def test_checksums_are_those_of_sha256sum(self):
        check = ["sha256sum", "-c"] if shutil.which("sha256sum") else ["shasum", "-a", "256", "-c"]
        for path in release().glob("*.sha256"):
            run(*check, path.name, cwd=release())

    def test_the_same_input_gives_the_same_bytes(self):
        for target in (TARGETS[0], TARGETS[-1]):
            first = release() / f"cachesim-{target['target']}.{target['archive']}"
            self.assertEqual(pack(target, folder("again")).read_bytes(), first.read_bytes())

    def test_a_program_of_another_platform_needs_one_of_this(self):
        binary = folder("stand-ins") / "foreign"
        binary.write_bytes(b"\x7fELF, but not for this computer")
        binary.chmod(0o755)
        done = run(PACKAGING / "archive.sh", TARGETS[0]["target"], binary, folder("none"), check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"--host-binary", done.stderr)


class Manifests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.out = folder("manifests")
        cls.make(cls.out)

    @staticmethod
    def make(out, archives=None, check=True):
        make = [sys.executable, PACKAGING / "manifests.py", "--version", VERSION, "--out", out]
        return run(*make, "--archives", archives or release(), check=check)

    def digest(self, target):
        path = release() / f"cachesim-{target['target']}.{target['archive']}"
        return hashlib.sha256(path.read_bytes()).hexdigest()

    def test_the_formula_names_each_archive_with_its_checksum(self):
        text = (self.out / "cachesim.rb").read_text()
        found = dict(re.findall(r'url "(\S+)"\n +sha256 "(\w+)"', text))
        unix = [each for each in TARGETS if each["archive"] == "tar.gz"]
        names = {f"{BASE}/v{VERSION}/cachesim-{each['target']}.tar.gz": self.digest(each) for each in unix}
        self.assertEqual(found, names)
        places = re.findall(r"on_(macos|linux|arm|intel) do|/cachesim-(\S+)\.tar\.gz", text)
        words = [system or target for system, target in places]
        self.assertEqual(words[:5], ["macos", "arm", "aarch64-apple-darwin", "intel", "x86_64-apple-darwin"])
        musl = ["aarch64-unknown-linux-musl", "x86_64-unknown-linux-musl"]
        self.assertEqual(words[5:], ["linux", "arm", musl[0], "intel", musl[1]])
        self.assertLessEqual(len(re.search(r'desc "(.*)"', text)[1]), 80)

    def test_the_formula_is_ruby(self):
        if not shutil.which("ruby"):
            self.skipTest("ruby")
        run("ruby", "-c", self.out / "cachesim.rb")

    def test_the_manifest_for_scoop(self):
        manifest = json.loads((self.out / "cachesim.json").read_text())
        windows = manifest["architecture"]["64bit"]
        self.assertEqual((manifest["version"], windows["hash"]), (VERSION, self.digest(TARGETS[-1])))
        top = f"{windows['extract_dir']}/{manifest['bin']}"
        self.assertIn(top, contents(release() / windows["url"].rpartition("/")[2]))

    def test_the_container_has_a_program_for_each_architecture(self):
        for name, target in (("amd64", TARGETS[0]), ("arm64", TARGETS[1])):
            program = self.out / "container" / f"linux-{name}" / "cachesim"
            self.assertEqual(program.read_text(), STAND_IN.format(target["target"]))
            self.assertTrue(os.access(program, os.X_OK))
        for line in (self.out / "container/Containerfile").read_text().splitlines():
            if line.startswith("COPY"):
                for source in line.replace("${TARGETARCH}", "amd64").split()[1:-1]:
                    if source.startswith("--"):
                        continue
                    self.assertTrue((self.out / "container" / source).is_file(), source)

    def test_an_archive_that_is_not_that_of_its_checksum_is_refused(self):
        changed = folder("changed")
        shutil.copytree(release(), changed, dirs_exist_ok=True)
        with open(changed / f"cachesim-{TARGETS[0]['target']}.tar.gz", "ab") as file:
            file.write(b"more")
        done = self.make(folder("refused"), changed, check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(b"is not the checksum of", done.stderr)


class All(unittest.TestCase):
    def test_from_nothing_to_a_program_that_runs(self):
        npm_packages(), wheel(), archive()
        done = run(PACKAGING / "try.sh", folder("artifacts"))
        print(done.stdout.decode(), end="", file=sys.stderr)

    def test_shellcheck(self):
        if not shutil.which("shellcheck"):
            self.skipTest("shellcheck")
        run("shellcheck", *PACKAGING.glob("*.sh"))

    def test_copies_are_those_of_the_project(self):
        for name in ("LICENSE", "THIRD_PARTY.md", "fonts/OFL.txt"):
            copy = PACKAGING / "pypi/licenses" / os.path.basename(name)
            self.assertEqual(copy.read_bytes(), (PROJECT / name).read_bytes(), name)
        self.assertIn(f"version=${{CACHESIM_VERSION:-{VERSION}}}", (PACKAGING / "install.sh").read_text())


if __name__ == "__main__":
    unittest.main()
