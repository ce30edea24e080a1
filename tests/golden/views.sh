# shellcheck shell=bash
# The golden texts, for run.sh: a row names a view, the traces that it is kept for, and the commands
# that print it, which get the trace as their last argument. The text is TRACE.VIEW.txt.
#
# A new view is one row. A row has further traces than these three for what they lack, and a comment
# says what. CSV, JSON and nvprof's spellings lay out rows that another view has: one trace is
# enough for each.
#
#   inference             NVTX ranges of layers, copies both ways
#   resnet50_graph_edges  nodes and edges of a CUDA graph
#   simgpu                metrics, memory, unified memory: a row of nearly every table
#
# A trace is a file or folder of tests/data; A:B are two. each_table is a function of run.sh.
three="inference resnet50_graph_edges simgpu"

# What is in a file. memory: two GPUs, pools; captured: paths of ranges; server: waits, host times;
# set, ranks: the traces of one job; green: green contexts.
view info "set ranks green" "info"
view info.json "$three memory set" "info --json"
view dump "$three memory captured server" each_table

# Sums by name. memory: two GPUs; managed: faults of the GPU; metrics: replayed kernels, copies;
# green: kernels that have some of the SMs.
view summary "$three memory" "summary"
view summary.csv metrics "summary --csv"
view summary.json simgpu "summary --json"
view summary.gpu managed "summary --gpu"
view summary.api memory "summary --api"
view summary.per_gpu memory "summary --per-gpu"
view kernels "$three green" "kernels"
view kernels.by_name "resnet50_graph_edges metrics" "kernels --by-name"
view kernels.csv metrics "kernels --csv"
view kernels.json inference "kernels --json"

# NVTX ranges and layers. captured: ranges around the capture of a graph; resnet50_eager: many
# layers, four deep; branches: kernels of a position run at once.
view nvtx "$three captured resnet50_eager" "nvtx"
view nvtx.csv captured "nvtx --csv"
view layers "$three captured resnet50_eager" "layers" "layers --tree --kernels"
view layers.csv inference "layers --csv" "layers --csv --table types" \
    "layers --csv --table precisions" "layers --csv --table marks"
view layers.json captured "layers --json --top 20"
view layers.positions "resnet50_graph_edges branches" "layers --by-position"

# A row for each activity or call. managed: migrations and faults.
view gpu_trace "$three managed" "gpu-trace"
view gpu_trace.csv simgpu "gpu-trace --csv"
view api_trace "$three" "api-trace"
view api_trace.csv simgpu "api-trace --csv"
view both_traces "inference simgpu" "gpu-trace --with-api"

# What waits for what. two_streams: events between streams; branches: those of a graph; green: waits
# that name the parent of a green context; ranks: a job with NCCL.
view deps "$three two_streams branches green ranks" "deps" "deps --parts --gains 5"
view deps.csv inference "deps --csv --parts" "deps --csv --parts --table latencies"
view deps.json simgpu "deps --json"
view deps.trace "two_streams branches" "deps --trace"
view deps.trace.json ranks "deps --json --trace"
view deps.iterations "inference resnet50_graph_edges two_streams" \
    "deps --parts --iterations iteration --slowest 2"
view deps.steps memory "deps --parts --iterations step --slowest 2"
view overlap "$three two_streams branches managed" "overlap"
view overlap.csv branches "overlap --csv" "overlap --csv --table kernels" \
    "overlap --csv --table streams"
view overlap.json two_streams "overlap --json"

# Iterations, and what to do about them. two_streams: a loop of two layers, one slow; the others:
# findings of other rules.
view iters "$three two_streams" "iters" "iters --iterations range" "iters --iterations graph" \
    "iters --iterations kernels" "iters --each"
view iters.csv inference "iters --csv" "iters --csv --table counts" "iters --csv --table outliers" \
    "iters --csv --table threads" "iters --csv --each"
view iters.json resnet50_graph_edges "iters --json --each"
view advise "$three two_streams resnet50_eager memory managed" "advise"
view advise.csv inference "advise --csv" "advise --csv --iterations kernels"
view advise.json resnet50_graph_edges "advise --json"

# Metrics. simgpu: of one kernel only.
view metrics "metrics simgpu" "metrics"
view metrics.csv metrics "metrics --csv"
view metrics.each metrics "metrics --each"

# Counters. inference_sampled: real samples beside kernels in NVTX ranges.
view counters inference_sampled "counters" "counters --by iteration --top 3" "kernels" \
    "layers --top 4"

# Memory. memory: pools, two GPUs, two threads; managed: migrations; inference: nothing recorded.
view memory "memory managed simgpu inference" "memory" "memory --points 3"
view memory.csv memory "memory --csv" "memory --csv --table peaks" "memory --csv --table pools" \
    "memory --csv --table not_freed" "memory --csv --table churn" "memory --csv --timeline"
view memory.json simgpu "memory --json"
view memory.steps memory "memory --iterations step"

# nvprof's command line: its sections, prefixes and spelling of names.
view nvprof simgpu "-i"
view nvprof.csv metrics "--csv -i"
view nvprof.summaries simgpu "--print-gpu-summary --print-api-summary --print-summary-per-gpu -i" \
    "--print-summary-per-gpu --csv -u us -i"
view nvprof.traces simgpu \
    "--print-gpu-trace --print-api-trace --context-name c%i --stream-name s%i%% -i"
view nvprof.memory memory "--track-memory-allocations on --print-api-summary --csv -i"
view nvprof.deps two_streams "--print-dependency-analysis-trace -u us -i"
view nvprof.deps.csv inference "--print-gpu-summary --dependency-analysis --csv -i" \
    "--print-dependency-analysis-trace --csv -i"

# The digest. resnet50_eager, resnet50_graph: answers about a framework; server: requests of several
# threads; cupy_streams: host times; set, ranks: several processes.
view report "$three resnet50_eager resnet50_graph server cupy_streams set ranks" "report"
view report.markdown "inference server" "report --markdown"
view report.json cupy_streams "report --json"

# A trace and another one: faster, about equal, another program; and the same, which has layers.
view both "resnet50_eager:resnet50_graph inference:two_streams" "report"
view diff "resnet50_eager:resnet50_graph resnet50_graph:resnet50_graph_edges
    inference:two_streams" "diff --positions"
view diff.same inference:inference "diff --positions" "diff --csv --table layers"
view diff.csv resnet50_eager:resnet50_graph "diff --csv --shapes" "diff --csv --table latency" \
    "diff --csv --table times" "diff --csv --table counts" "diff --csv --table positions"
view diff.json inference:two_streams "diff --json"

# Several processes together. set: two GPUs, one rank killed; ranks: collectives of NCCL.
view merge "set ranks" "summary --merge"
view merge.json set "summary --merge --json"
view merge.gpu_trace "set ranks" "gpu-trace --merge"
view merge.api_trace.csv ranks "api-trace --merge --csv"
view side_by_side "set ranks" "summary --side-by-side"
view side_by_side.csv set "summary --side-by-side --csv"
view ranks "set ranks" "ranks" "ranks --one-clock --trace"
view ranks.csv ranks "ranks --one-clock --csv" "ranks --one-clock --csv --table ranks" \
    "ranks --one-clock --csv --trace"
view ranks.json ranks "ranks --one-clock --json --trace"
