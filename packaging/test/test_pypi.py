"""The wheel: built, installed offline into an empty environment, and run. in_environment.py tests the module."""

import email
import os
import re
import signal
import subprocess
import sys
import sysconfig
import unittest
import zipfile
from pathlib import Path

from common import PACKAGING, PROJECT, VERSION, Same, binaries, clean, folder, program, run, scratch, wheel

PYTHON = os.environ.get("TEST_PYTHON", sys.executable)


class Wheel(Same):
    @classmethod
    def setUpClass(cls):
        place = scratch() / "environment"
        # Without pip: this one's installs into it, which takes less time.
        run(PYTHON, "-m", "venv", "--without-pip", place)
        cls.python = place / "bin" / "python"
        run(sys.executable, "-m", "pip", f"--python={cls.python}", "install", "--no-index", "--no-deps", wheel())
        cls.program = place / "bin" / "cachesim"
        if PYTHON == sys.executable:
            # pandas and the like, if they are there. What is installed above comes first.
            (site,) = place.glob("lib/python*/site-packages")
            libraries = os.environ.get("TEST_LIBRARIES", sysconfig.get_path("purelib"))
            (site / "libraries.pth").write_text(libraries + "\n")

    def test_it_does_what_the_program_does(self):
        self.assert_all_same([self.program])

    def test_the_module_runs_it(self):
        self.assert_all_same([self.python, "-m", "cachesim"])

    def test_a_signal_to_the_module_ends_the_program(self):
        pipe = subprocess.PIPE
        command = [self.python, "-m", "cachesim", "analyze", "--verbose", "-"]
        with subprocess.Popen(command, env=clean(), stdin=pipe, stdout=pipe, stderr=pipe) as done:
            while os.path.basename(os.path.realpath(f"/proc/{done.pid}/exe")) != "cachesim":
                if not Path("/proc/self/exe").exists():
                    self.skipTest("/proc")
            done.terminate()
            self.assertEqual(done.wait(timeout=20), -signal.SIGTERM)

    def test_the_module(self):
        env = clean(TEST_FIXTURES=str(PROJECT / "fixtures"), TEST_ENVIRONMENT=str(self.program))
        done = run(self.python, PACKAGING / "test/in_environment.py", cwd=folder("empty"), env=env)
        summary = done.stderr.decode().splitlines()
        print(f"in_environment.py: {summary[-3]}: {summary[-1]}", file=sys.stderr)

    def test_the_metadata(self):
        with zipfile.ZipFile(wheel()) as packed:
            (name,) = [each for each in packed.namelist() if each.endswith(".dist-info/METADATA")]
            metadata = email.message_from_bytes(packed.read(name))
            info = os.path.dirname(name)
            for file in metadata.get_all("License-File"):
                packed.read(f"{info}/licenses/{file}")
        self.assertEqual((metadata["Name"], metadata["Version"]), ("cachesim", VERSION))
        self.assertEqual(metadata["License-Expression"], "MIT")
        self.assertEqual(metadata["Requires-Python"], ">=3.9")
        self.assertEqual(set(metadata.get_all("Provides-Extra")), {"pandas", "polars", "pyarrow"})
        self.assertIn("cachesim.ledger", metadata.get_payload())

    def test_the_same_input_gives_the_same_bytes(self):
        made = []
        for name in ("first", "second"):
            build = [sys.executable, PACKAGING / "pypi/build.py", "--binaries", binaries()]
            made.append(Path(run(*build, "--out", folder(name)).stdout.decode().strip()).read_bytes())
        self.assertEqual(*made)
        with zipfile.ZipFile(folder("first") / next(folder("first").iterdir())) as packed:
            self.assertEqual(packed.read(f"cachesim-{VERSION}.data/scripts/cachesim"), program().read_bytes())

    def test_versions_before_a_release_are_written_as_python_does(self):
        build = [sys.executable, PACKAGING / "pypi/build.py", "--binaries", binaries()]
        made = run(*build, "--out", folder("candidate"), "--version", "1.2.0-rc.1").stdout.decode()
        self.assertTrue(re.search(r"/cachesim-1\.2\.0rc1-py3-none-", made), made)


if __name__ == "__main__":
    unittest.main()
