#!/bin/bash
# Takes 60 s.
# The pages of `miniprof html` and `miniprof diff --html` in headless Chromium: all
# tests/html/test_*.mjs, over traces of tests/data and generated ones. With SCREENSHOTS=FOLDER it
# makes the pictures of docs/html.md there instead. Skipped, not passed, where node, Chromium or
# playwright-core is not there.
set -u
. "$SOURCE/tests/html/lib.sh" || exit 1

make_pages inference eager:resnet50_eager graph:resnet50_graph two_streams memory managed \
    split:zoo/pool_threshold gap:zoo/cdp_children
for kind in plain hostile empty calls no-gpu no-api doubtful streams layers counters \
    many-samples stacks stacks-sampled; do
    "$BUILD/tests/tools/make_trace" "$kind" "$folder/$kind.mpt" || exit 1
    page "$folder/$kind.mpt" "$kind"
done
head -c 1500 "$folder/plain.mpt" >"$folder/cut.mpt"
page "$folder/cut.mpt" cut

"$BUILD/miniprof" html --events 1000 -o "$folder/part.html" "$SOURCE/tests/data/inference.mpt" \
    2>/dev/null

# What the commands say, for the tests to compare.
answer() { # PAGE TRACE COMMAND [OPTION]...
    "$BUILD/miniprof" "${@:3}" --json "$SOURCE/tests/data/$2.mpt" >"$folder/$1.$3.json"
}
for name in inference eager:resnet50_eager memory; do
    answer "${name%:*}" "${name#*:}" iters --each
    for command in advise layers kernels overlap memory; do
        answer "${name%:*}" "${name#*:}" "$command"
    done
done

for name in stacks stacks-sampled; do
    "$BUILD/miniprof" stacks --json "$folder/$name.mpt" >"$folder/$name.stacks.json"
done
mkdir "$folder/some"
cp "$folder/stacks.mpt" "$folder/calls.mpt" "$folder/some"
page "$folder/some" some-stacks

# Comparisons: of traces, of sets, with layers, of traces that lack something.
data=$SOURCE/tests/data
another() { # FILE COPY NUMBER: a copy as of another process, since plain ones are noticed
    python3 "$SOURCE/tests/tools/another.py" "$@" || exit 1
}
mkdir "$folder/before" "$folder/after"
for i in 1 2 3 4; do
    another "$data/resnet50_graph.mpt" "$folder/before/$i.mpt" "$i"
    another "$data/resnet50_graph_edges.mpt" "$folder/after/$i.mpt" "$i"
done
"$BUILD/tests/tools/make_trace" layers "$folder/layered.mpt" || exit 1
diff_page diff resnet50_eager.mpt resnet50_graph.mpt
diff_page diff-slower --fail-above 3% resnet50_graph.mpt resnet50_eager.mpt
diff_page diff-replaced inference.mpt two_streams.mpt
diff_page diff-sets "$folder/before" "$folder/after"
diff_page diff-layers "$folder/layered.mpt" "$folder/layered.mpt"
diff_page diff-hostile "$folder/plain.mpt" "$folder/hostile.mpt"
diff_page diff-empty "$folder/empty.mpt" "$folder/no-gpu.mpt"
diff_page diff-cut "$folder/plain.mpt" "$folder/cut.mpt"

# Several processes: ranks of one host.
mkdir "$folder/ranks"
for i in 0 1 2 3; do
    another "$data/inference.mpt" "$folder/ranks/$i.mpt" "$i"
done
"$BUILD/miniprof" html -o "$folder/ranks.html" "$folder/ranks" 2>"$folder/log"
[ $? -le 1 ] || { cat "$folder/log"; exit 1; }
mkdir "$folder/counted"
for i in 0 1; do
    another "$folder/counters.mpt" "$folder/counted/$i.mpt" "$i"
done
page "$folder/counted" counted-ranks
# Ranks of one job, whose operations of NCCL match.
page "$data/ranks" job
for command in deps advise; do
    "$BUILD/miniprof" $command --json "$data/ranks" >"$folder/job.$command.json" 2>"$folder/log"
    [ $? -le 1 ] || { cat "$folder/log"; exit 1; }
done
mkdir "$folder/alone"
cp "$data/inference.mpt" "$folder/alone"
"$BUILD/miniprof" html -o "$folder/one.html" "$folder/alone" || exit 1

# Pages of other documents: one without a time line; one whose advice names an iteration, and whose
# documents are not whole; one with markup for every name in the documents of the analyses.
python3 - "$folder" <<'END' || exit 1
import json, re, sys

def script(name, title, value):
    return (f'<script type="application/json" id="doc-{name}" data-title="{title}">'
            f'{json.dumps(value)}</script>\n')

def escaped(text):
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")

def load(page, name):
    return json.loads(re.search(f'id="doc-{name}"[^>]*>(.*?)</script>', page, re.S)[1])

def replace(page, name, value):
    return re.sub(f'(id="doc-{name}"[^>]*>).*?(</script>)',
                  lambda found: found[1] + escaped(json.dumps(value)) + found[2], page, flags=re.S)

def marked(value, key=""):
    if isinstance(value, dict):
        return {name: marked(member, name) for name, member in value.items()}
    if isinstance(value, list):
        return [marked(item, key) for item in value]
    names = ("name", "short_name", "device_name", "domain", "range", "function", "evidence", "text",
             "why_whole", "pool", "layer_type", "tactic", "frame", "file")
    return f"<img src=x onerror=window.bad=1>{value}" if key in names and value else value

folder = sys.argv[1]
page = open(f"{folder}/plain.html", encoding="utf-8").read()
data = re.search(r'<script type="application/json".*(?=<script>)', page, re.S)
others = script("diff", "Differences", {
    "allowed_percent": 3, "failed": True, "first_ns": "1700000000000000001",
    "quantities": {"latency_ns": {"mean": 1500, "p99": 2500000}, "busy_ns": {"mean": 2, "p99": 9}},
    "kernels": [{"name": "<b>gemm</b>", "change": {"percent": 12.5, "difference_ns": 1500}},
                {"name": "relu", "change": {"percent": -100.0, "difference_ns": -2},
                 "where": [{"position": 1}, {"position": 2}]}],
    "none": []})
open(f"{folder}/other.html", "w", encoding="utf-8").write(
    page[:data.start()] + others + page[data.end():])

page = open(f"{folder}/inference.html", encoding="utf-8").read()
advice = load(page, "advise")
advice["findings"][0]["lines"] = [
    {"text": "iteration 7: 1 us more on its critical path", "name": "relu_layer", "iteration": 7}]
advice["not_tried"] = [{"rule": "tail", "reason": "few_iterations"}]
left = {key: {"shown": 2, "all": 12345} for key in
        ("iterations", "layers", "kernels", "memory_lines")}
page = replace(replace(page, "advise", advice), "left_out", left)
open(f"{folder}/advice.html", "w", encoding="utf-8").write(page)

page = open(f"{folder}/inference.html", encoding="utf-8").read()
iters = load(page, "iters")
iters["recording_cost"] = {
    "source": "built_in", "cost_ns": 25000, "of_ns": 250000, "without_ns": 225000,
    "low_ns": 195000, "high_ns": 247500}
open(f"{folder}/estimated.html", "w", encoding="utf-8").write(replace(page, "iters", iters))
iters["recording_cost"] = {
    "source": "measured_beside", "cost_ns": 27099, "of_ns": 228599, "without_ns": 201500,
    "low_ns": 199400, "high_ns": 203600}
open(f"{folder}/measured.html", "w", encoding="utf-8").write(replace(page, "iters", iters))
iters["recording_cost"].update(cost_ns=0, of_ns=201000)
open(f"{folder}/no_cost.html", "w", encoding="utf-8").write(replace(page, "iters", iters))

page = open(f"{folder}/memory.html", encoding="utf-8").read()
for name in ("iters", "advise", "layers", "kernels", "overlap", "memory", "memory_lines"):
    page = replace(page, name, marked(load(page, name)))
open(f"{folder}/marked.html", "w", encoding="utf-8").write(page)

page = open(f"{folder}/stacks.html", encoding="utf-8").read()
page = replace(page, "stacks", marked(load(page, "stacks")))
open(f"{folder}/stacks-marked.html", "w", encoding="utf-8").write(page)
END

if [ -n "${SCREENSHOTS:-}" ]; then
    # Sampled counters, which no trace of tests/data has: on the software GPU.
    LD_LIBRARY_PATH=$BUILD/simgpu CUDA_INJECTION64_PATH=$BUILD/libminiprof.so \
        MINIPROF_OUTPUT=$folder/sampled.mpt MINIPROF_SAMPLE=default@100kHz \
        "$BUILD/samples/inference" --iterations=20 >"$folder/log" 2>&1
    page "$folder/sampled.mpt" sampled
    node "$SOURCE/tests/html/screenshots.mjs"
    exit
fi
passed=0
failed=0
for file in "$SOURCE"/tests/html/test_*.mjs; do
    echo "== $(basename "$file")"
    node "$file" | tee "$folder/log"
    last=$(tail -n 1 "$folder/log")
    if [[ $last =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]]; then
        passed=$((passed + BASH_REMATCH[1]))
        failed=$((failed + BASH_REMATCH[2]))
    else
        echo "not ok $(basename "$file"): no result"
        failed=$((failed + 1))
    fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
