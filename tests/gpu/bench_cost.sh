#!/bin/bash
# What recording costs ResNet-50: the iteration's time without a profiler, with miniprof and with
# its peers, in turn, so that a machine that gets slower gets slower for all.
. "$(dirname "$0")/lib.sh"
have_torch || skip "no PyTorch with torchvision and CUDA"

sample=$SOURCE/samples/torch/resnet50.py
rounds=${ROUNDS:-5}
nsys=$(find_nsys)

# p50: the number in "iteration p50 4.332 ms, ..."
p50() {
    "$@" 2>&1 >/dev/null | sed -n 's/^iteration p50 \([0-9.]*\) ms.*/\1/p'
}

for mode in eager graph; do
    run=(python3 "$sample" --mode $mode --iterations 200 --time)
    for ((round = 0; round < rounds; round++)); do
        echo "bare $(p50 "${run[@]}")"
        rm -f "$WORK/c.mpt"
        echo "miniprof $(p50 traced "$WORK/c.mpt" "${run[@]}")"
        echo "torch.profiler $(p50 "${run[@]}" --torch-profiler "$WORK/c.json")"
        rm -f "$WORK"/nsys.*
        [ -z "$nsys" ] || echo "nsys $(p50 nsys_profile "$WORK/nsys" "${run[@]}")"
    done >"$WORK/times"
    echo "ResNet-50 $mode, 200 iterations, p50 of an iteration in ms:" \
        "median (least to greatest) of $rounds rounds"
    python3 - "$WORK/times" <<'END'
import collections, statistics, sys
times = collections.defaultdict(list)
for line in open(sys.argv[1]):
    words = line.split()
    if len(words) == 2:
        times[words[0]].append(float(words[1]))
bare = statistics.median(times["bare"])
for name, values in times.items():
    middle = statistics.median(values)
    spread = f"({min(values):.3f} to {max(values):.3f})"
    print(f"  {name:15s} {middle:7.3f} {spread}  {middle / bare:.2f} x bare")
END
done
