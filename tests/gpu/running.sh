#!/bin/bash
# A kernel that runs while a capture range, or the program, ends: nobody waits for it, and what was
# launched in the range is in the trace. RUNNING_ROUNDS=n (20), RUNNING_SOAK=seconds (100).
. "$(dirname "$0")/lib.sh"

rounds=${RUNNING_ROUNDS:-20}
soak=${RUNNING_SOAK:-100}
export CUDA_MODULE_LOADING=EAGER # a lazily loaded kernel waits for those that run
export PROGRAM_SECONDS=60
cd "$WORK" || exit 1
compile_cuda "$SOURCE/tests/gpu/running.cu" ./running ||
    skip "running.cu does not compile here: $(head -n 3 running.txt)"

# kernels NAME KERNEL: how many of it are in the trace NAME, with times and without.
kernels() {
    "$BUILD/miniprof" dump --csv --table kernel "$1.mpt" 2>/dev/null | grep "\"$2" |
        awk -F, '{ if ($4 > 0) with++; else without++ } END { print with + 0, without + 0 }'
}

# by HOW NAME MODE: runs it alone, by the variable, by `miniprof run`, or by that with ranges only.
by() {
    local how=$1 name=$2 mode=$3
    rm -f "$name.mpt"
    case $how in
    alone) timeout 60 ./running "$mode" >"$name.out" 2>"$name.err" ;;
    variable) traced "$name.mpt" timeout 60 ./running "$mode" >"$name.out" 2>"$name.err" ;;
    run) run_options=() && run_recorded "$name" ./running "$mode" ;;
    range) run_options=(--capture range) && run_recorded "$name" ./running "$mode" ;;
    early) run_options=(--capture range --attach init) && run_recorded "$name" ./running "$mode" ;;
    late)
        run_options=(--capture nvtx:step --attach range)
        run_recorded "$name" ./running "$mode" ;;
    esac
}

# quartiles: of the numbers of stdin, "median (first to third)".
quartiles() {
    sort -n | awk '{ value[NR] = $1 }
        END { printf "%.2f (%.2f to %.2f)", value[int((NR + 1) / 2)], value[int((NR + 3) / 4)],
            value[int((3 * NR + 3) / 4)] }'
}

for mode in serve queue; do
    for ((round = 1; round <= rounds; round++)); do
        for how in alone variable run range early; do
            by $how $how $mode || fail "$mode, $how, round $round: exit status $?"
            read -r ms state <$how.out
            [ "$state" = busy ] || fail "$mode, $how, round $round: Stop has waited ($ms ms)"
            echo "$ms" >>$mode.$how
            case $mode.$how in
            *.alone) ;;
            serve.range)
                grep -q 'GPU is busy' range.err ||
                    fail "serve, range: not a word of the range that is missing" ;;
            serve.*)
                "$BUILD/miniprof" report $how.mpt >report
                grep -q 'launched before capture range 1 ran for 100 %' report ||
                    fail "serve, $how: not a word of the kernel that runs: $(head -n 3 report)"
                ;;
            *) [ "$(kernels $how busy)" = "100 0" ] ||
                fail "$mode, $how, round $round: kernels $(kernels $how busy)" ;;
            esac
        done
    done
    for how in alone variable run range early; do
        echo "$mode: Stop, $how: $(quartiles <$mode.$how) ms, $rounds times"
    done
    ok "$mode: $rounds times each, Stop does not wait for the GPU"
done
for how in variable run early; do
    begun=$(date +%s%N)
    by $how left leave || fail "leave, $how: exit status $?"
    took=$((($(date +%s%N) - begun) / 1000000))
    [ "$(kernels left busy)" = "4 2" ] || fail "leave, $how: kernels $(kernels left busy)"
    echo "leave: the program, $how: $took ms, its kernel needs 15000"
    [ $took -lt 15000 ] || fail "leave, $how: the program has waited for its kernel"
    ok "leave, $how: what ran and what waited is there without times"
done
for how in alone variable run late; do
    for ((round = 1; round <= rounds; round++)); do
        MINIPROF_CAPTURE=nvtx:step by $how $how capture ||
            fail "capture, $how, round $round: $(tail -n 1 $how.err)"
    done
    [ $how = alone ] || [ "$(kernels $how busy | awk '{ print $1 + $2 }')" -gt 0 ] ||
        fail "capture, $how: no kernel in the trace"
    ok "capture, $how: $rounds times, edges of ranges break no capture"
done
# No range ends with an idle GPU, where the clock would be renewed. A tenth of the time limits: a
# clock of 30 s is renewed at the first quiet moment.
for how in variable early; do
    rm -f soak.mpt
    run_options=(--capture range --attach init)
    export MINIPROF_TEST_TIME_DIVISOR=10 PROGRAM_SECONDS=$((soak + 60))
    case $how in
    variable) traced soak.mpt ./running soak "$soak" >soak.out 2>soak.err ;;
    early) run_recorded soak ./running soak "$soak" ;;
    esac || fail "soak, $how: exit status $?"
    unset MINIPROF_TEST_TIME_DIVISOR
    read -r launched idle <soak.out
    renewals=$("$BUILD/miniprof" info soak.mpt | awk '$1 == "clock_renewals" { print $2 }')
    echo "soak, $how: $launched kernels launched, $(kernels soak busy) with and without times;" \
        "$idle Stops found the GPU idle; ${renewals:-0} renewals in $soak s"
    # A renewal that meets kernels costs the times of some (docs/reliability.md).
    read -r with without < <(kernels soak busy)
    [ $((with + without)) = "$launched" ] || fail "soak, $how: not every kernel is there"
    [ "$without" -le 300 ] || fail "soak, $how: $without kernels have no times"
    [ "$idle" = 0 ] || fail "soak, $how: the GPU was idle at a Stop"
    [ "${renewals:-0}" -ge $((soak / 50)) ] || fail "soak, $how: the clock gets old"
    ok "soak, $how: the clock is renewed between ranges that end busy"
done
