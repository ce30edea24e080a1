#!/bin/bash
# Takes 9 s.
# MINIPROF_METRICS: values that the software GPU makes from a launch's shape (3, 5 and 2 additions,
# multiplications and fused ones a thread: tests/simgpu/README.md; `steps` launches 32 threads), the
# filters, what stands in the way, and that the program does not notice.
. "$SOURCE/tests/e2e/lib.sh" || exit 1

# metric NAME METRIC: "kernel value" of its rows, in order of time; the values are bits of doubles.
metric() {
    "$miniprof" dump --csv --raw --table metric "$work/$1.mpt" | sed 's/"//g' >"$work/metrics.raw"
    rows "$1" metric | awk -F, '{ print $1 "," $3 }' >"$work/metrics.names"
    local id
    id=$(awk -F, -v name="$2" '$2 == name { print $1 }' "$work/metrics.names")
    rows "$1" metric_value | awk -F, -v id="#$id" '$1 == id { print $4, $3, $6 }' | sort -n |
        python3 -c '
import struct, sys
for line in sys.stdin:
    _, kernel, bits = line.split()
    print(kernel, "%g" % struct.unpack("<d", struct.pack("<Q", int(bits, 16)))[0])'
}

# state NAME METRIC
state() {
    rows "$1" metric | awk -F, -v name="$2" '$3 == name { print $4 }'
}

# again NAME ...: as profile, instead of what that wrote before.
again() {
    rm -f "$work/$1.mpt"
    profile "$@"
}

# note NAME: the counter of kernels with the profiler's times.
note() {
    rows "$1" quality | awk -F, '$1 == "profiled_kernels" { n = $3 } END { print n + 0 }'
}

program=("$steps" init alpha=3 beta=2 sync print=text)
bare plain -- "${program[@]}"

# ---- what needs no range profiler -------------------------------------------------------------
# refused WHAT LINE VAR=VALUE...: no metrics, one line, nothing else changes.
refused() {
    local what=$1 line=$2
    shift 2
    again refused MINIPROF_METRICS=flop_count_sp "$@" -- "${program[@]}"
    unharmed "$what" refused plain 0
    complete "$what" refused
    like "$what: says why and the way out" "^miniprof: [^"$'\n'"]*$line[^"$'\n'"]*\$" \
        "$(said refused)"
    same "$what: kernels with their own times" "alpha 3 beta 2 0" \
        "$(kernels refused) $(note refused)"
}
refused "an old CUPTI" 'no range profiler: use CUDA 12.6 or later' SIMGPU_PROFILER=0
refused "CUPTI of CUDA 12.4" 'no range profiler: use CUDA 12.6 or later' SIMGPU_CUPTI_VERSION=22
refused "a filter that is none" 'MINIPROF_KERNELS: .*: no metrics are collected' \
    MINIPROF_KERNELS='('
refused "devices that are none" 'MINIPROF_DEVICES: .*: no metrics are collected' \
    MINIPROF_DEVICES=x
profile nothing MINIPROF_METRICS=nonsense -- "${program[@]}"
unharmed "names: none is known" nothing plain 0
same "names: none is known: the kernels are there" "alpha 3 beta 2" "$(kernels nothing)"

plays cuptiRangeProfilerEnable || {
    leaves_out "all with values"
    finish
}

# ---- values ----------------------------------------------------------------------------------
three=flop_count_sp,achieved_occupancy,gld_efficiency
profile values MINIPROF_METRICS=$three,gpu__time_duration.sum -- "${program[@]}"
unharmed values values plain 0
complete values values
same "values: 32 * (3 + 5 + 2 * 2) operations for each launch" \
    "alpha 384 alpha 384 alpha 384 beta 384 beta 384" "$(echo $(metric values flop_count_sp))"
same "values: a share of 1" "alpha 0.125" \
    "$(metric values achieved_occupancy | sort -u | head -n 1)"
same "values: a percentage" "beta 25" "$(metric values gld_efficiency | sort -u | tail -n 1)"
same "values: all are exact" "exact" \
    "$(for name in ${three//,/ }; do state values $name; done | sort -u)"
same "values: each kernel has one row" "alpha 3 beta 2" "$(kernels values)"
same "values: whose time is the profiler's" "$(metric values gpu__time_duration.sum)" \
    "$(rows values kernel | sort -t, -k4n | awk -F, '{ print $2, $5 }')"
same "values: which is counted" 5 "$(note values)"
same "values: none has an unknown time" 0 "$(rows values quality | grep -c zero_timestamps)"
same "values: correlation ids are those of the kernels" \
    "$(column values kernel correlation | sort -n)" \
    "$(column values metric_value correlation | sort -nu)"
like "values: every report says so" 'Note: 5 kernels were run again for metrics' \
    "$("$miniprof" summary values.mpt)"

# ---- names -----------------------------------------------------------------------------------
five=half_precision_fu_utilization,cf_issued,flop_cout_sp,sm__none.sum,ipc
profile names MINIPROF_METRICS=$five -- "${program[@]}"
unharmed names names plain 0
same "names: each has its state" "substitute discontinued unknown unavailable exact" \
    "$(echo $(for name in ${five//,/ }; do state names $name; done))"
like "names: a mistaken one is said at once, with the nearest" \
    "there is no metric 'flop_cout_sp': did you mean 'flop_count_sp'" "$(said names)"
same "names: what cannot be had has no values" "" "$(metric names cf_issued)"
profile together MINIPROF_METRICS=flop_count_sp,pcie_total_data_received,ipc,dram_read_bytes \
    -- "${program[@]}"
unharmed "names: one that goes with no others" together plain 0
like "names: one that goes with no others: said" \
    'pcie__read_bytes.sum cannot be counted together with the other metrics: ask for it alone' \
    "$(said together)"
same "names: one that goes with no others: the others are right" "alpha 384 beta 384 unavailable" \
    "$(echo $(metric together flop_count_sp | sort -u) $(state together pcie_total_data_received))"
profile alone MINIPROF_METRICS=pcie_total_data_received -- "${program[@]}"
same "names: one that goes with no others, alone" "exact 5" \
    "$(state alone pcie_total_data_received) $(metric alone pcie_total_data_received | wc -l)"

# ---- which kernels ---------------------------------------------------------------------------
again one MINIPROF_METRICS=flop_count_sp MINIPROF_KERNELS=bet -- "${program[@]}"
same "--kernels: a part of the name" "beta 384 beta 384" "$(echo $(metric one flop_count_sp))"
same "--kernels: the others keep their times" 2 "$(note one)"
again one MINIPROF_METRICS=flop_count_sp MINIPROF_KERNELS=::alpha:2 -- "${program[@]}"
same "--kernels: the second launch" "alpha 384" "$(echo $(metric one flop_count_sp))"
same "--kernels: the second launch, and no other" \
    "$(rows one kernel | sort -t, -k4n | awk -F, '$2 == "alpha" { print $6 }' | sed -n 2p)" \
    "$(column one metric_value correlation | sort -u)"
again one MINIPROF_METRICS=flop_count_sp MINIPROF_KERNELS='1:13::' \
    -- "$steps" init alpha=1 stream=1 beta=2 stream=2 gamma=1 sync print=text
same "--kernels: of one stream" "beta 384 beta 384" "$(echo $(metric one flop_count_sp))"
again one SIMGPU_DEVICES=2 MINIPROF_METRICS=flop_count_sp MINIPROF_DEVICES=1 \
    -- "$steps" init alpha=2 sync device=1 beta=2 sync print=text
same "--devices: one of two" "beta 384 beta 384" "$(echo $(metric one flop_count_sp))"
for mode in auto range; do
    again range MINIPROF_CAPTURE=$mode MINIPROF_METRICS=flop_count_sp \
        -- "$steps" init alpha=4 start beta=2 stop alpha=3 start gamma=1 stop sync print=text
    same "capture ranges, $mode: only what they launch" "beta 384 beta 384 gamma 384" \
        "$(echo $(metric range flop_count_sp))"
    same "capture ranges, $mode: and it is counted" 3 "$(note range)"
    same "capture ranges, $mode: kernels" "beta 2 gamma 1" "$(kernels range)"
done

# ---- several passes --------------------------------------------------------------------------
several=dram_read_bytes,dram_write_bytes,ipc,issued_ipc,sm_efficiency,l2_read_transactions
several+=,branch_efficiency
again passes MINIPROF_LOG=info MINIPROF_METRICS=$several -- "${program[@]}"
like "passes: more than one" 'metrics: [0-9]+ counters in [2-9] passes' "$(cat passes.err)"
same "passes: each kernel has one row" "alpha 3 beta 2" "$(kernels passes)"
same "passes: bytes of 32 threads" "alpha 1024" "$(metric passes dram_read_bytes | head -n 1)"
again passes MINIPROF_METRICS=$several -- "$steps" init alpha=100 sync print=text
same "passes: many launches: all of them, and nothing of the recorder's own" "alpha 100 1 1" \
    "$(kernels passes) $(count passes call ',cuCtxSynchronize,') $(count passes sync ',context_')"
again passes MINIPROF_REPLAY=disabled MINIPROF_METRICS=$several -- "${program[@]}"
unharmed "passes: replay disabled" passes plain 0
like "passes: replay disabled: said" \
    'no metrics: these metrics take [2-9] passes and replay is disabled' "$(said passes)"
same "passes: replay disabled: no values, kernels as ever" "alpha 3 beta 2 0 0" \
    "$(kernels passes) $(count passes metric_value) $(note passes)"
again passes MINIPROF_REPLAY=disabled MINIPROF_METRICS=flop_count_sp -- "${program[@]}"
same "passes: replay disabled, one is enough" 5 "$(metric passes flop_count_sp | wc -l)"

# ---- graphs and captures ---------------------------------------------------------------------
graph=("$steps" init alpha=1 make-graph=0 instantiate=0 launch=0 launch=0 beta=1 sync print=text)
bare graph.bare -- "${graph[@]}"
profile graph MINIPROF_METRICS=flop_count_sp -- "${graph[@]}"
unharmed graph graph graph.bare 0
said="miniprof: kernels in CUDA graphs are not profiled for metrics: run the program without"
same "graph: said once" "$said graphs, or \`ncu --graph-profiling node\`" "$(said graph)"
same "graph: metrics of the launches beside it" "alpha 384 beta 384" \
    "$(echo $(metric graph flop_count_sp))"
capture=("$steps" init stream=1 capture alpha=2 end-capture=0 instantiate=0 launch=0 beta=1 sync
    print=text)
bare capture.bare -- "${capture[@]}"
profile capture MINIPROF_METRICS=flop_count_sp -- "${capture[@]}"
unharmed "a stream capture is not broken" capture capture.bare 0
same "a stream capture: metrics of what runs" "beta 384" "$(echo $(metric capture flop_count_sp))"

# ---- threads, contexts, processes ------------------------------------------------------------
threads=("$inference" --iterations 4 --layers 6 --threads 4 --streams 2)
bare threads.bare -- "${threads[@]}"
profile threads MINIPROF_METRICS=flop_count_sp -- "${threads[@]}"
unharmed threads threads threads.bare 0
same "threads: a value for each kernel" "$(count threads kernel)" \
    "$(column threads metric_value correlation | sort -u | wc -l)"
same "threads: each has its own" 0 "$(metric threads flop_count_sp | awk '$2 % 384' | wc -l)"
leaky profile forked MINIPROF_METRICS=flop_count_sp -- "$steps" init alpha=2 fork sync print=text
same "fork: exit code" 0 "$status"
same "fork: the parent's" "alpha 384 alpha 384" "$(echo $(metric forked flop_count_sp))"

# ---- the end, in the middle of a launch -------------------------------------------------------
# in_a_launch NAME STATUS STEP...: these steps come while a thread is in its launch.
in_a_launch() {
    local name=$1 expected=$2
    shift 2
    rm -f "$work/$name.mpt"
    start "$name" SIMGPU_PROFILER_SLEEP_MS=700 MINIPROF_METRICS=flop_count_sp \
        -- timeout -s KILL 100 "$steps" reset-at-exit init print=text aside=1 profiled "$@"
    wait "$pid"
    same "$name, in a launch: exit code" "$expected" "$?"
    complete "$name, in a launch" "$name"
    same "$name, in a launch: the program's output" text "$(head -n 1 "$work/$name.out")"
}
in_a_launch exit 3 exit=3
in_a_launch thread-exit 4 thread-exit=4
leaky in_a_launch fork 0 fork=0 join
same "fork, in a launch: the child ends" "child: exit 0" "$(tail -n 1 fork.out)"
same "fork, in a launch: the parent's" "alpha 384" "$(metric fork flop_count_sp)"
# timeout(1) ends as its child did, by a signal of its own where that was one.
in_a_launch SIGTERM 143 raise=15
profile timeout SIMGPU_PROFILER_SLEEP_MS=1500 MINIPROF_TIMEOUT=1 MINIPROF_METRICS=flop_count_sp \
    -- "$steps" init alpha=10 sync
same "MINIPROF_TIMEOUT, in a launch: exit code" 143 "$status"
complete "MINIPROF_TIMEOUT, in a launch" timeout

# ---- other settings --------------------------------------------------------------------------
for setting in API=none API=all GPU=off CUDA_GRAPH=graph CONCURRENT_KERNELS=off CAPTURE=all; do
    again other MINIPROF_METRICS=flop_count_sp MINIPROF_$setting -- "${program[@]}"
    unharmed "$setting" other plain 0
    same "$setting: values" "alpha 384 alpha 384 alpha 384 beta 384 beta 384" \
        "$(echo $(metric other flop_count_sp))"
    [ $setting = GPU=off ] && continue
    same "$setting: kernels, with times" "alpha 3 beta 2 5 0" \
        "$(kernels other) $(note other) $(rows other quality | grep -c zero_timestamps)"
done
again other MINIPROF_METRICS=flop_count_sp MINIPROF_API=all -- "${program[@]}"
same "API=all: no call of the recorder's own" "" \
    "$(tally other call function | grep cuCtxGetDevice)"
again other MINIPROF_API=none MINIPROF_METRICS=flop_count_sp -- "${graph[@]}"
same "API=none: a graph is said to have no metrics" \
    "$said graphs, or \`ncu --graph-profiling node\`" "$(said other)"

# ---- what stands in the way ------------------------------------------------------------------
refused "no permission" 'NVreg_RestrictProfilingToAdminUsers=0' SIMGPU_PROFILER_ENABLE_ERROR=35
refused "a vGPU" 'vGPU.*enable_profiling=1' SIMGPU_PROFILER_ENABLE_ERROR=33
refused "a vGPU without profiling" 'vGPU.*enable_profiling=1' \
    SIMGPU_PROFILER_UNSUPPORTED=vgpu_disabled
refused "a vGPU without permission" 'vGPU.*enable_profiling=1' \
    SIMGPU_PROFILER_ENABLE_ERROR=40
refused "MIG" 'MIG slice: use a whole GPU' SIMGPU_PROFILER_ENABLE_ERROR=43
refused "another holder" 'another program holds.*dcgmi profile --pause' \
    SIMGPU_PROFILER_START_ERROR=26
refused "confidential computing" 'confidential computing' \
    SIMGPU_PROFILER_UNSUPPORTED=confidential
refused "an old GPU" 'older than compute capability 7.0' \
    SIMGPU_PROFILER_UNSUPPORTED=architecture
refused "SLI" 'SLI is on' SIMGPU_PROFILER_UNSUPPORTED=sli
refused "a mining GPU" 'mining GPU' SIMGPU_PROFILER_UNSUPPORTED=cmp
refused "WSL" 'WSL' SIMGPU_PROFILER_UNSUPPORTED=wsl
refused "an unknown chip" 'does not know this chip' SIMGPU_PROFILER_CHIP=XX100

# ---- the query -------------------------------------------------------------------------------
query=$("$miniprof" metrics --query 2>query.err)
same "query: exit code" "0 " "$? $(cat query.err)"
like "query: the device" 'Device 0 \(SimGPU\):' "$query"
like "query: a metric and its words" 'achieved_occupancy:  Achieved Occupancy' "$query"
check "query: also below a recorded process that wants no others recorded" \
    env MINIPROF_CHILDREN=off MINIPROF_PARENT=1 "$miniprof" metrics --query
same "query: no file stays" "" "$(ls "$work" | grep query.mpt)"
finish
