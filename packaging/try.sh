#!/usr/bin/env bash
# How long it takes from nothing to a program that runs, with one command, for who has only npm, only
# Python or only tar. Each has a new home, an empty environment and a PATH with no more than that.
#
#   try.sh [--rust] ARTIFACTS
#
# ARTIFACTS has the npm packages, the wheel and the archive with its checksum for this computer.
# Over 30 seconds is a failure. --rust also builds from the sources; its time is only printed.
set -euo pipefail

refuse() {
    echo "try.sh: $*" >&2
    exit 2
}

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
with_rust=
if [[ ${1:-} == --rust ]]; then
    with_rust=yes
    shift
fi
[[ $# == 1 && -d $1 ]] || refuse "usage: try.sh [--rust] ARTIFACTS"
artifacts="$(cd "$1" && pwd)"

case "$(uname -s)-$(uname -m)" in
Linux-x86_64) npm=linux-x64 system=manylinux chip=x86_64 ;;
Linux-aarch64) npm=linux-arm64 system=manylinux chip=aarch64 ;;
Darwin-x86_64) npm=darwin-x64 system=macosx chip=x86_64 ;;
Darwin-arm64) npm=darwin-arm64 system=macosx chip=arm64 ;;
*) refuse "not for $(uname -s) on $(uname -m)" ;;
esac

# The one file that a pattern has found.
one() {
    [[ $# == 1 && -f $1 ]] || refuse "there has to be one file, not: $*"
    echo "$1"
}
launcher="$(one "$artifacts"/cachesim-[0-9]*.tgz)"
platform="$(one "$artifacts"/cachesim-$npm-*.tgz)"
wheel="$(one "$artifacts"/cachesim-*-$system*$chip.whl)"

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
failed=
TIMEFORMAT=%R

# A command in a new home, with these tools alone: try NAME MOST-SECONDS TOOLS COMMAND [VARIABLE=VALUE …]
try() {
    local name="$1" most="$2" tools="$3" command="$4" home="$work/$1" tool path taken version
    shift 4
    mkdir -p "$home/tools"
    for tool in $tools; do
        if path="$(type -P "$tool")"; then ln -s "$(realpath "$path")" "$home/tools/$tool"; fi
    done
    # A version manager's stand-in for Python needs more than Python.
    if [[ -L $home/tools/python3 ]]; then
        ln -sf "$(python3 -c 'import sys; print(sys.executable)')" "$home/tools/python3"
    fi
    cd "$home"
    if ! taken="$({ time env -i "$@" HOME="$home" PATH="$home/tools:$home/.local/bin" \
        /bin/sh -c "$command" >log 2>&1; } 2>&1)"; then
        echo "$name: failed" && cat log
        failed=yes
        return
    fi
    version="$(tail -n 1 log)"
    printf '%-7s %7s s  %s\n' "$name" "$taken" "$version"
    [[ $version == "cachesim "* ]] || { echo "$name: no version" && failed=yes; }
    ((most == 0 || ${taken%.*} < most)) || { echo "$name: over $most s" && failed=yes; }
}

try npm 30 "node npm sh" \
    "npm install --global --prefix .local --offline '$launcher' '$platform' && cachesim --version"
try python 30 "python3" \
    "python3 -m venv .local && .local/bin/pip install --no-index '$wheel' && cachesim --version"
try tar 30 "sh tar gzip uname mktemp mkdir rm cp mv chmod sha256sum shasum" \
    "sh '$here/install.sh' && cachesim --version" CACHESIM_BASE_URL="file://$artifacts"
if [[ -n $with_rust ]]; then
    cargo="${CARGO_HOME:-$HOME/.cargo}"
    try rust 0 "sh env cc ld ar as" \
        "PATH=\"\$PATH:$cargo/bin\"
        cargo install --quiet --locked --features full --path '$(dirname "$here")' --root .local && cachesim --version" \
        CARGO_HOME="$cargo" RUSTUP_HOME="${RUSTUP_HOME:-$HOME/.rustup}"
fi
[[ -z $failed ]]
