#!/bin/bash
# CUDA graphs: which node awaits which, and the stream of each launch. Edges are compared by the
# names of the kernels, whose order of dependencies the program fixes.
. "$SOURCE/tests/e2e/lib.sh" || exit 1

# alpha, then gamma beside two betas, then alpha again that awaits both branches.
branches=(stream=1 capture alpha=1 record=0 stream=2 wait=0 beta=1 beta=1 record=1
    stream=1 gamma=1 wait=1 alpha=1 end-capture=0)
branches_edges="alpha>beta beta>beta alpha>gamma gamma>alpha beta>alpha"
# alpha and beta, an empty node that awaits both, gamma that awaits the empty node.
empty_edges="alpha>? beta>? ?>gamma"

# edges NAME GRAPH: the edges of the n-th graph in the order in which they ran, by kernel names; a
# node that no kernel names is "?".
edges() {
    local graph
    graph=$(column "$1" node graph | awk '!seen[$1]++' | sed -n "$2p")
    echo $({
        rows "$1" kernel | awk -F, '$3 != "" { sub(/.*:/, "", $3); print "name", $3, $2 }'
        rows "$1" edge | awk -F, -v graph="$graph" '$1 == graph { print "edge", $2, $3 }'; } | awk '
        $1 == "name" { name[$2] = $3; next }
        { print ($2 in name ? name[$2] : "?") ">" ($3 in name ? name[$3] : "?") }')
}

sorted() {
    tr ' ' '\n' <<<"$1" | sort | paste -sd' '
}

# same_edges WHAT EXPECTED NAME GRAPH
same_edges() {
    same "$1" "$(sorted "$2")" "$(sorted "$(edges "$3" "$4")")"
}

# ---- before, in and after the range ----------------------------------------------------------
program=(init "${branches[@]}" make-graph=1 make-graph=2 instantiate=0 start instantiate=1
    instantiate=2 stream=1 launch=0 stream=2 launch=1 launch=0 sync count-edges=0 stop launch=2
    sync print=done)
bare plain -- "$steps" "${program[@]}"
for mode in auto range; do
    profile $mode MINIPROF_CAPTURE=$mode -- "$steps" "${program[@]}"
    unharmed $mode $mode plain 0
    complete $mode $mode
    same_edges "$mode: a graph with branches, instantiated before the range" "$branches_edges" \
        $mode 1
    same_edges "$mode: one with an empty node, instantiated in it" "$empty_edges" $mode 2
    same "$mode: none of a graph that did not run in the range" 8 "$(count $mode edge)"
    same "$mode: every edge is of a graph that ran" "$(column $mode node graph | sort -u)" \
        "$(column $mode edge graph | sort -u)"
    same "$mode: nothing was lost" "" "$(rows $mode quality | grep dropped)"
    same "$mode: launches, with their streams" "graph_launch 1 13 0x0 0
graph_launch 1 14 0x0 0
graph_launch 1 14 0x0 0" "$(rows $mode sync | awk -F, '$2 == "graph_launch" {
        print $2, $3, $4, $5, $9 }')"
    same "$mode: launches, with the correlation ids of the nodes" \
        "$(column $mode kernel correlation | sort -u)" \
        "$(rows $mode sync | awk -F, '/graph_launch/ { print $8 }')"
    same "$mode: the call that instantiates is there" 2 "$(count $mode call ',cuGraphInstantiate')"
done
profile all MINIPROF_CAPTURE=all -- "$steps" init "${branches[@]}" make-graph=1 instantiate=0 \
    launch=0 sync start instantiate=1 launch=1 sync stop
same_edges "all: edges of the graph that ran before the range" "$branches_edges" all 1
same_edges "all: edges of the one in it" "$empty_edges" all 2

# ---- graphs inside of graphs -----------------------------------------------------------------
# alpha, a child graph with beta and two child graphs with two gammas each, alpha. A child is two
# nodes that no kernel names: where it begins and where it ends.
child=(create-graph=0 chain=0:alpha create-graph=1 chain=1:beta create-graph=2 chain=2:gamma
    chain=2:gamma chain-child=1:2 chain-child=1:2 chain-child=0:1 chain=0:alpha)
profile child -- "$steps" init "${child[@]}" instantiate=0 launch=0 sync launch=0 sync
complete "child graphs" child
same_edges "child graphs: their edges are among the graph's" \
    "alpha>? ?>alpha ?>? ?>? ?>? ?>beta beta>? ?>? ?>? ?>gamma ?>gamma gamma>gamma gamma>gamma \
gamma>? gamma>?" child 1
profile clone -- "$steps" init "${child[@]}" clone-graph=0:3 destroy-graph=0 instantiate=3 \
    launch=3 sync
same_edges "a clone has the same" "$(edges child 1)" clone 1

# on_path NAME: what the path has of kernels, ns. in_all NAME: how long all of them took.
on_path() {
    "$miniprof" deps --json "$1.mpt" | python3 -c "
import json, sys
print(sum(row['critical_ns'] for row in json.load(sys.stdin)['rows']
          if row['name'] in ('alpha', 'beta', 'gamma')))"
}
in_all() {
    rows "$1" kernel | awk -F, '{ sum += $5 } END { print sum }'
}
same "child graphs: all of it is on the path" "$(in_all child)" "$(on_path child)"
# alpha, three times (beta, two times (two gammas), beta), alpha.
loop=(create-graph=3 chain=3:alpha chain-while=3:4:3 chain=4:beta chain-while=4:5:2 chain=5:gamma
    chain=5:gamma chain=4:beta chain=3:alpha)
if nm -D "$build/simgpu/libcuda.so.1" | grep -q cuGraphConditionalHandleCreate; then
    profile loop -- "$steps" init "${loop[@]}" instantiate=3 launch=3 launch=3 sync
    complete "loops" loop
    same "loops: kernels of bodies have no correlation id" 36 \
        "$(rows loop kernel | awk -F, '$6 == 0' | wc -l)"
    same_edges "loops: edges lead into a body, out of it, and back" \
        "alpha>? ?>alpha ?>? ?>? ?>beta beta>? ?>? ?>? ?>beta beta>? ?>gamma gamma>gamma gamma>?" \
        loop 1
    same "loops: every pass is on the path" "$(in_all loop)" "$(on_path loop)"
fi

# ---- the cut forgets what was written --------------------------------------------------------
profile cut -- "$steps" init "${branches[@]}" instantiate=0 launch=0 sync written start \
    launch=0 sync stop
same_edges "cut: edges are written again" "$branches_edges" cut 1
same "cut: once" 5 "$(count cut edge)"
profile never -- "$steps" init "${branches[@]}" instantiate=0 alpha=1 sync
same "a graph that never runs has no edges in the file" "0 1" \
    "$(count never edge) $(count never kernel)"
profile nodes_only MINIPROF_CUDA_GRAPH=graph -- "$steps" init "${branches[@]}" instantiate=0 \
    launch=0 sync
same "MINIPROF_CUDA_GRAPH=graph: no edges, but the launch and its stream" "0 13" \
    "$(count nodes_only edge) $(rows nodes_only sync | awk -F, '/graph_launch/ { print $4 }')"
profile no_api MINIPROF_API=none -- "$steps" init "${branches[@]}" instantiate=0 launch=0 sync
same "MINIPROF_API=none: edges, but no launches" "5 0" "$(count no_api edge) $(count no_api sync)"

# ---- what is captured does not happen now ----------------------------------------------------
profile captured -- "$steps" init start "${branches[@]}" instantiate=0 launch=0 alpha=1 record=2 \
    sync stop
same "events that are captured are no rows of sync, others are" "event_record" \
    "$(rows captured sync | awk -F, '$2 ~ /^(event_record|stream_wait_event)$/ { print $2 }')"

for mode in all range; do
    profile captured_$mode MINIPROF_CAPTURE=$mode MINIPROF_API=all -- "$steps" init start \
        "${branches[@]}" instantiate=0 launch=0 sync stop
    same "$mode: what the recorder asks of a capture is not the program's" 0 \
        "$(count captured_$mode call ',cuStreamIsCapturing')"
done

# ---- many, come and gone ---------------------------------------------------------------------
profile churn -- "$steps" init "${branches[@]}" churn=100
same "a graph instantiated and destroyed 100 times: edges of each" "100 x 5" \
    "$(tally churn edge graph | awk '{ n++; if ($NF != 5) bad = 1 }
        END { print n " x " (bad ? "?" : 5) }')"
profile graph_gone -- "$steps" init make-graph=0 instantiate=0 destroy-graph=0 launch=0 sync
same_edges "the original may be destroyed before the launch" "$empty_edges" graph_gone 1

# ---- what the recorder asks the driver is not the program's ----------------------------------
for mode in all range; do
    profile own_$mode MINIPROF_CAPTURE=$mode MINIPROF_API=all -- "$steps" init start make-graph=0 \
        instantiate=0 count-edges=0 launch=0 sync stop
    same "$mode: the program's one query of the edges is the only one" 1 \
        "$(count own_$mode call ',cuGraphGetEdges')"
    same_edges "$mode: edges, with MINIPROF_API=all" "$empty_edges" own_$mode 1
done

# ---- a CUPTI or a driver that tells less -----------------------------------------------------
program=(init "${branches[@]}" instantiate=0 launch=0 sync print=done)
bare plain -- "$steps" "${program[@]}"
profile alike MINIPROF_LOG=debug SIMGPU_GRAPHNODE_CLONED=0 -- "$steps" "${program[@]}"
unharmed "no callbacks for nodes" alike plain 0
# CUDA 11.8 has no cuptiGetGraphExecId: then the callbacks are the only source.
if nm -D "$build/simgpu/libcupti.so" | grep -q cuptiGetGraphExecId; then
    same_edges "no callbacks for nodes: a clone's nodes have their original's numbers" \
        "$branches_edges" alike 1
    like "no callbacks for nodes: the log says so" \
        "graph 2: 5 edges.* 0 told by CUPTI, 10 assumed" "$(said alike)"
fi
profile no_id SIMGPU_GRAPHEXEC_ID=0 -- "$steps" "${program[@]}"
same_edges "no cuptiGetGraphExecId: the id comes from the nodes" "$branches_edges" no_id 1
profile neither MINIPROF_LOG=debug SIMGPU_GRAPHEXEC_ID=0 SIMGPU_GRAPHNODE_CLONED=0 -- \
    "$steps" "${program[@]}"
unharmed "neither" neither plain 0
same "neither: no edges, all kernels" "0 5" "$(count neither edge) $(count neither kernel)"
like "neither: the log says so" "CUPTI does not tell its id" "$(said neither)"
profile refused MINIPROF_LOG=debug SIMGPU_GRAPH_EDGES_ERROR=801 -- "$steps" "${program[@]}"
unharmed "edges refused" refused plain 0
same "edges refused: all kernels" "0 5" "$(count refused edge) $(count refused kernel)"
like "edges refused: the log says so" "graph 2: no edges \(801\)" "$(said refused)"
finish
