#!/usr/bin/env bash
# Says where a build goes and by which key it can be found again: that of the sources, of the
# compiler, and of the image of the runner, whose C library the program is linked with.
set -euo pipefail
# shellcheck source=workflow.sh
source "$(dirname "${BASH_SOURCE[0]}")/workflow.sh"

# In the action's folder: the checked repository's toolchain has no say.
compiler="$(cd "$GITHUB_ACTION_PATH" && rustc --version)" || refuse "install: build needs Rust on the runner"
sources="$(
    cd "$GITHUB_ACTION_PATH"
    find . \( -name .git -o -name target \) -prune -o -type f -print0 |
        LC_ALL=C sort -z | xargs -0 cat | sha256
)"
runner="${RUNNER_OS:-unknown}-${RUNNER_ARCH:-unknown}-${ImageOS:-own}"
key="$(printf '%s\n%s\n' "$compiler" "$sources" | sha256)"
output folder "$RUNNER_TEMP/cachesim/build-${key:0:16}"
output key "cachesim-$runner-$key"
