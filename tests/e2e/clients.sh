#!/bin/bash
# Takes 25 s.
# Other CUPTI clients in the process: torch.profiler before, during and after a recording, Nsight's
# libraries, a second copy of ours, another tool for NVTX. kineto.so makes Kineto's calls.
. "$SOURCE/tests/e2e/lib.sh" || exit 1
export SIMGPU_CUPTI_VERSION=130001 # one that says when Kineto is through, whatever the headers are

# Under the names by which the recorder knows them.
mkdir torch nsys
cp "$build/tests/e2e/kineto.so" torch/libtorch_cpu.so
cp "$build/tests/e2e/kineto.so" nsys/libToolsInjection64.so
cp "$lib" second.so
kineto=(load="$work/torch/libtorch_cpu.so")

# one_line WHAT NAME PATTERN: it said that line, and no other but the closing one.
one_line() {
    same "$1: one line" 1 "$(said "$2" | wc -l)"
    like "$1: what it says" "^miniprof: .*$3" "$(said "$2")"
}

# nothing WHAT NAME PATTERN: nothing was recorded, no file was left, and that is said.
nothing() {
    check "$1: no trace" [ ! -e "$2.mpt" ]
    one_line "$1" "$2" "$3"
}

lost() {
    counter "$1" dropped_taken_over
}

told=said="has taken CUPTI over"
taken='another CUPTI client, probably torch.profiler .*libtorch_cpu.so.* has taken CUPTI over'

# both WHAT NAME [VAR=VALUE... --] STEP...: with the recorder and without, also with `settings`.
settings=()
both() {
    local what=$1 name=$2
    local -a more=()
    shift 2
    if [[ $1 == *=* && $1 != load=* ]]; then
        while [ "$1" != -- ]; do
            more+=("$1")
            shift
        done
        shift
    fi
    bare "$name.bare" "${more[@]}" -- "$steps" "$@"
    profile "$name" "${settings[@]}" "${more[@]}" -- "$steps" "$@"
    unharmed "$what" "$name" "$name.bare" 0
    complete "$what" "$name"
}

# ---- torch.profiler, in modes that record all the time ---------------------------------------
session=("$steps" "${kineto[@]}" init alpha=2 sync written looked call=kineto_start beta=5 sync
    "$told" beta=1 sync push=inside pop await=go call=kineto_stop written alpha=3 sync
    call=kineto_report)
touch go
bare during.bare -- "${session[@]}"
rm go
start during -- "${session[@]}"
await has during call 7 # all before the session's end: what is lost of it is known by then
touch go
wait "$pid"
status=$?
unharmed "a profiler's session" during during.bare 0
complete "a profiler's session" during
one_line "a profiler's session" during "$taken"
same "a profiler's session: it has its kernels" "kineto: 6 kernels" "$(cat during.out)"
same "a profiler's session: what ran before and after is recorded" "alpha 5" "$(kernels during)"
# The synchronisation that had no record; later a launch.
same "a profiler's session: what is known to be lost is counted" 2 "$(lost during)"
like "a profiler's session: the closing line counts it" ', 2 dropped,' "$(closing during)"
like "a profiler's session: info counts it" 'dropped_taken_over +2' \
    "$("$miniprof" info during.mpt)"
like "a profiler's session: the summary's first line" \
    '^==[0-9]+== Warning: 2 records were dropped; 2 calls whose records another CUPTI client got' \
    "$("$miniprof" summary during.mpt 2>&1)"
# Those of the first second are lost: 5 launches and a synchronisation.
same "a profiler's session: calls go on" "$((2 + 2 + 1 + 1 + 1 + 3 + 1))" "$(count during call)"
same "a profiler's session: NVTX goes on" 2 "$(count during nvtx)"

both "a short session" short "${kineto[@]}" init alpha=2 sync written looked \
    call=kineto_start beta=5 sync call=kineto_stop written alpha=3 sync call=kineto_report
one_line "a short session" short "$taken"
same "a short session: it has its kernels" "kineto: 5 kernels" "$(cat short.out)"
same "a short session: what ran before and after is recorded" "alpha 5" "$(kernels short)"
like "a short session: a loss is counted" '^[1-9]' "$(lost short)"

both "a session to the end" last "${kineto[@]}" init alpha=2 sync written looked \
    call=kineto_start beta=5 sync
one_line "a session to the end" last "$taken"
same "a session to the end: what ran before" "alpha 2" "$(kernels last)"
like "a session to the end: a loss is counted" '^[1-9]' "$(lost last)"

# With the flight recorder a thread apart asks CUPTI for its buffers.
start flight MINIPROF_FLIGHT=60s -- "$steps" "${kineto[@]}" init alpha=2 sync written looked \
    call=kineto_start beta=5 sync "$told" beta=1 sync call=kineto_stop written alpha=3 sync \
    written print=ready await=dumped
await grep -q ready flight.out
"$miniprof" ctl "$pid" dump >/dev/null
touch dumped
wait "$pid"
status=$?
same "a session beside the flight recorder: what ran before and after is recorded" "0 alpha 5" \
    "$status $(kernels flight)"
like "a session beside the flight recorder: it is said" "$taken" "$(said flight)"
like "a session beside the flight recorder: a loss is counted" '^[1-9]' "$(lost flight)"

# The third registration of a clock spoils two kernels.
both "a clock that is registered again" clock SIMGPU_CLOCK_FAULT=1 -- "${kineto[@]}" init alpha=2 \
    sync written looked call=kineto_start beta=5 sync call=kineto_stop written alpha=3 sync \
    call=kineto_report
same "a clock that is registered again: no kernel has another clock's times" "alpha 3" \
    "$(kernels clock)"
same "a clock that is registered again: those that had are counted" 2 \
    "$(counter clock dropped_foreign_times)"

both "graphs and a session" graphs MINIPROF_CUDA_GRAPH=graph -- "${kineto[@]}" init stream=1 \
    capture alpha=2 end-capture=0 instantiate=0 launch=0 sync written looked \
    call=kineto_start beta=5 sync call=kineto_stop written launch=0 launch=0 sync call=kineto_report
same "graphs and a session: what ran before and after is recorded" 3 "$(count graphs graph)"

# CUPTI of CUDA 12.2 and before has not the attribute by which Kineto is known to be through.
both "a session that does not say when it is over" forever SIMGPU_CUPTI_VERSION=18 -- \
    "${kineto[@]}" init alpha=2 sync written call=kineto_start beta=5 sync "$told" \
    call=kineto_stop alpha=3 sync call=kineto_report
one_line "a session that does not say when it is over" forever \
    "$taken: what the GPU does is not recorded from here on"
same "a session that does not say when it is over: launches are counted, calls go on" \
    "alpha 2 4 9" "$(kernels forever) $(lost forever) $(count forever call)"

both "a session before" before "${kineto[@]}" init-only call=kineto_start init beta=4 sync \
    call=kineto_stop switched=3 alpha=3 sync call=kineto_report
same "a session before: it has its kernels" "kineto: 4 kernels" "$(cat before.out)"
same "a session before: what ran after it" "alpha 3" "$(kernels before)"

both "no other client, and nothing but waiting" idle init alpha=1 sync sleep=1500 sync sleep=200
same "no other client: nothing to say" "" "$(said idle)"
same "no other client: nothing lost" "alpha 1 0" "$(kernels idle) $(lost idle)"
both "only calls that are not recorded" unasked init sync sleep=1200 sync sleep=1200 sync
same "only calls: nothing to say" "" "$(said unasked)"

# ---- torch.profiler, in modes that record ranges ---------------------------------------------
settings=(MINIPROF_CAPTURE=range)
both "range after a session" after "${kineto[@]}" init returned call=kineto_start beta=4 sync \
    call=kineto_stop start alpha=3 stop call=kineto_report
same "range after a session: nothing to say" "" "$(said after)"
same "range after a session: it has its kernels" "kineto: 4 kernels" "$(cat after.out)"
same "range after a session: the range is complete" "alpha 3 0" "$(kernels after) $(lost after)"

# CUPTI counts what it drops since anybody last asked. In this session we ask, too.
both "range after a session that lost records" lossy "${kineto[@]}" init returned \
    call=kineto_start beta=1 sync call=kineto_fill beta=4 sync sleep=1000 call=kineto_make_room \
    beta=1 sync call=kineto_stop start alpha=3 stop call=kineto_report
same "range after a session that lost records: the range has lost none" "alpha 3 0" \
    "$(kernels lossy) $(counter lossy dropped_by_cupti)"

both "range within a session" within "${kineto[@]}" init returned call=kineto_start beta=1 \
    start alpha=3 sync stop beta=1 sync call=kineto_stop start alpha=2 stop call=kineto_report
same "range within a session: it has its kernels" "kineto: 5 kernels" "$(cat within.out)"
same "range within a session: the range after it is complete" "alpha 2" "$(kernels within)"
one_line "range within a session" within "$taken"
same "range within a session: its launches are counted" 3 "$(lost within)"

both "range within a session that lasts" lasting "${kineto[@]}" init returned \
    call=kineto_start beta=1 start alpha=3 sync "$told" stop beta=1 sync call=kineto_stop \
    call=kineto_report
one_line "range within a session that lasts" lasting "$taken"
same "range within a session that lasts: it has its kernels" "kineto: 5 kernels" \
    "$(cat lasting.out)"
same "range within a session that lasts: calls, and all launches counted" "4 3" \
    "$(count lasting call) $(lost lasting)"

settings=(MINIPROF_CAPTURE=nvtx:step)
both "nvtx: after a session" nvtx_after "${kineto[@]}" init returned call=kineto_start beta=4 \
    sync call=kineto_stop push=step alpha=3 sync pop call=kineto_report
same "nvtx: after a session: the range is complete" "alpha 3" "$(kernels nvtx_after)"

# Each session takes the buffers that CUPTI has: they must not run out. (Where CUPTI is asked for
# its buffers between the last record of a session and its end, Kineto has none and does not say
# that it is through: docs/reliability.md. What is launched next goes to it, and is counted.)
settings=(MINIPROF_CAPTURE=range MINIPROF_BUFFER_MB=8)
many=()
for ((i = 0; i < 30; i++)); do
    many+=(start alpha=1 sync stop round call=kineto_start beta=1 sync call=kineto_stop)
done

# counted WHAT NAME: as `both` with the steps of `many`, but for the count that Kineto prints.
counted() {
    bare "$2.bare" -- "$steps" "${kineto[@]}" init "${many[@]}" call=kineto_report
    profile "$2" "${settings[@]}" -- "$steps" "${kineto[@]}" init "${many[@]}" call=kineto_report
    unharmed_but_for_stdout "$1" "$2" "$2.bare" 0
    complete "$1" "$2"
}

# got NAME: how many kernels Kineto has.
got() {
    sed -n 's/^kineto: \([0-9]*\) kernels$/\1/p' "$1.out"
}
counted "30 sessions and ranges" many
ours=$(count many kernel ',alpha,')
check "30 sessions and ranges: most is recorded" [ "$ours" -ge 15 ]
same "30 sessions and ranges: Kineto has the others" 60 $((ours + $(got many)))
# One that Kineto gets while CUPTI also answers us is not known to be lost.
uncounted=$((30 - ours - $(lost many)))
check "30 sessions and ranges: the others are counted, but for $uncounted" \
    [ $uncounted -ge 0 -a $uncounted -le 5 ]
same "30 sessions and ranges: buffers enough" 0 "$(rows many quality | grep -c exhausted)"

# Sessions that begin inside of ranges get the buffers in use; there are 8.
many=()
for ((i = 0; i < 12; i++)); do
    many+=(start alpha=1 sync call=kineto_start returned beta=1 sync call=kineto_stop stop)
done
counted "12 sessions inside of ranges" inside
ours=$(count inside kernel ',alpha,')
check "12 sessions inside of ranges: most that was recorded before them is there" \
    [ "$ours" -ge 6 ]
same "12 sessions inside of ranges: Kineto has the others" 24 "$((ours + $(got inside)))"
same "12 sessions inside of ranges: buffers enough" 0 "$(rows inside quality | grep -c exhausted)"

# The kinds of a range without GPU work stay on until it is clear that they are nobody else's.
both "an empty range" empty "${kineto[@]}" init start stop alpha=1 sync unrecorded \
    call=kineto_listen beta=4 sync call=kineto_stop call=kineto_report
same "an empty range: nothing is left on" "kineto: 0 kernels" "$(cat empty.out)"

# A record of the stream asks for a buffer, which the session's first records must not go to.
both "a session long after a range" late "${kineto[@]}" init start alpha=1 stop sleep=2300 \
    stream=1 returned call=kineto_start beta=4 sync call=kineto_stop call=kineto_report
same "a session long after a range: it has its kernels" "kineto: 4 kernels" "$(cat late.out)"
settings=()

# ---- torch.profiler that subscribes ----------------------------------------------------------
profile second "${settings[@]}" -- "$steps" "${kineto[@]}" init alpha=2 sync \
    call=kineto_subscribe call=kineto_start beta=2 sync call=kineto_stop call=kineto_report
same "a profiler that wants to subscribe: it goes on without the GPU" \
    "0 kineto: 0 kernels, CPU only" "$status $(cat second.out)"
same "a profiler that wants to subscribe: all is recorded" "alpha 2 beta 2" "$(kernels second)"
complete "a profiler that wants to subscribe" second

first=("$steps" "${kineto[@]}" call=kineto_subscribe init call=kineto_start alpha=2 sync
    call=kineto_stop call=kineto_report)
bare first.bare -- "${first[@]}"
profile first -- "${first[@]}"
unharmed "a profiler that has subscribed" first first.bare 0
same "a profiler that has subscribed: it has its kernels" "kineto: 2 kernels" "$(cat first.out)"
nothing "a profiler that has subscribed" first \
    'another CUPTI client is attached.*torch.profiler .*libtorch_cpu.so.*nothing is recorded'

profile teardown -- "$steps" "${kineto[@]}" init alpha=2 sync written looked \
    call=kineto_start beta=1 sync call=kineto_stop call=kineto_teardown written alpha=1 sync \
    call=kineto_report
same "TEARDOWN_CUPTI: not while we are subscribed" \
    "kineto: CUPTI Callback failed to init, skipping teardown kineto: 1 kernels" \
    "$(paste -sd' ' teardown.out)"
same "TEARDOWN_CUPTI: recorded" "alpha 3" "$(kernels teardown)"
complete "TEARDOWN_CUPTI" teardown

# ---- Nsight ----------------------------------------------------------------------------------
nsight=("$steps" load="$work/nsys/libToolsInjection64.so" call=nsight_attach init alpha=2 sync
    call=kineto_stop call=kineto_report)
bare nsight.bare -- "${nsight[@]}"
for version in 18 28 130001; do
    profile "nsight$version" SIMGPU_CUPTI_VERSION=$version -- "${nsight[@]}"
    unharmed "Nsight Systems, CUPTI $version" "nsight$version" nsight.bare 0
    nothing "Nsight Systems, CUPTI $version" "nsight$version" \
        'another CUPTI client is attached.*Nsight Systems .*libToolsInjection64.so'
done
if plays cuptiSubscribe_v2; then
    like "Nsight Systems: by its own name too" "'CUPTI for Nsight Systems'" "$(said nsight130001)"
else
    leaves_out "the name of Nsight Systems"
fi

# ---- a second copy of the library ------------------------------------------------------------
mv second.so libminiprof_copy.so
copy=(load="$work/libminiprof_copy.so" call=InitializeInjection)
bare copy.bare -- "$steps" init alpha=2 sync
profile copy -- "$steps" init "${copy[@]}" alpha=2 sync
unharmed "a second copy" copy copy.bare 0
one_line "a second copy" copy 'another CUPTI client.*another copy of miniprof .*nothing is recorded'
same "a second copy: the first records" "alpha 2" "$(kernels copy)"
complete "a second copy" copy
profile copy18 SIMGPU_CUPTI_VERSION=18 -- "$steps" init "${copy[@]}" alpha=2 sync
one_line "a second copy, CUDA 11.8" copy18 'another copy of miniprof'
same "a second copy, CUDA 11.8: the first records" "alpha 2" "$(kernels copy18)"
profile twice -- "$steps" load="$lib" call=InitializeInjection init call=InitializeInjection \
    alpha=2 sync
same "the same copy, called again" "0 alpha 2" "$status $(kernels twice)"
same "the same copy, called again: nothing to say" "" "$(said twice)"

# ---- NVTX ------------------------------------------------------------------------------------
ranges=("$steps" init push=outer alpha=1 pop sync)
bare nvtx.bare -- "${ranges[@]}"
profile nvtx_other NVTX_INJECTION64_PATH="$build/simgpu/libcupti.so" -- "${ranges[@]}"
unharmed "another tool for NVTX" nvtx_other nvtx.bare 0
one_line "another tool for NVTX" nvtx_other \
    "NVTX_INJECTION64_PATH='.*libcupti.so' is left as it is: NVTX is not recorded"
same "another tool for NVTX: kernels are" "alpha 1 0" \
    "$(kernels nvtx_other) $(count nvtx_other nvtx)"
profile nvtx_none MINIPROF_NVTX=off NVTX_INJECTION64_PATH="$build/simgpu/libcupti.so" -- \
    "${ranges[@]}"
same "another tool for NVTX, which is not wanted: nothing to say" "" "$(said nvtx_none)"
profile nvtx_copy NVTX_INJECTION64_PATH="$work/libminiprof_copy.so" -- "${ranges[@]}"
unharmed "a second copy for NVTX" nvtx_copy nvtx.bare 0
one_line "a second copy for NVTX" nvtx_copy "NVTX_INJECTION64_PATH='.*copy.so' is left as it is"
ln -s "$lib" link.so
profile nvtx_link NVTX_INJECTION64_PATH="$work/link.so" -- "${ranges[@]}"
same "our own path by another name: recorded, nothing to say" "2 " \
    "$(count nvtx_link nvtx) $(said nvtx_link)"
finish
