#!/bin/bash
# docs/tutorial.md on this GPU: an inference loop as found (pageable memory), with pinned memory and
# as a CUDA graph, four runs each; ResNet-50 in PyTorch, eager and as a graph. The document's
# figures differ from one machine to another, what it concludes must not.
# TUTORIAL_TRACES=FOLDER keeps the traces.
. "$(dirname "$0")/lib.sh"

program=("$BUILD/samples/inference" --warmup 500 --iterations 50 --layers 48 --kernel-us 2)
traces=${TUTORIAL_TRACES:-$WORK}
mkdir -p "$traces" && cd "$traces" || exit 1

run() { # NAME OPTIONS...
    local name=$1 i
    shift
    for i in 1 2 3 4; do
        traced "$name.$i.mpt" "${program[@]}" "$@" >out.txt 2>err.txt ||
            fail "$name: $(head -n 3 err.txt)"
    done
    rm -f out.txt err.txt
}

# resnet50 NAME OPTIONS...: iterations behind the first launch of a graph or kernel.
resnet50() {
    local name=$1
    shift
    traced "$name.mpt" python3 "$SOURCE/samples/torch/resnet50.py" --iterations 50 "$@" \
        >/dev/null 2>err.txt || fail "$name: $(head -n 3 err.txt)"
    rm -f err.txt
}

run found --pageable
run pinned
run graph --graph
torch=()
if have_torch; then
    resnet50 resnet50_eager
    resnet50 resnet50_graph --mode graph
    torch=(resnet50_eager resnet50_graph)
fi
python3 - "$BUILD/miniprof" "${torch[@]}" <<'END' || fail "see above"
import json, subprocess, sys

MINIPROF, TORCH = sys.argv[1], sys.argv[2:]
RUNS, COPY = range(1, 5), "idle_copy_ns"


def ask(command, *arguments, codes=(0,)):
    done = subprocess.run([MINIPROF, command, *arguments, "--json"], capture_output=True, text=True)
    if done.returncode not in codes:
        sys.exit(f"miniprof {command}: exit code {done.returncode}: {done.stderr}")
    return json.loads(done.stdout), done.returncode


def runs(name):
    return [f"{name}.{i}.mpt" for i in RUNS]


def claim(what, holds, evidence):
    print(f"{'ok' if holds else 'NOT SO'}: {what}: {evidence}")
    return holds


def iterations(trace):
    report, _ = ask("iters", trace)
    p50 = {key: value["p50"] / 1e3 for key, value in report["statistics"].items()
           if key.endswith("_ns")}
    print(f"{trace}: {report['count']} iterations, us: latency {p50['latency_ns']:.1f}, kernels "
          f"{p50['kernel_ns']:.1f}, HtoD {p50['htod_ns']:.1f}, DtoH {p50['dtoh_ns']:.1f}, idle "
          f"{p50['idle_ns']:.1f}; {report['throughput_per_second']:.0f} a second")
    return p50


def rules(trace):
    findings = {f["rule"]: f["gain_percent"] for f in ask("advise", trace)[0]["findings"]}
    print(f"{trace}: " + ", ".join(f"{rule} {gain:.1f} %" for rule, gain in findings.items()))
    return findings


def layers(trace):
    rows = [row for row in ask("layers", trace)[0]["layers"] if row["domain"] == "layers"]
    return {row["name"]: (row["calls"], row["kernels"]) for row in rows}


def diff(a, b, *options, codes=(0,)):
    report, code = ask("diff", *a, "--", *b, *options, codes=codes)
    found = report["iterations"]
    print(f"{a[0]}... -- {b[0]}...: {found['percent']:+.1f} %, {found['low_ns'] / 1e3:+.1f} to "
          f"{found['high_ns'] / 1e3:+.1f} us")
    return found, code


times = {name: iterations(f"{name}.1.mpt") for name in ("found", "pinned", "graph")}
advice = {name: rules(f"{name}.1.mpt") for name in times}
diff(runs("found"), runs("pinned"))
found, _ = diff(runs("pinned"), runs("graph"))
_, better = diff(runs("pinned"), runs("graph"), "--fail-above", "3%")
_, worse = diff(runs("graph"), runs("pinned"), "--fail-above", "3%", codes=(0, 1))
of = {name: layers(f"{name}.1.mpt") for name in times}
claims = [
    claim("pageable memory is found, and only there",
          ["pageable_copies" in advice[name] for name in times] == [True, False, False],
          [sorted(advice[name]) for name in times]),
    claim("eager is bound by launches, the graph is not",
          ["launch_bound" in advice[name] for name in times] == [True, True, False], "see above"),
    claim("only with pageable memory the GPU waits for copies",
          times["pinned"][COPY] < times["found"][COPY] / 4, [times[name][COPY] for name in times]),
    claim("a graph is faster still", found["high_ns"] < 0, found["high_ns"]),
    claim("--fail-above tells better from worse", (better, worse) == (0, 1), (better, worse)),
    claim("48 layers, eager and in the graph", len(of["found"]) == 48 and
          of["found"] == of["pinned"] == of["graph"], [len(rows) for rows in of.values()]),
]
gain = advice["pinned"].get("launch_bound", 0) / 100
expected = times["pinned"]["latency_ns"] * (1 - gain)
print(f"graph: advised {expected:.1f} us an iteration, {times['graph']['latency_ns']:.1f} measured")
if TORCH:
    eager, graph = TORCH
    found, _ = diff([f"{eager}.mpt"], [f"{graph}.mpt"])
    iterations(f"{eager}.mpt")
    iterations(f"{graph}.mpt")
    claims.append(claim("ResNet-50 as a graph is faster, and eager is bound by launches",
                        found["high_ns"] < 0 and "launch_bound" in rules(f"{eager}.mpt") and
                        "launch_bound" not in rules(f"{graph}.mpt"), found["percent"]))
sys.exit(not all(claims))
END
ok "what the tutorial says holds here"
