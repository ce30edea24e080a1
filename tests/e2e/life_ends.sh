#!/bin/bash
# Takes 30 s.
# Ends that leave no time, and exec: what was written is readable, and it is nearly all.
. "$SOURCE/tests/e2e/lib.sh" || exit 1
life=$build/tests/e2e/life

# ended WHAT NAME STATUS STEP...: runs the steps with and without the recorder.
ended() {
    local what=$1 name=$2 expected=$3
    shift 3
    bare "$name.bare" -- "$life" "$@"
    same "$what: exit code without miniprof" "$expected" "$status"
    profile "$name" -- "$life" "$@"
    unharmed "$what" "$name" "$name.bare" "$expected"
}

# opens WHAT NAME: the trace can be read as far as it goes.
opens() {
    like "$1: the trace opens" 'no index.*GPU activities' \
        "$("$miniprof" summary "$work/$2.mpt" 2>&1 | tr '\n' ' ')"
    check "$1: a whole number of frames" zstd -tq "$work/$2.mpt"
}

# ---- quick_exit, a crash ---------------------------------------------------------------------
ended "quick_exit(5)" quick 5 init alpha=5 print=text quick-exit=5
complete "quick_exit(5)" quick
same "quick_exit(5): kernels" "alpha 5" "$(kernels quick)"
if [ -z "${SAN:-}" ]; then # which takes SIGSEGV for itself
    ulimit -c 0
    ended "SIGSEGV" crash 139 init alpha=5 sync print=text sleep=700 crash=0
    opens SIGSEGV crash
    same "SIGSEGV: what was flushed before" "alpha 5" "$(kernels crash)"
    same "SIGSEGV: nothing is said" "" "$(said crash)"
fi

# ---- SIGKILL at random moments ---------------------------------------------------------------
# From the first kernel in the file on. The clock of the trace is CLOCK_REALTIME here, as is date's.
# Whatever ended 200 ms before the kill is in the file, if nothing else keeps the machine busy:
# tests/gpu/sigkill.py judges that.
has_kernels() {
    "$miniprof" summary "$1.mpt" 2>/dev/null | grep -q 'GPU activities.* alpha$'
}

unreadable=0
times=()
for ((i = 1; i <= 50; i++)); do
    start "kill$i" SIMGPU_REAL_TIME=1 -- "$life" init print=begun beat=5000
    await has_kernels "kill$i"
    sleep "0.$((RANDOM % 5))$((RANDOM % 10))$((RANDOM % 10))"
    at=$(date +%s%N)
    kill -KILL "$pid"
    wait "$pid" 2>/dev/null
    has_kernels "kill$i" && zstd -tq "kill$i.mpt" || unreadable=$((unreadable + 1))
    times+=("$(rows "kill$i" kernel | awk -F, -v at="$at" '
        { gone = (at - $4 - $5) / 1e6; if (NR == 1 || gone < least) least = gone }
        END { printf "%d", NR ? least : 99999 }')")
    rm -f "kill$i".*
done
same "SIGKILL at 50 random moments: every trace opens" 0 "$unreadable"
median=$(printf '%s\n' "${times[@]}" | sort -n | sed -n 25p)
check "SIGKILL at 50 random moments: the last $median ms are missing in the middle" \
    [ "$median" -le 2000 ]

# ---- exec ------------------------------------------------------------------------------------
ended "exec" exec 6 init alpha=3 sync print=first sleep=500 exec=init,beta=2,print=second,exit=6
same "exec: the first program's kernels" "alpha 3" "$(kernels exec)"
opens "exec, first program" exec
same "exec: the second program's, in a file of its own" "beta 2" "$(kernels exec.2)"
complete "exec, second program" exec.2
same "exec: both have the process id" 1 "$(for file in exec.mpt exec.2.mpt; do
    "$miniprof" info --json "$file" | sed -n 's/^    "pid": "\([0-9]*\)",/\1/p'
done | uniq | wc -l)"
like "exec: the closing line names the second file" 'exec\.2\.mpt:' "$(closing exec)"
same "exec: nothing else is said" "" "$(said exec)"
check "exec: a third program would have the third file" [ ! -e exec.3.mpt ]
ended "exec without a trace before" execs 6 print=first exec=init,beta=2,exit=6
same "exec without a trace before: one file" "beta 2" "$(kernels execs)"
check "exec without a trace before: no second file" [ ! -e execs.2.mpt ]
profile other MINIPROF_OUTPUT="$work/plain" -- "$life" init alpha=1 sleep=300 \
    exec=init,beta=1,sync,sleep=300,exec=init
check "exec, a name without .mpt" [ -e plain.2 ]
cp plain.2 plain.mpt
same "exec, a name without .mpt: kernels" "beta 1" "$(kernels plain)"
( cd "$work" && "$miniprof" run --output "$work/run.%p.mpt" -- "$life" init alpha=1 sync sleep=300 \
    exec=init,beta=2,exit=6 >run.out 2>run.err )
same "miniprof run, exec: the program's exit code" 6 $?
like "miniprof run, exec: prints the first program's trace" 'GPU activities:.* 1 .* alpha' \
    "$(cat run.err)"
like "miniprof run, exec: and names the second one's" \
    'another program wrote .*/run\.[0-9]*\.2\.mpt' "$(cat run.err)"
finish
