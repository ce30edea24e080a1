#!/bin/bash
# Takes 10 s.
# NCCL's operations from each source: NVTX with old and new payloads and with names only, the
# profiler plugin of each version, both, and neither. The program (programs/collectives.c) says what
# there must be.
. "$SOURCE/tests/e2e/lib.sh" || exit 1

collectives=$build/tests/e2e/collectives
needs nvtx3/nvToolsExtPayload.h

# cells NAME TABLE COLUMN...: one word a row, the columns with slashes between; - for an empty one
cells() {
    local name=$1 table=$2
    shift 2
    "$miniprof" dump "$name.mpt" --table "$table" --csv | sed '/^$/d' | python3 -c '
import csv, sys
for row in csv.DictReader(sys.stdin):
    print("/".join(row[column] or "-" for column in sys.argv[1:]))' "$@" |
        tr '\n' ' ' | sed 's/ $//'
}

told() { # NAME: the line of info
    "$miniprof" info "$1.mpt" | sed -n 's/^collectives  *//p'
}

try() { # NAME NVTX PLUGIN [late] [VAR=VALUE]...
    local name=$1 nvtx=$2 plugin=$3 late=
    shift 3
    if [ "${1-}" = late ]; then
        late=late
        shift
    fi
    profile "$name" NCCL_PROFILER_PLUGIN="$lib" "$@" -- "$collectives" "$nvtx" "$plugin" $late
    complete "$name" "$name"
}

# values NAME FIELD RANGE: the values of a payload's field, by the join that the documents describe
values() {
    local table
    for table in payload_field payload nvtx; do
        "$miniprof" dump "$1.mpt" --table $table --csv --raw | sed '/^$/d' >"$table.csv"
    done
    "$miniprof" dump "$1.mpt" --table string --csv --raw | sed '/^$/d' >string.csv
    python3 - "$2" "$3" <<'END'
import csv, sys
table = {name: list(csv.DictReader(open(name + ".csv")))
         for name in ("string", "payload_field", "payload", "nvtx")}
text = {row["id"]: row["text"] for row in table["string"]}
fields = {row["id"]: row for row in table["payload_field"]}
values = {(fields[row["field"]]["payload_schema"], row["number"]): int(row["value"], 0)
          for row in table["payload"]
          if text.get(fields[row["field"]]["name"]) == sys.argv[1]}
print(" ".join(str(values[row["payload_schema"], row["extended"]]) for row in table["nvtx"]
               if text.get(row["name"]) == sys.argv[2] and row["payload_schema"] != "0"))
END
}

none=4294967295

# ---- Each source alone ----

try names names 0
same "names: eight operations by order, without sizes or communicators" \
    "AllReduce/name/0/0 AllReduce/name/0/0 AllReduce/name/0/0 AllReduce/name/0/0 AllGather/name/0/0\
 Send/name/0/0 Recv/name/0/0 AllReduce/name/0/0" \
    "$(cells names collective function source number bytes)"
same "names: info says so" "8 by NVTX names only (no sizes, no communicators)" "$(told names)"

try old old 0
same "old payloads: sizes, operations and peers, no communicator" \
    "AllReduce/nvtx/-/16384/Sum/$none AllReduce/nvtx/-/16384/Sum/$none\
 AllReduce/nvtx/-/16384/Sum/$none AllReduce/nvtx/-/8192/Sum/$none AllGather/nvtx/-/1024/-/$none\
 Send/nvtx/-/4096/-/2 Recv/nvtx/-/4096/-/2 AllReduce/nvtx/-/64/Sum/$none" \
    "$(cells old collective function source communicator bytes operation peer)"

try new new 0
same "new payloads: the communicator of the pop, and numbers in it" \
    "0x1122334455667788/4/1/0" "$(cells new communicator hash ranks rank device)"
same "new payloads: collectives are numbered together, sends and receives by peer" \
    "#1/1 #1/2 #1/3 #1/4 #1/5 #1/1 #1/1 #1/6" "$(cells new collective communicator number)"
same "new payloads: the captured one is told from the others" "0 0 0 0 0 0 0 1" \
    "$(cells new collective captured)"
same "new payloads: its node is known" "$(cells new collective carrier | cut -d' ' -f8)" \
    "$(cells new nccl_node carrier)"
same "new payloads: info says so" "8 by NVTX" "$(told new)"

for version in 5 6; do
    try "plugin$version" none $version
    same "plugin v$version: loaded" "plugin miniprof, mask 3846, failed 0" \
        "$(cat "plugin$version.out")"
    same "plugin v$version: NCCL's numbers, one carrier for a group, smaller ones first in it" \
        "AllReduce/1/1/16384 AllReduce/2/2/16384 AllReduce/3/3/16384 AllGather/1/4/1024\
 AllReduce/4/4/8192 Send/0/5/4096 Recv/0/5/4096 AllReduce/0/6/64" \
        "$(cells "plugin$version" collective function sequence carrier bytes)"
    same "plugin v$version: communicator and its name" "world/4/1/0" \
        "$(cells "plugin$version" communicator name ranks rank device)"
    same "plugin v$version: the launches of its operations are those of the kernels" \
        "$(rows "plugin$version" collective | python3 -c '
import csv, sys
rows = [row[-1] for row in csv.reader(sys.stdin)]
print(" ".join(dict.fromkeys(row for row in rows if row.isdigit() and row != "0")))')" \
        "$("$miniprof" dump "plugin$version.mpt" --table kernel --csv | sed '/^$/d' | python3 -c '
import csv, sys
print(" ".join(row["correlation"] for row in csv.DictReader(sys.stdin)
               if not row["node"].strip("0")))')"
    same "plugin v$version: the node of the captured one" "6" \
        "$(cells "plugin$version" nccl_node carrier)"
done
same "plugin: info says so" "8 by NCCL's profiler plugin" "$(told plugin5)"

try plugin4 none 4
same "plugin v4: what launches carry, and nothing captured" \
    "AllReduce/1 AllReduce/2 AllReduce/3 AllGather/1 AllReduce/4 Send/0 Recv/0" \
    "$(cells plugin4 collective function sequence)"

# ---- Together ----

for version in 4 5 6; do
    try "both$version" new $version
    same "both, v$version: one row each, with what each knows" \
        "1/1/Sum/16384 2/2/Sum/16384 3/3/Sum/16384 4/4/Sum/8192 5/1/-/1024 6/0/Sum/64" \
        "$(cells "both$version" collective function number sequence operation bytes |
            tr ' ' '\n' | sed -n 's#^All[a-zA-Z]*/##p' | sort | tr '\n' ' ' | sed 's/ $//')"
done
same "both: whatever the plugin tells of is its own" "plugin" \
    "$(cells both6 collective source | tr ' ' '\n' | sort -u)"

# ---- Switched off, late, and neither ----

try off new 6 MINIPROF_NCCL=off
same "off: no operations" "" "$(cells off collective function)"
same "off: the plugin asks for nothing" "plugin miniprof, mask 0, failed 0" "$(cat off.out)"
same "off: NVTX's payloads are recorded all the same" 1 \
    "$(($("$miniprof" dump off.mpt --table payload --csv | wc -l) > 20))"
try nvtx new 6 MINIPROF_NCCL=nvtx
same "nvtx: the plugin asks for nothing" "8 by NVTX" "$(told nvtx)"
try silent none 0
same "neither: info says that NCCL ran" \
    "unknown: NCCL ran and told nothing (NCCL_NVTX_DISABLE=1 or MINIPROF_NCCL=off)" \
    "$(told silent)"
try late new 6 late MINIPROF_CAPTURE=range
same "late: NCCL's own numbers, and the communicator that was made before" \
    "1 2 3 world/4/1/0" \
    "$(cells late collective sequence | cut -d' ' -f1-3) $(
        cells late communicator name ranks rank device)"

# ---- Payloads, and what `run` sets ----

same "payload: the sizes stand with their ranges" "16384 16384 16384 8192 64" \
    "$(values new "Message size [bytes]" ncclAllReduce)"
same "category: its name" "NCCL/7/seven" "$(cells new category domain category name)"
"$miniprof" run --no-summary --output run.mpt -- "$collectives" none 6 >run.out 2>run.err
same "run: sets the plugin" "8 by NCCL's profiler plugin" "$(told run)"
NCCL_PROFILER_PLUGIN=none "$miniprof" run --no-summary --output user.mpt -- "$collectives" none 6 \
    >user.out 2>user.err
same "run: leaves the user's plugin" "no plugin" "$(cat user.out)"
finish
