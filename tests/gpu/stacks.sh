#!/bin/bash
# Stacks on a GPU, which it needs: each launch of an eager PyTorch model has the stack that Python
# tells. A launch of what torch.compile made comes from code that Inductor generated, and outside of
# that from the line that called the function; this part needs a compiler for Triton.
#
# And what a stack costs a launch at depths 10, 30 and 100, Python's and native. Every second launch
# has a stack, and is compared with its neighbours without one, so a machine that gets slower does
# not matter. bench_watch.sh measures whole models.
. "$(dirname "$0")/lib.sh"
have_torch || skip "no PyTorch with torchvision and CUDA"
program=$SOURCE/tests/gpu/stacks.py

# recorded FILE STACKS ARGUMENT...
recorded() {
    local trace=$1 stacks=$2
    shift 2
    rm -f "$trace"
    MINIPROF_CAPTURE=range MINIPROF_STACKS=$stacks traced "$trace" python3 "$program" "$@" \
        2>>"$WORK/errors.txt"
}

recorded "$WORK/truth.mpt" python truth "$WORK/truth.json" ||
    fail "the program: $(tail -n 3 "$WORK/errors.txt")"
"$BUILD/miniprof" stacks --json "$WORK/truth.mpt" >"$WORK/stacks.json" ||
    fail "miniprof stacks: exit code $?"
python3 - "$WORK/truth.json" "$BUILD/miniprof" "$WORK/truth.mpt" <<'END' || fail "stacks differ"
import csv, io, json, subprocess, sys
told = json.load(open(sys.argv[1]))
def table(name):
    text = subprocess.run([sys.argv[2], "dump", sys.argv[3], "--table", name, "--csv", "--raw"],
                          check=True, stdout=subprocess.PIPE, text=True).stdout
    return list(csv.DictReader(io.StringIO(text)))
text = {row["id"]: row["text"] for row in table("string")}
codes = {row["id"]: row for row in table("code")}
frames = {row["id"]: row for row in table("frame")}
known = {"0": []}
for row in table("stack"):
    frame = frames[row["frame"]]
    code = codes.get(frame["code"])
    known[row["id"]] = [[text[code["name"]].rsplit(".", 1)[-1] if code else "?",
                         text[code["file"]] if code else "?", int(frame["line"])]
                        ] + known[row["caller"]]
functions = {row["id"]: text[row["name"]] for row in table("function")}
launches = [known[row["stack"]] for row in sorted(table("call"), key=lambda r: int(r["start_ns"]
            if "start_ns" in r else r["start"])) if "Launch" in functions[row["function"]]]
forward = [stack for stack in launches if stack and stack[0][0] == "forward"]
print(len(launches), "launches,", len(forward), "of forward,", len(told["eager"]), "told")
compiled = [stack for stack in launches if any(frame[0] == "call_compiled" for frame in stack)]
print(len(compiled), "launches of", len(told["compiled"]), "calls of what was compiled")
def is_right(stack):
    """Innermost first: generated code, then the program as it told."""
    depth = len(told["compiled"][0])
    return stack[-depth:] == told["compiled"][0] and any(
        frame[1].startswith(told["generated"]) for frame in stack[:-depth])
wrong = [stack for stack in compiled if not is_right(stack)]
if wrong:
    print("differs:", wrong[0], "told:", told["compiled"][0])
sys.exit(forward != told["eager"] or len(compiled) < len(told["compiled"]) or bool(wrong))
END
ok "every launch of a layer has the stack that Python tells, also of what torch.compile made"

for round in 1 2 3; do
    for stacks in python native both; do
        MINIPROF_STACKS_EVERY=2 recorded "$WORK/depths.mpt" $stacks depths "$WORK/depths.json" ||
            fail "the program: $(tail -n 3 "$WORK/errors.txt")"
        "$BUILD/miniprof" dump "$WORK/depths.mpt" --table call --csv >"$WORK/calls.csv"
        python3 "${program%.py}_cost.py" "$WORK/depths.json" "$WORK/calls.csv" >"$WORK/cost" ||
            fail "the launches of the trace are not the program's"
        sed "s/^/round $round: stacks $stacks: /" "$WORK/cost"
    done
done
dropped=$("$BUILD/miniprof" dump "$WORK/depths.mpt" --table quality --csv | grep -c dropped_stacks)
[ "$dropped" = 0 ] || fail "stacks were lost"
ok "no stack was lost"
