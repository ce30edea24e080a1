#!/bin/bash
# Sampled counters against what is known of kernels and copies (tests/gpu/counters.c), within 3 %:
# the SMs of a kernel of so many blocks, bytes written, PCIe both ways, short kernels in turn;
# tensor cores against the range profiler's value of the same kernel; the SMs' clock against NVML.
# Then what sampling costs a program, by rate, and from which rate on samples are lost. Needs the
# permission to read counters. RATE=10kHz; MS=1000 for each case; TOLERANCE=0.03; KEEP=folder keeps
# the traces.
. "$(dirname "$0")/lib.sh"

program=$BUILD/gpu/counters
rate=${RATE:-10kHz}
ms=${MS:-1000}
[ -x "$program" ] || skip "tests/gpu/counters.c was not built"
cd "$WORK" || exit 1

# sampled NAME COUNTERS CASE OPTION...: leaves NAME.mpt, NAME.truth, NAME.err, NAME.json.
sampled() {
    local name=$1 counters=$2
    shift 2
    MINIPROF_SAMPLE=$counters@$rate MINIPROF_LOG=info traced "$name.mpt" "$program" "$@" \
        --ms "$ms" >"$name.truth" 2>"$name.err" || fail "$name: exit status $?: $(cat "$name.err")"
    grep -q 'cannot sample\|no counters are sampled' "$name.err" &&
        skip "$(grep -m 1 'sampled\|cannot sample' "$name.err")"
    grep -m 3 'device 0:' "$name.err"
    "$BUILD/miniprof" counters --json "$name.mpt" >"$name.json" 2>>"$name.err" || [ $? -eq 1 ] ||
        fail "$name: no report: $(tail -n 2 "$name.err")"
    [ -z "${KEEP:-}" ] || cp "$name".* "$KEEP"/
}

cat >near.py <<'P'
import json, sys
name, group, counter, truth, tolerance = sys.argv[1:]
rows = [row for row in json.load(open(name + ".json"))["work"]
        if row["name"] == group and row["counter"] == counter]
if not rows or rows[0]["mean"] is None:
    sys.exit(f"{name}: {group}: no {counter}")
mean, error, truth = rows[0]["mean"], rows[0]["error"], float(truth)
off = abs(mean - truth) / truth if truth else abs(mean)
print(f"{name}: {group}: {counter} {mean:.6g} +- {error:.2g}, known {truth:.6g}: {100 * off:.2f} %")
sys.exit(off > float(tolerance))
P

near() { # NAME GROUP COUNTER TRUTH
    if python3 near.py "$1" "$2" "$3" "$4" "${TOLERANCE:-0.03}" >verdict 2>&1; then
        ok "$(cat verdict)"
    else
        failed=$((failed + 1))
        echo "FAILED: $(cat verdict)"
    fi
}

truths() { # NAME: each line of what the program says
    while read -r group counter value; do
        near "$1" "$group" "$counter" "$value"
    done < <(grep -v ^copies "$1.truth")
}

"$BUILD/miniprof" metrics --query --sampling | grep -B 1 'not available' | head -n 20
sampled spin default spin
truths spin
sampled quarter sm_active,gr_active spin --blocks 33
truths quarter
sampled write dram__bytes_write.sum.per_second,dram_active write
truths write
sampled short sm_active,sm_occupancy short
truths short
sampled copy default copy
for direction in HtoD:pcie_rx DtoH:pcie_tx; do
    truth=$("$BUILD/miniprof" dump --csv --table copy copy.mpt | python3 -c '
import csv, sys
rows = [r for r in csv.DictReader(sys.stdin) if sys.argv[1] in r["kind"]]
print(sum(int(r["bytes"]) for r in rows) / sum(int(r["duration_ns"]) for r in rows) * 1e9)' \
        "${direction%:*}")
    near copy "[CUDA memcpy ${direction%:*}]" "${direction#*:}" "$truth"
done

# The range profiler's value of the same kernel.
tensor=sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed
sampled mma tensor_active,sm_active,sm_clock mma
truths mma
MINIPROF_METRICS=$tensor traced ranges.mpt "$program" mma --ms 1 >/dev/null 2>ranges.err
near mma multiply tensor_active "$("$BUILD/miniprof" metrics --csv ranges.mpt | python3 -c '
import csv, sys
print(next(csv.DictReader(sys.stdin))["avg"])')"

# NVML's clock of the SMs while they work.
if command -v nvidia-smi >/dev/null; then
    "$program" spin --ms 3000 >/dev/null &
    sleep 1.5
    clock=$(nvidia-smi --query-gpu=clocks.sm --format=csv,noheader,nounits | head -n 1)
    wait
    near spin wait sm_clock "${clock}000000"
fi

# What sampling costs: a loop of short kernels, and how many samples there were.
echo "cost: seconds of one run of 'short' for $ms ms of work, samples, overflows"
cost() { # NAME SAMPLE
    local begin=$EPOCHREALTIME
    rm -f cost.mpt
    if [ -n "$2" ]; then
        MINIPROF_SAMPLE=$2 traced cost.mpt "$program" short --ms "$ms" >/dev/null 2>cost.err
    else
        traced cost.mpt "$program" short --ms "$ms" >/dev/null 2>cost.err
    fi
    python3 - "$1" "$begin" "$EPOCHREALTIME" "$("$BUILD/miniprof" info --csv cost.mpt |
        grep -c .)" "$("$BUILD/miniprof" counters --json cost.mpt 2>/dev/null)" \
        "$("$BUILD/miniprof" kernels --json cost.mpt)" <<'P'
import json, sys
name, begin, end, _, counters, kernels = sys.argv[1:]
counters = json.loads(counters or "{}")
rows = counters.get("counters", [])
samples = max([row["samples"] for row in rows] or [0])
missing = max([row["missing_ns"] for row in rows] or [0])
calls = json.loads(kernels)["calls"]
print(f"{name}: {float(end) - float(begin):.2f} s, {calls} kernels, {samples} samples, "
      f"{counters.get('overflows', 0)} overflows, {missing / 1e6:.1f} ms without samples")
P
    tail -n 1 cost.err
}
cost "without" ""
for hertz in 1kHz 10kHz 50kHz 100kHz 200kHz; do
    cost "$hertz" "default@$hertz"
done
[ "$failed" -eq 0 ]
