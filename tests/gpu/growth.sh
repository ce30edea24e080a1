#!/bin/bash
# What CUPTI costs the longer it records: memory for each kernel, GPU memory, and the CPU time of
# its own threads and of those that flush it, early in a run and late, for several loads and several
# ways of using CUPTI. `make bench-growth`.
#
#     GROWTH_SECONDS=60   of each side, at most 1800; CPU time takes 20 or more to be seen
#     GROWTH_JOBS=4       sides at a time. They share the GPU, its memory and the cores: 1 for
#                         figures of GPU memory that are of one side alone
#     GROWTH_RATE=150000  kernels a second of each side at most; 0: as many as go
#     GROWTH_SIDES=...    some of the sides below, separated by commas; * and ? match:
#                         GROWTH_SIDES="without,CUPTI alone*"
#     MINIPROF_CUPTI=FILE the libcupti to use, with miniprof and without
#     TMPDIR=DIR          has to have room for about 3 bytes a kernel of the sides that run at once
#
# CUPTI alone is cost_bare_cupti.c, which throws the records away; it is flushed every 90 ms, as
# often as miniprof flushes, except where it is said. Exit code 1 if a side failed, whose row says
# so. Nothing else is judged.
. "$(dirname "$0")/lib.sh"

soak=$BUILD/gpu/soak
bare=$BUILD/gpu/libbare_cupti.so
seconds=${GROWTH_SECONDS:-60}
jobs=${GROWTH_JOBS:-4}
load=(--seconds "$seconds" --threads 2 --rate "${GROWTH_RATE:-150000}")
arithmetic=$SOURCE/tests/gpu/growth.py
flushed="COST_FLUSH_MS=90"

# NAME | what is injected: none, bare (CUPTI alone) or miniprof | environment | options of soak
sides="
without|none||
CUPTI initialised|bare|COST_CUPTI=initialised|
CUPTI alone never flushed|bare||
CUPTI alone flushed|bare|$flushed|
CUPTI alone flushed with force|bare|$flushed COST_FORCED=1|
CUPTI alone once flushed with force|bare|$flushed COST_FORCED_AT_MS=3000|
CUPTI alone once without a buffer|bare|$flushed COST_NO_BUFFER_AT_MS=3000|
CUPTI alone GPU kinds|bare|$flushed COST_KINDS=gpu|
CUPTI alone kernels|bare|$flushed COST_KINDS=kernel|
CUPTI alone API records|bare|$flushed COST_KINDS=api|
CUPTI alone flushed and renewed|bare|$flushed COST_RENEW_MS=5000|
CUPTI alone clock again|bare|$flushed COST_CLOCK_MS=10000|
CUPTI alone every function|bare|$flushed COST_KINDS=functions|
CUPTI alone without a subscriber|bare|$flushed COST_SUBSCRIBED=0|
CUPTI alone shared buffers|bare|$flushed COST_PER_THREAD=0|
CUPTI alone pool of 16 buffers|bare|$flushed COST_POOL_LIMIT=16|
CUPTI alone launches alone|bare|$flushed|--graph-every 0
CUPTI alone graphs alone|bare|$flushed|--launches 0
miniprof|miniprof||
miniprof launches alone|miniprof||--graph-every 0
miniprof graphs alone|miniprof||--launches 0
miniprof graphs of one kernel|miniprof||--launches 0 --nodes 1
miniprof at graph level|miniprof|MINIPROF_CUDA_GRAPH=graph|
miniprof without API records|miniprof|MINIPROF_API=none|
miniprof without GPU records|miniprof|MINIPROF_GPU=off|
miniprof without NVTX|miniprof|MINIPROF_NVTX=off|
miniprof one thread|miniprof||--threads 1
"

[ -x "$soak" ] || skip "gpu/soak was not built"
[ -e "$bare" ] || skip "gpu/libbare_cupti.so was not built"

# matches NAME PATTERN...: one of the patterns does.
matches() {
    local name=$1 pattern
    shift
    for pattern in "$@"; do
        # shellcheck disable=SC2053 # not quoted: * and ? match
        [[ $name == $pattern ]] && return 0
    done
    return 1
}

if ! [[ $jobs =~ ^[1-9][0-9]*$ && $seconds =~ ^[1-9][0-9]*$ ]]; then
    echo "growth.sh: GROWTH_JOBS and GROWTH_SECONDS are whole numbers from 1 on"
    exit 2
fi
IFS=, read -ra wanted <<<"${GROWTH_SIDES:-*}"
mapfile -t all < <(grep . <<<"$sides")
for pattern in "${wanted[@]}"; do
    for line in "${all[@]}"; do
        matches "${line%%|*}" "$pattern" && continue 2
    done
    names=$(printf '%s, ' "${all[@]%%|*}")
    echo "growth.sh: no side '$pattern'; there are: ${names%, }"
    exit 2
done

# run NUMBER SIDE: starts it. Not by lib.sh's `traced`: what is started is what is ended.
run() {
    local number=$1 tool environment options
    local -a command=(env) words
    IFS='|' read -r _ tool environment options <<<"$2"
    read -ra words <<<"$environment"
    case $tool in
    bare) command+=(CUDA_INJECTION64_PATH="$bare" COST_LIBCUPTI="${MINIPROF_CUPTI:-}") ;;
    miniprof) command+=({CUDA,NVTX}_INJECTION64_PATH="$BUILD/libminiprof.so"
        MINIPROF_OUTPUT="$WORK/$number.mpt") ;;
    esac
    command+=("${words[@]}" timeout -k 10 $((2 * seconds + 120)) "$soak" "${load[@]}")
    read -ra words <<<"$options"
    "${command[@]}" "${words[@]}" >"$WORK/$number.out" 2>"$WORK/$number.err" </dev/null &
    started[number]=$!
}

# why_failed NUMBER TOOL STATUS: nothing if it did not.
why_failed() {
    local errors=$WORK/$1.err
    if [ "$3" -ne 0 ]; then
        echo "exit status $3: $(tail -n 1 "$errors")"
    elif [ "$2" = bare ] && grep -q '^bare CUPTI:' "$errors"; then
        grep '^bare CUPTI:' "$errors"
    elif [ "$2" = miniprof ] && ! grep -qE '^miniprof: .* records, .* dropped' "$errors"; then
        echo "nothing was recorded: $(head -n 1 "$errors")"
    fi
}

# finish NUMBER SIDE: waits for it, and keeps its numbers.
finish() {
    local number=$1 name tool status why
    IFS='|' read -r name tool _ <<<"$2"
    wait "${started[number]}"
    status=$?
    why=$(why_failed "$number" "$tool" $status | head -n 1)
    [ -n "$why" ] || why=$(python3 "$arithmetic" lines "$name" "$WORK/$number.out" \
        2>&1 >"$WORK/lines" | tail -n 1)
    if [ -n "$why" ]; then
        failed=$((failed + 1))
        echo "FAILED: $name: $why"
        echo "growth|0|$name|failed|${why//|/ }|0" >>"$RESULT_LINES"
    else
        ok "$name"
        cat "$WORK/lines" >>"$RESULT_LINES"
    fi
    grep -E ' records, [1-9][0-9,]* dropped' "$WORK/$number.err"
    cat "$WORK/$number.err" >>"$WORK/errors.txt"
    [ ! -e "$WORK/$number.mpt" ] || "$BUILD/miniprof" info "$WORK/$number.mpt" >"$WORK/info"
    rm -f "$WORK/$number".*
}

[ ! -e "$RESULT_LINES" ] || sed -i '/^growth|/d' "$RESULT_LINES"
selected=()
for line in "${all[@]}"; do
    matches "${line%%|*}" "${wanted[@]}" && selected+=("$line")
done
# Sides that run together begin together.
for ((first = 0; first < ${#selected[@]}; first += jobs)); do
    together=("${selected[@]:first:jobs}")
    for i in "${!together[@]}"; do
        run "$i" "${together[i]}"
    done
    for i in "${!together[@]}"; do
        finish "$i" "${together[i]}"
    done
    started=()
done
said
echo
python3 "$arithmetic" table "$RESULT_LINES"
echo
echo "Begin: 10 to 30 % of $seconds s; end: the last fifth. Up to $jobs sides at once shared the" \
    "GPU, whose memory is that of all of them."
grep '^cupti_' "$WORK/info" 2>/dev/null
[ "$failed" -eq 0 ]
