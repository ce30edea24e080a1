#!/bin/bash
# miniprof advise: its formats, its options, and what it says of traces that lack something.
. "$SOURCE/tests/tools/cli.sh" || exit 1

trace nvtx
run advise nvtx.mpt
code 0
quiet
stdout_like <<'EXPECTED'
==4242== Profiling application: ./infer --batch 1
==4242== Iterations by NVTX range "step": 100.0% of the GPU work
==4242== 2 iterations, latency P50 *, * from end to end (P50); 1 outlier left out of gains
==4242== *
*==4242== Not tried: tail (fewer than 10 iterations); small_grids (no launch shapes with limits *
    device); memory_bound, *
    sampled: MINIPROF_SAMPLE)
EXPECTED

run advise --json nvtx.mpt
code 0
json 'd["pid"] == 4242 and d["quality"]["whole"] and d["iterations"] == 2 and d["judged"] == 1'
json '[r for r in d["not_tried"] if r["reason"] != "no_samples"] == [
    {"rule": "tail", "reason": "few_iterations"},
    {"rule": "small_grids", "reason": "no_occupancy"}] and len(d["not_tried"]) == 8'
json 'all(f["gain_percent"] >= 1 and f["numbers"] and f["to_do"] for f in d["findings"])'

# A real loop: three bounds, the greatest gain times confidence first.
cp "$SOURCE/tests/data/inference.mpt" .
run advise inference.mpt
code 0
grep -q '^ 1\. Grids do not fill the GPU: at most -[0-9.]*us of 237.1us, 39\.[0-9] %$' .stdout
verdict "the greatest bound first" $?
grep -q '^ 2\. The GPU waits for the host: at most -[0-9.]*us of 237.1us, 5\.[0-9] %$' .stdout
verdict "then the next" $?
grep -q '^ 3\. Copies that no kernel overlaps: ' .stdout
verdict "then the other" $?
grep -q '^    Gain: a bound, by replay, bounded; assumes: ' .stdout &&
    grep -q '^    To do: ' .stdout
verdict "where the gain comes from, and what to do" $?
[ "$(awk 'length > 110' .stdout | grep -vc '^==')" -eq 0 ]
verdict "no line is longer than 110 columns" $?

run advise --csv inference.mpt
code 0
header=rule,finding,gain_ns,iteration_ns,gain_percent,method,certainty,confidence,assumes
head -n 1 .stdout | grep -Fxq "$header,evidence,to_do"
verdict "a header row" $?
grep -q '^"host_bound","The GPU waits for the host",[0-9]*,237[0-9]*,5' .stdout
verdict "a row" $?

# One layer of four has most of the time, one reformats (known_slow.h).
trace slow-layer
run advise slow-layer.mpt
code 0
grep -q "^ 2\. One layer dominates the GPU's time: at most -35\.00us of 160\.0us, 21\.9 %$" \
    .stdout
verdict "the layer" $?
grep -q '^     P50 70\.00us of 6 calls *iteration > conv1$' .stdout
verdict "its name" $?
grep -q '^ 3\. Layers only reformat or copy: at most -7\.000us of 160\.0us, 4\.4 %$' .stdout
verdict "what only reformats" $?
run advise --json slow-layer.mpt
json 'd["findings"][1]["numbers"]["gpu_percent"] == 78.6516853933'
json 'd["findings"][1]["numbers"]["median_ns"] == 6000'
json 'd["findings"][2]["numbers"]["layers"] == 1'
python3 "$SOURCE/tests/golden/compare_advise.py" "$BUILD/miniprof" slow-layer.mpt >differences
verdict "what follows from the dumped rows" $?
cat differences

# Kernels of PyTorch: advice in its words.
cp "$SOURCE/tests/data/resnet50_graph.mpt" .
run advise resnet50_graph.mpt
code 0
grep -q '^==468== Framework: PyTorch (by the names of 3[0-9.]* % of the kernels)$' .stdout
verdict "the framework" $?
grep -q '^    To do: Use channels last: model.to(memory_format=torch.channels_last)' .stdout
verdict "its words" $?
run advise --json resnet50_graph.mpt
json 'd["framework"] == "PyTorch" and 30 < d["framework_percent"] < 40'
json '[f["certainty"] for f in d["findings"]] == ["estimate"] + ["bound"] * 5'
run advise --json inference.mpt
json 'd["framework"] is None and d["framework_percent"] is None'

run advise --by nvtx:iteration inference.mpt
code 0
grep -q 'Iterations by NVTX range "iteration": 100.0% of the GPU work, as asked for$' .stdout
verdict "the way that was asked for" $?

run advise --by nvtx:nope nvtx.mpt
code 2
stdout </dev/null
stderr_like <<'EXPECTED'
miniprof advise: 'nvtx.mpt': there is no NVTX range 'nope'; there are for example step, *
EXPECTED

run advise --by what nvtx.mpt
code 2
stderr_like <<'EXPECTED'
miniprof advise: 'nvtx.mpt': there is no NVTX range 'what'; there are for example step, *
EXPECTED

run advise --range 9 nvtx.mpt
code 2
stderr <<'EXPECTED'
miniprof advise: 'nvtx.mpt': there is no capture range 9; the trace has 2
EXPECTED

run advise
code 2
stderr <<'EXPECTED'
miniprof advise: which trace? 'miniprof advise TRACE.mpt'
EXPECTED

run advise nothing.mpt
code 3

# ---- What is not there ----

for kind in empty calls no-api no-gpu; do
    trace $kind
    run advise $kind.mpt
    code 0
    quiet
    grep -q 'No findings\.$' .stdout
    verdict "$kind: no findings" $?
    tr -s '\n ' ' ' <.stdout |
        grep -q 'Not tried: launch_bound, .*, transfers (no GPU work in the iterations) $'
    verdict "$kind: why" $?
    [ "$(awk 'length > 120' .stdout | wc -l)" -eq 0 ]
    verdict "$kind: no long lines" $?
    grep -qi 'nan\|[^a-z]inf[^a-z]' .stdout
    verdict "$kind: numbers" $((! $?))
    run advise --json $kind.mpt
    code 0
    json 'not d["findings"] and len(d["not_tried"]) == 36'
done

# ---- What is not whole ----

trace dropped
run advise dropped.mpt
code 1
head -n 1 .stdout | grep -q 'Warning: 12 records were dropped'
verdict "the first line says so" $?

# Cut anywhere, flipped anywhere: an answer or one line, never a crash.
bytes=$(wc -c <inference.mpt)
for ((at = 40; at < bytes; at += bytes / 40)); do
    head -c "$at" inference.mpt >cut.mpt
    run advise --json cut.mpt
    [ "$got" -eq 1 ] || [ "$got" -eq 3 ] || echo "cut at $at: exit code $got"
    cp inference.mpt flipped.mpt
    printf '\x5a' | dd of=flipped.mpt bs=1 seek="$at" conv=notrunc status=none
    for way in auto nvtx:iteration range graph kernels; do
        run advise --by $way flipped.mpt
        [ "$got" -le 3 ] || echo "flipped at $at, $way: exit code $got"
        grep -i 'nan\|[^a-z]inf[^a-z]' .stdout
    done
done >crashes
[ ! -s crashes ] || cat crashes
[ ! -s crashes ]
verdict "damaged traces" $?

finish
