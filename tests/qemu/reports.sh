#!/bin/bash
# Takes 60 s.
# Every report of the committed traces has the same bytes on another processor. A compiler that
# fuses multiplication and addition there would change last digits.
. "$SOURCE/tests/e2e/lib.sh" || exit 1

native=$SOURCE/build/miniprof
[ -x "$native" ] || {
    echo "no $native to compare with"
    exit 77
}

# both TRACE COMMAND...: the same exit code, stdout and stderr.
both() {
    local trace=$1
    shift
    "$native" "$@" "$trace" >"$work/native" 2>&1
    echo "exit code $?" >>"$work/native"
    "$miniprof" "$@" "$trace" >"$work/other" 2>&1
    echo "exit code $?" >>"$work/other"
    check "${trace##*/}: $*" diff "$work/native" "$work/other"
}

cd "$SOURCE" || exit 1
for trace in tests/data/*.mpt; do
    both "$trace" summary
    both "$trace" summary --json
    both "$trace" iters --json
    both "$trace" layers --json
    both "$trace" kernels --json
    both "$trace" overlap --json
    both "$trace" memory --json
    both "$trace" info --json
    both "$trace" check
done
for trace in tests/data/{inference,two_streams,captured,branches}.mpt; do
    both "$trace" deps --json
    both "$trace" advise --json
    both "$trace" gpu-trace --csv
    both "$trace" dump --csv
done
both tests/data/metrics.mpt metrics --json
finish
