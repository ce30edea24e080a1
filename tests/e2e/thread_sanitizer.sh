#!/bin/bash
# A program with ThreadSanitizer: no report of what the recorder hands over without a lock.
. "$SOURCE/tests/e2e/lib.sh" || exit 1

! sanitized || { echo "skipped: the recorder has a sanitizer of its own"; exit 77; }
sources=$SOURCE/tests/e2e/programs/nvtx_threads.c
for compiler in "${CC:-cc}" clang; do
    name=${compiler##*[/ ]}
    if ! $compiler -D_GNU_SOURCE -fsanitize=thread -g -O1 "$sources" "$SOURCE/samples/common.c" \
        -I"$SOURCE/samples" -I"${CUDA_HOME:-/usr/local/cuda}/include" \
        "$build/simgpu/libcuda.so.1" -lpthread -ldl -o "threads.$name" 2>/dev/null; then
        echo "not tried: no $compiler with -fsanitize=thread, or no CUDA headers"
        continue
    fi
    bare "$name.bare" -- "./threads.$name"
    [ "$status" -eq 0 ] || { echo "not tried: -fsanitize=thread does not run here"; continue; }
    profile "$name" -- "./threads.$name"
    unharmed "$name" "$name" "$name.bare" 0
    complete "$name" "$name"
    same "$name: kernels, NVTX calls" "alpha 80 480004" "$(kernels "$name") $(count "$name" nvtx)"
    "$miniprof" run --no-summary -o "$work/run.$name.mpt" -- "./threads.$name" \
        >"run.$name.out" 2>"run.$name.err"
    status=$?
    unharmed "$name, miniprof run" "run.$name" "$name.bare" 0
    complete "$name, miniprof run" "run.$name"
done
finish
