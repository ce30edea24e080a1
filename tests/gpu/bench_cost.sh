#!/bin/bash
# What recording costs PyTorch: iterations of ResNet-50 and of a transformer of BERT's size, eager
# and as CUDA graphs, and single calls in the same process; without a profiler, with miniprof and
# with its peers, in turn, so that a machine that gets slower gets slower for all.
. "$(dirname "$0")/lib.sh"
python3 -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null ||
    skip "no PyTorch with CUDA"

library=$BUILD/gpu/libcost.so
[ -e "$library" ] || library=-
program=(python3 "$SOURCE/tests/gpu/cost_torch.py" "$library")
length=(--batches "${BATCHES:-10}" --iterations "${ITERATIONS:-100}")
nsys=$(find_nsys)
cd "$WORK" || exit 1

# one NAME: a run of that side.
one() {
    case $1 in
    bare) side torch "$1" "${program[@]}" none "${length[@]}" ;;
    miniprof) side torch "$1" traced torch.mpt "${program[@]}" range "${length[@]}" ;;
    torch.profiler) side torch "$1" "${program[@]}" torch "${length[@]}" ;;
    nsys) side torch "$1" nsys_profile n "${program[@]}" range "${length[@]}" ;;
    esac
}

sides=(bare miniprof torch.profiler)
[ -z "$nsys" ] || sides+=(nsys)
most=$(share 34)
while another_round "$most"; do
    in_turn one "${sides[@]}"
done
said
echo "ms an iteration (p50 of ${ITERATIONS:-100}), ns a call; median of $round rounds" \
    "(least to greatest):"
print_results torch
