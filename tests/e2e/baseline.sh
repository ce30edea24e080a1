#!/bin/bash
# MINIPROF_BASELINE on the software GPU: which steps are recorded, that those are complete, that the
# table `step` has the others too, and when nothing is switched. Takes 8 s.
. "$SOURCE/tests/e2e/lib.sh" || exit 1
export SIMGPU_DISABLE_ALONE=1 # the software GPU does not know that launches are held back meanwhile

# loop TIMES STEP...: into `list`.
loop() {
    list=()
    for ((i = 0; i < $1; i++)); do list+=("${@:2}"); done
}

# first NAME: the first line of iters that speaks of a baseline.
first() {
    "$miniprof" iters "$work/$1.mpt" | grep -E 'baseline:|not recorded \(' | head -n 1 |
        sed 's/^==[0-9]*== //'
}

# fact NAME EXPRESSION: of the JSON document of iters, as d.
fact() {
    "$miniprof" iters --json "$work/$1.mpt" | python3 -c "
import json, sys
d = json.load(sys.stdin)
print($2)"
}

# consistent WHAT NAME EACH MORE STEPS: of STEPS steps those that were recorded have EACH kernels,
# and there are MORE outside of steps. No step lies in a block of the other kind.
consistent() {
    local all without
    all=$(counter "$2" baseline_steps)
    without=$(counter "$2" baseline_unrecorded)
    same "$1: exit code" 0 "$status"
    same "$1: kernels of the recorded steps" $((($5 - without) * $3 + $4)) "$(count "$2" kernel)"
    same "$1: no launch without a record" 0 "$(counter "$2" unanswered_launches)"
    complete "$1" "$2"
    "$miniprof" summary "$work/$2.mpt" >/dev/null
    same "$1: a share is no loss" 0 $?
    like "$1: the first line says it" \
        "Note: $without of $all steps were not recorded, as --baseline asks" \
        "$("$miniprof" summary "$work/$2.mpt" | head -n 1)"
    check "$1: steps lie in blocks" python3 - <(rows "$2" step) <(rows "$2" capture) <<'END'
import sys
steps = [line.strip().split(",") for line in open(sys.argv[1])]
ranges = [line.strip().split(",") for line in open(sys.argv[2])]
begins = [int(r[2]) for r in ranges if r[1] == "begin"]
ends = [int(r[2]) for r in ranges if r[1] == "end"]
assert steps
for *_, recorded, start, length in steps:
    start, end = int(start), int(start) + int(length)
    inside = any(b <= start and end <= e + 2000 for b, e in zip(begins, ends))
    apart = all(end <= b or e <= start for b, e in zip(begins, ends))
    assert inside if recorded == "1" else apart, (recorded, start, end)
END
}

# ---- NVTX ranges, of any name and of one ------------------------------------------------------
# The first block chooses: 7 steps of 3 ms. Of the 93 others 30 are recorded, 10 not, and so on. The
# first step after each of four switches is not in the table.
loop 100 push=it pass=3000 alpha=2 sync pop
program=("$steps" init "${list[@]}")
bare bare -- "${program[@]}"
profile nvtx MINIPROF_BASELINE=25% -- "${program[@]}"
unharmed nvtx nvtx bare 0
consistent nvtx nvtx 2 0 100
same "nvtx: steps" "93 20" "$(counter nvtx baseline_steps) $(counter nvtx baseline_unrecorded)"
same "nvtx: the table has all but the first after a switch" "0 18
1 71" "$(tally nvtx step recorded)"
same "nvtx: their name" "it 89" "$(tally nvtx step name)"
like "nvtx: iters" \
    '^A step .it. takes 3\.01.* while it is not recorded \(.*, 3\.01.* with it: measured in 18 '\
'steps\. CUPTI stays, at some 0\.4us a launch and a node\.$' \
    "$(first nvtx)"
check "nvtx: the digest has the same" python3 "$SOURCE/tests/golden/compare_report.py" "$miniprof" \
    "$work/nvtx.mpt"
like "nvtx: info" '3\.01.* while it is not recorded .*measured in 18 steps' \
    "$("$miniprof" info nvtx.mpt)"
same "nvtx: as JSON" "True it 71 18" "$(fact nvtx \
    "d['baseline']['known'], d['baseline']['name'], d['baseline']['recorded']['steps'],
     d['baseline']['unrecorded']['steps']" | tr -d "(),'")"
same "nvtx: all iterations that were recorded" 80 "$(fact nvtx "d['count']")"
same "nvtx: pauses do not count as time" True "$(fact nvtx "3e6 < d['period_mean_ns'] < 3.1e6")"

loop 100 push=out pass=10 push=it pass=3000 alpha=2 sync pop pop
profile named MINIPROF_BASELINE=25 MINIPROF_STEP=it MINIPROF_NVTX=off -- "$steps" init "${list[@]}"
consistent named named 2 0 100
same "named: the inner range" "it 89" "$(tally named step name)"

profile half MINIPROF_BASELINE=75 -- "${program[@]}"
consistent "three quarters" half 2 0 100
check "three quarters: the share" test \
    $((100 * $(counter half baseline_unrecorded) - 75 * $(counter half baseline_steps))) -ge -1000

for report in summary gpu-trace api-trace deps advise memory kernels overlap; do
    like "nvtx: $report begins with it" '^==[0-9]+== Note: 20 of 93 steps were not recorded' \
        "$("$miniprof" $report nvtx.mpt 2>&1 | head -n 1)"
done
like "nvtx: info --csv, too" 'Note: 20 of 93 steps' "$("$miniprof" info --csv nvtx.mpt 2>&1)"
like "several traces: the note names the process" 'Note: .* 20 of 93 steps were not recorded' \
    "$("$miniprof" summary --merge nvtx.mpt half.mpt 2>&1)"

# ---- Graphs and synchronising calls -----------------------------------------------------------
loop 100 pass=3000 launch=0 sync
graph=(init stream=1 capture alpha=1 beta=1 end-capture=0 instantiate=0 "${list[@]}")
profile graph MINIPROF_BASELINE=25 -- "$steps" "${graph[@]}"
consistent graph graph 2 0 100
same "graph: steps" "CUDA graph launch" "$(column graph step name | sort -u)"
same "graph: capture ranges are no iterations" False "$(fact graph "d['by'] == 'range'")"
profile level MINIPROF_BASELINE=25 MINIPROF_CUDA_GRAPH=graph -- "$steps" "${graph[@]}"
same "graph level: launches" $((100 - $(counter level baseline_unrecorded))) "$(count level graph)"
loop 100 pass=3000 alpha=1 sync
profile sync MINIPROF_BASELINE=25 -- "$steps" init "${list[@]}"
consistent sync sync 1 0 100
same "sync: steps" synchronisation "$(column sync step name | sort -u)"

# ---- Ranges of the program ---------------------------------------------------------------------
profile range MINIPROF_BASELINE=25 MINIPROF_CAPTURE=range -- "$steps" init alpha=3 sync start \
    "${list[@]}" stop alpha=3 sync
consistent range range 1 0 100
profile auto MINIPROF_BASELINE=25 -- "$steps" init "${list[@]}" start "${list[@]}" stop alpha=3 sync
same "auto begins anew" 0 "$(counter auto unanswered_launches)"
same "auto: steps of the range alone" 0 \
    "$(($(column auto step start | sort -n | head -n 1) < $(column auto capture time | head -n 1)))"

# ---- Work in flight ----------------------------------------------------------------------------
loop 100 push=it pass=3000 alpha=1 pop
profile never MINIPROF_BASELINE=25 -- "$steps" init "${list[@]}" push=it
same "never idle: nothing is switched" "0 100" \
    "$(counter never baseline_unrecorded) $(count never kernel)"
like "never idle: one line" '^No baseline: 0 of 9[0-9] steps were not recorded, and it takes 8; ' \
    "$(first never)"
loop 100 push=it pass=3000 stream=1 alpha=20 stream=2 sync-stream pop
profile other MINIPROF_BASELINE=25 -- "$steps" init "${list[@]}"
same "another stream has work: nothing is switched" "0 2000" \
    "$(counter other baseline_unrecorded) $(count other kernel)"
loop 100 push=it pass=3000 stream=1 alpha=20 stream=2 sync-stream pop pass=100 sync
profile later MINIPROF_BASELINE=25 -- "$steps" init "${list[@]}"
consistent "it is awaited between steps" later 20 0 100
like "it is awaited between steps: switched" '^[1-9]' "$(counter later baseline_unrecorded)"

# ---- Threads -----------------------------------------------------------------------------------
# Of two threads that make steps, those of the first count; the other's launches are complete, too.
loop 60 push=it pass=3000 alpha=2 sync pop
profile threads MINIPROF_BASELINE=25 -- "$steps" init push=it alpha=1 sync pop \
    aside=50 "${list[@]}" join "${list[@]}"
same "threads: exit code" 0 "$status"
same "threads: one makes the steps" 1 "$(tally threads step thread | wc -l)"
same "threads: no launch without a record" 0 "$(counter threads unanswered_launches)"
same "threads: no loss" 0 "$("$miniprof" summary threads.mpt | grep -c Warning)"

# ---- CUPTI's faults ----------------------------------------------------------------------------
for version in 26 28; do
    profile old$version MINIPROF_BASELINE=25 SIMGPU_CUPTI_VERSION=$version -- "$steps" "${graph[@]}"
    consistent "CUPTI $version" old$version 2 0 100
    like "CUPTI $version: switched" '^[1-9]' "$(counter old$version baseline_unrecorded)"
done
profile hangs MINIPROF_BASELINE=25 SIMGPU_CUPTI_VERSION=130000 -- "$steps" "${graph[@]}"
same "CUPTI 13.0: all is recorded" "0 0 200" \
    "$status $(counter hangs baseline_unrecorded) $(count hangs kernel)"
like "CUPTI 13.0: one line" '^miniprof: MINIPROF_BASELINE has no effect: CUPTI of CUDA 13.0 hangs' \
    "$(said hangs)"

# ---- Bad values, and too few steps -------------------------------------------------------------
for value in 0% 76% 150% -5% 25%% x 1000000000000; do
    profile bad MINIPROF_BASELINE=$value -- "$steps" init alpha=1 sync
    same "MINIPROF_BASELINE=$value" \
        "miniprof: MINIPROF_BASELINE='$value' is not valid: takes a share of the steps from 1% to \
75%, such as 25%" "$(said bad)"
    same "MINIPROF_BASELINE=$value: recorded" "alpha 1" "$(kernels bad)"
    rm bad.mpt
done
same "run --baseline=150%" \
    "miniprof run: --baseline takes a share of the steps from 1% to 75%, such as 25%, not '150%'" \
    "$("$miniprof" run --baseline=150% -o bad.mpt -- "$steps" init 2>&1)"
"$miniprof" run --baseline -o alone.mpt --no-summary -- "${program[@]}" >alone.out 2>alone.err
same "run --baseline: a quarter" 25% \
    "$("$miniprof" info alone.mpt | sed -n 's/^MINIPROF_BASELINE *//p')"
same "run --baseline: measured" 18 "$(fact alone "d['baseline']['unrecorded']['steps']")"
for other in SCHEDULE=active=1 CAPTURE=nvtx:it FLIGHT=30s; do
    profile beside MINIPROF_BASELINE=25 "MINIPROF_$other" -- "${program[@]}"
    like "beside $other" "MINIPROF_BASELINE has no effect beside MINIPROF_${other%%=*}" \
        "$(said beside)"
    rm -f beside*.mpt
done

profile none MINIPROF_BASELINE=25 -- "$steps" init alpha=1
same "no steps" "No baseline: no steps were found; --step=NAME makes NVTX ranges steps." \
    "$(first none)"
loop 4 push=it pass=8000 alpha=1 sync pop
profile one MINIPROF_BASELINE=25 -- "$steps" init "${list[@]}" push=it sync pop
same "one step" "No baseline: only one step was found; --step=NAME makes NVTX ranges steps." \
    "$(first one)"
loop 40 push=it pass=3000 alpha=1 sync pop
profile few MINIPROF_BASELINE=25 -- "$steps" init "${list[@]}"
like "few steps" '^No baseline: [0-7] of [0-9]* steps were not recorded, and it takes 8; let' \
    "$(first few)"
profile off -- "${program[@]}"
same "without the setting: no word of it" " 0 200" \
    "$(first off) $(count off step) $(count off kernel)"
finish
