"""The scripts of the release workflow: what each runs, with programs in place of those that build and publish."""

import json
import os
import shutil
import unittest

from common import HOST, PACKAGING, PROJECT, TARGETS, VERSION, binaries, clean, folder, npm_packages, pack, run

NOTE = '#!/bin/sh\nname=$(basename "$0")\necho "$name $*" >>"$ASKED"\n'


class Workflow(unittest.TestCase):
    def setUp(self):
        self.place = folder(self.id())
        self.asked = self.place / "asked"
        self.tools = folder(f"{self.id()}/tools")

    def tool(self, name, script=""):
        path = self.tools / name
        path.write_text(NOTE + script)
        path.chmod(0o755)

    def run_script(self, name, *args, check=True, **variables):
        path = f"{self.tools}:{os.environ['PATH']}"
        env = clean(PATH=path, ASKED=str(self.asked), CARGO_TARGET_DIR=str(self.place / "target"), **variables)
        return run(PACKAGING / name, *args, env=env, check=check)

    def calls(self):
        return self.asked.read_text().splitlines() if self.asked.exists() else []

    def test_the_version_is_that_of_the_tag_and_in_the_changelog(self):
        self.assertEqual(self.run_script("version.sh").stdout.decode(), f"{VERSION}\n")
        self.assertEqual(self.run_script("version.sh", f"v{VERSION}").stdout.decode(), f"{VERSION}\n")
        refused = self.run_script("version.sh", "v9.9.9", check=False)
        self.assertEqual(refused.returncode, 1)
        self.assertIn(b"the tag is v9.9.9", refused.stderr)

    def test_a_build_is_static_locked_and_what_is_shipped(self):
        self.tool("rustup")
        made = 'mkdir -p "$CARGO_TARGET_DIR/$8/$6" && echo built >"$CARGO_TARGET_DIR/$8/$6/cachesim"\n'
        self.tool("cargo", made)
        for target in ("x86_64-unknown-linux-musl", "aarch64-apple-darwin"):
            self.run_script("build.sh", target, self.place / "programs")
            self.assertEqual((self.place / "programs" / target / "cachesim").read_text(), "built\n")
            self.assertEqual(
                self.calls()[-2:],
                [f"rustup target add {target}", f"cargo build --locked --features full --profile dist --target {target} --bin cachesim"],
            )

    def test_every_package_is_made_of_the_programs(self):
        npm_packages()  # skips without npm
        archives = folder(f"{self.id()}/archives")
        for target in TARGETS:
            pack(target, archives)
        self.run_script("packages.sh", VERSION, binaries(), archives, "https://git.example/files")
        made = {path.name for path in archives.iterdir()}
        npm = "-".join(HOST["npm"].values())
        expected = {f"cachesim-{VERSION}.tgz", f"cachesim-{npm}-{VERSION}.tgz", "cachesim.rb", "cachesim.json", "install.sh"}
        self.assertLessEqual(expected, made)
        self.assertEqual(len([name for name in made if name.endswith(".whl")]), 1)
        url = json.loads((archives / "cachesim.json").read_text())["architecture"]["64bit"]["url"]
        self.assertTrue(url.startswith("https://git.example/files/"), url)
        installer = (archives / "install.sh").read_text()
        self.assertIn("base=${CACHESIM_BASE_URL:-https://git.example/files}", installer)
        self.assertNotIn("OWNER/cachesim/releases/download/v$version", installer)

    def released(self, name):
        """A folder with files of a release, without content."""
        archives = folder(name)
        files = [f"cachesim-{each['target']}.{each['archive']}" for each in TARGETS]
        for file in [*files, f"{files[0]}.sha256", "cachesim.rb", "cachesim.json", "install.sh"]:
            (archives / file).touch()
        return archives, files

    def test_a_release_has_the_archives_and_what_the_changelog_says(self):
        archives, files = self.released(f"{self.id()}/archives")
        # There is none yet: `view` fails. What is given as notes is kept.
        notes = self.place / "notes"
        self.tool("gh", f'[ "$2" != view ] || exit 1\ncat >"{notes}"\n')
        self.run_script("publish.sh", "release", VERSION, archives)
        create = self.calls()[-1]
        self.assertTrue(create.startswith(f"gh release create v{VERSION} "), create)
        for file in files:
            self.assertIn(f"/{file} ", create)
        said = notes.read_text()
        self.assertGreater(len(said.split()), 20)
        self.assertNotIn("\n## ", said)
        # A second run replaces the files.
        self.tool("gh")
        self.run_script("publish.sh", "release", VERSION, archives)
        self.assertTrue(self.calls()[-1].startswith(f"gh release upload v{VERSION} "), self.calls()[-1])

    def test_npm_gets_the_platforms_before_the_launcher(self):
        archives = folder(f"{self.id()}/archives")
        for package in npm_packages():
            shutil.copy(package, archives)
        self.tool("npm")
        # As the workflow gives it: npm would take a relative path for a repository's name.
        self.run_script("publish.sh", "npm", VERSION, os.path.relpath(archives, PROJECT))
        self.assertTrue(all(line.split()[2].startswith("/") for line in self.calls()))
        packages = [line.split()[2].rsplit("/", 1)[-1] for line in self.calls()]
        npm = "-".join(HOST["npm"].values())
        self.assertEqual(packages, [f"cachesim-{npm}-{VERSION}.tgz", f"cachesim-{VERSION}.tgz"])
        # What is there already is no failure, and what failed is one.
        self.tool("npm", '[ "$1" != publish ]\n')
        self.run_script("publish.sh", "npm", VERSION, archives)
        self.tool("npm", "exit 1\n")
        self.assertNotEqual(self.run_script("publish.sh", "npm", VERSION, archives, check=False).returncode, 0)

    def test_the_image_is_of_both_architectures(self):
        self.tool("docker")
        names = {"IMAGE": "images.example/me/cachesim", "BASE": "images.example/static:nonroot"}
        self.run_script("publish.sh", "container", VERSION, self.place, GITHUB_ACTOR="me", GH_TOKEN="t", **names)
        build = self.calls()[-1]
        self.assertIn("--platform linux/amd64,linux/arm64", build)
        self.assertIn(f"--tag images.example/me/cachesim:{VERSION}", build)
        self.assertIn("/container/Containerfile ", build)
        self.assertNotEqual(self.run_script("publish.sh", "container", VERSION, self.place, check=False).returncode, 0)

    def test_nobody_gets_a_version_before_a_release_who_does_not_name_it(self):
        archives, _ = self.released(f"{self.id()}/archives")
        self.tool("gh", '[ "$2" != view ] || exit 1\ncat >/dev/null\n')
        self.run_script("publish.sh", "release", "1.0.0-rc.1", archives)
        self.assertIn("--prerelease", self.calls()[-1])
        (archives / "cachesim-1.0.0-rc.1.tgz").touch()
        self.tool("npm")
        self.run_script("publish.sh", "npm", "1.0.0-rc.1", archives)
        self.assertIn("--tag next", self.calls()[-1])
        self.tool("docker")
        names = {"IMAGE": "i.example/c", "BASE": "i.example/static", "GITHUB_ACTOR": "me", "GH_TOKEN": "t"}
        self.run_script("publish.sh", "container", "1.0.0-rc.1", archives, **names)
        self.assertNotIn(":latest", self.calls()[-1])

    def test_the_crate_is_published_without_building_it(self):
        self.tool("cargo")
        self.run_script("publish.sh", "crates", VERSION, self.place)
        self.assertIn("publish --locked --no-verify", self.calls()[-1])
        # One that is there already is no failure.
        self.tool("cargo", '[ "$1" != publish ]\n')
        self.run_script("publish.sh", "crates", VERSION, self.place)

    def test_each_step_of_the_workflow_is_one_of_these_scripts(self):
        workflow = (PROJECT / ".github/workflows/release.yml").read_text()
        named = {word for word in workflow.replace("$(", " ").split() if word.startswith("packaging/")}
        scripts = {word for word in named if word.endswith(".sh")}
        self.assertEqual(
            {script.rsplit("/", 1)[-1] for script in scripts},
            {"version.sh", "build.sh", "archive.sh", "packages.sh", "try.sh", "publish.sh"},
        )
        for script in scripts:
            self.assertTrue(os.access(PROJECT / script, os.X_OK), script)


if __name__ == "__main__":
    unittest.main()
