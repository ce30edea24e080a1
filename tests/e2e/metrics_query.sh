#!/bin/bash
# miniprof metrics --query: what the software GPU has, asked in a process of its own. Its metrics
# are those of GH100 (tests/simgpu/cupti_profiler_metrics.def).
. "$SOURCE/tests/e2e/lib.sh" || exit 1

mkdir temporary
export TMPDIR=$work/temporary

nothing_left() {
    same "nothing is left behind" "" "$(ls "$TMPDIR")"
}

query() { # NAME OPTION...
    local name=$1
    shift
    "$miniprof" metrics --query "$@" >"$work/$name.out" 2>"$work/$name.err"
    status=$?
    same "$name: quiet" "" "$(cat "$work/$name.err")"
}

"$miniprof" metrics --query --devices 5 >other.out 2>other.err
same "no such device: exit code" 3 $?
like "no such device: said" 'no GPU could be asked for its metrics' "$(cat other.err)"
same "no such device: nothing printed" "" "$(cat other.out)"

: >libcuda.so.1 # no library: a driver of this machine is not found either
LD_LIBRARY_PATH=$work "$miniprof" nvprof --query-metrics >nodriver.out 2>nodriver.err
same "no driver: nvprof's exit code" 23 $?
like "no driver: said" '^======== Error: there is no CUDA driver' "$(cat nodriver.err)"

plays cuptiRangeProfilerEnable || {
    nothing_left
    leaves_out "what a GPU has"
    finish
}

query metrics
same "metrics: exit code" 0 "$status"
same "metrics: title" "Available Metrics:" "$(head -n 1 metrics.out)"
same "metrics: all of nvprof's" 181 "$(grep -cE '^ *[a-z0-9_]+:  ' metrics.out)"
same "metrics: device" "Device 0 (SimGPU):" "$(grep ^Device metrics.out)"
same "metrics: an exact one" "              achieved_occupancy:  Achieved Occupancy" \
    "$(grep -A 1 ' achieved_occupancy:' metrics.out)"
like "metrics: a substitute" 'measured as l1tex__m_xbar2l1tex_read_bytes_mem_lg_op_ld.sum \(' \
    "$(grep -A 1 ' l2_global_load_bytes:' metrics.out)"
like "metrics: one of the past" "nvprof's metric has no counterpart today" \
    "$(grep -A 1 ' flop_count_sp_special:' metrics.out)"

query events --events
same "events: title" "Available Events:" "$(head -n 1 events.out)"
same "events: all of nvprof's" 82 "$(grep -cE '^ *[a-z0-9_]+:  ' events.out)"

query raw --raw
same "raw: exit code" 0 "$status"
same "raw: one of them" 1 "$(grep -c '^dram__bytes_read$' raw.out)"
same "raw: no other" 0 "$(sed 1,2d raw.out | grep -vc __)"

query json --json --devices 0
same "json: a document" "181 exact ratio" "$(python3 -c '
import json
metrics = json.load(open("json.out"))["metrics"]
print(len(metrics), metrics[0]["state"], metrics[0]["unit"])')"

"$miniprof" nvprof --query-metrics --devices 0 >nvprof.out 2>nvprof.err
same "nvprof: exit code" 0 $?
same "nvprof: the same list" "$(cat metrics.out)" "$(cat nvprof.out nvprof.err)"

# refused WHY SETTING: a GPU that cannot be asked, and what is said of it.
refused() {
    env "$2" "$miniprof" metrics --query >refused.out 2>refused.err
    same "$2: exit code" 3 $?
    like "$2: said" "no GPU could be asked for its metrics: miniprof: device 0: $1" \
        "$(cat refused.err)"
    same "$2: nothing printed" "" "$(cat refused.out)"
}

refused "this CUPTI has no range profiler" SIMGPU_PROFILER=0
refused "counters are not enabled for this vGPU" SIMGPU_PROFILER_UNSUPPORTED=vgpu_disabled
refused "CUPTI does not know this chip" SIMGPU_PROFILER_CHIP=GX999

nothing_left
finish
