#!/bin/bash
# Waits of host threads: a trace in which two threads wait for each other, worked out by hand, and
# traces that say what cannot be. Each of these costs bounded time and one clear line, and no
# nanosecond is lost.
. "$SOURCE/tests/tools/cli.sh" || exit 1

write_trace=$BUILD/tests/tools/write_trace

# Thread 1 launches a kernel, 1000 to 51000, and waits for it. Then it lets thread 2 go on, which
# launches another one, 70000 to 90000, waits for that, and wakes thread 1 in turn. All this in two
# NVTX ranges of thread 1, called step.
two_threads() {
    cat <<'END'
string id=1 text=cuLaunchKernel
string id=2 text=cuCtxSynchronize
string id=3 text=gemm
string id=4 text=step
thread id=1 tid=77
thread id=2 tid=78
device id=0
stream id=1 stream=13 context=1
function id=1 api=2 cbid=1 name=1
function id=2 api=2 cbid=2 name=2
shape id=1 kernel=3 grid_x=1 grid_y=1 grid_z=1 block_x=32 block_y=1 block_z=1
nvtx thread=1 kind=1 name=4 time=100
nvtx thread=1 kind=2 time=54500
nvtx thread=1 kind=1 name=4 time=54600
nvtx thread=1 kind=2 time=99000
call thread=1 function=1 start=500 duration=300 correlation=1
call thread=1 function=2 start=900 duration=51100 correlation=2
call thread=2 function=1 start=60000 duration=3000 correlation=3
call thread=2 function=2 start=64000 duration=27000 correlation=4
call thread=1 function=1 start=97000 duration=1000 correlation=5
sync thread=1 kind=4 context=1 stream=4294967295 start=950 duration=51000 correlation=2
sync thread=2 kind=4 context=1 stream=4294967295 start=64050 duration=26900 correlation=4
kernel stream=1 shape=1 start=1000 duration=50000 correlation=1
kernel stream=1 shape=1 start=70000 duration=20000 correlation=3
kernel stream=1 shape=1 start=98500 duration=500 correlation=5
END
}

# forged NAME <rows: two_threads with more rows
forged() {
    { two_threads; cat; } | "$write_trace" "$1.mpt" || exit 1
}

# Thread 2 waits from 300 to 56000, woken at 54000; thread 1 from 55000 to 96000, woken at 93000.
forged good <<'END'
wait thread=2 kind=1 object=0xabc0 start=300 duration=55700 waker=1 woken=53700
wait thread=1 kind=1 object=0xabc0 start=55000 duration=41000 waker=2 woken=38000
END
run deps --json --trace good.mpt
code 0
# Backwards from 99000: kernel 500, launch latency 1500 to 97000, host code 1000 to 96000, return
# 3000 to 93000; thread 2: host code 2000 to 91000, return 1000 to 90000, kernel 20000, launch
# latency 10000 to 60000, host code 4000 to 56000, return 2000 to 54000; thread 1: host code 2000
# to 52000, return 1000 to 51000, kernel 50000, launch latency 500 to 500. The window begins with
# the wait, at 300: host code 200.
json 'd["window_ns"] == 98700'
json '{r["name"]: r["critical_ns"] for r in d["rows"]}["gemm"] == 70500'
json 'd["parts"]["host_code_ns"] == 1000 + 2000 + 4000 + 2000 + 200'
json 'd["parts"]["return_ns"] == 3000 + 1000 + 2000 + 1000'
json 'd["parts"]["launch_latency_ns"] == 1500 + 10000 + 500'
json '[(a["kind"], a["bound_by"], a["waiting_ns"], a["critical_ns"]) for a in d["activities"]
       if a["kind"] == "wait"] == [("wait", "D9", 53700, 0), ("wait", "D9", 38000, 0)]'

# So many lines of the report count waits that are not as they should be.
says() { # COUNT
    [ "$(grep -cE '^==.* [0-9,]+ waits?( |$)' .stdout)" -eq "$1" ] || { grep ^== .stdout; false; }
    verdict "$1 lines about waits" $?
}

run deps good.mpt
code 0
says 0

# ends COMMAND...: within bounded time, by exit code 0 or 1, without a word on stderr.
ends() {
    last="miniprof $*"
    timeout 300 "$miniprof" "$@" >.stdout 2>.stderr </dev/null
    got=$?
    [ "$got" -le 1 ]
    verdict "exit code $got" $?
    quiet
}

# every_report NAME [COUNT]: every report ends, deps says what is wrong in so many lines, and
# nothing is lost.
every_report() {
    local name=$1
    ends deps "$name.mpt"
    [ $# -lt 2 ] || says "$2"
    ends deps --parts --trace --json "$name.mpt"
    json 'sum(r["critical_ns"] for r in d["rows"]) == d["window_ns"]'
    json 'all(a["slack_ns"] >= 0 and a["waiting_ns"] >= 0 for a in d["activities"])'
    ends deps --iters step --json "$name.mpt"
    json 'sum(r["critical_ns"] for r in d["rows"]) == d["window_ns"]'
    ends deps --what-if=gemm=0.5x --what-if=host=0 "$name.mpt"
    ends iters "$name.mpt"
    ends advise "$name.mpt"
    ends html -o page.html "$name.mpt"
    rm -f "$name.mpt" page.html
}

hostile() {
    forged "$1"
    every_report "$1" 1
}

hostile unknown_thread <<<'wait thread=9 kind=1 start=55000 duration=41000 waker=2 woken=38000'
hostile no_thread <<<'wait thread=0 kind=1 start=55000 duration=41000 waker=2 woken=38000'
hostile waker_not_there <<<'wait thread=1 kind=1 start=55000 duration=41000 waker=9 woken=38000'
hostile own_waker <<<'wait thread=1 kind=1 start=55000 duration=41000 waker=1 woken=38000'
hostile woken_after <<<'wait thread=1 kind=1 start=55000 duration=41000 waker=2 woken=41001'
hostile woken_never <<<"wait thread=1 kind=1 start=55000 duration=41000 waker=2 woken=$((2 ** 62))"
hostile woken_before <<<'wait thread=1 kind=1 start=55000 duration=41000 waker=2 woken=-5000'

# Times that are none: as for rows of any table.
forged no_begin <<<'wait thread=1 kind=1 start=0 duration=41000 waker=2 woken=38000'
forged reversed <<<'wait thread=1 kind=1 start=55000 duration=-7 waker=2 woken=0'
for name in no_begin reversed; do
    for command in deps "deps --trace" "deps --iters step" iters advise "html -o page.html"; do
        # shellcheck disable=SC2086
        run $command $name.mpt
        code 1
        [ "$(cat .stdout .stderr | grep -c '1 row .* is left out')" -eq 1 ]
        verdict "one line says that a row is left out" $?
    done
done

# Both are woken at the moment at which they wake the other, at the end of both waits.
hostile cycle <<'END'
wait thread=1 kind=1 object=0xabc0 start=55000 duration=41000 waker=2 woken=41000
wait thread=2 kind=1 object=0xabc0 start=92000 duration=4000 waker=1 woken=4000
END

# The same inside of both: each goes on only when the other has.
hostile cycle_inside <<'END'
wait thread=1 kind=1 object=0xabc0 start=55000 duration=41000 waker=2 woken=38000
wait thread=2 kind=1 object=0xabc0 start=92000 duration=4000 waker=1 woken=1000
END

# Across the begin and the end of calls: cut, as calls are.
forged across_calls <<'END'
wait thread=1 kind=1 start=51500 duration=10000 waker=2 woken=9500
wait thread=2 kind=1 start=58000 duration=3500 waker=1 woken=3000
wait thread=2 kind=1 start=90500 duration=3000 waker=1 woken=2900
END
every_report across_calls

# 20,000 of which each is woken inside the one that it wakes.
for ((at = 0; at < 10000; at++)); do
    echo "wait thread=1 kind=1 start=$((100000 + 4000 * at)) duration=3500 waker=2 woken=3000"
    echo "wait thread=2 kind=1 start=$((100100 + 4000 * at)) duration=3500 waker=1 woken=2900"
done >rows
hostile many <rows

# What is no fault: no waits; a waker without calls; one that nobody ended; one inside another; one
# inside a call that waits, and inside one that does not.
fine() {
    forged "$1"
    every_report "$1" 0
}

fine none </dev/null
fine quiet_waker <<'END'
thread id=3 tid=79
wait thread=1 kind=1 start=55000 duration=41000 waker=3 woken=38000
END
fine sleep <<<'wait thread=1 kind=11 start=55000 duration=41000'
fine nested <<'END'
wait thread=1 kind=1 start=55000 duration=41000 waker=2 woken=38000
wait thread=1 kind=2 start=60000 duration=4000
END
fine in_sync <<<'wait thread=1 kind=1 start=1000 duration=50000'
fine in_launch <<<'wait thread=2 kind=2 start=60500 duration=2300'

finish
