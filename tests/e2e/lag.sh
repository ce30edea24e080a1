#!/bin/bash
# Takes 15 s.
# A CUPTI that falls behind with the GPU's records, on the software GPU's virtual clock, and what is
# none: pauses, captures, ranges, records that are not wanted.
. "$SOURCE/tests/e2e/lib.sh" || exit 1

# The limits are tenths of what they are: a lag is 0.5 s of the virtual clock.
hurry=10
export MINIPROF_TEST_TIME_DIVISOR=$hurry

# A launch every 0.10001 s, ten of them. The writer looks at each a few times.
launches=()
for _ in {1..10}; do
    launches+=(pass=100010 alpha=1 written)
done
late=SIMGPU_LATE_MS=650

# greatest NAME: nothing where there was no lag.
greatest() {
    counter "$1" gpu_behind_ms | grep -vx 0
}

# Records come 0.65 s late: at a launch the newest one is that of the seventh kernel before. A busy
# machine may let the writer see an earlier launch first.
# lags WHAT NAME ALPHAS
lags() {
    unharmed "$1" "$2" bare 0
    complete "$1" "$2"
    same "$1: every kernel" "$3" "$(kernels "$2")"
    same "$1: one line" 1 "$(said "$2" | wc -l)"
    like "$1: what it says" \
        "^miniprof: the GPU's records are 0\.[567] s behind its launches: .*MINIPROF_DURATION" \
        "$(said "$2")"
    same "$1: the greatest lag is that of a launch to the seventh kernel before" 700 \
        "$(greatest "$2")"
}

# silent WHAT NAME
silent() {
    unharmed "$1" "$2" bare 0
    complete "$1" "$2"
    same "$1: nothing to say" "" "$(said "$2")"
    same "$1: no counter" "" "$(greatest "$2")"
}

# ---- Behind ----------------------------------------------------------------------------------
program=("$steps" init "${launches[@]}")
bare bare -- "${program[@]}"
profile late $late -- "${program[@]}"
lags "late records" late "alpha 10"
like "late records: miniprof info tells the counter" $'\ngpu_behind_ms +700\n' \
    "$("$miniprof" info late.mpt)"
check "late records: nothing is missing in the trace" "$miniprof" info late.mpt
same "late records: no warning in reports" 0 "$("$miniprof" summary late.mpt | grep -c Warning)"
profile callback $late MINIPROF_CAPTURE=range -- "$steps" init start "${launches[@]}" stop
lags "late records in a capture range" callback "alpha 10"

conditional=(SIMGPU_CONDITIONAL_NODES=1)
profile conditional $late "${conditional[@]}" -- "$steps" init make-graph=0 instantiate=0 \
    "${launches[@]}"
lags "late records where a graph has conditional nodes" conditional "alpha 10"

# What was behind before the mode auto begins anew is not in the trace. It was said.
profile anew $late -- "$steps" init "${launches[@]}" sync start alpha=1 written stop
same "late records before the trace begins anew: the counter goes" "" "$(greatest anew)"
same "late records before the trace begins anew: said" 1 "$(said anew | wc -l)"

# A trace of the flight recorder tells of a lag that was there before it begins.
some=(written written written written written written) # its looks for old rows are rarer
start flight $late MINIPROF_FLIGHT=1s -- "$steps" init "${launches[@]}" "${some[@]}" sync alpha=1 \
    pass=7000000 "${some[@]}" "${some[@]}" alpha=1 print=ready await=go
await grep -qx ready flight.out
kill -USR2 "$pid"
await [ -e flight.mpt ]
touch go
wait "$pid"
complete "a trace of the flight recorder" flight
same "a trace of the flight recorder: its first launch is the last" 1 "$(count flight call)"
same "a trace of the flight recorder: the greatest lag of the process" 700 "$(greatest flight)"
same "a trace of the flight recorder: one line of it" 1 "$(said flight | grep -c behind)"

# ---- Not behind ------------------------------------------------------------------------------
profile now -- "${program[@]}"
silent "records in time" now
profile slower SIMGPU_LATE_MS=350 -- "${program[@]}"
silent "records that come seconds late" slower
profile pauses SIMGPU_LATE_MS=350 -- "$steps" init alpha=1 pass=2000000 alpha=1 written \
    pass=50000000 alpha=1 written pass=2000000 alpha=2 pass=100 alpha=1 written
silent "pauses" pauses
profile idle $late -- "$steps" init alpha=1 written pass=6000000 written pass=6000000 \
    written
silent "a program that launches nothing more" idle
profile gpu $late MINIPROF_GPU=off -- "${program[@]}"
silent "without the GPU's records" gpu
profile api $late MINIPROF_API=none -- "${program[@]}"
silent "without calls" api
profile outside $late MINIPROF_CAPTURE=range -- "$steps" init start alpha=1 written stop \
    "${launches[@]/written/round}" start alpha=1 written stop
silent "outside of capture ranges" outside
# An empty graph stands for one of whose nodes none ran.
profile unmet "${conditional[@]}" -- "$steps" init alpha=1 written make-graph=0 instantiate=0 \
    create-graph=1 instantiate=1 "${launches[@]/alpha=1/launch=1}" alpha=1
silent "graphs with conditional nodes" unmet
# The capture takes 1 s, and what comes of it is launched at its end.
profile captured -- "$steps" init alpha=1 written stream=1 capture "${launches[@]}" \
    end-capture=0 instantiate=0 alpha=1 launch=0 written
silent "launches into a stream capture" captured
finish
