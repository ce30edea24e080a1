#!/bin/bash
# `miniprof run --pairs`: what a step takes without CUPTI, by runs without it, and by the steps of a
# run before CUPTI comes. The software GPU charges known costs to recorded runs only, and virtual
# time passes the same way without them. So the line must say what a run at no cost takes.
. "$SOURCE/tests/e2e/lib.sh" || exit 1

export SIMGPU_NOISE=0 SIMGPU_COST_IN=700 SIMGPU_COST_AROUND=300 SIMGPU_COST_NODE=90
export SIMGPU_COST_GAP=448 SIMGPU_COST_START=640 SIMGPU_COST_FINISH=640
mkdir "$work/tmp"
export TMPDIR=$work/tmp

# loop TIMES STEP...: into `list`.
loop() {
    list=()
    for ((i = 0; i < $1; i++)); do list+=("${@:2}"); done
}

# pairs NAME N OPTION... -- PROGRAM...
pairs() {
    "$miniprof" run --pairs="$2" -o "$1.mpt" "${@:3}" >"$1.out" 2>"$1.err" </dev/null
    status=$?
}

# cost NAME EXPRESSION: of the object recording_cost, as d.
cost() {
    "$miniprof" iters --json "$1.mpt" | python3 -c "
import json, sys
d = json.load(sys.stdin)['recording_cost']
print($2)"
}

# without NAME COMMAND...: the same program in pairs and at no cost. The P50 of its steps, by marks
# and by what a recorder without costs sees of the iterations, is the same but for the calls around.
without() {
    local name=$1 free
    shift
    pairs "$name" 3 -- "$@"
    same "$name: exit code" 0 "$status"
    SIMGPU_COST_IN=0 SIMGPU_COST_AROUND=0 SIMGPU_COST_NODE=0 SIMGPU_COST_GAP=0 SIMGPU_COST_START=0 \
        SIMGPU_COST_FINISH=0 profile "$name.free" -- "$@"
    free=$("$miniprof" iters --json "$name.free.mpt" | python3 -c "
import json, sys
print(json.load(sys.stdin)['statistics']['latency_ns']['p50'])")
    same "$name: measured in runs without CUPTI" "measured_beside 3" \
        "$(cost "$name" "d['source'], d['pairs']" | tr -d "(),'")"
    check "$name: as at no cost, $free: $(cost "$name" "d['without_ns']")" test \
        "$(cost "$name" "abs(d['without_ns'] - $free) <= 0.03 * $free")" = True
    check "$name: recording costs something" test "$(cost "$name" "d['cost_ns'] > 500")" = True
    check "$name: the interval is around it" test \
        "$(cost "$name" "d['low_ns'] < d['without_ns'] < d['high_ns']")" = True
}

# ---- Steps of each kind -----------------------------------------------------------------------
loop 30 push=it pass=20 alpha=1 sync alpha=1 sync alpha=1 sync pop
without nvtx "$steps" init "${list[@]}"
same "nvtx: its name" it "$(cost nvtx "d['step_name']")"
like "nvtx: the line" \
    "'it' takes .* without recording \(.* to .*\), .* with it: measured in 3 pairs of runs\.$" \
    "$("$miniprof" iters nvtx.mpt | grep 'A step')"
loop 30 range-start=1:it pass=20 alpha=1 sync alpha=1 sync range-end=1
without started "$steps" init "${list[@]}"
loop 30 push-in=mine:it pass=20 alpha=1 sync alpha=1 sync pop-in=mine
without domain "$steps" init "${list[@]}"
loop 30 pass=20 launch=0 sync
without graph "$steps" init stream=1 capture alpha=9 end-capture=0 instantiate=0 "${list[@]}"
loop 30 pass=20 alpha=4 beta=1 sync
without kernels "$steps" init alpha=1 sync beta=3 sync start "${list[@]}" stop alpha=5 sync
same "kernels: each run has all steps of the range, from one to the next" \
    "$(for run in 1 2 3 4 5 6; do echo "$run 29"; done)" "$(tally kernels step run)"

# ---- What follows: the costs are scaled until the run without them takes what was measured ----
for name in nvtx graph kernels; do
    check "$name: recording=0 takes what was measured" test "$(
        "$miniprof" deps --json --iterations=auto --what-if=recording=0 "$name.mpt" | python3 -c "
import json, sys
d = json.load(sys.stdin)
new = d['what_if']['iterations']['p50_ns']
print(abs(new - $(cost "$name" "d['without_ns']")) <= 0.02 * new)")" = True
done
SIMGPU_COST_IN=90000 pairs dear 1 -- "$steps" init "${list[@]}"
like "no factor does: it is said" 'no scale of the modelled costs meets what was measured' \
    "$("$miniprof" deps --what-if=recording=0 dear.mpt 2>&1)"
same "no factor does: there is no row" 0 "$("$miniprof" deps dear.mpt | grep -c '<recording>')"

# ---- What the user sees -----------------------------------------------------------------------
same "stdout is the program's, of each run" 6 "$(
    pairs said 3 -- "$steps" init "${list[@]}" print=result
    grep -c '^result$' said.out)"
same "each run is named" "1 of 6, bare 2 of 6, recorded" \
    "$(sed -n 's/^miniprof run: run //p' said.err | head -n 2 | paste -sd ' ')"
same "one trace, and nothing else" said.mpt "$(ls said*.mpt)"
same "no folder is left" "" "$(ls "$TMPDIR")"
complete "the trace is whole" said
for report in report advise info; do
    like "$report says it" 'measured in 3 pairs of runs' "$("$miniprof" $report said.mpt)"
done
like "by the model, where it is asked for" 'estimated with' \
    "$("$miniprof" iters --cost-by-model said.mpt)"
pairs code 1 -- "$steps" init "${list[@]}" exit=7
same "the exit code is the program's" 7 "$status"

# ---- Programs that cannot be compared ---------------------------------------------------------
pairs none 1 -- "$steps" init pass=20
like "no steps: one line" 'none.mpt has no comparison: the process left no marks of its steps' \
    "$(cat none.err)"
pairs alone 1 -- "$steps" init alpha=1 sync
like "no iterations: one line" \
    'alone.mpt has no comparison: its iterations have no steps in common' "$(cat alone.err)"
cat >differs.sh <<END
echo >>count
n=\$(wc -l <count)
[ \$n -ne 3 ] || exec "$steps" init pass=20
exec "$steps" init ${list[*]}
END
rm -f count
pairs differs 2 -- sh differs.sh
like "a run that made no steps is said" '^miniprof run: 1 of 4 runs made no such steps' \
    "$(grep 'made no' differs.err)"
same "and the other pair counts" 1 "$(cost differs "d['pairs']")"
cat >ends.sh <<END
echo >>count2
[ \$(wc -l <count2) -ne 2 ] || exec "$steps" init alpha=1 raise=9
exec "$steps" init ${list[*]}
END
pairs ends 2 -- sh ends.sh
same "a run that a signal ends: nothing runs after it" "137 2" "$status $(wc -l <count2)"
like "it is said" 'a signal ended this run; there is no comparison' "$(cat ends.err)"
pairs idle 2 -- sh -c 'echo >>count3'
same "a first recorded run without a trace: nothing runs after it" "0 2" "$status $(wc -l <count3)"
like "it is said as well" 'this run wrote no trace: the program made no CUDA calls' \
    "$(grep trace idle.err)"
same "no folder is left then" "" "$(ls "$TMPDIR")"
pairs one 1 -- "$steps" init "${list[@]}"
same "one pair: the interval is that of usual runs" True \
    "$(cost one "0.06 < d['high_ns'] / d['without_ns'] - 1 < 0.1")"
pairs missing 2 -- /no/such/program
same "no such program: 127, and one line" "127 1" "$status $(grep -c "cannot run" missing.err)"
for wrong in 0 x -1 2000; do
    pairs wrong $wrong -- true
    same "--pairs=$wrong: usage" 2 "$status"
done
pairs flight 2 --flight=10s -- true
like "not with --flight: one line" 'pairs: not together with --flight' "$(cat flight.err)"
(ulimit -f 1000 && pairs small 1 -- "$steps" init "${list[@]}" && exit "$status")
same "files may not be large: the program runs" 0 $?

# ---- Processes --------------------------------------------------------------------------------
# Two programs, each with steps of its kind: each trace has those of its program. One that only
# initialises CUDA ahead of them is recorded, but takes no steps, with CUPTI or without.
loop 20 push=first pass=20 alpha=1 sync pop
first=("$steps" init "${list[@]}")
loop 30 push=second pass=40 alpha=1 sync pop
echo "\"$steps\" init; \"$steps\" init ${first[*]:2}; \"$steps\" init ${list[*]}" >several.sh
pairs both.%p 2 -- bash several.sh
same "two programs: the steps of each" "None None first 2 second 2" "$(for trace in both.*.mpt; do
    cost "${trace%.mpt}" "d['step_name'], d['pairs']"; done | tr -d "(),'" | sort | paste -sd ' ')"

# A child that forks has the parent's memory, but marks of its own, which it has none of here.
pairs forked 1 -- "$steps" init "${list[@]}" fork=3 "${list[@]}"
same "a child: the parent's exit code, its steps, before and after" "0 60 1 60 2" \
    "$status $(tally forked step run | awk '{ print $2, $1 }' | paste -sd ' ')"

# ---- In this run, before CUPTI comes ----------------------------------------------------------
# before NAME STEP...: with these steps before the range. The software GPU charges its costs as soon
# as CUPTI is loaded, so there are none here.
before() {
    local name=$1
    shift
    SIMGPU_COST_IN=0 SIMGPU_COST_AROUND=0 SIMGPU_COST_NODE=0 SIMGPU_COST_GAP=0 SIMGPU_COST_START=0 \
        SIMGPU_COST_FINISH=0 "$miniprof" run --capture=range --no-summary -o "$name.mpt" -- \
        "$steps" init "$@" start         "${list[@]}" stop >"$name.out" 2>"$name.err"
    status=$?
}
loop 30 pass=20 alpha=4 beta=1 sync
before warm "${list[@]}" "${list[@]}"
same "warm: exit code" 0 "$status"
same "warm: measured in this run" "measured_in_run" "$(cost warm "d['source']")"
same "warm: what the program takes" "$(cost kernels "d['without_ns'] // 100")" \
    "$(cost warm "d['without_ns'] // 100")"
same "warm: recorded steps of it, too" True \
    "$(cost warm "abs(d['of_ns'] - d['without_ns']) < 500")"
like "warm: the line" 'measured in this run, in [1-9][0-9]* steps before CUPTI came\.$' \
    "$("$miniprof" iters warm.mpt | grep 'A step')"
slower=()
for ((i = 1; i <= 40; i++)); do slower+=(pass=20 alpha=4 pass=$((i * 20)) beta=1 sync); done
list=()
for ((i = 0; i < 20; i++)); do list+=(pass=20 alpha=4 pass=20 beta=1 sync); done
before trend "${slower[@]}"
like "trend: the steps before say nothing" '^(built_in|unknown)$' "$(cost trend "d['source']")"
before few pass=20 alpha=4 beta=1 sync
like "few: the steps before say nothing" '^(built_in|unknown)$' "$(cost few "d['source']")"
before other alpha=7 sync alpha=7 sync
like "other: none of the program's steps came before" '^(built_in|unknown)$' \
    "$(cost other "d['source']")"

finish
