#!/usr/bin/env bash
# Downloads the program of a release into a folder, and takes it only where the archive is the one that the release's
# workflow built: by its checksum, and by the attestation that the workflow signed.
set -euo pipefail
# shellcheck source=workflow.sh
source "$(dirname "${BASH_SOURCE[0]}")/workflow.sh"

folder="$1"
[[ -n $ACTION_REPOSITORY ]] ||
    refuse "install: download needs the action by a tag (OWNER/cachesim@TAG), not by a path"
case "$TARGET" in
*-windows-*) archive="cachesim-$TARGET.zip" ;;
*) archive="cachesim-$TARGET.tar.gz" ;;
esac
repository="${GITHUB_SERVER_URL#*://}/$ACTION_REPOSITORY"
there="$(mktemp -d "$RUNNER_TEMP/cachesim-download.XXXXXX")"
trap 'rm -rf "$there"' EXIT

gh release download "$RELEASE" --repo "$repository" \
    --pattern "$archive" --pattern "$archive.sha256" --dir "$there" --clobber ||
    refuse "install: $ACTION_REPOSITORY has no release $RELEASE with $archive"
read -r expected _ <"$there/$archive.sha256"
found="$(sha256 <"$there/$archive")"
[[ $found == "$expected" ]] ||
    refuse "install: $archive is damaged: its SHA-256 is $found, not $expected"
gh attestation verify "$there/$archive" --repo "$ACTION_REPOSITORY" ||
    refuse "install: $archive has no attestation of $ACTION_REPOSITORY; use install: build"
mkdir -p "$folder"
program="cachesim-$TARGET/$(program_name)"
case "$archive" in
*.zip) unzip -q -j -o "$there/$archive" "$program" -d "$folder" ;;
*) tar -xzf "$there/$archive" -C "$folder" --strip-components=1 "$program" ;;
esac
