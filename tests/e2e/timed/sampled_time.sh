#!/bin/bash
# Samples of threads that make no CUDA call for long stand for the CPU time of known functions.
. "$SOURCE/tests/e2e/lib.sh" || exit 1
if sanitized; then
    echo "skipped: it compares CPU times, which a sanitizer multiplies"
    exit 77
fi
export PYTHONDONTWRITEBYTECODE=1 SIMGPU_REAL_TIME=1

# The CPU time of a function, but for what lies before its first tick and after its last one.
cat >compare.py <<'END'
import json
import subprocess
import sys

miniprof, trace, told = sys.argv[1], sys.argv[2], json.load(open(sys.argv[3]))
made = json.loads(subprocess.run([miniprof, "stacks", "--by", "function", "--json", trace],
                                 stdout=subprocess.PIPE, check=True).stdout)
found = {row["function"]: row["sampled_ns"] for row in made["rows"]}
found["deep"] = found.get("<more frames>", 0) or found.get("deep.<locals>.down", 0)
for name, cpu in told.items():
    least, most = (0, 40e6) if name == "sleeps" else (cpu / 2, cpu + 40e6)
    assert least <= found.get(name, 0) <= most, (name, cpu, found)
for name in ("launches", "no_cuda"):
    assert found.get(name, 0) <= 80e6, (name, found)
END
for what in "python_loop collect holds_gil frees_gil sleeps deep launches thread=no_cuda" \
    "thread=worker"; do
    profile known MINIPROF_STACKS=python MINIPROF_STACKS_GAPS=1000 TOLD="$work/told.json" -- \
        python3 "$SOURCE/tests/e2e/stacks/gaps.py" $what
    same "${what%% *}: it ran" "0 done" "$status $(cat known.out)"
    check "${what%% *}: each function has its CPU time" \
        python3 compare.py "$miniprof" known.mpt told.json
    rm known.mpt
done

# A function of the iterations computes four times as long as the other.
profile iterations MINIPROF_STACKS=python MINIPROF_STACKS_GAPS=1000 MINIPROF_CAPTURE=range -- \
    python3 "$SOURCE/tests/e2e/stacks/gap_ranges.py"
check "iters divides the host code by samples" python3 - "$miniprof" <<'END'
import json, subprocess, sys
made = json.loads(subprocess.run([sys.argv[1], "iters", "--json", "iterations.mpt"],
                                 stdout=subprocess.PIPE, check=True).stdout)
lines = {}
for row in made["host_code"]:
    lines[row["function"]] = lines.get(row["function"], 0) + row["percent"]
assert lines["slow"] > 2 * lines.get("fast", 0), lines
END
finish
