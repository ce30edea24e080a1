#!/bin/bash
# `miniprof kernels` and `overlap` over a generated trace of 10 million kernels (KERNELS) with their
# calls: seconds on one core, and peak memory, which a trace a tenth as long shows to be none of the
# length's.
kernels=${KERNELS:-10000000}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$BUILD/bench/bench_generate" $((kernels * 2)) "$folder/long.mpt" || exit 1
"$BUILD/bench/bench_generate" $((kernels / 5)) "$folder/short.mpt" || exit 1
python3 - "$BUILD/miniprof" "$kernels" "$folder" <<'END'
import os, statistics, sys

program, kernels, folder = sys.argv[1], int(sys.argv[2]), sys.argv[3]


def run(command, path):
    """Processor seconds and peak KiB."""
    pid = os.fork()
    if pid == 0:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.execv(program, [program, *command, path])
    _, status, usage = os.wait4(pid, 0)
    if status:
        sys.exit(f"{command} failed: status {status}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss


print(f"traces of {kernels} kernels, and as many calls")
print(f"{'':24s}  seconds on one core  peak MiB (a tenth as long)")
for command in (["kernels"], ["kernels", "--by-name", "--json"], ["overlap"]):
    runs = [run(command, folder + "/long.mpt") for _ in range(5)]
    seconds = sorted(one[0] for one in runs)
    short = run(command, folder + "/short.mpt")
    print(f"{' '.join(command):24s}  {statistics.median(seconds):.2f} ({seconds[0]:.2f} to "
          f"{seconds[-1]:.2f}){max(one[1] for one in runs) / 1024:14.1f} ({short[1] / 1024:.1f})")
END
