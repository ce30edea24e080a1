#!/bin/bash
# Copies between two real GPUs with peer access: both ends are in the rows.
. "$(dirname "$0")/lib.sh"
[ "$(nvidia-smi -L | grep -c '^GPU')" -ge 2 ] || skip "fewer than two GPUs"
have_torch || skip "no PyTorch with torchvision and CUDA"

cat >"$WORK/peer.py" <<'END'
import sys
import torch
if not torch.cuda.can_device_access_peer(0, 1):
    sys.exit(77)
source = torch.ones(1 << 20, device="cuda:0")
target = torch.empty(1 << 20, device="cuda:1")
target.copy_(source)  # once before the range: this enables the access
torch.cuda.synchronize(0), torch.cuda.synchronize(1)
torch.cuda.profiler.start()
for _ in range(3):
    target.copy_(source)
torch.cuda.synchronize(0), torch.cuda.synchronize(1)
torch.cuda.profiler.stop()
print("sum", int(target.sum().item()))
END
traced "$WORK/peer.mpt" python3 "$WORK/peer.py" >"$WORK/out" 2>"$WORK/err"
status=$?
[ $status -ne 77 ] || skip "these GPUs have no peer access"
[ $status -eq 0 ] || fail "exit status $status: $(cat "$WORK/err")"
grep -qx "sum 1048576" "$WORK/out" || fail "wrong output: $(cat "$WORK/out")"
"$BUILD/miniprof" check "$WORK/peer.mpt" || fail "the trace is damaged"
"$BUILD/miniprof" dump --table copy --csv "$WORK/peer.mpt" >"$WORK/copies.csv"
cat "$WORK/copies.csv"
python3 - "$WORK/copies.csv" <<'END' || fail "see above"
import csv, sys
rows = list(csv.reader(open(sys.argv[1])))
head, rows = rows[0], rows[1:]
peers = [row for row in (dict(zip(head, r)) for r in rows) if row["kind"] == "PtoP"]
ends = {(r["bytes"], r["source_device"][-3:], r["target_device"][-3:]) for r in peers}
sys.exit(len(peers) != 3 or ends != {("4194304", "(0)", "(1)")})
END
ok "peer copies"
