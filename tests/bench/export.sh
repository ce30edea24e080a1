#!/bin/bash
# Every format of `miniprof export` over generated traces of 1 and 10 million records (RECORDS:
# another greatest number): records a second of processor time on one core, peak memory, size.
records=${RECORDS:-10000000}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for count in $((records / 10)) "$records"; do
    "$BUILD/bench/bench_generate" "$count" "$folder/$count.mpt" nvtx || exit 1
done
exec python3 - "$BUILD/miniprof" "$folder" $((records / 10)) "$records" <<'END'
import os, re, shutil, subprocess, sys

program, folder, counts = sys.argv[1], sys.argv[2], [int(each) for each in sys.argv[3:]]
said = subprocess.run([program, "export"], stderr=subprocess.PIPE, text=True, check=False).stderr
formats = re.findall(r"^  (\S+) ", said, re.M)


def size_of(path):
    """Bytes of a file, or of a folder's files."""
    if os.path.isfile(path):
        return os.path.getsize(path)
    return sum(os.path.getsize(os.path.join(at, name))
               for at, _, names in os.walk(path) for name in names)


# What a format takes without the analyses that it asks for, and the larger tier of the lake.
runs = [(name, []) for name in formats]
runs += [("perfetto", ["--analysis", "off"]), ("parquet", ["--events"]),
         ("parquet", ["--events", "--analysis", "off"])]
print(f"{'format':34s}{'records':>10s}{'CPU s':>8s}{'M records/s':>13s}{'peak MiB':>10s}"
      f"{'MB':>9s}")
for name, options in runs:
    for count in counts:
        out = f"{folder}/out"
        pid = os.fork()
        if pid == 0:
            os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
            os.execv(program, [program, "export", "--to", name, *options, "-o", out,
                               f"{folder}/{count}.mpt"])
        _, status, usage = os.wait4(pid, 0)
        if status:
            sys.exit(f"export --to {name} failed: status {status}")
        seconds = usage.ru_utime + usage.ru_stime
        print(f"{' '.join([name, *options]):34s}{count:>10d}{seconds:8.2f}"
              f"{count / seconds / 1e6:13.2f}"
              f"{usage.ru_maxrss / 1024:10.0f}{size_of(out) / 1e6:9.1f}", flush=True)
        (os.remove if os.path.isfile(out) else shutil.rmtree)(out)
END
