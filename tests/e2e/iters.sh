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
same "kernels find as many" 12 "$(number inference count --iterations kernels)"

profile silent MINIPROF_NVTX=off -- "$inference" --iterations 12
as_dumped silent
same "without NVTX, too" "12 kernels" "$(number silent count) $(number silent by)"

# Two capture ranges are phases; in each of them the thread waits once for its work.
profile ranges -- "$steps" init start alpha=1 sync stop start alpha=1 beta=1 sync stop
as_dumped ranges
same "waits inside of phases" "2 syncs" "$(number ranges count) $(number ranges by)"
same "capture ranges" 2 "$(number ranges count --iterations range)"

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
same "four launches" 4 "$(number ahead count --iterations graph)"
[ "$(number ahead pipelined --iterations graph)" -gt 0 ]
same "enqueued ahead" 0 $?

# ---- Populations: what the program does is in programs/population.c ----

# A server of eight threads, half of them with graphs: all requests, not the launches of one graph.
profile server -- "$build/tests/e2e/population" server 8 50
as_dumped server
same "requests of all threads" "400 requests 8 100" \
    "$(number server count) $(number server by) $(number server threads) $(
        number server coverage_percent | cut -d. -f1)"
# Two kernels, copies and launches; while threads set up, the virtual clock lets some wait longer.
same "each takes as long as its work" 1 "$("$miniprof" iters --json server.mpt | python3 -c "
import json, sys
latency = json.load(sys.stdin)['statistics']['latency_ns']
print(int(260000 <= latency['min'] and latency['p95'] < 285000))")"
same "a row for each thread" "8 50 50" "$("$miniprof" iters --json server.mpt | python3 -c "
import json, sys
rows = json.load(sys.stdin)['by_thread']
print(len(rows), min(r['count'] for r in rows), max(r['count'] for r in rows))")"
like "one graph is the work of one thread" "50 1 12[.]|50 1 1[0-4][.]" \
    "$(number server count --iterations graph) $(number server threads --iterations graph) $(
        number server coverage_percent --iterations graph)"
like "and warns of it" "Warning: 8[0-9.]*% of the GPU work is in no iteration" \
    "$("$miniprof" iters --iterations graph server.mpt)"
same "deps: the path of a request ends in its thread" "400 1" \
    "$("$miniprof" deps --iters=requests --json server.mpt | python3 -c "
import json, sys
d = json.load(sys.stdin)
print(d['iterations']['count'], int(260000 <= d['iterations']['p50_ns'] < 285000))")"
# Twice as fast, its kernels save a request half of 260 us, whatever other threads do.
same "advise: the gain of one request" 1 "$("$miniprof" advise --json server.mpt | python3 -c "
import json, sys
d = json.load(sys.stdin)
gain = {f['rule']: f['gain_ns'] for f in d['findings']}['slow_layer']
print(int(abs(gain - 130000) < 3000))")"

# An array library on two streams: CUB's ranges are not the program's.
profile array -- "$build/tests/e2e/population" array 100
as_dumped array
same "a hundred loops" "100 False 100" "$(number array count) $(
    [ "$(number array by)" = nvtx ] && echo True || echo False) $(
    number array coverage_percent | cut -d. -f1)"
like "the library's ranges are listed without a score" \
    'nvtx:cub::DeviceReduce::Sum@CCCL +100 +1 .*- +no' "$("$miniprof" iters --candidates array.mpt)"
same "and can be asked for" 100 \
    "$(number array count --iterations nvtx:cub::DeviceReduce::Sum@CCCL)"

profile no_calls MINIPROF_API=none -- "$inference" --iterations 5
as_dumped no_calls
same "without calls" True "$(number no_calls no_calls)"
finish
