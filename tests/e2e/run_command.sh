#!/bin/bash
# `miniprof run`: the program's exit code and stdout are its own, the summary follows on stderr.
. "$SOURCE/tests/e2e/lib.sh" || exit 1

# run NAME [OPTION...] -- PROGRAM...: in a folder of its own; its trace is copied to
# $work/NAME.mpt.
run() {
    local name=$1
    shift
    mkdir -p "$name"
    ( cd "$name" && exec "$miniprof" run "$@" >"$work/$name.out" 2>"$work/$name.err" </dev/null )
    status=$?
    ls "$name"/*.mpt >/dev/null 2>&1 && cp "$(ls "$name"/*.mpt | head -n 1)" "$work/$name.mpt"
}

# property NAME KEY: of the trace's header
property() {
    "$miniprof" info --json "$work/$1.mpt" | sed -n "s/^    \"$2\": \"\(.*\)\",\{0,1\}\$/\1/p"
}

program=("$steps" init alpha=4 beta=2 sync print=result)

# ---- the summary, stdout, exit code ----------------------------------------------------------
bare bare -- "${program[@]}"
run plain -- "${program[@]}"
same "run: exit code" 0 "$status"
check "run: stdout is the program's" cmp bare.out plain.out
same "run: the file has nvprof's kind of name" 1 "$(find plain -name 'miniprof.[0-9]*.mpt' | wc -l)"
complete run plain
same "run: recorded" "alpha 4 beta 2" "$(kernels plain)"
like "run: the summary's head" "==[0-9]+== Profiling application: $steps" "$(cat plain.err)"
same "run: the summary is that of miniprof summary" "$("$miniprof" summary plain.mpt 2>&1)" \
    "$(sed -n '/^==/,$p' plain.err)"
same "run: kernels in it" 2 "$(grep -cE ' (alpha|beta)$' plain.err)"
run no_dashes "${program[@]}"
same "run without --: the same" "0 alpha 4 beta 2" "$status $(kernels no_dashes)"
run only --no-summary -- "${program[@]}"
same "run --no-summary: closing line only" "1 1" \
    "$(wc -l <only.err) $(grep -c '^miniprof: .* records' only.err)"
for code in 1 3 42 255; do
    run "exit$code" -- "$steps" init alpha=1 exit=$code
    same "run: exit code $code is passed on, with a summary" "$code 1" \
        "$status $(grep -c ' alpha$' "exit$code.err")"
done
run cuda_free -- sh -c 'echo text; exit 5'
same "run: a program without CUDA: its exit code, stdout" "5 text" "$status $(cat cuda_free.out)"
like "run: a program without CUDA: one line" '^miniprof run: no trace was written.*CUDA' \
    "$(cat cuda_free.err)"
same "run: a program without CUDA: one line only" 1 "$(wc -l <cuda_free.err)"
run missing -- /no/such/program
same "run: no such program: 127" 127 "$status"
like "run: no such program: says so" "cannot run '/no/such/program': No such file" \
    "$(cat missing.err)"
touch plain_file
run refused -- "$work/plain_file"
same "run: a file that is no program: 126" 126 "$status"
same "run: a file that is no program: one line" 1 "$(wc -l <refused.err)"
run nothing
same "run without a program: usage" "2 1" "$status $(wc -l <nothing.err)"
run bad_option --capture=sometimes -- "${program[@]}"
same "run: a bad value is refused before the program runs" "2 " "$status $(cat bad_option.out)"
like "run: a bad value: what it takes" 'auto.*range.*all' "$(cat bad_option.err)"
run no_library --library=/no/such.so -- "${program[@]}"
same "run: no library: 3, nothing ran" "3 " "$status $(cat no_library.out)"
like "run: no library: says which" '/no/such.so' "$(cat no_library.err)"
run through_path -- env steps_path="$steps" sh -c '"$steps_path" init alpha=4 beta=2 sync'
same "run: a program that the program starts" "0 alpha 4 beta 2" "$status $(kernels through_path)"
like "run: its summary" ' alpha' "$(cat through_path.err)"
mkdir children
( cd children &&
    "$miniprof" run -- "$steps" init alpha=3 fork-exec=init,beta=2,exit=6 alpha=2 sync \
    >../children.out 2>../children.err )
same "run: nested children: exit codes" "0 child: exit 6" "$? $(cat children.out)"
same "run: nested children: a trace each" 2 "$(find children -name '*.mpt' | wc -l)"
like "run: nested children: the other trace is named" 'another program wrote .*\.mpt' \
    "$(cat children.err)"
same "run: nested children: the program's own summary" "1 0" \
    "$(grep -c ' alpha$' children.err) $(grep -c ' beta$' children.err)"

# ---- signals ---------------------------------------------------------------------------------
run dies -- "$steps" init alpha=2 sync raise=15
same "run: a program that dies of SIGTERM: 143, with a summary" "143 1" \
    "$status $(grep -c ' alpha$' dies.err)"
run aborts -- "$steps" init alpha=2 sync written abort
same "run: a program that aborts: 134, with what there is" "134 1 1" \
    "$status $(grep -c ' alpha$' aborts.err) $(grep -c 'Warning: .*no index' aborts.err)"
# A shell cannot tell exit code 143 from SIGTERM; who waits for the process can. WCOREDUMP is 128.
ends_by() {
    python3 -c 'import os, sys
pid = os.spawnvp(os.P_NOWAIT, sys.argv[1], sys.argv[1:])
print(os.waitpid(pid, 0)[1])' "$miniprof" run --no-summary -o by.mpt -- "$@" 2>/dev/null
}
same "run: ends by the program's signal, without a core" "15 9 1 6 512" "$(echo $(
    for signal in TERM KILL HUP; do ends_by sh -c "kill -$signal \$\$"; done
    ulimit -c unlimited 2>/dev/null
    ends_by python3 -c 'import os, resource
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
os.abort()'
    ends_by sh -c 'exit 2'))"
for row in INT:130 TERM:143; do
    IFS=: read -r signal expected <<<"$row"
    env --default-signal=INT,QUIT "$miniprof" run -o "$signal.mpt" -- \
        "$inference" --exit-mode sleep >"$signal.out" 2>"$signal.err" </dev/null &
    pid=$!
    await grep -q checksum "$signal.out"
    child=$(pgrep -P "$pid")
    kill -"$signal" "$pid"
    wait "$pid"
    same "run, SIG$signal: exit code" "$expected" $?
    check "run, SIG$signal: the program has ended" [ ! -e "/proc/$child" ]
    complete "run, SIG$signal" "$signal"
    like "run, SIG$signal: the summary" ' conv_layer' "$(cat "$signal.err")"
done
# On a terminal both get the signal; the program must not get it twice, which would kill it at once.
if command -v script >/dev/null; then
    touch terminal.out
    {
        await grep -q checksum terminal.out
        printf '\003'
        await grep -q 'API calls' terminal.out
    } | script -qefc "exec env --default-signal=INT,QUIT '$miniprof' run -o terminal.mpt -- \
        '$inference' --exit-mode sleep" /dev/null >terminal.out 2>&1
    same "run, Ctrl-C on a terminal: exit code" 130 "${PIPESTATUS[1]}"
    complete "run, Ctrl-C on a terminal" terminal
    like "run, Ctrl-C on a terminal: the summary" ' conv_layer' "$(cat terminal.out)"
else
    echo "# no script command: Ctrl-C on a terminal is left out"
fi

# ---- a flag for each setting -----------------------------------------------------------------
declare -A values=([output]=other.mpt [capture]=range [capture-end]=repeat:2 [delay]=60
    [duration]=3600 [schedule]=skip=1,active=2 [step]=iteration [baseline]=40% [flight]=30s
    [flight-mb]=8 [flight-files]=3 [slow-step]=p99x2 [api]=cuLaunchKernel
    [cuda-graph]=graph [device-graphs]=off [buffer-mb]=9 [gpu-buffer-mb]=17 [level]=7 [log]=error
    [cupti]="$build/simgpu/libcupti.so"
    [nvtx]=off [nccl]=nvtx [memory]=off [waits]=off
    [argv]=on [gpu]=off [concurrent-kernels]=off [unified-memory]=on [children]=off [timeout]=3600
    [attach]=range
    [metrics]=warps_launched [kernels]=alpha [devices]=0 [replay]=disabled [query]=metrics
    [sample]=default@1kHz [stacks]=python [stacks-every]=10 [stacks-over]=5
    [stacks-gaps]=1000 [operators]=modules)
settings=$("$build/dev/setting_list" | sed -n 's/^- `MINIPROF_\([A-Z_]*\)`.*/\1/p')
check "flags: the list of settings" [ "$(wc -w <<<"$settings")" -eq ${#values[@]} ]
export MINIPROF_ATTACH=init # else those without a range leave no trace
for name in $settings; do
    flag=$(tr 'A-Z_' 'a-z-' <<<"$name")
    [ "$flag" = flight ] && continue # writes no trace: flight.sh
    run "flag_$flag" --"$flag"="${values[$flag]}" -- "${program[@]}"
    same "flags: --$flag sets MINIPROF_$name" "0 ${values[$flag]}" \
        "$status $(property "flag_$flag" "MINIPROF_$name")"
done
unset MINIPROF_ATTACH
same "flags: --output" 1 "$(find flag_output -name other.mpt | wc -l)"
same "flags: --api took effect" "cuLaunchKernel 6" "$(echo $(tally flag_api call function))"
same "flags: --gpu=off took effect" "0 6" \
    "$(count flag_gpu kernel) $(count flag_gpu call ,cuLaunchKernel,)"
same "flags: --memory=off took effect" 0 "$(count flag_memory memory)"
export MINIPROF_LEVEL=5
run inherited -- "${program[@]}"
run overridden --level=6 -- "${program[@]}"
unset MINIPROF_LEVEL
same "flags: the environment's values hold unless a flag is given" "5 6" \
    "$(property inherited MINIPROF_LEVEL) $(property overridden MINIPROF_LEVEL)"
run short -o short.out.mpt -- "${program[@]}"
check "flags: -o" [ -e short/short.out.mpt ]

# ---- a file that exists ----------------------------------------------------------------------
mkdir again
echo precious >again/again.out.mpt
run again -o again.out.mpt -- "${program[@]}"
same "run: a file that exists: nothing ran" "3 " "$status $(cat again.out)"
same "run: a file that exists: one line" \
    "miniprof run: 'again.out.mpt' exists already; -f (--force) replaces it" "$(cat again.err)"
same "run: a file that exists: untouched" precious "$(cat again/again.out.mpt)"
run again -f -o again.out.mpt -- /no/such/program
same "run -f, no such program: untouched" "127 precious" "$status $(cat again/again.out.mpt)"
run again -f -o again.out.mpt -- "${program[@]}"
same "run -f: replaced" "0 alpha 4 beta 2" "$status $(kernels again)"
like "run -f: its summary" ' alpha' "$(cat again.err)"
export MINIPROF_OUTPUT=again.out.mpt
run again -- "${program[@]}"
same "run: a file that exists, of MINIPROF_OUTPUT" "3 " "$status $(cat again.out)"
run again --force -- "${program[@]}"
same "run --force: replaced" "0 alpha 4 beta 2" "$status $(kernels again)"
unset MINIPROF_OUTPUT
mkdir again/folder.mpt
run again -f -o folder.mpt -- "${program[@]}"
same "run -f: a folder is no file: nothing ran" "3 " "$status $(cat again.out)"
same "run -f: a folder is no file: one line" 1 "$(wc -l <again.err)"
run deep -o a/b/c.mpt -- "${program[@]}"
same "run: folders that are not there" "0 1" "$status $(grep -c ' alpha$' deep.err)"
( cd again && "$miniprof" run -f -o again.out.mpt -- "$steps" init alpha=3 \
    fork-exec=init,beta=2,exit=6 alpha=2 sync >../again.out 2>../again.err )
like "run: a child with the same file name: its trace is named" \
    'another program wrote .*again\.out\.1\.mpt' "$(cat again.err)"
finish
