#!/bin/bash
# Takes 1 s.
# Which samples of counters belong to a capture range and to an iteration, in exports and in
# `miniprof counters`: what was counted, if it lies there as a whole; a reading of NVML as far as
# it does.
. "$SOURCE/tests/tools/cli.sh" || exit 1

# Times in us. Ranges: 1000 to 2000 and 3000 to 4000. Steps: 1100 to 1400, 1500 to 1800, 3100 to
# 3400, each with a kernel. `sm_active` by CUPTI every 100 in the ranges; `power` by NVML at 1450,
# 2050 and 4020.
python3 - <<'P' | "$BUILD/tests/tools/write_trace" samples.mpt
names = ["kernel_a", "cudaLaunchKernel_v7000", "step", "sm_active", "power"]
for number, name in enumerate(names, 1):
    print(f"string id={number} text={name}")
print("thread id=1 tid=11\ndevice id=0\nstream id=1 stream=7 context=1 device=0")
print("function id=1 api=1 cbid=211 name=2")
print("shape id=1 kernel=1 grid_x=1 grid_y=1 grid_z=1 block_x=32 block_y=1 block_z=1")
one = 0x3FF0000000000000  # 1.0
print(f"counter id=1 device=0 name=4 source=1 unit=2 step={one} interval=100000")
print(f"counter id=2 device=0 name=5 source=3 unit=9 step={one} interval=100000000")
for number, begin in ((1, 1000), (2, 3000)):
    print(f"capture range={number} kind=1 time={begin}000 correlation={10 * number} reason=1")
    for at in range(begin, begin + 1000, 100):
        print(f"sample counter=1 time={at + 100}000 length=100000 value={at // 100}")
    print(f"capture range={number} kind=2 time={begin + 1000}000 correlation={10 * number + 9} "
          "reason=1")
for begin, end in ((900, 1450), (1450, 2050), (2950, 4020)):
    print(f"sample counter=2 time={end}000 length={end - begin}000 value={begin // 10}")
for correlation, begin in ((11, 1100), (12, 1500), (21, 3100)):
    print(f"nvtx thread=1 kind=1 name=3 time={begin}000")
    print(f"call thread=1 function=1 start={begin + 10}000 duration=5000 correlation={correlation}")
    print(f"kernel stream=1 shape=1 start={begin + 50}000 duration=200000 "
          f"correlation={correlation}")
    print(f"nvtx thread=1 kind=2 time={begin + 300}000")
P

# exported COUNTER EXPECTED OPTION...: the begins of its samples, us, in nsys's table.
exported() {
    local counter=$1 expected=$2
    shift 2
    run export --to nsys-sqlite -f -o out.sqlite "$@" samples.mpt
    code 0
    python3 - "$counter" >.begins <<'P'
import sqlite3, sys
rows = sqlite3.connect("out.sqlite").execute(
    "SELECT rawTimestamp FROM GPU_METRICS WHERE metricId = ? ORDER BY 1", (sys.argv[1],))
print(*(row[0] / 1000 for row in rows))
P
    same .begins <<<"$expected"
}

# reported COUNTER EXPECTED OPTION...: how many samples `counters` has of it.
reported() {
    local counter=$1 expected=$2
    shift 2
    run counters --json "$@" samples.mpt
    code 0
    python3 - "$counter" >.samples <<'P'
import json, sys
print(*(each["samples"] for each in json.load(open(".stdout"))["counters"]
        if each["counter"] == sys.argv[1]))
P
    same .samples <<<"$expected"
}

# ---- Capture ranges ----

exported 2 "900.0 1450.0 2950.0"
exported 1 "1000.0 1100.0 1200.0 1300.0 1400.0 1500.0 1600.0 1700.0 1800.0 1900.0" --range 1
exported 2 "1000.0 1450.0" --range 1
exported 2 "3000.0" --range 2
reported sm_active 10 --range 1
reported power 2 --range 1
reported power 1 --range 2
reported power 3

# ---- Iterations ----

exported 1 "1500.0 1600.0 1700.0" --iterations step --iteration 2
exported 2 "1500.0" --iterations step --iteration 2
exported 1 "1100.0 1200.0 1300.0 1500.0 1600.0 1700.0" --iterations step --iteration 1..2
exported 2 "1100.0 1500.0" --iterations step --iteration 1..2
exported 2 "1100.0 1500.0 3100.0" --iterations step --iteration 1..3
exported 1 "3100.0 3200.0 3300.0" --iterations step --iteration 1 --range 2
exported 2 "3100.0" --iterations step --iteration 1 --range 2

finish
