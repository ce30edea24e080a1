#!/bin/bash
# What libminiprof_preload.so adds to calls that may wait or wake, but do not (bench_waits.c): ns a
# call without it, with it while nobody asks, and while the recorder asks for waits. The three take
# turns (RUNS times); medians, and the least and the greatest. OTHER=folder: the library of another
# build too.
preload=$BUILD/libminiprof_preload.so
[ -e "$preload" ] || exit 0
python3 - "$BUILD/bench/bench_waits" "$preload" "${RUNS:-15}" <<'END'
import os, statistics, subprocess, sys

program, preload, runs = sys.argv[1], sys.argv[2], int(sys.argv[3])
other = os.environ.get("OTHER")
WAYS = [("without", None, []), ("preloaded", preload, []), ("asked", preload, ["asked"])]
if other:
    other = os.path.join(other, os.path.basename(preload))
    WAYS += [("other", other, []), ("other asked", other, ["asked"])]


def run(library, options):
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    if library:
        environment["LD_PRELOAD"] = library
    lines = subprocess.run([program, *options], env=environment, check=True, text=True,
                           stdout=subprocess.PIPE).stdout.splitlines()
    return {name: float(ns) for name, ns in (line.split() for line in lines)}


taken = {way: [] for way, _, _ in WAYS}
for _ in range(runs):
    for way, library, options in WAYS:
        taken[way].append(run(library, options))
print(f"{'ns a call':30}" + "".join(f"{way:>22}" for way in taken)
      + f"{'+ preloaded':>13}{'+ asked':>9}")
for name in taken["without"][0]:
    columns = [sorted(one[name] for one in taken[way]) for way in taken]
    medians = [statistics.median(column) for column in columns]
    print(f"{name:30}" + "".join(f"{f'{m:.1f} ({c[0]:.1f}-{c[-1]:.1f})':>22}"
                                 for m, c in zip(medians, columns))
          + f"{medians[1] - medians[0]:13.1f}{medians[2] - medians[0]:9.1f}")
END
