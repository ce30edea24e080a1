#!/bin/bash
# Iterations of programs whose iterations are known, found by each way, against what follows from
# the dumped rows.
. "$SOURCE/tests/e2e/lib.sh" || exit 1

# number NAME KEY [OPTION...]: a number of the JSON report.
number() {
    local name=$1 key=$2
    shift 2
    "$miniprof" iters --json "$@" "$work/$name.mpt" | python3 -c "
import json, sys
print(json.load(sys.stdin)['$key'])"
}

# as_dumped NAME
as_dumped() {
    check "$1: the iterations are what follows from the rows" \
        python3 "$SOURCE/tests/golden/compare_iters.py" "$miniprof" "$work/$1.mpt"
}

profile inference -- "$inference" --iterations 12
as_dumped inference
same "NVTX finds all" 12 "$(number inference count)"
same "and is what is taken" nvtx "$(number inference by)"
same "kernels find as many" 12 "$(number inference count --by kernels)"

profile silent MINIPROF_NVTX=off -- "$inference" --iterations 12
as_dumped silent
same "without NVTX, too" "12 kernels" "$(number silent count) $(number silent by)"

# Two capture ranges.
profile ranges -- "$steps" init start alpha=1 sync stop start alpha=1 beta=1 sync stop
as_dumped ranges
same "capture ranges" "2 range" "$(number ranges count) $(number ranges by)"

# A graph that is launched five times, at both levels.
program=(init stream=1 capture alpha=1 beta=1 end-capture=0 instantiate=0 start)
for _ in 1 2 3 4 5; do
    program+=(launch=0 sync)
done
for level in node graph; do
    profile $level MINIPROF_CUDA_GRAPH=$level -- "$steps" "${program[@]}" stop
    as_dumped $level
done
same "graph launches" "5 graph" "$(number node count) $(number node by)"

# Launched one after the other, and awaited at the end: pipelined.
profile ahead -- "$steps" init stream=1 capture alpha=1 beta=1 end-capture=0 instantiate=0 start \
    launch=0 launch=0 launch=0 launch=0 sync stop
as_dumped ahead
same "four launches" 4 "$(number ahead count --by graph)"
[ "$(number ahead pipelined --by graph)" -gt 0 ]
same "enqueued ahead" 0 $?

profile no_calls MINIPROF_API=none -- "$inference" --iterations 5
as_dumped no_calls
same "without calls" True "$(number no_calls no_calls)"
finish
