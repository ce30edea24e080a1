#!/bin/bash
# `miniprof top` beside a program that launches 100,000 kernels a second: what it shows while the
# program runs, that its last refresh has all that the program made, and what it costs to look.
. "$(dirname "$0")/lib.sh"

soak=$BUILD/gpu/soak
load=(--seconds 8 --rate "${TOP_RATE:-100000}" --threads 2)
[ -x "$soak" ] || skip "gpu/soak was not built"
cd "$WORK" || exit 1

CUDA_INJECTION64_PATH=$BUILD/libminiprof.so NVTX_INJECTION64_PATH=$BUILD/libminiprof.so \
    MINIPROF_OUTPUT=t.mpt "$soak" "${load[@]}" >made.txt 2>err.txt &
pid=$!
started+=("$pid")
for ((i = 0; i < 100; i++)); do
    "$BUILD/miniprof" ctl $pid where >/dev/null 2>&1 && break
    sleep 0.1
done
sleep 2
"$BUILD/miniprof" top --plain --count 1 $pid || fail "top: exit code $?"
TIMEFORMAT='%U %S'
{ time "$BUILD/miniprof" top --json $pid >top.txt; } 2>cost.txt || fail "top: $(cat cost.txt)"
wait $pid || fail "the program: exit code $?: $(cat err.txt)"
started=()
python3 - cost.txt <<'END' || fail "see above"
import json, sys

lines = [json.loads(line) for line in open("top.txt")]
made = dict(line.split("|")[1:] for line in open("made.txt") if line.startswith("made|"))
took = next(int(line.split("|")[1]) for line in open("made.txt") if line.startswith("took|")) / 1e3
last, rate = lines[-1], int(made["kernel"]) / took
rates = [line["kernels_per_second"] for line in lines[1:-1]]
user, system = map(float, open(sys.argv[1]).read().split()[-2:])
print(f"{len(lines)} refreshes; kernels a second: {min(rates):.0f} to {max(rates):.0f}, the "
      f"program made {rate:.0f}; busy {last['devices'][0]['busy_percent_all']:.1f} %; "
      f"looking took {user / took * 100:.1f} % of a core, and the kernel {system / took * 100:.1f}")
ok = (last["state"] == "ended" and last["dropped"] == 0 and
      last["kernel_count_all"] == int(made["kernel"]) == sum(
          kernel["count_all"] for kernel in last["kernels"]) and
      any(0.5 * rate < shown < 2 * rate for shown in rates) and
      last["iterations"]["name"] == "batch" and
      last["iterations"]["all"]["count"] == int(made["nvtx"]))
if not ok:
    print(made, last)
sys.exit(not ok)
END
ok "top shows what runs, and in the end all of it"
