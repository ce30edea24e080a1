#!/bin/bash
# Metrics of kernels for which they are known by construction (samples/metrics): each is measured
# and has to be right within 2 %. Needs the permission to read the GPU's counters, and the GPU for
# itself. CASES="flops occupancy dram gld"; LAUNCHES=n (3) of each kernel; TOLERANCE=fraction
# (0.02); KEEP=folder keeps the traces, the truth and what was measured.
. "$(dirname "$0")/lib.sh"

sample=$BUILD/samples/metrics
arithmetic=$SOURCE/tests/gpu/metrics.py
cases=${CASES:-flops occupancy dram gld}
launches=${LAUNCHES:-3}
[ -x "$sample" ] || skip "samples/metrics was not built"

# The recorder's words for machines and users without counters (src/record/counters/profiler_api.c).
closed="(not read|hides|holds) the GPU's counters|counters (are not enabled|cannot be read)"
closed+="|no readable counters|not give access to the counters|no range profiler"

# not_permitted NAME: the line of the recorder that says so.
not_permitted() {
    grep -m 1 -E "^miniprof:.*($closed)" "$WORK/$1.err"
}

# measure CASE: leaves CASE.mpt, CASE.truth, CASE.csv; skips the test where it is not permitted.
measure() {
    local name=$1 metrics line
    "$sample" "$name" --launches "$launches" >"$WORK/$name.bare" 2>"$WORK/$name.err" ||
        fail "$name: the program itself fails: $(cat "$WORK/$name.err")"
    metrics=$(python3 "$arithmetic" names "$WORK/$name.bare")
    [ -n "$metrics" ] || fail "$name: the program says no truth"
    MINIPROF_METRICS=$metrics traced "$WORK/$name.mpt" "$sample" "$name" --launches "$launches" \
        >"$WORK/$name.truth" 2>"$WORK/$name.err" ||
        fail "$name: exit status $?: $(cat "$WORK/$name.err")"
    line=$(not_permitted "$name") && skip "counters are not permitted here: $line"
    "$BUILD/miniprof" metrics --csv "$WORK/$name.mpt" >"$WORK/$name.csv" 2>"$WORK/$name.said" ||
        fail "$name: no metrics: $(cat "$WORK/$name.said" "$WORK/$name.err")"
}

wrong=
head=$(printf '%-30s %-26s %14s %14s %9s' metric kernel truth measured error)
for name in $cases; do
    measure "$name"
    [ -z "$head" ] || echo "$head"
    head=
    if python3 "$arithmetic" compare "$WORK/$name.truth" "$WORK/$name.csv"; then
        passed=$((passed + 1))
    else
        wrong+=" $name"
        cat "$WORK/$name.err"
    fi
done
[ -z "${KEEP:-}" ] || cp "$WORK"/*.{mpt,truth,csv,err} "$KEEP"/
[ -z "$wrong" ] || fail "see above:$wrong"
