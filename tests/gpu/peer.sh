#!/bin/bash
# Copies between two real GPUs: both ends are in the rows.
. "$(dirname "$0")/lib.sh"
steps=$BUILD/tests/e2e/steps
[ "$(nvidia-smi -L | grep -c '^GPU')" -ge 2 ] || skip "fewer than two GPUs"
[ -x "$steps" ] || skip "tests/e2e/steps was not built"

program=("$steps" init device=1 copy-peer=4096 alpha=2 device=0 stream=1 alpha=3 copy-peer=512 sync
    print=done)
"${program[@]}" >"$WORK/bare.out" || fail "the program itself fails"
traced "$WORK/peer.mpt" "${program[@]}" >"$WORK/traced.out" 2>"$WORK/err" ||
    fail "exit status $? with the collector: $(cat "$WORK/err")"
cmp -s "$WORK/bare.out" "$WORK/traced.out" || fail "the program's output changed"
"$BUILD/miniprof" check "$WORK/peer.mpt" || fail "the trace is damaged"
"$BUILD/miniprof" dump --table copy --csv --raw "$WORK/peer.mpt" >"$WORK/copies.csv"
python3 - "$WORK/copies.csv" <<'END' || fail "see above"
import csv, sys
rows = list(csv.reader(open(sys.argv[1])))
head, rows = rows[0], rows[2:]
found = sorted((int(row["bytes"]), int(row["kind"]), int(row["source_device"]),
                int(row["target_device"])) for row in (dict(zip(head, r)) for r in rows))
print("bytes, kind, source device, target device:", found)
PEER = 10
sys.exit(len(found) != 2 or [f[:2] for f in found] != [(512, PEER), (4096, PEER)]
         or any(f[2] == f[3] for f in found))
END
"$BUILD/miniprof" summary "$WORK/peer.mpt"
echo "ok peer copies"
