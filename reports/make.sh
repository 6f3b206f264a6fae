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

for kind in turns cost gaps strategies breaks context daily; do
    cachesim chart "$kind" sessions --no-config --quiet -o "$into/$kind.svg"
done
cachesim report sessions --no-config --quiet -o "$into/report.html"
