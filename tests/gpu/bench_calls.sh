#!/bin/bash
# What single CUDA calls and NVTX ranges cost the thread that makes them: without a tool, with CUPTI
# by itself (the kinds that miniprof asks for, buffers thrown away unread), with miniprof and nsys,
# in turn; before, in, between and after capture ranges. Also what cuInit takes. OTHER=folder: with
# the miniprof of another build too.
. "$(dirname "$0")/lib.sh"
[ -x "$BUILD/gpu/cost" ] || skip "the cost programs were not built: they need CUDA 12.8 or later"

cost=("$BUILD/gpu/cost" "${BATCHES:-20}")
bare=$BUILD/gpu/libbare_cupti.so
miniprof_run=("$BUILD/miniprof" run --no-summary --capture range -o calls.mpt)
nsys=$(find_nsys)
cd "$WORK" || exit 1

cupti() { # WHAT COMMAND...
    local what=$1
    shift
    env COST_CUPTI="$what" CUDA_INJECTION64_PATH="$bare" "$@"
}

other() { # COMMAND...
    BUILD=$OTHER traced calls.mpt "$@"
}

# one NAME: a run of that side.
one() {
    case $1 in
    bare) side calls "$1" "${cost[@]}" ;;
    "CUPTI initialised") side calls "$1" cupti initialised "${cost[@]}" ;;
    CUPTI) side calls "$1" cupti kinds "${cost[@]}" ;;
    "CUPTI, callbacks") side calls "$1" cupti callbacks "${cost[@]}" ;;
    "CUPTI, NVTX") side calls "$1" cupti markers "${cost[@]}" ;;
    miniprof) side calls "$1" traced calls.mpt "${cost[@]}" ;;
    other) side calls "$1" other "${cost[@]}" ;;
    "miniprof, graph level")
        side calls "$1" traced calls.mpt env MINIPROF_CUDA_GRAPH=graph "${cost[@]}" ;;
    "miniprof, range") side calls "$1" traced calls.mpt env MINIPROF_CAPTURE=range "${cost[@]}" ;;
    "miniprof run, range") side calls "$1" "${miniprof_run[@]}" -- "${cost[@]}" ;;
    "miniprof run, attach range")
        side calls "$1" "${miniprof_run[@]}" --attach range -- "${cost[@]}" ;;
    nsys) side calls "$1" nsys_profile n "${cost[@]}" ;;
    esac
}

# start NAME: cuInit and nothing else.
start() {
    case $1 in
    bare) side start "$1" "${cost[0]}" 0 ;;
    "CUPTI initialised") side start "$1" cupti initialised "${cost[0]}" 0 ;;
    miniprof) side start "$1" traced calls.mpt "${cost[0]}" 0 ;;
    esac
}

# Where tenths of a percent matter: in each round; the others in every other one.
sides=(bare CUPTI miniprof "miniprof, range" "miniprof run, range")
others=("CUPTI initialised" "CUPTI, callbacks" "CUPTI, NVTX" "miniprof, graph level")
"$BUILD/miniprof" run --help | grep -q -- '--attach' && sides+=("miniprof run, attach range")
[ -z "$nsys" ] || others+=(nsys)
[ -z "${OTHER:-}" ] || sides+=(other)
for ((round = 0; round < ${STARTS:-10}; round++)); do
    in_turn start bare "CUPTI initialised" miniprof
done
round=-1
most=$(share 29)
while another_round "$most"; do
    if [ $((round % 2)) -eq 0 ]; then
        in_turn one "${sides[@]}" "${others[@]}"
    else
        in_turn one "${sides[@]}"
    fi
done
said
echo "ns a call (graph: until it has run), median of $round rounds (least to greatest):"
print_results calls start
