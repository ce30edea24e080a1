#!/bin/bash
# Takes 12 s.
# One libminiprof.so with the CUPTI of CUDA 11.8 to 13.4: the software GPU plays the size of each
# record, which functions there are, and the faults that are known (record/cupti/quirks.def). What
# ends up in the trace is the same with all, but for what a version does not tell.
. "$SOURCE/tests/e2e/lib.sh" || exit 1

versions=(18 19 20 21 22 23 24 26 27 28 130000 130001 130100 130101 130200 130300 130400 130401)

# Something of each kind that the recorder records.
program=("$steps" init device=1 device=0 alloc-managed=4096 touch=1 sync free-managed stream=1
    alpha=2 beta=1 copy-in=64 copy-out=64 copy-within=64 copy-peer=64 set=64 alloc=4096 free
    make-pool pool-alloc=4096 pool-free trim-pool=0 destroy-pool record=1 wait=1 capture alpha=1
    beta=2 end-capture=0 instantiate=0 launch=0 launch=0 push=outer pop sync)
settings=(SIMGPU_DEVICES=2 SIMGPU_NOISE=0 MINIPROF_MEMORY=on MINIPROF_UNIFIED_MEMORY=on)
# content NAME: its rows, without what may differ between two runs (`comparable`), and without what
# the version does not tell: CUPTI before 12.2 has no correlation ids in records of overhead.
content() {
    "$miniprof" dump --json "$work/$1.mpt" | sed -E "$nameless" | sed -E '
        s/"tid": [0-9]+/"tid": 0/; s/thread [0-9]+/thread/; s/"0x[0-9a-f]{9,}"/"ADDRESS"/g
        /"table": "overhead"/s/, "correlation": [0-9]+//; /"writer_cpu_ns"/d
        /"table": "(string|stream|function|shape)"/s/"id": [0-9]+, //' | sort
}

bare bare "${settings[@]}" -- "${program[@]}"
for level in node graph; do
    for version in "${versions[@]}"; do
        name=$level$version
        profile "$name" "${settings[@]}" MINIPROF_CUDA_GRAPH=$level \
            SIMGPU_CUPTI_VERSION="$version" -- "${program[@]}"
        unharmed "CUPTI $version, $level" "$name" bare 0
        complete "CUPTI $version, $level" "$name"
        same "CUPTI $version, $level: nothing to say" "" "$(said "$name")"
        content "$name" >"$name.rows"
        same "CUPTI $version, $level: the rows are those of CUPTI ${versions[0]}" \
            "$(<"$level${versions[0]}.rows")" "$(<"$name.rows")"
    done
done
tables="call capture context_info copy device function kernel memory nvtx overhead pool set shape \
stream stream_info string sync thread unified"
for tables in "node: $tables edge node" "graph: $tables graph"; do
    level=${tables%%:*}
    same "$level: each table has rows, none tells of a loss" \
        "$(tr ' ' '\n' <<<"${tables#*: }" | sort)" \
        "$(sed 's/^{"table": "//; s/".*//' "$level${versions[0]}.rows" | sort -u)"
done

# What those tables hold, by construction of the program: two launches of a graph of three kernels.
same "kernels" "alpha $((2 + 2)) beta $((1 + 2 * 2)) touch 1" "$(kernels node18)"
same "kernels, graph level" "alpha 2 beta 1 touch 1" "$(kernels graph18)"
same "graphs, graph level" "0 2" "$(count node18 graph) $(count graph18 graph)"
same "copies" "DtoD 1 DtoH 1 HtoD 1 PtoP 1" "$(echo $(tally node18 copy kind))"
same "bytes of the copies" 64 "$(column node18 copy bytes | sort -u)"
same "devices of the copy between them" "SimGPU (0),SimGPU (1)" \
    "$(rows node18 copy | awk -F, '$2 == "PtoP" { print $11 "," $13 }')"
same "sets" 64 "$(column node18 set bytes)"
same "each copy record is one copy" 1 "$(column node18 copy count | sort -u)"
same "overheads have correlation ids from CUDA 12.2 on" "0 $(column node130401 overhead \
    correlation | sort -n | head -n 1)" "$(for version in 19 20; do
        column node$version overhead correlation | sort -n | head -n 1
    done | xargs)"
check "overheads: those ids are not 0" [ "$(column node20 overhead correlation | sort -n |
    head -n 1)" -gt 0 ]

# ---- faults ----------------------------------------------------------------------------------
# The software GPU ends the process where the recorder walks into one. bad_input.sh lets buffers
# run out where CUPTI takes no answer "none"; clients.sh registers the clock again.
ranges=("$steps" init stream=1 capture alpha=2 end-capture=0 instantiate=0 alpha=1 sync start
    launch=0 beta=1 sync stop alpha=5 sync start launch=0 sync stop alpha=1 sync)
bare ranges.bare -- "${ranges[@]}"
for version in "${versions[@]}"; do
    for level in node graph; do
        profile ranges MINIPROF_CAPTURE=range MINIPROF_CUDA_GRAPH=$level \
            SIMGPU_CUPTI_VERSION="$version" -- "${ranges[@]}"
        unharmed "two ranges, CUPTI $version, $level" ranges ranges.bare 0
        same "two ranges, CUPTI $version, $level: what ran in them" \
            "$([ $level = node ] && echo alpha 4 beta 1 0 || echo beta 1 2) 5" \
            "$(kernels ranges) $(count ranges graph) $(count ranges call)"
        rm ranges.mpt
    done
done

# told VERSION: how many faults are told of at level info.
told() {
    profile told MINIPROF_LOG=info SIMGPU_CUPTI_VERSION="$1" -- "$steps" init
    said told | grep -c "CUPTI $1 has a known fault: "
    rm -f told.mpt
}
same "faults that nothing can be done about are told" "1 2 1 0 0" \
    "$(told 18) $(told 130000) $(told 130100) $(told 130101) $(told 130401)"
finish
