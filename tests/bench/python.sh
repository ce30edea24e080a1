#!/bin/bash
# The Python package on a generated trace of 10 million kernels and as many calls: seconds until it
# is open, until its first column is in memory, and until all columns with names are a DataFrame.
kernels=${KERNELS:-10000000}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$BUILD/bench/bench_generate" $((2 * kernels)) "$folder/long.mpt" || exit 1
for python in python3 /usr/bin/python3 none; do # apt's numpy is for the second one
    "$python" -c 'import numpy, pandas' 2>/dev/null && break
done
[ "$python" != none ] || { echo "no numpy and pandas: 'make deps' installs them"; exit 0; }
cp -r "$SOURCE/tools/python/miniprof" "$folder/miniprof"
mkdir "$folder/miniprof/lib"
ln -s "$BUILD/libmptrace.so.1" "$folder/miniprof/lib"

cat >"$folder/run.py" <<'END'
import sys, time
import miniprof, numpy, pandas

def step(what, function):
    wall, cpu = time.perf_counter(), time.process_time()
    value = function()
    print(what, time.perf_counter() - wall, time.process_time() - cpu)
    return value

trace = step("open", lambda: miniprof.open(sys.argv[1]))
step("first", lambda: trace.column("kernel", "start_ns"))
step("two", lambda: trace.table("kernel", ["name", "duration_ns"]))
step("all", lambda: trace.kernels)
END
PYTHONPATH=$folder "$python" -B - "$folder" "$kernels" <<'END'
import collections, statistics, subprocess, sys

LINES = {"open": "miniprof.open", "first": "first column, start_ns",
         "two": "name and duration_ns, as a DataFrame", "all": "trace.kernels: 18 columns"}
folder, kernels = sys.argv[1:]
times = collections.defaultdict(list)
for _ in range(5):
    for line in subprocess.run([sys.executable, "-B", folder + "/run.py", folder + "/long.mpt"],
                               check=True, capture_output=True, text=True).stdout.splitlines():
        what, *seconds = line.split()
        times[what].append(tuple(map(float, seconds)))
print(f"Python: a trace of {kernels} kernels and as many calls; median of 5 runs (least, greatest)")
for what, text in LINES.items():
    walls, cpus = zip(*times[what])
    print(f"{text:38s} {statistics.median(walls):7.3f} s ({min(walls):.3f} to {max(walls):.3f}),"
          f" CPU {statistics.median(cpus):.3f} s")
END
