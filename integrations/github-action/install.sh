#!/usr/bin/env bash
# Puts the program where the check finds it and says where that is: builds it from the sources of
# the action, downloads it from the action's release, or takes the one that is there.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
# shellcheck source=workflow.sh
source "$here/workflow.sh"

build() {
    command -v cargo >/dev/null || refuse "install: build needs Rust on the runner"
    # From its own folder, so that no toolchain or setting of the checked repository has a say.
    cd "$GITHUB_ACTION_PATH"
    CARGO_TARGET_DIR="$RUNNER_TEMP/cachesim/target" \
        cargo install --locked --profile dist --path . --root "$folder" >&2
}

# Finds the program that is there: a path, from the workspace, or a name on the PATH.
find_present() {
    local path="$INPUT_BINARY"
    if [[ $path != */* ]]; then
        path="$(type -P -- "$path")" || refuse "binary: $INPUT_BINARY is not on the PATH"
    fi
    [[ -f $path && -x $path ]] || refuse "binary: $INPUT_BINARY is no program"
    binary="$(cd -- "$(dirname -- "$path")" && pwd)/$(basename -- "$path")"
}

token="${DOWNLOAD_TOKEN:-}"
unset DOWNLOAD_TOKEN
case "$INPUT_INSTALL" in
build)
    folder="$BUILD_FOLDER"
    binary="$folder/bin/$(program_name)"
    # Restored from the cache, it is there.
    [[ -x $binary ]] || (build)
    ;;
download)
    GH_TOKEN="$token" "$here/download.sh" "$RELEASE_FOLDER"
    binary="$RELEASE_FOLDER.bin/$(program_name)"
    ;;
none) find_present ;;
*) refuse "install: $INPUT_INSTALL is none of build, download, none" ;;
esac

"$binary" --version
output binary "$binary"
