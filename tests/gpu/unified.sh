#!/bin/bash
# Unified memory on a GPU: samples/managed.py moves an array of known size to and fro; the report
# has at least those bytes in both directions, and faults on both sides. KEEP=folder keeps the
# trace.
. "$(dirname "$0")/lib.sh"

python3 -c 'import cupy; cupy.zeros(1)' 2>/dev/null || skip "no CuPy"
cd "$WORK" || exit 1
rounds=3
mib=4
MINIPROF_UNIFIED_MEMORY=on traced "$WORK/managed.mpt" \
    python3 "$SOURCE/samples/managed.py" --rounds $rounds --mib $mib || fail "exit status $?"
"$BUILD/miniprof" nvprof -i managed.mpt --print-summary 2>report.txt || fail "no report"
sed -n '/Unified Memory profiling result/,$p' report.txt
"$BUILD/miniprof" dump --csv --raw --table unified managed.mpt | python3 -c '
import csv, sys
rounds, size = int(sys.argv[1]), int(sys.argv[2]) << 20
rows = list(csv.reader(sys.stdin))
at = {name: i for i, name in enumerate(rows[0])}
total, count = {}, {}
for row in rows[1:]:
    kind = int(row[at["kind"]])
    total[kind] = total.get(kind, 0) + int(row[at["value"]])
    count[kind] = count.get(kind, 0) + 1
wrong = [name for kind, name in ((1, "HtoD"), (2, "DtoH")) if total.get(kind, 0) < rounds * size]
wrong += [name for kind, name in ((3, "CPU faults"), (4, "GPU faults")) if not count.get(kind)]
sys.exit("too little: " + ", ".join(wrong) if wrong else 0)' $rounds $mib || fail "see above"
ok "bytes and faults, both ways"
[ -z "${KEEP:-}" ] || cp managed.mpt "$KEEP"/
