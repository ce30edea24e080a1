#!/bin/bash
# Hundreds of thousands of launches a second, CUDA graphs among them, from several threads on
# several streams, with NVTX: every one of them is in the trace, none has invalid times, and the
# process does not grow. SOAK_SECONDS=n (60, at most 1800), SOAK_RATE=kernels a second (300000; 0:
# as many as go), SOAK_THREADS=n (4), SOAK_NODES=n (100): kernels of a graph, of which there is one
# for each 200 other launches; SOAK_ALONE=n (0): n seconds without anything and with a CUPTI that is
# initialised and nothing else first, whose growth is not ours; SOAK_PATIENCE=n (120): a program
# that has not ended n seconds after its time is ended; TMPDIR has to have room for about 3 bytes a
# launch.
. "$(dirname "$0")/lib.sh"

soak=$BUILD/gpu/soak
bare=$BUILD/gpu/libbare_cupti.so
seconds=${SOAK_SECONDS:-60}
load=(--rate "${SOAK_RATE:-300000}" --threads "${SOAK_THREADS:-4}" --nodes "${SOAK_NODES:-100}")
arithmetic=$SOURCE/tests/gpu/soak.py
[ -x "$soak" ] || skip "gpu/soak was not built"

# alone SIDE COMMAND...
alone() {
    local side=$1
    shift
    "$@" "$soak" --seconds "$SOAK_ALONE" "${load[@]}" >"$WORK/alone" || fail "$side: exit status $?"
    python3 "$arithmetic" memory soak 0 "$side" "$WORK/alone" >>"$RESULT_LINES"
}

if [ "${SOAK_ALONE:-0}" -gt 0 ]; then
    alone "without" env
    [ ! -e "$bare" ] || alone "CUPTI initialised" env COST_CUPTI=initialised \
        CUDA_INJECTION64_PATH="$bare"
fi
traced "$WORK/soak.mpt" timeout -k 10 $((seconds + ${SOAK_PATIENCE:-120})) "$soak" \
    --seconds "$seconds" "${load[@]}" >"$WORK/made" 2>"$WORK/said"
ended=$?
cat "$WORK/said"
# Where CUPTI falls behind it may not end (docs/measurements.md): what is in the trace is looked at.
[ $ended -eq 0 ] || [ $ended -eq 124 ] || fail "exit status $ended"
# The trace may have a billion records: all three read it at once. (1: not whole, which is judged
# below.)
"$BUILD/miniprof" check "$WORK/soak.mpt" &
checking=$!
"$BUILD/miniprof" info --json "$WORK/soak.mpt" >"$WORK/info.json" &
counting=$!
"$BUILD/miniprof" summary --json "$WORK/soak.mpt" >"$WORK/summary.json"
summed=$?
wait $counting
counted=$?
wait $checking || fail "the trace is damaged"
if [ $counted -gt 1 ] || [ $summed -gt 1 ]; then
    fail "no info, or no summary"
fi
python3 "$arithmetic" memory soak 0 miniprof "$WORK/made" >>"$RESULT_LINES" || fail "no samples"
python3 "$arithmetic" check "$WORK/made" "$WORK/info.json" "$WORK/summary.json" >"$WORK/verdict"
status=$?
grep '^soak|' "$WORK/verdict" >>"$RESULT_LINES"
grep -v '^soak|' "$WORK/verdict"
print_results soak
[ $ended -eq 0 ] || fail "the program had not ended after $((seconds + ${SOAK_PATIENCE:-120})) s"
[ $status -eq 0 ] || fail "see above"
ok "$(tail -n 1 "$WORK/made" | cut -d'|' -f2) ms: all that was launched is in the trace"
