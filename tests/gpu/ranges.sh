#!/bin/bash
# Capture ranges in quick succession, short ones, some of a program that never stops launching, and
# some after a pause that is long enough for CUPTI's clock to be registered again: the kernels of
# the ranges are in the trace, all of them, and none of those in between. Lines with # tell what
# the calls that begin and end a range took, and what CUPTI's thread did for one after the pause.
#
#     RANGES_PAUSE=0   seconds of that pause; 310 and more are needed, 0: without it
#     RANGES_RATE=60000   kernels a second of the program that does not stop
. "$(dirname "$0")/lib.sh"

steps=$BUILD/tests/e2e/steps
soak=$BUILD/gpu/soak
pause=${RANGES_PAUSE:-0}
[ -x "$steps" ] || skip "the test programs were not built"
cd "$WORK" || exit 1

# counts FILE KERNEL: "RANGES KERNELS OTHERS DROPPED UNTIMED RENEWALS LAUNCHES GRAPHS".
counts() {
    "$BUILD/miniprof" info --json "$1" >info.json
    "$BUILD/miniprof" summary --json "$1" >summary.json
    python3 "$SOURCE/tests/gpu/ranges.py" info.json summary.json "$2"
}

# expect WHAT FILE "RANGES KERNELS" [RENEWALS]: those, none other, none lost or without times.
expect() {
    local got
    got=$(counts "$2" alpha | cut -d' ' -f1-6)
    [ "$got" = "$3 0 0 0 ${4:-0}" ] || fail "$1: $got, not $3 0 0 0 ${4:-0}"
    ok "$1: $3"
}

# repeat TIMES STEP...: into `program`
repeat() {
    local times=$1 i
    shift
    for ((i = 0; i < times; i++)); do
        program+=("$@")
    done
}

# took WHO FILE: what passed between the stamps that a program has printed
took() {
    python3 "$SOURCE/tests/gpu/stamps.py" "$2" | sed "s/^/# $1, /"
}

# ---- After a pause, beside the rest ----------------------------------------------------------
short=(start alpha=20 stop beta=5)
it=(push=it alpha=20 pop beta=5)
declare -A paused # process ids by name
# with_pause NAME MODE: `program`, in the background
with_pause() {
    MINIPROF_CAPTURE=$2 traced "$1.mpt" "$steps" "${program[@]}" >"$1.out" 2>"$1.err" &
    paused[$1]=$!
}

if [ "$pause" -gt 0 ]; then
    program=(init)
    repeat 10 "${short[@]}"
    program+=(sleep=$((pause * 1000)))
    repeat 10 "${short[@]}"
    with_pause profiler range
    program=(init)
    repeat 10 "${it[@]}"
    program+=(sleep=$((pause * 1000)))
    repeat 10 "${it[@]}"
    with_pause nvtx nvtx:it
    program=(init "${short[@]}" sleep=$(((pause + 5) * 1000)) start stamp=-)
    repeat 200 alpha=1000 sync sleep=2
    program+=(stop "stamp=200,000 kernels")
    with_pause many range
    started+=("${paused[@]}")
fi

# ---- In quick succession ---------------------------------------------------------------------
for gap in 0 1 20 200; do
    program=(init alpha=10 sync)
    repeat 8 start alpha=500 sleep=100 alpha=500 sync stop beta=200 "sleep=$gap"
    MINIPROF_CAPTURE=range traced $gap.mpt "$steps" "${program[@]}" 2>err || fail "$(cat err)"
    expect "$gap ms apart" $gap.mpt "8 8000"
done
program=(init)
repeat 200 "${short[@]}"
MINIPROF_CAPTURE=range traced short.mpt "$steps" "${program[@]}" 2>err || fail "$(cat err)"
expect "short ones" short.mpt "200 4000"
program=(init start alpha=100 stop)
repeat 16 sleep=20 stamp=- start stamp=cuProfilerStart alpha=100 stamp=- stop stamp=cuProfilerStop
"$steps" "${program[@]}" >bare.out || fail "without miniprof"
MINIPROF_CAPTURE=range traced calls.mpt "$steps" "${program[@]}" >calls.out 2>err ||
    fail "$(cat err)"
expect "ranges that are timed" calls.mpt "17 1700"
took "without miniprof" bare.out
took "with miniprof" calls.out

# ---- Of a program that does not stop ---------------------------------------------------------
CUDA_INJECTION64_PATH=$BUILD/libminiprof.so MINIPROF_OUTPUT=load.mpt MINIPROF_CAPTURE=off "$soak" \
    --seconds 120 --threads 2 --nodes 20 --rate "${RANGES_RATE:-60000}" >made 2>err &
pid=$!
started+=("$pid")
for ((i = 0; i < 600; i++)); do
    "$BUILD/miniprof" ctl $pid status >answer 2>&1 && [ -s made ] && break
    sleep 0.1
done
asked=0
for gap in 0.02 0.2 0.05 1 0.02 0.2 0.05 1; do
    "$BUILD/miniprof" ctl $pid start >answer 2>&1 || fail "start: $(cat answer)"
    sleep 0.3
    "$BUILD/miniprof" ctl $pid stop >answer 2>&1 || fail "stop: $(cat answer)"
    asked=$((asked + 1))
    sleep $gap
done
kill -TERM $pid
wait $pid
[ $? -eq 143 ] || fail "the program that does not stop: $(cat err)"
started=("${paused[@]}")
read -r ranges kernels others dropped untimed renewals launches graphs <<<"$(counts load.mpt soak)"
calls=$((launches + 20 * graphs))
# What is under way where `miniprof ctl` ends a range is not waited for; where it begins one, a call
# may be under way that is not in it, unlike its kernel.
[ "$ranges $others $dropped $untimed $renewals" = "$asked 0 0 0 0" ] && [ "$calls" -gt 0 ] &&
    [ $((kernels * 100)) -le $((calls * 105)) ] && [ $((kernels * 100)) -ge $((calls * 95)) ] ||
    fail "under load: $ranges ranges, $kernels kernels of $calls launched, $others others," \
        "$dropped dropped, $untimed without times, $renewals times the clock"
ok "under load: $ranges ranges, $kernels kernels of $calls launched"

[ "$pause" -gt 0 ] || {
    echo "# no pause for CUPTI's clock: RANGES_PAUSE=310 has one"
    exit 0
}
for name in profiler nvtx many; do
    wait "${paused[$name]}" || fail "$name, around a pause: $(cat $name.err)"
done
started=()
for name in profiler nvtx; do
    expect "$name, around a pause of $pause s" $name.mpt "20 400" 1
done
expect "many, after a pause of $((pause + 5)) s" many.mpt "2 200020" 1
took "after a pause of $((pause + 5)) s" many.out
