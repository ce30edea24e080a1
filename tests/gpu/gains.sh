#!/bin/bash
# Gains that miniprof foresees, and those that are taken: a program with a fault is recorded, and
# `deps --what-if` or `advise` says what its removal brings. Then the program runs without it. What
# is taken is of runs alone, by the program's own clock; for the replay itself, the changed program
# is recorded as well. In turn, so that a machine that gets slower gets slower for all.
#
# samples/whatif has four cases in which kernel alpha takes half its time, gains.c has the others.
# Needs the GPU for itself. ROUNDS=n (5); CASES="sync copy-bound" selects; KEEP=folder keeps the
# traces and what was said of them.
. "$(dirname "$0")/lib.sh"

arithmetic=$SOURCE/tests/gpu/gains.py
whatif=$BUILD/samples/whatif
gains=$BUILD/gpu/gains
rounds=${ROUNDS:-5}

# Of each case: how its gain is foreseen, by a rule of advise or by changes of deps.
declare -A foreseen=([launch-bound]="alpha*=0.5x" [gpu-bound]="alpha*=0.5x"
    [copy-bound]="alpha*=0.5x" [two-stream]="alpha*=0.5x"
    [sync]=needless_wait [pageable]=pageable_copies [launches]=launch_bound
    [allocation]=allocation [memset]="[CUDA memset]=0;cuMemsetD8Async=0")
declare -A alpha=([launch-bound]=4 [gpu-bound]=100 [copy-bound]=200 [two-stream]=200) overhead
read -ra cases <<<"${CASES:-launch-bound gpu-bound copy-bound two-stream sync pageable launches \
memset allocation}"

# command_of CASE before|after: its command line, in `argv`.
command_of() {
    local us=${alpha[$1]:-}
    if [ -z "$us" ]; then
        argv=("$gains" --case "$1")
        [ "$2" = before ] || argv+=(--changed)
        return
    fi
    [ "$2" = before ] || us=$((us / 2))
    argv=("$whatif" --case "$1" --overhead "${overhead[$1]}" --alpha "$us")
}

# record NAME COMMAND...: leaves NAME.mpt, and what the program says in NAME.out.
record() {
    local name=$WORK/$1
    shift
    rm -f "$name.mpt"
    traced "$name.mpt" "$@" >"$name.out" 2>"$name.err" ||
        fail "$*: exit status $?: $(cat "$name.out" "$name.err")"
}

# alpha_durations NAME: of the kernels in the trace NAME.mpt, in NAME.csv.
alpha_durations() {
    "$BUILD/miniprof" dump --table kernel --csv "$WORK/$1.mpt" >"$WORK/$1.csv" ||
        fail "$1: the trace cannot be read"
}

# What the profiler counts to alpha beyond its spinning is taken off, or half of it would stay.
measure_overhead() { # CASE
    record calibration "$whatif" --case "$1" --alpha "${alpha[$1]}" --iterations 20
    alpha_durations calibration
    overhead[$1]=$(python3 "$arithmetic" overhead "$WORK/calibration.csv" "${alpha[$1]}") ||
        fail "$1: no kernels"
}

# What miniprof says of $case's trace of this round.
foresee() {
    local name=$WORK/$case.$round.before changes change words=()
    if [[ ${foreseen[$case]} != *=* ]]; then
        "$BUILD/miniprof" advise --json "$name.mpt" >"$name.json" || fail "$case: no advice"
        return
    fi
    IFS=';' read -ra changes <<<"${foreseen[$case]}"
    for change in "${changes[@]}"; do
        words+=(--what-if "$change")
    done
    "$BUILD/miniprof" deps --iterations iteration --json "${words[@]}" "$name.mpt" \
        >"$name.json" || fail "$case: no prediction"
}

# one SIDE of $case in this round.
one() {
    local name=$case.$round.$1
    command_of "$case" "${1#bare_}"
    case $1 in
    bare_*)
        "${argv[@]}" >"$WORK/$name.out" || fail "$case: the program itself fails"
        return
        ;;
    esac
    record "$name" "${argv[@]}"
    [ -z "${alpha[$case]:-}" ] || alpha_durations "$name"
    [ "$1" = after ] || foresee
}

for case in "${cases[@]}"; do
    [ -n "${foreseen[$case]:-}" ] || fail "no case '$case'; there are: ${!foreseen[*]}"
    [ -z "${alpha[$case]:-}" ] || measure_overhead "$case"
done
for ((round = 0; round < rounds; round++)); do
    for case in "${cases[@]}"; do
        in_turn one bare_before bare_after before after
    done
done
[ -z "${KEEP:-}" ] || cp "$WORK"/*.{mpt,out,json} "$KEEP"/
named=()
for case in "${cases[@]}"; do
    named+=("$case:${foreseen[$case]}")
done
python3 "$arithmetic" table "$WORK" "$rounds" "${named[@]}" || fail "see above"
ok "${#cases[@]} gains"
