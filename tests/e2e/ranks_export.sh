#!/bin/bash
# Takes 5 s.
# NCCL's operations in exports, of jobs on the software GPU that tests/data has not: graphs, groups
# that NVTX alone tells of, ranks that are missing, and nobody who tells.
. "$(dirname "$0")/lib.sh"

ranks=$build/tests/e2e/ranks
needs nvtx3/nvToolsExtPayload.h

# play NAME N [[RANK@]VAR=VALUE...] -- ARGUMENT...: traces in $work/NAME.
play() {
    local name=$1 count=$2
    local -a settings command
    shift 2
    split "$@"
    RECORD=$lib "$SOURCE/tests/e2e/ranks/launch" "$count" "$work/$name" "${settings[@]}" \
        -- "$ranks" "${command[@]}" </dev/null >/dev/null 2>&1
}

# kineto NAME: of rank 1 a line "COLLECTIVE ELEMENTS OPERATIONS SEQ..." for each kind of kernel.
kineto() {
    "$miniprof" export --to kineto -f -o "$work/$1.json" "$work/$1/rank1.mpt" 2>/dev/null
    python3 - "$work/$1.json" <<'END'
import collections
import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    events = json.load(file)["traceEvents"]
kinds = collections.defaultdict(list)
for event in events:
    args = event.get("args", {})
    if event.get("cat") == "kernel" and "Collective name" in args:
        kinds[args["Collective name"], args.get("In msg nelems"),
              args.get("operations", 1)].append(args.get("Seq", "-"))
for kind, numbers in sorted(kinds.items(), key=str):
    print(*kind, *numbers)
END
}

late=(late=1:2:0:host:2000)
for told in on nvtx; do
    play "graph$told" 2 MINIPROF_NCCL=$told -- iterations=3 layers=2 graph=1 count=1024 "${late[@]}"
    # NVTX counts calls from 1, NCCL's own numbers too; each replay has those of the capture.
    same "$told: kernels of a graph have the arguments of the captured calls" \
        "allreduce 1024 1 1 2 1 2 1 2" "$(kineto "graph$told")"
    play "group$told" 2 MINIPROF_NCCL=$told -- iterations=2 layers=1 group=3 count=1024 "${late[@]}"
    same "$told: a group's kernel has the elements of all of its calls" \
        "allreduce 3072 3 1 4" "$(kineto "group$told")"
done

play silent 2 MINIPROF_NCCL=off -- iterations=2 layers=1 count=1024
same "nobody tells: the kernel's name does" "allreduce None 1 - -" "$(kineto silent)"

# The lake's sums are those of `ranks`, and its instances those that the program enqueued.
# lake NAME: a line "RANK FUNCTION INSTANCES MATCHED WAITING LAST" for each rank and function.
lake() {
    "$miniprof" export --to parquet -f -o "$work/$1-lake" "$work/$1" 2>/dev/null
    BUILD=$build python3 - "$work/$1-lake" "$SOURCE/tests/exports" <<'END'
import glob
import sys
import unittest

sys.path.insert(0, sys.argv[2])
sys.dont_write_bytecode = True
import parquet_tables

try:
    parquet_tables.modules()
except unittest.SkipTest:
    print("no hyparquet")
    sys.exit()
for run in sorted(glob.glob(sys.argv[1] + "/**/rank=*", recursive=True)):
    table = parquet_tables.read(run)["collective"]
    for row in zip(*(table[key] for key in ("function", "instances", "matched", "waiting_ns",
                                            "last_instances"))):
        print(run[-1], *row)
END
}

# waits NAME: the same of a job with all-reduces only, by `ranks`.
waits() {
    "$miniprof" ranks --csv --table ranks "$work/$1" 2>/dev/null | sed '1d;s/"//g' |
        awk -F, '{ sub(/[.]0+$/, "", $6); print $3, "AllReduce", $5, $5, $6, $8 }'
}

if [ "$(lake silent)" = "no hyparquet" ]; then
    echo "skipped: no hyparquet (npm and 'make deps' fetch it): the lake"
else
    for job in graphon graphnvtx groupon groupnvtx; do
        same "$job: the lake's sums are those of ranks" "$(waits $job)" "$(lake $job)"
    done
    same "nobody tells: no rows" "" "$(lake silent)"
    mkdir missing && cp graphon/rank1.mpt groupon/rank0.mpt missing
    same "ranks without their peers are counted, not matched" \
        "0 AllReduce 6 0 None None
1 AllReduce 6 0 None None" "$(lake missing)"
fi
finish
