#!/bin/bash
# Takes 30 s.
# A fleet of 2,000 traces (make_fleet): added, then asked every question of docs/fleet.md in DuckDB
# and in ClickHouse. The answers are what was planted.
set -u
. "$SOURCE/tests/exports/lib.sh" || exit 1
find_packages engines-tests @duckdb/node-api
find_packages engines-tests @chdb

bytes() {
    find "$1" -type f -printf '%s\n' | awk '{ sum += $1 } END { print NR " files, " sum " bytes" }'
}

"$BUILD/tests/tools/make_fleet" "$folder/traces" || exit 1
begin=$EPOCHREALTIME
for job in vision llm; do # two hosts at the same time
    "$BUILD/miniprof" fleet add --job $job "$folder/lake" "$folder/traces/$job" >"$folder/$job" &
done
wait
for job in chat search; do
    "$BUILD/miniprof" fleet add --job $job "$folder/lake" "$folder/traces/$job" || exit 1
done
echo "added in $(awk "BEGIN { print $EPOCHREALTIME - $begin }") s"
cat "$folder/vision" "$folder/llm"
echo "traces: $(bytes "$folder/traces"); lake: $(bytes "$folder/lake")"
node "$SOURCE/tests/exports/engines/fleet.mjs" "$folder"
