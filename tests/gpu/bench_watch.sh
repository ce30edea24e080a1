#!/bin/bash
# What samples of counters and stacks of calls cost PyTorch: ResNet-50 and a transformer, eager and
# as CUDA graphs, without a tool, recorded, with samples at three rates, with stacks of each kind,
# and with peers: nsys, its GPU metrics and its Python backtraces, and torch.profiler's stacks. The
# sides of a group take turns, some a second (lockstep.py).
#
#     PARTS="stacks 10kHz"   only these of: stacks peers 1kHz 10kHz 100kHz nsys10 nsys100
. "$(dirname "$0")/lib.sh"
have_torch || skip "no PyTorch with torchvision and CUDA"

nsys=$(find_nsys)
cd "$WORK" || exit 1

program() { # TOOL
    echo "python3 '$SOURCE/tests/gpu/slices.py' $1"
}

# watched SETTING...: recorded so, a range for each slice.
watched() {
    local library="'$BUILD/libminiprof.so'"
    echo "CUDA_INJECTION64_PATH=$library NVTX_INJECTION64_PATH=$library" \
        "MINIPROF_OUTPUT=%p.mpt MINIPROF_CAPTURE=range $* $(program range)"
}

# with_nsys OPTION...: one range, since nsys writes a report at the end of each. So its sampling of
# the GPU goes on in the turns of the others.
with_nsys() {
    echo "'$nsys' profile -t cuda,nvtx --cpuctxsw=none --cuda-graph-trace=node" \
        "--capture-range=cudaProfilerApi --capture-range-end=stop -o n%p $* $(program once)"
}

# lockstep GROUP [SIDE COMMAND]...
lockstep() {
    local group=watch_$1
    shift
    set -- alone "$(program none)" -- recorded "$(watched)" "$@"
    python3 "$SOURCE/tests/gpu/lockstep.py" "$group" "${GROUP_SECONDS:-25}" "$@" \
        2>>"$WORK/errors.txt" >>"$RESULT_LINES"
    echo "== $group, $(grep -c "^$group|.*|alone|.*ResNet-50 eager" "$RESULT_LINES") turns"
    print_results "$group"
    python3 "$SOURCE/tests/gpu/results.py" "$RESULT_LINES" --over alone "$group" model
    python3 "$SOURCE/tests/gpu/results.py" "$RESULT_LINES" --over recorded "$group" model
}

one_group() {
    case $1 in
    stacks)
        # Of a million calls one has a stack: CUPTI's callback is all that the others pay.
        set -- -- callback "$(watched MINIPROF_STACKS=python MINIPROF_STACKS_EVERY=1000000)" \
            -- python "$(watched MINIPROF_STACKS=python)"
        lockstep stacks "$@"
        ;;
    peers)
        set -- -- both "$(watched MINIPROF_STACKS=both)" -- torch.profiler "$(program stacks)"
        # Python's backtraces need those of CUDA, and sampling of the processor.
        [ -z "$nsys" ] || set -- "$@" -- "nsys backtraces" \
            "$(with_nsys -s process-tree --python-backtrace=cuda --cudabacktrace=all)"
        lockstep peers "$@"
        ;;
    nsys*)
        [ -z "$nsys" ] || lockstep "$1" -- nsys "$(with_nsys -s none)" -- "nsys metrics" \
            "$(with_nsys -s none --gpu-metrics-devices=0 --gpu-metrics-frequency="${1#nsys}000")"
        ;;
    *kHz) lockstep "$1" -- "$1" "$(watched MINIPROF_SAMPLE="default@$1")" ;;
    esac
}

for group in ${PARTS:-stacks peers 1kHz 10kHz 100kHz nsys10 nsys100}; do
    one_group "$group"
done
said
