#!/bin/bash
# `miniprof html` over generated traces: seconds, memory and bytes of the page for 1 and 10 million
# records (RECORDS: another greatest number), and how smooth the time line of the first is in
# headless Chromium.
set -u
# Where a browser is missing the line says so, and the other benchmarks go on.
(. "$SOURCE/tests/html/lib.sh" && make_pages inference) || exit $(($? == 77 ? 0 : 1))
. "$SOURCE/tests/html/lib.sh"
records=${RECORDS:-10000000}

for count in $((records / 10)) "$records"; do
    "$BUILD/bench/bench_generate" "$count" "$folder/$count.mpt" nvtx || exit 1
done
python3 - "$BUILD/miniprof" "$folder" $((records / 10)) "$records" <<'END'
import os, sys, time

program, folder, counts = sys.argv[1], sys.argv[2], sys.argv[3:]
print(f"{'records':>10s}{'seconds':>9s}{'peak MiB':>10s}{'page, MB':>10s}")
for count in counts:
    page = f"{folder}/{count}.html"
    begun = time.monotonic()
    pid = os.fork()
    if pid == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        os.execv(program, [program, "html", "-o", page, f"{folder}/{count}.mpt"])
    _, status, usage = os.wait4(pid, 0)
    if status:
        sys.exit(f"html failed: status {status}")
    print(f"{count:>10s}{time.monotonic() - begun:9.2f}{usage.ru_maxrss / 1024:10.0f}"
          f"{os.path.getsize(page) / 1e6:10.1f}")
END
mv "$folder/$((records / 10)).html" "$folder/long.html"
node "$SOURCE/tests/html/pan.mjs"
