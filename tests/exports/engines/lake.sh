#!/bin/bash
# Takes 2 s.
# The fleet layout of three ranks in DuckDB: job, host and rank from the path, and a query over all.
set -u
. "$SOURCE/tests/exports/lib.sh" || exit 1
find_packages engines-tests @duckdb/node-api
for rank in 0 1 2; do
    "$BUILD/tests/tools/make_trace" "rank$rank" "$folder/$rank.mpt" || exit 1
done
"$BUILD/miniprof" export --to parquet --events --job train -o "$folder/lake" \
    "$folder/0.mpt" "$folder/1.mpt" "$folder/2.mpt" || exit 1
node "$SOURCE/tests/exports/engines/lake.mjs" "$folder/lake"
