#!/usr/bin/env bash
# Times `cachesim analyze` against ccusage on generated trees: 200 MB in 400 sessions, and one file
# of 200 MB. Needs ../shared, python3, npm and hyperfine. Prints a dated table; keep it in
# benches/results/.
set -euo pipefail
cd "$(dirname "$0")/.."
generator=../shared/tools/gen_transcripts.py
[[ -f $generator ]] || { echo "skipped: $generator is not here"; exit 0; }
work=${BENCH_DIR:-$(mktemp -d)}
runs=${BENCH_RUNS:-9}

cargo build --release --quiet
cachesim=$PWD/target/release/cachesim
if [[ ! -x $work/node_modules/.bin/ccusage ]]; then
    (cd "$work" && npm install --silent ccusage@20.0.24 >/dev/null)
fi
ccusage=$work/node_modules/.bin/ccusage
[[ -d $work/many ]] || python3 "$generator" --out "$work/many/.claude" --mb 200 --sessions 400 --seed 1 >/dev/null
[[ -d $work/one ]] || python3 "$generator" --out "$work/one/.claude" --mb 200 --sessions 1 --seed 2 --inline-sidechains >/dev/null

version=$("$cachesim" --version)
echo "# $(date -u +%F), $version, $(nproc) cores, $runs runs each, page cache warm"
echo
echo "| tree | command | median s | min s | max s | of ccusage | peak MiB |"
echo "| --- | --- | --: | --: | --: | --: | --: |"
for tree in many one; do
    export CLAUDE_CONFIG_DIR=$work/$tree/.claude
    json=$work/$tree.json
    env -i PATH="$PATH" HOME="$work/$tree" CLAUDE_CONFIG_DIR="$CLAUDE_CONFIG_DIR" TZ=UTC \
        hyperfine -N -w 2 -r "$runs" --export-json "$json" \
        "$ccusage --offline claude daily --json" \
        "$cachesim analyze --format json -q" \
        "$cachesim analyze --format json -q --jobs 1" \
        "$cachesim breaks --format json -q" \
        "$cachesim context --format json -q" >/dev/null 2>&1
    i=0
    for command in "$ccusage --offline claude daily --json" "$cachesim analyze --format json -q" "$cachesim analyze --format json -q --jobs 1" \
        "$cachesim breaks --format json -q" "$cachesim context --format json -q"; do
        # shellcheck disable=SC2086
        peak=$(env -i PATH="$PATH" HOME="$work/$tree" CLAUDE_CONFIG_DIR="$CLAUDE_CONFIG_DIR" TZ=UTC python3 -c '
import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print(round(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024))' $command)
        python3 - "$json" "$i" "$tree" "$peak" <<'PY'
import json, sys
results = json.load(open(sys.argv[1]))["results"]
one = results[int(sys.argv[2])]
base = results[0]["median"]
name = one["command"].rsplit("/", 1)[-1].replace("--offline ", "")
print(f"| {sys.argv[3]} | `{name}` | {one['median']:.3f} | {one['min']:.3f} | {one['max']:.3f} | {one['median'] / base:.2f} | {sys.argv[4]} |")
PY
        i=$((i + 1))
    done
done

# Twenty strategies at once on real sessions, against `analyze` with its five.
corpus=../shared/corpus
if [[ -d $corpus ]]; then
    twenty=billed,replay,none,5m,1h,mixed,1h-main-5m-agents,5m-main-1h-agents,system-only,last-message,last-two,every-10,four-even,cheapest-layout,5m-pinged,1h-pinged,cheapest-pings,forked-agents,microcompact-60m,optimal
    echo
    echo "| corpus | median s |"
    echo "| --- | --: |"
    hyperfine -N -i -w 2 -r "$runs" --export-json "$work/corpus.json" \
        "$cachesim analyze $corpus -q" "$cachesim compare $corpus -q --strategy $twenty" >/dev/null 2>&1
    python3 - "$work/corpus.json" <<'PY'
import json, sys
for one in json.load(open(sys.argv[1]))["results"]:
    print(f"| `{' '.join(one['command'].split()[1:2])}` | {one['median']:.3f} |")
PY
fi
