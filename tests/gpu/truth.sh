#!/bin/bash
# What `miniprof deps` says of programs whose truth is known: kernels that overlap in their stream
# (dependent.cu, launched one by one and as a graph, alike and in pairs of 80 and 20 us), threads
# that wait for each other (server.cu), work whose order the stream alone does not tell (ordered.cu:
# child graphs, a WHILE node, values in memory, the legacy stream, two contexts), and a host that
# sleeps until a host function wakes it (jax_loop.py).
#
# The programs but JAX's are recorded by `miniprof run`, `deps --what-if` says how long they would
# take with half of a kernel's time, then they run with half of it. In turn, so that a machine that
# gets slower gets slower for all. Needs the GPU for itself. ROUNDS=n (3); KEEP=folder keeps what
# was said, and the traces. CASES="launched ..." selects. 30 s a round, most of it for JAX to start.
. "$(dirname "$0")/lib.sh"

arithmetic=$SOURCE/tests/gpu/truth.py
rounds=${ROUNDS:-3}
ordered=(child loop values legacy contexts)
read -ra cases <<<"${CASES:-launched graph pairs pairs_graph ${ordered[*]} server jax}"

compile() { # NAME
    compile_cuda "$SOURCE/tests/gpu/$1.cu" "$WORK/$1" -ldl ||
        skip "$1.cu does not compile here: $(head -n 3 "$WORK/$1.txt")"
}

declare -A command=([launched]="$WORK/dependent launched" [graph]="$WORK/dependent graph"
    [pairs]="$WORK/dependent launched --short 20"
    [pairs_graph]="$WORK/dependent graph --short 20"
    [server]="$WORK/server" [jax]="python3 $SOURCE/tests/gpu/jax_loop.py")
declare -A kernel=([launched]=chain_kernel [graph]=chain_kernel [pairs]=chain_kernel
    [pairs_graph]=chain_kernel [server]=alpha_kernel)
declare -A us=([launched]=100 [graph]=100 [pairs]=80 [pairs_graph]=80 [server]=3000)
for case in "${ordered[@]}"; do
    command[$case]="$WORK/ordered $case"
    kernel[$case]=chain_kernel
    us[$case]=100
done

# recorded NAME COMMAND...: leaves NAME.mpt, what the program says in NAME.out, the recorder's
# words in NAME.err.
recorded() {
    local name=$WORK/$1
    shift
    run_recorded "$name" "$@" ||
        fail "$*: exit status $?: $(tail -n 3 "$name.out" "$name.err")"
    grep '^miniprof: .*[Ww]arning' "$name.err"
    "$BUILD/miniprof" check "$name.mpt" >/dev/null || fail "$*: the trace is not whole"
}

# analysed NAME [OPTION...]: leaves NAME.deps.json and NAME.summary.json.
analysed() {
    local name=$WORK/$1
    shift
    "$BUILD/miniprof" deps --json "$@" "$name.mpt" >"$name.deps.json" ||
        fail "$name: no analysis"
    "$BUILD/miniprof" summary --json "$name.mpt" >"$name.summary.json" || fail "$name: no summary"
}

# The server's requests are what `iters` finds by itself, all of them, in all of its threads.
requests_found() { # NAME
    local name=$WORK/$1
    "$BUILD/miniprof" iters --json "$name.mpt" >"$name.iters.json" || fail "$name: no iterations"
    python3 - "$name.iters.json" "$(awk '/^requests/ { print $2 }' "$name.out")" <<'END' ||
import json, sys
found = json.load(open(sys.argv[1]))
says = [found["by"], found["count"], found["threads"]]
expected = ["requests", int(sys.argv[2]), 8]
print(f"server: iters finds {says}, {found['coverage_percent']:.1f} % of the GPU work")
sys.exit(says != expected or found["coverage_percent"] < 99)
END
        fail "$name: iters does not find the server's requests"
}

# One round of a program whose kernel can take half of its time.
predict() {
    local case=$1 part words changes
    local -A takes=([full]=${us[$case]} [half]=$((us[$case] / 2)))
    read -ra words <<<"${command[$case]}"
    for part in full half; do
        timeout 120 "${words[@]}" --us "${takes[$part]}" >"$WORK/$case.$round.$part.alone" ||
            fail "$case: the program itself fails"
    done
    for part in full half; do
        recorded "$case.$round.$part" "${words[@]}" --us "${takes[$part]}"
    done
    changes=(--what-if "${kernel[$case]}*=0.5x")
    [ "$case" = loop ] || changes+=(--what-if recording=1x) # there its cost is not known
    analysed "$case.$round.full" "${changes[@]}"
    analysed "$case.$round.half"
    [ "$case" != server ] || requests_found "$case.$round.full"
}

jax() {
    local name=jax.$round table words
    read -ra words <<<"${command[jax]}"
    recorded "$name.full" "${words[@]}"
    analysed "$name.full"
    for table in thread call wait host_function host_time; do
        "$BUILD/miniprof" dump --json --raw --table $table "$WORK/$name.full.mpt" \
            >"$WORK/$name.full.$table.rows" || fail "the table $table cannot be read"
    done
}

judged=()
for case in "${cases[@]}"; do
    if [ "$case" = jax ]; then
        python3 -c 'import jax; assert jax.devices()[0].platform == "gpu"' 2>/dev/null || {
            echo "jax: not tried: no JAX with a GPU"
            continue
        }
    else
        program=${command[$case]%% *}
        [ -x "$program" ] || compile "${program##*/}"
    fi
    judged+=("$case")
done
for ((round = 0; round < rounds; round++)); do
    for case in "${judged[@]}"; do
        if [ "$case" = jax ]; then jax; else predict "$case"; fi
    done
done
[ -z "${KEEP:-}" ] || cp "$WORK"/*.{mpt,out,alone,err,json} "$KEEP"/
python3 "$arithmetic" "$WORK" "$rounds" "${judged[@]}" || fail "see above"
ok "${#judged[@]} programs"
