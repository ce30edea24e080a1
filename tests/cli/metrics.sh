#!/bin/bash
# miniprof metrics: the numbers of known_metrics.h in nvprof's layout, and what is said of metrics
# that are not what their names say.
. "$SOURCE/tests/tools/cli.sh" || exit 1

# No driver may be found for --query, and none of this machine's devices asked.
nowhere=$folder/nowhere
mkdir "$nowhere"

trace metrics
run metrics metrics.mpt
code 0
quiet
stdout <"$expected/metrics.txt"

run metrics --csv metrics.mpt
code 0
stdout <"$expected/metrics_csv.txt"

# nvprof's own form of it.
run -i metrics.mpt --csv
sed -n '/Event result/,$p' .stderr >.part && mv .part .stderr
stderr <"$expected/nvprof_metrics_csv.txt"

run metrics --each metrics.mpt
code 0
stdout <"$expected/metrics_each.txt"

run metrics --each --csv --demangling off --kernels '^gemm$' metrics.mpt
code 0
stdout_like <<'END'
start_ns,device_name,context,stream,correlation,kernel,metric,unit,value
[0-9]*,"Tested GPU (0)",1,13,503,"_Z4gemm*","achieved_occupancy","ratio",0.125000
*,"gld_throughput","bytes_per_second",1000.000000
*,"gld_efficiency","percent",
*,"inst_executed","count",123456789012.000000
*
*
*
END
stderr_like <<'END'
==4242== l2_global_load_bytes: *
==4242== nvlink_receive_throughput: *
==4242== flop_count_sp_special: *
==4242== achieved_ocupancy: *
END

run metrics --json --each metrics.mpt
code 0
json 'd["pid"] == 4242 and d["quality"]["whole"] is True and len(d["metrics"]) == 12'
json '[m["state"] for m in d["metrics"]][4:8] ==
    ["substitute", "exact", "exact", "unavailable"]'
json '[m["state"] for m in d["metrics"]][8:10] == ["discontinued", "unknown"]'
json 'd["metrics"][4]["note"].startswith("measured as l1tex__m_xbar2l1tex_read_bytes_mem_lg")'
json 'd["metrics"][5]["event"] is True and d["metrics"][0]["note"] is None'
json '[(k["device"], k["name"].split("(")[0]) for k in d["kernels"]] ==
    [(0, "vecAdd"), (0, "void gemm<128>"), (1, "vecAdd")]'
json 'd["kernels"][0]["metrics"][0] == {"name": "achieved_occupancy", "invocations": 3,
    "values": 3, "min": 0.25, "max": 0.75, "mean": 0.5, "total": 1.5}'
json 'd["kernels"][1]["metrics"][2] == {"name": "gld_efficiency", "invocations": 1,
    "values": 0, "min": None, "max": None, "mean": None, "total": None}'
json '[e["correlation"] for e in d["executions"]] == [501, 502, 503, 504, 505]'
json '[e["invocation"] for e in d["executions"]] == [1, 2, 1, 3, 4]'
json 'd["executions"][2]["metrics"]["inst_executed"] == 123456789012'
json 'd["executions"][4]["context"] == 2 and d["executions"][4]["stream"] == 7'

# The second and third vecAdd of device 0's context.
run metrics --json --kernels '1:13:vecAdd:2|3' metrics.mpt
code 0
json 'len(d["kernels"]) == 1 and "executions" not in d'
json 'd["kernels"][0]["metrics"][0]["min"] == 0.5'
json 'd["kernels"][0]["metrics"][0]["invocations"] == 2'

run metrics --kernels nothing metrics.mpt
code 0
stdout_like <<'END'
==4242== Profiling application: ./infer --batch 1
==4242== Metric result:
No kernels were profiled.
==4242== l2_global_load_bytes: *
==4242== nvlink_receive_throughput: *
==4242== flop_count_sp_special: *
==4242== achieved_ocupancy: *
END

# Range 2 holds what was launched with the correlation ids from 200 to 299.
run metrics --range 2 metrics.mpt
code 0
stdout_like <<'END'
==4242== Profiling application: ./infer --batch 1
==4242== Capture range 2 of 2
==4242== Metric result:
No kernels were profiled.
==4242== l2_global_load_bytes: *
==4242== nvlink_receive_throughput: *
==4242== flop_count_sp_special: *
==4242== achieved_ocupancy: *
END

trace metrics-none
run metrics metrics-none.mpt
code 0
stdout <<'END'
==4242== Profiling application: ./infer --batch 1
==4242== Metric result:
No kernels were profiled.
END

run metrics --each metrics-none.mpt
code 0
stdout <<'END'
==4242== Profiling application: ./infer --batch 1
==4242== Metric result:
No kernels were profiled.
END

trace plain
run metrics plain.mpt
code 0
stdout <<'END'
==4242== Profiling application: ./infer --batch 1
==4242== No metrics were asked for.
END

run metrics --json plain.mpt
code 0
json 'd["metrics"] == [] and d["kernels"] == []'

# ---- Wrong use ----

run metrics
code 2
stderr <<'END'
miniprof metrics: which trace? 'miniprof metrics TRACE.mpt', or --query for what the GPUs have
END

run metrics --kernels 'vec(' metrics.mpt
code 2
stderr_like <<'END'
miniprof metrics: the name 'vec(' of the kernel filter is no regular expression: *
END

run metrics --range 9 metrics.mpt
code 2
stderr_like <<'END'
miniprof metrics: 'metrics.mpt': there is no capture range 9; the trace has 2
END

run metrics --devices 0 metrics.mpt
code 2
stderr <<'END'
miniprof metrics: --events, --raw, --sampling, --devices and --library need --query
END

run metrics --query metrics.mpt
code 2
stderr <<'END'
miniprof metrics: --query takes no trace
END

run metrics --query --each
code 2
stderr <<'END'
miniprof metrics: --query goes with none of --each, --kernels and --range
END

run metrics --query --events --raw
code 2
stderr <<'END'
miniprof metrics: --events, --raw and --sampling are several lists; ask for one
END

run metrics --query --devices 0,x
code 2
stderr <<'END'
miniprof metrics: 'x' is no device: give 'all' or ordinals from 0 to 63, as in 0,2
END

run metrics --query --library "$nowhere/libminiprof.so"
code 3
stderr <<END
miniprof metrics: cannot find $nowhere/libminiprof.so
END

run metrics nowhere.mpt
code 3
stderr_like <<'END'
miniprof metrics: cannot open 'nowhere.mpt'*
END

# A driver that is none: the child cannot load it.
: >"$nowhere/libcuda.so.1"
: >"$nowhere/libminiprof.so"
LD_LIBRARY_PATH=$nowhere run metrics --query --library "$nowhere/libminiprof.so"
code 3
stderr <<'END'
miniprof metrics: there is no CUDA driver, or no GPU that it can use
END

finish
