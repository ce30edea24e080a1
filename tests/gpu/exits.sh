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
