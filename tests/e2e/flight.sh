#!/bin/bash
# Takes 24 s.
# The flight recorder: what is in its traces and what is not any more, each trigger, crashes,
# limits, full disks.
. "$SOURCE/tests/e2e/lib.sh" || exit 1
crash=$build/tests/e2e/crash
life=$build/tests/e2e/life
disk=$build/tests/e2e/full_disk.so
ulimit -c 0

# told NAME TEXT: the program has printed it.
told() {
    await grep -qx "$2" "$1.out"
}

# ctl PID REQUEST: its line in $answer, its exit code in $code.
ctl() {
    answer=$("$miniprof" ctl "$@" 2>&1)
    code=$?
}

# usr2 FILE: signals $pid and waits for the trace.
usr2() {
    kill -USR2 "$pid"
    await [ -e "$1" ]
}

# property NAME KEY: of the header.
property() {
    "$miniprof" info --json "$work/$1.mpt" | sed -n "s/^    \"$2\": \"\(.*\)\",\{0,1\}\$/\1/p"
}

# ranges NAME: "NUMBERbegin:REASON NUMBERend:REASON ..."
ranges() {
    rows "$1" capture | awk -F, '{ printf "%s%s:%s\n", $1, $2, $5 }' | paste -sd' '
}

# traces NAME: the files that there are of that name, also unfinished ones.
traces() {
    (cd "$work" && echo "$1"*.mpt* | sed 's/[^ ]*\*[^ ]*//')
}

# sound WHAT NAME: complete, nothing refers to what is not there, and reports say nothing else.
sound() {
    complete "$1" "$2"
    same "$1: nothing refers to what is missing" 0 \
        "$("$miniprof" dump --json "$2.mpt" | grep -c 'unknown\|undefined')"
    same "$1: reports have no warning" 0 "$("$miniprof" summary "$2.mpt" 2>&1 | grep -c Warning)"
}

# ---- no trigger ------------------------------------------------------------------------------
program=(init alpha=3 sync start beta=2 stop sync print=done)
bare none.bare -- "$steps" "${program[@]}" exit=3
profile none MINIPROF_FLIGHT=30s -- "$steps" "${program[@]}" exit=3
unharmed "no trigger" none none.bare 3
same "no trigger: no file, no word" " " "$(traces none) $(grep miniprof none.err)"
profile info MINIPROF_FLIGHT=30s MINIPROF_LOG=info -- "$steps" "${program[@]}" exit=3
like "no trigger, MINIPROF_LOG=info: says so" 'flight recorder: 0 traces written' "$(cat info.err)"
profile term MINIPROF_FLIGHT=30s -- "$steps" init alpha=3 sync raise=15
same "SIGTERM is no trigger" "143 " "$status $(traces term)"

# ---- SIGUSR2, miniprof ctl -------------------------------------------------------------------
program=(init push=work alpha=3 start sync print=one await=go1 beta=2 stop sync print=two await=go2
    gamma=4 sync pop print=three await=go3)
touch go1 go2 go3
bare asked.bare -- "$steps" "${program[@]}"
rm go?
start asked MINIPROF_FLIGHT=30s -- "$steps" "${program[@]}"
told asked one
usr2 asked.mpt
touch go1
told asked two
ctl "$pid" dump
like "ctl dump: the answer" "^[0-9,]+ records, $work/asked.2.mpt\$" "$answer"
same "ctl dump: exit code" 0 "$code"
touch go2
told asked three
ctl "$pid" status
like "ctl status" '^recording range 1, flight of 30s, [0-9.]+ s and [0-9.]+ MiB held, [0-9]+ '\
'records, 2 files written, 0 refused$' "$answer"
usr2 asked.3.mpt
touch go3
wait "$pid"
status=$?
unharmed "SIGUSR2 and ctl" asked asked.bare 0
same "SIGUSR2 and ctl: a line for each" \
    "miniprof: flight recorder: $work/asked.mpt is written (SIGUSR2)
miniprof: flight recorder: $work/asked.2.mpt is written (miniprof ctl)
miniprof: flight recorder: $work/asked.3.mpt is written (SIGUSR2)" "$(said asked)"
same "SIGUSR2 and ctl: these files" "asked.2.mpt asked.3.mpt asked.mpt" "$(traces asked)"
for name in asked asked.2 asked.3; do
    sound "$name" $name
    same "$name: one range, cudaProfilerStart and Stop mean nothing" \
        "1begin:start_of_process 1end:flight" "$(ranges $name)"
done
same "SIGUSR2: what was recorded up to then" "alpha 3" "$(kernels asked)"
same "ctl dump: that and what came since" "alpha 3 beta 2" "$(kernels asked.2)"
same "SIGUSR2 again" "alpha 3 beta 2 gamma 4" "$(kernels asked.3)"
same "the reasons are in the header" "SIGUSR2 miniprof ctl SIGUSR2" \
    "$(property asked flight_reason) $(property asked.2 flight_reason) \
$(property asked.3 flight_reason)"
check "the times in the header: from, trigger, until" [ "$(property asked flight_from_ns)" -le \
    "$(property asked flight_trigger_ns)" -a "$(property asked flight_trigger_ns)" -le \
    "$(property asked flight_until_ns)" ]
same "the last time in the header is that of the range's end" \
    "$(property asked.2 flight_until_ns)" \
    "$(rows asked.2 capture | awk -F, '$2 == "end" { print $3 }')"
note='Note: the flight recorder wrote this trace, triggered by miniprof ctl; it covers '\
'[0-9.]+[mun]?s, up to [0-9.]+[mun]?s after that\.'
for report in summary info gpu-trace; do
    like "miniprof $report says what it is" "$note" "$("$miniprof" $report asked.2.mpt 2>&1)"
done
like "as JSON too" '"flight": \{ *"reason": "miniprof ctl", *"trigger_ns": [0-9]+, *"from_ns": '\
'[0-9]+, *"until_ns": [0-9]+ *\}' "$("$miniprof" summary --json asked.2.mpt | tr '\n' ' ')"
profile ordinary -- "$steps" init alpha=1 sync
same "no other trace says that" 0 \
    "$("$miniprof" summary ordinary.mpt 2>&1 | grep -c 'flight recorder')"

start own MINIPROF_FLIGHT=30s -- "$steps" handle-usr2 init alpha=1 sync print=one await=go4
told own one
ctl "$pid" dump
touch go4
wait "$pid"
like "a program with a handler of SIGUSR2 keeps it, and is told how else" \
    'SIGUSR2 is the program.s own: use .miniprof ctl [0-9]+ dump.' "$(said own)"
same "and ctl works" "alpha 1" "$(kernels own)"

# ---- capture modes ---------------------------------------------------------------------------
rm -f go?
start nvtx MINIPROF_FLIGHT=30s MINIPROF_CAPTURE=nvtx:a -- "$steps" init alpha=1 push=a beta=2 pop \
    gamma=4 push=a beta=8 sync print=one await=go1
told nvtx one
usr2 nvtx.mpt
touch go1
wait "$pid"
sound "with capture ranges" nvtx
same "with capture ranges: what is in them" \
    "beta 10 1begin:nvtx 1end:nvtx 2begin:nvtx 2end:flight" "$(kernels nvtx) $(ranges nvtx)"

# ---- slow steps ------------------------------------------------------------------------------
# A thousand kernels take 2 ms at least, one takes less than 0.1 ms: simgpu's clock is virtual.
quick=(push=it alpha=1 sync pop)
slow=(push=it beta=1000 sync pop)
bare slow.bare -- "$steps" init "${quick[@]}" "${slow[@]}" print=done
profile slow MINIPROF_FLIGHT=30s MINIPROF_SLOW_STEP=1ms MINIPROF_STEP=it -- \
    "$steps" init "${quick[@]}" "${slow[@]}" print=done
unharmed "a slow step" slow slow.bare 0
sound "a slow step" slow
same "a slow step: one file" slow.mpt "$(traces slow)"
same "a slow step: with its kernels, and those before it" "alpha 1 beta 1000" "$(kernels slow)"
like "a slow step: the line" "slow.mpt is written \('it' took [2-9]\.[0-9]*ms\)\$" "$(said slow)"
same "a slow step: the header" "slow step 1000000" \
    "$(property slow flight_reason) $(property slow flight_step_limit_ns)"
# The clock is read for each of the two, which costs 20 ns.
same "a slow step: its begin" 20 $(($(rows slow nvtx |
    awk -F, '$2 == "push" { at = $5 } END { print at }') - $(property slow flight_step_start_ns)))
same "a slow step: begin and length are the trigger's time" "$(property slow flight_trigger_ns)" \
    $(($(property slow flight_step_start_ns) + $(property slow flight_step_ns)))
like "a slow step: reports" 'triggered by a slow step \("it" took [2-9]\.[0-9]*ms, more than '\
'1\.000ms\)' "$("$miniprof" summary slow.mpt 2>&1)"
profile other MINIPROF_FLIGHT=30s MINIPROF_SLOW_STEP=1ms MINIPROF_STEP=it -- \
    "$steps" init "${quick[@]}" push=other beta=1000 sync pop
same "a slow range of another name" "" "$(traces other)"
profile domain MINIPROF_FLIGHT=30s MINIPROF_SLOW_STEP=1ms MINIPROF_STEP=it@d MINIPROF_NVTX=off -- \
    "$steps" init push=it beta=1000 sync pop push-in=d:it alpha=1000 sync pop-in=d
same "a slow range of a domain, NVTX off" "1 alpha 1000 beta 1000 0" \
    "$(said domain | wc -l) $(kernels domain) $(count domain nvtx)"
profile ends MINIPROF_FLIGHT=30s MINIPROF_SLOW_STEP=1ms MINIPROF_STEP=it -- \
    "$steps" init range-start=1:it alpha=1 sync range-end=1 range-start=2:it beta=1000 sync \
    range-end=2
same "a slow range of start and end" "ends.mpt" "$(traces ends)"
# The slow ones inside of one that is slow; all end before the first file is written.
profile many MINIPROF_FLIGHT=30s MINIPROF_SLOW_STEP=1ms MINIPROF_STEP=it -- \
    "$steps" init push=it "${slow[@]}" "${slow[@]}" pop
same "slow steps one after the other share a file" "many.mpt" "$(traces many)"
same "slow steps one after the other: all are there" "beta 2000" "$(kernels many)"

# Percentiles: of a hundred steps and more.
hundred=()
for ((i = 0; i < 100; i++)); do
    hundred+=("${quick[@]}")
done
limits=(p99x3 p50x10 p90)
# Thread sanitizer slows the recorder's own calls down: no step is ten times another there.
sanitized thread && limits=(p90)
for limit in "${limits[@]}"; do
    rm -f percent.mpt
    profile percent MINIPROF_FLIGHT=30s MINIPROF_SLOW_STEP=$limit MINIPROF_STEP=it -- \
        "$steps" init alpha=1 sync "${hundred[@]}" "${slow[@]}"
    same "$limit: the step after a hundred quick ones" "alpha 101 beta 1000" "$(kernels percent)"
    rm -f percent.mpt
    profile percent MINIPROF_FLIGHT=30s MINIPROF_SLOW_STEP=$limit MINIPROF_STEP=it -- \
        "$steps" init alpha=1 sync "${hundred[@]:4}" "${slow[@]}"
    same "$limit: not after ninety-nine" "" "$(traces percent)"
done
profile percent2 MINIPROF_FLIGHT=30s MINIPROF_SLOW_STEP=p99x1000 MINIPROF_STEP=it -- \
    "$steps" init alpha=1 sync "${hundred[@]}" "${slow[@]}"
same "p99x1000: that is not slow" "" "$(traces percent2)"

# Settings that do not go together.
# useless SAID SETTING...
useless() {
    local expected=$1
    shift
    rm -f useless.mpt
    profile useless "$@" -- "$steps" init push=it alpha=1 sync pop
    same "$*" "miniprof: $expected" "$(said useless)"
}
useless "MINIPROF_SLOW_STEP has no effect without MINIPROF_FLIGHT" \
    MINIPROF_SLOW_STEP=1ms MINIPROF_STEP=it
useless "MINIPROF_SLOW_STEP has no effect without MINIPROF_STEP, the NVTX range to time" \
    MINIPROF_FLIGHT=9s MINIPROF_SLOW_STEP=1ms
useless "MINIPROF_SLOW_STEP has no effect: MINIPROF_STEP has to be the range of \
MINIPROF_CAPTURE=nvtx:other" \
    MINIPROF_FLIGHT=9s MINIPROF_SLOW_STEP=1ms MINIPROF_STEP=it MINIPROF_CAPTURE=nvtx:other
useless "MINIPROF_METRICS has no effect with MINIPROF_FLIGHT" \
    MINIPROF_FLIGHT=9s MINIPROF_METRICS=ipc
profile bad MINIPROF_FLIGHT=30 -- "$steps" init alpha=2 sync
same "a bad MINIPROF_FLIGHT: an ordinary trace" "alpha 2 1 0" \
    "$(kernels bad) $(said bad | wc -l) $("$miniprof" summary bad.mpt 2>&1 |
        grep -c "flight recorder")"

# ---- crashes ---------------------------------------------------------------------------------
if ! sanitized; then # which takes these signals for itself
    while IFS='|' read -r end code signal; do
        bare "$end.bare" -- "$crash" "$end"
        same "$end: exit code without miniprof" "$code" "$status"
        profile "$end" MINIPROF_FLIGHT=30s -- "$crash" "$end"
        unharmed "$end" "$end" "$end.bare" "$code"
        if [ "$signal" ]; then
            sound "$end" "$end"
            same "$end: what was recorded" "beta 3 $signal" \
                "$(kernels "$end") $(property "$end" flight_reason)"
        else
            same "$end: no file, no word" " " "$(traces "$end") $(said "$end")"
        fi
    done <<'END'
segv|139|SIGSEGV
bus|135|SIGBUS
fpe|136|SIGFPE
ill|132|SIGILL
abort|134|SIGABRT
two|139|SIGSEGV
stack|139|
child|0|
handled|5|
late|5|
END
    for number in 11 7 8 4 6; do
        rm -f raised.mpt
        profile raised MINIPROF_FLIGHT=30s -- "$steps" init alpha=4 sync raise=$number
        same "signal $number from outside" "$((128 + number)) alpha 4" "$status $(kernels raised)"
    done
    profile busy MINIPROF_FLIGHT=30s -- "$steps" init alpha=2 sync beta=3 raise=6
    same "a crash while kernels wait and run: they are there" "134 alpha 2 beta 3" \
        "$status $(kernels busy)"
    complete "a crash while kernels wait and run" busy
    like "a crash while kernels wait and run: reports say that they have no end" \
        'Warning: 2 of 5 kernels have no times; ' \
        "$("$miniprof" summary busy.mpt 2>&1)"
    profile off -- "$crash" segv
    same "without MINIPROF_FLIGHT a crash is as ever" "139 0" "$status $(said off | wc -l)"
    # The file takes its time: 1.5 s and more, and 60 s for each write.
    profile both MINIPROF_FLIGHT=30s LD_PRELOAD="$disk" FULL_DISK_FROM=1000000 \
        FULL_DISK_SLEEP_MS=100 -- "$crash" two
    same "a second thread that crashes while the file is written waits: the first one's signal" \
        "139 beta 3" "$status $(kernels both)"
    profile hangs MINIPROF_FLIGHT=30s LD_PRELOAD="$disk" FULL_DISK_FROM=1000000 \
        FULL_DISK_SLEEP_MS=600000 MINIPROF_TEST_TIME_DIVISOR=4 -- timeout -s KILL 300 "$crash" segv
    same "the disk hangs: dies of its own signal" 139 "$status"
    same "the disk hangs: no file has the trace's name" hangs.mpt.part "$(traces hangs)"
    # CUPTI hangs: what comes without it is there.
    profile cupti MINIPROF_FLIGHT=30s SIMGPU_FLUSH_SLEEP_MS=600000 MINIPROF_TEST_TIME_DIVISOR=4 -- \
        timeout -s KILL 300 "$steps" init push=a flushing push=b raise=11
    same "CUPTI hangs: dies of its own signal" 139 "$status"
    complete "CUPTI hangs" cupti
    same "CUPTI hangs: the ranges are there" "push:a push:b" \
        "$(rows cupti nvtx | awk -F, '{ print $2 ":" $4 }' | paste -sd' ')"
    profile full MINIPROF_FLIGHT=30s LD_PRELOAD="$disk" FULL_DISK_FROM=2 FULL_DISK_COUNT=1000 -- \
        "$crash" segv
    same "a crash and a full disk" "139 1 " "$status $(said full | wc -l) $(traces full)"
fi

# ---- fork ------------------------------------------------------------------------------------
rm -f go?
leaky start forks MINIPROF_FLIGHT=30s -- "$steps" init alpha=2 sync fork=3 fork-killed=9 beta=4 \
    sync print=one await=go1
told forks one
usr2 forks.mpt
touch go1
wait "$pid"
same "forked children: exit code, what the parent recorded, one file" "0 alpha 2 beta 4 forks.mpt" \
    "$? $(kernels forks) $(traces forks)"
sound "forked children" forks

# ---- age -------------------------------------------------------------------------------------
rm -f go?
start old MINIPROF_FLIGHT=1s -- "$steps" init push=outer alpha=5 sync written pass=3000000 beta=3 \
    sync pop print=one await=go1
told old one
usr2 old.mpt
touch go1
wait "$pid"
sound "3 s later, with MINIPROF_FLIGHT=1s" old
same "3 s later: the kernels of the last second" "beta 3" "$(kernels old)"
same "3 s later: the range begins and ends with the recorder's reason" "1begin:flight 1end:flight" \
    "$(ranges old)"
same "3 s later: the range begins where the header says" "$(property old flight_from_ns)" \
    "$(rows old capture | awk -F, '$2 == "begin" { print $3 }')"
same "3 s later: names of before stay" 1 "$(count old shape ',alpha,')"
same "3 s later: so do the context and the stream" "1 1" \
    "$(count old context_info) $(($(count old stream) > 0))"
for report in nvtx deps summary api-trace; do
    check "3 s later: miniprof $report" "$miniprof" "$report" old.mpt
done
from=$(property old flight_from_ns)
check "3 s later: all is there from the header's time on, which is later than the start" \
    [ "$from" -gt "$(property old start_clock_ns)" -a \
    "$from" -le "$(column old kernel start | sort -n | head -n 1)" ]

# ---- memory ----------------------------------------------------------------------------------
# A mark takes less than a microsecond of virtual time, so none is too old. A large header counts
# too: without that, one file in six is too large.
rm -f go*
long=$(printf '%04000d' 0)
start memory MINIPROF_FLIGHT=5s MINIPROF_FLIGHT_MB=4 MINIPROF_ARGV=on MINIPROF_KERNELS="$long" \
    -- "$crash" "marks=1000000,$long"
told memory ready
usr2 memory.mpt
ctl "$pid" status
touch go
wait "$pid"
same "a million marks and 4 MB: exit code" 0 $?
sound "a million marks and 4 MB" memory
same "a million marks and 4 MB: the first kernels are gone, the last one is there" "alpha 1" \
    "$(kernels memory)"
column memory nvtx payload | sed 's/^0x//' >payloads
first=$((0x$(head -n 1 payloads) & 0xffffffff))
same "a million marks and 4 MB: the last ones are there, one after the other" \
    "$(seq $first 999999 | md5sum)" \
    "$(while read -r payload; do echo $((0x$payload & 0xffffffff)); done <payloads | md5sum)"
check "a million marks and 4 MB: many are there, not all (from $first on)" \
    [ "$first" -gt 1000 -a "$first" -lt 990000 ]
check "a million marks and 4 MB: the header is large" [ "$(property memory argv | wc -c)" -gt 4000 ]
bytes=$(stat -c %s memory.mpt)
check "a million marks and 4 MB: the file is no larger, and not much smaller ($bytes bytes)" \
    [ "$bytes" -le 4194304 -a "$bytes" -gt 3000000 ]
like "a million marks and 4 MB: the status too" ' [34]\.[0-9] MiB held' "$answer"
from=$(property memory flight_from_ns)
at=$(column memory nvtx time | head -n 1)
check "a million marks and 4 MB: the header tells when it begins: after the last that is gone" \
    [ "$from" -le "$at" -a $((at - from)) -lt 1000 ]

rm -f go*
start names MINIPROF_FLIGHT=1h MINIPROF_FLIGHT_MB=4 -- "$crash" names=60000
told names ready
usr2 names.mpt
touch go
wait "$pid"
same "60,000 names of 120 letters and 4 MB: exit code" 0 $?
same "60,000 names: it is said once that recording begins anew" 1 \
    "$(said names | grep -c 'take half of MINIPROF_FLIGHT_MB=4: .*, recording begins anew$')"
sound "60,000 names" names
same "60,000 names: what came afterwards is there" "alpha 1 1" \
    "$(kernels names) $(count names nvtx ',last,')"
check "60,000 names: the file is no larger than memory" [ "$(stat -c %s names.mpt)" -le 4194304 ]

# ---- how many --------------------------------------------------------------------------------
rm -f go*
start three MINIPROF_FLIGHT=30s MINIPROF_FLIGHT_FILES=2 -- "$steps" init alpha=1 sync print=one \
    await=go1
told three one
usr2 three.mpt
usr2 three.2.mpt
ctl "$pid" dump
same "MINIPROF_FLIGHT_FILES=2: the third is refused" "1 miniprof ctl: process $pid: 2 traces are \
written already, as many as MINIPROF_FLIGHT_FILES allows: no more are" "$code $answer"
ctl "$pid" dump
ctl "$pid" status
like "MINIPROF_FLIGHT_FILES=2: the status counts" '2 files written, 2 refused$' "$answer"
touch go1
wait "$pid"
same "MINIPROF_FLIGHT_FILES=2: two files, three lines" "three.2.mpt three.mpt 3" \
    "$(traces three) $(said three | wc -l)"

# Four threads, 200 signals, somebody who asks, a file for each round at most.
rm -f go*
start storm MINIPROF_FLIGHT=30s MINIPROF_FLIGHT_FILES=5 -- "$crash" usr2=200
told storm running
for ((i = 0; i < 5; i++)); do
    "$miniprof" ctl "$pid" dump >/dev/null 2>&1 &
done
told storm ready
touch go
wait "$pid"
same "200 signals and five requests at once: exit code" 0 $?
wait
read -ra files <<<"$(traces storm | sed 's/\.mpt//g')" # a round that takes long serves many signals
check "200 signals and five requests at once: one to five files" \
    [ ${#files[@]} -ge 1 -a ${#files[@]} -le 5 ]
for name in "${files[@]}"; do
    sound "200 signals and five requests at once: $name" $name
    same "200 signals and five requests at once: $name: kernels" "beta 3" "$(kernels $name)"
done

# ---- files -----------------------------------------------------------------------------------
mkdir none foreign
echo mine >foreign/a.mpt
program=(init alpha=1 sync print=ran)
bare refused.bare -- "$steps" "${program[@]}"
profile refused MINIPROF_FLIGHT=30s MINIPROF_OUTPUT=/proc/none/a.mpt -- \
    "$steps" "${program[@]}"
unharmed "no folder can be made" refused refused.bare 0
like "no folder can be made: said at the start" '/proc/none.*No such file.*nothing is recorded' \
    "$(said refused)"
profile made MINIPROF_FLIGHT=30s MINIPROF_OUTPUT="$work/made/a.mpt" -- \
    "$steps" "${program[@]}"
same "a folder that is not there is made at the start" "0 700" \
    "$(said made | wc -l) $(stat -c %a made)"
profile foreign MINIPROF_FLIGHT=30s MINIPROF_OUTPUT="$work/foreign/a.mpt" -- \
    "$steps" "${program[@]}"
same "another's file is left alone, which is said at the start" "mine 1" \
    "$(cat foreign/a.mpt) $(said foreign | grep -c 'File exists.*nothing is recorded')"

rm -f go*
start gone MINIPROF_FLIGHT=30s MINIPROF_OUTPUT="$work/none/a.mpt" -- "$steps" init alpha=1 sync \
    print=one await=go1 beta=2 sync print=two await=go2
told gone one
rmdir none
ctl "$pid" dump
same "the folder is gone: refused" 1 "$code"
ctl "$pid" dump
mkdir none
touch go1
told gone two
ctl "$pid" dump
touch go2
wait "$pid"
cp none/a.mpt gone.mpt
same "the folder is gone, and there again: one line, then the file with all" "alpha 1 beta 2 2" \
    "$(kernels gone) $(said gone | wc -l)"
like "the folder is gone: the line" \
    'a.mpt.part.: No such file or directory: nothing is written, the next trigger tries again$' \
    "$(said gone | head -n 1)"

if ! sanitized; then
    rm -f go*
    start disk MINIPROF_FLIGHT=30s LD_PRELOAD="$disk" FULL_DISK_FROM=3 FULL_DISK_COUNT=1 -- \
        "$steps" init alpha=1 sync print=one await=go1 beta=2 sync print=two await=go2
    told disk one
    ctl "$pid" dump
    same "a full disk: refused" \
        "1 miniprof ctl: process $pid: cannot write: No space left on device" "$code $answer"
    same "a full disk: nothing is left of it" "" "$(traces disk)"
    touch go1
    told disk two
    ctl "$pid" dump
    touch go2
    wait "$pid"
    sound "a full disk that has room again" disk
    same "a full disk that has room again: all is there" "alpha 1 beta 2" "$(kernels disk)"
fi
mkdir mounted
if mount -t tmpfs -o size=64k none mounted 2>/dev/null; then
    trap 'umount -l "$work/mounted"; rm -rf "$work"' EXIT
    dd if=/dev/zero of=mounted/ballast bs=1k count=64 2>/dev/null
    rm -f go*
    start tmpfs MINIPROF_FLIGHT=30s MINIPROF_OUTPUT="$work/mounted/a.mpt" -- "$steps" init \
        alpha=20000 sync print=one await=go1
    told tmpfs one
    ctl "$pid" dump
    same "a full tmpfs: refused, nothing is left of it" "1 ballast" "$code $(ls mounted)"
    rm mounted/ballast
    mount -o remount,size=8m mounted
    ctl "$pid" dump
    touch go1
    wait "$pid"
    cp mounted/a.mpt tmpfs.mpt
    same "a tmpfs that has room again: all is there" "alpha 20000" "$(kernels tmpfs)"
fi

# ---- descriptors, folders, programs ----------------------------------------------------------
for what in use-up-fds close-all="$work/taken.own" chdir=/; do
    rm -f odd.mpt
    bare odd.bare -- "$life" init alpha=2 sync "$what" alpha=3 sync exit=4
    profile odd MINIPROF_FLIGHT=30s MINIPROF_OUTPUT=odd.mpt -- \
        "$life" init alpha=2 sync "$what" alpha=3 sync crash=0
    if ! sanitized; then
        same "$what: exit code" 139 "$status"
        same "$what: all is there" "alpha 5" "$(kernels odd)"
        sound "$what" odd
    fi
done
same "close-all: nothing of ours in the program's file" 0 "$(stat -c %s taken.own)"
"$miniprof" run -o "$work/run.mpt" --flight=30s -- "$steps" init alpha=1 sync exit=6 \
    >run.out 2>run.err
same "miniprof run without a trigger: the exit code, and what it says" \
    "6 miniprof run: the flight recorder wrote no trace: nothing triggered it, or its messages \
above say why not" "$? $(cat run.err)"
if ! sanitized; then
    "$miniprof" run -o "$work/run.mpt" --flight=30s --flight-mb=8 --flight-files=1 \
        --slow-step=1h --step=it -- "$crash" segv >run.out 2>run.err
    same "miniprof run and a crash: the exit code, and the summary" "139 1 1" \
        "$? $(grep -c 'triggered by SIGSEGV' run.err) $(grep -c 'GPU activities:.* beta' run.err)"
    same "miniprof run: the flags" "30s 8 1 1h it" "$(property run MINIPROF_FLIGHT) \
$(property run MINIPROF_FLIGHT_MB) $(property run MINIPROF_FLIGHT_FILES) \
$(property run MINIPROF_SLOW_STEP) $(property run MINIPROF_STEP)"
fi
finish
