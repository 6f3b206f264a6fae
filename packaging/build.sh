#!/usr/bin/env bash
# Builds the program of a release for a target: OUT/TARGET/cachesim (.exe).
#
#   build.sh TARGET OUT [PROFILE]
#
# PROFILE is dist, what is shipped, unless another one is given. For Linux the program is static (musl), so that it runs
# on every distribution; that needs musl-tools.
set -euo pipefail

(($# == 2 || $# == 3)) || { echo "build.sh: usage: build.sh TARGET OUT [PROFILE]" >&2 && exit 2; }
target="$1" profile="${3:-dist}"
mkdir -p "$2"
out="$(cd "$2" && pwd)"
cd "$(dirname "${BASH_SOURCE[0]}")/.."

case "$target" in
*-windows-*) name=cachesim.exe ;;
*) name=cachesim ;;
esac
# Nothing of Visual C++ has to be installed.
export CARGO_TARGET_X86_64_PC_WINDOWS_MSVC_RUSTFLAGS="-C target-feature=+crt-static"
rustup target add "$target" >&2
cargo build --locked --features full --profile "$profile" --target "$target" --bin cachesim
# Cargo keeps what the profile dev makes in a folder of another name.
folder="$profile"
[[ $profile != dev ]] || folder=debug
mkdir -p "$out/$target"
cp "${CARGO_TARGET_DIR:-target}/$target/$folder/$name" "$out/$target/$name"
echo "$out/$target/$name"
