#!/bin/bash
# What watching host waits costs programs that wait: the step of a JAX loop and of a PyTorch loop in
# eager mode. In turn: alone; with only the preloaded library; recorded without it (the variable
# alone); recorded by `miniprof run`, which preloads it. ROUNDS=n (3), 70 s each: eight programs
# start.
. "$(dirname "$0")/lib.sh"

programs=()
python3 -c 'import jax; assert jax.devices()[0].platform == "gpu"' 2>/dev/null && programs+=(jax)
python3 -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null && programs+=(eager)
[ ${#programs[@]} -gt 0 ] || BENCH_GROUPS=waits skip "no JAX and no PyTorch with a GPU"

# numbers PROGRAM: PHASE|KIND|NUMBER of what it prints, in ns.
numbers() {
    awk -v program="$1" '$1 == "step_us" { print program "|step|" $2 * 1000 }'
}

# steps SIDE: each program once.
steps() {
    local program run
    for program in "${programs[@]}"; do
        run=(python3 "$SOURCE/tests/gpu/${program}_loop.py")
        case $1 in
        alone) "${run[@]}" ;;
        preloaded) LD_PRELOAD=$BUILD/libminiprof_preload.so "${run[@]}" ;;
        variable) traced waits.mpt "${run[@]}" ;;
        run) "$BUILD/miniprof" run --no-summary --log quiet -f -o waits.mpt -- "${run[@]}" ;;
        esac | numbers "$program"
    done
}

one() {
    side waits "$1" steps "$1"
}

cd "$WORK" || exit 1
ROUNDS=${ROUNDS:-3}
while another_round 0; do
    in_turn one alone preloaded variable run
done
said
print_results waits
