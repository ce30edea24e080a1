#!/bin/bash
# Capture modes on a GPU, by the kernels of ResNet-50's iterations: as many as the ranges between
# cudaProfilerStart and Stop have, whatever begins and ends them; and `miniprof ctl`, SIGUSR2 and
# times on a program that runs on.
. "$(dirname "$0")/lib.sh"

have_torch || skip "no PyTorch with CUDA and torchvision"
resnet=(python3 "$SOURCE/samples/torch/resnet50.py" --warmup 1)
cd "$WORK" || exit 1

# kernels FILE
kernels() {
    "$BUILD/miniprof" info --json "$1" | python3 -c '
import json, sys
info = json.load(sys.stdin)
rows = sum(t["rows"] for t in info["tables"] if t["table"] == "kernel")
print(rows, len(info["ranges"]))'
}

# expect WHAT FILE "KERNELS RANGES"
expect() {
    local got
    got=$(kernels "$2")
    [ "$got" = "$3" ] || fail "$1: $got kernels and ranges instead of $3"
    ok "$1: $got"
}

for mode in eager graph; do
    traced "plain_$mode.mpt" "${resnet[@]}" --mode $mode --iterations 5 >/dev/null 2>&1
    one=$(($(kernels "plain_$mode.mpt" | cut -d' ' -f1) / 5))
    [ "$one" -gt 100 ] || fail "$mode: $one kernels an iteration"
    MINIPROF_CAPTURE=nvtx:iteration traced "nvtx_$mode.mpt" "${resnet[@]}" --mode $mode \
        --iterations 5 >/dev/null 2>&1
    expect "$mode, nvtx:iteration, one of them the warm-up" "nvtx_$mode.mpt" "$((6 * one)) 6"
done
MINIPROF_CAPTURE=nvtx:iteration MINIPROF_CAPTURE_END=repeat:2 traced end.mpt "${resnet[@]}" \
    --iterations 5 >/dev/null 2>&1
one=$(($(kernels plain_eager.mpt | cut -d' ' -f1) / 5))
expect "MINIPROF_CAPTURE_END=repeat:2" end.mpt "$((2 * one)) 2"
MINIPROF_SCHEDULE=skip=1,wait=1,warmup=1,active=2,repeat=2 MINIPROF_STEP=iteration traced \
    schedule.mpt "${resnet[@]}" --iterations 12 >/dev/null 2>&1
expect "MINIPROF_SCHEDULE" schedule.mpt "$((4 * one)) 2"

# A program that runs until it is ended.
env CUDA_INJECTION64_PATH="$BUILD/libminiprof.so" MINIPROF_OUTPUT=ctl.mpt MINIPROF_CAPTURE=off \
    "$BUILD/samples/inference" --exit-mode sleep --no-profiler-api >/dev/null 2>&1 &
pid=$!
started+=("$pid")
sleep 4
for word in status start; do
    "$BUILD/miniprof" ctl $pid $word || fail "ctl $word"
done
sleep 1
for word in stop dump status; do
    "$BUILD/miniprof" ctl $pid $word || fail "ctl $word"
done
"$BUILD/miniprof" summary ctl.mpt >summary.txt 2>&1
grep -q gemm_layer summary.txt || fail "what ctl dumped cannot be read"
kill -USR2 $pid
sleep 0.5
kill -USR2 $pid
sleep 0.5
kill -TERM $pid
wait $pid
[ "$(kernels ctl.mpt | cut -d' ' -f2)" = 2 ] || fail "ctl and SIGUSR2: $(kernels ctl.mpt)"
ok "ctl and SIGUSR2: $(kernels ctl.mpt)"
