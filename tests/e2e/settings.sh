#!/bin/bash
# Settings that choose what is recorded, of which processes, and for how long.
. "$SOURCE/tests/e2e/lib.sh" || exit 1

# counts NAME TABLE...: the number of rows of each
counts() {
    local name=$1 table
    shift
    for table; do
        count "$name" "$table"
    done | paste -sd' '
}

# ---- MINIPROF_GPU ----------------------------------------------------------------------------
program=(init make-graph=0 instantiate=0 alpha=3 copy-in=10 set=30 launch=0 sync print=text)
bare gpu.bare -- "$steps" "${program[@]}"
profile gpu_on -- "$steps" "${program[@]}"
same "MINIPROF_GPU=on: kernels, copies, sets, overheads, edges" "6 1 1 1 3" \
    "$(counts gpu_on kernel copy set overhead edge)"
for mode in auto range; do
    profile gpu_off MINIPROF_GPU=off MINIPROF_CAPTURE=$mode -- "$steps" init start "${program[@]:1}"
    unharmed "MINIPROF_GPU=off, $mode" gpu_off gpu.bare 0
    complete "MINIPROF_GPU=off, $mode" gpu_off
    same "MINIPROF_GPU=off, $mode: nothing of the device" "0 0 0 0 0 0" \
        "$(counts gpu_off kernel copy set overhead graph edge)"
    same "MINIPROF_GPU=off, $mode: calls and waits as ever" \
        "cuCtxSynchronize cuGraphInstantiateWithFlags cuGraphLaunch cuLaunchKernel 3 1" \
        "$(echo $(column gpu_off call function | grep -E 'cu(Ctx|Graph|Launch)' | sort -u) \
            "$(count gpu_off call ',cuLaunchKernel,')" \
            "$(count gpu_off sync ',context_synchronize,')")"
    rm gpu_off.mpt
done
profile gpu_graph MINIPROF_GPU=off MINIPROF_CUDA_GRAPH=graph -- "$steps" "${program[@]}"
same "MINIPROF_GPU=off: no graphs either" "0 0" "$(counts gpu_graph kernel graph)"

# ---- MINIPROF_CONCURRENT_KERNELS -------------------------------------------------------------
# pairs NAME: of two kernels that overlap, and of all.
pairs() {
    rows "$1" kernel | awk -F, '
        { begin[NR] = substr($4, 7) + 0; end[NR] = begin[NR] + $5 }
        END {
            for (i = 1; i <= NR; i++)
                for (j = 1; j < i; j++) {
                    overlapping += begin[i] < end[j] && begin[j] < end[i]
                    all++
                }
            print overlapping + 0, all
        }'
}
# Pages on their way make the first kernel last longer than the launches of the others.
program=("$steps" init alloc-managed=2097152 stream=1 touch=1 stream=2 alpha=4 stream=1 beta=2 sync
    print=text)
bare serial.bare -- "${program[@]}"
profile beside -- "${program[@]}"
profile serial MINIPROF_CONCURRENT_KERNELS=off -- "${program[@]}"
unharmed "MINIPROF_CONCURRENT_KERNELS=off" serial serial.bare 0
complete "MINIPROF_CONCURRENT_KERNELS=off" serial
same "MINIPROF_CONCURRENT_KERNELS=off: all kernels" "alpha 4 beta 2 touch 1" "$(kernels serial)"
same "MINIPROF_CONCURRENT_KERNELS=off: no two overlap" "0 21" "$(pairs serial)"
check "MINIPROF_CONCURRENT_KERNELS=on: some do" [ "$(pairs beside | cut -d' ' -f1)" -gt 0 ]
same "MINIPROF_CONCURRENT_KERNELS=off: nothing to say" "" "$(said serial)"
profile serial_range MINIPROF_CONCURRENT_KERNELS=off MINIPROF_CAPTURE=range -- "$steps" init \
    alpha=1 start stream=1 beta=3 stream=2 beta=3 sync stop stream=1 alpha=3
same "MINIPROF_CONCURRENT_KERNELS=off in a range" "beta 6 0 15" \
    "$(kernels serial_range) $(pairs serial_range)"

# ---- MINIPROF_UNIFIED_MEMORY -----------------------------------------------------------------
# 2 MiB and 66048 bytes: two blocks (tests/simgpu/managed.c), which take 66560 and 3104 ns to move.
memory=(alloc-managed=2163200 touch=2 sync alpha=1 free-managed)
bare unified.bare -- "$steps" init "${memory[@]}" print=text
profile unified MINIPROF_UNIFIED_MEMORY=on SIMGPU_NOISE=0 -- "$steps" init "${memory[@]}" print=text
unharmed "MINIPROF_UNIFIED_MEMORY=on" unified unified.bare 0
complete "MINIPROF_UNIFIED_MEMORY=on" unified
same "unified memory: nothing to say" "" "$(said unified)"
base=$(rows unified memory | awk -F, '$3 == "managed" && $2 == "allocate" { print $9 }')
second=$(printf '0x%x' $((base + 2097152)))
first=$(rows unified kernel | awk -F, '$2 == "touch" { print $4; exit }')
# moments NAME FROM: kind, source, target, stream, value, address, flags, start after FROM, duration
moments() {
    rows "$1" unified | awk -F, -v from="$2" '{
        print $1, $2, $3, $4, $5, $6, $7, substr($8, 7) - substr(from, 7), $9 }' |
        sed 's/#4294967295/-/g'
}
same "unified memory: a kernel brings what it points at" \
    "bytes_HtoD - SimGPU (0) 0 2097152 $base 0x2 10240 66560
gpu_page_fault SimGPU (0) - 0 1 $base 0x2 0 76800
bytes_HtoD - SimGPU (0) 0 66048 $second 0x2 87040 3104
gpu_page_fault SimGPU (0) - 0 1 $second 0x2 76800 13344" "$(moments unified "$first" | head -n 4)"
same "unified memory: which takes time of it" "92192 2048" \
    "$(echo $(rows unified kernel | awk -F, '$2 == "touch" { print $5 }'))"
fault=$(rows unified unified | awk -F, '$1 == "cpu_page_fault" { print $8; exit }')
same "unified memory: then the host takes it back" "cpu_page_fault - - 0 4198400 $base 0x1 0 0
bytes_DtoH SimGPU (0) - 0 2097152 $base 0x2 4096 66560
cpu_page_fault - - 0 4198400 $second 0x1 70656 0
bytes_DtoH SimGPU (0) - 0 66048 $second 0x2 74752 3104" \
    "$(moments unified "$fault" | tail -n +5)"
same "unified memory: when it waits, no sooner" 1 "$({
    rows unified kernel | awk -F, '$2 == "touch" { print substr($4, 7) + $5 }'
    echo "$fault" | cut -c7-
    rows unified call | awk -F, '$2 == "cuCtxSynchronize" { print substr($3, 7) + $4 }'; } |
    awk 'NR > 2 { if ($1 < last) bad = 1 } { last = $1 } END { print NR == 4 && !bad }')"
profile unified_off -- "$steps" init "${memory[@]}" print=text
same "MINIPROF_UNIFIED_MEMORY=off: none of it" "0 1" \
    "$(count unified_off unified) $(count unified_off memory ',allocate,managed,')"
profile two MINIPROF_UNIFIED_MEMORY=on SIMGPU_DEVICES=2 -- "$steps" init alloc-managed=4096 \
    touch=1 sync-stream device=1 touch=1 sync-stream
same "unified memory: from device to device" "bytes_DtoD SimGPU (0) SimGPU (1) 4096" \
    "$(rows two unified | awk -F, '/^bytes_DtoD/ { print $1, $2, $3, $5 }')"
for mode in auto range; do
    profile window MINIPROF_UNIFIED_MEMORY=on MINIPROF_CAPTURE=$mode -- "$steps" init \
        alloc-managed=4096 touch=1 sync touch=1 sync-stream start sync stop touch=1
    same "unified memory, $mode: kept by time" "bytes_DtoH 1 cpu_page_fault 1" \
        "$(echo $(tally window unified kind))"
    rm window.mpt
done
profile no_managed MINIPROF_UNIFIED_MEMORY=on -- "$steps" init alpha=2 sync
same "unified memory that the program has none of: nothing, no line" "0 alpha 2 " \
    "$(count no_managed unified) $(kernels no_managed) $(said no_managed)"
for version in 18 26; do
    profile "unified$version" MINIPROF_UNIFIED_MEMORY=on SIMGPU_NOISE=0 \
        SIMGPU_CUPTI_VERSION=$version -- "$steps" init "${memory[@]}"
    same "unified memory: the same with CUPTI version $version" \
        "$(comparable unified unified)" "$(comparable "unified$version" unified)"
done
profile refused MINIPROF_UNIFIED_MEMORY=on SIMGPU_UNIFIED_MEMORY_ERROR=28 -- \
    "$steps" init "${memory[@]}" print=text
unharmed "unified memory is refused" refused unified.bare 0
same "unified memory is refused: the rest is recorded, not a word" "0 alpha 1 touch 2 " \
    "$(count refused unified) $(kernels refused) $(said refused)"
rm refused.mpt
profile refused MINIPROF_UNIFIED_MEMORY=on SIMGPU_UNIFIED_MEMORY_ERROR=28 MINIPROF_LOG=info -- \
    "$steps" init "${memory[@]}"
like "unified memory is refused: said at level info" "unified memory is not recorded: .*UM_PROFIL" \
    "$(said refused)"

# ---- MINIPROF_API ----------------------------------------------------------------------------
program=("$steps" init stream=1 alpha=2 record=0 wait=0 capture record=1 beta=1 wait=1
    end-capture=0 instantiate=0 launch=0 sync)
for mode in auto range; do
    for version in 22 23; do
        for api in all driver runtime; do
            profile "$api$version" MINIPROF_API=$api MINIPROF_CAPTURE=$mode \
                SIMGPU_CUPTI_VERSION=$version -- "${program[@]:0:2}" start "${program[@]:2}"
        done
        # The software GPU has no runtime.
        same "MINIPROF_API=driver, $mode, CUPTI $version: all driver calls" \
            "$(comparable all$version call)" "$(comparable driver$version call)"
        check "MINIPROF_API=driver, $mode, CUPTI $version: also what lean leaves out" \
            [ "$(count driver$version call ',cuModuleGetFunction,')" -gt 0 ]
        same "MINIPROF_API=runtime, $mode, CUPTI $version: none, waits and kernels as ever" \
            "0 $(count all$version sync) $(kernels all$version)" \
            "$(count runtime$version call) $(count runtime$version sync) $(kernels runtime$version)"
        rm -f ./*2[23].mpt
    done
done

# ---- MINIPROF_CHILDREN -----------------------------------------------------------------------
# family NAME [VAR=VALUE...] -- PROGRAM: a file each process; sets $found to their kernels.
family() {
    local name=$1 file
    shift
    mkdir -p "$name"
    profile "$name" MINIPROF_OUTPUT="$work/$name/%p.mpt" "$@"
    found=$(for file in "$name"/*.mpt; do
        [ -e "$file" ] && cp "$file" one.mpt && kernels one
    done | sort | paste -sd' ')
}
parent=("$steps" init alpha=3 fork-exec=init,beta=2,exit=6 alpha=2 sync print=text)
bare children.bare -- "${parent[@]}"
family children MINIPROF_CHILDREN=on -- "${parent[@]}"
same "MINIPROF_CHILDREN=on: both processes" "alpha 5 beta 2" "$found"
family no_children MINIPROF_CHILDREN=off -- "${parent[@]}"
unharmed "MINIPROF_CHILDREN=off" no_children children.bare 0
same "MINIPROF_CHILDREN=off: the parent only" "alpha 5" "$found"
same "MINIPROF_CHILDREN=off: one closing line, nothing else" "1 0" \
    "$(closing no_children | wc -l) $(said no_children | wc -l)"
family deep MINIPROF_CHILDREN=off -- "$steps" init alpha=3 \
    fork-exec=fork-exec=init,exit=5 sync print=text
same "MINIPROF_CHILDREN=off: nor grandchildren whose parent has no CUDA" "alpha 3" "$found"
family nvtx MINIPROF_CHILDREN=off NVTX_INJECTION64_PATH="$lib" -- "$steps" init alpha=3 \
    fork-exec=mark=x,init,beta=1,mark=y sync
same "MINIPROF_CHILDREN=off: nor their NVTX" "alpha 3 0" "$found $(said nvtx | wc -l)"
family shell MINIPROF_CHILDREN=off -- bash -c '"$0" init alpha=1 sync; "$0" init beta=1 sync' \
    "$steps"
same "MINIPROF_CHILDREN=off: processes of which none started the other" "alpha 1 beta 1" "$found"
family again MINIPROF_CHILDREN=off -- bash -c 'MINIPROF_PARENT=$$ exec "$0" "$@"' \
    "$steps" init alpha=2 sync
same "MINIPROF_CHILDREN=off: a process that became another program is no child" "alpha 2" "$found"
family stranger MINIPROF_CHILDREN=off MINIPROF_PARENT=1 MINIPROF_LOG=info -- \
    "$steps" init alpha=2 sync
same "MINIPROF_CHILDREN=off: a child says so at level info" " 1" \
    "$found $(grep -c 'process 1, which started this one, is recorded' stranger.err)"
for value in abc 0 -1 99999999999; do
    family "odd$value" MINIPROF_CHILDREN=off MINIPROF_PARENT="$value" -- "$steps" init alpha=2 sync
    same "MINIPROF_CHILDREN=off: no process, '$value'" "alpha 2 " "$found $(said "odd$value")"
done
family leftover MINIPROF_PARENT=1 -- "$steps" init alpha=2 sync
same "MINIPROF_CHILDREN=on: what a parent left does not matter" "alpha 2 " "$found $(said leftover)"

# ---- MINIPROF_TIMEOUT ------------------------------------------------------------------------
begin=$(date +%s%N)
bare timeout.bare -- "$steps" init alpha=3 sync print=text exit=0
profile timeout MINIPROF_TIMEOUT=1 -- "$steps" init alpha=3 sync print=text await=never
took=$((($(date +%s%N) - begin) / 1000000))
unharmed "MINIPROF_TIMEOUT=1" timeout timeout.bare 143
check "MINIPROF_TIMEOUT=1: no sooner than after a second ($took ms)" [ "$took" -ge 1000 ]
complete "MINIPROF_TIMEOUT=1" timeout
same "MINIPROF_TIMEOUT=1: kernels" "alpha 3" "$(kernels timeout)"
same "MINIPROF_TIMEOUT=1: one line" "miniprof: the timeout of 1 s is over" "$(said timeout)"
profile handled MINIPROF_TIMEOUT=1 -- "$steps" init handle-term alpha=3 sync await=never
same "MINIPROF_TIMEOUT=1: a program that handles SIGTERM decides" "7 own handler" \
    "$status $(cat handled.out)"
profile sooner MINIPROF_TIMEOUT=1 -- "$steps" init alpha=3 sync exit=4
same "MINIPROF_TIMEOUT=1: a program that ends before" "4 alpha 3 " \
    "$status $(kernels sooner) $(said sooner)"

# ---- MINIPROF_GPU_BUFFER_MB ------------------------------------------------------------------
for setting in "" 16 130 1024; do
    profile limit ${setting:+MINIPROF_GPU_BUFFER_MB=$setting} -- "$steps" init alpha=1 sync \
        print-pool-limit
    same "MINIPROF_GPU_BUFFER_MB=$setting: buffers of 4 MB" \
        "$((${setting:-64} / 4))" "$(cat limit.out)"
    complete "MINIPROF_GPU_BUFFER_MB=$setting" limit
done

# ---- what is no setting ----------------------------------------------------------------------
profile typo MINIPROF_OUTPTU=x.mpt MINIPROF_=1 MINIPROFX=1 MINIPROF_PARENT=1 -- \
    "$steps" init alpha=3 sync
same "unknown variables: a line each" \
    "miniprof: MINIPROF_ is no setting; \`miniprof run --help\` lists them
miniprof: MINIPROF_OUTPTU is no setting; \`miniprof run --help\` lists them" "$(said typo | sort)"
same "unknown variables: recorded all the same" "alpha 3" "$(kernels typo)"
long=MINIPROF_$(printf 'X%.0s' {1..300})
profile long "$long=1" MINIPROF_LOG=error -- "$steps" init alpha=3 sync
same "unknown variables: not a word below level warn" "" "$(said long)"
profile long2 "$long=1" -- "$steps" init alpha=3 sync
like "unknown variables: a long one is cut" '^miniprof: MINIPROF_X{54} is no setting' \
    "$(said long2)"
finish
