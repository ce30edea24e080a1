#!/bin/bash
# Blocks without recording (run --baseline): what a step takes in them, against the program's own
# median when it runs alone: within 3 %. Three PyTorch loops: eager with NVTX ranges, eager without
# any, and a CUDA graph of 800 kernels. Needs torch. ROUNDS: runs of each side, default 5.
. "$(dirname "$0")/lib.sh"

cd "$WORK" || exit 1
python3 -c 'import torch; torch.ones(1).cuda()' 2>/dev/null || skip "no torch with CUDA"

cat >loop.py <<'END'
import statistics, sys, time, torch
kind, steps = sys.argv[1], int(sys.argv[2])
torch.manual_seed(1)
x = torch.randn(64, 512, device="cuda")
model = torch.nn.Sequential(*(torch.nn.Linear(512, 512) for _ in range(100))).cuda().eval()

def work(y):
    with torch.no_grad():
        for _ in range(2 if kind == "graph" else 1):
            for layer in model:
                y = torch.tanh(layer(y)) * 0.5 + 0.1
    return y

work(x)
torch.cuda.synchronize()
if kind == "graph":
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work(x)
step = graph.replay if kind == "graph" else lambda: work(x)
lengths, since = [], None
for i in range(steps):
    begin = time.perf_counter()
    if since is not None and kind != "nvtx":  # from step to step
        lengths.append(begin - since)
    since = begin
    if kind == "nvtx":
        torch.cuda.nvtx.range_push("step")
    step()
    torch.cuda.synchronize()
    if kind == "nvtx":
        torch.cuda.nvtx.range_pop()
        lengths.append(time.perf_counter() - begin)
print(f"{statistics.median(lengths[20:]) * 1e9:.0f}")
END

# fact KIND EXPRESSION: of the JSON document of iters, as d.
fact() {
    "$BUILD/miniprof" iters --json "$1.mpt" |
        python3 -c "import json, sys; d = json.load(sys.stdin)['baseline']; print($2)"
}

one() {
    case $1 in
    alone) python3 loop.py "$kind" 600 >>"$kind.alone" || fail "$kind alone: exit code $?" ;;
    baseline)
        rm -f "$kind.mpt"
        traced "$kind.mpt" env MINIPROF_BASELINE=25% python3 loop.py "$kind" 600 >"$kind.own" \
            2>"$kind.err" || fail "$kind: exit code $?: $(tail -n 3 "$kind.err")"
        [ "$(fact "$kind" "d['known']")" = True ] ||
            fail "$kind: $("$BUILD/miniprof" iters "$kind.mpt" | grep 'No baseline')" \
                "$(grep '^miniprof' "$kind.err")"
        fact "$kind" "d['unrecorded']['p50_ns']" >>"$kind.unrecorded"
        fact "$kind" "d['recorded']['p50_ns']" >>"$kind.recorded"
        [ "$(field "$kind.mpt" "quality" | grep -c "'dropped': 0,")" = 1 ] || fail "$kind: dropped"
        ;;
    esac
}

for kind in nvtx sync graph; do
    for ((run = 0; run < ${ROUNDS:-5}; run++)); do
        one alone
        one baseline
    done
    "$BUILD/miniprof" iters "$kind.mpt" | sed -n '1,5p'
    python3 - "$kind" <<'END' || fail "$kind: more than 3 % from the program alone"
import statistics, sys
kind = sys.argv[1]
alone, without, recorded = (statistics.median(float(line) for line in open(f"{kind}.{side}"))
                            for side in ("alone", "unrecorded", "recorded"))
off = (without / alone - 1) * 100
print(f"{kind}: alone {alone / 1e3:.1f} us, unrecorded {without / 1e3:.1f} us ({off:+.1f} %), "
      f"recorded {recorded / 1e3:.1f} us ({(recorded / alone - 1) * 100:+.1f} %)")
sys.exit(abs(off) > 3)
END
    ok "$kind: unrecorded steps take what they take alone"
done
