#!/bin/bash
# `miniprof summary` over a generated trace of 100 million records (RECORDS): speed and memory on
# one core.
records=${RECORDS:-100000000}
trace=$(mktemp --suffix .mpt)
trap 'rm -f "$trace"' EXIT
"$BUILD/bench/bench_generate" "$records" "$trace" || exit 1
small=$(mktemp --suffix .mpt)
trap 'rm -f "$trace" "$small"' EXIT
"$BUILD/bench/bench_generate" $((records / 100)) "$small" || exit 1
exec python3 - "$BUILD/miniprof" "$records" "$trace" "$small" <<'END'
import os, resource, statistics, subprocess, sys

program, records, trace, small = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]


def run(path):
    """Processor seconds and peak memory (MiB) of one summary."""
    pid = os.fork()
    if pid == 0:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(1, 2)
        os.execv(program, [program, "summary", path])
    _, status, usage = os.wait4(pid, 0)
    if status:
        sys.exit(f"summary failed: status {status}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


runs = [run(trace) for _ in range(5)]
rates = sorted(records / seconds / 1e6 for seconds, _ in runs)
size = os.path.getsize(trace)
print(f"summary of {records} records ({size / 1e6:.0f} MB, {size / records:.2f} bytes a record):"
      f" median {statistics.median(rates):.1f} million records/s on one core"
      f" ({rates[0]:.1f} to {rates[-1]:.1f} over {len(rates)} runs)")
print(f"peak memory {max(m for _, m in runs):.1f} MiB;"
      f" of a trace a hundredth as long {run(small)[1]:.1f} MiB")
END
