#!/bin/bash
# PyTorch's ResNet-50, eager and as a CUDA graph: the same kernels as torch.profiler sees, and the
# same time.
# KEEP=folder keeps the traces and the peer's files there.
. "$(dirname "$0")/lib.sh"
have_torch || skip "no PyTorch with torchvision and CUDA"

sample=$SOURCE/samples/torch/resnet50.py
iterations=${ITERATIONS:-30}

for mode in eager graph; do
    trace=$WORK/$mode.mpt
    run=(python3 "$sample" --mode "$mode" --iterations "$iterations")
    "${run[@]}" >"$WORK/bare.out" || fail "$mode: the program fails"
    traced "$trace" "${run[@]}" >"$WORK/traced.out" 2>"$WORK/traced.err" ||
        fail "$mode: exit status $? with the recorder"
    cat "$WORK/traced.err"
    cmp -s "$WORK/bare.out" "$WORK/traced.out" || fail "$mode: the program's output changed"
    "$BUILD/miniprof" check "$trace" || fail "$mode: the trace is damaged"
    "$BUILD/miniprof" summary --json "$trace" >"$WORK/$mode.json" ||
        fail "$mode: no summary"
    "${run[@]}" --torch-profiler "$WORK/$mode.torch.json" >/dev/null 2>&1 ||
        fail "$mode: torch.profiler fails"
    python3 "$SOURCE/tests/gpu/compare_profiles.py" "$WORK/$mode.json" "$WORK/$mode.torch.json" ||
        fail "$mode: differs from torch.profiler"
    ok "$mode: $(field "$trace" records) records, $(field "$trace" bytes) bytes," \
        "$(field "$trace" bytes_per_record) bytes a record"
done
[ -z "${KEEP:-}" ] || cp "$WORK"/*.mpt "$WORK"/*.torch.json "$KEEP"/
