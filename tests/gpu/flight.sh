#!/bin/bash
# The flight recorder on a GPU: a crash, a crash while kernels run, a slow step, `miniprof ctl dump`
# and SIGUSR2; then what single calls cost with it, beside an ordinary trace of the whole run.
# ROUNDS: of the costs, default 3.
. "$(dirname "$0")/lib.sh"

steps=$BUILD/tests/e2e/steps
crash=$BUILD/tests/e2e/crash
[ -x "$crash" ] || skip "the test programs were not built"
cd "$WORK" || exit 1
ulimit -c 0

# kernels FILE: rows of table kernel
kernels() {
    "$BUILD/miniprof" info --json "$1" | python3 -c '
import json, sys
print(sum(t["rows"] for t in json.load(sys.stdin)["tables"] if t["table"] == "kernel"))'
}

# reason FILE
reason() {
    "$BUILD/miniprof" info --json "$1" | python3 -c '
import json, sys
print(json.load(sys.stdin)["flight"]["reason"])'
}

# expect WHAT EXPECTED GOT
expect() {
    [ "$2" = "$3" ] || fail "$1: '$3' instead of '$2'"
    echo "ok $1: $3"
}

flown() { # FILE [VAR=VALUE...] COMMAND...
    local file=$1
    shift
    traced "$file" env MINIPROF_FLIGHT=30s "$@"
}

# ---- crashes ---------------------------------------------------------------------------------
while read -r end code signal; do
    begin=$(date +%s%N)
    flown "$end.mpt" "$crash" "$end" >/dev/null 2>err.txt
    status=$?
    took=$((($(date +%s%N) - begin) / 1000000))
    expect "$end (whole run: $took ms)" "$code $signal 3" \
        "$status $(reason "$end.mpt") $(kernels "$end.mpt")"
    "$BUILD/miniprof" check "$end.mpt" || fail "$end: $(cat err.txt)"
done <<'END'
segv 139 SIGSEGV
bus 135 SIGBUS
fpe 136 SIGFPE
abort 134 SIGABRT
END
flown busy.mpt "$steps" init alpha=100 sync beta=2000 raise=11 >/dev/null 2>&1
expect "a crash while kernels run" 139 $?
echo "   of 2100 kernels, $(kernels busy.mpt) are there"
"$BUILD/miniprof" summary busy.mpt 2>&1 | head -n 3

# ---- slow steps ------------------------------------------------------------------------------
quick=()
for ((i = 0; i < 100; i++)); do
    quick+=(push=it alpha=1 sync pop)
done
flown slow.mpt MINIPROF_SLOW_STEP=p99x3 MINIPROF_STEP=it "$steps" init alpha=1 sync "${quick[@]}" \
    push=it beta=20000 sync pop sleep=2000 gamma=1 sync sleep=500 >/dev/null 2>err.txt
expect "a slow step: one trace, without what came over a second later" "slow step 20101" \
    "$(reason slow.mpt) $(kernels slow.mpt)"
grep 'flight recorder' err.txt
"$BUILD/miniprof" summary slow.mpt 2>&1 | head -n 1

# ---- on request ------------------------------------------------------------------------------
sleeps=() # a signal ends one
for ((i = 0; i < 60; i++)); do
    sleeps+=(sleep=1000)
done
env CUDA_INJECTION64_PATH="$BUILD/libminiprof.so" MINIPROF_OUTPUT=ctl.mpt MINIPROF_FLIGHT=5s \
    "$steps" init alpha=1000 sync "${sleeps[@]}" >/dev/null 2>&1 &
pid=$!
started+=("$pid")
sleep 3
"$BUILD/miniprof" ctl $pid dump || fail "ctl dump"
kill -USR2 $pid
sleep 1
"$BUILD/miniprof" ctl $pid status || fail "ctl status"
sleep 5
"$BUILD/miniprof" ctl $pid dump || fail "ctl dump, later"
kill -TERM $pid
wait $pid
started=()
expect "the reasons" "miniprof ctl SIGUSR2 miniprof ctl" \
    "$(reason ctl.mpt) $(reason ctl.2.mpt) $(reason ctl.3.mpt)"
for file in ctl.mpt ctl.2.mpt ctl.3.mpt; do
    "$BUILD/miniprof" check $file || fail "$file is not whole"
done
expect "the last 5 s, and what is older than that is gone" "1000 1000 0" \
    "$(kernels ctl.mpt) $(kernels ctl.2.mpt) $(kernels ctl.3.mpt)"

# ---- cost ------------------------------------------------------------------------------------
if [ ! -x "$BUILD/gpu/cost" ]; then
    echo "# the cost programs were not built (they need CUDA 12.8): no costs"
    exit 0
fi

# one NAME: a run of that side, with a few batches of each call in each phase.
one() {
    local -a cost=("$BUILD/gpu/cost" "${BATCHES:-12}")
    case $1 in
    bare) side flight "$1" "${cost[@]}" ;;
    "miniprof, all") side flight "$1" traced cost.mpt env MINIPROF_CAPTURE=all "${cost[@]}" ;;
    "flight 30s") side flight "$1" flown cost.mpt "${cost[@]}" ;;
    "flight 30s, slow step")
        side flight "$1" flown cost.mpt MINIPROF_SLOW_STEP=1h MINIPROF_STEP=cost "${cost[@]}" ;;
    esac
}

ROUNDS=${ROUNDS:-3}
while another_round 0; do
    in_turn one bare "miniprof, all" "flight 30s" "flight 30s, slow step"
done
said
echo "ns a call, median of $round rounds (least to greatest):"
print_results flight
