#!/bin/bash
# A recorded program is killed at random moments: each trace opens, and at most its last 200 ms are
# missing. SIGKILL_KILLS=n (200), SIGKILL_JOBS=n at a time (8), SIGKILL_SEED=n (1),
# SIGKILL_SECONDS=n bounds them all.
. "$(dirname "$0")/lib.sh"

[ -x "$BUILD/gpu/progress" ] || skip "gpu/progress was not built"
python3 "$SOURCE/tests/gpu/sigkill.py" "$BUILD" --kills "${SIGKILL_KILLS:-200}" \
    --jobs "${SIGKILL_JOBS:-8}" --seed "${SIGKILL_SEED:-1}" \
    --seconds "${SIGKILL_SECONDS:-$(share 18)}" --limit-ms "${SIGKILL_LIMIT_MS:-200}" \
    >"$WORK/verdict"
status=$?
grep '^sigkill|' "$WORK/verdict" >>"$RESULT_LINES"
grep -v '^sigkill|' "$WORK/verdict"
print_results sigkill
[ $status -eq 0 ] || fail "see above"
ok "every trace opens, at most the last ${SIGKILL_LIMIT_MS:-200} ms are missing"
