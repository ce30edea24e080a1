#!/bin/bash
# What each report takes for traces of 10 million records (RECORDS): processor seconds on one core
# and peak memory, beside that for a tenth of the records. Generated traces (bench_generate.c):
# plain, kernels and their calls; nvtx, with a range around every ten launches; syncs, with events
# between two streams; memory, half a million iterations that allocate and free.
records=${RECORDS:-10000000}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for kind in plain nvtx syncs memory; do
    options=("$kind")
    [ "$kind" != plain ] || options=()
    "$BUILD/bench/bench_generate" "$records" "$folder/$kind.mpt" "${options[@]}" || exit 1
    "$BUILD/bench/bench_generate" $((records / 10)) "$folder/$kind.tenth" "${options[@]}" || exit 1
done
python3 - "$BUILD/miniprof" "$records" "$folder" "${RUNS:-3}" <<'END'
import os, statistics, sys

program, records, folder, runs = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
# A report, its options, and the traces that it is made of, one after the other.
REPORTS = (
    ("summary", "nvtx"), ("nvtx", "nvtx"), ("deps", "syncs"),
    ("iters", "nvtx", "syncs", "plain"), ("iters --each --json", "nvtx"),
    ("layers", "nvtx", "plain"), ("layers --tree --json", "nvtx"),
    ("layers --iterations iteration", "nvtx"), ("layers --by-position", "nvtx"),
    ("kernels", "plain"), ("kernels --by-name --json", "plain"), ("overlap", "plain"),
    ("memory", "memory"), ("memory --iterations iteration", "memory"),
    ("memory --points 1000", "memory"), ("memory --timeline --csv", "memory"),
    ("advise", "nvtx", "syncs", "plain"), ("diff", "nvtx nvtx", "plain plain"),
    ("html -o -", "nvtx"), ("top --plain --count 1", "nvtx"),
)
FINE = (0, 1)  # 1: something was found, or a trace is not whole


def run(command, paths):
    """Processor seconds and peak MiB of one report; None where it was not built."""
    pid = os.fork()
    if pid == 0:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(1, 2)
        os.execv(program, [program, *command.split(), *paths])
    _, status, usage = os.wait4(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    if code == 2 and command.startswith("html"):
        return None
    if code not in FINE:
        sys.exit(f"{command} failed: exit code {code}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def measure(command, kinds):
    paths = [f"{folder}/{kind}.mpt" for kind in kinds]
    taken = [run(command, paths) for _ in range(runs)]
    if None in taken:
        return "not built"
    seconds = sorted(one[0] for one in taken)
    short = run(command, [f"{folder}/{kind}.tenth" for kind in kinds])
    return (f"{statistics.median(seconds):7.2f} ({seconds[0]:.2f} to {seconds[-1]:.2f})"
            f"{max(one[1] for one in taken):8.0f} ({short[1]:.0f})")


print(f"reports of traces of {records} records, {runs} runs each")
print(f"{'report':30s}{'of':12s}  seconds on one core    peak MiB (a tenth as long)")
for report, *traces in REPORTS:
    for trace in traces:
        print(f"{report:30s}{trace:12s}{measure(report, trace.split())}", flush=True)
END
