#!/bin/bash
# Other CUPTI clients that were there before CUPTI is attached, which is when a range begins.
. "$SOURCE/tests/e2e/lib.sh" || exit 1

preload=$build/libminiprof_preload.so
if [ ! -e "$preload" ]; then
    echo "no stubs for this processor"
    exit 77
fi
if ldd "$steps" | grep -q libasan; then
    echo "\`miniprof run\` leaves our library out beside AddressSanitizer"
    exit 77
fi
export SIMGPU_CUPTI_VERSION=130001 # one that says when Kineto is through, whatever the headers are

mkdir torch xla nsys
cp "$build/tests/e2e/kineto.so" torch/libtorch_cpu.so
cp "$build/tests/e2e/kineto.so" xla/xla_cuda_plugin.so
cp "$build/tests/e2e/kineto.so" nsys/libToolsInjection64.so
kineto=(load="$work/torch/libtorch_cpu.so")
xla=(load="$work/xla/xla_cuda_plugin.so")

# late NAME [VAR=VALUE...] -- STEP...: without the recorder as NAME.bare, and by `miniprof run`.
late() {
    local name=$1
    local -a settings command
    shift
    split "$@"
    bare "$name.bare" "${settings[@]}" -- "$steps" "${command[@]}"
    bare "$name" "${settings[@]}" -- "$miniprof" run --no-summary -o "$work/$name.mpt" \
        --attach range "${options[@]}" -- "$steps" "${command[@]}"
    unharmed_but_for_stdout "$name" "$name" "$name.bare" 0
    [ "${disturbed:-}" ] ||
        check "$name: stdout as without miniprof" cmp "$name.bare.out" "$name.out"
}
options=(--capture range)


lost() {
    counter "$1" dropped_taken_over
}

# one_line WHAT NAME PATTERN: it said that line, and no other but the closing one.
one_line() {
    same "$1: one line" 1 "$(said "$2" | wc -l)"
    like "$1: what it says" "^miniprof: .*$3" "$(said "$2")"
}

attached='another CUPTI client is attached, probably'
torch="$attached torch.profiler .*libtorch_cpu.so.*"
without='kernels, copies and calls are recorded, but no synchronisation, stacks or edges of graphs'
finished=(call=kineto_subscribe call=kineto_start beta=4 sync call=kineto_stop)

# ---- torch.profiler, which stays CUPTI's subscriber ------------------------------------------
late idle -- "${kineto[@]}" init "${finished[@]}" alpha=1 sync start alpha=3 sync stop alpha=1 \
    sync start alpha=2 stop call=kineto_start beta=2 sync call=kineto_stop call=kineto_report
one_line "ranges after a session" idle "$torch: $without"
same "ranges after a session: they are whole" "alpha 5 0 1" \
    "$(kernels idle) $(lost idle) $(counter idle callbacks_taken)"
same "ranges after a session: its calls" "cuCtxSynchronize 1 cuLaunchKernel 5" \
    "$(tally idle call function | paste -sd' ')"
same "ranges after a session: each kernel has its launch" "" \
    "$(comm -13 <(column idle call correlation | sort) <(column idle kernel correlation | sort))"
same "ranges after a session: the sessions have their kernels" "kineto: 6 kernels" \
    "$(cat idle.out)"
complete "ranges after a session" idle
for command in info summary deps report; do
    like "ranges after a session: $command says what is missing" \
        "Note: Another profiler had CUPTI's callbacks" \
        "$("$miniprof" $command idle.mpt 2>&1 | tr -s '\n ' ' ')"
done
like "ranges after a session: JSON counts it" '"callbacks_taken": *1' \
    "$("$miniprof" summary --json idle.mpt)"

late empty -- "${kineto[@]}" init call=kineto_subscribe start alpha=3 sync stop call=kineto_start \
    call=kineto_stop start alpha=2 stop call=kineto_report
same "an empty session between ranges: they are whole" "alpha 5 0" "$(kernels empty) $(lost empty)"

quick=()
for ((i = 0; i < 20; i++)); do
    quick+=(start alpha=1 sync stop beta=1 sync)
done
late quick -- "${kineto[@]}" init "${finished[@]}" "${quick[@]}" call=kineto_report
same "quick ranges: nothing of between them" "alpha 20 0 20" \
    "$(kernels quick) $(lost quick) $(($(count quick capture) / 2))"

late silent MINIPROF_TEST_TIME_DIVISOR=10 -- "${kineto[@]}" init "${finished[@]}" start alpha=1 \
    sync sleep=350 alpha=1 sync stop call=kineto_report
same "a range of nothing but waiting: nobody has taken CUPTI" "alpha 2 0 1" \
    "$(kernels silent) $(lost silent) $(said silent | wc -l)"

# Nobody tells that a stream is being captured. An event in its context would end the capture.
late captured -- "${kineto[@]}" init "${finished[@]}" stream=1 start alpha=1 sync \
    capture-strictly alpha=2 stop end-capture=0 instantiate=0 start launch=0 sync stop \
    call=kineto_report
same "a range that ends within a capture" "alpha 3 0" "$(kernels captured) $(lost captured)"

options=(--capture nvtx:step)
late nvtx -- "${kineto[@]}" init "${finished[@]}" push=step alpha=3 sync pop beta=1 sync \
    push=step alpha=2 pop sync call=kineto_report
same "ranges of NVTX" "alpha 5 0" "$(kernels nvtx) $(lost nvtx)"
options=(--capture range)

# CUPTI goes on with the buffer of ours that is open, and gives it to the session in the end, which
# throws it away. What is in it is found by us once the session is over.
disturbed=yes
late inside -- "${kineto[@]}" init "${finished[@]}" start alpha=3 sync call=kineto_start beta=2 \
    sync call=kineto_stop stop start alpha=2 stop call=kineto_report
same "a session inside of a range: what it misses is here" "kineto: 4 kernels, alpha 5 beta 2" \
    "$(cat inside.out), $(kernels inside)"
same "a session inside of a range: a loss is counted, once" 1 "$(lost inside)"
like "a session inside of a range: it is said" \
    'another CUPTI client, probably torch.profiler .* has taken CUPTI over' "$(said inside)"

late lasting -- "${kineto[@]}" init "${finished[@]}" start alpha=3 sync call=kineto_start beta=2 \
    sync stop beta=2 sync call=kineto_stop start alpha=2 stop call=kineto_report
same "a session beyond a range's end: it has what runs then" "kineto: 6 kernels, alpha 5 beta 2" \
    "$(cat lasting.out), $(kernels lasting)"
same "a session beyond a range's end: a loss is counted, once" 1 "$(lost lasting)"

late noticed MINIPROF_TEST_TIME_DIVISOR=10 -- "${kineto[@]}" init "${finished[@]}" start alpha=3 \
    sync written looked call=kineto_start beta=2 sync said="has taken CUPTI over" beta=1 sync \
    call=kineto_stop written alpha=2 sync stop call=kineto_report
same "a session inside of a range, for long: noticed, and recorded again after it" \
    "alpha 5 1 1" "$(kernels noticed | sed 's/ beta [0-9]*//') $(lost noticed) \
$(said noticed | grep -c 'has taken CUPTI over')"

late within -- "${kineto[@]}" init call=kineto_subscribe call=kineto_start beta=4 sync start \
    alpha=3 sync stop call=kineto_stop
same "a range within a session: is whole" "alpha 3 0" "$(kernels within) $(lost within)"
like "a range within a session: its loss is said" "a session of another CUPTI client, probably \
torch.profiler .* was under way" "$(said within)"
disturbed=

# The callbacks of CUPTI are all that tells of cuProfilerStart.
profile variable MINIPROF_CAPTURE=range -- "$steps" "${kineto[@]}" call=kineto_subscribe init \
    start alpha=2 stop
one_line "without the preloaded library" variable "$torch.run without it.: nothing is recorded"

# NVTX tells of its ranges by itself, also where CUPTI is there from the start.
profile variable_nvtx MINIPROF_CAPTURE=nvtx:step -- "$steps" "${kineto[@]}" \
    call=kineto_subscribe init alpha=1 sync push=step alpha=3 sync pop call=kineto_start beta=2 \
    sync call=kineto_stop push=step alpha=2 sync pop call=kineto_report
same "with CUDA, ranges of NVTX" "0 alpha 5 0, kineto: 2 kernels" \
    "$status $(kernels variable_nvtx) $(lost variable_nvtx), $(cat variable_nvtx.out)"
one_line "with CUDA, ranges of NVTX" variable_nvtx "$torch: $without"

# ---- clients that leave, and others ----------------------------------------------------------
late xla -- "${xla[@]}" init call=xla_start beta=4 sync call=xla_stop start alpha=3 sync stop \
    call=kineto_report
same "a session that frees CUPTI: nothing to say" "" "$(said xla)"
same "a session that frees CUPTI: the range after it is whole" "alpha 3 0 1" \
    "$(kernels xla) $(lost xla) $(count xla sync)"
late xla_within -- "${xla[@]}" init call=xla_start beta=4 sync start alpha=3 sync stop start stop \
    call=xla_stop start alpha=2 stop call=kineto_report
one_line "ranges within it" xla_within "$attached jax.profiler .*xla_cuda_plugin.so.*end its \
session before the range.: nothing is recorded"
same "ranges within it: it has its kernels" "kineto: 7 kernels" "$(cat xla_within.out)"
same "ranges within it: the range after it is whole" "alpha 2" "$(kernels xla_within)"

late nsight -- load="$work/nsys/libToolsInjection64.so" init call=nsight_attach start alpha=3 sync \
    stop start alpha=2 sync stop call=kineto_stop call=kineto_report
like "Nsight Systems: one line" 'another CUPTI client .* Nsight Systems .*nothing is recorded$' \
    "$(said nsight | head -n 1)"
same "Nsight Systems: it has its kernels" "kineto: 5 kernels" "$(cat nsight.out)"

# ---- CUPTI's version 2 -----------------------------------------------------------------------
excludes="by CUPTI's version 2, which excludes ours"
# second LIBRARY PATTERN: what is said where that library's client has CUPTI.
second() {
    late second SIMGPU_CUPTI_VERSION=130300 SIMGPU_CUPTI_V2=Somebody -- load="$1" init start \
        alpha=1 stop
    like "version 2, $(basename "$1")" "attached: 'CUPTI for Somebody', probably .*, \
$excludes .$2.: nothing is recorded" "$(said second)"
    check "version 2: no trace" [ ! -e second.mpt ]
}
if plays cuptiSubscribe_v2; then
    second "$work/torch/libtorch_cpu.so" 'use torch.profiler without CuspyConfig'
    second "$work/xla/xla_cuda_plugin.so" \
        'set XLA_FLAGS=--xla_gpu_enable_cupti_multi_subscriber=false'
else
    leaves_out "CUPTI's version 2"
fi
finish
