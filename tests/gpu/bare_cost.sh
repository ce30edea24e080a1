#!/bin/bash
# What the bare side of `miniprof run --pairs` costs the program: the steps of three loops, and
# single calls (bare_calls.c), alone and under the preloaded library that times the steps, in turn.
# Medians and quartiles. Needs the GPU for itself. ROUNDS=n (7), some 5 s each.
. "$(dirname "$0")/lib.sh"

calls=$BUILD/gpu/bare_calls
[ -x "$calls" ] || skip "bare_calls was not built"
preload=$BUILD/libminiprof_preload.so

# bare COMMAND...: as `miniprof run --pairs` runs it when it does not record.
bare() {
    mkdir -p "$WORK/steps"
    LD_PRELOAD=$preload MPSTEPS_FOLDER=$WORK/steps NVTX_INJECTION64_PATH=$preload "$@"
}

one() { # SIDE
    local what
    for what in steps calls; do
        case $1 in
        alone) side bare alone "$calls" $what ;;
        bare) side bare bare bare "$calls" $what ;;
        esac
        rm -rf "$WORK/steps"
    done
}

ROUNDS=${ROUNDS:-7}
while another_round 0; do
    in_turn one alone bare
done
print_results bare
python3 "$SOURCE/tests/gpu/results.py" "$RESULT_LINES" --over alone bare step
python3 "$SOURCE/tests/gpu/results.py" "$RESULT_LINES" --less alone bare mark
