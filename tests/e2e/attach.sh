#!/bin/bash
# When CUPTI comes into the process: MINIPROF_ATTACH, `miniprof run` and libminiprof_preload.so.
. "$SOURCE/tests/e2e/lib.sh" || exit 1

preload=$build/libminiprof_preload.so
if [ ! -e "$preload" ]; then
    echo "no stubs for this processor"
    exit 77
fi
# AddressSanitizer ends programs in which another library is first: `miniprof run` leaves ours out.
sanitized=
ldd "$steps" | grep -q libasan && sanitized=yes

# attach NAME [VAR=VALUE...] -- OPTION... -- PROGRAM...: through `miniprof run`; both outputs in
# $work/NAME.all, in the order in which they came.
attach() {
    local name=$1
    local -a settings command
    shift
    split "$@"
    env SIMGPU_TELL_CUPTI=1 "${settings[@]}" "$miniprof" run --no-summary -o "$work/$name.mpt" \
        "${command[@]}" >"$work/$name.all" 2>&1 </dev/null
    status=$?
}

# order NAME: what the program printed and when CUPTI came, on one line.
order() {
    echo $(sed -n 's/^simgpu: CUPTI is there$/CUPTI/p; /^[a-z]*$/p' "$work/$1.all")
}

infos() {
    echo $(rows "$1" context_info | wc -l) $(rows "$1" stream_info | wc -l) \
        $(rows "$1" device | wc -l)
}

# ---- the calls that are noticed --------------------------------------------------------------
if [ -z "$sanitized" ]; then
    reach=$build/tests/e2e/reach
    if plays cuGetProcAddress_v2; then
        "$reach" >reach.bare
        LD_PRELOAD=$preload "$reach" >reach.out
        same "without the library: nothing is noticed" "21 0" \
            "$(grep -c ' - ' reach.bare) $(grep -vc ' - ' reach.bare)"
        same "with it: the same results" "$(awk '{ print $1, $3 }' reach.bare)" \
            "$(awk '{ print $1, $3 }' reach.out)"
        same "each way, once" "linked 1 dlsym 1 default 1 linked-ask 1 runtime 1 runtime-11 1 \
linked-graph 10 dlsym-graph 10 bad-argument 10 linked-capture 10 dlsym-capture 10" \
            "$(echo $(awk '$2 { print $1, $2 }' reach.out))"
    else
        leaves_out "each way to a function"
    fi
    for first in "$build/tests/e2e/next_malloc.so:$preload" \
        "$preload:$build/tests/e2e/next_malloc.so"; do
        same "RTLD_NEXT means the caller's next" "malloc is there nothing after itself" \
            "$(LD_PRELOAD=$first "$build/tests/e2e/steps" \
                load="$build/tests/e2e/next_malloc.so" call=next_malloc_tell)"
    done
    same "programs without CUDA" "$(printf '1\n%s' "$(make --version 2>&1)")" \
        "$(LD_PRELOAD=$preload python3 -c 'import ctypes, ssl; print(1)'
           LD_PRELOAD=$preload make --version 2>&1)"
    # As an extension of Python is loaded: the driver is not in the program's global scope.
    plugin=("$build/tests/e2e/host" 1 "$build/tests/e2e/host_user.so")
    "${plugin[@]}" >plugin.bare
    LD_PRELOAD=$preload "${plugin[@]}" >plugin.alone
    attach plugin -- --waits on -- "${plugin[@]}"
    same "a plug-in that alone is linked to the driver: its calls work" "6 1" \
        "$(grep -c ': 0' plugin.bare) $(grep -c 'ran 11' plugin.bare)"
    check "a plug-in: the same with the library" cmp plugin.bare plugin.alone
    same "a plug-in: the same while it is recorded" "$(cat plugin.bare)" \
        "$(grep -v -e ^miniprof: -e ^simgpu: plugin.all)"
    same "a plug-in: its host functions" 2 "$(count plugin host_function)"
    names='import ctypes, sys
for path in sys.argv[1:]: ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
print(*(hasattr(ctypes.CDLL(None), name)
        for name in ("cuGraphCreate", "cuGetProcAddress", "cuLaunchHostFunc")))'
    same "dlsym in a program without CUDA: nothing of the driver" "False False False" \
        "$(LD_PRELOAD=$preload python3 -c "$names")"
    # A program without ThreadSanitizer has no room in its static TLS for that of the driver.
    [[ ${SAN:-} == *thread* ]] ||
        same "dlsym in a program with the driver: what that has" \
            "$(python3 -c "$names" libcuda.so.1)" \
            "$(LD_PRELOAD=$preload python3 -c "$names" libcuda.so.1)"
    same "what it exports of its own" "InitializeInjectionNvtx
InitializeInjectionNvtx2
InitializeInjectionNvtxExtension
miniprof_preload" "$(nm -D --defined-only "$preload" |
        awk '$3 !~ /^cu/ { print $3 }' | sort | comm -23 - <(nm -D --defined-only \
            "$(ldd "$preload" | awk '/libc.so/ { print $3 }')" | awk '{ sub("@.*", "", $3)
            print $3 }' | sort -u))"
    same "what it exports of the driver's" 60 "$(nm -D --defined-only "$preload" | grep -c ' T cu')"
    same "what it needs" "libc.so.6" \
        "$(readelf -d "$preload" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -v '^ld-linux')"
fi

# ---- when ------------------------------------------------------------------------------------
program=(init alpha=3 print=before start beta=4 print=inside stop alpha=2 sync start gamma=5 stop
    sync print=after)
graphed=(init stream=1 alpha=1 print=before capture alpha=1 beta=1 end-capture=0 print=made
    instantiate=0 launch=0 sync print=launched start launch=0 sync stop print=after)
late="before CUPTI inside after"
made="before CUPTI made launched after"
strict="before made launched CUPTI after"
if [ -n "$sanitized" ]; then
    late="CUPTI before inside after" made="CUPTI before made launched after" strict=$made
fi

attach init -- --attach init --capture range -- "$steps" "${program[@]}"
same "init: from the start" "CUPTI before inside after" "$(order init)"
for when in graph range; do
    attach "$when" -- --attach "$when" --capture range -- "$steps" "${program[@]}"
    same "$when: with the first range" "0 $late" "$status $(order "$when")"
    same "$when: kernels" "beta 4 gamma 5" "$(kernels "$when")"
    same "$when: the same calls as init" "$(tally init call function)" \
        "$(tally "$when" call function)"
    same "$when: contexts, streams, devices as init" "1 2 1 $(infos init)" \
        "1 2 1 $(infos "$when")"
    complete "$when" "$when"
done
attach preset -- --capture range -- "$steps" "${program[@]}"
same "miniprof run's default waits" "$late" "$(order preset)"
attach whole -- --waits off -- bash -c 'echo "${LD_PRELOAD-none}"; exec "$0" "$@"' "$steps" \
    "${program[@]}"
same "nothing to notice: no preload, from the start" "none CUPTI before inside after" \
    "$(order whole)"
attach asked -- --capture range --attach init --waits off -- bash -c 'echo "${LD_PRELOAD-none}"'
same "--attach init, no waits: no preload" none "$(cat asked.all | head -n 1)"

for when in graph range; do
    attach "made_$when" -- --attach "$when" --capture range -- "$steps" "${graphed[@]}"
done
attach made_init -- --attach init --capture range -- "$steps" "${graphed[@]}"
same "graph: with the first capture" "$made" "$(order made_graph)"
same "graph: edges as with init" "$(rows made_init edge)" "$(rows made_graph edge)"
same "graph: nodes" "alpha 1 beta 1" "$(kernels made_graph)"
same "range: with the range" "$strict" "$(order made_range)"
same "range: nodes" "alpha 1 beta 1" "$(kernels made_range)"
[ -n "$sanitized" ] ||
    same "range: edges of graphs made before are unknown" 0 "$(count made_range edge)"

# ---- other capture modes ---------------------------------------------------------------------
marked=(init alpha=3 print=before push=step beta=4 print=inside pop alpha=2 sync print=after)
for when in graph range; do
    attach "nvtx_$when" -- --attach "$when" --capture nvtx:step -- "$steps" "${marked[@]}"
    [ $when = range ] && late="before CUPTI inside after" # needs no preload
    same "nvtx, $when" "$late beta 4" "$(order "nvtx_$when") $(kernels "nvtx_$when")"
done
profile nvtx_bare MINIPROF_ATTACH=range MINIPROF_CAPTURE=nvtx:step SIMGPU_TELL_CUPTI=1 -- \
    "$steps" "${marked[@]}"
same "nvtx needs no preload" "0 beta 4" "$(said nvtx_bare | wc -l) $(kernels nvtx_bare)"
attach early -- --attach range --capture nvtx:step -- "$steps" push=step init alpha=2 pop sync
same "a range that begins before CUDA does" "alpha 2 1 0 1" "$(kernels early) $(infos early)"
attach steps_of -- --attach range --schedule skip=1,wait=1,active=1 -- "$steps" init print=a \
    start alpha=1 stop print=b start alpha=2 stop print=c start alpha=4 stop sync
same "a schedule" "alpha 4" "$(kernels steps_of)"
start trigger MINIPROF_ATTACH=range MINIPROF_CAPTURE=off SIMGPU_TELL_CUPTI=1 -- "$steps" init \
    alpha=3 sync print=ready await="$work/go" beta=4 sync print=done await="$work/end" alpha=1 sync
await grep -q ready trigger.out
same "off: nothing before the trigger" 0 "$(grep -c CUPTI trigger.err)"
"$miniprof" ctl "$pid" start >ctl.out 2>&1
touch go
await grep -q 'done' trigger.out
"$miniprof" ctl "$pid" stop >>ctl.out 2>&1
touch end
wait "$pid"
same "off: from the trigger on" "0 1 beta 4" \
    "$? $(grep -c 'CUPTI is there' trigger.err) $(kernels trigger)"

# ---- what stands in the way ------------------------------------------------------------------
profile alone MINIPROF_ATTACH=graph MINIPROF_CAPTURE=range -- "$steps" "${program[@]}"
like "no library: said" '^miniprof: MINIPROF_ATTACH=graph needs `miniprof run`, or .*_preload.so' \
    "$(said alone)"
same "no library: from the start" "beta 4 gamma 5" "$(kernels alone)"
attach level -- --cuda-graph graph --capture range -- "$steps" "${graphed[@]}"
same "graph level: from the start" "0 CUPTI before made launched after 1" \
    "$status $(order level) $(count level graph)"
attach never -- --attach range --capture range -- "$steps" init alpha=3 sync print=done
if [ -z "$sanitized" ]; then
    same "no range: never, no file, one line" \
        "0 done miniprof: no capture range began: nothing was recorded" \
        "$status $(order never) $(grep '^miniprof: ' never.all)"
    check "no range: no file" test ! -e never.mpt
    attach refused SIMGPU_CUPTI_SUBSCRIBE_ERROR=39 -- --attach range --capture range -- "$steps" \
        "${program[@]}"
    same "another client: one line, the program unharmed" "0 1 before inside after" \
        "$status $(grep -c 'nothing is recorded$' refused.all) $(order refused)"
fi
mkdir "a b"
cp "$lib" "$preload" "a b/"
attach spaces -- --library "a b/libminiprof.so" --attach range --capture range -- "$steps" \
    "${program[@]}"
same "a path that LD_PRELOAD cannot hold: recorded all the same" "0 beta 4 gamma 5" \
    "$status $(kernels spaces)"
mkdir alone
cp "$lib" alone/
attach missing -- --library alone/libminiprof.so --capture range -- "$steps" "${program[@]}"
same "no preload beside the library: recorded all the same" "0 beta 4 gamma 5" \
    "$status $(kernels missing)"
if [ -z "$sanitized" ]; then
    attach kept LD_PRELOAD="$build/tests/e2e/next_malloc.so" -- --capture range -- "$steps" \
        load="$build/tests/e2e/next_malloc.so" call=next_malloc_tell "${program[@]}"
    like "LD_PRELOAD keeps what it had" "nothing after itself" "$(cat kept.all)"
    same "LD_PRELOAD keeps what it had: recorded" "beta 4 gamma 5" "$(kernels kept)"
    if echo 'int main(void) { return 0; }' | ${CC:-cc} -fsanitize=address -x c - -o asan \
        2>/dev/null; then
        attach asan -- --capture range -- ./asan
        same "a program with AddressSanitizer runs" 0 "$status"
    fi
fi
attach bad -- --attach sometime -- "$steps" init
same "a bad value" "1 2" "$(grep -c 'init, graph or range' bad.all) $status"

# ---- processes and threads -------------------------------------------------------------------
"$miniprof" run --no-summary -o "family.%p.mpt" --capture range -- "$steps" \
    fork-exec=init,start,beta=2,sync,stop init start alpha=3 sync stop >family.all 2>&1
same "a child has it too" "alpha 3 beta 2" "$(echo $(for file in family.*.mpt; do
    cp "$file" child.mpt; kernels child; done | sort))"
attach crowd -- --attach graph --capture range -- "$steps" init \
    begin-thread=stream=1,capture,alpha=1,end-capture=0 join-thread stream=2 capture alpha=1 \
    end-capture=1 start beta=7 stop sync
same "captures in two threads" "0 beta 7" "$status $(kernels crowd)"
# The end of a range asks the driver whether the GPU is idle; so does a late attaching.
captured=(end-capture=0 instantiate=0 launch=0 sync)
for when in init graph range; do
    attach "ends_$when" -- --attach $when --capture range -- "$steps" init stream=1 alpha=1 sync \
        start capture-strictly beta=2 stop "${captured[@]}" start launch=0 sync stop
    same "$when: a range that ends in a capture leaves it whole" "0 beta 2" \
        "$status $(kernels "ends_$when")"
    attach "begins_$when" -- --attach $when --capture range -- "$steps" init stream=1 alpha=1 \
        sync capture-strictly beta=2 start gamma=1 "${captured[@]}" stop
    same "$when: so does one that begins in it" "0 beta 2 gamma 1" \
        "$status $(kernels "begins_$when")"
done
"$miniprof" nvprof --profile-from-start off "$steps" "${program[@]}" >prof.out 2>prof.err
same "nvprof --profile-from-start off" "0 1" "$? $(grep -cE ' 4 .* beta$' prof.err)"
finish
