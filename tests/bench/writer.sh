#!/bin/bash
# The writer path: CUPTI's records to compressed bytes in the file, on one core.
if [ ! -x "$BUILD/bench/bench_record_writer" ]; then
    echo "writer: left out, it needs the CUDA headers"
    exit 0
fi
taskset -c 0 "$BUILD/bench/bench_record_writer" 15
echo "NVTX push + pop:"
"$BUILD/bench/bench_record_nvtx"
echo "NCCL:"
"$BUILD/bench/bench_record_nccl"
