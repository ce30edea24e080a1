#!/bin/bash
# Takes 10 s.
# Parquet files of known content, read by DuckDB: all values, and its answers to conditions at the
# bounds of each group of rows.
set -u
. "$SOURCE/tests/exports/lib.sh" || exit 1
find_packages engines-tests @duckdb/node-api
node "$SOURCE/tests/exports/engines/duckdb.mjs" "$folder"
