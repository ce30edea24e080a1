#!/bin/bash
# Memory that is added to a process under load (soak.c): without a tool, with CUPTI by itself, whose
# buffers are not counted, with miniprof and nsys, in turn. Sizes are the greatest of a look every
# 50 ms: resident anonymous and shared memory of the process, GPU memory in use by anybody.
# MEMORY_SECONDS=n (3) of each run.
. "$(dirname "$0")/lib.sh"

soak=$BUILD/gpu/soak
bare=$BUILD/gpu/libbare_cupti.so
[ -x "$soak" ] || skip "gpu/soak was not built"
nsys=$(find_nsys)
load=("$soak" --seconds "${MEMORY_SECONDS:-3}" --every-ms 50)
cd "$WORK" || exit 1

# one NAME: a run of that side.
one() {
    local -a command
    case $1 in
    bare) command=("${load[@]}") ;;
    CUPTI) command=(env COST_CUPTI=shared CUDA_INJECTION64_PATH="$bare" "${load[@]}") ;;
    miniprof) command=(traced memory.mpt "${load[@]}") ;;
    nsys) command=(nsys_profile n "${load[@]}") ;;
    esac
    if "${command[@]}" >out.txt 2>>errors.txt; then
        python3 "$SOURCE/tests/gpu/soak.py" memory memory "$round" "$1" out.txt >>"$RESULT_LINES"
    fi
    rm -f ./*.mpt n.*
}

sides=(bare miniprof)
[ ! -e "$bare" ] || sides+=(CUPTI)
[ -z "$nsys" ] || sides+=(nsys)
most=$(share 8)
while another_round "$most"; do
    in_turn one "${sides[@]}"
done
said
print_results memory
