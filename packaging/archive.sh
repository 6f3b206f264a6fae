#!/usr/bin/env bash
# Makes the archive of a release: cachesim-TARGET.tar.gz (.zip for Windows) with the program, its
# texts, completions and manual pages, and beside it the checksum as sha256sum writes it.
#
#   archive.sh [--host-binary PROGRAM] TARGET BINARY OUT
#
# Completions and pages are printed by the program. Where it was built for another platform, they
# come from --host-binary: the same version, built for this one. The same input gives the same
# bytes. Times are SOURCE_DATE_EPOCH, or that of the commit.
set -euo pipefail

refuse() {
    echo "archive.sh: $*" >&2
    exit 2
}

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
project="$(dirname "$here")"
host=
if [[ ${1:-} == --host-binary ]]; then
    host="${2:?--host-binary needs a program}"
    shift 2
fi
(($# == 3)) || refuse "usage: archive.sh [--host-binary PROGRAM] TARGET BINARY OUT"
target="$1" binary="$2" out="$3"
[[ -f $binary ]] || refuse "$binary is missing"

of_target() {
    python3 -c '
import json, sys
targets = json.load(open(sys.argv[1]))
print(*[each[sys.argv[3]] for each in targets if each["target"] == sys.argv[2]])
' "$here/targets.json" "$target" "$1"
}
format="$(of_target archive)"
name="$(of_target binary)"
[[ -n $format ]] || refuse "$target is not in targets.json"

if [[ -z $host ]]; then
    "$binary" --version >/dev/null 2>&1 ||
        refuse "$binary does not run here: give a program of the same version with --host-binary"
    host="$binary"
fi
if [[ -z ${SOURCE_DATE_EPOCH:-} ]]; then
    # In ZIP files time begins in 1980.
    SOURCE_DATE_EPOCH="$(git -C "$project" log -1 --format=%ct 2>/dev/null || echo 315532800)"
fi
export SOURCE_DATE_EPOCH

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
folder="$work/cachesim-$target"
mkdir -p "$folder/completions" "$folder/man" "$folder/fonts" "$out"
install -m 755 "$binary" "$folder/$name"
cp "$project"/{README.md,LICENSE,THIRD_PARTY.md,CHANGELOG.md} "$folder"
# THIRD_PARTY.md leads here.
cp "$project"/fonts/{README.md,OFL.txt} "$folder/fonts"

# Shells look for these names.
for completion in bash:cachesim.bash zsh:_cachesim fish:cachesim.fish elvish:cachesim.elv powershell:_cachesim.ps1; do
    "$host" --no-config completions "${completion%%:*}" >"$folder/completions/${completion#*:}"
done
"$host" --no-config man --all "$folder/man"

archive="cachesim-$target.$format"
python3 "$here/pack.py" "$folder" "$out/$archive"
# Of standard input, since some of these programs put a mark in front of a name.
sum() { if command -v sha256sum >/dev/null; then sha256sum; else shasum -a 256; fi | cut -d ' ' -f 1; }
printf '%s  %s\n' "$(sum <"$out/$archive")" "$archive" >"$out/$archive.sha256"
echo "$out/$archive"
