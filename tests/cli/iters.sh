#!/bin/bash
# Takes 8 s.
# miniprof iters: the iterations of known_trace.h and known_nvtx.h, and what it says of traces that
# lack something.
. "$SOURCE/tests/tools/cli.sh" || exit 1

trace nvtx
run iters nvtx.mpt
code 0
quiet
stdout_like <<'END'
==4242== Profiling application: ./infer --batch 1
==4242== Iterations by NVTX range "step": most time of those that repeat, launch GPU work and are*
==4242== 2 iterations, 800.16 a second, one begins every 1.0000ms; of 1 the next one begins before*
Time * Share *
latency * 100.00% *
host time *
  CUDA calls *
GPU busy *
  kernels *
  copies HtoD *
  copies DtoH *
  other copies *
  memory sets *
  copy and kernel at once *
GPU busy for others *
GPU idle *
  launch-bound *
  between queued work *
  waiting for a copy *
  waiting for the host *
  synchronisation *
Count *
number of launches *
number of kernels *
number of copies *
bytes copied *
==4242== 1 outlier, latencies over *:
Iteration *
*
*==4242== *
END

# The first step lasts 19.5 us on the host, the second 1499.5.
run iters --json --each nvtx.mpt
code 0
json 'd["by"] == "nvtx" and d["name"] == "step" and not d["asked_for"] and d["count"] == 2'
json '[i["host_ns"] for i in d["iterations"]] == [19500, 1499500]'
json '[i["pipelined"] for i in d["iterations"]] == [True, False]'
json 'all(i["busy_ns"] + i["others_ns"] + i["idle_ns"] == i["latency_ns"] for i in d["iterations"])'
json 'all(sum(v for k, v in i.items() if k.startswith("idle_")) == 2 * i["idle_ns"]
          for i in d["iterations"])'
json 'd["statistics"]["host_ns"]["mean"] == 759500 and d["statistics"]["host_ns"]["max"] == 1499500'

# Tables are apart, and each has a row of units.
run iters --csv nvtx.mpt
code 0
grep -A1 '^"Time"' .stdout | grep -q '^,%,' && grep -A1 '^"Count"' .stdout | grep -qx ',,,,,,,,' &&
    grep -B1 '^"Count"' .stdout | head -1 | grep -qx ''
verdict "two tables" $?

run iters --csv --each -u us nvtx.mpt
code 0
[ "$(grep -c '^[12],' .stdout)" -eq 2 ] && grep -q '^"No.","Begin","latency",' .stdout
verdict "two rows" $?

run iters --by nvtx:step nvtx.mpt
code 0
grep -q 'Iterations by NVTX range "step", as asked for$' .stdout
verdict "the way that was asked for" $?

run iters --by nvtx:nope nvtx.mpt
code 2
stdout </dev/null
stderr_like <<'END'
miniprof iters: 'nvtx.mpt': there is no NVTX range of that name; there are for example step, load, *
END

# Of 49 names a few, whole, and so is what stands behind them.
run iters --by nvtx:nope "$SOURCE/tests/data/resnet50_eager.mpt"
code 2
grep -q 'for example iteration, conv1, bn1, relu, maxpool; the trace has .* copies$' .stderr
verdict "a few names, not cut" $?

run iters --by kernels nvtx.mpt
code 2
stderr_like <<'END'
miniprof iters: 'nvtx.mpt': no sequence of kernels repeats 3 times over half of the 5; the trace *
END

run iters --by what nvtx.mpt
code 2
stderr <<'END'
miniprof iters: --by is auto, nvtx, nvtx:NAME, range, graph or kernels, not 'what'
END

run iters --range 9 nvtx.mpt
code 2
stderr <<'END'
miniprof iters: 'nvtx.mpt': there is no capture range 9; the trace has 2
END

run iters
code 2
stderr <<'END'
miniprof iters: which trace? 'miniprof iters TRACE.mpt'
END

run iters nothing.mpt
code 3

# ---- What is not there ----

trace plain
run iters plain.mpt
code 0
grep -q 'Iterations by capture range: no NVTX ranges$' .stdout
verdict "capture ranges" $?
run iters --by nvtx plain.mpt
code 2
stderr_like <<'END'
miniprof iters: 'plain.mpt': no NVTX ranges; the trace has *
END

for kind in empty calls no-api no-gpu; do
    trace $kind
    run iters $kind.mpt
    code 0
    grep -q 'One iteration, the whole trace: no NVTX ranges; no capture ranges; no CUDA' \
        .stdout
    verdict "$kind: one iteration" $?
    grep -q 'No GPU work in the trace' .stdout
    verdict "$kind: why it is empty" $?
    grep -qi 'nan\|inf[^e]' .stdout
    verdict "$kind: numbers" $((! $?))
    run iters --json $kind.mpt
    code 0
    json 'd["by"] == "whole" and d["count"] == 1 and d["period_mean_ns"] is None'
done
run iters no-api.mpt
grep -q 'No API calls in the trace' .stdout
verdict "no calls" $?

# ---- What is not whole ----

trace dropped
run iters dropped.mpt
code 1
head -n 1 .stdout | grep -q 'Warning: 12 records were dropped'
verdict "the first line says so" $?

# Cut anywhere, flipped anywhere: an answer or one line, never a crash.
bytes=$(wc -c <nvtx.mpt)
for ((at = 40; at < bytes; at += bytes / 60)); do
    head -c "$at" nvtx.mpt >cut.mpt
    run iters --json --each cut.mpt
    [ "$got" -eq 1 ] || [ "$got" -eq 3 ] || echo "cut at $at: exit code $got"
    cp nvtx.mpt flipped.mpt
    printf '\x5a' | dd of=flipped.mpt bs=1 seek="$at" conv=notrunc status=none
    for way in auto nvtx:step range graph kernels; do
        run iters --each --by $way flipped.mpt
        [ "$got" -le 3 ] || echo "flipped at $at, $way: exit code $got"
    done
done >crashes
[ ! -s crashes ] || cat crashes
[ ! -s crashes ]
verdict "damaged traces" $?

finish
