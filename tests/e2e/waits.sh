#!/bin/bash
# Waits of host threads outside of CUDA: each way to wait, who woke the thread, settings. Takes 10 s
. "$SOURCE/tests/e2e/lib.sh" || exit 1
. "$SOURCE/tests/e2e/waits_lib.sh" || exit 1

# ---- each way --------------------------------------------------------------------------------
# The waker sleeps for 20 ms. A machine under load may take longer, but not less.
waits all -- "$programs/waits"
same "each way: exit code" 0 "$status"
complete "each way" all
rows all wait >all.rows
while read -r way kind waiter waker object; do
    woken_by=
    [ "$waker" = 0 ] || woken_by="thread $waker"
    found=$(awk -F, -v thread="thread $waiter" -v kind="$kind" -v object="$object" \
        -v waker="$woken_by" '
        $1 == thread && $2 == kind && $6 == waker && $5 >= 10000000 && $5 < 60e9 &&
        (object == "0x0" || $3 == object) && (waker == "" || ($7 <= $5)) {
            print "found"; exit
        }' all.rows)
    same "$way" found "$found"
done <all.out
same "all ways were tried" 40 "$(wc -l <all.out)"
same "a waker is another thread" 0 "$(awk -F, '$1 == $6' all.rows | wc -l)"
same "only waits of more than 2 us" 0 "$(awk -F, '$5 <= 2000' all.rows | wc -l)"
same "no waits of the recorder's threads" "" "$(cut -d, -f1 all.rows | sort -u |
    grep -vxF "$(awk '{ print "thread " $3; print "thread " $4 }' all.out)")"
same "nothing dropped" 0 "$(counter all dropped_waits)"

# ---- ranges ----------------------------------------------------------------------------------
# slept WHAT NAME MS...: the trace has these sleeps, each of that many ms at least, and no others.
slept() {
    local what=$1 name=$2 ms took
    shift 2
    local -a found
    mapfile -t found < <(rows "$name" wait |
        awk -F, '$2 == "sleep" { print int($5 / 1e6) }' | sort -n)
    same "$what: how many" $# ${#found[@]}
    for took in "${found[@]}"; do
        ms=${1:-0}
        check "$what: $ms ms at least: $took ms" [ "$took" -ge "$ms" ]
        shift
    done
}

# Each is twice as long as the one before it.
waits ranges -- --capture range -- "$steps" init sleep=60 start sleep=120 stop sleep=240 start \
    sleep=480 stop sleep=60
slept "only waits in ranges" ranges 120 480
# Long, since it must not end before the range begins: that took half a second on a busy machine.
waits spans -- --capture range -- "$steps" init begin-thread=sleep=4000 sleep=60 start sleep=120 \
    stop join-thread
slept "a wait around a range, one in it, none before or after" spans 120 4000
waits auto -- "$steps" init sleep=60 start sleep=120 stop
slept "auto: what was before the first range is discarded" auto 120
start flight SIMGPU_REAL_TIME=1 LD_PRELOAD="$preload" MINIPROF_FLIGHT=60s -- "$steps" init \
    sleep=120 print=slept await="$work/go"
await grep -q slept flight.out
"$miniprof" ctl "$pid" dump >ctl.out 2>&1
touch go
wait "$pid"
check "flight recorder" [ "$(rows flight wait |
    awk -F, '$2 == "sleep" && $5 >= 12e7' | wc -l)" -gt 0 ]

# ---- what another library tells --------------------------------------------------------------
bare told CUDA_INJECTION64_PATH="$lib" MINIPROF_OUTPUT="$work/told.mpt" \
    LD_PRELOAD="$programs/tell_waits.so" -- "$steps" init load="$programs/tell_waits.so" \
    call=tell_waits
same "told waits are taken as they are" "$(awk 'BEGIN {
    split("condition mutex join barrier semaphore poll epoll select read futex sleep rwlock", kinds)
    for (i = 1; i <= 1000; i++)
        printf "thread 7,%s,0x%x,%d,%d,%s,%d\n", kinds[i % 12 + 1], i, 1000000 * i, 500000 + i,
            i % 2 ? "thread 8" : "", i % 2 ? 250000 : 0 }')" "$(rows told wait)"
bare flood CUDA_INJECTION64_PATH="$lib" MINIPROF_OUTPUT="$work/flood.mpt" \
    LD_PRELOAD="$programs/tell_waits.so" -- "$steps" init load="$programs/tell_waits.so" \
    call=flood_of_waits
same "more than the writer can take: the rest is counted" "0 1000000" \
    "$status $(($(count flood wait) + $(counter flood dropped_waits)))"
check "and some was dropped" [ "$(counter flood dropped_waits)" -gt 0 ]

# ---- switched off, or not there --------------------------------------------------------------
bare plain -- "$programs/waits" cond_wait nanosleep
same "without miniprof: exit code" 0 "$status"
waits off -- --waits off -- "$programs/waits" cond_wait
same "--waits off: no rows" "0 0" "$status $(count off wait)"
waits variable MINIPROF_WAITS=off -- "$programs/waits" cond_wait
same "MINIPROF_WAITS=off: no rows" "0 0" "$status $(count variable wait)"
profile alone SIMGPU_REAL_TIME=1 -- "$programs/waits" cond_wait
same "without miniprof run: no rows, no word" "0 0 0" \
    "$status $(count alone wait) $(said alone | wc -l)"
profile late SIMGPU_REAL_TIME=1 LD_PRELOAD="$preload" MINIPROF_WAITS=off -- "$programs/waits" \
    cond_wait
same "preloaded, but off: no rows" "0 0" "$status $(count late wait)"
waits virtual SIMGPU_REAL_TIME=0 -- "$programs/waits" cond_wait nanosleep
same "a virtual clock: no rows" "0 0" "$status $(count virtual wait)"
waits bad MINIPROF_WAITS=sometimes -- "$programs/waits" nanosleep
like "a bad value: one line" "MINIPROF_WAITS.*off or on" "$(said bad)"

finish
