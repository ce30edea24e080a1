#!/bin/bash
# nvprof's SQLite file of a generated trace of RECORDS (1,000,000) records: to write it, and to read
# it back; processor time on one core, peak memory, bytes a record.
records=${RECORDS:-1000000}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$BUILD/bench/bench_generate" "$records" "$folder/a.mpt" || exit 1
exec python3 - "$BUILD/miniprof" "$records" "$folder" <<'END'
import os, statistics, sys

program, records, folder = sys.argv[1], int(sys.argv[2]), sys.argv[3]


def run(*arguments):
    """Processor seconds and peak memory (MiB) of the command."""
    pid = os.fork()
    if pid == 0:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        os.execv(program, [program, "nvprof", "--quiet", "-f", *arguments])
    _, status, usage = os.wait4(pid, 0)
    if status:
        sys.exit(f"{arguments}: status {status}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


for what, source, target in (("write", "a.mpt", "a.nvvp"), ("read", "a.nvvp", "b.mpt")):
    runs = [run("-i", f"{folder}/{source}", "-o", f"{folder}/{target}") for _ in range(3)]
    seconds = sorted(second for second, _ in runs)
    size = os.path.getsize(f"{folder}/{target}")
    print(f"{what} {target}, {records} records: median {statistics.median(seconds):.2f} s"
          f" ({seconds[0]:.2f} to {seconds[-1]:.2f}), {max(m for _, m in runs):.1f} MiB,"
          f" {size / records:.1f} bytes a record")
END
