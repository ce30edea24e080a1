#!/bin/bash
# Takes 45 s.
# The scripts of tests/gpu that count what was launched, look how CUPTI grows and where it fails,
# begin and end ranges, kill what is recorded, remove faults and plant late ranks, for a moment on
# the software GPU: what they say is right, and they notice what is wrong.
. "$SOURCE/tests/e2e/lib.sh" || exit 1
export SIMGPU=1 SIMGPU_REAL_TIME=1 SOAK_RATE=20000 SOAK_SECONDS=1 RANGES_RATE=20000
export SIMGPU_CUPTI_VERSION=130001 # one with the faults that are met, whatever the headers are
export SIGKILL_KILLS=16 SIGKILL_JOBS=2
# Nothing is said here of how late a trace may be: other tests run beside this one.
export SIGKILL_LIMIT_MS=20000

# script NAME: runs it; leaves what it says in NAME.said, its numbers in NAME.lines.
script() {
    rm -f "$work/$1.lines"
    BENCH_RESULTS=$work/$1.lines bash "$SOURCE/tests/gpu/$1.sh" >"$work/$1.said" 2>&1
    status=$?
    [ "$status" -eq "${2:-0}" ] || cat "$work/$1.said"
}

# number NAME KIND: of the whole run.
number() {
    sed -n "s,^[^|]*|0|miniprof|all|$2|,,p" "$work/$1.lines"
}

script soak
same "soak: exit code" 0 "$status"
same "soak: nothing is lost" "0 0 0 1" "$(number soak "counts that differ") $(number soak \
    dropped) $(number soak "invalid times") $(number soak whole)"
check "soak: graphs are among the kernels" awk -v kernels="$(number soak kernels)" \
    -v seconds="$(number soak seconds)" -v calls="$(number soak "launch calls/s")" \
    'BEGIN { exit !(kernels >= 40 && calls * seconds < kernels * 0.7) }'
same "soak: its last line" "1 passed, 0 failed" "$(tail -n 1 soak.said)"

MINIPROF_GPU=off script soak 1
same "soak without kernels in the trace: exit code" 1 "$status"
like "soak without kernels in the trace: says so" 'kernel: [0-9]+ made, 0 in the trace' \
    "$(cat soak.said)"

SOAK_PATIENCE=2 SIMGPU_FLUSH_SLEEP_MS=600000 script soak 1
same "soak that does not end: exit code" 1 "$status"
like "soak that does not end: its trace was looked at" 'the program did not come to its end' \
    "$(cat soak.said)"
like "soak that does not end: its last lines" \
    $'FAILED: the program had not ended after 3 s\n0 passed, 1 failed$' "$(cat soak.said)"

# growth.sh's table: cells FILE COLUMN, one a line; without head and rule.
cells() {
    sed -n 's/^| \(.*\) |$/\1/p' "$1" | tail -n +2 |
        awk -F ' [|] ' -v column="$2" '{ print $column }'
}

# Rows of node_level.sh's table: row NAME COLUMN.
row() {
    sed -n 's/^| \(.*\) |$/\1/p' node_level.said |
        awk -F ' [|] ' -v name="$1" -v column="$2" '$1 == name { print $column }'
}

NODE_SIDES="no CUPTI,graph level,node level,*hardware*,nothing and*,node and*" ROUNDS=1 \
    NODE_SECONDS=60 script node_level
same "node_level: exit code" 0 "$status"
same "node_level: records of kernels" "0 0 800 800 0 800" "$(for side in "no CUPTI" "graph level" \
    "node level" "node level, hardware trace" "nothing and node level in turn"; do
    row "$side" 5
done | xargs)"
same "node_level: records of graphs" "1 0" "$(row "graph level" 7) $(row "node level" 7)"
refused=27
plays cuptiActivityEnableHWTrace || refused=-1 # it does not have the function
same "node_level: what CUPTI refuses" $refused "$(row "node level, hardware trace" 8)"
like "node_level: a side that is killed" \
    'did not come to its end: node and graph level in turn: exit status 134' \
    "$(cat node_level.said)"

# The probe leaves its graphs to the driver.
PROBES=1 leaky script graph_copies
same "graph_copies: exit code" 0 "$status"
same "graph_copies: who fails" "0 0 0 1" "$(sed -n 's/^.*: \(.\) of 1 failed$/\1/p' \
    graph_copies.said | xargs)"
like "graph_copies: why" 'MEMCPY2 is enabled beside MEMCPY' "$(cat graph_copies.said)"

export GROWTH_SECONDS=1 GROWTH_RATE=20000 GROWTH_JOBS=2
GROWTH_SIDES="miniprof,CUPTI alone flushed*,without" script growth
same "growth: exit code" 0 "$status"
same "growth: a row a side" "without
CUPTI alone flushed
CUPTI alone flushed with force
CUPTI alone flushed and renewed
miniprof" "$(cells growth.said 1)"
same "growth: every side has kernels" 5 "$(grep -cE 'all[|]kernels[|][0-9]{3,}$' growth.lines)"
same "growth: its last line" "5 passed, 0 failed" "$(tail -n 1 growth.said)"

GROWTH_SIDES="CUPTI alone flushed,without" COST_POOL_LIMIT=none script growth 1
same "growth with a side that fails: exit code" 1 "$status"
same "growth with a side that fails: its row says why" \
    "failed: bare CUPTI: COST_POOL_LIMIT: not a number in its range" \
    "$(cells growth.said 2 | tail -n 1)"
same "growth with a side that fails: its last line" "1 passed, 1 failed" \
    "$(tail -n 1 growth.said)"

GROWTH_SIDES="without,nothing" script growth 2
same "growth of a side that is none: exit code" 2 "$status"
same "growth of a side that is none: one line" 1 "$(wc -l <growth.said)"
like "growth of a side that is none: which" "^growth.sh: no side 'nothing'; there are: without," \
    "$(cat growth.said)"

RANGES_FAST=300 script ranges_fast
same "ranges_fast: exit code" 0 "$status"
same "ranges_fast: nothing is lost" 3 "$(grep -c ' 0 missing; said: 0 without' ranges_fast.said)"
RANGES_FAST=300 SIMGPU_LOSE_KERNELS=7 script ranges_fast
same "ranges_fast, with a CUPTI that loses: all of it is said" "0 3" \
    "$status $(grep -c ' 85 missing; said: 85 without' ranges_fast.said)"

# A buffer for each of the 200 short ranges, however long the writer gets no time.
export MINIPROF_BUFFER_MB=300
script ranges
same "ranges: exit code" 0 "$status"
same "ranges: all that can be tried at once" "7 passed, 0 failed" "$(tail -n 1 ranges.said)"
MINIPROF_CAPTURE_END=repeat:7 script ranges 1
same "a range is missing: exit code" 1 "$status"
like "a range is missing: says so" 'FAILED: 0 ms apart: 7 7000 0 0 0 0, not 8 8000 0 0 0 0' \
    "$(cat ranges.said)"

unset MINIPROF_BUFFER_MB

script sigkill
same "SIGKILL: exit code" 0 "$status"
same "SIGKILL: all were made, and each trace opens" "16 0" \
    "$(number sigkill kills) $(number sigkill unreadable)"

# With nothing recorded all is missing from the first kernel on.
SIGKILL_LIMIT_MS=0 SIGKILL_KILLS=4 MINIPROF_GPU=off script sigkill 1
same "SIGKILL without kernels in the trace: exit code" 1 "$status"
same "SIGKILL without kernels in the trace: all are late" 4 "$(number sigkill late)"

# In the time of the software GPU all rounds are alike, so that errors are the replay's alone.
(
    unset SIMGPU_REAL_TIME
    CASES="gpu-bound sync memset" ROUNDS=1 script gains
    exit "$status"
)
same "gains: exit code" 0 $?
same "gains: a row a case" "gpu-bound sync memset" \
    "$(echo $(cells gains.said 1))"
same "gains: its last line" "1 passed, 0 failed" "$(tail -n 1 gains.said)"

# Jobs of two ranks: whoever is planted is found, and the tables come last.
if plays nvtx3/nvToolsExtPayload.h; then
    STEPS=20 ROUNDS=1 script ranks
    same "ranks: exit code" 0 "$status"
    same "ranks: the late rank, by the plugin and by NVTX" 2 \
        "$(grep -c '^| played | [a-z]* | 2 of 2 | .* | 0 |$' ranks.said)"
    same "ranks: all arrive together, as in a run in time" 1 \
        "$(grep -c '^ok 1 predictions$' ranks.said)"
    same "ranks: what recording costs is a table" "alone off nvtx on" \
        "$(echo $(grep -oE '^[|] (alone|off|nvtx|on) ' ranks.said | tr -d '|'))"
fi
finish
