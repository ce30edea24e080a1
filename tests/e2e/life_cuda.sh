#!/bin/bash
# What programs do to CUDA: devices reset, contexts and libraries that come and go, many threads and
# streams, correlation ids that wrap.
. "$SOURCE/tests/e2e/lib.sh" || exit 1
life=$build/tests/e2e/life

# lives WHAT NAME KERNELS STEP...: the program is unharmed, the trace complete with these kernels.
lives() {
    local what=$1 name=$2 expected=$3
    shift 3
    bare "$name.bare" -- "$life" "$@"
    same "$what: exit code without miniprof" 0 "$status"
    profile "$name" -- "$life" "$@"
    unharmed "$what" "$name" "$name.bare" 0
    complete "$what" "$name"
    same "$what: kernels" "$expected" "$(kernels "$name")"
    same "$what: nothing lost, nothing said" "0 dropped," \
        "$(closing "$name" | grep -o '[0-9]* dropped,')$(said "$name")"
}

# ---- contexts --------------------------------------------------------------------------------
lives "device reset" reset "alpha 4" init alpha=4 reset
lives "device reset, then used again" again "alpha 7 beta 1" init alpha=4 reset retain alpha=3 \
    sync reset retain beta=1
lives "primary context released" released "alpha 6" init alpha=4 release retain alpha=2
lives "primary context released at the end" at_end "alpha 4" init alpha=4 release
lives "context created and destroyed" contexts "alpha 5 beta 4" init alpha=4 create beta=2 \
    destroy create beta=2 sync destroy retain alpha=1
same "context created and destroyed: three contexts" 3 "$(count contexts context_info)"
many=()
for ((i = 0; i < 12; i++)); do
    many+=(create alpha=1)
done
lives "12 contexts, none destroyed" many "alpha 12" init "${many[@]}"

# ---- libraries -------------------------------------------------------------------------------
host=$build/tests/e2e/host
plugin=$build/tests/e2e/gpu_user.so
if ! sanitized; then
    bare plug.bare -- "$host" 3 "$plugin"
    same "a plug-in, three times: exit code without miniprof" 0 "$status"
    profile plug -- "$host" 3 "$plugin"
    unharmed "a plug-in loaded and unloaded three times" plug plug.bare 0
    complete "a plug-in loaded and unloaded three times" plug
    same "a plug-in loaded and unloaded three times: kernels" "alpha 3" "$(kernels plug)"
    same "a plug-in loaded and unloaded three times: ranges" 3 "$(count plug nvtx plug-in)"
fi

lives "libcupti and libcuda loaded and let go of by the program" let_go "alpha 6" load=libcupti.so \
    init alpha=1 load=libcupti.so load=libcuda.so.1 alpha=2 sync load=libcupti.so alpha=3

# ---- threads, streams ------------------------------------------------------------------------
lives "300 threads at once" threads "alpha 301" init alpha=1 threads=300
same "300 threads at once: each has its range" "300 300" \
    "$(rows threads nvtx | grep -c 'in a thread') $(column threads nvtx thread | sort -u | wc -l)"
lives "300 threads one after the other" short "alpha 301" init alpha=1 short-threads=300
same "300 threads one after the other: each has its range" 300 \
    "$(rows short nvtx | grep -c 'in a thread')"
same "300 threads one after the other: their synchronisations" 300 "$(count short sync)"
lives "500 streams" streams "beta 500" init streams=500
same "500 streams: a kernel on each" 500 "$(column streams kernel stream | sort -u | wc -l)"

# ---- correlation ids -------------------------------------------------------------------------
# Each kernel and the call that launched it have the same id, and ids rise, whatever 32 bits hold.
ids() {
    join <(column "$1" kernel correlation | sort) \
        <(column "$1" call correlation | sort) | wc -l
}
rise() {
    column "$1" kernel correlation | awk 'NR > 1 && $1 <= last { bad++ } { last = $1 }
        END { print bad + 0 }'
}
for first in 1 2147483640 3000000000 4294967200; do
    profile "wrap$first" SIMGPU_CORRELATION=$first -- \
        "$life" init alpha=1 written alpha=199 beat=20
    same "ids from $first: kernels" "alpha 220" "$(kernels "wrap$first")"
    same "ids from $first: all are tied to their calls, and rise" "220 0" \
        "$(ids "wrap$first") $(rise "wrap$first")"
    complete "ids from $first" "wrap$first"
    same "ids from $first: begins where it does" 1 "$(column "wrap$first" call correlation |
        sort -n | awk -v first="$first" 'NR == 1 { print ($1 >= first && $1 < first + 100) }')"
done

# ---- the wall clock --------------------------------------------------------------------------
profile steady -- "$life" init alpha=200 beat=300
if ! sanitized; then
    profile stepped LD_PRELOAD="$build/tests/e2e/clock_steps.so" -- "$life" init alpha=200 beat=300
    same "the wall clock is set all the time: exit code" 0 "$status"
    same "the wall clock is set all the time: the same trace" "$(comparable steady)" \
        "$(comparable stepped)"
    complete "the wall clock is set all the time" stepped
fi
finish
