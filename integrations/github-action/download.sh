#!/usr/bin/env bash
# Downloads the program into a folder, from the release of the tag that the action is used by:
# cachesim-TARGET.tar.gz, with the program alone in it, and cachesim-TARGET.tar.gz.sha256.
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

folder="$1"
[[ -n $ACTION_REPOSITORY && -n $ACTION_REF ]] ||
    refuse "install: download needs the action by a tag (OWNER/cachesim@TAG), not by a path"
target="$(target)" || refuse "install: there is no download for $(uname -s) on $(uname -m)"
archive="cachesim-$target.tar.gz"

mkdir -p "$folder"
gh release download "$ACTION_REF" --repo "${GITHUB_SERVER_URL#*://}/$ACTION_REPOSITORY" \
    --pattern "$archive" --pattern "$archive.sha256" --dir "$folder" --clobber ||
    refuse "install: $ACTION_REPOSITORY has no release $ACTION_REF with $archive"
read -r expected _ <"$folder/$archive.sha256"
found="$(sha256 <"$folder/$archive")"
[[ $found == "$expected" ]] ||
    refuse "install: $archive is damaged: its SHA-256 is $found, not $expected"
tar -xzf "$folder/$archive" -C "$folder" "$(program_name)"
