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
env CUDA_INJECTION64_PATH="$BUILD/libminiprof.so" MINIPROF_OUTPUT=ctl.mpt MINIPROF_FLIGHT=5s \
    "$BUILD/samples/inference" --exit-mode sleep --no-profiler-api >/dev/null 2>&1 &
pid=$!
trap 'kill "$pid" 2>/dev/null; rm -rf "$WORK"' EXIT
sleep 4
"$BUILD/miniprof" ctl $pid dump || fail "ctl dump"
kill -USR2 $pid
sleep 2
"$BUILD/miniprof" ctl $pid status || fail "ctl status"
sleep 6
"$BUILD/miniprof" ctl $pid dump || fail "ctl dump, later"
kill -TERM $pid
wait $pid
expect "the reasons" "miniprof ctl SIGUSR2 miniprof ctl" \
    "$(reason ctl.mpt) $(reason ctl.2.mpt) $(reason ctl.3.mpt)"
"$BUILD/miniprof" summary ctl.mpt 2>&1 | grep -q gemm_layer || fail "what ctl dumped lacks kernels"
for file in ctl.mpt ctl.2.mpt ctl.3.mpt; do
    "$BUILD/miniprof" check $file || fail "$file is not whole"
done
expect "kernels of more than 5 s ago are gone" 0 "$(kernels ctl.3.mpt)"

# ---- cost ------------------------------------------------------------------------------------
if [ ! -x "$BUILD/gpu/cost" ]; then
    echo "# the cost programs were not built (they need CUDA 12.8): no costs"
    exit 0
fi

# side NAME COMMAND...: of the phases inside of ranges, which all modes record
side() {
    local name=$1
    shift
    "$@" 2>/dev/null | grep -E '^(inside|memory|start)' | sed "s/^/$name|/" >>lines.txt
    rm -f cost*.mpt
}

for ((round = 0; round < ${ROUNDS:-3}; round++)); do
    side "bare" "$BUILD/gpu/cost"
    side "miniprof, all" traced cost.mpt env MINIPROF_CAPTURE=all "$BUILD/gpu/cost"
    side "flight 30s" flown cost.mpt "$BUILD/gpu/cost"
    side "flight 30s, slow step" flown cost.mpt MINIPROF_SLOW_STEP=1h MINIPROF_STEP=cost \
        "$BUILD/gpu/cost"
done
echo "ns a call in a capture range (start: ns; memory: bytes), median of ${ROUNDS:-3} rounds" \
    "(least to greatest):"
python3 "$SOURCE/tests/gpu/cost_table.py" lines.txt
