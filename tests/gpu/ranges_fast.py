"""Rows of a trace (dump --json) and what `info --json` says of it: prints kernels launched,
recorded and said to be missing, and fails where a capture range lacks kernels and does not say
so."""
import json
import sys

launched, ran, begins, ends = set(), set(), {}, {}
for line in open(sys.argv[1]):
    row = json.loads(line)
    if row["table"] == "call" and "LaunchKernel" in row["function"] and not row["result"]:
        launched.add(row["correlation"])
    elif row["table"] == "kernel":
        ran.add(row["correlation"])
    elif row["table"] == "capture":
        (begins if row["kind"] == "begin" else ends)[row["range"]] = row["correlation"]
info = json.load(open(sys.argv[2]))
counters = info["quality"]["counters"]
said = {row["range"]: row.get("unanswered_launches", 0) for row in info["ranges"]}
missing = sorted(launched - ran)
print(f"{len(begins)} capture ranges, {len(launched)} kernels launched, {len(ran)} recorded, "
      f"{len(missing)} missing; said: {sum(said.values())} without a record, "
      f"{info['quality']['dropped']} dropped; " +
      ", ".join(f"{name} {value}" for name, value in counters.items() if value))
wrong = 0
at = 0
for number in sorted(begins):
    begin, end = begins[number], ends.get(number, 1 << 64)
    count = 0
    while at < len(missing) and missing[at] < end:
        count += missing[at] > begin
        at += 1
    if count != said[number]:
        wrong += 1
        if wrong < 5:
            print(f"range {number} lacks {count} kernels and says {said[number]}")
sys.exit(wrong != 0)
