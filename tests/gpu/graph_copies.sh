#!/bin/bash
# Programs with copies and then new CUDA graphs do not fail when miniprof records them, as they can
# when CUPTI records copies between devices too (docs/measurements.md, section 17). The program is a
# probe of `miniprof calibrate`. How often the sides failed is printed; miniprof must not.
# PROBES=n (6) of each side.
. "$(dirname "$0")/lib.sh"
bare=$BUILD/gpu/libbare_cupti.so
probe=("$BUILD/miniprof" calibrate --probe "$WORK/answer" 0)
sides=("miniprof, node level" "miniprof, graph level")
[ ! -e "$bare" ] || sides+=("CUPTI" "CUPTI, copies between devices too")
declare -A failures

one() {
    local -a command
    case $1 in
    "miniprof, node level") command=(traced "$WORK/probe.mpt" "${probe[@]}") ;;
    "miniprof, graph level")
        command=(traced "$WORK/probe.mpt" env MINIPROF_CUDA_GRAPH=graph "${probe[@]}")
        ;;
    CUPTI) command=(env CUDA_INJECTION64_PATH="$bare" COST_KINDS=gpu "${probe[@]}") ;;
    *) command=(env CUDA_INJECTION64_PATH="$bare" COST_KINDS=peer "${probe[@]}") ;;
    esac
    rm -f "$WORK/answer" "$WORK/probe.mpt"
    "${command[@]}" >"$WORK/out" 2>&1 && return
    failures[$1]=$((${failures[$1]:-0} + 1))
    echo "$1: $(tail -qn 1 "$WORK/answer" "$WORK/out" | head -n 1)"
}

for ((round = 0; round < ${PROBES:-6}; round++)); do
    in_turn one "${sides[@]}"
done
for side in "${sides[@]}"; do
    echo "$side: ${failures[$side]:-0} of ${PROBES:-6} failed"
done
for side in "${sides[@]:0:2}"; do
    [ -z "${failures[$side]:-}" ] || fail "$side"
    ok "$side"
done
