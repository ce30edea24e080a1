#!/bin/bash
# miniprof counters: what counters were while kernels, copies and layers ran, against what the
# software GPU does in each (tests/simgpu/README.md), from samples that mix several of them.
. "$SOURCE/tests/e2e/lib.sh" || exit 1

# near NAME DEVICE GROUP COUNTER VALUE: the mean is within 3 % of the value, or within its error.
cat >near.py <<'P'
import json, sys
name, device, group, counter, value = sys.argv[1:]
value = float(value)
rows = [row for row in json.load(open(name + ".json"))["work"] if row["device"] == int(device)
        and row["name"] == group and row["counter"] == counter]
if len(rows) != 1 or rows[0]["mean"] is None:
    print("not known", rows)
else:
    mean, error = rows[0]["mean"], rows[0]["error"]
    off = abs(mean - value)
    print("near" if off <= 0.03 * value + 0.1 or off <= error <= 0.05 * value
          else f"{mean} +- {error}, not {value}")
P
near() {
    same "$1: $4 of $3" near "$(python3 near.py "$1" "$2" "$3" "$4" "$5")"
}

# report NAME OPTION...: its JSON, and the text.
report() {
    local name=$1
    shift
    "$miniprof" counters --json "$@" "$name.mpt" >"$name.json" 2>"$name.report.err"
    same "$name: exit code" 0 $?
    "$miniprof" counters "$@" "$name.mpt" >"$name.txt" 2>>"$name.report.err"
    same "$name: quiet" "" "$(cat "$name.report.err")"
}

# ---- no counters, wrong usage -----------------------------------------------------------------
profile none -- "$steps" init alpha=4 sync print=text
report none
same "no counters: no columns" "" "$("$miniprof" kernels none.mpt | grep -o TActive)"
like "no counters: what to do" 'record it with MINIPROF_SAMPLE=default' "$(cat none.txt)"
"$miniprof" counters --by stream none.mpt >bad.out 2>bad.err
same "a wrong --by: exit code" 2 $?
like "a wrong --by" "--by takes kernel, layer, iteration or idle, not 'stream'" "$(cat bad.err)"
"$miniprof" counters --iterations graph none.mpt >bad.out 2>bad.err
same "--iterations without --by: exit code" 2 $?
like "--iterations without --by" "goes with --by iteration and --by idle" "$(cat bad.err)"

plays cuptiPmSamplingEnable || {
    leaves_out "counters by CUPTI"
    finish
}

# ---- kernels shorter than a sample -----------------------------------------------------------
profile kernels MINIPROF_SAMPLE=default@20kHz -- "$inference" --iterations=40
report kernels
near kernels 0 relu_layer sm_active 50
near kernels 0 relu_layer dram_active 30
near kernels 0 add_join sm_occupancy 25
near kernels 0 gemm_layer tensor_active 45
near kernels 0 gemm_layer dram_active 40
near kernels 0 gemm_layer dram_read 30
near kernels 0 conv_layer sm_active 50
like "kernels: means with their errors" 'DRAM .*Bound by' "$(grep -m1 Time kernels.txt)"
like "kernels: each is in the table" ' 30\.[0-9]% ±[0-9.]+ .* relu_layer' \
    "$(grep ' relu_layer$' kernels.txt)"
same "kernels: of the device" "near" "$(python3 - <<'P'
import json
rows = {row["counter"]: row for row in json.load(open("kernels.json"))["counters"]}
gr = rows["gr_active"]
ok = (gr["samples"] > 50 and gr["p50"] <= gr["p95"] <= gr["max"] and gr["mean"] <= gr["max"]
      and rows["sm_clock"]["unit"] == "hertz" and rows["power"]["source"] == "NVML"
      and gr["missing_ns"] == 0)
print("near" if ok else gr)
P
)"

"$miniprof" kernels kernels.mpt >kernels.kernels 2>&1
like "kernels: columns of miniprof kernels" \
    'Tensor +SMs +TActive +DRAM +[+]- +PCIe in +PCIe out +Bound by +Name' \
    "$(grep -m1 'Time(%)' kernels.kernels)"
like "kernels: a row of miniprof kernels" \
    ' (49|50)\.[0-9]+% +4[45]\.[0-9]+% .* latency +gemm_layer' "$(grep gemm_layer kernels.kernels)"

# ---- kernels that run at once ------------------------------------------------------------------
# On two streams, at one clock. Copies have no kernel beside them.
profile clock MINIPROF_SAMPLE=sm_clock,gr_active@100kHz -- "$inference" --iterations=100
report clock
same "at once: one clock, and the GPU is busy in every kernel" "near" "$(python3 - <<'P'
import json
rows = json.load(open("clock.json"))["work"]
wrong = []
for row in rows:
    kernel = not row["name"].startswith("[")
    truth = 1755e6 if row["counter"] == "sm_clock" else 100 if kernel else 0
    within = 2e6 if row["counter"] == "sm_clock" else 1
    if row["mean"] is None or abs(row["mean"] - truth) > within:
        wrong.append((row["name"], row["counter"], row["mean"]))
print("near" if len(rows) >= 14 and not wrong else wrong)
P
)"

# ---- layers ----------------------------------------------------------------------------------
report kernels --by layer
near kernels 0 "iteration > conv1@layers" sm_active 50
near kernels 0 "iteration > res2a@layers" dram_active 30
near kernels 0 "iteration > res2a_branch1@layers" tensor_active 45
like "layers: the title" 'While the work of layers ran' "$(cat kernels.txt)"
"$miniprof" layers kernels.mpt >kernels.layers 2>&1
like "layers: columns" 'Gap +SMs +TActive +DRAM +[+]- +PCIe in +PCIe out +Bound by +L' \
    "$(grep -m1 'Time(%)' kernels.layers)"
like "layers: a row" ' 4[345]\.[0-9]+% .* latency +iteration > res2a_branch1@' \
    "$(grep 'res2a_branch1@layers$' kernels.layers)"
# A layer's values are the means of the work in it and in the layers below, by its time.
"$miniprof" layers --json kernels.mpt >kernels.layers.json
same "layers: outer layers have the mean of all inside" "near" "$(python3 - <<'P'
import json
work = [row for row in json.load(open("kernels.json"))["work"]
        if row["counter"] == "sm_active" and row["name"].startswith("iteration")]
mean = sum(r["mean"] * r["time_ns"] for r in work) / sum(r["time_ns"] for r in work)
outer = [l for l in json.load(open("kernels.layers.json"))["layers"] if l["depth"] == 1]
found = outer[0]["sm_active_percent"]
print("near" if abs(found - mean) < 0.01 and outer[0]["bound_by"] == "latency" else (found, mean))
P
)"

# ---- classes, copies, devices ----------------------------------------------------------------
profile classes MINIPROF_SAMPLE=default@100kHz SIMGPU_DEVICES=2 -- "$steps" init alpha=200 sync \
    beta=200 sync device=1 beta=300 sync print=text
report classes
near classes 0 alpha dram_active 80
near classes 0 beta dram_active 15
near classes 1 beta dram_active 15
same "classes: memory at 80 %, else few SMs" "alpha memory beta few SMs beta few SMs" \
    "$(echo $(python3 - <<'P'
import json
rows = json.load(open("classes.json"))["work"]
for row in rows:
    if row["counter"] == "sm_active" and row["calls"]:
        print(row["name"], row["bound_by"])
P
))"
"$miniprof" kernels --json classes.mpt >classes.kernels.json
same "classes: as keys of kernels" "memory 80 few SMs 15 few SMs 15" "$(python3 - <<'P'
import json
print(*(f'{row["bound_by"]} {row["dram_active_percent"]:.0f}' for row in
        sorted(json.load(open("classes.kernels.json"))["kernels"],
               key=lambda row: (row["name"], row["device"]))))
P
)"
like "classes: a section for each device" 'Counters of "SimGPU \(1\)"' "$(cat classes.txt)"
profile copies MINIPROF_SAMPLE=pcie_rx,pcie_tx,sm_active@200kHz -- "$inference" --iterations=60
report copies
same "copies: what PCIe carried" "near near" "$(echo $(python3 - <<'P'
import json, subprocess, sys
rows = json.load(open("copies.json"))["work"]
for name, counter in (("[CUDA memcpy HtoD]", "pcie_rx"), ("[CUDA memcpy DtoH]", "pcie_tx")):
    row = [r for r in rows if r["name"] == name and r["counter"] == counter][0]
    truth = row["calls"] * 65536 / row["time_ns"] * 1e9
    print("near" if abs(row["mean"] - truth) <= 0.03 * truth else (row, truth))
P
))"

# A class is said if the counters that it rests on were sampled, and only then.
# bounds NAME: name and class of each kernel and kind of copy, by name.
cat >bounds.py <<'P'
import json, sys
rows = json.load(open(sys.argv[1] + ".json"))["work"]
print(*sorted({f'{row["name"]}: {row["bound_by"]}' for row in rows if row["calls"]}), sep=", ")
P
bounds() {
    python3 bounds.py "$1"
}
mixed=(init)
for i in {1..20}; do
    mixed+=(alpha=10 gamma=10 beta=10 sync copy-in=65536)
done
copy='[CUDA memcpy HtoD]'
profile sms MINIPROF_SAMPLE=sm_active@100kHz -- "$steps" "${mixed[@]}" print=text
report sms
same "SMs alone tell no class" "$copy: -, alpha: -, beta: -, gamma: -" "$(bounds sms)"
profile dram MINIPROF_SAMPLE=dram_active@100kHz -- "$steps" "${mixed[@]}" print=text
report dram
same "memory alone tells what memory binds" "$copy: -, alpha: memory, beta: -, gamma: memory" \
    "$(bounds dram)"
profile every MINIPROF_SAMPLE=default@100kHz -- "$steps" "${mixed[@]}" print=text
report every
same "all: a pageable copy of 8 GB/s does not fill PCIe, and has no SMs to fill" \
    "$copy: -, alpha: memory, beta: few SMs, gamma: memory" "$(bounds every)"
# Two copies take 6 of 181 us: neither an iteration nor a sample is near what PCIe can do.
profile mean MINIPROF_SAMPLE=default@10kHz -- "$inference" --iterations=100
report mean --by iteration
same "PCIe is not full in an iteration with 0.7 GB/s" "" "$(bounds mean | grep -o PCIe)"
report mean
like "PCIe is full in its copies" 'DtoH.: PCIe, .CUDA memcpy HtoD.: PCIe,' "$(bounds mean)"

# ---- iterations: the software GPU's clock is 40 % lower while gamma runs ---------------------
iteration=(push=iteration alpha=40 sync pop)
steady=()
for i in {1..12}; do
    steady+=("${iteration[@]}")
done
profile clocks MINIPROF_SAMPLE=default@100kHz -- "$steps" init "${steady[@]}" \
    push=iteration alpha=40 gamma=60 sync pop "${steady[@]}" print=text
report clocks
"$miniprof" iters --iterations iteration --each --json clocks.mpt >clocks.iters.json
"$miniprof" gpu-trace --json clocks.mpt >clocks.trace.json
same "clocks: of the outlier" "13 near" "$(python3 - <<'P'
import json
iters = json.load(open("clocks.iters.json"))
slow = [row for row in iters["outliers"] if row["iteration"] == 13][0]
times = iters["iterations"][12]
gamma = sum(row["duration_ns"] for row in json.load(open("clocks.trace.json"))["rows"]
            if row["name"].startswith("gamma"))
truth = 100 - 40 * gamma / (times["end_ns"] - times["begin_ns"])
ok = abs(slow["clock_percent"] - truth) <= 3 and slow["power_capped_percent"] in (0, None)
print(slow["iteration"], "near" if ok else (slow, truth))
P
)"
"$miniprof" iters --iterations iteration clocks.mpt >clocks.iters 2>&1
like "clocks: said in a line" \
    '1 of the [0-9]+ came with lower clocks or more throttling: unknown 1\.' \
    "$(cat clocks.iters)"
like "clocks: columns" 'Most of it +By +Clock +Power +Heat' "$(grep 'Most of it' clocks.iters)"
# By iteration: the clock of each, of which iters has the share of the median one's.
report clocks --by iteration --iterations iteration
same "by iteration: the clock of each" "25 near" "$(python3 - <<'P'
import json
rows = [row for row in json.load(open("clocks.json"))["work"] if row["counter"] == "sm_clock"]
slow = [row for row in json.load(open("clocks.iters.json"))["outliers"]
        if row["iteration"] == 13][0]
others = [row["mean"] for row in rows if row["name"] != "13"]
usual = sorted(others)[len(others) // 2]
mean = [row["mean"] for row in rows if row["name"] == "13"][0]
ok = (abs(100 * mean / usual - slow["clock_percent"]) < 0.5
      and all(abs(one / usual - 1) < 0.01 for one in others)
      and [int(row["name"]) for row in rows] == list(range(1, 26)))
print(len(rows), "near" if ok else (mean, usual, slow))
P
)"
like "by iteration: the title" 'In each iteration:' "$(cat clocks.txt)"
like "by iteration: what a value is" "Those at its ends count in part" "$(cat clocks.txt)"
# By cause of idle time: as long as iters says. The memory has no work then, 80 % in alpha.
report clocks --by idle --iterations iteration
same "by idle: times of iters, memory without work" "near" "$(python3 - <<'P'
import json
keys = {"launch-bound": "idle_launch_ns", "between queued work": "idle_queued_ns",
        "waiting for a copy": "idle_copy_ns", "waiting for the host": "idle_host_ns",
        "synchronisation": "idle_sync_ns", "recording": "idle_recording_ns",
        "cause not known": "idle_unknown_ns"}
iterations = json.load(open("clocks.iters.json"))["iterations"]
rows = {row["name"]: row for row in json.load(open("clocks.json"))["work"]
        if row["counter"] == "dram_active"}
rows.pop("[other idle time]", None)
truth = {name: sum(row[key] or 0 for row in iterations) for name, key in keys.items()}
ok = ({name: row["time_ns"] for name, row in rows.items()}
      == {name: time for name, time in truth.items() if time}
      and len(rows) >= 2 and all(row["mean"] is None or row["mean"] < 2 for row in rows.values())
      and any(row["mean"] is not None for row in rows.values()))
print("near" if ok else (rows, truth))
P
)"
like "by idle: the title" 'While nothing ran:.*Idle because of' "$(tr '\n' ' ' <clocks.txt)"
profile capped SIMGPU_THROTTLE=power MINIPROF_SAMPLE=default@100kHz -- "$steps" init \
    "${steady[@]}" push=iteration alpha=40 gamma=60 read sync pop "${steady[@]}" print=text
like "clocks: why they are low" 'came with lower clocks or more throttling: power [1-9]' \
    "$("$miniprof" iters --iterations iteration capped.mpt 2>&1)"
# The GPU is at its limit all the time, and its clock is as always: that explains no outlier.
profile always SIMGPU_THROTTLE=power MINIPROF_SAMPLE=default@100kHz -- "$steps" init \
    "${steady[@]}" push=iteration alpha=400 read sync pop "${steady[@]}" print=text
like "clocks: a GPU that is always capped" '0 of the [1-9][0-9]* came with lower clocks' \
    "$("$miniprof" iters --iterations iteration always.mpt 2>&1)"

# ---- advice: what the rules on samples find, and what they gain by -----------------------------
# finding NAME RULE KEY [OPTION...]: a number of a finding's evidence, without decimals.
finding() {
    "$miniprof" advise --json "${@:4}" "$1.mpt" | python3 -c '
import json, sys
rule, key = sys.argv[1:]
for one in json.load(sys.stdin)["findings"]:
    if one["rule"] == rule:
        print(round(one["numbers"][key]))' "$2" "$3"
}
loop=()
for i in {1..12}; do
    loop+=(push=iteration alpha=40 gamma=80 beta=50 sync pop)
done
profile advice SIMGPU_THROTTLE=power MINIPROF_SAMPLE=default@100kHz -- "$steps" init "${loop[@]}" \
    read print=text
as=(--iterations iteration)
same "advice: gamma is at 95 % of memory, alpha at 80 %" "95 80" \
    "$(echo $(finding advice memory_bound sampled_percent "${as[@]}") \
        $(finding advice memory_bound kernels "${as[@]}"))"
same "advice: one block has one of 128 SMs, which matters if memory is not full" "1 50" \
    "$(echo $(finding advice few_sms sampled_percent "${as[@]}") \
        $(finding advice few_sms kernels "${as[@]}"))"
same "advice: few blocks, but for what fills memory: alpha and beta" 90 \
    "$(finding advice small_grids kernels "${as[@]}")"
same "advice: beta keeps the 15 % of its time in which it uses memory" 85 \
    "$("$miniprof" advise --json "${as[@]}" advice.mpt | python3 -c '
import json, sys
for one in json.load(sys.stdin)["findings"]:
    if one["rule"] == "few_sms":
        print(round(100 * one["gain_ns"] / one["numbers"]["kernels_ns"]))')"
same "advice: no faster kernel for what fills memory" "" \
    "$(finding advice slow_layer share_percent "${as[@]}")"
like "advice: clocks between 60 and 100 %" '^([67][0-9]|8[0-9])$' \
    "$(finding advice low_clocks sampled_percent "${as[@]}")"
profile idle SIMGPU_TENSOR_PERCENT=0 MINIPROF_SAMPLE=default@100kHz -- "$inference" --graph \
    --streams=1
same "advice: five matrix kernels without tensor cores" "0 5" \
    "$(echo $(finding idle idle_tensor_cores sampled_percent) \
        $(finding idle idle_tensor_cores kernels))"
same "advice: copies at what PCIe can do" 2 "$(finding kernels full_pcie kernels)"
like "advice: 65536 bytes in 3.8 us, in either direction" '^17[01][0-9]{8} 17[01][0-9]{8}$' \
    "$(echo $(finding kernels full_pcie pcie_in_bytes_per_second) \
        $(finding kernels full_pcie pcie_out_bytes_per_second))"
same "advice: tensor cores that work" "" "$(finding kernels idle_tensor_cores kernels)"
if plays nvtx3/nvToolsExtPayload.h; then
    profile spin MINIPROF_SAMPLE=default@100kHz -- "$build/tests/e2e/collectives" none none
    same "advice: NCCL that spins" 1 "$(finding spin nccl_waiting kernels)"
    report spin
    like "spinning in NCCL is waiting" ' waiting +ncclDevKernel' "$(grep ncclDev spin.txt)"
else
    leaves_out "NCCL that spins"
fi
like "advice: what was not sampled" 'nccl_waiting \(no' \
    "$(profile unsampled -- "$inference" --iterations=12; "$miniprof" advise unsampled.mpt)"

# ---- stored: bytes of table sample, compressed, for each value ------------------------------
profile size MINIPROF_SAMPLE=default@200kHz -- "$inference" --iterations=1500
size=$("$miniprof" info --json size.mpt | python3 -c '
import json, sys
table = [t for t in json.load(sys.stdin)["tables"] if t["table"] == "sample"][0]
print(table["rows"], table["bytes"], round(table["bytes_per_row"], 3))')
same "at most 1.5 bytes a metric and sample: $size" 1 \
    "$(echo "$size" | awk '{ print ($1 > 100000 && $3 <= 1.5) }')"

# ---- exports: as many values as the trace has, with the same mean ------------------------------
samples=$("$miniprof" counters --json classes.mpt | python3 -c '
import json, sys
rows = [r for r in json.load(sys.stdin)["counters"] if r["samples"]]
row = [r for r in rows if r["counter"] == "dram_active" and r["device"] == 1][0]
print(sum(r["samples"] for r in rows), round(row["mean"]))')
for format in kineto nsys-sqlite perfetto; do
    "$miniprof" export --to $format -o classes.$format classes.mpt >export.out 2>&1
    same "export to $format" 0 $?
done
same "kineto: counter events" "$samples" "$(python3 - <<'P'
import json
events = [e for e in json.load(open("classes.kineto"))["traceEvents"]
          if e["ph"] == "C" and e["cat"] == "hardware_counters"]
dram = [e["args"][""] for e in events if e["name"] == "dram_active" and "GPU 1" in e["pid"]]
print(len(events), round(sum(dram) / len(dram)))
P
)"
same "nsys: GPU_METRICS, by the names that scripts look for" "$samples" "$(python3 - <<'P'
import sqlite3
db = sqlite3.connect("classes.nsys-sqlite")
count = db.execute("SELECT count(*) FROM GPU_METRICS").fetchone()[0]
assert db.execute("SELECT count(*) FROM TARGET_INFO_GPU_METRICS WHERE metricName LIKE "
                  "'SMs Active%'").fetchone()[0] == 2
metric = db.execute("SELECT typeId, metricId FROM TARGET_INFO_GPU_METRICS WHERE typeId = 1 AND "
                    "metricName LIKE 'dram_active%'").fetchone()
print(count, round(db.execute("SELECT avg(value) FROM GPU_METRICS WHERE typeId = ? AND "
                              "metricId = ?", metric).fetchone()[0]))
P
)"
same "perfetto: tracks of both devices" 2 \
    "$(grep -a -o 'sm_active (GPU [01])' classes.perfetto | sort -u | wc -l)"

# ---- what cannot be told ---------------------------------------------------------------------
# gamma and beta run in one and the same sample only.
profile few MINIPROF_SAMPLE=dram_read,sm_active@10kHz -- "$steps" init alpha=150 gamma=2 beta=2 \
    alpha=150 sync print=text
report few
near few 0 alpha dram_read 60
same "few samples: no mean" "None" "$(python3 - <<'P'
import json
rows = json.load(open("few.json"))["work"]
print(*{row["mean"] for row in rows if row["name"] == "gamma" and row["counter"] == "dram_read"})
P
)"
profile full SIMGPU_PM_SAMPLES=6 MINIPROF_SAMPLE=default@100kHz -- "$steps" init alpha=40 beta=40 \
    sync print=text
report full
like "a full buffer: said" \
    "Note: samples are missing for up to [0-9.]+us, the GPU's buffer was full once: a lower rate" \
    "$(cat full.txt)"
"$miniprof" gpu-trace --json full.mpt >full.trace.json
"$miniprof" dump --table sample --raw --json full.mpt >full.samples.json
# The buffer keeps the last 6 samples, of which the first one is left out.
same "a full buffer: missing from the first kernel to the first sample" "near" "$(python3 - <<'P'
import json
samples = [json.loads(line) for line in open("full.samples.json")]
rows = {row["counter"]: row for row in json.load(open("full.json"))["counters"]}
work = min(row["start_ns"] for row in json.load(open("full.trace.json"))["rows"])
first = min(row["time"] - row["length"] for row in samples if row["length"] < 20000)
found = rows["dram_active"]["missing_ns"], rows["power"]["missing_ns"]
print("near" if found == (first - work, 0) and first - work > 100000 else (found, first - work))
P
)"
profile denied SIMGPU_PM_ERROR=35 MINIPROF_SAMPLE=default -- "$steps" init alpha=4 sync print=text
report denied
like "no permission: said" 'Note: device 0, .* without CUPTI: .*run as root' "$(cat denied.txt)"
same "no permission: nothing is missing" "" "$(grep 'samples are missing' denied.txt)"
profile typo SIMGPU_DEVICES=2 MINIPROF_SAMPLE=dram_active,dram_actve@100kHz -- "$steps" init \
    alpha=60 sync device=1 print=text
report typo
same "a mistyped counter, one device of two: nothing is missing" "" \
    "$(grep 'samples are missing' typo.txt)"

# ---- ranges, formats ------------------------------------------------------------
profile ranges MINIPROF_CAPTURE=range MINIPROF_SAMPLE=dram_active@100kHz -- "$steps" init \
    start alpha=60 sync stop start beta=60 sync stop print=text
report ranges --range 2
near ranges 0 beta dram_active 15
same "one range: nothing of the other" "" "$(grep -o alpha ranges.txt)"
same "one range: nothing is missing" "" "$(grep missing ranges.txt)"
"$miniprof" counters --range 3 ranges.mpt >bad.out 2>bad.err
like "no such range" "no capture range 3" "$(cat bad.err)"
"$miniprof" counters --by iteration --iterations nothing ranges.mpt >bad.out 2>bad.err
same "no such iterations: exit code" 2 $?
same "CSV: one header" "device,counter,source,unit,samples,mean,p50,p95,max" \
    "$("$miniprof" counters --csv classes.mpt | head -n 1 | cut -d, -f1-9)"
same "CSV: the table of work" 1 \
    "$("$miniprof" counters --csv --table work classes.mpt | grep -c '"alpha".*"dram_read"')"
finish
