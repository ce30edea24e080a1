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
            # At graph level the row of a graph stands for the bodies of its conditional nodes.
            case $what,$level in
            kernel,*) ;;
            while,graph | if,graph) [ "$graphs" -gt 0 ] || fail "$what, $level: no graph" ;;
            *)
                [ "$launched" -gt 0 ] || [ "$inner" -ge "$expected" ] || [ "$notes" -gt 0 ] ||
                    fail "$what, $level: something is missing, unsaid"
                ;;
            esac
            rm trace.mpt
        done
    done
done

[ -x "$BUILD/gpu/cost" ] || exit 0
# one NAME: "MODE, ASKED"
one() {
    side device "$1" traced cost.mpt env MINIPROF_CUDA_GRAPH=graph MINIPROF_CAPTURE="${1%, *}" \
        MINIPROF_DEVICE_GRAPHS="${1#*, }" "$BUILD/gpu/cost" "${BATCHES:-12}"
}

ROUNDS=${ROUNDS:-3}
while another_round 0; do
    in_turn one "auto, on" "auto, off" "range, on" "range, off"
done
said
print_results device
