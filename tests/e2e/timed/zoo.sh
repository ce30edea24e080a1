#!/bin/bash
# Takes 20 s.
# The runner of the zoo with stand-ins for its programs, on the software GPU: what is true holds,
# what is not is named, and a program that is skipped, fails or says nothing is never counted as one
# that holds. The same of committed traces.
. "$SOURCE/tests/e2e/lib.sh" || exit 1
if sanitized; then
    echo "not with a build that has sanitizers: it compares times, which they and their load change"
    exit 77
fi
export SIMGPU=1 SIMGPU_REAL_TIME=1 ROUNDS=1

# Six iterations of two kernels and 200 ms, which the stand-ins know without a clock.
cat >"$work/good" <<'END'
#!/bin/bash
iteration="alpha=1 beta=1 sync sleep=200"
echo "truth pid=$$ unit=iteration count=${COUNT:-6} clock=latency p50_us=200300 p90_us=200900" \
    "name=- kernels=${KERNELS:-12}" ${GRAPH:+graph_p50_us=$GRAPH}
exec "$STEPS" init alpha=1 sync start $iteration $iteration $iteration $iteration $iteration \
    $iteration stop
END
cat >"$work/wrong" <<'END'
#!/bin/bash
COUNT=7 KERNELS=11 GRAPH=100.0 exec "$(dirname "$0")/good"
END
cat >"$work/two" <<'END'
#!/bin/bash
"$(dirname "$0")/good" & "$(dirname "$0")/good"
wait
END
cat >"$work/untraced" <<'END'
#!/bin/bash
"$(dirname "$0")/good" | sed 's/pid=/pid=9/'
END
printf '#!/bin/bash\necho "skipped: no such thing"\nexit 77\n' >"$work/absent"
cat >"$work/partly" <<'END'
#!/bin/bash
[ -z "${CUDA_INJECTION64_PATH:-}" ] || exec "$(dirname "$0")/absent"
exec "$(dirname "$0")/good"
END
printf '#!/bin/bash\necho "it broke" >&2\nexit 3\n' >"$work/fails"
printf '#!/bin/bash\necho "truth is hard"\n' >"$work/silent"
printf '#!/bin/bash\necho "truth pid=1"\n' >"$work/garbled"
{
    echo "# stand-ins"
    for name in good wrong two untraced absent partly fails silent garbled; do
        chmod +x "$work/$name"
        echo "$name $name"
    done
} >"$work/programs.txt"
export STEPS=$steps ZOO_PROGRAMS=$work/programs.txt
export SIDES="alone recorded" # with --baseline there would be more rows

# zoo CASES: what the runner says in said.txt, its exit status in $status.
zoo() {
    CASES=$1 bash "$SOURCE/tests/zoo/run.sh" >said.txt 2>&1
    status=$?
}

# says WHAT PATTERN: a line that the runner printed.
says() {
    check "$1" grep -E "$2" said.txt
}

# row CASE COLUMN: of the table.
row() {
    grep "^| $1 |" said.txt | awk -F ' [|] ' -v column="$2" '{ print $column }'
}

mkdir kept
KEEP=$work/kept zoo "good two absent"
same "all holds: exit code" 0 "$status"
same "all holds: what was counted" "6 iterations 6 kernels" \
    "$(row good 3) $(row good 4) $(row good 5)"
says "all holds: every statement" '^([0-9]+) of \1 statements hold; 2 programs, 1 not tried$'
same "all holds: what was not tried" "not tried: absent: skipped: no such thing" \
    "$(grep '^not tried' said.txt)"
same "all holds: of two processes there are twice as many" "8 of 8 | 16 of 16 |" \
    "$(row good 14) $(row two 14)"
same "kept: a trace and a truth of each process" \
    "good.mpt good.truth two_1.mpt two_1.truth two_2.mpt two_2.truth" \
    "$(cd kept && echo *)"
[ "$status" -eq 0 ] || cat said.txt

zoo "wrong untraced"
same "what is not true: exit code" 1 "$status"
says "what is not true: count" 'wrong: recorded: count: 6 by kernels, not 7 iterations, and no'
says "what is not true: kernels" 'wrong: recorded: kernels: 12 kernels, not 11'
says "what is not true: advice" 'wrong: recorded: graph: (no advice|advised: .* it takes 100.0)'
says "a process without a trace" 'untraced: recorded: process 9[0-9]+ left no trace'

zoo "fails silent garbled partly"
same "broken programs: exit code" 1 "$status"
says "a program fails" 'fails: alone: exit status 3: it broke'
says "a program says nothing" 'silent: alone: a line of truth cannot be read'
says "a line of truth is not whole" 'garbled: alone: a line of truth cannot be read: .count'
says "a program is skipped only when it is recorded" 'partly: recorded: it was skipped, and ran'
says "nothing holds" '^0 passed, 7 failed$'

zoo nothing
same "a case that is none: exit code" 1 "$status"
says "a case that is none: which there are" "no program 'nothing'; there are: good"

# committed: what check_traces.sh says of the traces that were kept, and its status.
committed() {
    ZOO_DATA=$work/kept bash "$SOURCE/tests/zoo/check_traces.sh" >said.txt 2>&1
    status=$?
}

committed
same "committed traces: exit code" 0 "$status"
same "committed traces: all pass" "3 passed, 0 failed" "$(tail -n 1 said.txt)"
sed -i 's/count=6/count=5/' kept/good.truth
rm kept/two_1.truth kept/two_2.mpt
committed
same "committed traces that are wrong: exit code" 1 "$status"
same "committed traces that are wrong: each says why" \
    "FAILED good: count: 6 by kernels, not 5 iterations, and no warning
FAILED two_1: there is a .mpt, but no .truth
FAILED two_2: there is a .truth, but no .mpt
0 passed, 3 failed" "$(cat said.txt)"
rm kept/*
committed
same "no committed traces: skipped" 77 "$status"
says "no committed traces: says so" '^no traces in .*/kept: '
finish
