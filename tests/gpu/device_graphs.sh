#!/bin/bash
# What the device launches by itself: graphs from kernels, bodies of conditional nodes, kernels from
# kernels. The programs count what ran. Whatever CUPTI tells of it, the program does the same as
# without miniprof, and what is missing is said, where it can be noticed. Then what it costs to ask
# CUPTI for it, by the programs of bench_calls.sh, if they are there.
. "$(dirname "$0")/lib.sh"

nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null)
[ -n "$nvcc" ] || skip "no nvcc"
cd "$WORK" || exit 1
"$nvcc" -arch=native -rdc=true -o device_graphs "$SOURCE/tests/gpu/device_graphs.cu" -lcudadevrt \
    >nvcc.txt 2>&1 || skip "device_graphs.cu does not compile here: $(head -n 3 nvcc.txt)"

# look FILE: "kernel rows, graph rows, rows launched by the device, whether a note is there"
look() {
    "$BUILD/miniprof" summary --json "$1" >summary.json 2>/dev/null
    "$BUILD/miniprof" info --json "$1" >info.json 2>/dev/null
    "$BUILD/miniprof" summary "$1" >summary.txt 2>&1
    python3 - "$(grep -c 'Note: ' summary.txt)" <<'END'
import json, sys
tables = {entry["table"]: entry["rows"] for entry in json.load(open("info.json"))["tables"]}
summary = json.load(open("summary.json"))
counters = summary["quality"]["counters"]
rows = [row for group in summary["groups"] for row in group["rows"]]
inner = sum(row["calls"] for row in rows if "inner_kernel" in row["name"] or
            "body_kernel" in row["name"])
print(inner, tables.get("graph", 0), counters.get("device_launches", 0), sys.argv[1])
END
}

for what in launch while if kernel; do
    expected=$(./device_graphs $what 2>&1) || {
        echo "skipped $what: $expected"
        continue
    }
    for level in node graph; do
        for asked in on off; do
            MINIPROF_CUDA_GRAPH=$level MINIPROF_DEVICE_GRAPHS=$asked traced trace.mpt \
                ./device_graphs $what >out.txt 2>err.txt || fail "$what, $level: exit code $?"
            [ "$(cat out.txt)" = "$expected" ] || fail "$what, $level: other output"
            "$BUILD/miniprof" check trace.mpt >/dev/null || fail "$what, $level: not complete"
            read -r inner graphs launched notes <<<"$(look trace.mpt)"
            echo "$what, level $level, MINIPROF_DEVICE_GRAPHS=$asked: of $expected kernels" \
                "$inner came, $graphs graph rows, $launched by the device, $notes note(s)"
            grep 'Note: ' summary.txt | sed 's/^/    /'
            [ "$what" = kernel ] || [ "$launched" -gt 0 ] || [ "$inner" -ge "$expected" ] ||
                [ "$notes" -gt 0 ] || fail "$what, $level: something is missing, unsaid"
            rm trace.mpt
        done
    done
done

[ -x "$BUILD/gpu/cost" ] || exit 0
for ((round = 0; round < 5; round++)); do
    for asked in on off; do
        for mode in auto range; do
            MINIPROF_DEVICE_GRAPHS=$asked MINIPROF_CAPTURE=$mode traced cost.mpt \
                "$BUILD/gpu/cost" 2>/dev/null | sed "s/^/$mode, $asked|/" >>lines.txt
            rm -f cost.mpt
        done
    done
done
python3 "$SOURCE/tests/gpu/cost_table.py" lines.txt
