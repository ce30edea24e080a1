#!/bin/bash
# Wrong command lines: one line that says what to do, exit code 2. Help and version: on stdout.
. "$SOURCE/tests/tools/cli.sh" || exit 1

trace plain
wrong "miniprof: which command? 'miniprof help' lists them"
wrong "miniprof: unknown command 'frobnicate'; 'miniprof help' lists them" frobnicate
meant="did you mean 'summary'?"
wrong "miniprof: unknown command 'sumary'; $meant 'miniprof help' lists them" sumary
meant="did you mean '--csv'?"
wrong "miniprof summary: unknown option '--csvv'; $meant 'miniprof help summary' lists them" \
    summary --csvv
meant="did you mean '--cuda-graph'?"
wrong "miniprof run: unknown option '--cuda-graph-trace'; $meant 'miniprof help run' lists them" \
    run --cuda-graph-trace graph true
wrong "miniprof: unknown command 'frobnicate'; 'miniprof help' lists them" help frobnicate
for command in report summary iters advise layers stacks kernels overlap memory deps html info \
    check dump run ctl calibrate export fleet; do
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
for command in report summary iters advise layers stacks kernels overlap memory deps html info \
    check dump; do
    wrong "miniprof $command: which trace? 'miniprof $command TRACE.mpt'" $command
done
wrong "miniprof dump: takes one trace; 'miniprof help dump' says more" dump plain.mpt plain.mpt
wrong "miniprof summary: --range needs a value: --range=N" summary plain.mpt --range
wrong "miniprof summary: --range takes a number from 1, not '0'" summary --range=0 plain.mpt
wrong "miniprof summary: --range takes a number from 1, not 'two'" summary --range two plain.mpt
wrong "miniprof summary: --csv takes no value" summary --csv=1 plain.mpt

# One vocabulary: --iterations, --iteration, --range and --unit, the same in each command.
for command in iters advise deps memory layers diff; do
    run help $command
    grep -q -- '^      --iterations=NAME' .stdout
    verdict "help $command: --iterations" $?
    ! grep -qE -- '--(by|iters|iteration=NAME|normalized-time-unit)( |=|$)' .stdout
    verdict "help $command: the old names are silent" $?
done
for command in summary nvtx iters stacks kernels layers overlap memory gpu-trace api-trace \
    advise; do
    wrong "miniprof $command: --unit takes s, ms, us, ns, col or auto, not 'furlongs'" \
        $command --unit furlongs plain.mpt
    wrong "miniprof $command: --unit is for text; --csv, --json and --jsonl are always in ns" \
        $command --unit us --csv plain.mpt
    run $command --unit ns --csv plain.mpt
    code 0
    wrong "miniprof $command: --csv and --jsonl are two formats; ask for one" \
        $command --jsonl --csv plain.mpt
done
wrong "miniprof dump: --csv and --jsonl are two formats; ask for one" \
    dump --jsonl --csv --table kernel plain.mpt
wrong "miniprof info: --csv and --jsonl are two formats; ask for one" info --jsonl --csv plain.mpt
wrong "miniprof iters: --table needs --csv" iters --table counts plain.mpt
wrong "miniprof iters: no table 'nothing' in this report; --table is one of counts, outliers, \
threads, host_code, or not given" iters --csv --table nothing plain.mpt
wrong "miniprof kernels: unknown option '--table=x'; 'miniprof help kernels' lists them" \
    kernels --csv --table=x plain.mpt
for command in iters deps memory; do
    wrong "miniprof $command: --iteration takes a number from 1, not '0'; --iterations takes a \
name" \
        $command --iteration 0 plain.mpt
done
for command in iters deps; do
    wrong "miniprof $command: --iteration takes a number from 1, not 'x'; --iterations takes a \
name" \
        $command --iteration x plain.mpt
    wrong "miniprof $command: 'plain.mpt': --iteration=3 is past the last: there are 2 iterations" \
        $command --iterations range --iteration 3 plain.mpt
done
wrong "miniprof memory: 'plain.mpt': --iteration=3 is past the last: there are 2 iterations" \
    memory --iterations range --iteration 3 plain.mpt

# What they were called before still works, and says what it said.
old() { # COMMAND OLD... -- NEW...
    local command=$1 was=()
    shift
    while [ "$1" != -- ]; do
        was+=("$1")
        shift
    done
    shift
    run $command "$@" plain.mpt
    code 0
    cp .stdout new.txt
    run $command "${was[@]}" plain.mpt
    code 0
    quiet
    stdout <new.txt
}
old iters --by range -- --iterations range
old advise --by range -- --iterations range
old deps --iters range -- --iterations range
old memory --iteration range -- --iterations range
old summary --normalized-time-unit us -- --unit us
old summary -u us -- --unit us
run diff --by range plain.mpt plain.mpt
code 0
cp .stdout new.txt
run diff --iterations range plain.mpt plain.mpt
stdout <new.txt
wrong "miniprof summary: --demangling takes on or off, not 'maybe'" \
    summary --demangling=maybe plain.mpt
wrong "miniprof run: which program? 'miniprof run -- PROGRAM [argument...]'" run --
wrong "miniprof run: --capture takes auto, range, all, pause, off or nvtx:NAME[@DOMAIN], not \
'some'" run --capture=some true
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

wrong "miniprof run: --metrics: there is no metric 'achieved_ocupancy'; did you mean \
'achieved_occupancy'?" run --metrics=ipc,achieved_ocupancy true
wrong "miniprof run: --metrics: there is no metric 'frobs'; 'miniprof metrics --query' lists them" \
    run --metrics=frobs true
run run --metrics=frobs,ipc,blobs true
code 2
stderr <<'END'
miniprof run: --metrics: there is no metric 'frobs'; 'miniprof metrics --query' lists them
miniprof run: --metrics: there is no metric 'blobs'; 'miniprof metrics --query' lists them
END
wrong "miniprof dump: no table 'kernal'; did you mean 'kernel'? 'miniprof info' lists them" \
    dump --table kernal plain.mpt
eager=$SOURCE/tests/data/resnet50_eager.mpt
for option in "iters --by nvtx:" "deps --iters " "memory --iteration "; do
    # shellcheck disable=SC2086
    run ${option}itertaion "$eager"
    code 2
    grep -q "; there are.* iteration\(;\|$\)" .stderr
    verdict "the name that was meant, alone" $?
done
wrong "miniprof layers: '$eager': no NVTX range is called 'itertaion'; there is 'iteration'" \
    layers --iteration itertaion "$eager"

run dump --table nothing plain.mpt
code 2
stderr_like <<'END'
miniprof dump: no table 'nothing'; there are string thread *
END

# A trace alone is one to report on, as far as there is the command report. A program of the same
# name goes first, and a file that can be run is a program unless it is a trace.
if "$miniprof" help | grep -q '^  report '; then
    run plain.mpt
    cp .stdout alone.txt
    run report plain.mpt
    stdout <alone.txt
    mkdir -p folder true
    cp plain.mpt folder
    chmod +x plain.mpt
    run ./plain.mpt
    cp .stdout alone.txt
    run report ./plain.mpt
    stdout <alone.txt
    run folder
    code 0
    for options in --csv "--top 3"; do
        # shellcheck disable=SC2086
        for path in plain.mpt folder; do
            run $options $path
            code 2
            kind="a trace"
            [ $path = folder ] && kind="a folder"
            stderr <<END
miniprof: '$path' is $kind, not a program; a command comes first: 'miniprof summary $options $path'
END
            run summary $options $path
            code 0
        done
    done
    run --bogus true --data folder # what follows a program is the program's
    code 5
    stderr_like <<'END'
======== Error: Encountered invalid option : --bogus
*
END
    wrong "miniprof: the command comes before the trace: 'miniprof summary folder/plain.mpt'" \
        folder/plain.mpt summary
    wrong "miniprof: the command comes before the trace: 'miniprof iters folder/plain.mpt'" \
        folder/plain.mpt --csv iters
    run true
    ! grep -q "report" .stderr
    verdict "the program true, not the folder" $?
else
    wrong "miniprof: unknown command 'plain.mpt'; 'miniprof help' lists them" plain.mpt
fi

run --version
code 0
stdout_like <<'END'
miniprof [0-9]*.[0-9]*.[0-9]*
package  [0-9]*.[0-9]*.[0-9]*
commit   *
zstd     1.[0-9]*
SQLite   *
zlib     *
CUPTI    of CUDA 11.8 to 13.x; faults known up to *
END
run help
code 0
quiet
cp .stdout help.txt
run --help
code 0
stdout <help.txt

finish
