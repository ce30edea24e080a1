#!/bin/bash
# How a program ends with the recorder in it, on a real driver: its exit status is its own, the
# trace whole.
. "$(dirname "$0")/lib.sh"

sample=$BUILD/samples/inference

ends() { # NAME EXPECTED-STATUS EXPECTED-CHECK COMMAND...
    local name=$1 expected=$2 check=$3 status
    shift 3
    rm -f "$WORK/x.mpt"
    traced "$WORK/x.mpt" "$@" >"$WORK/out" 2>"$WORK/err"
    status=$?
    [ $status -eq "$expected" ] ||
        fail "$name: exit status $status, not $expected: $(cat "$WORK/err")"
    "$BUILD/miniprof" check "$WORK/x.mpt" >"$WORK/check" 2>&1
    [ $? -eq "$check" ] || fail "$name: $(cat "$WORK/check")"
    ok "$name: $(field "$WORK/x.mpt" records) records"
}

ends normal 0 0 "$sample" --iterations 20
ends "exit from another thread" 0 0 "$sample" --iterations 20 --exit-mode thread-exit
ends SIGINT 124 0 timeout -s INT 3 "$sample" --exit-mode sleep
ends SIGTERM 124 0 timeout -s TERM 3 "$sample" --exit-mode sleep
# Killed: no index, the rest is whole.
ends SIGKILL 137 1 timeout -s KILL 3 "$sample" --exit-mode sleep

# ---- as without the recorder, whatever the driver does ------------------------------------------
steps=$BUILD/tests/e2e/steps
recorded=(env CUDA_INJECTION64_PATH="$BUILD/libminiprof.so" MINIPROF_OUTPUT="$WORK/x.mpt")

# How it ends; 137: it does not.
status_of() {
    rm -f "$WORK/x.mpt"
    timeout -s KILL 20 "$@" >"$WORK/out" 2>"$WORK/err"
    echo $?
}

main_ends=("$steps" init alpha=5 sync end-thread)
alone=$(status_of "${main_ends[@]}")
with=$(status_of "${recorded[@]}" "${main_ends[@]}")
[ "$with" = "$alone" ] || fail "pthread_exit in main: exit status $with, alone $alone"
ok "pthread_exit in main: exit status $alone, with and without"

# interrupted COMMAND...: of 20 runs in which a handler calls exit at another moment of a launch,
# how many end with its code within two seconds.
interrupted() {
    local i pid good=0
    for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        rm -f "$WORK/x.mpt"
        "$@" "$steps" init exit-on-usr1=3 alpha=1 sync print=works alpha=1000000000 \
            >"$WORK/out" 2>>"$WORK/err" &
        pid=$!
        until grep -q works "$WORK/out"; do sleep 0.01; done
        sleep "0.1$i"
        kill -USR1 "$pid"
        (sleep 2 && kill -KILL "$pid") 2>/dev/null &
        wait "$pid" 2>/dev/null
        [ $? -ne 3 ] || good=$((good + 1))
        kill $! 2>/dev/null
    done
    echo $good
}

alone=$(interrupted env)
with=$(interrupted "${recorded[@]}")
[ $((with + 2)) -ge "$alone" ] || fail "exit in a handler: $with of 20 end at once, alone $alone"
ok "exit in a handler: $with of 20 end at once, alone $alone"
