#!/bin/bash
# CUDA graphs: each node, or a row for each launch.
. "$SOURCE/tests/e2e/lib.sh" || exit 1

options=(--graph --iterations 4 --layers 8)
bare plain -- "$inference" "${options[@]}"

# ---- node: each kernel inside, on its node ---------------------------------------------------
profile node -- "$inference" "${options[@]}"
unharmed node node plain 0
complete node node
same "node: the kernels of each replay" "add_join 8 conv_layer 8 gemm_layer 8 relu_layer 8" \
    "$(kernels node)"
same "node: copies are outside the graph" "DtoH 4 HtoD 4" "$(echo $(tally node copy kind))"
same "node: no graph rows" 0 "$(count node graph)"
same "node: a definition for each of the 8 kernel nodes" 8 "$(count node node)"
same "node: every kernel names its node, each node ran 4 times" "8 x 4" \
    "$(tally node kernel node | awk '$1 != "" { n++; if ($NF != 4) bad = 1 }
        END { print n " x " (bad ? "?" : 4) }')"
same "node: all nodes are of one graph" 1 "$(column node node graph | sort -u | wc -l)"
same "node: node ids differ" 8 "$(column node node graph_node | sort -u | wc -l)"
same "node: a node always runs the same kernel" 8 \
    "$(rows node kernel | awk -F, '{ print $3, $2 }' | sort -u | wc -l)"
same "node: copies have no node" "" "$(column node copy node | sort -u)"
same "node: the kernels of a replay share its correlation id" "$(rows node call |
    awk -F, '$2 ~ /^cuGraphLaunch/ { print $5, 8 }' | sort -n)" \
    "$(tally node kernel correlation | sort -n)"
same "node: no launches but of graphs" "0 4" \
    "$(count node call ',cuLaunchKernel') $(count node call ',cuGraphLaunch')"
same "node: the layers are ranges of the capture, so none is in the trace" 0 \
    "$(count node nvtx ',layers,')"
profile again -- "$inference" "${options[@]}"
same "node: two runs give the same rows" "$(comparable node)" "$(comparable again)"

# ---- graph: one row a launch -----------------------------------------------------------------
profile graph MINIPROF_CUDA_GRAPH=graph -- "$inference" "${options[@]}"
unharmed graph graph plain 0
complete graph graph
same "graph: no kernels, a row for each launch" "0 4" "$(count graph kernel) $(count graph graph)"
same "graph: no nodes" 0 "$(count graph node)"
same "graph: one graph" 1 "$(column graph graph graph | sort -u | wc -l)"
same "graph: copies outside of it" "DtoH 4 HtoD 4" "$(echo $(tally graph copy kind))"
same "graph: correlation ids of the launches" "$(rows graph call |
    awk -F, '$2 ~ /^cuGraphLaunch/ { print $5 }')" "$(column graph graph correlation)"
# A launch lasts from its first kernel's begin to its last one's end; the noise of the kernels'
# times differs between the two runs.
same "graph: durations are about those that node level shows" "4 1" "$({
    rows node kernel | awk -F, '
        !($6 in first) { order[n++] = $6 }
        !($6 in first) || $4 < first[$6] { first[$6] = $4 }
        $4 - first[$6] + $5 > last[$6] { last[$6] = $4 - first[$6] + $5 }
        END { for (i = 0; i < n; i++) print last[order[i]] }'
    column graph graph duration; } | awk '
        NR <= 4 { node[NR] = $1; next }
        { d = $1 - node[NR - 4]; if (d > 3000 || d < -3000) bad = 1 }
        END { print NR - 4, !bad }')"
like "graph: the summary has it" 'CUDA graph|cuGraph' "$("$miniprof" summary graph.mpt 2>&1)"

# ---- the whole process: the build phase's kernels are recorded one by one --------------------
profile whole MINIPROF_CUDA_GRAPH=graph -- "$inference" "${options[@]}" --no-profiler-api
same "graph, no profiler API: 200 tactics and 6 launches" "200 6" \
    "$(count whole kernel tactic_) $(count whole graph)"
same "graph, no profiler API: no kernel but tactics" 200 "$(count whole kernel)"
profile range MINIPROF_CAPTURE=range -- "$inference" "${options[@]}"
same "range: kernels as in auto" "$(kernels node)" "$(kernels range)"
same "range: nodes as in auto" "$(column node kernel node)" "$(column range kernel node)"
profile range_graph MINIPROF_CAPTURE=range MINIPROF_CUDA_GRAPH=graph -- "$inference" "${options[@]}"
same "range, graph: a row for each launch" "0 4" \
    "$(count range_graph kernel) $(count range_graph graph)"

# ---- several threads, each its own graph -----------------------------------------------------
profile threads -- "$inference" "${options[@]}" --threads 3
same "three threads: kernels" "add_join 24 conv_layer 24 gemm_layer 24 relu_layer 24" \
    "$(kernels threads)"
same "three threads: three graphs of 8 nodes" "3 24" \
    "$(column threads node graph | sort -u | wc -l) $(count threads node)"
finish
