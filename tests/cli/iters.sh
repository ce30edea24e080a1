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
==4242== Iterations by NVTX range "step": 100.0% of the GPU work
==4242== 2 iterations, 800.2 a second; of 1 the next one begins before the end
Time * Share *
latency * 100.0% *
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
json 'all(sum(v or 0 for k, v in i.items() if k.startswith("idle_")) == 2 * i["idle_ns"]
          for i in d["iterations"])'
json 'd["statistics"]["host_ns"]["mean"] == 759500 and d["statistics"]["host_ns"]["max"] == 1499500'

# Two tables in CSV, each with one header row.
run iters --csv nvtx.mpt
code 0
quiet
head -n 2 .stdout >.head && mv .head .stdout
stdout_like <<'END'
quantity,share_percent,mean_ns,std_ns,min_ns,p50_ns,p90_ns,p95_ns,p99_ns,max_ns
"latency",100.000000,*
END
run iters --csv --table counts nvtx.mpt
code 0
head -n 1 .stdout | grep -qx 'quantity,mean,std,min,p50,p90,p95,p99,max'
verdict "the counts" $?

run iters --csv --each nvtx.mpt
code 0
[ "$(grep -c '^[12],' .stdout)" -eq 2 ] &&
    head -n 1 .stdout | grep -q '^iteration,begin_ns,latency_ns,'
verdict "two rows" $?

# One iteration: its row.
cp .stdout all.csv
run iters --csv --iteration 2 nvtx.mpt
code 0
quiet
sed 2d all.csv | stdout
run iters --iteration 2 --iterations step --json nvtx.mpt
code 0
json '[i["iteration"] for i in d["iterations"]] == [2]'

run iters --by nvtx:step nvtx.mpt
code 0
grep -q 'Iterations by NVTX range "step": 100.0% of the GPU work, as asked for$' .stdout
verdict "the way that was asked for" $?

run iters --by nvtx:nope nvtx.mpt
code 2
stdout </dev/null
stderr_like <<'END'
miniprof iters: 'nvtx.mpt': there is no NVTX range 'nope'; there are for example step, load, *
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
stderr_like <<'END'
miniprof iters: 'nvtx.mpt': there is no NVTX range 'what'; there are for example step, *
END

# Names that there are not: one line that says which there are.
run iters --by graph:99 "$SOURCE/tests/data/resnet50_graph.mpt"
code 2
stderr_like <<'END'
miniprof iters: *: there is no CUDA graph '99'; there are: 2; the trace *
END
run iters --by requests:nobody nvtx.mpt
code 2
stderr_like <<'END'
miniprof iters: 'nvtx.mpt': there is no thread 'nobody'; there are: *
END
run iters --by range:1 nvtx.mpt
code 2
run iters --by syncs "$SOURCE/tests/data/simgpu.mpt"
code 2
stderr_like <<'END'
miniprof iters: *: no thread waits twice; the trace *
END

# ---- Candidates ----

run iters --candidates nvtx.mpt
code 0
stdout <<'END'
==4242== Profiling application: ./infer --batch 1
==4242== What repeats, and how much of the GPU work it covers:
By                           Count  Threads  Coverage   Regular     Score  Chosen
nvtx:step                        2        1    100.0%    50.00%    50.00%     yes
range                            2        1    100.0%    50.00%     5.00%      no
END
run iters --candidates --csv nvtx.mpt
code 0
grep -q '^"nvtx:step",2,1,100.000000,50.000000,50.000000,' .stdout
verdict "candidates as CSV" $?
run iters --candidates --json nvtx.mpt
code 0
json '[(c["by"], c["count"], c["chosen"]) for c in d["candidates"]] ==
      [("nvtx:step", 2, True), ("range", 2, False)]'
run iters --candidates --by range nvtx.mpt
code 2
stderr <<'END'
miniprof iters: --candidates goes with none of --iterations, --iteration and --each
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
grep -q 'Iterations by capture range: 100.0% of the GPU work$' .stdout
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
    why='no NVTX ranges; no capture ranges; no kernels; no graphs; '
    grep -q "One iteration, the whole trace: $why" .stdout
    verdict "$kind: one iteration" $?
    grep -q 'No GPU work in the trace' .stdout
    verdict "$kind: why it is empty" $?
    grep -qi 'nan\|inf[^e]' .stdout
    verdict "$kind: numbers" $((! $?))
    run iters --json $kind.mpt
    code 0
    json 'd["by"] == "whole" and d["count"] == 1 and d["period_mean_ns"] is None'
    run iters --candidates $kind.mpt
    code 0
    grep -q "Nothing repeats: $why" .stdout
    verdict "$kind: no candidates" $?
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
    for way in auto nvtx:step range graph kernels syncs requests; do
        run iters --each --by $way flipped.mpt
        [ "$got" -le 3 ] || echo "flipped at $at, $way: exit code $got"
    done
done >crashes
[ ! -s crashes ] || cat crashes
[ ! -s crashes ]
verdict "damaged traces" $?

finish
