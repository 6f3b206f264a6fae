#!/usr/bin/env bash
# Says which release is downloaded, for which target, where it goes and by which key it can be found again.
set -euo pipefail
# shellcheck source=workflow.sh
source "$(dirname "${BASH_SOURCE[0]}")/workflow.sh"

# The target that the archive for this runner was built for.
target() {
    case "$(uname -s)-$(uname -m)" in
    Linux-x86_64) echo x86_64-unknown-linux-musl ;;
    Linux-aarch64 | Linux-arm64) echo aarch64-unknown-linux-musl ;;
    Darwin-x86_64) echo x86_64-apple-darwin ;;
    Darwin-arm64) echo aarch64-apple-darwin ;;
    MINGW*-x86_64 | MSYS*-x86_64) echo x86_64-pc-windows-msvc ;;
    *) return 1 ;;
    esac
}

[[ -n $ACTION_REPOSITORY ]] ||
    refuse "install: download needs the action by a tag (OWNER/cachesim@TAG), not by a path"
version="${INPUT_VERSION:-$ACTION_REF}"
# A branch or a commit has no release of its own.
[[ $version =~ ^v[0-9]+\.[0-9]+\.[0-9]+(-[A-Za-z0-9.]+)?$ ]] ||
    refuse "install: download needs a release: use the action by its tag (OWNER/cachesim@v0.2.0), or set version"
target="$(target)" || refuse "install: there is no download for $(uname -s) on $(uname -m); use install: build"
output version "$version"
output target "$target"
# A fork's release of the same name is another one.
output folder "$RUNNER_TEMP/cachesim/${ACTION_REPOSITORY//\//-}-$version-$target"
output key "cachesim-$ACTION_REPOSITORY-$version-$target"
