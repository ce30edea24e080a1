#!/bin/bash
# A thousand capture ranges as fast as the program can make them, two kernels each, in the modes
# auto, range and pause. Lines with # print for each mode how long they took, and how many kernels
# were launched, recorded, and are said to be missing. What is missing must be said, by range too.
#
#     RANGES_FAST=1000   how many ranges
. "$(dirname "$0")/lib.sh"

steps=$BUILD/tests/e2e/steps
ranges=${RANGES_FAST:-1000}
[ -x "$steps" ] || skip "the test programs were not built"
cd "$WORK" || exit 1

program=(init alpha=1 sync stamp=-)
for ((i = 0; i < ranges; i++)); do program+=(start alpha=2 stop); done
program+=("stamp=the ranges" sync)

"$steps" "${program[@]}" >bare.out || fail "without miniprof"
python3 "$SOURCE/tests/gpu/stamps.py" bare.out | sed 's/^/# without miniprof, /'
for mode in auto range pause; do
    MINIPROF_CAPTURE=$mode traced $mode.mpt "$steps" "${program[@]}" >$mode.out 2>err ||
        fail "$mode: $(cat err)"
    python3 "$SOURCE/tests/gpu/stamps.py" $mode.out | sed "s/^/# $mode, /"
    "$BUILD/miniprof" info --json $mode.mpt >info.json
    "$BUILD/miniprof" dump --json $mode.mpt >rows.json
    python3 "$SOURCE/tests/gpu/ranges_fast.py" rows.json info.json >said ||
        fail "$mode: $(cat said)"
    sed "s/^/# $mode: /" said
    ok "$mode: what is missing is said, by capture range"
done
