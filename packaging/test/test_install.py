"""The installer, with a release on this computer: read as files, and from a server on the loopback address."""

import functools
import http.server
import os
import shutil
import stat
import subprocess
import threading
import unittest

from common import PACKAGING, STAND_IN, TARGETS, VERSION, folder, pack, release

SCRIPT = PACKAGING / "install.sh"
TOOLS = ["sh", "tar", "gzip", "uname", "mktemp", "mkdir", "rm", "cp", "mv", "chmod", "sha256sum", "shasum"]


def computer(name, system="Linux", chip="x86_64", more=()):
    """A folder for the PATH with these tools alone, on a computer that calls itself so."""
    place = folder(f"computers/{name}")
    for tool in [*TOOLS, *more]:
        if shutil.which(tool) and not (place / tool).exists():
            (place / tool).symlink_to(os.path.realpath(shutil.which(tool)))
    (place / "uname").unlink()
    (place / "uname").write_text(f'#!/bin/sh\n[ "$1" = -s ] && echo {system} || echo {chip}\n')
    (place / "uname").chmod(0o755)
    return place


class Install(unittest.TestCase):
    def setUp(self):
        self.home = folder(self.id())
        self.installed = self.home / ".local/bin/cachesim"

    def run_script(self, place, shell="sh", script=None, **variables):
        env = {"HOME": str(self.home), "PATH": str(place), "CACHESIM_BASE_URL": f"file://{release()}", **variables}
        given = {name: value for name, value in env.items() if value is not None}
        text = SCRIPT.read_text() if script is None else script
        done = subprocess.run([shutil.which(shell)], input=text, env=given, capture_output=True, text=True)
        # Whatever became of it, nothing is left but the program.
        left = [each.name for each in self.home.rglob("*") if each.is_file()]
        self.assertLessEqual(set(left), {"cachesim"})
        return done

    def assert_installed(self, done, target):
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.installed.read_text(), STAND_IN.format(target))
        self.assertEqual(stat.S_IMODE(self.installed.stat().st_mode), 0o755)
        self.assertIn(f"Installed cachesim {VERSION}", done.stdout)
        self.assertIn("Next: cachesim analyze", done.stdout)

    def test_each_platform_gets_its_archive(self):
        names = [("Linux", "x86_64"), ("Linux", "aarch64"), ("Darwin", "x86_64"), ("Darwin", "arm64")]
        unix = [each["target"] for each in TARGETS if each["archive"] == "tar.gz"]
        self.assertEqual(len(names), len(unix))
        for (system, chip), target in zip(names, unix):
            done = self.run_script(computer(f"{system}-{chip}", system, chip))
            self.assert_installed(done, target)

    def test_each_shell(self):
        for shell in ("dash", "bash", "zsh"):
            if shutil.which(shell):
                with self.subTest(shell):
                    self.assert_installed(self.run_script(computer("plain"), shell), TARGETS[0]["target"])

    def test_other_platforms_are_told_what_to_do(self):
        done = self.run_script(computer("other", "Plan9", "mips"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("no build for Plan9 on mips. With Rust", done.stderr)
        done = self.run_script(computer("windows", "MINGW64_NT-10.0"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("Scoop", done.stderr)
        self.assertFalse(self.installed.exists())

    def test_a_download_that_does_not_match_changes_nothing(self):
        name, other = (f"cachesim-{target['target']}.tar.gz" for target in TARGETS[:2])
        archive, of_other = (release() / name).read_bytes(), (release() / f"{other}.sha256").read_bytes()
        checksum = (release() / f"{name}.sha256").read_bytes()
        damaged = "is damaged: its SHA-256 is"
        self.run_script(computer("plain"))
        before = self.installed.stat().st_ino
        for what, file, content, why in [
            ("more than the archive", name, archive + b"more", damaged),
            ("a cut archive", name, archive[: len(archive) // 2], damaged),
            ("no archive", name, None, "cannot be downloaded"),
            ("a cut checksum", f"{name}.sha256", checksum[:32], damaged),
            ("the checksum of another", f"{name}.sha256", of_other, damaged),
            ("words of a server", f"{name}.sha256", b"<html>Not found</html>", damaged),
            ("an empty checksum", f"{name}.sha256", b"", "is empty"),
            ("no checksum", f"{name}.sha256", None, "cannot be downloaded"),
        ]:
            with self.subTest(what):
                changed = folder("damaged")
                shutil.copytree(release(), changed, dirs_exist_ok=True)
                (changed / file).unlink()
                if content is not None:
                    (changed / file).write_bytes(content)
                done = self.run_script(computer("plain"), CACHESIM_BASE_URL=f"file://{changed}")
                self.assertEqual((done.returncode, done.stdout), (1, ""))
                self.assertIn(why, done.stderr)
                self.assertEqual(self.installed.stat().st_ino, before)

    def test_a_program_that_does_not_run_changes_nothing(self):
        broken = folder("broken")
        pack(TARGETS[0], broken, "#!/bin/sh\nexit 1\n")
        done = self.run_script(computer("plain"), CACHESIM_BASE_URL=f"file://{broken}")
        self.assertEqual(done.returncode, 1)
        self.assertIn("does not run here", done.stderr)
        self.assertFalse(self.installed.exists())

    def test_what_is_missing_is_named(self):
        done = self.run_script(computer("plain"), CACHESIM_BASE_URL="file:///nowhere")
        self.assertEqual(done.returncode, 1)
        self.assertIn("cannot be downloaded", done.stderr)
        done = self.run_script(computer("plain"), CACHESIM_BASE_URL="http://127.0.0.1:9")
        self.assertIn("neither curl nor wget", done.stderr)
        bare = computer("bare")
        for tool in ("sha256sum", "shasum"):
            (bare / tool).unlink(missing_ok=True)
        done = self.run_script(bare)
        self.assertEqual(done.returncode, 1)
        self.assertIn("cannot be checked", done.stderr)
        self.assertFalse(self.installed.exists())

    def test_the_path_is_explained_only_where_it_lacks_the_folder(self):
        self.assertIn("is not on your PATH", self.run_script(computer("plain")).stdout)
        done = self.run_script(computer("plain"), PATH=f"{computer('plain')}:{self.installed.parent}")
        self.assertNotIn("PATH", done.stdout)
        other = self.home / "a folder"
        done = self.run_script(computer("plain"), CACHESIM_INSTALL_DIR=str(other))
        self.assertIn(f'export PATH="{other}:$PATH"', done.stdout)
        self.assertTrue((other / "cachesim").exists())

    def test_a_script_that_breaks_off_does_nothing(self):
        text = SCRIPT.read_text()
        for end in range(0, len(text) - len("main\n"), 97):
            self.run_script(computer("plain"), script=text[:end])
            self.assertFalse(self.installed.exists(), text[:end][-80:])

    def test_from_a_server(self):
        handler = functools.partial(Quiet, directory=release())
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            url = f"http://127.0.0.1:{server.server_port}"
            for client in ("curl", "wget"):
                if shutil.which(client):
                    with self.subTest(client):
                        self.installed.unlink(missing_ok=True)
                        place = computer(client, more=[client])
                        self.assert_installed(self.run_script(place, CACHESIM_BASE_URL=url), TARGETS[0]["target"])
                        done = self.run_script(place, CACHESIM_BASE_URL=f"{url}/nothing")
                        self.assertEqual(done.returncode, 1)
                        self.assertIn("cannot be downloaded", done.stderr)
            server.shutdown()


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


if __name__ == "__main__":
    unittest.main()
