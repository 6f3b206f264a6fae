#!/usr/bin/env bash
# Makes the samples of this folder, or of another one, anew from reports/sessions.
#
#   reports/make.sh [FOLDER]
#
# CACHESIM names the program; without it, cargo builds and runs it.
set -euo pipefail

into=$(realpath -m -- "${1:-$(dirname -- "$0")}")
cd -- "$(dirname -- "$0")"
mkdir -p -- "$into"

cachesim() {
    if [[ -n ${CACHESIM:-} ]]; then
        "$CACHESIM" "$@"
    else
        cargo run --quiet --release -- "$@"
    fi
}

# Two breaks in one session, and a compaction in another one.
cachesim chart turns sessions --session a11ce --no-config --quiet -o "$into/turns.svg"
cachesim chart context sessions --session c0ffee --no-config --quiet -o "$into/context.svg"
for kind in cost gaps strategies breaks daily waterfall; do
    cachesim chart "$kind" sessions --no-config --quiet -o "$into/$kind.svg"
done
cachesim report sessions --no-config --quiet -o "$into/report.html"
