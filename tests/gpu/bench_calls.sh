#!/bin/bash
# What single CUDA calls and NVTX ranges cost the thread that makes them: without a tool, with CUPTI
# by itself (the kinds that miniprof asks for, buffers thrown away unread), with miniprof, nsys and
# torch.profiler, in turn; before, in, between and after capture ranges. Also what cuInit takes and
# what memory is added. ROUNDS: of all sides, default 5.
. "$(dirname "$0")/lib.sh"
[ -x "$BUILD/gpu/cost" ] || skip "the cost programs were not built: they need CUDA 12.8 or later"

cost=$BUILD/gpu/cost
bare=$BUILD/gpu/libbare_cupti.so
in_torch=(python3 "$SOURCE/tests/gpu/cost_torch.py" "$BUILD/gpu/libcost.so" 40)
rounds=${ROUNDS:-5}
nsys=$(find_nsys)
cd "$WORK" || exit 1

# side NAME COMMAND...: its lines, with the name ahead. What a tool says goes to errors.txt.
side() {
    local name=$1
    shift
    "$@" 2>>errors.txt | sed "s/^/$name|/" >>lines.txt
    rm -f ./*.mpt n.*
}

recorded() {
    traced calls.mpt env "$@"
}

for ((round = 0; round < rounds; round++)); do
    side "bare" "$cost"
    side "CUPTI initialised" env COST_CUPTI=initialised CUDA_INJECTION64_PATH="$bare" "$cost"
    side "CUPTI" env CUDA_INJECTION64_PATH="$bare" "$cost"
    side "CUPTI, callbacks" env COST_CUPTI=callbacks CUDA_INJECTION64_PATH="$bare" "$cost"
    side "miniprof" recorded "$cost"
    side "miniprof, range" recorded MINIPROF_CAPTURE=range "$cost"
    side "miniprof, graph level" recorded MINIPROF_CUDA_GRAPH=graph "$cost"
    [ -z "$nsys" ] || side "nsys" nsys_profile n "$cost"
    have_torch || continue
    side "Python, bare" "${in_torch[@]}" none
    side "Python, miniprof" recorded "${in_torch[@]}" range
    side "Python, torch.profiler" "${in_torch[@]}" torch
done
grep -v '^miniprof: ' errors.txt | sort | uniq -c | sort -rn | head -n 5
echo "ns a call (graph: until it has run; start: ns; memory: bytes), median of $rounds rounds" \
    "(least to greatest):"
python3 "$SOURCE/tests/gpu/cost_table.py" lines.txt
