#!/bin/bash
# Processes that fork, become daemons, run with raised rights or little memory, or in a cage.
. "$SOURCE/tests/e2e/lib.sh" || exit 1
life=$build/tests/e2e/life
# LeakSanitizer needs /proc, a descriptor and a fork that nobody disturbs, which are what is taken
# away here. life_cuda.sh and life_ends.sh look for leaks.
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0

# lives WHAT NAME STATUS KERNELS STEP...: unharmed, complete, and with these kernels.
lives() {
    local what=$1 name=$2 code=$3 expected=$4
    shift 4
    bare "$name.bare" -- "$life" "$@"
    same "$what: exit code without miniprof" "$code" "$status"
    profile "$name" -- "$life" "$@"
    unharmed "$what" "$name" "$name.bare" "$code"
    complete "$what" "$name"
    same "$what: kernels" "$expected" "$(kernels "$name")"
}

# ---- fork ------------------------------------------------------------------------------------
lives "fork, use, _exit" worker 0 "alpha 3" init alpha=2 fork-worker=5 fork-worker=6 alpha=1
same "fork, use, _exit: the children ended by themselves" "child: exit 5 child: exit 6" \
    "$(echo $(cat worker.out))"
same "fork, use, _exit: nothing of theirs is in the trace" 0 "$(count worker nvtx worker)"
profile storm -- "$life" init fork-storm=100
same "100 forks while three threads launch: exit code, children" "0 children that failed: 0" \
    "$status $(cat storm.out)"
complete "100 forks while three threads launch" storm
lives "a daemon" daemon 0 "alpha 3" daemon init alpha=3 sync
same "a daemon: a file, no line where no stderr is" "" "$(cat daemon.err)"

# ---- raised rights ---------------------------------------------------------------------------
mkdir -m 755 setuid
cp "$build/tests/e2e/steps_setuid" setuid/steps 2>/dev/null
chmod 4755 setuid/steps
chmod 755 "$work"
other=(setpriv --reuid=65534 --regid=65534 --clear-groups)
if [ "$(id -u)" -eq 0 ] && ! sanitized &&
    bare setuid.bare -- "${other[@]}" "$work/setuid/steps" init alpha=2 sync print=ran &&
    [ "$status" -eq 0 ]; then
    profile setuid -- "${other[@]}" "$work/setuid/steps" init alpha=2 sync print=ran
    unharmed "setuid" setuid setuid.bare 0
    check "setuid: no trace" [ ! -e setuid.mpt ]
    same "setuid: no file of root's anywhere" 0 "$(find . -name '*.mpt' -newer setuid.err | wc -l)"
    like "setuid: one line" 'raised privileges.*nothing is recorded' "$(said setuid)"
    same "setuid: and only one" 1 "$(said setuid | wc -l)"
fi

# ---- memory ----------------------------------------------------------------------------------
# Whatever the limit: the program runs as without, and the recorder records or says one line. Where
# memory is enough to begin and no more, the closing line says how much was dropped, and the file is
# cut short.
if ! sanitized; then
    harmed=0
    recorded=0
    refused=0
    silent=0
    for ((kib = 12000; kib <= 146000; kib += 3500)); do
        ( ulimit -v $kib; "$life" init alpha=4 sync print=ran >limit.out 2>/dev/null )
        expected=$?
        rm -f limit.mpt
        ( ulimit -v $kib
          CUDA_INJECTION64_PATH=$lib MINIPROF_OUTPUT=limit.mpt "$life" init alpha=4 sync \
              print=ran >limited.out 2>limit.err )
        [ $? -eq "$expected" ] && cmp -s limit.out limited.out || harmed=$((harmed + 1))
        [ "$expected" -eq 0 ] || continue
        if grep -q 'records' limit.err && "$miniprof" check limit.mpt >/dev/null 2>&1; then
            recorded=$((recorded + 1))
        elif [ "$(grep -c '^miniprof: .*nothing is recorded' limit.err)" -eq 1 ]; then
            refused=$((refused + 1))
        elif [ "$(grep -c 'recording stops, the program runs on' limit.err)" -eq 1 ] &&
            grep -q ' [1-9][0-9]* dropped' limit.err &&
            [[ $("$miniprof" check limit.mpt 2>&1) == *' has no index'*' are intact)' ]]; then
            : # nothing is lost without a word
        elif [ -s limit.err ]; then
            echo "$kib KiB: $(cat limit.err)"
            silent=$((silent + 1))
        fi
    done
    same "RLIMIT_AS, many values: no program is harmed" 0 "$harmed"
    check "RLIMIT_AS, many values: recorded where there is room" [ "$recorded" -gt 3 ]
    check "RLIMIT_AS, many values: refused with one line where there is not" [ "$refused" -gt 3 ]
    same "RLIMIT_AS, many values: nothing else" 0 "$silent"
fi

# ---- system calls, allocations ---------------------------------------------------------------
if ! sanitized; then
    lives "no system calls after the warm-up" quiet 0 "alpha 550" init seccomp=500
    same "no system calls after the warm-up: all of it" "550 2202 1650 0" \
        "$(count quiet call cuLaunchKernel) $(count quiet sync) $(count quiet nvtx) $(
            closing quiet | sed 's/.* \([0-9]*\) dropped.*/\1/')"
    lives "getpid is denied at the end" late_getpid 3 "alpha 9" init alpha=4 sync deny=getpid:1 \
        alpha=5 exit=3
    lives "getpid is denied before the start" early_getpid 3 "alpha 9" deny=getpid:1 init alpha=9 \
        exit=3
    bare gettid.bare -- "$steps" deny=gettid:1 init thread=alpha=1,mark=other mark=main sync
    profile gettid -- "$steps" deny=gettid:1 init thread=alpha=1,mark=other mark=main sync
    unharmed "gettid is denied" gettid gettid.bare 0
    same "gettid is denied: each thread is known" 2 "$(column gettid nvtx thread | sort -u | wc -l)"
    same "getpid is denied: the process id is known" yes \
        "$("$miniprof" info --json early_getpid.mpt | grep -q '"pid": "[1-9]' && echo yes)"
    bare hot.bare -- "$life" init beat=30 hot=1 beat=30 hot=0
    profile hot LD_PRELOAD="$build/tests/e2e/hot_malloc.so" -- \
        "$life" init beat=30 hot=1 beat=30 hot=0
    unharmed "an allocator that marks what it does: no allocation on the hot path" hot hot.bare 0
    complete "an allocator that marks what it does" hot
    same "an allocator that marks what it does: kernels" "alpha 60" "$(kernels hot)"
    check "an allocator that marks what it does: its marks" [ "$(count hot nvtx malloc)" -gt 10 ]
fi
finish
