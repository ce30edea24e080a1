#!/bin/bash
# `miniprof gpu-trace` and `api-trace` over a generated trace of 10 million records (RECORDS):
# seconds to the first row and to the last, and peak memory, which a trace a tenth as long shows to
# be none of the length's.
records=${RECORDS:-10000000}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$BUILD/bench/bench_generate" "$records" "$folder/long.mpt" || exit 1
"$BUILD/bench/bench_generate" $((records / 10)) "$folder/short.mpt" || exit 1
python3 - "$BUILD/miniprof" "$records" "$folder" <<'END'
import os, statistics, sys, time

program, records, folder = sys.argv[1], int(sys.argv[2]), sys.argv[3]
COMMANDS = (["gpu-trace"], ["gpu-trace", "--csv"], ["gpu-trace", "--json"],
            ["api-trace"], ["api-trace", "--csv"],
            ["gpu-trace", "--with-api"], ["gpu-trace", "--with-api", "--csv"])
HEAD = 8192  # bytes, more than what stands above the rows


def run(command, path):
    """Seconds to the first rows and to the end, bytes printed, peak KiB."""
    read_end, write_end = os.pipe()
    begin = time.monotonic()
    pid = os.fork()
    if pid == 0:
        os.dup2(write_end, 1)
        os.close(read_end)
        os.execv(program, [program, *command, path])
    os.close(write_end)
    printed, first = 0, None
    while data := os.read(read_end, 1 << 20):
        printed += len(data)
        if first is None and printed >= HEAD:
            first = time.monotonic() - begin
    os.close(read_end)
    _, status, usage = os.wait4(pid, 0)
    if status:
        sys.exit(f"{command} failed: status {status}")
    return first, time.monotonic() - begin, printed, usage.ru_maxrss


print(f"traces of {records} records")
print(f"{'':30s}  first row, s  all rows, s      MB printed   peak MiB (a tenth as long)")
for command in COMMANDS:
    runs = [run(command, folder + "/long.mpt") for _ in range(3)]
    short = run(command, folder + "/short.mpt")
    first, whole = (statistics.median(column) for column in list(zip(*runs))[:2])
    print(f"{' '.join(command):30s}{first:14.3f}{whole:13.1f}{runs[0][2] / 1e6:16.0f}"
          f"{max(one[3] for one in runs) / 1024:11.1f} ({short[3] / 1024:.1f})")
END
