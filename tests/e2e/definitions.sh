#!/bin/bash
# Threads, devices, streams, events, memory: rows name what the program used.
. "$SOURCE/tests/e2e/lib.sh" || exit 1

# ---- four threads, each with its streams -----------------------------------------------------
options=(--threads 4 --iterations 3 --layers 8)
bare plain -- "$inference" "${options[@]}"
profile threads -- "$inference" "${options[@]}"
unharmed threads threads plain 0
complete threads threads
same "threads: kernels" "add_join 24 conv_layer 24 gemm_layer 24 relu_layer 24" "$(kernels threads)"
same "threads: 8 streams with kernels" 8 "$(column threads kernel stream | sort -u | wc -l)"
same "threads: main streams ran 18 kernels, side streams 6" "18 18 18 18 6 6 6 6" \
    "$(echo $(tally threads kernel stream | awk '{ print $NF }' | sort -rn))"
same "threads: four threads launched, 24 each" "24 24 24 24" "$(echo $(rows threads call |
    awk -F, '$2 == "cuLaunchKernel" { n[$1]++ } END { for (t in n) print n[t] }'))"
same "threads: four threads have NVTX ranges, 3 iterations each" "3 3 3 3" \
    "$(echo $(rows threads nvtx | awk -F, '$4 == "iteration" { n[$1]++ }
        END { for (t in n) print n[t] }'))"
same "threads: a thread pops what it pushed" 1 "$(rows threads nvtx | awk -F, '
    $2 == "push" { depth[$1, $3]++ }
    $2 == "pop" { if (--depth[$1, $3] < 0) bad = 1 }
    END { for (d in depth) if (depth[d]) bad = 1; print !bad }')"
same "threads: each kernel's launch is by the one thread of its stream" 8 "$({
    rows threads call | awk -F, '$2 == "cuLaunchKernel" { print "call", $5, $1 }' | tr ' ' _
    rows threads kernel | awk -F, '{ print "kernel_" $6 "_" $1 }'; } | awk -F_ '
        $1 == "call" { thread[$2] = $3 " " $4 } $1 == "kernel" { print $3, thread[$2] }' |
    sort -u | wc -l)"
same "threads: 12 synchronisations in sync" 12 "$(count threads sync ',stream_synchronize,')"

# ---- names of threads ------------------------------------------------------------------------
profile names -- "$steps" init name-thread=first alpha=1 sync name-thread=last
same "threads: the system's name at the end of the recording" last \
    "$(column names thread name | tail -n 1)"
same "threads: exports have it" last "$("$miniprof" export --to jsonl -o - names.mpt |
    sed -n 's/.*"kind": *"call".*"thread_name": *"\([^"]*\)".*/\1/p' | sort -u)"

# ---- two devices -----------------------------------------------------------------------------
bare two_plain SIMGPU_DEVICES=2 -- "$steps" init device=1 copy-peer=4096 alpha=2 device=0 \
    stream=1 alpha=3 copy-peer=512 sync print=done
profile two SIMGPU_DEVICES=2 -- "$steps" init device=1 copy-peer=4096 alpha=2 device=0 \
    stream=1 alpha=3 copy-peer=512 sync print=done
unharmed "two devices" two two_plain 0
complete "two devices" two
same "two devices: both are described" "0 1" "$(echo $(column two device id | sort))"
same "two devices: their UUIDs differ" 2 "$(column two device uuid_low | sort -u | wc -l)"
same "two devices: compute capability, SMs" "9 0 128" "$(echo $(rows two device |
    awk -F, '$1 == 0 { print $5, $6, $7 }'))"
same "two devices: a context each" "1 SimGPU (0) 2 SimGPU (1)" \
    "$(echo $(rows two context_info | awk -F, '{ print $1, $2 }' | sort))"
same "two devices: kernels" "SimGPU (0) 3 SimGPU (1) 2" "$(echo $({
    rows two stream | awk -F, '{ print "s", $4, $3, $2, $5 }'
    column two kernel stream | awk '{ print "k", $1 }'; } | awk '
        $1 == "s" { next } { split($2, part, ":"); n[part[1]]++ }
        END { for (d in n) print "SimGPU (" d ")", n[d] }' | sort))"
same "two devices: peer copies with both ends" \
    "PtoP 4096 SimGPU (0) 1 SimGPU (1) 2 PtoP 512 SimGPU (0) 1 SimGPU (1) 2" \
    "$(echo $(rows two copy | awk -F, '{ print $2, $6, $11, $12, $13, $14 }' | sort -k2rn))"
same "two devices: memory on both" "SimGPU (0) 1 SimGPU (1) 1" \
    "$(echo $(tally two memory device))"

# ---- streams, events -------------------------------------------------------------------------
profile events -- "$steps" init start stream=1 alpha=1 record=3 stream=2 wait=3 beta=1 record=4 \
    sync-event=4 query-event=4 sync-stream stream=0 record=5 sync stop handles=handles
same "streams: created with their priority" "13 -1 non_blocking 14 -2 non_blocking" \
    "$(echo $(rows events stream_info | awk -F, '{ print $1, $3, $4 }' | sort))"
same "streams: kernels ran on them" "alpha 0:1:13 beta 0:1:14" \
    "$(echo $(rows events kernel | awk -F, '{ print $2, $1 }' | sort))"
handle() {
    awk -v n="$1" '$1 == n { print $2 }' handles
}
none=4294967295
same "events: rows of sync, with their streams and handles" "stream_create 13 0x0
event_create $none $(handle 3)
event_record 13 $(handle 3)
stream_create 14 0x0
stream_wait_event 14 $(handle 3)
event_create $none $(handle 4)
event_record 14 $(handle 4)
event_synchronize $none $(handle 4)
event_query $none $(handle 4)
stream_synchronize 14 0x0
event_create $none $(handle 5)
event_record 7 $(handle 5)
context_synchronize $none 0x0" "$(rows events sync | awk -F, '{ print $2, $4, $5 }')"
same "events: rows of sync have the correlation ids of their calls" "$(rows events call |
    awk -F, '$2 ~ /cuStream|cuEvent|cuCtxSync/ { print $5 }')" \
    "$(rows events sync | awk -F, '$2 != "event_query" { print $8 }')"
same "events: the kernel behind the wait starts after the one before the record" 1 \
    "$(rows events kernel | awk -F, '{ start[$2] = $4 % 1e9; end[$2] = $4 % 1e9 + $5 }
        END { print (start["beta"] >= end["alpha"]) }')"
profile no_sync MINIPROF_API=none -- "$steps" init stream=1 alpha=1 record=3 sync
same "MINIPROF_API=none: no rows of call" 0 "$(count no_sync call)"
profile all_calls MINIPROF_API=all -- "$steps" init alpha=1 sync
check "MINIPROF_API=all: also what lean leaves out" \
    [ "$(count all_calls call ',cuModuleGetFunction,')" -eq 1 ]
profile named MINIPROF_API=cuModuleGetFunction -- "$steps" init alpha=2 beta=2 sync
same "MINIPROF_API=NAME: that function only" "cuModuleGetFunction 2" \
    "$(echo $(tally named call function))"
check "lean leaves out what does not launch, copy or wait" \
    [ "$(count two call ',(cuModuleGetFunction|cuCtxSetCurrent|cuDeviceGet),')" -eq 0 ]
same "the recorder's own calls are not in the trace" "cuCtxSynchronize 1" \
    "$(echo $(tally all_calls call function | grep cuCtxSync))"
same "one thread: one row of thread" 1 "$(count all_calls thread)"

# ---- memory ----------------------------------------------------------------------------------
memory=(init alloc=100 free alloc-pinned=200 free-pinned make-pool pool-alloc=4096 pool-free sync
    trim-pool=0 destroy-pool set=300 copy-in=10 copy-out=20 copy-within=30 sync)
profile memory -- "$steps" "${memory[@]}"
same "memory: allocated and freed" "allocate device 65536 0
allocate device 100 0
release device 100 0
allocate pinned 200 0
release pinned 200 0
allocate device 4096 1
release device 4096 1" "$(rows memory memory | awk -F, '{ print $2, $3, $8, $7 }')"
same "memory: what is freed was allocated" "$(rows memory memory | awk -F, '
    $2 == "allocate" && $8 != 65536 { print $9 }')" \
    "$(rows memory memory | awk -F, '$2 == "release" { print $9 }')"
profile callers -- "$steps" init alloc=100 free alloc=100 free
same "memory: the same place in the program has the same program counter" "100 2 1" \
    "$(rows callers memory | awk -F, '$2 == "allocate" && $8 == 100 && $16 ~ /^0x[0-9a-f]+$/ {
        n++; if (!seen[$16]++) places++ } END { print 100, n, places }')"
same "memory: others have others, all have one" "3 0" "$(rows callers memory | awk -F, '
    { if (!seen[$2, $16]++ && !seen[$16]++) places++; if ($16 == "0x0") none++ }
    END { print places, none + 0 }')"
same "memory: the pool's use" "4096 0" "$(echo $(rows memory memory |
    awk -F, '$12 == 1 { print $14 }'))"
same "pool: created, trimmed, destroyed" "created trimmed destroyed" \
    "$(echo $(column memory pool operation))"
same "pool: one pool, that of the allocations" "$(column memory pool pool | sort -u)" \
    "$(rows memory memory | awk -F, '$12 == 1 { print $13 }' | sort -u)"
same "set: bytes, value, asynchronous" "300 0x5a device 0x1" \
    "$(rows memory set | awk -F, '{ print $2, $3, $4, $5 }')"
same "copies: kinds of memory, bytes, asynchronous or not" "HtoD pageable device 0x0 10
DtoH device pageable 0x0 20
DtoD device device 0x1 30" "$(rows memory copy | awk -F, '{ print $2, $3, $4, $5, $6 }')"
profile no_memory MINIPROF_MEMORY=off -- "$steps" "${memory[@]}"
same "MINIPROF_MEMORY=off: none of it, but the copies" "0 0 3" \
    "$(count no_memory memory) $(count no_memory pool) $(count no_memory copy)"

# ---- overhead --------------------------------------------------------------------------------
profile overhead -- "$steps" init alpha=3 beta=1 sync
same "overhead: the first launch of each function" "lazy_function_loading 15000 2" \
    "$(echo $(rows overhead overhead | awk -F, '{ print $2, $4 }' | sort | uniq -c |
        awk '{ print $2, $3, $1 }'))"
same "overhead: it hit the launching thread" "$(column overhead call thread | sort -u)" \
    "$(column overhead overhead thread | sort -u)"

# ---- compilations ----------------------------------------------------------------------------
profile jit SIMGPU_JIT=2000000 -- "$steps" init alpha=3 sync
same "jit: the program's PTX, when it was loaded" "ptx_to_cubin compile SimGPU (0) 2000000" \
    "$(echo $(rows jit jit | awk -F, '{ print $1, $2, $3, $5 }' | sort -u))"
same "jit: the calls that loaded it" "cuModuleLoadData" \
    "$(paste -d, <(column jit call correlation) <(column jit call function) |
        grep -E "^($(column jit jit correlation | paste -sd'|'))," | cut -d, -f2 | sort -u)"
profile no_jit MINIPROF_GPU=off SIMGPU_JIT=2000000 -- "$steps" init alpha=3 sync
same "MINIPROF_GPU=off: no compilations" 0 "$(count no_jit jit)"
profile old_jit SIMGPU_CUPTI_VERSION=24 SIMGPU_JIT=2000000 -- "$steps" init alpha=3 sync
same "jit: CUPTI of CUDA 12.6 is not asked for it" 0 "$(count old_jit jit)"

# ---- NVTX ------------------------------------------------------------------------------------
nvtx=(push=outer init push=inner mark='a mark, quoted "so"' pop pop alpha=1 sync)
profile nvtx NVTX_INJECTION64_PATH="$lib" -- "$steps" "${nvtx[@]}"
same "nvtx: before CUDA starts too" "push outer,push inner,mark,pop,pop" \
    "$(rows nvtx nvtx | awk -F, '{ print $2 ($2 == "push" ? " " $4 : "") }' | paste -sd,)"
check "nvtx: text with commas and quotation marks" \
    grep -q '"a mark, quoted ""so"""' <("$miniprof" dump --csv --table nvtx nvtx.mpt)
profile no_nvtx MINIPROF_NVTX=off NVTX_INJECTION64_PATH="$lib" -- "$steps" "${nvtx[@]}"
same "MINIPROF_NVTX=off: no rows, the kernel is there" "0 1" \
    "$(count no_nvtx nvtx) $(count no_nvtx kernel)"
finish
