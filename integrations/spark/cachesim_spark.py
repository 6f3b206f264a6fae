#!/usr/bin/env python3
"""The sessions of an organisation, as parts that are made on a Spark cluster.

    spark-submit cachesim_spark.py --root /sessions --out /parts [--domains depth:1] [--partitions N]

Each domain (the first folders below the root: a developer) goes whole to one task, which runs
`cachesim fleet part`. The driver then runs `cachesim fleet gather`, which holds every file against its digest
and writes manifest.json last: readers follow the manifest. What is there is not made again, and a
task that is repeated or runs twice writes the same bytes. Root and out are the same path on every
machine. What follows `--` goes to `cachesim fleet part`, such as `-- --strategy billed,5m,1h`.
"""

import argparse
import heapq
import json
import os
import subprocess
import sys


def domains(program, root, rule):
    """The domains below the root, a line each with its bytes."""
    command = [program, "domains", "--root", root, "--domains", rule]
    run = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    lines = run.stdout.decode().splitlines()
    return [(json.loads(line)["bytes"], line) for line in lines]


def bins(listed, count):
    """Domains in bins of about the same size, the largest first; a domain is never cut."""
    heap = [(0, number) for number in range(count)]
    filled = [[] for _ in range(count)]
    for size, line in sorted(listed, key=lambda one: (-one[0], one[1])):
        total, number = heapq.heappop(heap)
        filled[number].append(line)
        heapq.heappush(heap, (total + size, number))
    return [one for one in filled if one]


def part(command, line):
    """The line of a domain's part, which is made unless it is there."""
    run = subprocess.run(command, input=line.encode(), stdout=subprocess.PIPE, check=False)
    if run.returncode != 0:
        domain = json.loads(line)["domain"]
        raise RuntimeError(f"cachesim fleet part for {domain} ended with {run.returncode}; see its standard error")
    return run.stdout.decode()


def worker(program, root, out, options):
    """What a task does with its bins."""
    command = [program, "part", "--listing", "-", "--root", root, "--out", out, *options]

    def parts(filled):
        for lines in filled:
            for line in lines:
                yield part(command, line)

    return parts


def gather(program, out, lines):
    """Writes the manifest, once all parts are whole."""
    subprocess.run([program, "gather", "--out", out], input="".join(lines).encode(), check=True)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", required=True, help="the folder of all sessions")
    parser.add_argument("--out", required=True, help="the folder for parts")
    parser.add_argument("--domains", default="depth:1", help="what a domain is, as cachesim fleet domains takes it")
    parser.add_argument("--partitions", type=int, help="how many tasks there are at most [default: one a core]")
    parser.add_argument("--program", default="cachesim", help="the program, on every machine")
    own, options = sys.argv[1:], []
    if "--" in own:
        own, options = own[: own.index("--")], own[own.index("--") + 1 :]
    # One thread a task: Spark has as many tasks as there are cores. What was damaged is counted in the parts.
    options += [] if "--jobs" in options else ["--jobs", "1"]
    options += [] if {"--quiet", "--verbose"} & set(options) else ["--quiet"]
    return parser.parse_args(own), options


def main():
    args, options = arguments()
    from pyspark.sql import SparkSession  # where the other functions are used alone it need not be there

    spark = SparkSession.builder.appName("cachesim").getOrCreate()
    context = spark.sparkContext
    root, out = os.path.abspath(args.root), os.path.abspath(args.out)
    listed = domains(args.program, root, args.domains)
    filled = bins(listed, args.partitions or context.defaultParallelism)
    work = worker(args.program, root, out, options)
    lines = context.parallelize(filled, len(filled)).mapPartitions(work).collect()
    gather(args.program, out, lines)
    print(f"{len(lines)} parts")
    spark.stop()


if __name__ == "__main__":
    main()
