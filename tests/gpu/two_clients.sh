#!/bin/bash
# Who gets what where a program uses its own profiler (PyTorch's, JAX's) beside miniprof: the table
# of docs/reliability.md, "Two profilers in one program". Each cell is a process of its own, of 5 to
# 15 s, and says how many kernels each has got of how many. The program may not be harmed, and of
# the range nothing may be missing without a word.
#
#   TWO_CLIENTS=FOLDER   keeps the cells there: those that are there already are not run again
#   CELLS=PATTERN        runs only these, such as 'torch.inside.*' (FRAMEWORK.PLACE.HOW)
#   AT_ONCE=N            so many at a time (2)
. "$(dirname "$0")/lib.sh"

program=(python3 "$SOURCE/tests/gpu/two_clients.py")
frameworks=()
for framework in torch jax; do
    if python3 -c "import $framework" 2>/dev/null; then
        frameworks+=("$framework")
    else
        echo "no $framework: left out"
    fi
done
[ ${#frameworks[@]} -gt 0 ] || skip "neither PyTorch nor JAX"
places=(before inside around after both)
hows=(alone variable run range)
cells=${TWO_CLIENTS:-$WORK/cells}
mkdir -p "$cells" || exit 1
cells=$(cd "$cells" && pwd)

# recorded HOW COMMAND...: the trace is t.mpt.
recorded() {
    local how=$1
    shift
    case $how in
    alone) "$@" ;;
    variable) traced t.mpt "$@" ;;
    run) "$BUILD/miniprof" run --no-summary -f -o t.mpt -- "$@" ;;
    range) "$BUILD/miniprof" run --no-summary -f --capture range -o t.mpt -- "$@" ;;
    esac
}

counter() { # NAME
    "$BUILD/miniprof" info t.mpt 2>/dev/null |
        awk -v name="$1" '$1 == name { n = $2 } END { print n + 0 }'
}

# cell FRAMEWORK PLACE HOW: its file gets a line "STATUS OURS SEEN SESSION RANGE RIGHT LOST", and
# what was said. STATUS is the exit code.
cell() {
    local how=$3 folder status ours
    folder=$(mktemp -d "$WORK/$1.$2.$3.XXXXXX") && cd "$folder" || return
    recorded "$how" timeout -k 5 120 "${program[@]}" "$1" "$2" >out 2>err
    status=$?
    ours=$("$BUILD/miniprof" dump --csv --table kernel t.mpt 2>/dev/null | grep -ci add)
    {
        echo "$status ${ours:-0} $(tail -n 1 out | grep -E '^[0-9]+ [0-9]+ [0-9]+ [A-Za-z]+$' ||
            echo 0 0 0 failed) $(counter dropped_taken_over)"
        grep '^miniprof:' err | grep -v ' records, .* dropped'
        grep -v '^miniprof:' err | grep -iE 'cupti|error' | head -n 3
    } >"$cells/$1.$2.$3.part"
    mv "$cells/$1.$2.$3.part" "$cells/$1.$2.$3"
}

# ---- All cells -------------------------------------------------------------------------------
running=0
for framework in "${frameworks[@]}"; do
    for place in "${places[@]}"; do
        for how in "${hows[@]}"; do
            name=$framework.$place.$how
            [[ $name =~ ^${CELLS:-.*}$ && ! -s $cells/$name ]] || continue
            if [ $running -ge "${AT_ONCE:-2}" ]; then
                wait -n
                running=$((running - 1))
            fi
            cell "$framework" "$place" "$how" &
            running=$((running + 1))
        done
    done
done
wait

# ---- The table -------------------------------------------------------------------------------
# shown NAME: "miniprof 20 of 20, session 0 of 20".
shown() {
    local status ours seen session range right lost
    [ -s "$cells/$1" ] || { echo "not tried"; return; }
    read -r status ours seen session range right lost <"$cells/$1"
    if [ "$status" != 0 ] || [ "$right" != right ]; then
        echo "FAILED ($status, $right)"
    elif [[ $1 == *.alone ]]; then
        echo "session $seen of $session"
    else
        [ "$lost" = 0 ] && lost= || lost=", $lost counted as lost"
        echo "miniprof $ours of $range$lost, session $seen of $session"
    fi
}

for framework in "${frameworks[@]}"; do
    echo
    echo "| session of $framework.profiler | alone | variable | miniprof run" \
        "| miniprof run --capture range |"
    echo "|---|---|---|---|---|"
    for place in "${places[@]}"; do
        printf '| %s |' "$place"
        for how in "${hows[@]}"; do
            printf ' %s |' "$(shown "$framework.$place.$how")"
        done
        echo
    done
done
echo
for file in "$cells"/*; do
    sed "1d;s/^/$(basename "$file"): /" "$file" | cut -c 1-240
done

# ---- The checks ------------------------------------------------------------------------------
bad=0
for file in "$cells"/*; do
    read -r status ours seen session range right lost <"$file"
    what=$(basename "$file")
    if [ "$status" != 0 ] || [ "$right" != right ]; then
        echo "FAILED: $what: exit code $status, its results are $right"
        bad=1
    elif [[ $what != *.alone ]] && [ "$ours" -lt "$range" ] && [ "$lost" = 0 ] &&
        [ "$(wc -l <"$file")" = 1 ]; then
        echo "FAILED: $what: $((range - ours)) kernels of the range are missing without a word"
        bad=1
    fi
done
[ $bad = 0 ] || exit 1
ok "two clients"
