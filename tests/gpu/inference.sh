#!/bin/bash
# samples/inference on a real GPU: the trace holds the profiled loop only, all of it, and the
# program does not notice.
. "$(dirname "$0")/lib.sh"

iterations=25 layers=20

check() { # NAME COPIES KERNELS OPTIONS...
    local name=$1 copies=$2 kernels=$3
    shift 3
    local run=("$BUILD/samples/inference" --iterations "$iterations" --layers "$layers" "$@")
    "${run[@]}" >"$WORK/bare.out" || fail "$name: the program itself fails"
    traced "$WORK/$name.mpt" "${run[@]}" >"$WORK/traced.out" 2>"$WORK/traced.err"
    local status=$?
    [ $status -eq 0 ] || fail "$name: exit status $status: $(cat "$WORK/traced.err")"
    cmp -s "$WORK/bare.out" "$WORK/traced.out" || fail "$name: the program's output changed"
    "$BUILD/miniprof" check "$WORK/$name.mpt" || fail "$name: the trace is damaged"
    "$BUILD/miniprof" summary --json "$WORK/$name.mpt" >"$WORK/$name.json" ||
        fail "$name: no summary"
    python3 - "$WORK/$name.json" "$copies" "$kernels" <<'END' || fail "$name: see above"
import json, sys
report = json.load(open(sys.argv[1]))
rows = [r for g in report["groups"] if g["name"] == "gpu_activities" for r in g["rows"]]
copies = sum(r["calls"] for r in rows if r["name"].startswith("[CUDA memcpy"))
kernels = sum(r["calls"] for r in rows if not r["name"].startswith("["))
tactics = [r["name"] for r in rows if "tactic" in r["name"]]
print(f"{copies} copies, {kernels} kernels, {len(tactics)} names of the build phase")
sys.exit((copies, kernels, tactics) != (int(sys.argv[2]), int(sys.argv[3]), []))
END
    "$BUILD/miniprof" info --json "$WORK/$name.mpt" | python3 -c '
import json, sys
dropped = json.load(sys.stdin)["quality"].get("dropped", 0)
sys.exit(f"{dropped} records dropped" if dropped else 0)' || fail "$name: records were dropped"
    ok "$name"
}

check eager $((2 * iterations)) $((iterations * layers))
check graph $((2 * iterations)) $((iterations * layers)) --graph
check one_stream $((2 * iterations)) $((iterations * layers)) --streams 1
check threads $((8 * iterations)) $((4 * iterations * layers)) --threads 4
MINIPROF_CAPTURE=range check range $((2 * iterations)) $((iterations * layers))
MINIPROF_CAPTURE=range check range_graph $((2 * iterations)) $((iterations * layers)) --graph
