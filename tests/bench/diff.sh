#!/bin/bash
# `miniprof diff` of two generated traces of 10 million records (RECORDS) each, plain and with NVTX
# ranges: processor seconds on one core and peak memory.
records=${RECORDS:-10000000}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$BUILD/bench/bench_generate" "$records" "$folder/plain.mpt" || exit 1
"$BUILD/bench/bench_generate" "$records" "$folder/nvtx.mpt" nvtx || exit 1
python3 - "$BUILD/miniprof" "$folder" <<'END'
import os, statistics, sys

program, folder = sys.argv[1:]


def run(path):
    """Processor seconds and peak MiB of one comparison."""
    pid = os.fork()
    if pid == 0:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.execv(program, [program, "diff", path, path])
    _, status, usage = os.wait4(pid, 0)
    if status:
        sys.exit(f"diff failed: status {status}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


print("diff of two      s on one core   peak MiB")
for name in ("plain", "nvtx"):
    runs = [run(f"{folder}/{name}.mpt") for _ in range(3)]
    print(f"{name:14s}{statistics.median(row[0] for row in runs):16.1f}"
          f"{max(row[1] for row in runs):11.0f}")
END
