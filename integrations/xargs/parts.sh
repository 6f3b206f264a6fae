#!/usr/bin/env bash
# The sessions of an organisation, as parts that are made on one machine: the same files as on a cluster.
#
#     integrations/xargs/parts.sh ROOT OUT [OPTION OF cachesim fleet part…]
#
# Each domain (the first folders below ROOT, or what DOMAINS says) goes whole to one process. JOBS says how many there
# are at a time [default: one for each core], CACHESIM where the program is. The manifest is written last, to
# OUT/manifest.json.
set -euo pipefail

if (($# < 2)); then
    sed -n 's/^#  *//p' "$0" >&2
    exit 2
fi
program=${CACHESIM:-cachesim}
root=$(realpath "$1")
mkdir -p "$2"
out=$(realpath "$2")
shift 2
options=("$@")
# What was damaged is counted in the parts.
[[ " $* " == *" --jobs "* ]] || options+=(--jobs 1)
[[ " $* " == *" --quiet "* || " $* " == *" --verbose "* ]] || options+=(--quiet)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The largest first, so that none is left to run alone at the end.
"$program" domains --root "$root" --domains "${DOMAINS:-depth:1}" >"$work/domains"
sed -E 's/^(.*"bytes":([0-9]+),.*)$/\2\t\1/' "$work/domains" | sort -t $'\t' -k1,1nr -s | cut -f2- |
    split -l 1 -a 7 --numeric-suffixes - "$work/domain."

export program root out
# shellcheck disable=SC2016 # the inner shell is to expand them
find "$work" -name 'domain.*' -print0 | sort -z | xargs -0 --no-run-if-empty -P "${JOBS:-$(nproc)}" -I '{}' bash -c '
    "$program" part --listing "$1" --root "$root" --out "$out" "${@:2}" >"$1.part"
' part '{}' "${options[@]}"
find "$work" -name 'domain.*.part' -exec cat '{}' + | "$program" gather --out "$out"
