#!/bin/bash
# Takes 12 s.
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
if ! sanitized; then # which takes SIGSEGV for itself
    ulimit -c 0
    ended "SIGSEGV" crash 139 init alpha=5 sync print=text written crash=0
    opens SIGSEGV crash
    same "SIGSEGV: what was flushed before" "alpha 5" "$(kernels crash)"
    same "SIGSEGV: nothing is said" "" "$(said crash)"
fi

# ---- SIGKILL at random moments ---------------------------------------------------------------
# What the program knows to be in the file is there, and the rest of the file can be read. Shorter
# limits let the signal come more often while the file is written.
has_kernels() {
    [ "$(kernels "$1" | sed 's/alpha //')" -ge 200 ]
}

# Linux ends a write that SIGKILL meets at any page: the last frame may be cut.
is_frames() {
    zstd -tq "$1" 2>zstd.err || grep -q 'premature end' zstd.err
}

unreadable=0
missing=0
hurry 20
for ((i = 1; i <= 50; i++)); do
    start "kill$i" -- "$life" init alpha=200 sync written print=written beat=60000
    await grep -q written "kill$i.out"
    sleep "0.0$((RANDOM % 10))" # a moment, not a wait
    kill -KILL "$pid"
    wait "$pid" 2>/dev/null
    "$miniprof" summary "kill$i.mpt" 2>/dev/null | grep -q ' alpha$' && is_frames "kill$i.mpt" ||
        unreadable=$((unreadable + 1))
    has_kernels "kill$i" || missing=$((missing + 1))
    rm -f "kill$i".*
done
hurry 1
same "SIGKILL at 50 random moments: every trace opens, and has what was written" "0 0" \
    "$unreadable $missing"

# ---- exec ------------------------------------------------------------------------------------
ended "exec" exec 6 init alpha=3 sync print=first written exec=init,beta=2,print=second,exit=6
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
profile other MINIPROF_OUTPUT="$work/plain" -- "$life" init alpha=1 sync written \
    exec=init,beta=1,sync,written,exec=init
check "exec, a name without .mpt" [ -e plain.2 ]
cp plain.2 plain.mpt
same "exec, a name without .mpt: kernels" "beta 1" "$(kernels plain)"
( cd "$work" && "$miniprof" run --output "$work/run.%p.mpt" -- "$life" init alpha=1 sync written \
    exec=init,beta=2,exit=6 >run.out 2>run.err )
same "miniprof run, exec: the program's exit code" 6 $?
like "miniprof run, exec: prints the first program's trace" 'GPU activities:.* 1 .* alpha' \
    "$(cat run.err)"
like "miniprof run, exec: and names the second one's" \
    'another program wrote .*/run\.[0-9]*\.2\.mpt' "$(cat run.err)"
finish
