#!/bin/bash
# What recording a CUDA graph of 800 short kernels node by node costs a launch, what of it CUPTI's
# options avoid, and whether the level can change between launches: node_level.c for each way, in
# turn. Nothing is judged. `make bench-nodes`.
#
#     NODE_SECONDS=36     in all; a side that would begin later is left out
#     NODE_SIDES=...      some of the sides below, separated by commas; * and ? match
#     MINIPROF_CUPTI=FILE the libcupti to use
. "$(dirname "$0")/lib.sh"

program=$BUILD/gpu/node_level
limit=${NODE_SECONDS:-36}

# NAME | options of node_level, "node" being the default of miniprof but for its clock
sides="
no CUPTI|--level none
nothing enabled|--level idle
graph level|--level graph
node level|--level node
node level by KIND_KERNEL|--level serial
node level, a clock of its own|--level node --clock 1
node level, no subscriber|--level node --subscribed 0
node level, buffers of all threads|--level node --per-thread 0
node level, buffers not zeroed|--level node --zeroed 0
node level, GPU buffers of 32 MB|--level node --bytes 32000000
node level, 20 GPU buffers beforehand|--level node --prepared 20
node level, at most 1000 GPU buffers|--level node --pool 1000
node level, larger semaphore pools|--level node --semaphores 1000000
node level, buffers on the host|--level node --pinned 1
node level, no latency times|--level node --latency 0
node level, no launch attributes|--level node --attributes 0
node level, hardware trace|--level node --hardware 1
node level and nothing in turn|--level node --turn idle
nothing and node level in turn|--level idle --turn node
graph and node level in turn|--level graph --turn node
node and graph level in turn|--level node --turn graph
the same, both on when made|--level node --turn graph --both 1
the same, node level stays on|--level node --turn graph --both 1 --keep 1
graph level stays on, node level in turn|--level graph --turn node --keep 1
"

[ -x "$program" ] || skip "gpu/node_level was not built"
cd "$WORK" || exit 1

is_wanted() {
    local pattern
    local -a patterns
    IFS=, read -ra patterns <<<"${NODE_SIDES:-*}"
    for pattern in "${patterns[@]}"; do
        # shellcheck disable=SC2053 # not quoted: * and ? match
        [[ $1 == $pattern ]] && return 0
    done
    return 1
}

declare -A ended # sides that did not come to their end, and how

# one LINE: a run of that side. One that was killed is not run again.
one() {
    local name=${1%%|*} result
    local -a options
    read -ra options <<<"${1#*|}"
    [ "$SECONDS" -lt "$limit" ] && [ -z "${ended[$name]:-}" ] || return 0
    { timeout -k 1 8 "$program" "${options[@]}" >side.out 2>side.err; } 2>/dev/null
    result=$?
    sed "s/^/$name: /" side.err >>said.txt
    [ $result -eq 0 ] || ended[$name]="exit status $result"
    [ $result -ne 0 ] || side nodes "$name" cat side.out
}

wanted=()
while IFS= read -r line; do
    ! is_wanted "${line%%|*}" || wanted+=("$line")
done < <(grep . <<<"$sides")
[ ${#wanted[@]} -gt 0 ] || skip "no side matches NODE_SIDES"
while another_round "$limit" && [ "$SECONDS" -lt "$limit" ]; do
    in_turn one "${wanted[@]}"
done
for name in "${!ended[@]}"; do
    echo "did not come to its end: $name: ${ended[$name]}"
done
[ ! -s said.txt ] || sort said.txt | uniq -c
echo "medians of 30 launches of 800 kernels, of $round rounds (least to greatest):"
print_results nodes
