#!/usr/bin/env bash
# Downloads the archive of a release into a folder, if it is not there from an earlier run, and puts the program beside it.
# It is taken only where the archive is the one that the workflow of that release built: by its checksum, and by the
# attestation that the workflow signed for the tag. What an earlier run left is looked at as closely.
set -euo pipefail
# shellcheck source=workflow.sh
source "$(dirname "${BASH_SOURCE[0]}")/workflow.sh"

folder="$1"
case "$TARGET" in
*-windows-*) archive="cachesim-$TARGET.zip" ;;
*) archive="cachesim-$TARGET.tar.gz" ;;
esac
command -v gh >/dev/null || refuse "install: download needs the program gh on the runner; use install: build"

mkdir -p "$folder"
if [[ ! -f $folder/$archive ]]; then
    gh release download "$RELEASE" --repo "${GITHUB_SERVER_URL#*://}/$ACTION_REPOSITORY" \
        --pattern "$archive" --pattern "$archive.sha256" --dir "$folder" --clobber ||
        refuse "install: $ACTION_REPOSITORY has no release $RELEASE with $archive"
fi
read -r expected _ <"$folder/$archive.sha256"
found="$(sha256 <"$folder/$archive")"
[[ $found == "$expected" ]] ||
    refuse "install: $archive is damaged: its SHA-256 is $found, not $expected"
gh attestation verify "$folder/$archive" --repo "$ACTION_REPOSITORY" --source-ref "refs/tags/$RELEASE" \
    --signer-workflow "$ACTION_REPOSITORY/.github/workflows/release.yml" ||
    refuse "install: $archive has no attestation of $ACTION_REPOSITORY for $RELEASE; use install: build"

# Beside the folder that is kept: the program comes out of the archive every time.
program="cachesim-$TARGET/$(program_name)"
mkdir -p "$folder.bin"
case "$archive" in
*.zip) unzip -q -j -o "$folder/$archive" "$program" -d "$folder.bin" ;;
*) tar -xzf "$folder/$archive" -C "$folder.bin" --strip-components=1 "$program" ;;
esac
