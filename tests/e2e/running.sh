#!/bin/bash
# A kernel that runs as long as its host wants: the end of a range, CUPTI that comes late and the
# end of the process do not wait for it. And work of which no record tells: reports claim nothing.
. "$SOURCE/tests/e2e/lib.sh" || exit 1

if ! plays cuCtxRecordEvent; then
    echo "a driver that cannot tell whether a context is idle"
    exit 77
fi

# ends NAME: how the ranges of a trace begin and end.
ends() {
    echo $(rows "$1" capture | awk -F, '{ printf "%s%s:%s\n", $1, $2, $5 }')
}

# untimed NAME: the kernels whose end is not known.
untimed() {
    echo $(paste -d ' ' <(column "$1" kernel shape) <(column "$1" kernel start) |
        sed -n 's/ 0$//p')
}

# ---- the end of a range, and of the process --------------------------------------------------
# In real time, where whoever waits for the kernel waits for ten minutes.
program=(init alpha=2 sync start stream=1 alpha=3 endless=1 print=inside stop print=stopped
    stream=2 beta=4 sync-stream print=after)
hurry 4
for mode in auto range; do
    profile "$mode" SIMGPU_REAL_TIME=1 MINIPROF_CAPTURE=$mode -- timeout 60 "$steps" \
        "${program[@]}"
    same "$mode: the program goes on" "0 inside stopped after" "$status $(echo $(cat $mode.out))"
    same "$mode: what was launched in the range" "alpha 3 endless 1" "$(kernels $mode)"
    same "$mode: the range ends where the program ends it" \
        "1begin:profiler_api 1end:profiler_api" "$(ends $mode)"
    same "$mode: only the running kernel has no times" endless "$(untimed $mode)"
    complete "$mode" $mode
done
profile nvtx SIMGPU_REAL_TIME=1 MINIPROF_CAPTURE=nvtx:step -- timeout 60 "$steps" init \
    push=step alpha=1 endless=1 pop print=after
same "an NVTX range: the same" "0 after alpha 1 endless 1" \
    "$status $(cat nvtx.out) $(kernels nvtx)"
profile whole SIMGPU_REAL_TIME=1 -- timeout 60 "$steps" init alpha=2 endless=1 alpha=3
same "what waits behind it has no times either" \
    "0 alpha 5 endless 1, endless alpha alpha alpha" \
    "$status $(kernels whole), $(untimed whole)"

# ---- what no record tells --------------------------------------------------------------------
# lacks NAME WORDS KEY: reports begin with the words, claim nothing, and have the key in JSON.
lacks() {
    like "$1: the first line says so" \
        "Warning: .*$2.*; busy time, idle causes and gains are not known" \
        "$("$miniprof" summary "$1.mpt" 2>&1 | head -n 1)"
    same "$1: its exit code" 1 "$("$miniprof" summary "$1.mpt" >/dev/null 2>&1; echo $?)"
    like "$1: iters" "No busy time and no causes of idle time: " "$("$miniprof" iters "$1.mpt")"
    like "$1: deps" "No critical path: " "$("$miniprof" deps "$1.mpt")"
    "$miniprof" report "$1.mpt" >report.txt
    same "$1: the report says why" 1 \
        "$(grep -cE '^(What the GPU did .* is not known: |No GPU work in the trace; |Nothing was)' \
            report.txt)"
    same "$1: the report claims nothing" "" \
        "$(grep -E 'GPU busy|First finding|What to change' report.txt)"
    like "$1: JSON" "\"gap\": \"$3\"" "$("$miniprof" deps --json "$1.mpt")"
}

"$miniprof" info --json whole.mpt >whole.json
same "what ran at the end, in order, and not before its launch and its stream's last end" \
    "endless alpha alpha alpha True" "$(rows whole kernel | python3 -c '
import json, sys
found = json.load(open("whole.json"))["running_at_end"]
rows = [line.split(",") for line in sys.stdin]
last = max(int(row[3]) + int(row[4]) for row in rows if row[3] != "0")
print(*(row["name"] for row in found), all(
    row["not_before_ns"] == max(last, row["launched_ns"]) for row in found))')"
lacks whole '4 kernels or copies still ran or waited when the program ended' running_at_end
# The range ends while the kernel of before still runs; and in the second case with it.
before=(init stream=1 endless=1 stream=2 start alpha=3 stop)
for mode in auto range; do
    profile "before_$mode" MINIPROF_CAPTURE=$mode SIMGPU_REAL_TIME=1 -- "$steps" "${before[@]}"
    lacks "before_$mode" 'work launched before capture range 1 ran for 100 % of it' earlier_work
done
profile only SIMGPU_REAL_TIME=1 -- "$steps" init stream=1 endless=1 start stop
lacks only 'work launched before capture range 1 ran for 100 % of it' earlier_work
profile reached -- "$steps" init alpha=500 start beta=1 sync beta=1 sync stop
lacks reached 'work launched before capture range 1 ran for [0-9]* % of it' earlier_work
profile little -- "$steps" init alpha=5 start $(for ((i = 0; i < 100; i++)); do
    echo beta=10 sync; done) stop
same "a little of it is no gap" "0 " \
    "$("$miniprof" summary little.mpt >little.txt; echo $?) $(grep Warning little.txt)"
profile waits -- "$steps" init alpha=500 sync start beta=1 sync stop
same "nothing, if the program waits first" 0 "$(counter waits earlier_work_ns)"
profile launchers -- "$steps" init load-launchers alpha=1 sync
lacks launchers '1 module has kernels that launch kernels' device_launches
profile cut -- "$steps" init load-launchers alpha=1 sync start alpha=1 sync stop
same "a module that was loaded before the range" "1 alpha 1" \
    "$(counter cut device_launchers) $(kernels cut)"

# ---- CUPTI that comes late -------------------------------------------------------------------
# late NAME -- PROGRAM...: CUPTI is attached when the first range begins.
late() {
    local name=$1
    local -a settings command
    shift
    split "$@"
    env "${settings[@]}" timeout 60 "$miniprof" run --no-summary -o "$work/$name.mpt" \
        --attach range --capture range -- "$steps" "${command[@]}" >"$work/$name.all" 2>&1
    status=$?
}

if [ -e "$build/libminiprof_preload.so" ] && ! ldd "$steps" | grep -q libasan; then
    late refused SIMGPU_REAL_TIME=1 -- init stream=1 endless=1 print=before stream=2 start alpha=1 \
        stop sync-stream print=after
    same "a kernel runs: the program goes on" "0 before after" \
        "$status $(echo $(grep -x '[a-z]*' refused.all))"
    same "one line says why, and what to do" \
        "miniprof: the GPU is busy, or the driver cannot say (waited up to $(seconds 1) s): \
nothing is recorded in this range. \
CUPTI can only be attached while no kernel runs; MINIPROF_ATTACH=init attaches it from the start" \
        "$(grep ^miniprof: refused.all)"
    # On the virtual clock `sync` takes the ten minutes.
    late again -- init endless=1 start alpha=1 stop sync start beta=2 stop
    same "the next range has CUPTI" "0 1 beta 2" \
        "$status $(grep -c 'GPU is busy' again.all) $(kernels again)"
    complete "the next range" again
fi
finish
