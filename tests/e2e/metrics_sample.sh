#!/bin/bash
# samples/metrics on the software GPU: it runs without failing, launches each kernel as often as it
# is told, and prints what a profiler has to find. The kernels themselves run on real GPUs only
# (tests/gpu/metrics.sh). The software GPU has 128 SMs of 64 warps.
. "$SOURCE/tests/e2e/lib.sh" || exit 1

sample=$build/samples/metrics

# printed NAME PATTERN: the values of the matching names, on one line.
printed() {
    echo $(sed -nE "s/^$2=//p" "$work/$1.out")
}

# case_kernels CASE KERNEL...: each kernel is in the trace, and no other.
case_kernels() {
    local case=$1
    shift
    bare plain -- "$sample" "$case" --launches 2
    profile "$case" -- "$sample" "$case" --launches 2
    unharmed "$case" "$case" plain 0
    complete "$case" "$case"
    same "$case: each kernel twice" "$(printf '%s 2\n' "$@" | sort)" "$(tally "$case" kernel shape)"
    same "$case: values are of these kernels" "$(printf '%s\n' "$@" | sort)" \
        "$(sed -nE 's/^([a-z0-9_]+)\.[a-z_]+=[0-9.]+$/\1/p' "$work/$case.out" | sort -u)"
    same "$case: how often, and that nothing was checked" "2 0 128" \
        "$(printed "$case" '(launches|checked|sms)')"
}

case_kernels flops flops_sp flops_dp
# 128 x 4 blocks of 200 threads, 1000 trips: 3 + 2 + 6 x 2 operations each.
same "flops: single precision" "1740800000 307200000 204800000 614400000" \
    "$(printed flops 'flops_sp.flop_count_sp(_add|_mul|_fma)?')"
same "flops: double precision" "1740800000 307200000 204800000 614400000" \
    "$(printed flops 'flops_dp.flop_count_dp(_add|_mul|_fma)?')"
bare fewer -- "$sample" flops --trips 10
same "flops: fewer trips" 17408000 "$(printed fewer flops_sp.flop_count_sp)"

case_kernels occupancy occupancy_{4,8,16,24,32,all}_warps occupancy_odd_warps_leave
same "occupancy: warps of 64; half of 16 leave after half of the time" \
    "0.0625 0.125 0.25 0.375 0.5 1 0.1875" "$(printed occupancy '.*.achieved_occupancy')"

case_kernels dram dram_write dram_read
same "dram: 64 MiB here, or what is asked for" "67108864 67108864" \
    "$(printed dram 'dram_(write.dram_write|read.dram_read)_bytes')"
bare smaller -- "$sample" dram --mib 8
same "dram: what is asked for" "8388608 8388608" \
    "$(printed smaller 'dram_(write.dram_write|read.dram_read)_bytes')"

case_kernels gld g{ld,st}_stride_{1,2,4,8,32}
for access in ld st; do
    same "g$access: percent, by stride" "100 50 25 12.5 12.5" \
        "$(printed gld "g${access}_stride_.*.g${access}_efficiency")"
    same "g$access: sectors of a request" "4 8 16 32 32" \
        "$(printed gld "g${access}_stride_.*.g${access}_transactions_per_request")"
done
# 128 x 8 blocks of 8 warps.
same "gld: requests" 8192 "$(printed gld gld_stride_4.global_load_requests)"
same "gld: sectors" 131072 "$(printed gld gld_stride_4.gld_transactions)"

# ---- usage ------------------------------------------------------------------------------------
for arguments in "" bogus "--launches 2" "flops --launches 0" "flops occupancy"; do
    bare usage -- "$sample" $arguments
    same "usage '$arguments': exit code, lines on stdout and stderr" "2 0 1" \
        "$status $(wc -l <"$work/usage.out") $(wc -l <"$work/usage.err")"
done
bare help -- "$sample" --help
like "--help names the cases" 'flops\|occupancy\|dram\|gld' "$(<"$work/help.out")"
finish
