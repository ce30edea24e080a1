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

programs=${ZOO_PROGRAMS:-$SOURCE/tests/zoo/programs.txt}
folder=$(cd "$(dirname "$programs")" && pwd)
export PROGRAM_SECONDS=${PROGRAM_SECONDS:-60}
# What compilers of kernels keep is warm from the second run on, and goes with the script.
export TORCHINDUCTOR_CACHE_DIR=$WORK/cache/inductor TRITON_CACHE_DIR=$WORK/cache/triton
export CUPY_CACHE_DIR=$WORK/cache/cupy NUMBA_CACHE_DIR=$WORK/cache/numba
export PYTHONDONTWRITEBYTECODE=1 HF_HUB_OFFLINE=1

declare -A line=()
cases=()
while read -r name words; do
    [[ $name != \#* && -n $words ]] || continue
    line[$name]=$words
    cases+=("$name")
done <"$programs"
if [ -n "${CASES:-}" ]; then
    known="${cases[*]}"
    read -ra cases <<<"$CASES"
    for name in "${cases[@]}"; do
        [ -n "${line[$name]:-}" ] || fail "no program '$name'; there are: $known"
    done
fi
[ -z "${KEEP:-}" ] || mkdir -p "$KEEP" || fail "KEEP: no folder '$KEEP'"

read -ra sides <<<"${SIDES:-alone recorded baseline}"

# argv_of CASE: the words of its command line, in `argv`.
argv_of() {
    local words
    read -ra words <<<"${line[$1]}"
    case ${words[0]} in
    *.py) argv=(python3 "$folder/${words[0]}" "${words[@]:1}") ;;
    *.cu) argv=("$WORK/$(basename "${words[0]}" .cu)" "${words[@]:1}") ;;
    *) argv=("$folder/${words[0]}" "${words[@]:1}") ;;
    esac
}

# What needs nvcc, at once; a program that is missing then says why.
compile_all() {
    local name file
    for file in $(for name in "${cases[@]}"; do echo "${line[$name]%% *}"; done | sort -u); do
        [[ $file != *.cu ]] || compile_cuda "$folder/$file" "$WORK/$(basename "$file" .cu)" &
    done
    wait
}

# one SIDE of $case: NAME.out, NAME.err, and "STATUS SECONDS" in NAME.status.
one() {
    local name=$WORK/$case.$round.$1 begin=$EPOCHREALTIME status
    argv_of "$case"
    run_options=()
    if [[ ${line[$case]%% *} == *.cu ]] && [ ! -x "${argv[0]}" ]; then
        echo "not compiled: $(head -n 1 "${argv[0]}.txt")" >"$name.err"
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

compile_all
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
