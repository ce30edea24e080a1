#!/bin/bash
# The zoo (docs/zoo.md): programs of many kinds, and what miniprof says of each against the truth
# that the program prints itself. Each runs alone, recorded by `miniprof run`, and recorded with
# --baseline, in turn (SIDES="alone recorded baseline"). Ends with a table. Needs the GPU for
# itself.
#
# ROUNDS=n (1), some 5 minutes each on an H200 with 16 cores. CASES="server polling" selects.
# KEEP=folder keeps the traces of the first round with their truths, as tests/data/zoo has them.
# ZOO_PROGRAMS=file is another list of programs.
SOURCE=${SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
. "$SOURCE/tests/gpu/lib.sh"
. "$SOURCE/tests/zoo/programs.sh"

export PROGRAM_SECONDS=${PROGRAM_SECONDS:-60}
read_programs "${ZOO_PROGRAMS:-$SOURCE/tests/zoo/programs.txt}"
if [ -n "${CASES:-}" ]; then
    known="${cases[*]}"
    read -ra cases <<<"$CASES"
    for name in "${cases[@]}"; do
        [ -n "${program_of[$name]:-}" ] || fail "no program '$name'; there are: $known"
    done
fi
[ -z "${KEEP:-}" ] || mkdir -p "$KEEP" || fail "KEEP: no folder '$KEEP'"

read -ra sides <<<"${SIDES:-alone recorded baseline}"

# one SIDE of $case: NAME.out, NAME.err, and "STATUS SECONDS" in NAME.status.
one() {
    local name=$WORK/$case.$round.$1 begin=$EPOCHREALTIME status why
    argv_of "$case"
    run_options=()
    why=$(why_not "$case")
    if [ -n "$why" ]; then
        echo "$why" >"$name.err"
        echo "1 0" >"$name.status"
        return
    fi
    case $1 in
    alone) timeout "$PROGRAM_SECONDS" "${argv[@]}" >"$name.out" 2>"$name.err" ;;
    recorded) run_recorded "$name.%p" "${argv[@]}" ;;
    baseline)
        run_options=(--baseline)
        run_recorded "$name.%p" "${argv[@]}"
        ;;
    esac
    status=$?
    [ "$1" = alone ] || mv "$name.%p.out" "$name.out"
    [ "$1" = alone ] || mv "$name.%p.err" "$name.err"
    echo "$status $(awk -v begin="$begin" -v end="$EPOCHREALTIME" 'BEGIN { print end - begin }')" \
        >"$name.status"
}

compile_all "${cases[@]}"
ROUNDS=${ROUNDS:-1}
while another_round 0; do
    for case in "${cases[@]}"; do
        in_turn one "${sides[@]}"
        echo "$case: $(cut -d ' ' -f 2 "$WORK/$case.$round".*.status | paste -sd ' ') s"
    done
done
python3 "$SOURCE/tests/zoo/judge.py" --miniprof "$BUILD/miniprof" ${KEEP:+--keep "$KEEP"} "$WORK" \
    "$ROUNDS" "${sides[*]}" "${cases[@]}"
status=$?
read -r passed failed <"$WORK/counts" || fail "there are no verdicts"
exit $status
