#!/bin/bash
# MINIPROF_CAPTURE: what is in the trace is what was launched in the ranges, and nothing else.
. "$SOURCE/tests/e2e/lib.sh" || exit 1

# ranges NAME: "BEGIN-REASON..END-REASON" for each range.
ranges() {
    echo $(rows "$1" capture | awk -F, '{ printf "%s%s:%s\n", $1, $2, $5 }')
}

range_summary() {
    "$miniprof" summary --csv --range "$2" "$work/$1.mpt" 2>&1
}

# calls_in NAME RANGE: "kernel calls" of the range, by name.
calls_in() {
    "$miniprof" summary --json --range "$2" "$work/$1.mpt" | python3 -c '
import json, sys
found = {}
def walk(value):
    if isinstance(value, dict):
        if "calls" in value and value.get("name") in ("alpha", "beta", "gamma"):
            found[value["name"]] = value["calls"]
        for inner in value.values():
            walk(inner)
    elif isinstance(value, list):
        for inner in value:
            walk(inner)
walk(json.load(sys.stdin))
print(" ".join(f"{name} {found[name]}" for name in sorted(found)))'
}

# ---- auto: 5 iterations of 8 layers are profiled, 200 tactics and 2 warm-ups are not ---------
options=(--iterations 5 --layers 8)
bare plain -- "$inference" "${options[@]}"
profile auto -- "$inference" "${options[@]}"
unharmed auto auto plain 0
complete auto auto
same "auto: one closing line, nothing else" "1 0" \
    "$(closing auto | wc -l) $(said auto | wc -l)"
same "auto: each layer's kernel in each iteration, no tactic" \
    "add_join 10 conv_layer 10 gemm_layer 10 relu_layer 10" "$(kernels auto)"
same "auto: two copies an iteration" "DtoH 5 HtoD 5" "$(echo $(tally auto copy kind))"
same "auto: no sets" 0 "$(count auto set)"
same "auto: no string of the build phase" 0 "$(count auto string 'tactic|build')"
same "auto: a range for each layer in its domain" "40 40" \
    "$(count auto nvtx ',push,layers,') $(count auto nvtx ',pop,layers,')"
same "auto: a range for each iteration in the default domain" "5 5" \
    "$(count auto nvtx ',push,,iteration,') $(count auto nvtx ',pop,,,')"
same "auto: names of the layers" \
    "conv1 res2a res2a_branch1 res2a_relu res2b res2b_branch1 res2b_branch2a res2b_relu, 5 each" \
    "$(echo $(rows auto nvtx | awk -F, '$2 == "push" && $3 == "layers" { print $4 }' | sort |
        uniq -c | awk '{ print $2; if ($1 != 5) bad = 1 } END { print ", " (bad ? "?" : 5) }') |
        sed 's/ , /, /') each"
same "auto: launches" 40 "$(count auto call ',cuLaunchKernel,')"
same "auto: every kernel has the correlation id of its launch" \
    "$(rows auto call | awk -F, '$2 == "cuLaunchKernel" { print $5 }' | sort)" \
    "$(column auto kernel correlation | sort)"
same "auto: one range" "1begin:profiler_api 1end:profiler_api" "$(ranges auto)"
same "auto: the range's times are round the rows'" 1 "$(rows auto capture | awk -F, '
    { time[$2] = $3 } END { print time["begin"], time["end"] }' | {
        read -r begin end
        column auto call start | awk -v b="$begin" -v e="$end" '
            $1 < b || $1 > e { bad = 1 } END { print (!bad && NR > 0) }'; })"

# ---- the same schedule, to the nanosecond ----------------------------------------------------
profile again -- "$inference" "${options[@]}"
same "two runs give the same rows" "$(comparable auto)" "$(comparable again)"
profile none MINIPROF_API=none MINIPROF_NVTX=off -- "$inference" "${options[@]}"
same "without API calls and NVTX: none of them, the same kernels and copies" "0 0
$(column auto kernel duration; column auto copy duration)" "$(count none call) $(count none nvtx)
$(column none kernel duration; column none copy duration)"
profile whole MINIPROF_CAPTURE=all -- "$inference" "${options[@]}"
# Without the begin: the software GPU's clock counts its readings, and a range reads it.
same "all: the profiled part is as in auto" "$(rows auto kernel | cut -d, -f1-3,5-)" \
    "$(rows whole kernel | tail -n 40 | cut -d, -f1-3,5-)"

# ---- all -------------------------------------------------------------------------------------
# The two warm-ups, 200 tactics and the 5 iterations.
same "all: everything" "7 200" \
    "$(($(count whole kernel 'conv_layer') / 2)) $(count whole kernel 'tactic_')"
same "all: copies" "DtoH 7 HtoD 7" "$(echo $(tally whole copy kind))"
same "all: the set of the build phase" 1 "$(count whole set)"
same "all: one range from the start of the process" \
    "1begin:start_of_process 1end:end_of_process" "$(ranges whole)"
complete all whole
paused=(init alpha=1 stop beta=2 start gamma=4 sync)
profile all MINIPROF_CAPTURE=all -- "$steps" "${paused[@]}"
same "all: cudaProfilerStart and Stop mean nothing" \
    "alpha 1 beta 2 gamma 4 1begin:start_of_process 1end:end_of_process" \
    "$(kernels all) $(ranges all)"
profile all_stops MINIPROF_CAPTURE=all -- "$steps" init stop stop alpha=1 start start beta=2 stop
same "all: nor do several of them in a row" "alpha 1 beta 2" "$(kernels all_stops)"

# ---- pause: Stop pauses and Start resumes, as in nvprof ---------------------------------------
profile pause MINIPROF_CAPTURE=pause -- "$steps" "${paused[@]}"
same "pause: Stop pauses, Start resumes" "alpha 1 gamma 4" "$(kernels pause)"
same "pause: ranges" \
    "1begin:start_of_process 1end:profiler_api 2begin:profiler_api 2end:end_of_process" \
    "$(ranges pause)"
complete pause pause
profile pause_start MINIPROF_CAPTURE=pause -- "$steps" init alpha=1 start beta=2 stop gamma=4 stop
same "pause: a Start discards nothing, a second Stop has no effect" \
    "alpha 1 beta 2 1begin:start_of_process 1end:profiler_api" \
    "$(kernels pause_start) $(ranges pause_start)"
profile pause_none MINIPROF_CAPTURE=pause -- "$steps" init alpha=3 sync
same "pause without a profiler call: the whole run" "alpha 3" "$(kernels pause_none)"
profile pause_bad MINIPROF_CAPTURE=paused -- "$steps" init alpha=3 sync
like "pause: another word is named, with those that there are" \
    "MINIPROF_CAPTURE.*paused.*pause" "$(said pause_bad)"
same "pause: the default holds then" "alpha 3" "$(kernels pause_bad)"

# ---- range -----------------------------------------------------------------------------------
profile range MINIPROF_CAPTURE=range -- "$inference" "${options[@]}"
unharmed range range plain 0
complete range range
same "range: kernels, copies" \
    "add_join 10 conv_layer 10 gemm_layer 10 relu_layer 10 DtoH 5 HtoD 5" \
    "$(kernels range) $(echo $(tally range copy kind))"
same "range: NVTX" "45 45" "$(count range nvtx ',push,') $(count range nvtx ',pop,')"
same "range: launches" 40 "$(count range call ',cuLaunchKernel,')"
same "range: kernels as in auto" "$(column auto kernel duration)" "$(column range kernel duration)"
profile outside MINIPROF_CAPTURE=range -- "$steps" init alpha=3 sync
same "range without a profiler call: no kernel, complete" "0 ok" \
    "$(count outside kernel) $("$miniprof" check outside.mpt | grep -o ok)"

# ---- no profiler call: the whole run ---------------------------------------------------------
profile no_api -- "$inference" "${options[@]}" --no-profiler-api
unharmed "no profiler API" no_api plain 0
same "no profiler API: the whole run" "14 14 14 14 200" \
    "$(echo $(for kernel in conv gemm relu add tactic; do count no_api kernel "${kernel}_"; done))"
same "no profiler API: one range, the process" "1begin:start_of_process 1end:end_of_process" \
    "$(ranges no_api)"

# ---- several ranges --------------------------------------------------------------------------
for mode in auto range; do
    profile "several_$mode" MINIPROF_CAPTURE=$mode -- "$steps" init gamma=9 \
        start alpha=1 stop gamma=1 start alpha=2 beta=3 stop gamma=1 start stop \
        start beta=5 gamma=1 stop gamma=7
    same "$mode: three ranges and an empty one" "alpha 3 beta 8 gamma 1" "$(kernels several_$mode)"
    same "$mode: their rows" \
        "1begin 1end 2begin 2end 3begin 3end 4begin 4end" \
        "$(echo $(rows several_$mode capture | awk -F, '{ print $1 $2 }'))"
    same "$mode: --range 1" "alpha 1" "$(calls_in several_$mode 1)"
    same "$mode: --range 2" "alpha 2 beta 3" "$(calls_in several_$mode 2)"
    same "$mode: --range 3, empty" "" "$(calls_in several_$mode 3)"
    same "$mode: --range 4" "beta 5 gamma 1" "$(calls_in several_$mode 4)"
    output=$(range_summary several_$mode 5)
    code=$?
    like "$mode: --range 5 says how many there are" '4' "$output"
    check "$mode: --range 5 is an error" [ $code -gt 1 ]
    complete "$mode" several_$mode
done
same "range and auto give the same kernels" "$(column several_auto kernel shape)" \
    "$(column several_range kernel shape)"

# ---- Start and Stop that do not match --------------------------------------------------------
profile empty -- "$steps" init alpha=3 start stop alpha=4
same "an empty range: no kernel, complete" "0 ok" \
    "$(count empty kernel) $("$miniprof" check empty.mpt | grep -o ok)"
profile open -- "$steps" init alpha=3 start beta=4
same "Start without Stop: to the end of the process" "beta 4" "$(kernels open)"
same "Start without Stop: range" "1begin:profiler_api 1end:end_of_process" "$(ranges open)"
profile unopened -- "$steps" init alpha=3 stop beta=4
same "Stop without Start: the whole run" "alpha 3 beta 4" "$(kernels unopened)"
profile unopened_range MINIPROF_CAPTURE=range -- \
    "$steps" init alpha=3 stop beta=4 start gamma=2 stop
same "Stop without Start, range" "gamma 2" "$(kernels unopened_range)"
profile nested -- "$steps" init start alpha=1 start beta=2 stop gamma=4 stop alpha=8
same "Start in a range means nothing: the first Stop ends it" "alpha 1 beta 2" "$(kernels nested)"
same "Start in a range: range" "1begin:profiler_api 1end:profiler_api" "$(ranges nested)"

# ---- many short ranges: more than the recorder remembers ------------------------------------
# A buffer of 1 MiB for each: Stop takes one out of use until the writer has seen it.
profile many MINIPROF_BUFFER_MB=1300 -- "$steps" init $(for ((i = 0; i < 300; i++)); do
    echo start alpha=1 stop beta=1 start alpha=1 stop start alpha=1 stop start alpha=1 stop
done)
same "1200 ranges of one kernel" "alpha 1200" "$(kernels many)"
same "1200 ranges: rows" 2400 "$(count many capture)"
same "1200 ranges: the first one" "alpha 1" "$(calls_in many 1)"
same "1200 ranges: the last one" "alpha 1" "$(calls_in many 1200)"
complete "1200 ranges" many
# ---- the end of the process ------------------------------------------------------------------
# Nothing that the recorder records comes after the last launch: its id is the last one.
profile last MINIPROF_API=none -- "$steps" init beta=2 alpha=1 sync
same "the last launch belongs to the range that the process ends" "2 beta 1 alpha" \
    "$(echo $("$miniprof" summary --csv --range 1 last.mpt |
        sed -n 's/^"GPU activities",[^,]*,[^,]*,\([0-9]*\),.*"\(.*\)"$/\1 \2/p'))"
like "and the dependency analysis knows it" 'alpha' "$("$miniprof" deps last.mpt)"
finish
