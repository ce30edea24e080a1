#!/bin/bash
# Dependency analysis of programs whose dependencies are known, on a real GPU: graphs with branches,
# events between streams, blocking calls. The parts sum to the window, nothing contradicts the
# times, and every dependency that the program makes is found.
. "$(dirname "$0")/lib.sh"
steps=$BUILD/tests/e2e/steps
[ -x "$steps" ] || skip "tests/e2e/steps was not built"

# analyse NAME COMMAND...: its trace, and what `deps` says of it.
analyse() {
    local name=$1
    shift
    traced "$WORK/$name.mpt" "$@" >"$WORK/out" 2>"$WORK/err" || fail "$name: $(cat "$WORK/err")"
    "$BUILD/miniprof" deps --trace --json "$WORK/$name.mpt" >"$WORK/$name.json" ||
        fail "$name: deps says $?"
}

# expect NAME: the statements on standard input hold; `activities`, `report`, `bound(X)` and
# `kernels(NAME)` are at hand.
expect() {
    python3 - "$WORK/$1.json" <(cat) <<'END' || fail "$1: see above"
import json, sys
report = json.load(open(sys.argv[1]))
activities = report["activities"]
by_number = {a["number"]: a for a in activities}

def kernels(name):
    return [a for a in activities if a["kind"] == "kernel" and a["name"].startswith(name)]

def bound(activity):
    """What bound an activity, and the name of what it was bound to."""
    to = by_number.get(activity["bound_to"])
    return activity["bound_by"], to and to["name"].split("(")[0]

always = ['sum(r["critical_ns"] for r in report["rows"]) == report["window_ns"]',
          'sum(report["parts"].values()) <= report["window_ns"]',
          'report["contradicted"] == 0', 'report["unknown_events"] == 0',
          'report["unlaunched"] == 0', 'report["unknown_graphs"] == 0',
          'all(a["slack_ns"] == 0 for a in activities if a["critical_ns"])']
wrong = [line for line in always + open(sys.argv[2]).read().splitlines() if not eval(line)]
for line in wrong:
    print("does not hold:", line)
print(f"{len(activities)} activities, clamped {report['clamped']}, parts {report['parts']}")
sys.exit(bool(wrong))
END
    ok "$1"
}

# alpha, then gamma beside two betas on another stream, then alpha that awaits both branches.
branches=(stream=1 capture alpha=1 record=0 stream=2 wait=0 beta=1 beta=1 record=1
    stream=1 gamma=1 wait=1 alpha=1 end-capture=0)
analyse graph "$steps" init "${branches[@]}" instantiate=0 start launch=0 launch=0 stream=2 \
    launch=0 sync stop
expect graph <<'END'
len(kernels("")) == 15
all(bound(k)[0] == "D7" for k in kernels("beta") + kernels("gamma"))
[bound(k)[1] for k in kernels("gamma")] == ["alpha"] * 3
sorted(bound(k)[1] for k in kernels("beta")) == ["alpha"] * 3 + ["beta"] * 3
sum(bound(k)[0] == "D7" for k in kernels("alpha")) == 3
END

# Blocks of alpha beside beta on two streams, each waiting for both of the block before.
two_streams=("$BUILD/samples/whatif" --case two-stream --beta 140 --iterations 10)
analyse longer_alpha "${two_streams[@]}" --alpha 200
expect longer_alpha <<'END'
len(kernels("beta")) == len(kernels("alpha")) == 60
sum(bound(k) == ("D4", "alpha_layer") for k in kernels("beta")) == 50
sum(bound(k) == ("D3", "alpha_layer") for k in kernels("alpha")) == 50
all(50000 < k["waiting_ns"] < 70000 for k in kernels("beta") if bound(k)[0] == "D4")
sum(a["bound_by"] == "D6" for a in activities if "StreamSynchronize" in a["name"]) == 10
END
analyse longer_beta "${two_streams[@]}" --alpha 100
expect longer_beta <<'END'
sum(bound(k) == ("D4", "beta_layer") for k in kernels("alpha")) == 50
sum(bound(k) == ("D3", "beta_layer") for k in kernels("beta")) == 50
END

# Blocking copies and a synchronising free.
analyse blocking "$steps" init alloc=4194304 start copy-in=4096 alpha=200 copy-out=4096 \
    alpha=400 free stop
expect blocking <<'END'
all(a["waiting_ns"] > 0 for a in activities if a["name"].startswith("cuMemcpyDtoH"))
[a["bound_by"] for a in activities if a["name"] == "cuMemFree"] in (["D8"], ["D1"])
END

analyse inference "$BUILD/samples/inference" --iterations 25 --layers 20
expect inference </dev/null
have_torch || exit 0
for mode in eager graph; do
    analyse "resnet50_$mode" python3 "$SOURCE/samples/torch/resnet50.py" --mode $mode \
        --iterations 30
    expect "resnet50_$mode" </dev/null
done
[ -z "${KEEP:-}" ] || cp "$WORK"/*.mpt "$KEEP"/
