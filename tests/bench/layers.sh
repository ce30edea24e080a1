#!/bin/bash
# `miniprof layers` over generated traces of 10 million records (RECORDS), with NVTX ranges and
# without: seconds on one core and peak memory.
records=${RECORDS:-10000000}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$BUILD/bench/bench_generate" "$records" "$folder/ranges.mpt" nvtx || exit 1
"$BUILD/bench/bench_generate" "$records" "$folder/plain.mpt" || exit 1
python3 - "$BUILD/miniprof" "$records" "$folder" <<'END'
import os, statistics, sys

program, records, folder = sys.argv[1], int(sys.argv[2]), sys.argv[3]
COMMANDS = (["ranges"], ["ranges", "--json", "--tree"], ["ranges", "--merge-numbers"],
            ["ranges", "--iteration", "iteration"], ["ranges", "--by-position"], ["plain"])


def run(trace, options):
    """Processor seconds and peak KiB."""
    pid = os.fork()
    if pid == 0:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.execv(program, [program, "layers", *options, f"{folder}/{trace}.mpt"])
    _, status, usage = os.wait4(pid, 0)
    if status:
        sys.exit(f"{trace} {options} failed: status {status}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss


print(f"layers of {records} records\n{'':38s}  s on one core   peak MiB")
for trace, *options in COMMANDS:
    runs = [run(trace, options) for _ in range(3)]
    print(f"{trace + ' ' + ' '.join(options):38s}{statistics.median(r[0] for r in runs):15.2f}"
          f"{max(r[1] for r in runs) / 1024:11.1f}")
END
