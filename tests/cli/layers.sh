#!/bin/bash
# miniprof layers: the ranges of known_layers.h; the numbers are worked out from the table there.
. "$SOURCE/tests/tools/cli.sh" || exit 1

trace layers
run layers layers.mpt
code 0
quiet
stdout <"$expected/layers.txt"

run layers --tree --all --kernels layers.mpt
code 0
stdout <"$expected/layers_tree.txt"

run layers --csv layers.mpt
code 0
stdout <"$expected/layers_csv.txt"
for table in types precisions marks; do
    run layers --csv --table $table layers.mpt
    code 0
    cat .stdout
done >.tables
mv .tables .stdout
stdout <<'END'
percent,total_ns,layers,calls,layer_type
84.602369,150000,1,3,"CaskConvolution"
8.460237,15000,1,3,"Reformat"
percent,total_ns,layers,calls,precision
84.602369,150000,1,3,"FP16"
8.460237,15000,1,3,"FP32"
percent,total_ns,layers,calls,mark
8.460237,15000,1,3,"reformat"
3.384095,6000,1,3,"copy"
END

# An iteration has 58000, 59000 and 60000 ns; 9000, 8000 and 7000 ns behind it comes the kernel
# without a range. Between iterations alone it is 929000 and 928000 (below).
run layers --json layers.mpt
code 0
json 'd["pid"] == 4242 and d["quality"]["whole"] and d["by"] == "nvtx" and not d["no_calls"]'
json 'd["device_ns"] == 177300 and d["activities"] == 15 and d["unlaunched"] == 0'
json 'd["unfinished"] == 2 and d["iterations"] is None and d["layer_count"] == 6'
json '[(l["name"], l["domain"], l["parent"], l["total_ns"], l["self_ns"], l["calls"])
       for l in d["layers"]] ==
      [("iteration", None, None, 177000, 0, 3), ("conv1", None, 0, 150000, 150000, 3),
       ("out 0", None, 0, 15000, 15000, 3), ("input copy", None, 0, 6000, 6000, 3),
       ("<b>\u001b[31m", "<lib>", 0, 6000, 6000, 3), (None, None, None, 300, 300, 0)]'
json '[(d["layers"][0][k + "_ns"]) for k in ("mean", "p50", "p99", "min", "max")] ==
      [59000, 59000, 60000, 58000, 60000]'
json 'sum(l["self_ns"] for l in d["layers"]) == d["device_ns"]'
json '(d["layers"][0]["launches"], d["layers"][0]["launch_ns"]) == (12, 3 * 14000)'
json '(d["layers"][0]["gaps"], d["layers"][0]["gap_ns"]) == (3, 9000 + 8000 + 7000)'
json 'd["layers"][5]["mean_ns"] is None and d["layers"][5]["kernels_per_call"] is None'
json '[d["layers"][1][k] for k in ("layer_type", "precision", "dimensions", "input_dimensions",
      "tactic", "mark")] == ["CaskConvolution", "FP16", "1x64x112x112", "1x3x224x224",
      "sm80_xmma_fprop", None]'
json '[(g["name"], g["calls"], g["total_ns"]) for g in d["layer_types"] + d["precisions"]] ==
      [("CaskConvolution", 3, 150000), ("Reformat", 3, 15000), ("FP16", 3, 150000),
       ("FP32", 3, 15000)]'
json '[(g["name"], g["total_ns"]) for g in d["marks"]] == [("reformat", 15000), ("copy", 6000)]'
json '[(w["short_name"], w["calls"], w["total_ns"], w["self_ns"])
       for w in d["layers"][0]["work"]] ==
      [("gemm", 3, 150000, 0), ("vecAdd", 6, 21000, 0), ("[CUDA memcpy HtoD]", 3, 6000, 0)]'

run layers --iteration iteration --top 2 --json layers.mpt
code 0
json 'd["iterations"] == 3 and d["device_ns"] == 177000 and len(d["layers"]) == 2'
json 'd["layers"][0]["percent"] == 100 and d["layer_count"] == 5'

run layers --iteration iteration --top 2 -u us layers.mpt
code 0
stdout_like <<'END'
==4242== Profiling application: ./infer --batch 1
==4242== Layers: device time by the NVTX ranges that launched it, in 3 iterations "iteration".
Time(%) *
 *us *
  100.0     177.0     0.000 * 14.00     928.5  iteration
  84.75     150.0     150.0 * iteration > conv1

Time(%) * Layer type
 *us
  84.75 * CaskConvolution
   8.47 * Reformat

Time(%) * Precision
 *us
  84.75 * FP16
   8.47 * FP32

Time(%) * Mark
 *us
   8.47 * reformat
   3.39 * copy
==4242== 2 of 5 layers are shown.
==4242== 2 of the ranges have no end.
END

run layers --iteration that layers.mpt
code 2
stdout </dev/null
stderr < <(echo "miniprof layers: 'layers.mpt': no NVTX range is called 'that'; there are for" \
    "example 'iteration', 'conv1', 'out 0', 'input copy', 'idle'")

run layers --domain '<lib>' --json layers.mpt
code 0
json '[(l["name"], l["total_ns"]) for l in d["layers"]] ==
      [(None, 171300), ("<b>\u001b[31m", 6000)]'
run layers --domain= --json layers.mpt
json '[l["name"] for l in d["layers"]] ==
      ["iteration", "conv1", "out 0", "input copy", None]'
json 'd["layers"][0]["self_ns"] == 6000 and d["domain"] == ""'
run layers --merge-numbers --json layers.mpt
json '[l["name"] for l in d["layers"]][:3] == ["iteration", "conv1", "out 0"]'

run layers --domain nosuch layers.mpt
code 2
stdout </dev/null
stderr < <(echo "miniprof layers: 'layers.mpt': no NVTX range is of the domain 'nosuch'; there" \
    "are for example '' (the default one), '<lib>'")

# Without API calls there are kernels alone: rounds of gemm and three times vecAdd.
run layers --by-position layers.mpt
code 0
stdout <<'END'
==4242== Profiling application: ./infer --batch 1
==4242== Kernels by position: 3 rounds of 4 kernels, from kernel 1 on.
Time(%)     Total  Calls       Avg       P50       P99  Position  Kernel
 87.57%   150.0us      3   50.00us   50.00us   50.00us         1  gemm
  8.76%   15.00us      3   5.000us   5.000us   5.000us         2  vecAdd
  3.50%   6.000us      3   2.000us   2.000us   3.000us         3  vecAdd
  0.18%     300ns      3     100ns     100ns     100ns         4  vecAdd
END

trace layers-no-calls
run layers --top 1 layers-no-calls.mpt
code 0
stdout_like <<'END'
==4242== Profiling application: ./infer --batch 1
==4242== No API calls in the trace: what the NVTX ranges launched is not known; kernels by *.
==4242== Kernels by position: 3 rounds of 4 kernels, from kernel 1 on.
Time(%)     Total  Calls       Avg       P50       P99  Position  Kernel
 87.57%   150.0us      3   50.00us   50.00us   50.00us         1  gemm
END
run layers --top 2 --json layers-no-calls.mpt
json '[row["position"] for row in d["positions"]] == [1, 2] and d["round_kernels"] == 4'
run layers --json layers-no-calls.mpt
json 'd["by"] == "position" and d["no_calls"] and d["has_ranges"] and d["rounds"] == 3'
json '[(p["position"], p["total_ns"], p["p99_ns"]) for p in d["positions"]] ==
      [(1, 150000, 50000), (2, 15000, 5000), (3, 6000, 3000), (4, 300, 100)]'
run layers --iteration iteration layers-no-calls.mpt
code 2
stderr < <(echo "miniprof layers: 'layers-no-calls.mpt': no API calls in the trace: what was" \
    "launched in 'iteration' is not known")

trace plain
run layers plain.mpt
code 0
stdout <<'END'
==4242== Profiling application: ./infer --batch 1
==4242== No NVTX ranges in the trace: kernels by position instead of layers.
==4242== Kernels by position: no sequence of at least half of them repeats itself three times.
Time(%)     Total  Calls       Avg       P50       P99  Position  Kernel
 100.0%   1.295ms      4         -         -         -         -  <others>
END
run layers --json plain.mpt
json 'd["by"] == "position" and not d["has_ranges"] and d["round_kernels"] == 0'
json 'd["other_kernels"] == d["kernels"] == 4 and d["other_ns"] == 1294567'
run layers --iteration step plain.mpt
code 2
stderr <<'END'
miniprof layers: 'plain.mpt': no NVTX range is called 'step'
END

for kind in empty calls; do
    trace $kind
    run layers $kind.mpt
    code 0
    stdout <<'END'
==4242== Profiling application: ./infer --batch 1
==4242== No NVTX ranges in the trace: kernels by position instead of layers.
==4242== Kernels by position:
No kernels were profiled.
END
    for format in --json --csv; do
        run layers $format $kind.mpt
        code 0
    done
done

# Of a capture range what was launched in it: one of its kernels runs while the next one is on.
trace nvtx
run layers --range 1 --json nvtx.mpt
code 0
json 'd["ranges"] == 2 and d["range"] == 1'
json '[(l["name"], l["total_ns"], l["self_ns"]) for l in d["layers"]] ==
      [("step", 41000, 40000), ("load", 1000, 1000)]'
run layers --range 9 nvtx.mpt
code 2
stderr <<'END'
miniprof layers: 'nvtx.mpt': there is no capture range 9; the trace has 2
END

run layers --tree --top 3 layers.mpt
code 2
stderr <<'END'
miniprof layers: --top does not go with --tree
END
run layers --by-position --tree layers.mpt
code 2
stderr <<'END'
miniprof layers: --by-position goes with none of --tree, --iterations, --domain and --merge-numbers
END
run layers
code 2
stderr <<'END'
miniprof layers: which trace? 'miniprof layers TRACE.mpt'
END
run layers --help
code 0
awk 'length > 79 { print; long = 1 } END { exit long }' .stdout
verdict "lines that fit a terminal" $?
run layers nothing.mpt
code 3

# Several traces, one report each; one that is not whole says so first, and makes for exit code 1.
trace dropped
run layers layers.mpt dropped.mpt
code 1
[ "$(grep -c 'Profiling application' .stdout)" = 2 ]
verdict "two reports" $?
grep -q '^==4242== Warning: 12 records were dropped' .stdout
verdict "a warning" $?

# Wherever the file is cut or changed, something is said of what is left.
size=$(stat -c %s layers.mpt)
for ((at = 200; at < size; at += 61)); do
    head -c $at layers.mpt >cut.mpt
    run layers cut.mpt
    [ "$got" -le 3 ] || verdict "cut at $at" 1
    cp layers.mpt changed.mpt
    printf '\xa5' | dd of=changed.mpt bs=1 seek=$at conv=notrunc 2>/dev/null
    run layers --json changed.mpt
    [ "$got" -le 3 ] || verdict "changed at $at" 1
done
last="miniprof layers, cut and changed"
verdict "no crash" 0

finish
