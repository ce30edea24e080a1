#!/bin/bash
# `miniprof advise` over generated traces of 10 million records (RECORDS): seconds and peak memory,
# where iterations are NVTX ranges, a sequence of kernels between synchronisations, and, at worst,
# ten kernels that repeat half a million times.
records=${RECORDS:-10000000}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$BUILD/bench/bench_generate" "$records" "$folder/nvtx.mpt" nvtx || exit 1
"$BUILD/bench/bench_generate" "$records" "$folder/syncs.mpt" syncs || exit 1
"$BUILD/bench/bench_generate" "$records" "$folder/plain.mpt" || exit 1
python3 - "$BUILD/miniprof" "$records" "$folder" <<'END'
import json, os, statistics, subprocess, sys

program, records, folder = sys.argv[1], int(sys.argv[2]), sys.argv[3]


def count(path):
    """Iterations and findings."""
    report = json.loads(subprocess.run([program, "advise", "--json", path], check=True,
                                       capture_output=True).stdout)
    return report["iterations"], len(report["findings"])


def run(path):
    """Processor seconds and peak KiB of one report, on one core."""
    pid = os.fork()
    if pid == 0:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.execv(program, [program, "advise", path])
    _, status, usage = os.wait4(pid, 0)
    if status:
        sys.exit(f"advise failed: status {status}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss


print(f"traces of {records} kernels and calls")
print("trace  iterations  findings  seconds (least to greatest)  peak MiB")
for name in ("nvtx", "syncs", "plain"):
    path = f"{folder}/{name}.mpt"
    found, findings = count(path)
    runs = [run(path) for _ in range(3)]
    seconds = sorted(one[0] for one in runs)
    spread = f"({seconds[0]:.1f} to {seconds[-1]:.1f})"
    print(f"{name:5s}  {found:10d}  {findings:8d}  {statistics.median(seconds):7.1f} {spread} "
          f"{max(one[1] for one in runs) / 1024:16.0f}")
END
