#!/bin/bash
# Host functions of streams and graphs, by the preloaded library and by CUPTI 13.1, and kernels that
# may begin before the one before them ends.
. "$SOURCE/tests/e2e/lib.sh" || exit 1

hostfn=$build/tests/e2e/hostfn
preload=$build/libminiprof_preload.so
if [ ! -e "$preload" ] || sanitized address; then
    echo "no $preload, or a build with sanitizers, whose runtime must come first"
    exit 77
fi
newest="SIMGPU_CUPTI_VERSION=130100"

# functions NAME: the rows, as "STREAM NAME NODE NS CORRELATION", in the order in which they ran.
functions() {
    rows "$1" host_function | sort -t, -k5n | awk -F, '{
        print $1, $2, ($3 == "" ? "-" : $3), $6, $7 }'
}

# launches NAME FUNCTION...: the correlation ids of the calls of these functions, in order.
launches() {
    local name=$1
    shift
    rows "$name" call | grep -E ",($(tr ' ' '|' <<<"$*"))," | sort -t, -k3n | awk -F, '{ print $5 }'
}

# with NAME [VAR=VALUE...] -- PROGRAM...: under the preloaded library.
with() {
    local name=$1
    shift
    profile "$name" LD_PRELOAD="$preload" "$@"
}

place=$(nm "$hostfn" | awk '$3 == "do_job" { print "hostfn+0x" $1 }' | sed 's/x0*/x/')
back=$(nm "$hostfn" | awk '$3 == "call_back" { print "hostfn+0x" $1 }' | sed 's/x0*/x/')

# ---- in streams ------------------------------------------------------------------------------
bare stream -- "$hostfn" stream closelog
with stream.p -- "$hostfn" stream closelog
unharmed stream stream.p stream 0
complete stream stream.p
ids=($(launches stream.p cuLaunchHostFunc cuStreamAddCallback))
# Each takes what it spends, and two readings of the clock.
same "stream: place, name, time and call" "0:1:13 $place - 50040 ${ids[0]}
0:1:13 $place - 20040 ${ids[1]}
0:1:13 $back - 30040 ${ids[2]}
0:1:14 $place - 41 ${ids[3]}
0:1:13 closelog - 20 ${ids[4]}" "$(functions stream.p)"
same "stream: on one thread, which is not the program's" "1 0" "$(
    column stream.p host_function thread | sort -u | wc -l) $(
    comm -12 <(column stream.p host_function thread | sort -u) \
        <(column stream.p call thread | sort -u) | wc -l)"
tid=$(column stream.p host_function thread | sed -n 's/thread //;1p')
same "stream: the thread has a row" 1 "$(count stream.p thread "^[0-9]+,$tid,")"
same "stream: behind the kernel before it" ok "$(
    paste -d' ' <(rows stream.p kernel | awk -F, '{ print $4 + $5 }') \
        <(column stream.p host_function start | head -n 1) | awk '{ print $1 < $2 ? "ok" : $0 }')"

profile stream.13 "$newest" -- "$hostfn" stream
ids=($(launches stream.13 cuLaunchHostFunc cuStreamAddCallback))
same "stream, CUPTI 13.1: the same without names" "0:1:13  - 50020 ${ids[0]}
0:1:13  - 20020 ${ids[1]}
0:1:13  - 30020 ${ids[2]}
0:1:14  - 21 ${ids[3]}" "$(functions stream.13)"
with stream.both "$newest" -- "$hostfn" stream closelog
same "stream: with both, the library tells" "$(functions stream.p)" "$(functions stream.both)"
profile stream.none -- "$hostfn" stream
same "stream: neither: no rows" 0 "$(count stream.none host_function)"
with stream.off MINIPROF_GPU=off -- "$hostfn" stream
same "stream: MINIPROF_GPU=off: no rows" 0 "$(count stream.off host_function)"

with asked -- "$hostfn" asked
same "looked up by name: as well" "50040 20040" \
    "$(column asked host_function duration | paste -sd' ')"

# ---- in graphs -------------------------------------------------------------------------------
bare graph -- "$hostfn" graph
with graph.p -- "$hostfn" graph
unharmed graph graph.p graph 0
ids=($(launches graph.p cuGraphLaunch))
graph_rows() {
    echo "0:1:13 $1 2:0x200000002 $((50000 + $2)) ${ids[0]}
0:1:13 $1 2:0x200000004 $((20000 + $2)) ${ids[0]}
0:1:14 $1 3:0x300000002 $((50000 + $2)) ${ids[1]}
0:1:14 $1 3:0x300000004 $((20000 + $2)) ${ids[1]}
0:1:14 $1 2:0x200000002 $((70000 + $2)) ${ids[2]}
0:1:14 $1 2:0x200000004 $((20000 + $2)) ${ids[2]}"
}
told_graph=1 # CUPTI tells which executable graph is launched
plays cuptiGetGraphExecId || told_graph=
if [ "$told_graph" ]; then
    same "graph: node, stream and launch of each run" "$(graph_rows "$place" 40)" \
        "$(functions graph.p)"
else
    leaves_out "launches of graphs to which host functions belong"
fi
with graph.unknown SIMGPU_GRAPHEXEC_ID=0 -- "$hostfn" graph
same "graph, CUPTI does not tell which one is launched: the one instantiated last" \
    "$(for ns in 50040 20040 50040 20040 70040 20040; do
        echo " $place 3:0x30000000$((ns == 20040 ? 4 : 2)) $ns 0"
    done)" "$(functions graph.unknown)"
profile graph.13 "$newest" -- "$hostfn" graph
ids=($(launches graph.13 cuGraphLaunch))
same "graph, CUPTI 13.1: the same without names" "$(graph_rows "" 20)" "$(functions graph.13)"

bare hand -- "$hostfn" hand
with hand.p -- "$hostfn" hand
unharmed hand hand.p hand 0
ids=($(launches hand.p cuGraphLaunch))
[ -z "$told_graph" ] ||
    same "made by hand: node and launch" "0:1:13 $place 2:0x200000001 1040 ${ids[0]}
0:1:13 $place 2:0x200000002 20040 ${ids[0]}" "$(functions hand.p)"

with level MINIPROF_CUDA_GRAPH=graph -- "$hostfn" graph closelog
unharmed_but_for_stdout "graph level" level graph 0
same "graph level: only those outside of graphs" closelog "$(column level host_function name)"

bare threads -- "$hostfn" threads
with threads.p -- "$hostfn" threads
unharmed threads threads.p threads 0
same "threads: each function has a row" 3200 "$(count threads.p host_function)"
if [ "$told_graph" ]; then
    same "threads: each function has its launch" 0 "$(count threads.p host_function ',0$')"
    same "threads: two functions in each launch of a graph" "800 2" "$(
        rows threads.p host_function | awk -F, '$3 != "" { print $7 }' | sort | uniq -c |
            awk '{ print $1 }' | sort | uniq -c | awk '{ print $1, $2 }')"
fi

# Each function that is given to a node counts, up to 65,536.
bare change -- "$hostfn" change=65540
with change.p -- "$hostfn" change=65540
unharmed "changed often" change.p change 0
same "changed often: the last five are not timed, and counted" "0 5" \
    "$(count change.p host_function) $(counter change.p dropped_functions)"
like "changed often: a report says so" "Warning: 5 records were dropped" \
    "$("$miniprof" info change.p.mpt 2>&1)"

# ---- in ranges -------------------------------------------------------------------------------
# What is launched outside of a range has no row. Graphs made before it are known.
for mode in auto range; do
    with range.$mode MINIPROF_CAPTURE=$mode -- "$hostfn" stream graph start closelog stop stream
    same "$mode: those launched in the range" closelog "$(column range.$mode host_function name)"
done

# ---- what goes wrong -------------------------------------------------------------------------
bare bad -- "$hostfn" bad closelog
with bad.p -- "$hostfn" bad closelog
unharmed bad bad.p bad 0
same "bad: only what ran" closelog "$(column bad.p host_function name)"
bare exit -- "$hostfn" closelog exit
with exit.p -- "$hostfn" closelog exit
unharmed "exit in a host function" exit.p exit 3
complete "exit in a host function" exit.p
same "exit in a host function: it has not ended" closelog "$(column exit.p host_function name)"
bare fork -- "$hostfn" fork
with fork.p -- "$hostfn" fork
unharmed "fork in a host function" fork.p fork 0
complete "fork in a host function" fork.p
same "fork in a host function: the parent's" 1 "$(count fork.p host_function)"

# ---- kernels that overlap --------------------------------------------------------------------
profile overlap -- "$hostfn" overlap
same "overlap: a shape without, one with" "0 1" \
    "$(column overlap shape programmatic | paste -sd' ')"
told="1 1 0"
plays cuGraphGetEdges_v2 || told="0 0 0" # CUDA before 12.3 does not tell
same "overlap: edges of a graph" "$told" "$(column overlap edge programmatic | paste -sd' ')"
same "overlap: as the software GPU has them" "1 1 0 0 1 1 0" "$(rows overlap kernel | awk -F, '
    NR > 1 { print ($4 < end ? 1 : 0) }
    { end = $4 + $5 }' | paste -sd' ')"
profile overlap.late -- "$hostfn" plain=9000 overlap
same "overlap after 9,000 launches without: noticed" "0 1" \
    "$(column overlap.late shape programmatic | sort -u | paste -sd' ')"
profile overlap.never -- "$hostfn" plain=10100 overlap
same "overlap after 10,100 launches without: not noticed any more" 0 \
    "$(column overlap.never shape programmatic | sort -u | paste -sd' ')"
same "overlap: launches are recorded all the same" 10108 \
    "$(count overlap.never call ',cuLaunchKernelEx,')"
profile overlap.range MINIPROF_CAPTURE=range -- "$hostfn" start plain=10100 overlap stop
calls=$(($(count overlap.range call ',cuLaunchKernelEx,') + $(counter overlap.range dropped_calls)))
check "overlap, calls by callback: they stay, but for those that found the log full" \
    [ $calls -ge 10108 ]
finish
