#!/bin/bash
# `miniprof memory` over generated traces of 10 million rows of `memory` (ROWS), with as many calls,
# NVTX ranges, and 50000 allocations that live at a time: seconds on one core and peak memory.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
most=${ROWS:-10000000}
for part in 10 1; do
    "$BUILD/bench/bench_generate" $((most / part)) "$folder/$part.mpt" memory || exit 1
done
exec python3 - "$BUILD/miniprof" "$folder" "$most" <<'END'
import os, statistics, sys

program, folder, most = sys.argv[1], sys.argv[2], int(sys.argv[3])
COMMANDS = ([], ["--iteration", "iteration"], ["--points", "1000"], ["--timeline", "--csv"])


def run(arguments, path):
    """Processor seconds and peak MiB."""
    pid = os.fork()
    if pid == 0:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(1, 2)
        os.execv(program, [program, "memory", *arguments, path])
    _, status, usage = os.wait4(pid, 0)
    if os.waitstatus_to_exitcode(status) not in (0, 1):
        sys.exit(f"memory failed: status {status}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


print(f"{'':30s}      rows   seconds   peak MiB")
for arguments in COMMANDS:
    for part in (10, 1):
        runs = [run(arguments, f"{folder}/{part}.mpt") for _ in range(3)]
        seconds = statistics.median(one[0] for one in runs)
        print(f"{' '.join(arguments):30s}{most // part:10d}{seconds:10.2f}"
              f"{max(one[1] for one in runs):11.1f}")
END
