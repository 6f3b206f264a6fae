#!/usr/bin/env bash
# Prints the version in Cargo.toml. With a tag it fails where that is another one, or where the changelog says nothing of it.
#
#   version.sh [TAG]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

version="$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)"
if (($# == 1)); then
    [[ $1 == "v$version" ]] ||
        { echo "version.sh: the tag is $1, and Cargo.toml has $version: tag v$version" >&2 && exit 1; }
    grep -qxE "## ${version//./\\.}( .*)?" CHANGELOG.md ||
        { echo "version.sh: CHANGELOG.md has no section ## $version" >&2 && exit 1; }
fi
echo "$version"
