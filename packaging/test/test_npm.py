"""The npm packages: built, installed offline into an empty folder, and run.

Newer versions of Node become the program, older ones start it: both ways are tested where Node has both.
"""

import json
import os
import signal
import subprocess
import tarfile
import time
import unittest
from pathlib import Path

from common import CHIP, PROJECT, SYSTEM, TARGETS, VERSION, Same, clean, folder, npm_packages, run, scratch

PLATFORM = f"@cachesim/{SYSTEM}-{CHIP}"
ENDING = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


def preload(name, text):
    """An environment in which Node runs this first."""
    file = scratch() / f"{name}.cjs"
    file.write_text(text)
    return clean(NODE_OPTIONS=f"--require={file}")


def install(name, *packages):
    place = folder(name)
    run("npm", "install", *packages, "--offline", "--ignore-scripts", "--no-audit", "--no-fund", cwd=place)
    return place / "node_modules"


def program_of(launcher):
    """The process that runs the program: the launcher's child, or the launcher itself. Waits for it."""
    for _ in range(1000):
        children = Path(f"/proc/{launcher}/task/{launcher}/children").read_text().split()
        for pid in [*children, str(launcher)]:
            if os.path.basename(os.path.realpath(f"/proc/{pid}/exe")) == "cachesim":
                return int(pid)
        time.sleep(0.01)
    raise AssertionError("the program does not start")


class Npm(Same):
    @classmethod
    def setUpClass(cls):
        cls.modules = install("npm", *npm_packages())
        cls.launcher = cls.modules / ".bin" / "cachesim"
        cls.program = cls.modules / PLATFORM / "bin" / "cachesim"
        cls.ways = {"as it is": clean(), "as a child": preload("child", "delete process.execve;")}

    def test_it_does_what_the_program_does(self):
        for way, env in self.ways.items():
            with self.subTest(way):
                self.assert_all_same([self.launcher], env=env)

    def test_signals_end_the_program_and_the_launcher(self):
        if not Path("/proc/self/exe").exists():
            self.skipTest("/proc")
        for way, env in self.ways.items():
            for number in ENDING:
                for to_all in (False, True):
                    with self.subTest(way, signal=number, to_all=to_all):
                        self.ends(env, number, to_all)

    def ends(self, env, number, to_all):
        """It reads from a pipe that stays open, so it ends by the signal alone."""
        command = [self.launcher, "analyze", "-"]
        pipe = subprocess.PIPE
        with subprocess.Popen(command, env=env, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True) as done:
            child = program_of(done.pid)
            (os.killpg if to_all else os.kill)(done.pid, number)
            self.assertEqual(done.wait(timeout=20), -number)
            self.assertRaises(ProcessLookupError, os.kill, child, 0)

    def test_the_exit_code_counts_where_the_program_answers_a_signal(self):
        place = install("stand-in", *npm_packages())
        stand_in = place / PLATFORM / "bin" / "cachesim"
        stand_in.write_text("#!/bin/sh\ntrap 'exit 7' TERM\necho ready\nwhile :; do sleep 0.05; done\n")
        for way, env in self.ways.items():
            with self.subTest(way), subprocess.Popen(
                [place / ".bin/cachesim"], env=env, stdout=subprocess.PIPE
            ) as done:
                self.assertEqual(done.stdout.readline(), b"ready\n")
                done.terminate()
                self.assertEqual(done.wait(timeout=20), 7)

    def refusal(self, modules, code, env=None):
        done = run(modules / ".bin/cachesim", "--version", env=env, check=False)
        self.assertEqual((done.returncode, done.stdout), (code, b""))
        return done.stderr.decode()

    def test_without_the_package_of_the_platform_it_says_what_to_do(self):
        message = self.refusal(install("omitted", npm_packages()[0]), 127)
        self.assertIn(f"the package {PLATFORM} is not installed", message)
        self.assertIn("--omit=optional", message)
        self.assertIn("cargo install --features full cachesim-cli", message)

    def test_on_another_platform_it_names_those_that_there_are(self):
        env = preload("other", "Object.defineProperty(process, 'arch', { value: 'riscv64' });")
        message = self.refusal(self.modules, 127, env)
        self.assertIn(f"there is no package for {SYSTEM}-riscv64", message)
        for target in TARGETS:
            self.assertIn("{os}-{cpu}".format(**target["npm"]), message)
        self.assertIn("cargo install --features full cachesim-cli", message)

    def test_a_program_that_cannot_be_run_is_told(self):
        place = install("no-rights", *npm_packages())
        (place / PLATFORM / "bin" / "cachesim").chmod(0o644)
        for way, env in self.ways.items():
            with self.subTest(way):
                self.assertIn("cannot be run (EACCES)", self.refusal(place, 126, env))

    def test_what_is_in_the_packages(self):
        for package in npm_packages():
            with tarfile.open(package) as tar:
                entries = {each.name.removeprefix("package/"): each for each in tar}
                manifest = json.load(tar.extractfile("package/package.json"))
                for name, source in (("LICENSE", "LICENSE"), ("OFL.txt", "fonts/OFL.txt")):
                    packed = tar.extractfile(f"package/{name}").read()
                    self.assertEqual(packed, (PROJECT / source).read_bytes())
            self.assertEqual(manifest["version"], VERSION)
            self.assertNotIn("scripts", manifest)
            if manifest["name"] == "cachesim":
                self.assertEqual(len(manifest["optionalDependencies"]), len(TARGETS))
                self.assertEqual(set(manifest["optionalDependencies"].values()), {VERSION})
            else:
                self.assertEqual((manifest["os"], manifest["cpu"]), ([SYSTEM], [CHIP]))
                self.assertNotIn("libc", manifest)
                self.assertEqual(entries["bin/cachesim"].mode & 0o777, 0o755)


if __name__ == "__main__":
    unittest.main()
