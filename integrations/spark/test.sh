#!/usr/bin/env bash
# Whether a cluster makes the same parts as one machine, whatever happens to it.
#
#     integrations/spark/test.sh [FOLDER]     about three minutes; the folder for sessions and parts [default: a
#                                             temporary one]
#
# It needs PySpark 4 and a Java runtime (pip install pyspark, apt-get install default-jre-headless), the program where
# CACHESIM says [default: target/release/cachesim], and the generator of sessions where GENERATOR says.
# Masters and workers listen on loopback addresses alone, and end with the script.
set -euo pipefail
cd "$(dirname "$0")/../.."

program=$(realpath "${CACHESIM:-target/release/cachesim}")
generator=${GENERATOR:-../shared/tools/gen_transcripts.py}
driver=$PWD/integrations/spark/cachesim_spark.py
work=${1:-$(mktemp -d)}
mkdir -p "$work"
work=$(realpath "$work")
export SPARK_LOCAL_IP=127.0.0.1 SPARK_NO_DAEMONIZE=1 SPARK_LOG_DIR=$work/logs
spark=$(python3 -c 'import os, pyspark; print(os.path.dirname(pyspark.__file__))')
export SPARK_HOME=$spark

processes=()
end() {
    for process in "${processes[@]}"; do kill -9 -- "-$process" 2>/dev/null || true; done
}
trap end EXIT

say() { printf '%s %s\n' "$(date +%H:%M:%S)" "$*"; }

say "sessions of eight developers"
for number in 1 2 3 4 5 6 7 8; do
    [[ -d $work/sessions/dev-$number ]] || python3 "$generator" --out "$work/sessions/dev-$number" --mb 3 \
        --sessions 8 --seed "$number" >/dev/null
done

say "on one machine, without Spark"
CACHESIM=$program integrations/xargs/parts.sh "$work/sessions" "$work/expected"

# Runs the driver, and holds what it made against what was made without it.
submit() {
    local name=$1 out=$work/$1
    shift
    "$spark/bin/spark-submit" --conf spark.ui.enabled=false --conf spark.driver.host=127.0.0.1 \
        --conf spark.driver.bindAddress=127.0.0.1 "${@:1:$#-1}" "$driver" --root "$work/sessions" --out "$out" \
        --program "$slow" --partitions "${!#}" >"$work/$name.log" 2>&1 || { tail -n 40 "$work/$name.log" && exit 1; }
    diff -r "$work/expected" "$out"
    say "$name: the same"
}

slow=$program
submit one-partition --master 'local[1]' 1
submit four-partitions --master 'local[2]' 4

files() { find "$work/$1" -name '*.parquet' -printf '%p %T@ %i\n' | sort; }
before=$(files four-partitions)
submit four-partitions --master 'local[2]' 4
[[ $before == "$(files four-partitions)" ]] || { echo "a second run made parts again" && exit 1; }
say "a second run: nothing was made again"
submit sixty-four-partitions --master 'local[2]' 64

# Two hosts, of which one ends in the middle. Tasks take so long that it is in the middle.
slow=$work/slow
cat >"$slow" <<EOF
#!/usr/bin/env bash
# Once, a part takes so long that another task begins anew and is done before.
if [[ \$1 == part ]] && mkdir "$work/once" 2>/dev/null; then sleep 30; fi
[[ \$1 != part ]] || sleep 2
exec "$program" "\$@"
EOF
chmod +x "$slow"
start() {
    local name=$1
    shift
    setsid "$spark/bin/spark-class" "$@" >"$work/$name.log" 2>&1 &
    processes+=($!)
}
listening() {
    for _ in $(seq 100); do
        if (: <"/dev/tcp/127.0.0.1/$1") 2>/dev/null; then return; fi
        sleep 0.2
    done
    echo "nothing listens on port $1" && exit 1
}
start master org.apache.spark.deploy.master.Master --host 127.0.0.1 --port 17077 --webui-port 0
listening 17077
for host in 2 3; do
    SPARK_LOCAL_IP=127.0.0.$host start "worker-$host" org.apache.spark.deploy.worker.Worker --host "127.0.0.$host" \
        --cores 2 --memory 1g --webui-port 0 --work-dir "$work/worker-$host" spark://127.0.0.1:17077
done
speculation=(--conf spark.speculation=true --conf spark.speculation.interval=100ms
    --conf spark.speculation.multiplier=1.1 --conf spark.speculation.quantile=0.1
    --conf spark.executor.memory=512m --conf spark.executor.cores=1)
submit two-hosts --master spark://127.0.0.1:17077 "${speculation[@]}" 8
grep -q 'as speculatable' "$work/two-hosts.log" || { echo "no task ran twice" && exit 1; }
say "        and a task ran twice"

killed=${processes[1]}
(
    until find "$work/worker-killed" -name '*.json' 2>/dev/null | grep -q .; do sleep 0.1; done
    kill -9 -- "-$killed"
) &
submit worker-killed --master spark://127.0.0.1:17077 "${speculation[@]}" 8
grep -m1 -o 'Lost executor [0-9]* on [0-9.]*' "$work/worker-killed.log" | sed 's/^/        /'
say "all parts are the same"
