#!/usr/bin/env bash
# Makes every other package of a release of its programs and archives: for npm and PyPI, the manifests of Homebrew and
# Scoop, the context of the container image, and the install script.
#
#   packages.sh VERSION PROGRAMS ARCHIVES BASE-URL
#
# PROGRAMS has TARGET/cachesim; ARCHIVES has the archives with their checksums, and gets the packages.
set -euo pipefail

(($# == 4)) || { echo "packages.sh: usage: packages.sh VERSION PROGRAMS ARCHIVES BASE-URL" >&2 && exit 2; }
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
version="$1" programs="$2" archives="$3" base_url="$4"

node "$here/npm/build.mjs" --version "$version" --binaries "$programs" --out "$archives"
python3 "$here/pypi/build.py" --version "$version" --binaries "$programs" --out "$archives"
python3 "$here/manifests.py" --version "$version" --archives "$archives" --out "$archives" --base-url "$base_url"
# The address in it is the one of this release.
OLD='https://git.example/OWNER/cachesim/releases/download/v$version' NEW="$base_url" awk '
    { at = index($0, ENVIRON["OLD"]) }
    at { $0 = substr($0, 1, at - 1) ENVIRON["NEW"] substr($0, at + length(ENVIRON["OLD"])) }
    { print }
' "$here/install.sh" >"$archives/install.sh"
