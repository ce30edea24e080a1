#!/bin/bash
# Names of operators with PyTorch itself: `miniprof run --operators` changes nothing of the program,
# and kernels of an eager model belong to the operators that torch.profiler names.
. "$(dirname "$0")/lib.sh"
have_torch || skip "no PyTorch with torchvision and CUDA"
export XDG_CACHE_HOME=$WORK/cache
cat >"$WORK/model.py" <<'END'
import json
import sys

import torch

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(),
                            torch.nn.Linear(256, 10)).cuda()
data = torch.randn(64, 256, device="cuda")


def step():
    model.zero_grad()
    loss = model(data).square().mean()
    loss.backward()
    return loss


for _ in range(3):
    step()
torch.cuda.synchronize()
if sys.argv[1:] == ["truth"]:
    with torch.profiler.profile() as profile:
        step()
        torch.cuda.synchronize()
    found = {}
    for event in profile.events():
        for kernel in event.kernels:
            found.setdefault(event.name, []).append(kernel.name)
    print(json.dumps(found))
else:
    torch.cuda.profiler.start()
    step()
    torch.cuda.synchronize()
    torch.cuda.profiler.stop()
    print("%.6f" % float(step()))
END
truth=$(python3 "$WORK/model.py" truth 2>"$WORK/errors.txt") ||
    fail "torch.profiler: $(tail -n 3 "$WORK/errors.txt")"
plain=$(python3 "$WORK/model.py")
for operators in torch modules; do
    trace=$WORK/$operators.mpt
    told=$("$BUILD/miniprof" run --no-summary --capture range --operators $operators -o "$trace" \
        python3 "$WORK/model.py" 2>"$WORK/errors.txt") ||
        fail "$operators: $(tail -n 3 "$WORK/errors.txt")"
    grep -q MINIPROF_OPERATORS "$WORK/errors.txt" && fail "$(cat "$WORK/errors.txt")"
    [ "$told" = "$plain" ] || fail "$operators: the program's result: $told, alone $plain"
    "$BUILD/miniprof" kernels --by operator --csv "$trace" >"$WORK/$operators.csv"
    python3 - "$WORK/$operators.csv" "$truth" <<'END' || fail "$operators: others than it names"
import csv, json, sys
rows = list(csv.DictReader(open(sys.argv[1])))
mine = {}
for row in rows:
    operator = row["name"].rsplit(", from ", 1)[1]
    mine[operator] = mine.get(operator, 0) + int(row["calls"])
told = {name: len(kernels) for name, kernels in json.loads(sys.argv[2]).items()}
print("%-48s %9s %14s" % ("operator", "miniprof", "torch.profiler"))
for name in sorted(set(mine) | set(told)):
    print("%-48s %9d %14d" % (name, mine.get(name, 0), told.get(name, 0)))
both = sum(min(count, told.get(name, 0)) for name, count in mine.items())
sys.exit(both < 0.9 * sum(mine.values()) or not mine)
END
    ok "$operators: kernels belong to the operators that torch.profiler names"
done
names=$("$BUILD/miniprof" dump --table string --csv "$WORK/torch.mpt" | grep -c 'op_id = ')
[ "$names" = 0 ] || fail "$names names with numbers of calls"
ok "names have no numbers of calls"
"$BUILD/miniprof" layers --top 12 "$WORK/modules.mpt"
