#!/bin/bash
# The Python package with PyTorch on a GPU: ranges, layers and profile() in a program that
# torch.cuda.nvtx marks too, and what the package reads of the trace.
. "$(dirname "$0")/lib.sh"
have_torch || skip "no PyTorch with torchvision and CUDA"
mkdir -p "$WORK/miniprof/lib" "$WORK/miniprof/bin"
cp "$SOURCE"/tools/python/miniprof/*.py "$WORK/miniprof"
ln -s "$BUILD/libmptrace.so.1" "$WORK/miniprof/lib"
ln -s "$BUILD/miniprof" "$WORK/miniprof/bin"
export PYTHONPATH=$WORK PYTHONDONTWRITEBYTECODE=1

cat >"$WORK/program.py" <<'END'
import miniprof, torch
model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 8))
model = model.cuda().eval()
data = torch.rand(32, 256, device="cuda")
with torch.no_grad():
    model(data)
    torch.cuda.synchronize()
    miniprof.mark_layers(model)
    with miniprof.profile():
        for _ in range(7):
            with miniprof.range("iteration"):
                model(data)
                torch.cuda.nvtx.range_push("wait")
                torch.cuda.synchronize()
                torch.cuda.nvtx.range_pop()
            with miniprof.range("between", domain="server"):
                pass
    model(data)
    torch.cuda.synchronize()
END
traced "$WORK/program.mpt" python3 "$WORK/program.py" 2>"$WORK/err.txt" ||
    fail "the program: $(tail -n 3 "$WORK/err.txt")"
[ "$(grep -c MiniprofWarning "$WORK/err.txt")" = 0 ] || fail "$(cat "$WORK/err.txt")"
ok "the program"

cat >"$WORK/check.py" <<'END'
import collections, sys
import miniprof
trace = miniprof.open(sys.argv[1])
data = collections.Counter(
    (None if domain != domain else domain, name) for domain, name, kind in zip(
        trace.nvtx["domain"], trace.nvtx["name"], trace.nvtx["kind"]) if kind == "push")
wanted = {(None, name): 7 for name in ("iteration", "0", "1", "2", "wait")}
wanted["server", "between"] = 7
assert data == wanted, data
assert len(trace.table("capture")) == 2, trace.table("capture")
assert len(trace.iterations(iterations="nvtx:iteration")) == 7
layers = {name.split(" > ")[-1] for name in trace.layers()["layer"]}
assert {"0", "1", "2"} <= layers, layers
assert len(trace.kernels) >= 3 * 7, len(trace.kernels)
END
python3 "$WORK/check.py" "$WORK/program.mpt" || fail "the trace is not as the program made it"
ok "ranges, layers, capture range and kernels"
