#!/bin/bash
# What reports say without the costs of recording. The software GPU charges known costs, and virtual
# time passes the same way without them: so what is left must be what it records at no cost.
# Takes 15 s.
. "$SOURCE/tests/e2e/lib.sh" || exit 1

export SIMGPU_NOISE=0
costs=(SIMGPU_COST_IN=700 SIMGPU_COST_AROUND=300 SIMGPU_COST_NODE=90 SIMGPU_COST_GAP=448
    SIMGPU_COST_START=640 SIMGPU_COST_FINISH=640)
kept=$XDG_CACHE_HOME/miniprof/recording-costs
zero=$work/zero
mkdir -p "$zero"
cp -r "$XDG_CACHE_HOME/miniprof" "$zero/"

# loop TIMES STEP...: into `list`.
loop() {
    list=()
    for ((i = 0; i < $1; i++)); do list+=("${@:2}"); done
}

# fact EXPRESSION COMMAND...: of the JSON document that the command prints, as d.
fact() {
    "$miniprof" "${@:2}" | python3 -c "
import json, sys
d = json.load(sys.stdin)
print($1)"
}

measured='.miniprof calibrate. measured here'
p50="d['statistics']['latency_ns']['p50']"

# near WHAT EXPECTED ACTUAL NS: within so many ns.
near() {
    check "$1: $3 is $2, within $4" test "$(($3 - $2))" -le "$4" -a "$(($2 - $3))" -le "$4"
}

# With the costs that are known here: as miniprof calibrate finds them (calibrate.sh).
cat >"$kept" <<END
gpu=SimGPU
$(cat "$build/simgpu/versions")
launch_in=700
launch_around=300
copy_in=700
copy_around=300
call_in=700
call_around=300
graph_in=700
graph_around=300
node_in=90
kernel_gap=448
copy_gap=448
node_gap=448
start=640
graph_start=640
finish=640
END

# undone NAME ITERATIONS HIDDEN LIMIT_NS STEP...: recorded with costs and without. HIDDEN calls of
# an iteration are charged 1 us each and not recorded: cuModuleGetFunction, before each step that
# launches. LIMIT_NS is how far the P50 may be off.
undone() {
    local name=$1 times=$2 hidden=$3 limit=$4 free raw without
    shift 4
    loop "$times" "$@"
    local -a program=("$steps" init "${prepare[@]}" "${list[@]}")
    profile "$name.free" -- "${program[@]}"
    same "$name: exit code without costs" 0 "$status"
    profile "$name" "${costs[@]}" -- "${program[@]}"
    same "$name: exit code" 0 "$status"
    free=$(XDG_CACHE_HOME=$zero fact "$p50" iters --json "$name.free.mpt")
    raw=$(fact "$p50" iters --json --as-recorded "$name.mpt")
    without=$(fact "$p50" iters --json "$name.mpt")
    check "$name: recording costs something" test "$raw" -gt "$((free + limit))"
    near "$name: without recording" "$((free + hidden * 1000))" "$without" "$limit"
    same "$name: where the costs are from" "calibrated_here $raw $without" "$(fact \
        "d['undisturbed']['source'], d['undisturbed']['recorded_ns'],
         d['undisturbed']['undisturbed_ns']" iters --json "$name.mpt" | tr -d "(),'")"
    same "$name: the count stays" "$times" "$(fact "d['count']" iters --json "$name.mpt")"
    like "$name: both are said" \
        'recorded .*, without recording .*: estimated with what '"$measured" \
        "$("$miniprof" iters "$name.mpt")"
}

prepare=()
# The host waits for each kernel.
undone launches 40 3 200 push=it alpha=1 sync alpha=1 sync alpha=1 sync pop
# The GPU is slower: 60 kernels are queued before the first one ends.
undone queued 40 1 2000 push=it gamma=8 sync pop
# Copies between kernels.
undone copies 40 2 2000 push=it gamma=6 copy-within=64 gamma=2 copy-within=64 sync pop
# A graph of 20 kernels in a row.
prepare=(stream=1 capture alpha=20 end-capture=0 instantiate=0)
undone graph 40 0 200 push=it launch=0 sync pop
prepare=()

# ---- The other commands ----

window="d['window_ns']"
free=$(XDG_CACHE_HOME=$zero fact "$window" deps --json launches.free.mpt)
near "deps: the window" "$((free + 40 * 3000))" "$(fact "$window" deps --json launches.mpt)" 8000
same "deps: its rows add up to it" "True" "$(fact \
    "sum(r['critical_ns'] for r in d['rows']) == d['window_ns']" deps --json launches.mpt)"
check "deps: as recorded it is longer" test \
    "$(fact "$window" deps --json --as-recorded launches.mpt)" -gt "$((free + 40 * 5000))"
step=$(XDG_CACHE_HOME=$zero fact "d['step_p50_ns']" advise --json launches.free.mpt)
near "advise: a step" "$((step + 3000))" "$(fact "d['step_p50_ns']" advise --json launches.mpt)" 300
same "diff: what recording costs is no difference" "0" "$(XDG_CACHE_HOME=$work/cache "$miniprof" \
    diff --json launches.mpt launches.mpt | python3 -c "
import json, sys
d = json.load(sys.stdin)
print(int(d['latency']['shift_ns']) if 'shift_ns' in d.get('latency', {}) else 0)")"
like "diff: both sides say it" 'A: recorded .*
======== B: recorded ' "$("$miniprof" diff launches.mpt launches.mpt)"

# ---- Measured ----

loop 400 push=it alpha=1 sync alpha=1 sync alpha=1 sync pop
profile measured "${costs[@]}" MINIPROF_BASELINE=25% -- "$steps" init "${list[@]}"
same "measured: exit code" 0 "$status"
like "measured: how" "^(measured|calibrated_here)$" \
    "$(fact "d['undisturbed']['source']" iters --json measured.mpt)"

# ---- Where nothing can be said ----

profile no_calls "${costs[@]}" MINIPROF_API=none -- "$steps" init "${list[@]:0:40}"
same "without calls: as recorded, and why" "none the trace has no API calls" "$(fact \
    "d['undisturbed']['source'] + ' ' + d['undisturbed']['why_not']" iters --json no_calls.mpt)"
same "without calls: no line" 0 "$("$miniprof" iters no_calls.mpt | grep -c 'without recording')"
rm "$kept"
like "without calibration: the costs are built in" 'estimated with built-in costs' \
    "$("$miniprof" iters launches.mpt)"
printf 'gpu=SimGPU\n%s\nlaunch_in=lots\n' "$(cat "$build/simgpu/versions")" >"$kept"
like "a file of costs that is damaged: built-in costs" 'estimated with built-in costs' \
    "$("$miniprof" iters launches.mpt)"
same "and no complaint" "" "$("$miniprof" iters launches.mpt 2>&1 >/dev/null)"

finish
