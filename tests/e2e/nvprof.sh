#!/bin/bash
# nvprof's command line around programs on the software GPU: what is said and where, exit codes,
# files, capture, child processes, signals.
. "$SOURCE/tests/e2e/lib.sh" || exit 1

mkdir tmp
export TMPDIR=$work/tmp

# nvprof NAME [OPTION...] PROGRAM...: $work/NAME.out, $work/NAME.err, $status.
nvprof() {
    local name=$1
    shift
    "$miniprof" nvprof "$@" >"$work/$name.out" 2>"$work/$name.err" </dev/null
    status=$?
}

# lines NAME: our lines, with PID for the first process id, without what times make different.
lines() {
    sed -E "s/^==[0-9]+==/==PID==/; s/process [0-9]+/process PID/" "$work/$1.err"
}

last() {
    tail -n 1 "$work/$1.err"
}

program=("$steps" init alpha=4 beta=2 sync print=result)

# ---- a session -------------------------------------------------------------------------------
bare bare -- "${program[@]}"
nvprof plain "${program[@]}"
same "exit code" 0 "$status"
check "stdout is the program's" cmp bare.out plain.out
same "the first lines" "==PID== NVPROF is profiling process PID, command: ${program[*]}
==PID== Profiling application: ${program[*]}
==PID== Profiling result:" "$(lines plain | head -n 3)"
same "kernels" 2 "$(grep -cE ' (alpha|beta)$' plain.err)"
same "nothing of the recorder's" 0 "$(grep -c '^miniprof' plain.err)"
pid=$(sed -n 's/.*profiling process \([0-9]*\),.*/\1/p' plain.err)
same "one process id in all lines" "==$pid==" "$(grep -oE '^==[0-9]+==' plain.err | sort -u)"
"$miniprof" "${program[@]}" >word.out 2>word.err
same "without the word nvprof: the same" "0 $(lines plain | head -n 1)" \
    "$? $(lines word | head -n 1)"
nvprof quiet --quiet "${program[@]}"
same "--quiet: only the program" "0  $(cat bare.out)" "$status $(cat quiet.err) $(cat quiet.out)"
for code in 1 3 255; do
    nvprof "exit$code" "$steps" init alpha=1 sync exit=$code
    same "exit code $code" "9 ======== Error: Application returned non-zero code $code" \
        "$status $(last "exit$code")"
    same "exit code $code: the report" 1 "$(grep -c ' alpha$' "exit$code.err")"
done
nvprof dies "$steps" init alpha=2 sync raise=15
same "SIGTERM" "9 ======== Error: Application received signal 143" "$status $(last dies)"
same "SIGTERM: the report" 1 "$(grep -c ' alpha$' dies.err)"
nvprof free sh -c 'echo text'
same "no CUDA" "0 text" "$status $(cat free.out)"
like "no CUDA: a warning" '======== Warning: No profile data collected\.' "$(cat free.err)"
nvprof missing ./nosuchprogram
same "no program" "13 ======== Error: application not found." "$status $(cat missing.err)"

# ---- what is recorded ------------------------------------------------------------------------
ranged=("$steps" init alpha=3 start beta=2 stop alpha=1 sync)
nvprof all "${ranged[@]}"
same "from the start until the stop" "1 1" \
    "$(grep -cE ' 3 .* alpha$' all.err) $(grep -cE ' 2 .* beta$' all.err)"
nvprof range --profile-from-start off "${ranged[@]}"
same "--profile-from-start off" "0 1" \
    "$(grep -c ' alpha$' range.err) $(grep -cE ' 2 .* beta$' range.err)"
nvprof gpu --trace gpu "${program[@]}"
same "--trace gpu: no calls" "2 0" \
    "$(grep -cE ' (alpha|beta)$' gpu.err) $(grep -c 'cuLaunchKernel$' gpu.err)"
nvprof api --trace api "${program[@]}"
same "--trace api: no kernels" "0 1" \
    "$(grep -cE ' (alpha|beta)$' api.err) $(grep -c 'cuLaunchKernel$' api.err)"
nvprof none --profile-api-trace none "${program[@]}"
same "--profile-api-trace none" 0 "$(grep -c 'cuLaunchKernel$' none.err)"
nvprof timeout --timeout 1 "$steps" init alpha=2 sync await=never
same "--timeout: exit code" 0 "$status"
like "--timeout: a line" 'Warning: the program was ended by --timeout after 1 s' "$(last timeout)"
same "--timeout: the report" 1 "$(grep -c ' alpha$' timeout.err)"

nvprof memory --track-memory-allocations on "$steps" init alpha=2 sync
same "--track-memory-allocations: a section" 1 "$(grep -c 'Memory allocation result:' memory.err)"
same "without it: none" 0 "$(grep -c 'Memory allocation result:' plain.err)"
if plays cuptiRangeProfilerEnable; then
    nvprof metrics -m achieved_occupancy --kernels '^beta$' -m achieved_occupancy "${program[@]}"
    same "--metrics: stdout, the scope, two scopes, a summary" "result 0 1 1 1" \
        "$(cat metrics.out) $(grep -c 'Kernel: alpha' metrics.err) \
$(grep -c 'Kernel: beta' metrics.err) $(grep -c 'the last scope holds for all' metrics.err) \
$(grep -c 'GPU activities' metrics.err)"
    nvprof query --query-metrics
    same "--query-metrics" "0 1" "$status $(grep -c achieved_occupancy query.out)"
    nvprof query_log --query-metrics --log-file query.log
    same "--query-metrics --log-file" "0 0 $(sha256sum <query.out)" \
        "$status $(wc -l <query_log.out) $(sha256sum <query.log)"
else
    leaves_out "--metrics and --query-metrics"
fi
if ldconfig -p | grep -q 'libcuda\.so\.1'; then
    echo "# there is a driver: --query-metrics without one is left out"
else
    LD_LIBRARY_PATH='' "$miniprof" nvprof --query-metrics >nodriver.out 2>nodriver.err
    same "--query-metrics without a driver" "23 1 0" \
        "$? $(wc -l <nodriver.err) $(wc -l <nodriver.out)"
fi

# ---- child processes -------------------------------------------------------------------------
family=("$steps" init alpha=3 fork-exec=init,beta=2,sync,exit=6 alpha=2 sync)
nvprof alone "${family[@]}"
same "children are not recorded" "1 0" \
    "$(grep -c ' alpha$' alone.err) $(grep -c ' beta$' alone.err)"
nvprof family --profile-child-processes "${family[@]}"
same "--profile-child-processes: both" "1 1 2" "$(grep -c ' alpha$' family.err) \
$(grep -c ' beta$' family.err) $(grep -c 'Profiling result:' family.err)"
pids=$(sed -n 's/^==\([0-9]*\)== Profiling result:/\1/p' family.err)
same "by process id" "$(sort -n <<<"$pids")" "$pids"
nvprof apart --profile-child-processes --log-file 'apart.%p.log' -o 'apart.%p.mpt' "${family[@]}"
same "-o with %p: a trace each" "alpha 5 beta 2" "$(echo $(for file in apart.*.mpt; do
    cp "$file" one.mpt; kernels one; done | sort))"
same "--log-file with %p: a log each" 2 "$(ls apart.*.log | wc -l)"
same "--log-file: the file of each is named in its own" 2 "$(for file in apart.*.log; do
    pid=${file#apart.}; grep -c "^==${pid%.log}== Generated result file: .*/apart.${pid%.log}.mpt" \
        "$file"; done | grep -c 1)"
same "--log-file: nothing on stderr" "" "$(cat apart.err)"
nvprof shell bash -c '"$0" "$@"; exit 0' "${program[@]}"
same "the first process that uses CUDA is recorded, whoever it is" 1 \
    "$(grep -c ' alpha$' shell.err)"

nvprof many --profile-child-processes --print-gpu-summary bash -c '
    for ((i = 0; i < 40; i++)); do "$0" init alpha=1 sync; done; exit 0' "$steps"
same "40 children: all reports" "0 40" "$status $(grep -c ' alpha$' many.err)"
(
    ulimit -Sn 30
    nvprof few --profile-child-processes --print-gpu-summary bash -c '
        for ((i = 0; i < 40; i++)); do "$0" init alpha=1 sync; done; exit 0' "$steps"
    exit $status
)
same "40 children, 30 files: all reports" "0 40" "$? $(grep -c ' alpha$' few.err)"
nvprof names "$steps" init push=$'a\e[31mb\nc' alpha=1 sync pop
same "nothing of a name moves the terminal's cursor" '"a?[31mb?c"' \
    "$(sed -n 's/.* Range //p' names.err)"

# ---- files -----------------------------------------------------------------------------------
nvprof first -o out.mpt "${program[@]}"
same "-o: no report" "==PID== NVPROF is profiling process PID, command: ${program[*]}
==PID== Generated result file: $work/out.mpt" "$(lines first)"
complete "-o" out
same "-o: recorded" "alpha 4 beta 2" "$(kernels out)"
nvprof second -o out.mpt "${program[@]}"
same "-o on a file that exists: nothing ran" "4 " "$status $(cat second.out)"
like "-o on a file that exists: says so" "'out.mpt' exists already; -f" "$(cat second.err)"
nvprof third -f -o out.mpt "$steps" init alpha=1 sync
same "-f" "0 alpha 1" "$status $(kernels out)"
nvprof import -i out.mpt
same "-i: the same report" "$(sed -n 's/^==[0-9]*== /======== /; /^======== Prof/p' plain.err |
    sed "s|$steps.*|$steps init alpha=1 sync|")" "$(grep '^======== Prof' import.err)"
NAME=value nvprof pattern --log-file '%q{NAME}.%h.%%.log' "${program[@]}"
same "--log-file with %q{} %h %%" 1 "$(grep -c 'Profiling result:' "value.$(uname -n).%.log")"
nvprof stdout --log-file %1 "${program[@]}"
same "--log-file %1" "1 0" "$(grep -c 'Profiling result:' stdout.out) $(wc -l <stdout.err)"
nvprof unset --log-file '%q{NOPE}' "${program[@]}"
same "an unset variable" '4 ======== Error: cannot find environment variable "NOPE"' \
    "$status $(cat unset.err)"

# ---- signals ---------------------------------------------------------------------------------
for row in INT:130 TERM:143; do
    IFS=: read -r signal expected <<<"$row"
    env --default-signal=INT,QUIT "$miniprof" nvprof "$inference" --exit-mode sleep \
        >"$signal.out" 2>"$signal.err" </dev/null &
    pid=$!
    await grep -q checksum "$signal.out"
    kill -"$signal" "$pid"
    wait "$pid"
    same "SIG$signal: exit code, last line" \
        "9 ======== Error: Application received signal $expected" "$? $(last "$signal")"
    like "SIG$signal: the report" ' conv_layer' "$(cat "$signal.err")"
done
# On a terminal both get the signal (and so would a shell that stays in between).
if command -v script >/dev/null; then
    touch terminal.out
    {
        await grep -q checksum terminal.out
        printf '\003'
        await grep -q 'Application received' terminal.out
    } | script -qefc "exec env --default-signal=INT,QUIT '$miniprof' nvprof '$inference' \
        --exit-mode sleep" /dev/null >terminal.out 2>&1
    same "Ctrl-C on a terminal: exit code" 9 "${PIPESTATUS[1]}"
    like "Ctrl-C on a terminal: the report" ' conv_layer' "$(cat terminal.out)"
else
    echo "# no script command: Ctrl-C on a terminal is left out"
fi
same "nothing is left in TMPDIR" "" "$(ls tmp)"
finish
