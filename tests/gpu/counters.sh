#!/bin/bash
# Sampled counters against what is known of kernels and copies (tests/gpu/counters.c), within 3 %:
# the SMs of a kernel of so many blocks, bytes written, PCIe both ways, short kernels in turn;
# tensor cores against the range profiler's value of the same kernel; the SMs' clock against NVML.
# Then how many samples are lost at which rate; bench_watch.sh has what they cost. Needs the
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

# The counters of PCIe have the headers of packets, too (PCI Express Base Specification, 2.2): 12
# bytes for 256 of data that the device reads, and 16 with which it asks for them; 16 for 256 that
# it writes.
cat >pcie.py <<'P'
import csv, json, sys
name, tolerance = sys.argv[1:]
copies = list(csv.DictReader(sys.stdin))
report = json.load(open(name + ".json"))
size, time = ({kind: sum(int(row[key]) for row in copies if kind in row["kind"])
               for kind in ("HtoD", "DtoH")} for key in ("bytes", "duration_ns"))
failed = 0
def compare(what, measured, truth, payload):
    global failed
    off = abs(measured - truth) / truth
    failed |= off > float(tolerance)
    print(f"{name}: {what} {measured:.5g}, known {truth:.5g}: {100 * off:.2f} %; of data "
          f"{payload:.5g}")
if name == "turns":
    for kind, counter, factor in (("HtoD", "pcie_rx", 12 / 256), ("DtoH", "pcie_tx", 16 / 256)):
        rate = size[kind] / time[kind] * 1e9
        mean = next(row["mean"] for row in report["work"]
                    if kind in row["name"] and row["counter"] == counter)
        compare(f"{kind} {counter}, bytes/s", mean, rate * (1 + factor), rate)
else:
    for counter, data, more in (("pcie_rx", "HtoD", size["HtoD"] * 12 / 256),
                                ("pcie_tx", "DtoH", (size["HtoD"] + size["DtoH"]) * 16 / 256)):
        row = next(row for row in report["counters"] if row["counter"] == counter)
        compare(f"{counter}, bytes", row["mean"] * row["samples"] * 1e-4, size[data] + more,
                size[data])
sys.exit(failed)
P
for name in turns copy; do
    rate=10kHz sampled $name pcie_rx,pcie_tx $name
    if "$BUILD/miniprof" dump --csv --table copy $name.mpt |
        python3 pcie.py $name "${TOLERANCE:-0.03}" >verdict; then
        ok "$(paste -sd';' verdict)"
    else
        failed=$((failed + 1))
        sed 's/^/FAILED: /' verdict
    fi
done

# The range profiler's value of the same kernel.
tensor=sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed
sampled mma tensor_active,sm_active,sm_clock mma
truths mma
MINIPROF_METRICS=$tensor traced ranges.mpt "$program" mma --ms 1 >/dev/null 2>ranges.err
near mma multiply tensor_active "$("$BUILD/miniprof" metrics --csv ranges.mpt | python3 -c '
import csv, sys
print(next(csv.DictReader(sys.stdin))["mean"])')"

# NVML's clock of the SMs while they work.
if command -v nvidia-smi >/dev/null; then
    "$program" spin --ms 3000 >/dev/null &
    sleep 1.5
    clock=$(nvidia-smi --query-gpu=clocks.sm --format=csv,noheader,nounits | head -n 1)
    wait
    near spin wait sm_clock "${clock}000000"
fi

# How many samples there are at which rate.
samples_at() { # RATE
    rm -f many.mpt
    MINIPROF_SAMPLE=default@$1 traced many.mpt "$program" short --ms "$ms" >/dev/null 2>many.err
    echo "$1: $("$BUILD/miniprof" counters --json many.mpt 2>/dev/null | python3 -c '
import json, sys
report = json.load(sys.stdin)
row = max((row for row in report["counters"] if row["samples"]), key=lambda row: row["samples"])
print(row["samples"], "samples,", round(row["missing_ns"] / 1e6, 1), "ms without,",
      report["overflows"], "overflows")')"
    grep -o 'CUPTI takes.*' many.err
}
for hertz in 1kHz 10kHz 20kHz 50kHz 100kHz 200kHz; do
    samples_at "$hertz"
done
[ "$failed" -eq 0 ]
