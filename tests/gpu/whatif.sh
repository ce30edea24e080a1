#!/bin/bash
# The prediction put to the test: samples/whatif is profiled, `deps --what-if` says what an
# iteration would take with kernel alpha at half its time, then it runs with alpha at half its time.
# In turn, so that a machine that gets slower gets slower for all. Needs the GPU for itself.
# ROUNDS=n (5), ITERATIONS=n (200) of a run; KEEP=folder keeps the traces and what was said of them.
. "$(dirname "$0")/lib.sh"

sample=$BUILD/samples/whatif
arithmetic=$SOURCE/tests/gpu/whatif.py
rounds=${ROUNDS:-5}
iterations=${ITERATIONS:-200}
cases=(launch-bound gpu-bound copy-bound two-stream)
declare -A alpha=([launch-bound]=4 [gpu-bound]=100 [copy-bound]=200 [two-stream]=200) overhead

# profile NAME CASE OPTIONS...: leaves NAME.mpt, what the program says in NAME.out, its kernels in
# NAME.csv.
profile() {
    local name=$WORK/$1
    shift
    rm -f "$name.mpt"
    traced "$name.mpt" "$sample" --case "$@" >"$name.out" 2>"$name.err" ||
        fail "$*: exit status $?: $(cat "$name.out" "$name.err")"
    "$BUILD/miniprof" dump --table kernel --csv "$name.mpt" >"$name.csv" ||
        fail "$*: the trace cannot be read"
}

# What the profiler counts to alpha beyond its spinning is taken off, or half of it would stay.
for case in "${cases[@]}"; do
    profile calibration "$case" --alpha "${alpha[$case]}" --iterations 20
    overhead[$case]=$(python3 "$arithmetic" overhead "$WORK/calibration.csv" \
        "${alpha[$case]}") || fail "$case: no kernels"
    echo "$case: alpha takes ${overhead[$case]} ns beyond its spinning"
done

for ((round = 0; round < rounds; round++)); do
    for case in "${cases[@]}"; do
        us=${alpha[$case]}
        options=(--iterations "$iterations" --overhead "${overhead[$case]}")
        name=$case.$round
        profile "$name.full" "$case" "${options[@]}" --alpha "$us"
        "$BUILD/miniprof" deps --iterations iteration --what-if 'alpha*=0.5x' --json \
            "$WORK/$name.full.mpt" >"$WORK/$name.deps.json" || fail "$case: no prediction"
        profile "$name.half" "$case" "${options[@]}" --alpha $((us / 2))
        "$sample" --case "$case" "${options[@]}" --alpha $((us / 2)) >"$WORK/$name.bare.out" ||
            fail "$case: the program itself fails"
    done
done
[ -z "${KEEP:-}" ] || cp "$WORK"/*.{mpt,out,json} "$KEEP"/
python3 "$arithmetic" table "$WORK" "$iterations" "$rounds" "${cases[@]}" || fail "see above"
ok "${#cases[@]} predictions"
