#!/bin/bash
# Wrong command lines: one line that says what to do, exit code 2. Help and version: on stdout.
. "$SOURCE/tests/tools/cli.sh" || exit 1

wrong() { # LINE ARGUMENT...
    local line=$1
    shift
    run "$@"
    code 2
    stdout </dev/null
    echo "$line" | stderr
}

trace plain
wrong "miniprof: which command? 'miniprof help' lists them"
wrong "miniprof: unknown command 'frobnicate'; 'miniprof help' lists them" frobnicate
wrong "miniprof: unknown command 'frobnicate'; 'miniprof help' lists them" help frobnicate
for command in summary iters advise layers kernels overlap memory deps html info check dump run \
    ctl; do
    wrong "miniprof $command: unknown option '--frob'; 'miniprof help $command' lists them" \
        $command --frob plain.mpt
    wrong "miniprof $command: unknown option '-z'; 'miniprof help $command' lists them" \
        $command -z plain.mpt
    run $command --help
    code 0
    quiet
    grep -q "^Usage: miniprof $command " .stdout
    verdict "usage" $?
    awk 'length > 79 { print; long = 1 } END { exit long }' .stdout
    verdict "lines that fit a terminal" $?
    cp .stdout help.txt
    run help $command
    stdout <help.txt
done
for command in summary iters advise layers kernels overlap memory deps html info check dump; do
    wrong "miniprof $command: which trace? 'miniprof $command TRACE.mpt'" $command
done
for command in html check dump; do
    wrong "miniprof $command: takes one trace; 'miniprof help $command' says more" \
        $command plain.mpt plain.mpt
done
wrong "miniprof summary: --range needs a value: --range=N" summary plain.mpt --range
wrong "miniprof summary: --range takes a number from 1, not '0'" summary --range=0 plain.mpt
wrong "miniprof summary: --range takes a number from 1, not 'two'" summary --range two plain.mpt
wrong "miniprof summary: --csv takes no value" summary --csv=1 plain.mpt
wrong "miniprof summary: --demangling takes on or off, not 'maybe'" \
    summary --demangling=maybe plain.mpt
wrong "miniprof run: which program? 'miniprof run -- PROGRAM [argument...]'" run --
wrong "miniprof run: --capture takes auto, range, all, off or nvtx:NAME[@DOMAIN], not 'some'" \
    run --capture=some true
wrong "miniprof run: --capture-end takes repeat, repeat:N or stop, not 'repeat:x'" \
    run --capture-end=repeat:x true
wrong "miniprof run: --schedule takes skip=N, wait=N, warmup=N, active=N and repeat=N in a list, \
active from 1, not 'active=0'" run --schedule=active=0 true
wrong "miniprof run: --step takes the name of an NVTX range, or NAME@DOMAIN, not '@'" \
    run --step=@ true
wrong "miniprof run: --flight takes a time from 1s to 1h, such as 30s or 5min, not '30'" \
    run --flight=30 true
wrong "miniprof run: --flight-mb takes a number from 4 to 65536 (MB), not '1'" \
    run --flight-mb=1 true
wrong "miniprof run: --slow-step takes a time such as 50ms, or a percentile from p01 to p99 and a \
factor, such as p99x2, not 'p99*2'" run '--slow-step=p99*2' true
wrong "miniprof run: --duration takes a number from 0 to 4000000 (s), not '-1'" \
    run --duration=-1 true
wrong "miniprof ctl: which process? 'miniprof ctl PID start|stop|dump|status|where'" ctl
wrong "miniprof ctl: takes a process id and what to do: 'miniprof ctl PID \
start|stop|dump|status|where'" ctl 1
wrong "miniprof ctl: 'x' is no process id" ctl x start
wrong "miniprof ctl: '0' is no process id" ctl 0 start
wrong "miniprof ctl: 'go' is none of start, stop, dump, status and where" ctl 1 go
wrong "miniprof run: --level takes a number from 1 to 19, not '20'" run --level=20 true

run dump --table nothing plain.mpt
code 2
stderr_like <<'END'
miniprof dump: no table 'nothing'; there are string thread *
END

run --version
code 0
stdout_like <<'END'
miniprof [0-9]*.[0-9]*.[0-9]*
END
run help
code 0
quiet
cp .stdout help.txt
run --help
code 0
stdout <help.txt

finish
