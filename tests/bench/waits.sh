#!/bin/bash
# What libminiprof_preload.so adds to calls that may wait or wake, but do not (bench_waits.c): ns a
# call without it, with it while nobody asks, and while the recorder asks for waits. The three take
# turns (RUNS times); medians, and the least and the greatest.
preload=$BUILD/libminiprof_preload.so
[ -e "$preload" ] || exit 0
python3 - "$BUILD/bench/bench_waits" "$preload" "${RUNS:-15}" <<'END'
import os, statistics, subprocess, sys

program, preload, runs = sys.argv[1], sys.argv[2], int(sys.argv[3])
WAYS = (("without", []), ("preloaded", []), ("asked", ["asked"]))


def run(way, options):
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    if way != "without":
        environment["LD_PRELOAD"] = preload
    lines = subprocess.run([program, *options], env=environment, check=True, text=True,
                           stdout=subprocess.PIPE).stdout.splitlines()
    return {name: float(ns) for name, ns in (line.split() for line in lines)}


taken = {way: [] for way, _ in WAYS}
for _ in range(runs):
    for way, options in WAYS:
        taken[way].append(run(way, options))
titles = ("ns a call", "without", "preloaded", "asked", "+ preloaded", "+ asked")
print("{:30}{:>22}{:>22}{:>22}{:>13}{:>9}".format(*titles))
for name in taken["without"][0]:
    columns = [sorted(one[name] for one in taken[way]) for way, _ in WAYS]
    medians = [statistics.median(column) for column in columns]
    print(f"{name:30}" + "".join(f"{f'{m:.1f} ({c[0]:.1f}-{c[-1]:.1f})':>22}"
                                 for m, c in zip(medians, columns))
          + f"{medians[1] - medians[0]:13.1f}{medians[2] - medians[0]:9.1f}")
END
