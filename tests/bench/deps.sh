#!/bin/bash
# `miniprof deps` from file to table over generated traces of up to 50 million activities
# (ACTIVITIES) with events between two streams: speed on one core, and memory an activity.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
most=${ACTIVITIES:-50000000}
for part in 50 10 2 1; do
    "$BUILD/bench/bench_generate" $((most / part)) "$folder/$part.mpt" syncs || exit 1
done
exec python3 - "$BUILD/miniprof" "$folder" <<'END'
import json, os, pathlib, statistics, subprocess, sys

program, folder = sys.argv[1], pathlib.Path(sys.argv[2])


def count(path):
    """Kernels and calls in a trace."""
    info = json.loads(subprocess.run([program, "info", "--json", path], check=True,
                                     capture_output=True).stdout)
    return sum(t["rows"] for t in info["tables"] if t["table"] in ("kernel", "call"))


def run(path):
    """Processor seconds and peak memory (bytes) of one analysis."""
    pid = os.fork()
    if pid == 0:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(1, 2)
        os.execv(program, [program, "deps", path])
    _, status, usage = os.wait4(pid, 0)
    if status:
        sys.exit(f"deps failed: status {status}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


print("activities   million/s on one core   bytes an activity")
for path in sorted(folder.iterdir(), key=lambda path: path.stat().st_size):
    activities = count(path)
    runs = [run(path) for _ in range(3 if activities > 20e6 else 5)]
    rates = sorted(activities / seconds / 1e6 for seconds, _ in runs)
    memory = max(bytes_ for _, bytes_ in runs)
    print(f"{activities:10d}   {statistics.median(rates):4.1f} ({rates[0]:.1f} to {rates[-1]:.1f})"
          f"{memory / activities:21.1f}")
END
