#!/bin/bash
# Takes 20 s.
# However a program ends: its exit code is its own, and the trace holds what it can.
. "$SOURCE/tests/e2e/lib.sh" || exit 1

# ended WHAT NAME STATUS STEP...: runs the steps with and without the recorder.
ended() {
    local what=$1 name=$2 expected=$3
    shift 3
    bare "$name.bare" -- "$steps" "$@"
    same "$what: exit code without miniprof" "$expected" "$status"
    profile "$name" -- "$steps" "$@"
    unharmed "$what" "$name" "$name.bare" "$expected"
}

# no_index WHAT NAME: the trace can be read, and says that it was cut short.
no_index() {
    local output code
    output=$("$miniprof" check "$work/$2.mpt" 2>&1)
    code=$?
    same "$1: miniprof check fails" 1 "$code"
    like "$1: and says why" 'no index' "$output"
    output=$("$miniprof" summary "$work/$2.mpt" 2>&1)
    like "$1: the summary's first line says so" '^==[0-9]+== Warning: .*no index' "$output"
}

# dies WHAT EXPECTED: $pid ends by itself, with that exit code.
dies() {
    await ends "$pid" || kill -KILL "$pid"
    wait "$pid"
    same "$1: exit code" "$2" $?
}

# ---- in order --------------------------------------------------------------------------------
ended "exit code 3" code 3 init alpha=5 sync print=text exit=3
complete "exit code 3" code
same "exit code 3: kernels" "alpha 5" "$(kernels code)"
ended "main returns with work in flight" flight 0 init alpha=500 print=text
complete "main returns with work in flight" flight
same "work in flight: all of it, with its times" "alpha 500 500" \
    "$(kernels flight) $(rows flight kernel | awk -F, '$4 > 0 && $5 > 0' | wc -l)"
ended "exit(3) from another thread" thread 3 init alpha=5 print=text thread-exit=3
complete "exit(3) from another thread" thread
same "exit(3) from another thread: kernels" "alpha 5" "$(kernels thread)"
# The thread launches until the process is gone.
start launching -- "$steps" init begin-thread=alpha=100,print=works,alpha=1000000000 await=go \
    alpha=5
await grep -q works launching.out
touch go
dies "main returns while a thread launches" 0
rm go
complete "main returns while a thread launches" launching
check "main returns while a thread launches: kernels" has launching kernel 105 alpha
bare sample.bare -- "$inference" --exit-mode thread-exit
profile sample -- "$inference" --exit-mode thread-exit
unharmed "inference, exit from a thread" sample sample.bare 0
complete "inference, exit from a thread" sample
ended "an open range" open 4 init alpha=1 start beta=2 exit=4
same "an open range: kernels" "beta 2" "$(kernels open)"

# ---- exit in a signal handler ----------------------------------------------------------------
# Not under ThreadSanitizer, which forbids it.
if ! sanitized thread; then
    ended "exit in a handler" in_handler 3 init exit-on-usr1=3 alpha=5 sync print=text raise=10
    complete "exit in a handler" in_handler
    same "exit in a handler: kernels, nothing is said" "alpha 5 " \
        "$(kernels in_handler) $(said in_handler)"
fi
# The interrupted code holds CUPTI's lock and never gives it back. Not in qemu, which shows the
# system calls of the machine that it runs on.
if ! sanitized thread && [ "${build##*/}" != qemu ]; then
    profile interrupted SIMGPU_INTERRUPTED=150 -- "$steps" init exit-on-usr1=3 alpha=100 sync \
        alpha=100
    same "exit in a handler within CUPTI: exit code" 3 "$status"
    same "exit in a handler within CUPTI: one line" "miniprof: exit in a signal handler, which \
interrupted a call of CUDA: the last records may be missing" "$(said interrupted)"
    complete "exit in a handler within CUPTI" interrupted
    check "exit in a handler within CUPTI: kernels" has interrupted kernel 100 alpha
fi

# ---- pthread_exit in main --------------------------------------------------------------------
# Not under ThreadSanitizer, whose own thread keeps the process alive with and without miniprof.
if ! sanitized thread; then
    ended "pthread_exit in main" main_ends 0 init alpha=5 print-at-exit=bye end-thread
    complete "pthread_exit in main" main_ends
    same "pthread_exit in main: kernels" "alpha 5" "$(kernels main_ends)"
    same "pthread_exit in main: exit handlers run" bye "$(cat main_ends.out)"
    profile main_sampled MINIPROF_SAMPLE=nvml -- "$steps" init alpha=5 end-thread
    same "pthread_exit in main, MINIPROF_SAMPLE: exit code, kernels" "0 alpha 5" \
        "$status $(kernels main_sampled)"
    start main_left -- "$steps" init alpha=5 print-at-exit=bye \
        begin-thread=await=go,alpha=3,sync,written,print=worked,await=end end-thread
    await ends "$pid/task/$pid"
    touch go
    check "pthread_exit in main, a thread works on" await grep -q worked main_left.out
    same "pthread_exit in main, a thread works on: it is recorded" "alpha 8" "$(kernels main_left)"
    touch end
    dies "pthread_exit in main, a thread works on: the process ends with it" 0
    complete "pthread_exit in main, a thread works on" main_left
    same "pthread_exit in main, a thread works on: exit handlers run" "worked bye" \
        "$(echo $(cat main_left.out))"
    rm -f go end
    start main_asked -- "$steps" init alpha=5 begin-thread=await=go end-thread
    await ends "$pid/task/$pid"
    kill -TERM "$pid"
    dies "SIGTERM after pthread_exit in main" 143
    complete "SIGTERM after pthread_exit in main" main_asked
fi

# ---- signals that end the process ------------------------------------------------------------
for row in INT:2:130 TERM:15:143; do
    IFS=: read -r signal number expected <<<"$row"
    start "$signal" -- "$inference" --exit-mode sleep --iterations 3 --layers 4
    check "SIG$signal: the program iterates" await grep -q checksum "$signal.out"
    check "SIG$signal: more than the first iterations" await has "$signal" kernel 4 conv
    kill -"$signal" "$pid"
    wait "$pid"
    same "SIG$signal: the process dies of it" "$expected" $?
    complete "SIG$signal" "$signal"
    same "SIG$signal: one closing line" "1 0" \
        "$(closing "$signal" | wc -l) $(said "$signal" | wc -l)"
    same "SIG$signal: the range ends with the process" "1,end" \
        "$(rows "$signal" capture | tail -n 1 | cut -d, -f1,2)"
    ended "raise($number) from main" "raise$number" "$expected" init alpha=5 print=text \
        raise="$number"
    complete "raise($number) from main" "raise$number"
    same "raise($number): kernels" "alpha 5" "$(kernels "raise$number")"
done

# Not under sanitizers: a flush of so much takes more than the 5 s that miniprof waits.
ends=(exit=0 raise=2 raise=15)
! sanitized || ends=()
# CUPTI holds more than the buffers do: the writer empties them while the last flush fills them.
for end in "${ends[@]}"; do
    profile late SIMGPU_LATE_MS=100000000 SIMGPU_BUFFER_SLEEP_MS=2 MINIPROF_API=none \
        MINIPROF_BUFFER_MB=8 -- \
        "$steps" init alpha=80000 "$end"
    like "a last flush of 80,000 kernels, $end: none is dropped" \
        ' 80,00[0-9] records, 0 dropped' "$(closing late)"
    rm -f late.mpt
done

# A thread that waits for the signal with sigwait keeps it, however long it has been pending.
ended "SIGTERM, blocked in all threads" blocked 3 init alpha=5 block-term \
    begin-thread=written,written send=15 written wait-term join-thread exit=3
complete "SIGTERM, blocked in all threads" blocked

# Signals while work is in flight and a thread waits for it, again and again; each comes twice.
for i in 1 2 3 4 5 6; do
    start "storm$i" -- "$inference" --exit-mode sleep --threads 2
    await grep -q checksum "storm$i.out"
    sleep "0.0$i" # another moment each time
    kill -TERM "$pid"
    kill -TERM "$pid" 2>/dev/null # as timeout(1) does: to the process, and to its group
    wait "$pid"
    same "SIGTERM, run $i: exit code, trace" "143 ok" \
        "$? $("$miniprof" check "storm$i.mpt" 2>&1 | grep -o ' ok,' | tr -d ' ,')"
done

ended "own SIGTERM handler" handler 7 handle-term init alpha=5 sync written raise=15
ended "own SIGTERM handler, set after cuInit" handler2 7 init handle-term alpha=5 sync written \
    raise=15
ended "SIGINT ignored" ignored 0 init alpha=1 ignore-int alpha=4 sync print=text
complete "SIGINT ignored" ignored
same "SIGINT ignored: kernels" "alpha 5" "$(kernels ignored)"
start nohup -- bash -c 'trap "" INT; exec "$0" "$@"' \
    "$steps" init alpha=5 sync print=ready await=go alpha=2 sync
await grep -q ready nohup.out
kill -INT "$pid"
touch go
wait "$pid"
same "SIGINT ignored by the parent: runs on" "0 alpha 7" "$? $(kernels nohup)"

# ---- ends that leave no time -----------------------------------------------------------------
ended "_exit(5)" at_once 5 init alpha=5 sync written alpha=5 print=text _exit=5
no_index "_exit(5)" at_once
like "_exit(5): what was flushed before" '^alpha ([5-9]|10)$' "$(kernels at_once)"
ended "abort" abort 134 init alpha=5 sync written print=text abort
no_index abort abort
same "abort: what was flushed before" "alpha 5" "$(kernels abort)"
start killed -- "$inference" --exit-mode sleep --iterations 3 --layers 4
await has killed kernel 11 conv
kill -KILL "$pid"
wait "$pid" 2>/dev/null
same "SIGKILL: exit code" 137 $?
no_index SIGKILL killed
check "SIGKILL: what was flushed before" has killed kernel 11 conv
same "SIGKILL: no tactic kernels" 0 "$(count killed kernel tactic)"
check "SIGKILL: nothing else in the file" zstd -tq killed.mpt

# ---- children --------------------------------------------------------------------------------
leaky ended "fork" fork 0 init alpha=3 mark=before fork=4 alpha=2 sync mark=after
same "fork: the child's exit code" "child: exit 4" "$(cat fork.out)"
complete fork fork
same "fork: the parent's kernels" "alpha 5" "$(kernels fork)"
same "fork: the parent's marks" "before after" "$(echo $(rows fork nvtx | cut -d, -f4))"
same "fork: one closing line" 1 "$(closing fork | wc -l)"
ended "fork, child dies of SIGTERM" fork_term 0 init alpha=3 fork-killed=15 alpha=2 sync
same "fork, child dies of SIGTERM: at once" "child: signal 15" "$(cat fork_term.out)"
complete "fork, child dies of SIGTERM" fork_term
same "fork, child dies of SIGTERM: kernels" "alpha 5" "$(kernels fork_term)"
leaky ended "fork before CUDA" early 0 fork=4 init alpha=2 sync
same "fork before CUDA: kernels" "alpha 2" "$(kernels early)"

# NVTX before the fork, CUDA after it, as with Python's workers. The child's events are its own; the
# range that was pushed before the fork ends in both processes.
worker=(mark=before push=open begin-thread=mark=aside join-thread
    fork-run=init,push=step,alpha=2,sync,pop,mark=child,thread=mark=helper,pop,beta=1,sync
    mark=after pop)
mkdir worker
leaky bare worker.bare -- "$steps" "${worker[@]}"
leaky profile worker NVTX_INJECTION64_PATH="$lib" MINIPROF_OUTPUT="$work/worker/%p.mpt" -- \
    "$steps" "${worker[@]}"
unharmed "NVTX, fork, CUDA" worker worker.bare 0
cp worker/*.mpt one.mpt
complete "NVTX, fork, CUDA" one
same "NVTX, fork, CUDA: the child's kernels and NVTX calls, none of the parent's" \
    "alpha 2 beta 1 push:step pop: mark:child pop: mark:helper" \
    "$(kernels one) $(echo $(rows one nvtx | awk -F, '{ print $2 ":" $4 }'))"
same "NVTX, fork, CUDA: threads of the child" 2 "$(tally one nvtx thread | wc -l)"
same "NVTX, fork, CUDA: process and main thread have one id" \
    "thread $("$miniprof" info --json one.mpt | sed -n 's/^    "pid": "\([0-9]*\)",/\1/p')" \
    "$(rows one nvtx | head -n 1 | cut -d, -f1)"
leaky profile worker NVTX_INJECTION64_PATH="$lib" MINIPROF_CAPTURE=nvtx:step \
    MINIPROF_OUTPUT="$work/worker/step.mpt" -- "$steps" "${worker[@]}"
cp worker/step.mpt one.mpt
same "NVTX, fork, CUDA, MINIPROF_CAPTURE=nvtx:step: kernels of the range" "alpha 2" \
    "$(kernels one)"

mkdir exec
bare exec.bare -- "$steps" init alpha=3 fork-exec=init,beta=2,exit=6 alpha=2 sync
profile exec MINIPROF_OUTPUT="$work/exec/%p.mpt" -- "$steps" init alpha=3 \
    fork-exec=init,beta=2,exit=6 alpha=2 sync
unharmed "fork and exec" exec exec.bare 0
same "fork and exec: the child's exit code" "child: exit 6" "$(cat exec.out)"
same "fork and exec: a file each" 2 "$(find exec -name '*.mpt' | wc -l)"
same "fork and exec: each has its process's kernels" "alpha 5 beta 2" \
    "$(echo $(for file in exec/*.mpt; do
    cp "$file" one.mpt; kernels one; done | sort))"
same "fork and exec: both are complete" "ok ok" "$(echo $(for file in exec/*.mpt; do
    "$miniprof" check "$file" | grep -o ' ok,' | tr -d ' ,'; done))"
profile same_file -- "$steps" init alpha=3 fork-exec=init,beta=2,exit=6 alpha=2 sync
unharmed "fork and exec, one file name" same_file exec.bare 0
like "fork and exec, one file name: the child says where its trace is" \
    'same_file.mpt. exists.*same_file\.1\.mpt' "$(said same_file)"
same "fork and exec, one file name: a trace each" "alpha 5 ok beta 2 ok" "$(echo $(
    for name in same_file same_file.1; do
        kernels $name
        "$miniprof" check $name.mpt | grep -o ' ok,' | tr -d ' ,'
    done))"
profile shell MINIPROF_OUTPUT="$work/exec/shell.mpt" -- \
    bash -c 'exec "$0" "$@"' "$steps" init alpha=3 sync exit=9
same "exec from a shell: exit code" 9 "$status"
cp exec/shell.mpt one.mpt
same "exec from a shell: kernels" "alpha 3" "$(kernels one)"
# ---- a CUPTI that hangs ----------------------------------------------------------------------
hurry 5
start hung SIMGPU_FLUSH_SLEEP_MS=60000 -- \
    "$steps" init alpha=3 sync flushing print=ready await=never
await grep -q ready hung.out
same "CUPTI hangs: miniprof ctl is answered" 0 \
    "$("$miniprof" ctl "$pid" status >hung.ctl 2>&1; echo $?)"
kill -TERM "$pid"
wait "$pid"
same "CUPTI hangs: SIGTERM ends the program" 143 $?
same "CUPTI hangs: one line" \
    "miniprof: the last flush takes over $(seconds 5) s: the last records are missing" \
    "$(said hung)"
complete "CUPTI hangs" hung

# ---- a CUPTI that hangs where a capture range ends -------------------------------------------
late="miniprof: CUPTI has not answered for $(seconds 1) s at the end of a capture range: \
the program goes on, the range's last records come later or are missing"
given_up="miniprof: the last flush takes over $(seconds 5) s: the last records are missing"

# hangs FUNCTION: settings with which that one hangs; and what is said when the program ends.
hangs() {
    case $1 in
    flush) settings=(SIMGPU_FLUSH_SLEEP_MS=60000) lines=$late$'\n'$given_up ;;
    disable) settings=(SIMGPU_DISABLE_SLEEP_MS=60000) lines=$late ;;
    esac
}

# told NAME TEXT: the program has printed it.
told() {
    await grep -qx "$2" "$1.out"
}

# ctl PID REQUEST: exit code and answer.
ctl() {
    timeout 100 "$miniprof" ctl "$@" 2>&1
    echo "code $?"
}
state_is() {
    [[ $(ctl "$1" status) == $2* ]]
}

# What comes before cuProfilerStop comes, what the program does after it is done.
stopped=(init start alpha=3 sync written stop gamma=1 sync print=done exit=3)
bare stopped.bare -- "$steps" "${stopped[@]}"
for mode in auto range; do
    for what in flush disable; do
        [ $mode$what != autodisable ] || continue # there they stay on
        hangs $what
        profile stopped MINIPROF_CAPTURE=$mode "${settings[@]}" SIMGPU_SLEEP_FROM_STOP=1 -- \
            timeout -s KILL 100 "$steps" "${stopped[@]}"
        unharmed "$what hangs in cuProfilerStop, $mode" stopped stopped.bare 3
        same "$what hangs in cuProfilerStop, $mode: what is said" "$lines" "$(said stopped)"
        complete "$what hangs in cuProfilerStop, $mode" stopped
        same "$what hangs in cuProfilerStop, $mode: kernels" "alpha 3" "$(kernels stopped)"
        rm -f stopped.mpt
    done
done

# One wait for all ranges: with one for each the program would take a minute.
many=$(for ((i = 0; i < 60; i++)); do echo push=a alpha=1 pop; done)
for setting in MINIPROF_CAPTURE=nvtx:a MINIPROF_SCHEDULE=wait=1,active=1; do
    for what in flush disable; do
        hangs $what
        # shellcheck disable=SC2086
        profile many "$setting" MINIPROF_STEP=a "${settings[@]}" -- \
            timeout -s KILL 100 "$steps" init $many sync print=done
        same "$what hangs, $setting: the program ends" "0 done" "$status $(cat many.out)"
        same "$what hangs, $setting: what is said" "$lines" \
            "$(said many | grep -v 'MINIPROF_STEP has no effect')"
        complete "$what hangs, $setting" many
        rm -f many.mpt
    done
done

# A range that begins while CUPTI still switches off what the one before had: it is on in the end.
profile again MINIPROF_CAPTURE=range SIMGPU_DISABLE_SLEEP_MS=300 -- "$steps" init start alpha=1 \
    stop start beta=2 sync switched=3 gamma=4 sync stop alpha=8 sync print=done
same "begun while the last one ends: exit code, output" "0 done" "$status $(cat again.out)"
same "begun while the last one ends: what is said" "$late" "$(said again)"
complete "begun while the last one ends" again
same "begun while the last one ends: kernels" "1 4 2" "$(count again kernel ',alpha,') \
$(count again kernel ',gamma,') $(rows again capture | grep -c ',begin,')"

# Slow is not hung: when cuProfilerStop returns, the records are there.
start slow MINIPROF_CAPTURE=range SIMGPU_FLUSH_SLEEP_MS=300 SIMGPU_SLEEP_FROM_STOP=1 \
    MINIPROF_TEST_TIME_DIVISOR=1 -- \
    "$steps" init start alpha=3 stamp=stop stop stamp=stopped await=never
check "a slow flush: the records are written" await has slow kernel 3
kill -KILL "$pid"
wait "$pid" 2>/dev/null
status=$?
check "a slow flush is waited for" awk -F'|' 'NR == 1 { from = $3 } END { exit $2 - from < 3e5 }' \
    slow.out
same "a slow flush is waited for: kernels, nothing is said" "137 alpha 3 " \
    "$status $(kernels slow) $(said slow)"

for what in flush disable; do
    hangs $what
    rm -f go
    start ctl MINIPROF_CAPTURE=off "${settings[@]}" -- \
        "$steps" init alpha=1 sync print=one await=go beta=2 sync print=two await=never
    told ctl one
    same "$what hangs, ctl: start" "range 1 begins code 0" "$(echo $(ctl "$pid" start))"
    touch go
    told ctl two
    same "$what hangs, ctl: stop" "range 1 has ended, but CUPTI does not answer: its last records \
come later or are missing code 0" "$(echo $(ctl "$pid" stop))"
    check "$what hangs, ctl: status" state_is "$pid" "waiting, 1 range"
    kill -TERM "$pid"
    dies "$what hangs, ctl, SIGTERM" 143
    complete "$what hangs, ctl, SIGTERM" ctl
    same "$what hangs, ctl: what is said" "$lines" "$(said ctl)"
    same "$what hangs, ctl: the range" "1,begin 1,end" \
        "$(echo $(rows ctl capture | cut -d, -f1,2))"
    [ $what = flush ] || same "$what hangs, ctl: kernels" "beta 2" "$(kernels ctl)"

    rm -f ctl.mpt
    start usr2 MINIPROF_CAPTURE=off "${settings[@]}" -- \
        "$steps" init alpha=1 sync print=one await=never
    told usr2 one
    for state in "recording range 1" "waiting, 1 range" "recording range 2" "waiting, 2 ranges"; do
        kill -USR2 "$pid"
        check "$what hangs, SIGUSR2: $state" await state_is "$pid" "$state"
    done
    kill -TERM "$pid"
    dies "$what hangs, SIGUSR2, SIGTERM" 143
    complete "$what hangs, SIGUSR2, SIGTERM" usr2
    # Nobody waits for CUPTI where a range follows the one before so soon that it is quick.
    same "$what hangs, SIGUSR2: what is said" "$(grep -vxF "$late" <<<"$lines")" \
        "$(said usr2 | grep -vxF "$late")"

    rm -f usr2.mpt
    start timed MINIPROF_DURATION=1 MINIPROF_CAPTURE_END=stop "${settings[@]}" -- \
        "$steps" init alpha=3 sync await=never
    check "$what hangs, MINIPROF_DURATION: it is over" await state_is "$pid" "over, 1 range"
    check "$what hangs, MINIPROF_DURATION: CUPTI is waited for in vain" await grep -qxF "$late" \
        timed.err
    kill -TERM "$pid"
    dies "$what hangs, MINIPROF_DURATION, SIGTERM" 143
    complete "$what hangs, MINIPROF_DURATION, SIGTERM" timed
    same "$what hangs, MINIPROF_DURATION: what is said" "$lines" "$(said timed)"
    [ $what = flush ] || same "$what hangs, MINIPROF_DURATION: kernels" "alpha 3" "$(kernels timed)"
    rm -f timed.mpt
done

finish
