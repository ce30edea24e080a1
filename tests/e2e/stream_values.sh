#!/bin/bash
# Values in memory that streams write and wait for: what is recorded of the calls, and that the path
# goes from the work behind a wait to the work ahead of the write that ended it.
. "$SOURCE/tests/e2e/lib.sh" || exit 1
needs cuStreamWaitValue32_v2

iterations=8

# ordered CASE: profiles it; all operations but the captured ones are of calls that were recorded.
ordered() {
    bare plain SIMGPU_NOISE=0 -- "$build/tests/e2e/stream_values" "$1" $iterations
    profile "$1" SIMGPU_NOISE=0 -- "$build/tests/e2e/stream_values" "$1" $iterations
    unharmed "$1" "$1" plain 0
    complete "$1" "$1"
    same "$1: correlation ids are those of the calls" \
        "$(rows "$1" call | grep -E ',cuStream(Wait|Write)Value|,cuStreamBatchMemOp' |
            awk -F, '{ print $5 }')" "$(column "$1" stream_value correlation | uniq)"
}

# values CASE: stream, operation, bits and value of each row; addresses differ from run to run.
values() {
    rows "$1" stream_value | awk -F, '{ print $1, $3, $4, $6 }'
}

# deps CASE EXPRESSION: of the JSON of the dependency analysis, `report`.
deps() {
    "$miniprof" deps --json --trace "$work/$1.mpt" >"$work/deps.json"
    python3 - "$work/deps.json" "$2" <<'EOF'
import json, sys
report = json.load(open(sys.argv[1]))
by_number = {each["number"]: each for each in report["activities"]}
rows = {row["name"]: row for row in report["rows"]}
bound = [(each["name"], each["bound_by"], by_number[each["bound_to"]]["name"])
         for each in report["activities"] if each["name"].endswith("_layer")]
print(eval(sys.argv[2]))
EOF
}

# on_path CASE: slow_layer (400 us) and then fast_layer (50 us) are the path, in every iteration.
on_path() {
    same "$1: slow_layer is on the path" True \
        "$(deps "$1" "rows['slow_layer']['critical_ns'] >= $iterations * 400000")"
    same "$1: fast_layer is on the path" True \
        "$(deps "$1" "rows['fast_layer']['critical_ns'] >= $iterations * 50000")"
    same "$1: fast_layer waits for slow_layer" $iterations \
        "$(deps "$1" "bound.count(('fast_layer', 'D4', 'slow_layer'))")"
    same "$1: nothing is contradicted" 0 "$(deps "$1" "report['contradicted']")"
}

ordered early
on_path early
same "early: rows" "$(for ((i = 1; i <= iterations; i++)); do
    echo "14 wait_geq 32 0x$i"
    echo "13 write 32 0x$i"
done)" "$(values early)"
same "early: one address" 1 "$(column early stream_value address | sort -u | wc -l)"
same "early: all waits are understood" 0 "$(deps early "report['unknown_values']")"

ordered late
on_path late
same "late: rows" "$(for ((i = 1; i <= iterations; i++)); do
    echo "13 write 64 0x$i"
    echo "14 wait_eq 64 0x$i"
done)" "$(values late)"

ordered batch
on_path batch
same "batch: rows" "$(for ((i = 1; i <= iterations; i++)); do
    echo "14 wait_eq 32 0x1"
    echo "14 write 32 0x0"
    echo "13 wait_eq 32 0x0"
    echo "13 write 32 0x1"
done)" "$(values batch)"
# The first 0 that A waits for was there before.
same "batch: the first value is not known" 1 "$(deps batch "report['unknown_values']")"

# No thread waits between the turns: the path leads from each slow_layer to the one before it.
ordered ahead
same "ahead: fast_layer waits for slow_layer" $iterations \
    "$(deps ahead "bound.count(('fast_layer', 'D4', 'slow_layer'))")"
same "ahead: slow_layer is on the path" True \
    "$(deps ahead "rows['slow_layer']['critical_ns'] >= $iterations * 400000")"
same "ahead: the first value is not known" 1 "$(deps ahead "report['unknown_values']")"

ordered host
same "host: no row of what the thread writes" "$iterations wait_eq" \
    "$(echo $(column host stream_value operation | uniq -c))"
same "host: nobody is known to have written" $iterations "$(deps host "report['unknown_values']")"
like "host: the report says so" "$iterations waits of streams for values in memory" \
    "$("$miniprof" deps host.mpt)"

# The write is a node, whose stream is not known: no order is invented.
ordered graph
same "graph: the captured write has no stream" "4294967295 write 32 0x1" \
    "$(values graph | head -n 1)"
same "graph: its order is not known" $iterations "$(deps graph "report['unknown_values']")"

# Without the calls that make dependencies there are none of these rows.
profile none MINIPROF_API=none -- "$build/tests/e2e/stream_values" early 2
same "MINIPROF_API=none: no rows" 0 "$(count none stream_value)"
finish
