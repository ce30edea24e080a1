#!/bin/bash
# What reports say of the cost of recording. The software GPU charges known costs, and virtual time
# passes the same way without them: so the estimate must be what it records more than at no cost.
# Takes 15 s.
. "$SOURCE/tests/e2e/lib.sh" || exit 1

export SIMGPU_NOISE=0
costs=(SIMGPU_COST_IN=700 SIMGPU_COST_AROUND=300 SIMGPU_COST_NODE=90 SIMGPU_COST_GAP=448
    SIMGPU_COST_START=640 SIMGPU_COST_FINISH=640)
kept=$XDG_CACHE_HOME/miniprof/recording-costs
mkdir -p "${kept%/*}"

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

p50="d['statistics']['latency_ns']['p50']"
estimate="d['recording_cost']['cost_ns']"

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

# estimated NAME ITERATIONS HIDDEN LIMIT_NS STEP...: recorded with costs and without. HIDDEN calls
# of an iteration are charged 1 us each and not recorded: cuModuleGetFunction, before each step that
# launches. LIMIT_NS is how far the estimate may be off, besides its rounding to two digits.
estimated() {
    local name=$1 times=$2 hidden=$3 limit=$4 free raw cost
    shift 4
    loop "$times" "$@"
    local -a program=("$steps" init "${prepare[@]}" "${list[@]}")
    profile "$name.free" -- "${program[@]}"
    same "$name: exit code without costs" 0 "$status"
    profile "$name" "${costs[@]}" -- "${program[@]}"
    same "$name: exit code" 0 "$status"
    free=$(fact "$p50" iters --json "$name.free.mpt")
    raw=$(fact "$p50" iters --json "$name.mpt")
    cost=$((raw - free - hidden * 1000))
    check "$name: recording costs something" test "$cost" -gt "$limit"
    near "$name: the estimate" "$cost" "$(fact "$estimate" iters --json "$name.mpt")" \
        $((limit + cost / 20))
    same "$name: where the costs are from, and of what" "calibrated_here $raw" "$(fact \
        "d['recording_cost']['source'], d['recording_cost']['of_ns']" iters --json "$name.mpt" |
        tr -d "(),'")"
    same "$name: the count stays" "$times" "$(fact "d['count']" iters --json "$name.mpt")"
    like "$name: it is said" \
        'Recording costs about .* of it (.*): estimated with costs calibrated here' \
        "$("$miniprof" iters "$name.mpt")"
}

prepare=()
# The host waits for each kernel.
estimated launches 40 3 200 push=it alpha=1 sync alpha=1 sync alpha=1 sync pop
# The GPU is slower: 60 kernels are queued before the first one ends.
estimated queued 40 1 2000 push=it gamma=8 sync pop
# Copies between kernels.
estimated copies 40 2 2000 push=it gamma=6 copy-within=64 gamma=2 copy-within=64 sync pop
# A graph of 20 kernels in a row.
prepare=(stream=1 capture alpha=20 end-capture=0 instantiate=0)
estimated graph 40 0 200 push=it launch=0 sync pop
prepare=()

# ---- The other commands ----

whole="d['recording_cost']"
said=$(fact "$whole" iters --json launches.mpt)
for command in report advise; do
    same "$command: the same" "$said" "$(fact "$whole" "$command" --json launches.mpt)"
done
for command in report iters advise deps diff html; do
    twice=launches.mpt
    [ $command != diff ] || twice='launches.mpt launches.mpt'
    # shellcheck disable=SC2086
    same "$command --as-recorded: accepted, and nothing else" \
        "$("$miniprof" $command $twice | md5sum)" \
        "$("$miniprof" $command --as-recorded $twice | md5sum)"
done

# ---- Measured ----

loop 400 push=it alpha=1 sync alpha=1 sync alpha=1 sync pop
profile measured "${costs[@]}" MINIPROF_BASELINE=25% -- "$steps" init "${list[@]}"
same "measured: exit code" 0 "$status"
like "measured: how" "^(not_recorded|calibrated_here)$" \
    "$(fact "d['recording_cost']['source']" iters --json measured.mpt)"

# ---- Where nothing can be said ----

profile no_calls "${costs[@]}" MINIPROF_API=none -- "$steps" init "${list[@]:0:40}"
same "without calls: nothing, and why" "unknown the trace has no API calls" "$(fact \
    "d['recording_cost']['source'] + ' ' + d['recording_cost']['why_not']" \
    iters --json no_calls.mpt)"
same "without calls: no line" 0 "$("$miniprof" iters no_calls.mpt | grep -c 'Recording costs')"
rm "$kept"
like "without calibration: the costs are built in" 'estimated with built-in costs' \
    "$("$miniprof" iters launches.mpt)"
printf 'gpu=SimGPU\n%s\nlaunch_in=lots\n' "$(cat "$build/simgpu/versions")" >"$kept"
like "a file of costs that is damaged: built-in costs" 'estimated with built-in costs' \
    "$("$miniprof" iters launches.mpt)"
same "and no complaint" "" "$("$miniprof" iters launches.mpt 2>&1 >/dev/null)"

finish
