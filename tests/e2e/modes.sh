#!/bin/bash
# Takes 26 s.
# Capture ranges other than those of cudaProfilerStart and Stop: by NVTX ranges, by triggers, by
# time and by a schedule; how many of them; and `miniprof ctl`.
. "$SOURCE/tests/e2e/lib.sh" || exit 1

# ranges NAME: "NUMBERbegin:REASON NUMBERend:REASON ..."
ranges() {
    echo $(rows "$1" capture | awk -F, '{ printf "%s%s:%s\n", $1, $2, $5 }')
}

# of REASON COUNT: what `ranges` says of so many ranges.
of() {
    echo $(for ((i = 1; i <= $2; i++)); do echo "${i}begin:$1 ${i}end:$1"; done)
}

# calls NAME: the functions of rows of `call` with their numbers
calls() {
    echo $(tally "$1" call function)
}

# events NAME: kinds and names of NVTX rows, in order
events() {
    echo $(rows "$1" nvtx | awk -F, '{ printf "%s%s\n", $2, $4 == "" ? "" : ":" $4 }')
}

# ---- nvtx:NAME -------------------------------------------------------------------------------
program=(init alpha=1 push=step beta=2 push=inner gamma=1 pop copy-in=64 pop alpha=8 push=other
    beta=16 pop push=step gamma=4 pop alpha=32 sync print=done)
bare nvtx.bare -- "$steps" "${program[@]}"
profile nvtx MINIPROF_CAPTURE=nvtx:step -- "$steps" "${program[@]}"
unharmed nvtx nvtx nvtx.bare 0
complete nvtx nvtx
same "nvtx: nothing is said" "" "$(said nvtx)"
same "nvtx: kernels of the two ranges" "beta 2 gamma 5" "$(kernels nvtx)"
same "nvtx: copies" "HtoD 1" "$(echo $(tally nvtx copy kind))"
same "nvtx: the ranges" "$(of nvtx 2)" "$(ranges nvtx)"
same "nvtx: the NVTX ranges themselves and what is inside" \
    "push:step push:inner pop pop push:step pop" "$(events nvtx)"
same "nvtx: calls inside" "cuLaunchKernel 7 cuMemcpyHtoD 1" \
    "$(calls nvtx | sed 's/_v2//')"
same "nvtx: what the ranges launched, by miniprof nvtx" "1 7" \
    "$("$miniprof" nvtx --csv nvtx.mpt | grep -c '"step","Range"') $(count nvtx kernel)"
profile nvtx_all MINIPROF_CAPTURE=nvtx:step MINIPROF_API=all -- "$steps" "${program[@]}"
same "nvtx, all calls: none of the recorder's own" \
    "cuLaunchKernel 7 cuMemcpyHtoD_v2 1 cuModuleGetFunction 3" "$(calls nvtx_all)"
profile nvtx_off MINIPROF_CAPTURE=nvtx:step MINIPROF_NVTX=off -- "$steps" "${program[@]}"
same "nvtx with MINIPROF_NVTX=off: the same kernels, no events" "beta 2 gamma 5 0" \
    "$(kernels nvtx_off) $(count nvtx_off nvtx)"
profile nvtx_none MINIPROF_CAPTURE=nvtx:nowhere -- "$steps" "${program[@]}"
unharmed "nvtx, no such range" nvtx_none nvtx.bare 0
same "nvtx, no such range: nothing, complete" "0 0 0 ok" "$(count nvtx_none kernel) \
$(count nvtx_none nvtx) $(count nvtx_none capture) $("$miniprof" check nvtx_none.mpt | grep -o ok)"
profile nvtx_prefix MINIPROF_CAPTURE=nvtx:ste -- "$steps" "${program[@]}"
same "nvtx: part of a name is another name" 0 "$(count nvtx_prefix kernel)"
profile nvtx_profiler MINIPROF_CAPTURE=nvtx:step -- "$steps" init start alpha=1 push=step stop \
    beta=2 start gamma=4 pop alpha=8 stop sync
same "nvtx: cudaProfilerStart and Stop mean nothing" "beta 2 gamma 4 $(of nvtx 1)" \
    "$(kernels nvtx_profiler) $(ranges nvtx_profiler)"
profile nvtx_nested MINIPROF_CAPTURE=nvtx:a -- "$steps" init push=a alpha=1 push=b push=a beta=2 \
    pop gamma=4 pop alpha=8 pop beta=16 pop alpha=1 push=a gamma=32 pop sync
same "nvtx: nested ones of the same name are one" "alpha 9 beta 2 gamma 36 $(of nvtx 2)" \
    "$(kernels nvtx_nested) $(ranges nvtx_nested)"
profile nvtx_open MINIPROF_CAPTURE=nvtx:a -- "$steps" init alpha=1 push=a beta=2
same "nvtx: never popped: to the end of the process" \
    "beta 2 1begin:nvtx 1end:end_of_process" "$(kernels nvtx_open) $(ranges nvtx_open)"
profile nvtx_early MINIPROF_CAPTURE=nvtx:a NVTX_INJECTION64_PATH="$lib" -- "$steps" push=b push=a \
    push=a pop init alpha=1 pop beta=2 pop sync
same "nvtx: begun before CUDA" "alpha 1 $(of nvtx 1)" "$(kernels nvtx_early) $(ranges nvtx_early)"
profile nvtx_startend MINIPROF_CAPTURE=nvtx:a -- "$steps" init range-start=1:a alpha=1 \
    range-start=2:b beta=2 range-end=1 gamma=4 range-end=2 range-start=3:a range-start=4:a \
    range-end=3 beta=8 range-end=4 alpha=16 sync
same "nvtx: ranges of start and end" "alpha 1 beta 10 $(of nvtx 2)" \
    "$(kernels nvtx_startend) $(ranges nvtx_startend)"
profile nvtx_startend_off MINIPROF_CAPTURE=nvtx:a MINIPROF_NVTX=off -- "$steps" init \
    range-start=1:a alpha=1 range-end=1 gamma=4 range-start=3:a range-start=4:a \
    range-end=3 beta=8 range-end=4 alpha=16 sync
same "nvtx: ranges of start and end with MINIPROF_NVTX=off" "alpha 1 beta 8 $(of nvtx 2)" \
    "$(kernels nvtx_startend_off) $(ranges nvtx_startend_off)"

domains=(init push=a alpha=1 pop push-in=d:a beta=2 pop-in=d push-in=e:a alpha=4 pop-in=e
    push-registered=d:a push-in=e:x pop-in=e pop gamma=8 push-in=d:b pop-in=d pop-in=d alpha=16
    push-wide=a gamma=32 pop sync)
profile nvtx_domain MINIPROF_CAPTURE=nvtx:a@d -- "$steps" "${domains[@]}"
same "nvtx:a@d: of that domain, also by a registered string" "beta 2 gamma 8 $(of nvtx 2)" \
    "$(kernels nvtx_domain) $(ranges nvtx_domain)"
profile nvtx_default MINIPROF_CAPTURE=nvtx:a -- "$steps" "${domains[@]}"
same "nvtx:a: of the default domain, also by a wide string" "alpha 1 gamma 32 $(of nvtx 2)" \
    "$(kernels nvtx_default) $(ranges nvtx_default)"
profile nvtx_at MINIPROF_CAPTURE=nvtx:a@b@ -- "$steps" init push=a@b alpha=1 pop push=a beta=2 pop
same "nvtx:a@b@: a name with an @" "alpha 1" "$(kernels nvtx_at)"

# Threads: open while at least one is open.
profile nvtx_threads MINIPROF_CAPTURE=nvtx:a -- "$steps" init alpha=1 push=a \
    thread=beta=2,push=a,beta=4,pop,beta=8 alpha=16 pop \
    thread=gamma=32,push=a,gamma=64,pop,gamma=1 alpha=32 \
    range-start=1:a thread=beta=128,range-end=1,beta=1 alpha=64 sync
same "nvtx: ranges of several threads" "alpha 16 beta 142 gamma 64 $(of nvtx 3)" \
    "$(kernels nvtx_threads) $(ranges nvtx_threads)"
# A thread that ends in its ranges, of which it pushed two: they end with it.
for setting in MINIPROF_CAPTURE=nvtx:a "MINIPROF_SCHEDULE=active=1 MINIPROF_STEP=a"; do
    # shellcheck disable=SC2086
    profile nvtx_thread_end $setting -- "$steps" init \
        thread=push=a,push=b,alpha=1,push=a,alpha=1 gamma=201 push=a beta=4 pop gamma=8 sync
    same "$setting: a thread ends inside of its ranges" "alpha 2 beta 4 4" \
        "$(kernels nvtx_thread_end) $(count nvtx_thread_end capture)"
done
# Two threads in and out at once, which switch recording on and off for each other: all that they
# launch is recorded. Each end has CUPTI give back all buffers, and with few it would drop records.
many=$(for ((i = 0; i < 60; i++)); do echo push=a,beta=1,pop; done | paste -sd,)
mine=$(for ((i = 0; i < 60; i++)); do echo push=a alpha=1 pop; done)
busy() { # WHAT SETTING...
    local what="$1: two threads in and out at once"
    shift
    # shellcheck disable=SC2086
    profile busy MINIPROF_BUFFER_MB=1024 "$@" -- "$steps" init begin-thread="$many" $mine \
        join-thread push=a gamma=5 pop sync print=done
    same "$what: exit code, output" "0 done" "$status $(cat busy.out)"
    complete "$what" busy
    same "$what: kernels, dropped" "alpha 60 beta 60 gamma 5 0" \
        "$(kernels busy) $("$miniprof" info --json busy.mpt |
            python3 -c 'import json, sys; print(json.load(sys.stdin)["quality"]["dropped"])')"
    same "$what: begin and end take turns" "" \
        "$(rows busy capture | awk -F, '{ if ($2 != (NR % 2 ? "begin" : "end")) print NR }')"
}
busy "nvtx" MINIPROF_CAPTURE=nvtx:a
busy "steps" MINIPROF_SCHEDULE=active=1 MINIPROF_STEP=a

leaky profile nvtx_fork MINIPROF_CAPTURE=nvtx:a -- "$steps" init push=a alpha=1 fork=3 beta=2 pop \
    gamma=4
same "nvtx: a child that is forked in the range" "0 child: exit 3 alpha 1 beta 2 $(of nvtx 1)" \
    "$status $(cat nvtx_fork.out) $(kernels nvtx_fork) $(ranges nvtx_fork)"
profile nvtx_exit MINIPROF_CAPTURE=nvtx:a -- "$steps" init push=a alpha=3 exit=5
same "nvtx: exit in the range" "5 alpha 3 1begin:nvtx 1end:end_of_process" \
    "$status $(kernels nvtx_exit) $(ranges nvtx_exit)"
profile nvtx_killed MINIPROF_CAPTURE=nvtx:a -- "$steps" init push=a alpha=3 sync written raise=9
same "nvtx: SIGKILL in the range" "137 alpha 3" "$status $(kernels nvtx_killed)"
profile nvtx_capture MINIPROF_CAPTURE=nvtx:a -- "$steps" init stream=1 push=a capture alpha=2 pop \
    push=a end-capture=0 pop instantiate=0 push=a launch=0 pop launch=0 sync
same "nvtx: ends while a stream is captured, which goes on" "0 alpha 2" \
    "$status $(kernels nvtx_capture)"

# ---- MINIPROF_CAPTURE_END --------------------------------------------------------------------
program=(init gamma=9 start alpha=1 stop gamma=1 start alpha=2 beta=4 stop gamma=1 start beta=8
    stop gamma=1 push=x pop sync print=done)
bare end.bare -- "$steps" "${program[@]}"
for mode in auto range; do
    while IFS='|' read -r end expected count; do
        rm -f end.mpt
        profile end MINIPROF_CAPTURE=$mode MINIPROF_CAPTURE_END=$end -- "$steps" "${program[@]}"
        unharmed "$mode, end $end" end end.bare 0
        complete "$mode, end $end" end
        same "$mode, end $end: kernels, ranges" "$expected $(of profiler_api "$count")" \
            "$(kernels end) $(ranges end)"
    done <<'END'
stop|alpha 1|1
repeat:1|alpha 1|1
repeat:2|alpha 3 beta 4|2
repeat:3|alpha 3 beta 12|3
repeat:9|alpha 3 beta 12|3
repeat|alpha 3 beta 12|3
END
done
profile end_pause MINIPROF_CAPTURE=pause MINIPROF_CAPTURE_END=stop -- "$steps" "${program[@]}"
same "pause, end stop: up to the first cudaProfilerStop" \
    "alpha 1 gamma 9 1begin:start_of_process 1end:profiler_api" \
    "$(kernels end_pause) $(ranges end_pause)"
profile end_all MINIPROF_CAPTURE=all -- "$steps" "${program[@]}"
profile end_all_stop MINIPROF_CAPTURE=all MINIPROF_CAPTURE_END=stop -- "$steps" "${program[@]}"
same "all, end stop: the whole run is one range" "$(kernels end_all) $(ranges end_all)" \
    "$(kernels end_all_stop) $(ranges end_all_stop)"
profile end_graph MINIPROF_CAPTURE_END=stop MINIPROF_CUDA_GRAPH=graph -- "$steps" init \
    make-graph=0 instantiate=0 start launch=0 stop launch=0 make-graph=1 instantiate=1 launch=1 sync
same "end stop: graphs, too" "0 1" "$status $(count end_graph graph)"
profile end_nvtx MINIPROF_CAPTURE=nvtx:a MINIPROF_CAPTURE_END=repeat:2 -- "$steps" init \
    push=a alpha=1 pop push=a beta=2 pop push=a gamma=4 pop range-start=1:a gamma=8 range-end=1 sync
same "nvtx, end repeat:2" "alpha 1 beta 2 $(of nvtx 2)" "$(kernels end_nvtx) $(ranges end_nvtx)"
same "nvtx, end repeat:2: no events after it" "push:a pop push:a pop" "$(events end_nvtx)"

# ---- MINIPROF_SCHEDULE -----------------------------------------------------------------------
# Step n launches 2^n kernels, so the sum of the kernels says which steps were kept. A kernel in
# each gap between steps: 1000 kept gaps would be wrong by name.
steps_by_nvtx=(init gamma=3)
steps_by_profiler=(init gamma=3)
for ((i = 0; i < 10; i++)); do
    steps_by_nvtx+=(push=it alpha=$((1 << i)) pop beta=1)
    steps_by_profiler+=(start alpha=$((1 << i)) stop beta=1)
done
steps_by_nvtx+=(sync print=done)
steps_by_profiler+=(sync print=done)
bare schedule.bare -- "$steps" "${steps_by_nvtx[@]}"
# SCHEDULE|SUM OF STEPS|GAPS INSIDE OF RANGES|RANGES
while IFS='|' read -r schedule sum gaps count; do
    rm -f nvtx_steps.mpt profiler_steps.mpt
    profile nvtx_steps MINIPROF_SCHEDULE=$schedule MINIPROF_STEP=it -- \
        "$steps" "${steps_by_nvtx[@]}"
    unharmed "$schedule" nvtx_steps schedule.bare 0
    profile profiler_steps MINIPROF_SCHEDULE=$schedule -- "$steps" "${steps_by_profiler[@]}"
    unharmed "$schedule, profiler calls" profiler_steps schedule.bare 0
    for name in nvtx_steps profiler_steps; do
        complete "$schedule, $name" $name
        same "$schedule, $name: kept" "$sum $gaps 0 $(of schedule "$count")" \
            "$(count $name kernel ',alpha,') $(count $name kernel ',beta,') \
$(count $name kernel ',gamma,') $(ranges $name)"
        same "$schedule, $name: launches" $((sum + gaps)) "$(count $name call ',cuLaunchKernel,')"
    done
done <<'END'
skip=1,wait=1,warmup=1,active=3,repeat=1|56|2|1
wait=1,warmup=1,active=2|204|2|2
wait=1,warmup=1,active=2,repeat=1|12|1|1
active=1,repeat=3|7|0|3
active=1|1023|0|10
active=2,repeat=2|15|2|2
warmup=2,active=1|292|0|3
skip=20,active=1|0|0|0
END
profile schedule_open MINIPROF_SCHEDULE=wait=1,active=3 MINIPROF_STEP=it -- "$steps" init push=it \
    alpha=1 pop push=it beta=2
same "schedule: exit in a range" "beta 2 1begin:schedule 1end:end_of_process" \
    "$(kernels schedule_open) $(ranges schedule_open)"
profile schedule_end MINIPROF_SCHEDULE=active=1 MINIPROF_STEP=it MINIPROF_CAPTURE_END=repeat:2 -- \
    "$steps" "${steps_by_nvtx[@]}"
same "schedule, end repeat:2" "alpha 3 $(of schedule 2)" \
    "$(kernels schedule_end) $(ranges schedule_end)"
profile schedule_mode MINIPROF_SCHEDULE=active=1,repeat=1 MINIPROF_CAPTURE=all -- \
    "$steps" "${steps_by_profiler[@]}"
same "schedule: MINIPROF_CAPTURE is said to have no effect" \
    "miniprof: MINIPROF_CAPTURE has no effect beside MINIPROF_SCHEDULE alpha 1" \
    "$(said schedule_mode) $(kernels schedule_mode)"
profile step_only MINIPROF_STEP=it -- "$steps" init alpha=1 sync
same "MINIPROF_STEP without a schedule" "miniprof: MINIPROF_STEP has no effect without \
MINIPROF_SCHEDULE, MINIPROF_SLOW_STEP or MINIPROF_BASELINE alpha 1" \
    "$(said step_only) $(kernels step_only)"

# ---- MINIPROF_DELAY, MINIPROF_DURATION -------------------------------------------------------
export SIMGPU_REAL_TIME=1
bare time.bare -- "$steps" init print=done
profile delay MINIPROF_DELAY=1 -- \
    "$steps" init alpha=1 sync state=recording beta=2 sync gamma=4 sync print=done
unharmed "delay" delay time.bare 0
same "delay: after a second" "beta 2 gamma 4 1begin:duration 1end:end_of_process" \
    "$(kernels delay) $(ranges delay)"
profile duration MINIPROF_DURATION=1 -- \
    "$steps" init alpha=1 sync state=waiting beta=2 sync gamma=4 sync print=done
unharmed "duration" duration time.bare 0
complete duration duration
same "duration: the first second" "alpha 1 1begin:start_of_process 1end:duration" \
    "$(kernels duration) $(ranges duration)"
profile window MINIPROF_DELAY=1 MINIPROF_DURATION=1 MINIPROF_CAPTURE_END=stop -- \
    "$steps" init alpha=1 sync state=recording beta=2 sync state=over gamma=4 sync \
    start alpha=1 stop
same "delay and duration: the second between them" "beta 2 $(of duration 1)" \
    "$(kernels window) $(ranges window)"
profile delay_range MINIPROF_CAPTURE=range MINIPROF_DELAY=1 -- "$steps" init start alpha=1 sync \
    sleep=1500 beta=2 stop start gamma=4 stop sync
same "delay, range: ranges that begin after it" "gamma 4 $(of profiler_api 1)" \
    "$(kernels delay_range) $(ranges delay_range)"
profile duration_nvtx MINIPROF_CAPTURE=nvtx:a MINIPROF_DURATION=1 -- "$steps" init push=a alpha=1 \
    sync state=waiting beta=2 pop push=a gamma=4 pop sync
same "duration, nvtx: a long range ends early, a short one at its pop" \
    "alpha 1 gamma 4 1begin:nvtx 1end:duration 2begin:nvtx 2end:nvtx" \
    "$(kernels duration_nvtx) $(ranges duration_nvtx)"
profile duration_steps MINIPROF_SCHEDULE=active=3,repeat=1 MINIPROF_STEP=it MINIPROF_DURATION=1 -- \
    "$steps" init push=it alpha=1 sync state=waiting pop push=it beta=2 pop push=it pop \
    push=it pop sync
same "duration, schedule: not again in the same cycle" \
    "alpha 1 1begin:schedule 1end:duration" "$(kernels duration_steps) $(ranges duration_steps)"

# ---- off: SIGUSR2 ----------------------------------------------------------------------------
# told NAME TEXT: the program has printed it.
told() {
    await grep -qx "$2" "$1.out"
}

# ctl PID REQUEST: one line, in $answer, and $code.
ctl() {
    answer=$("$miniprof" ctl "$@" 2>&1)
    code=$?
}

# state PID STATE: until `miniprof ctl` says so.
state() {
    await state_is "$@"
}
state_is() {
    ctl "$1" status
    [[ $answer == $2* ]]
}

waiting=(init alpha=1 sync print=one await=go1 beta=2 sync print=two await=go2 gamma=4 sync
    print=three await=go3 beta=8 sync print=four)
bare usr2.bare -- touch go1 go2 go3
bare usr2.bare -- "$steps" "${waiting[@]}"
rm go?
start usr2 MINIPROF_CAPTURE=off -- "$steps" "${waiting[@]}"
told usr2 one
kill -USR2 "$pid"
state "$pid" "recording range 1"
touch go1
told usr2 two
kill -USR2 "$pid"
state "$pid" "waiting, 1 range"
touch go2
told usr2 three
kill -USR2 "$pid"
state "$pid" "recording range 2"
touch go3
wait "$pid"
status=$?
unharmed "off, SIGUSR2" usr2 usr2.bare 0
complete "off, SIGUSR2" usr2
same "off, SIGUSR2: what was launched between two signals" \
    "beta 10 1begin:trigger 1end:trigger 2begin:trigger 2end:end_of_process" \
    "$(kernels usr2) $(ranges usr2)"
profile off MINIPROF_CAPTURE=off -- "$steps" init start alpha=1 push=a stop pop sync
same "off without a trigger: nothing, complete" "0 0 0 ok" \
    "$(count off kernel) $(count off nvtx) $(count off capture) \
$("$miniprof" check off.mpt | grep -o ok)"
profile off_own MINIPROF_CAPTURE=off -- "$steps" handle-usr2 init alpha=1 fork-killed=12 sync
like "off: a program with a handler of its own is told what to use" \
    '^miniprof: SIGUSR2 is the program.s own: use `miniprof ctl [0-9]+ start`$' "$(said off_own)"
start off_own2 MINIPROF_CAPTURE=off -- "$steps" handle-usr2 init print=one await=go4 alpha=1 sync
told off_own2 one
kill -USR2 "$pid"
told off_own2 "own USR2"
touch go4
wait "$pid"
same "off: its handler is called, nothing is recorded" "0 0" "$? $(count off_own2 kernel)"
profile off_late MINIPROF_CAPTURE=off -- "$steps" init handle-usr2 alpha=1 sync
same "off: a handler that is installed later stays" "0 0" "$status $(count off_late kernel)"
profile auto_usr2 -- "$steps" init alpha=1 sync raise=12
same "auto: SIGUSR2 ends the process, as without miniprof" 140 "$status"
profile off_fork MINIPROF_CAPTURE=off -- "$steps" init fork-killed=12 sync
same "off: SIGUSR2 ends a forked child, as without miniprof" "0 child: signal 12" \
    "$status $(cat off_fork.out)"

# ---- miniprof ctl ----------------------------------------------------------------------------
rm -f go?
start ctl MINIPROF_CAPTURE=off -- "$steps" "${waiting[@]}"
told ctl one
ctl "$pid" stop
same "ctl: stop where nothing is recorded" \
    "1 miniprof ctl: process $pid: nothing is being recorded" "$code $answer"
ctl "$pid" start
same "ctl: start" "0 range 1 begins" "$code $answer"
ctl "$pid" start
same "ctl: start again" "1 miniprof ctl: process $pid: range 1 is being recorded already" \
    "$code $answer"
touch go1
told ctl two
ctl "$pid" dump
like "ctl: dump" "^[0-9,]+ records, [0-9,]+ bytes, 0 dropped, $work/ctl.mpt\$" "$answer"
same "ctl: dump: what was recorded is in the file" "beta 2" "$(kernels ctl)"
ctl "$pid" stop
same "ctl: stop" "0 range 1 has ended" "$code $answer"
ctl "$pid" status
like "ctl: status" "^waiting, 1 range, [0-9,]+ records, [0-9,]+ bytes, 0 dropped, $work/ctl.mpt\$" \
    "$answer"
touch go2
told ctl three
ctl "$pid" start
touch go3
wait "$pid"
status=$?
unharmed ctl ctl usr2.bare 0
complete ctl ctl
same "ctl: the ranges" "beta 10 1begin:trigger 1end:trigger 2begin:trigger 2end:end_of_process" \
    "$(kernels ctl) $(ranges ctl)"
ctl "$pid" status
same "ctl: a process that has ended" "3 miniprof ctl: there is no process $pid" "$code $answer"

# pause_by MODE EXPECTED SETTING...: stop and start from outside, in each mode.
pause_by() {
    local mode=$1 expected=$2
    shift 2
    rm -f go? "$mode.mpt"
    start "$mode" MINIPROF_CAPTURE="$mode" "$@" -- "$steps" init start push=a alpha=1 sync \
        print=one await=go1 beta=2 sync print=two await=go2 gamma=4 sync pop stop
    told "$mode" one
    ctl "$pid" stop
    touch go1
    told "$mode" two
    ctl "$pid" start
    touch go2
    wait "$pid"
    same "ctl, $mode: stop and start" "0 $expected" "$? $(kernels "$mode") $(ranges "$mode")"
    complete "ctl, $mode" "$mode"
}
pause_by auto \
    "alpha 1 gamma 4 1begin:profiler_api 1end:trigger 2begin:trigger 2end:profiler_api"
pause_by range \
    "alpha 1 gamma 4 1begin:profiler_api 1end:trigger 2begin:trigger 2end:profiler_api"
pause_by pause \
    "alpha 1 gamma 4 1begin:start_of_process 1end:trigger 2begin:trigger 2end:profiler_api"
pause_by all \
    "alpha 1 gamma 4 1begin:start_of_process 1end:trigger 2begin:trigger 2end:end_of_process"
pause_by nvtx:a "alpha 1 gamma 4 1begin:nvtx 1end:trigger 2begin:trigger 2end:nvtx"
pause_by auto "alpha 1 1begin:profiler_api 1end:trigger" MINIPROF_CAPTURE_END=stop
like "ctl: start when all is over" \
    ': all ranges that MINIPROF_CAPTURE_END or the schedule wants are over$' "$answer"

rm -f go?
start unpaused -- "$steps" init alpha=1 sync print=one await=go1 beta=2 sync
told unpaused one
ctl "$pid" stop
like "ctl, auto without profiler calls: stop" '^range 1 has ended$' "$answer"
touch go1
wait "$pid"
same "ctl, auto without profiler calls" "alpha 1 1begin:start_of_process 1end:trigger" \
    "$(kernels unpaused) $(ranges unpaused)"
rm -f go?
start stopped_duration MINIPROF_CAPTURE=off MINIPROF_DURATION=1 -- "$steps" init print=one \
    await=go1 alpha=1 sync print=two await=go2 beta=2 sync
told stopped_duration one
ctl "$pid" start
touch go1
told stopped_duration two
state "$pid" waiting
touch go2
wait "$pid"
same "ctl, duration: start alone records a second" "alpha 1 1begin:trigger 1end:duration" \
    "$(kernels stopped_duration) $(ranges stopped_duration)"

# ---- who may not -----------------------------------------------------------------------------
sleep 60 &
other=$!
ctl $other start
same "ctl: a process without miniprof" \
    "3 miniprof ctl: process $other is not being recorded, or not in this container" "$code $answer"
kill $other
ctl 2147483647 start
same "ctl: no process" "3 miniprof ctl: there is no process 2147483647" "$code $answer"
# crowd PID [COMMAND...]: while 30 connections that ask for nothing, made by way of that command,
# are held: how `ctl PID status` is answered.
crowd() {
    local crowded=$1
    shift
    rm -f crowd.out
    # shellcheck disable=SC2094
    PATH=/usr/bin:/bin "$@" python3 -c '
import os, socket, sys, time
name = "\0miniprof/%d/%s" % (os.stat("/proc/self/ns/pid").st_ino, sys.argv[1])
held = []
for i in range(30):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.setblocking(False)
    try:
        s.connect(name)
    except BlockingIOError:
        pass
    held.append(s)
print("held", flush=True)
time.sleep(60)' "$crowded" >crowd.out 2>&1 &
    await grep -q held crowd.out
    ctl "$crowded" status
    crowd="$code ${answer%%,*}"
    kill $!
    wait $! 2>/dev/null
}

rm -f go?
start user MINIPROF_CAPTURE=off -- "$steps" init print=one await=go1 alpha=1 sync
told user one
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null &&
    setpriv --reuid=65534 --regid=65534 --clear-groups "$miniprof" --version >/dev/null 2>&1; then
    answer=$(setpriv --reuid=65534 --regid=65534 --clear-groups "$miniprof" ctl "$pid" start 2>&1)
    same "ctl: another user" "3 miniprof ctl: process $pid belongs to another user" "$? $answer"
    # The system's Python: others may be out of that user's reach.
    refused=$(PATH=/usr/bin:/bin setpriv --reuid=65534 --regid=65534 --clear-groups python3 -c '
import os, socket, sys
name = "\0miniprof/%d/%s" % (os.stat("/proc/self/ns/pid").st_ino, sys.argv[1])
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.connect(name)
try:
    s.send(b"start")
except BrokenPipeError: # refused already
    pass
print(s.recv(200).decode())' "$pid" 2>&1)
    same "ctl: another user who asks by himself" "no the process belongs to another user" "$refused"
    crowd "$pid" setpriv --reuid=65534 --regid=65534 --clear-groups
    same "ctl: 30 connections of another user keep nobody out" "0 waiting" "$crowd"
else
    echo "# not root: another user is left out"
fi
crowd "$pid"
same "ctl: 30 idle connections of the same user keep nobody out" "0 waiting" "$crowd"
python3 - "$pid" <<'END'
import os, socket, sys
name = "\0miniprof/%d/%s" % (os.stat("/proc/self/ns/pid").st_ino, sys.argv[1])
def ask(*words):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.connect(name)
    for word in words:
        s.send(word)
    return s
with open("odd", "w") as out:
    print(ask(b"x" * 5000).recv(200).decode(), file=out)
    print(ask(b"stop\0").recv(200).decode(), file=out)
    ask().close()  # goes at once
    silent = ask()  # is closed after a second
    print(ask(b"status").recv(200).decode()[:10], file=out)
    print(silent.recv(10), file=out)
END
same "ctl: odd requests, clients that say nothing" \
    "no this recorder knows start, stop, dump, status and where
no nothing is being recorded
ok waiting
b''" "$(cat odd)"
touch go1
wait "$pid"
same "ctl: nothing was recorded for any of them" "0 0" "$? $(count user kernel)"
profile closed MINIPROF_CAPTURE=off -- "$steps" init alpha=1 sync round swap-sockets print=done
same "a program that closes our socket keeps what it opens then" "0 done" \
    "$status $(cat closed.out)"
finish
