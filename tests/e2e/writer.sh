#!/bin/bash
# A program that launches as fast as it can: nothing is lost to the rests of the writer, and the end
# does not wait for them. All that it launches fits into the buffers, so that it does not matter how
# much of the machine others take.
. "$SOURCE/tests/e2e/lib.sh" || exit 1
many=("$steps" init print=ready alpha=100000 sync beta=100000 sync print=done)

# full WHAT NAME [VAR=VALUE...]: runs it; all of it is in the trace.
full() {
    local what=$1 name=$2
    shift 2
    profile "$name" MINIPROF_BUFFER_MB=128 "$@" -- "${many[@]}"
    unharmed "$what" "$name" bare 0
    complete "$what" "$name"
    same "$what: all kernels" "alpha 100000 beta 100000" "$(kernels "$name")"
    same "$what: all launches" 200000 "$("$miniprof" api-trace --csv "$name.mpt" 2>/dev/null |
        grep -c '"cuLaunchKernel')"
    like "$what: nothing is dropped, and the writer's share is told" \
        ' 0 dropped, writer [0-9]+\.[0-9] ms \([0-9]+\.[0-9] %\) CPU$' "$(closing "$name")"
    same "$what: nothing else is said" "" "$(said "$name")"
}

bare bare -- "${many[@]}"
full "full speed" fast
full "full speed, a writer that is slow" slow MINIPROF_LEVEL=19
full "full speed, all calls" calls MINIPROF_API=all

# The same on one CPU, where the writer takes its time from the program.
cpu=$(taskset -cp $$ | sed 's/.*: *//; s/[-,].*//')
many=(taskset -c "$cpu" "${many[@]}")
full "full speed on one CPU" one MINIPROF_LEVEL=19
finish
