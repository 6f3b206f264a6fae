//! Where the program comes from: a build, a download, or what is there, each with programs on the PATH
//! that stand in for `cargo` and `gh`.

use super::program::{script, stand_in};
use super::runner::{Run, Runner};
use crate::common::has;

/// A runner with a configuration, on whose PATH is the stand-in, under another name.
fn runner() -> Runner {
    let runner = Runner::new().with_file("cachesim.toml", "");
    stand_in(&runner.path());
    runner
}

/// A `gh` that puts an archive with the stand-in, and this as its checksum, where they are wanted, and that finds an
/// attestation of it or, with another exit code than 0, none.
fn runner_with_release(checksum: &str, attested: u8) -> Runner {
    let runner = runner();
    let gh = format!(
        r#"#!/bin/bash
set -euo pipefail
here="$(dirname "$0")"
printf '%s\n' "$@" >>"$here/asked"
if [[ $1 == attestation ]]; then exit {attested}; fi
archive= folder=
while (($#)); do
    case "$1" in
    --pattern) if [[ $2 != *.sha256 ]]; then archive="$2"; fi ;;
    --dir) folder="$2" ;;
    esac
    shift
done
inner="$here/${{archive%.tar.gz}}"
mkdir "$inner"
cp "$here/stand-in" "$inner/cachesim"
tar -czf "$folder/$archive" -C "$here" "$(basename "$inner")"
(cd "$folder" && {checksum} "$archive" >"$archive.sha256")
"#
    );
    script(&runner.path(), "gh", &gh);
    runner
}

const SUM: &str = "\"$(type -P sha256sum || echo shasum -a 256)\"";

fn passes(run: &Run) {
    assert_eq!((run.output("verdict"), run.failed), ("pass", None), "{}", run.log);
    assert!(run.log.contains("cachesim 0.0.0"), "the log says which version it is");
}

#[test]
fn a_program_on_the_path_is_used_by_its_name() {
    passes(&runner().with("install", "none").with("binary", "stand-in").run());
}

#[test]
fn a_program_of_the_workspace_is_found_from_any_working_directory() {
    let runner = runner()
        .with_file("below/cachesim.toml", "")
        .with("install", "none")
        .with("binary", "./stand-in")
        .with("working-directory", "below");
    stand_in(&runner.workspace());
    passes(&runner.run());
}

#[test]
fn a_build_is_of_the_action_and_is_kept_under_a_key() {
    if !has(&["find", "xargs"]) {
        return;
    }
    let runner = runner();
    let cargo = r#"#!/bin/bash
set -euo pipefail
[[ -z ${DOWNLOAD_TOKEN:-}${GH_TOKEN:-} ]]
[[ "$*" == "install --locked --profile dist --path . --root "* && $PWD == "${GITHUB_ACTION_PATH%/}" ]]
mkdir -p "${*: -1}/bin"
cp "$(dirname "$0")/stand-in" "${*: -1}/bin/cachesim"
"#;
    script(&runner.path(), "cargo", cargo);
    script(&runner.path(), "rustc", "#!/bin/bash\necho rustc 1.88.0\n");
    let run = runner.with("install", "build").run();
    passes(&run);
    let cache = run.given("actions/cache@");
    assert!(cache["path"].contains("/cachesim/build-"), "{cache:?}");
    let hash = cache["key"].strip_prefix("cachesim-Linux-X64-own-").expect("a key of the runner");
    assert!(hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()), "{hash}");
}

#[test]
fn a_download_is_of_the_release_of_the_action() {
    if !has(&["tar"]) {
        return;
    }
    let runner = runner_with_release(SUM, 0);
    let asked = runner.path().join("asked");
    let run = runner.run();
    passes(&run);
    let asked = std::fs::read_to_string(asked).expect("gh was called");
    assert!(
        asked.starts_with("release\ndownload\nv0.2.0\n--repo\ngit.example/OWNER/cachesim\n"),
        "{asked}"
    );
    assert!(asked.contains("\nattestation\nverify\n"), "{asked}");
    let signed = "--repo\nOWNER/cachesim\n--source-ref\nrefs/tags/v0.2.0\n--signer-workflow\n\
        OWNER/cachesim/.github/workflows/release.yml\n";
    assert!(asked.ends_with(signed), "{asked}");
    let cache = run.given("actions/cache@");
    assert!(cache["path"].contains("/cachesim/OWNER-cachesim-v0.2.0-"), "{cache:?}");
    assert!(cache["key"].starts_with("cachesim-OWNER/cachesim-v0.2.0-"), "{cache:?}");
}

#[test]
fn another_release_can_be_named() {
    if !has(&["tar"]) {
        return;
    }
    let runner = runner_with_release(SUM, 0).with("version", "v0.3.0-rc.1");
    let asked = runner.path().join("asked");
    let run = runner.run();
    passes(&run);
    let asked = std::fs::read_to_string(asked).expect("gh was called");
    assert!(asked.starts_with("release\ndownload\nv0.3.0-rc.1\n"), "{asked}");
    for version in ["main", "v1", "v0.3.0; rm -rf .", "../v0.3.0"] {
        refused(runner_with_release(SUM, 0).with("version", version), "download needs a release");
    }
}

/// The first command of the log that a run without a program leaves.
fn refused(runner: Runner, message: &str) {
    let run = runner.run();
    assert_eq!(run.failed, Some(2), "{}", run.log);
    assert!(run.commands[0].contains(message), "{:?}", run.commands);
}

#[test]
fn a_download_that_is_not_the_release_s_is_refused() {
    if !has(&["tar"]) {
        return;
    }
    refused(runner_with_release("echo 00ff", 0), "is damaged: its SHA-256 is ");
    refused(runner_with_release("echo 00ff", 0), ", not 00ff");
    refused(runner_with_release(SUM, 1), "has no attestation of OWNER/cachesim");
}

#[test]
fn a_release_that_is_not_there_is_named() {
    let runner = runner();
    script(&runner.path(), "gh", "#!/bin/bash\nexit 1\n");
    refused(runner, "OWNER/cachesim has no release v0.2.0 with cachesim-");
}

/// What an earlier run left in the cache is looked at once more.
#[test]
fn a_restored_download_is_verified() {
    if !has(&["tar"]) {
        return;
    }
    let planted = |attested: u8| {
        let runner = runner_with_release(SUM, attested);
        let root = runner.path().parent().expect("a folder").to_owned();
        let name = "x86_64-unknown-linux-musl";
        let folder = root.join(format!("temp/cachesim/OWNER-cachesim-v0.2.0-{name}"));
        std::fs::create_dir_all(&folder).expect("a folder");
        let gh = runner.path().join("gh");
        let made = std::process::Command::new(gh)
            .args(["release", "--dir"])
            .arg(&folder)
            .args(["--pattern", &format!("cachesim-{name}.tar.gz")])
            .status();
        assert!(made.expect("bash runs").success());
        std::fs::remove_file(runner.path().join("asked")).expect("a file");
        runner
    };
    if std::env::consts::ARCH != "x86_64" || !cfg!(target_os = "linux") {
        return;
    }
    let runner = planted(0);
    let asked = runner.path().join("asked");
    let run = runner.run();
    passes(&run);
    let asked = std::fs::read_to_string(asked).expect("gh was called");
    assert!(asked.starts_with("attestation\nverify\n"), "{asked}");
    refused(planted(1), "has no attestation of OWNER/cachesim");
}
