#!/bin/bash
# Parquet files of known content, read by hyparquet: all values, all that the footer says, and that
# its filters skip groups of rows.
set -u
. "$SOURCE/tests/exports/lib.sh" || exit 1
find_packages exports-tests hyparquet
node "$SOURCE/tests/exports/parquet.mjs" "$folder"
