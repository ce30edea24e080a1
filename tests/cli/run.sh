#!/bin/bash
# miniprof run, with a stand-in for the recorder: its own duties, whatever is injected.
. "$SOURCE/tests/tools/cli.sh" || exit 1

touch library.so
library=$PWD/library.so
trace plain
cp plain.mpt known

in_run() { # options of run, then the program
    run run --library="$library" "$@"
}

# The program's environment.
in_run --no-summary --capture=range -o 'x %p.mpt' --argv on sh -c \
    'echo "$CUDA_INJECTION64_PATH|$NVTX_INJECTION64_PATH|$MINIPROF_CAPTURE|$MINIPROF_OUTPUT"
     echo "$MINIPROF_ARGV|${MINIPROF_API-unset}"'
code 0
quiet
printf '%s\n' "$library|$library|range|x %p.mpt" 'on|unset' | stdout

# Its exit code, its signal, its options.
in_run --no-summary -- sh -c 'exit 7'
code 7
in_run --no-summary -- sh -c 'kill -TERM $$'
code 143
in_run --no-summary -- sh -c 'kill -KILL $$'
code 137
in_run --no-summary echo --json -x
code 0
echo "--json -x" | stdout

# A program that cannot be run.
in_run ./missing
code 127
stderr <<'END'
miniprof run: cannot run './missing': No such file or directory
END
in_run ./plain.mpt
code 126
stderr <<'END'
miniprof run: cannot run './plain.mpt': Permission denied
END

# Its trace, on stderr; its own output stays alone on stdout.
in_run sh -c 'cp known miniprof.$$.mpt; echo result; exit 3'
code 3
echo result | stdout
head -n 2 .stderr >.head && mv .head .stderr
stderr <<'END'
==4242== Profiling application: ./infer --batch 1
==4242== Profiling result:
END
rm -f miniprof.*.mpt

# That of a program it started, when it has none itself; others by name.
in_run sh -c '(cp known miniprof.1.mpt); exit 0'
code 0
[ "$(head -n 1 .stderr)" = "==4242== Profiling application: ./infer --batch 1" ]
verdict "the only trace" $?
rm -f miniprof.*.mpt
in_run --output='%h.%p.mpt' sh -c 'for p in $$ 1 2; do cp known $(uname -n).$p.mpt; done'
tail -n 2 .stderr >.tail && mv .tail .stderr
for other in 1 2; do
    echo "miniprof run: another program wrote $(uname -n).$other.mpt; 'miniprof summary' prints it"
done | stderr
rm -f ./*.mpt

# Traces of earlier runs are not taken for this one's.
cp known miniprof.1.mpt
touch -d '1 minute ago' miniprof.1.mpt
in_run true
code 0
stderr_like <<'END'
miniprof run: no trace was written to miniprof.[0-9]*.mpt: *
END

# SIGTERM for us is for the program; we say how it ended.
last="SIGTERM"
"$miniprof" run --library="$library" --no-summary -- \
    sh -c 'trap "exit 9" TERM; touch started; while :; do sleep 0.02; done' >.stdout 2>.stderr &
pid=$!
await [ -e started ]
kill -TERM $pid
wait $pid
got=$?
code 9

# A trace file that exists, whatever would be recorded.
echo precious >kept.mpt
in_run -o kept.mpt touch ran
code 3
stderr <<'END'
miniprof run: 'kept.mpt' exists already; -f (--force) replaces it
END
[ ! -e ran ] && [ "$(cat kept.mpt)" = precious ]
verdict "nothing ran, nothing was removed" $?
in_run --no-summary -f -o kept.mpt test ! -e kept.mpt
code 0
MINIPROF_OUTPUT='%h.mpt' in_run --no-summary touch "$(uname -n).mpt"
code 0
MINIPROF_OUTPUT='%h.mpt' in_run --no-summary true
code 3

run run --library=./nowhere.so true
code 3
stderr <<'END'
miniprof run: cannot find ./nowhere.so; --library=FILE names it
END

finish
