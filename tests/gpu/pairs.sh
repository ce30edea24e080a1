#!/bin/bash
# What miniprof says that recording costs, and what it does cost: each program of the zoo, of
# tests/strangers and of the folder STRANGERS (if set) runs bare and recorded in turn by `miniprof
# run --pairs`, and times itself in all runs. What came out is a line of RESULTS for each program
# (pairs.py has the form). The tables are made of all lines at the end, and of several files by
# `pairs.py merge FILE...`. Needs the GPU for itself.
#
# PAIRS=n (5). RESULTS=file (build/pairs.txt): programs that have a line there are passed over.
# PART=k/n takes each n-th program from the k-th on, and begins none that may last beyond
# PART_SECONDS (540); what is left is for the next call. PAIR_SECONDS=n (240) bounds a program.
# CASES="server polling" selects.
. "$(dirname "$0")/lib.sh"
. "$SOURCE/tests/zoo/programs.sh"

pairs=${PAIRS:-5}
lines=${RESULTS:-$BUILD/pairs.txt}
seconds=${PAIR_SECONDS:-240}
IFS=/ read -r part parts <<<"${PART:-1/1}"
[[ $part =~ ^[0-9]+$ && $parts =~ ^[0-9]+$ && $part -ge 1 && $part -le $parts ]] ||
    fail "PART is k/n, not '$PART'"
touch "$lines" || fail "RESULTS: $lines cannot be written"

# add_set NAME LIST [FOLDER]: the programs of a list belong to this set.
declare -A set_of=()
add_set() {
    local name begin=${#cases[@]}
    read_programs "${@:2}"
    for name in "${cases[@]:begin}"; do
        set_of[$name]=$1
    done
}

add_set zoo "$SOURCE/tests/zoo/programs.txt"
add_set strangers "$SOURCE/tests/strangers/programs.txt"
if [ -n "${STRANGERS:-}" ]; then
    given=$STRANGERS/programs.txt
    [ -e "$given" ] || given=$SOURCE/tests/strangers/given.txt
    add_set strangers "$given" "$STRANGERS"
fi

# Those of this part without a line.
wanted=()
have=0
for ((i = part - 1; i < ${#cases[@]}; i += parts)); do
    case=${cases[i]}
    [[ -z ${CASES:-} || " $CASES " == *" $case "* ]] || continue
    if grep -q "^$case|${set_of[$case]}|" "$lines"; then
        have=$((have + 1))
    else
        wanted+=("$case")
    fi
done
echo "${#wanted[@]} programs to run; $have have a line in $lines"

# What went wrong instead of a measurement.
broken() { # CASE HOW WHY
    echo "$1|${set_of[$1]}|${kind_of[$1]}|$2|$(tr '|\n' '/ ' <<<"$3" | cut -c 1-160)" >>"$lines"
    echo "$1: $2: $3"
}

last_words() { # FILE...
    cat "$@" | grep -v '^ *$' | tail -n 1
}

# measure CASE SECONDS: its line. Status 1: the part's time is over, there is no line.
measure() {
    local name=$WORK/$1 why status
    why=$(why_not "$1")
    if [ -n "$why" ]; then
        broken "$1" failed "$why"
        return 0
    fi
    argv_of "$1"
    timeout "$2" "$BUILD/miniprof" run --pairs="$pairs" --no-summary -f -o "$name.%p.mpt" -- \
        "${argv[@]}" >"$name.out" 2>"$name.err"
    status=$?
    [ $status -ne 124 ] || [ "$2" -ge "$seconds" ] || return 1
    case $status in
    0)
        why=$(python3 "$SOURCE/tests/gpu/pairs.py" line --miniprof "$BUILD/miniprof" \
            --pairs "$pairs" --program "$1|${set_of[$1]}|${kind_of[$1]}" "$name" 2>&1 >>"$lines") ||
            broken "$1" failed \
                "$(grep -m 1 'ended with exit code' "$name.err"; tail -n 1 <<<"$why")"
        ;;
    77) broken "$1" "not tried" "$(last_words "$name.out")" ;;
    124) broken "$1" failed "it had not ended after $2 s" ;;
    *) broken "$1" failed "exit status $status: $(last_words "$name.out" "$name.err")" ;;
    esac
    rm -f "$name".*
}

compile_all "${wanted[@]}"
left=("${wanted[@]}")
longest=0
for case in "${wanted[@]}"; do
    rest=$((${PART_SECONDS:-540} - SECONDS))
    [ -n "${PART:-}" ] || rest=$seconds
    [ "$rest" -gt "$longest" ] || break
    begun=$SECONDS
    measure "$case" $((rest < seconds ? rest : seconds)) || break
    [ $((SECONDS - begun)) -le $longest ] || longest=$((SECONDS - begun))
    left=("${left[@]:1}")
    echo "$case: $((SECONDS - begun)) s"
done
[ ${#left[@]} -eq 0 ] || echo "left for another call: ${left[*]}"
python3 "$SOURCE/tests/gpu/pairs.py" merge "$lines"
