#!/bin/bash
# Takes 50 s.
# Golden files: what the command prints of each trace in tests/data against the committed texts
# NAME.*.txt here; and of each folder there, whose traces are those of one job, what it prints of
# them together. computed.sh says whether it is true.
#
#   run.sh            compares
#   run.sh --update   rewrites the texts; look at the difference before you commit it
#
# GOLDEN_DATA and GOLDEN_TEXTS name other folders than tests/data and tests/golden.
. "$(dirname "$0")/lib.sh"

texts=${GOLDEN_TEXTS:-$source/tests/golden}
update=
[ "${1:-}" = --update ] && update=1

# The views. A trace that is not whole makes for exit code 1 and a line on stderr: both are kept.
view_summary() {
    "$miniprof" summary "$1" 2>&1
}

view_summary_csv() {
    "$miniprof" summary --csv "$1" 2>&1
}

view_summary_json() {
    "$miniprof" summary --json "$1" 2>&1
}

view_summary_gpu() {
    "$miniprof" summary --gpu "$1" 2>&1
}

view_summary_api() {
    "$miniprof" summary --api "$1" 2>&1
}

view_summary_per_gpu() {
    "$miniprof" summary --per-gpu "$1" 2>&1
}

# Of long ones "LINES SHA256", then those that begin it.
shortened() {
    if [ "$(wc -l <"$work/rows")" -gt 200 ]; then
        echo "$(wc -l <"$work/rows") $(sha256sum <"$work/rows" | cut -d' ' -f1)"
        head -n 80 "$work/rows"
    else
        cat "$work/rows"
    fi
}

view_nvtx() {
    "$miniprof" nvtx "$1" >"$work/rows" 2>&1
    shortened
}

view_nvtx_csv() {
    "$miniprof" nvtx --csv "$1" >"$work/rows" 2>&1
    shortened
}

# tables_of COMMAND TRACE TABLE...: the other tables of a report as CSV.
tables_of() {
    local command=$1 trace=$2 table
    shift 2
    for table; do
        "$miniprof" $command --csv --table "$table" "$trace" 2>&1
    done
}

view_layers() {
    "$miniprof" layers "$1" >"$work/rows" 2>&1
    shortened
    "$miniprof" layers --tree --kernels "$1" >"$work/rows" 2>&1
    shortened
}

view_layers_csv() {
    "$miniprof" layers --csv "$1" >"$work/rows" 2>&1
    shortened
    tables_of layers "$1" types precisions marks
}

view_layers_json() {
    lines_of layers --json --top 20 "$1"
}

view_layers_positions() {
    "$miniprof" layers --by-position "$1" >"$work/rows" 2>&1
    shortened
}

view_info_json() {
    "$miniprof" info --json "$1" 2>&1
}

# "TABLE LINES SHA256" of its CSV.
view_dump() {
    local table
    for table in $("$miniprof" info --json "$1" | sed -n 's/.*{"table": "\([a-z_]*\)".*/\1/p'); do
        "$miniprof" dump --csv --table "$table" "$1" >"$work/rows" || echo "$table: exit code $?"
        echo "$table $(grep -c . "$work/rows") $(sha256sum <"$work/rows" | cut -d' ' -f1)"
    done
}

view_deps() {
    "$miniprof" deps "$1" 2>&1
    "$miniprof" deps --parts --gains 5 "$1" 2>&1
}

view_deps_csv() {
    "$miniprof" deps --csv --parts "$1" 2>&1
    tables_of "deps --parts" "$1" latencies
}

view_deps_json() {
    "$miniprof" deps --json "$1" 2>&1
}

# "LINES SHA256" of all activities, then those that begin it.
view_deps_trace() {
    "$miniprof" deps --trace "$1" >"$work/rows" 2>&1
    echo "$(wc -l <"$work/rows") $(sha256sum <"$work/rows" | cut -d' ' -f1)"
    head -n 60 "$work/rows"
}

# By the iterations that the program marks, if it does.
view_deps_iterations() {
    local name
    for name in iteration step; do
        "$miniprof" deps --parts --iterations $name --slowest 2 "$1" >"$work/rows" 2>/dev/null &&
            cat "$work/rows"
    done
    return 0
}

# The same of the traces.
lines_of() {
    "$miniprof" "$@" >"$work/rows" 2>&1
    echo "$(wc -l <"$work/rows") $(sha256sum <"$work/rows" | cut -d' ' -f1)"
    head -n 60 "$work/rows"
}

view_gpu_trace() {
    lines_of gpu-trace "$1"
}

view_gpu_trace_csv() {
    lines_of gpu-trace --csv "$1"
}

view_api_trace() {
    lines_of api-trace "$1"
}

view_api_trace_csv() {
    lines_of api-trace --csv "$1"
}

view_traces_both() {
    lines_of gpu-trace --with-api "$1"
}

view_kernels() {
    "$miniprof" kernels "$1" 2>&1
}

view_kernels_by_name() {
    "$miniprof" kernels --by-name "$1" 2>&1
}

view_kernels_csv() {
    "$miniprof" kernels --csv "$1" 2>&1
}

view_kernels_json() {
    "$miniprof" kernels --json "$1" >"$work/rows" 2>&1
    shortened
}

view_overlap() {
    "$miniprof" overlap "$1" 2>&1
}

view_overlap_csv() {
    "$miniprof" overlap --csv "$1" 2>&1
    tables_of overlap "$1" kernels streams
}

view_overlap_json() {
    "$miniprof" overlap --json "$1" 2>&1
}

# By what there is, then by each way, and one by one.
view_iters() {
    local way
    "$miniprof" iters "$1" 2>&1
    for way in range graph kernels; do
        "$miniprof" iters --iterations $way "$1" 2>&1
    done
    lines_of iters --each "$1"
}

view_iters_csv() {
    "$miniprof" iters --csv "$1" 2>&1
    tables_of iters "$1" counts outliers threads
    lines_of iters --csv --each "$1"
}

view_iters_json() {
    lines_of iters --json --each "$1"
}

view_advise() {
    "$miniprof" advise "$1" 2>&1
}

view_advise_csv() {
    "$miniprof" advise --csv "$1" 2>&1
    "$miniprof" advise --csv --iterations kernels "$1" 2>&1
}

view_advise_json() {
    "$miniprof" advise --json "$1" 2>&1
}

# nvprof's command line: sections, prefixes and its spelling of names.
view_metrics() {
    "$miniprof" metrics "$1" 2>&1
}

view_metrics_csv() {
    "$miniprof" metrics --csv "$1" 2>&1
}

# The launches of the first kernels, one by one.
view_metrics_each() {
    "$miniprof" metrics --each "$1" 2>&1 | head -n 60
}

view_nvprof() {
    lines_of -i "$1"
}

view_nvprof_csv() {
    lines_of -i "$1" --csv --print-gpu-summary --dependency-analysis
}

view_nvprof_traces() {
    lines_of -i "$1" --print-gpu-trace --print-api-trace --context-name 'c%i' --stream-name 's%i%%'
}

view_nvprof_memory() {
    lines_of -i "$1" --track-memory-allocations on --print-api-summary --csv
}

# Everything that stands below a summary, and the other summaries.
view_nvprof_default_csv() {
    lines_of -i "$1" --csv
}

view_nvprof_summaries() {
    lines_of -i "$1" --print-gpu-summary --print-api-summary --print-summary-per-gpu
    lines_of -i "$1" --print-summary-per-gpu --csv -u us
}

view_nvprof_deps_csv() {
    lines_of -i "$1" --print-dependency-analysis-trace --csv
}

view_nvprof_deps() {
    lines_of -i "$1" --print-dependency-analysis-trace -u us
}

view_memory() {
    "$miniprof" memory "$1" 2>&1
    "$miniprof" memory --points 3 "$1" 2>&1
}

view_memory_csv() {
    "$miniprof" memory --csv "$1" 2>&1
    tables_of memory "$1" peaks pools not_freed churn
    "$miniprof" memory --csv --timeline "$1" 2>&1
}

view_memory_json() {
    "$miniprof" memory --json "$1" 2>&1
}

# By the iterations that the program marks, if it does.
view_memory_iterations() {
    local name
    for name in iteration step; do
        "$miniprof" memory --iterations $name "$1" >"$work/rows" 2>/dev/null && cat "$work/rows"
    done
    return 0
}

view_report() {
    "$miniprof" report "$1" 2>&1
}

view_report_markdown() {
    "$miniprof" report --markdown "$1" 2>&1
}

view_report_json() {
    "$miniprof" report --json "$1" 2>&1
}

# Of several processes.
view_set_merge() {
    "$miniprof" summary --merge "$1" 2>&1
}

view_set_merge_json() {
    "$miniprof" summary --merge --json "$1" 2>&1
}

view_set_side_by_side() {
    "$miniprof" summary --side-by-side "$1" 2>&1
}

view_set_side_by_side_csv() {
    "$miniprof" summary --side-by-side --csv "$1" 2>&1
}

view_set_report() {
    view_report "$1"
}

view_set_info() {
    "$miniprof" info "$1" 2>&1
}

view_set_info_json() {
    "$miniprof" info --json "$1" 2>&1
}

view_set_gpu_trace() {
    lines_of gpu-trace --merge "$1"
}

view_set_api_trace_csv() {
    lines_of api-trace --merge --csv "$1"
}

# Who waits for whom, with the clocks as the traces have them and as of one host.
view_set_ranks() {
    "$miniprof" ranks "$1" 2>&1
    "$miniprof" ranks --one-clock --trace "$1" 2>&1
}

view_set_ranks_csv() {
    "$miniprof" ranks --one-clock --csv "$1" 2>&1
    tables_of "ranks --one-clock" "$1" ranks
    "$miniprof" ranks --one-clock --csv --trace "$1" 2>&1
}

view_set_ranks_json() {
    "$miniprof" ranks --one-clock --json --trace "$1" 2>&1
}

# The ranks of a job with NCCL, joined.
view_set_job_deps() {
    "$miniprof" deps --parts "$1" 2>&1
}

view_set_job_deps_json() {
    "$miniprof" deps --json --trace "$1" >"$work/rows" 2>&1
    shortened
}

# Of a trace and $other.
view_report_both() {
    "$miniprof" report "$1" "$other" 2>&1
}

view_diff() {
    "$miniprof" diff --positions "$1" "$other" >"$work/rows" 2>&1
    shortened
}

view_diff_csv() {
    local table
    "$miniprof" diff --csv --shapes "$1" "$other" >"$work/rows" 2>&1
    shortened
    for table in latency times counts positions layers; do
        "$miniprof" diff --csv --table $table "$1" "$other" >"$work/rows" 2>&1
        shortened
    done
}

view_diff_json() {
    "$miniprof" diff --json "$1" "$other" >"$work/rows" 2>&1
    shortened
}

# compare_view NAME VIEW FILE: or writes its text anew.
compare_view() {
    local stem=${2#set_} text code
    [ "$stem" != "$2" ] || stem=${2/_/.}
    text=$texts/$1.$stem.txt
    "view_$2" "$3" >"$work/actual"
    code=$?
    [ $code -eq 0 ] || echo "exit code $code" >>"$work/actual"
    if [ -n "$update" ]; then
        cmp -s "$work/actual" "$text" || { cp "$work/actual" "$text"; echo "wrote $text"; }
        return
    fi
    diff "$text" "$work/actual" >"$work/log" 2>&1
    verdict $? "$1: $2 is as committed"
}

for trace in "${traces[@]}"; do
    name=$(basename "$trace" .mpt)
    for view in summary summary_csv summary_json summary_gpu summary_api summary_per_gpu nvtx \
        nvtx_csv layers layers_csv layers_json layers_positions \
        info_json dump deps deps_csv deps_json deps_trace \
        deps_iterations gpu_trace gpu_trace_csv api_trace api_trace_csv traces_both \
        iters iters_csv iters_json advise advise_csv advise_json \
        nvprof nvprof_csv nvprof_traces nvprof_deps nvprof_memory \
        nvprof_default_csv nvprof_summaries nvprof_deps_csv metrics metrics_csv \
        metrics_each memory memory_csv memory_json memory_iterations \
        kernels kernels_by_name kernels_csv kernels_json overlap overlap_csv overlap_json; do
        compare_view "$name" $view "$name.mpt"
    done
done

# Digests, also of programs of the zoo.
for path in resnet50_eager resnet50_graph inference zoo/server zoo/cupy_streams; do
    [ -e "$path.mpt" ] || continue
    for view in report report_markdown report_json; do
        compare_view "$(basename $path)" $view "$path.mpt"
    done
done

for folder in "${sets[@]}"; do
    name=$(basename "$folder")
    for view in set_merge set_merge_json set_side_by_side set_side_by_side_csv set_report set_info \
        set_info_json set_gpu_trace set_api_trace_csv set_ranks set_ranks_csv set_ranks_json; do
        compare_view "$name" $view "$name"
    done
done
[ ! -d ranks ] || for view in set_job_deps set_job_deps_json; do
    compare_view ranks $view ranks
done

for pair in $pairs; do
    name=${pair%:*}
    other=${pair#*:}.mpt
    [ -e "$name.mpt" ] || continue
    for view in report_both diff diff_csv diff_json; do
        compare_view "$name" $view "$name.mpt"
    done
done

# A text whose trace is gone would never be looked at again.
for text in "$texts"/*.txt; do
    name=$(basename "$text")
    [ -e "$data/${name%%.*}.mpt" ] || [ -d "$data/${name%%.*}" ] ||
        [ -e "$data/zoo/${name%%.*}.mpt" ] || echo "no trace for $text"
done >"$work/log"
[ ! -s "$work/log" ]
verdict $? "each committed text has its trace"
finish
