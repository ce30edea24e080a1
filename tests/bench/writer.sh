#!/bin/bash
# The writer path: CUPTI's records to compressed bytes in the file, on one core.
[ -x "$BUILD/bench/bench_record_writer" ] || { echo "writer: left out, needs the CUDA headers"; exit 0; }
taskset -c 0 "$BUILD/bench/bench_record_writer" 15
