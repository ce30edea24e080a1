#!/bin/bash
# With --concurrent-kernels off CUPTI gives kernels of CUDA graphs no times, as an H200 showed: they
# are all in the trace, counted, and no report concludes that the GPU was idle.
. "$SOURCE/tests/e2e/lib.sh" || exit 1

options=(--graph --iterations 4 --layers 8)
bare plain -- "$inference" "${options[@]}"
profile off MINIPROF_CONCURRENT_KERNELS=off -- "$inference" "${options[@]}"
unharmed off off plain 0
complete off off
same "off: the kernels of each replay" "add_join 8 conv_layer 8 gemm_layer 8 relu_layer 8" \
    "$(kernels off)"
same "off: none has times, counted" "32 32" \
    "$(rows off kernel | awk -F, '$4 == 0' | wc -l) $(counter off zero_timestamps)"
line='32 of 32 kernels have no times (nodes of CUDA graphs, --concurrent-kernels off); record '
line+='without --concurrent-kernels off; busy time, idle causes and gains are not known.'
for command in summary kernels iters deps advise overlap layers; do
    like "off: the first line of $command" "^==[0-9]+== Warning: 32 of 32 kernels have no times" \
        "$("$miniprof" $command off.mpt 2>&1)"
done
same "off: what it says" "$line" "$("$miniprof" iters off.mpt 2>&1 | sed -n '1s/.*Warning: //p')"
same "off: nothing is launch-bound, nothing busy" 0 \
    "$("$miniprof" iters off.mpt 2>&1 | grep -ciE 'launch-bound|GPU busy')"

# Kernels that are launched one by one have times, and reports are as usual.
profile eager MINIPROF_CONCURRENT_KERNELS=off -- "$inference" --iterations 4 --layers 8
same "eager: all have times" 0 "$(rows eager kernel | awk -F, '$4 == 0' | wc -l)"
same "eager: nothing to warn of" 0 "$("$miniprof" iters eager.mpt 2>&1 | grep -c Warning)"
profile on -- "$inference" "${options[@]}"
same "on: all have times" 0 "$(rows on kernel | awk -F, '$4 == 0' | wc -l)"
finish
