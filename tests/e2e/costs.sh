#!/bin/bash
# Costs that hide in calls: graphs made in the loop, pools that give their memory back, memory that
# is mapped, modules that are loaded. `advise` finds each first, and not in the program without it.
. "$SOURCE/tests/e2e/lib.sh" || exit 1
costs=$build/tests/e2e/costs
export SIMGPU_POOL_NS=500000 SIMGPU_JIT=3000000

# findings NAME: "rule certainty gain" of each, in their order. The gain is of an iteration, in ns.
findings() {
    "$miniprof" advise --csv --iterations it "$work/$1.mpt" |
        sed -E '1d;s/"([^"]*)",("[^"]*"),([0-9]+),[^"]*"[^"]*","([a-z]+)",.*/\1 \4 \3/'
}

# number NAME RULE KEY: of its evidence, in whole numbers.
number() {
    "$miniprof" advise --json --iterations it "$work/$1.mpt" | python3 -c '
import json, sys
found = [f for f in json.load(sys.stdin)["findings"] if f["rule"] == sys.argv[1]]
print(int(found[0]["numbers"][sys.argv[2]] + 0.5) if found else "no finding")' "$2" "$3"
}

# planted FAULT RULE CERTAINTY: it is the first estimate, or bound, of the program with the fault,
# and no finding of the program without it.
planted() {
    profile "$1" -- "$costs" "$1"
    same "$1: exit code" 0 "$status"
    same "$1: the first $3" "$2" \
        "$(findings "$1" | awk -v c="$3" '$2 == c { print $1; exit }')"
    profile "$1.mended" -- "$costs" "$1" mended
    same "$1: mended, no finding" "" "$(findings "$1.mended" | grep "^$2 ")"
}

# comes_true FAULT RULE: what its gain leaves of an iteration is what the program without the fault
# takes, within 2 %, each without recording.
comes_true() {
    check "$1: the gain comes true" python3 -c '
import json, subprocess, sys

def advice(name):
    return json.loads(subprocess.run([sys.argv[1], "advise", "--json", "--iterations", "it", name],
                                     capture_output=True, check=True).stdout)

found, mended = advice(sys.argv[2] + ".mpt"), advice(sys.argv[2] + ".mended.mpt")
gain = next(f["gain_ns"] for f in found["findings"] if f["rule"] == sys.argv[3])
left, truth = found["basis_p50_ns"] - gain, mended["basis_p50_ns"]
print(f"{left} ns are left, {truth} ns without the fault")
sys.exit(not 0.98 * truth <= left <= 1.02 * truth)' "$miniprof" "$1" "$2"
}

# calls NAME FUNCTION...: how many of each, on one line.
calls() {
    local name=$1 function
    shift
    for function; do
        count "$name" call ",$function"
    done | xargs
}

# on_path NAME FUNCTION...: how many of them have time on the critical path.
on_path() {
    local name=$1 function
    shift
    for function; do
        "$miniprof" deps --csv "$name.mpt" |
            awk -F, -v f="\"$function\"" '$NF == f && $2 > 0 { print }'
    done | wc -l
}

# ---- Graphs: 24 iterations; instantiating takes 40 us, a launch 2.5 us -------------------------
planted graph graph_instantiation estimate
same "graph: calls are recorded by name" "24 24 24 24 24 192" "$(calls graph cuStreamBeginCapture \
    cuStreamEndCapture cuGraphInstantiate cuGraphDestroy cuGraphExecDestroy cuLaunchKernel)"
same "graph: an iteration instantiates one and captures eight launches" "1 10 64580" \
    "$(number graph graph_instantiation instantiated) \
$(number graph graph_instantiation captured_calls) $(number graph graph_instantiation calls_ns)"
comes_true graph graph_instantiation
same "graph: they are on the path" 5 "$(on_path graph cuStreamBeginCapture cuStreamEndCapture \
    cuGraphInstantiateWithFlags cuGraphDestroy cuGraphExecDestroy)"
same "graph: nobody is told to make graphs" "" "$(findings graph | grep '^launch_bound ')"
if plays cuGraphExecUpdate_v2; then
    planted update graph_instantiation bound
    same "update: an iteration updates one" "0 1" \
        "$(number update graph_instantiation instantiated) \
$(number update graph_instantiation updated)"
    comes_true update graph_instantiation
    same "update: it is on the path" 1 "$(on_path update cuGraphExecUpdate)"
else
    leaves_out "updates of executable graphs"
fi

# ---- Pools: to grow takes 500 us, in a call of 300 ns; to give back too --------------------------
planted pool pool_release estimate
same "pool: an iteration gives memory back, and 23 of 24 take it again" "1 500000 479454" \
    "$(number pool pool_release releases) $(number pool pool_release releases_ns) \
$(number pool pool_release allocations_ns)"
same "pool: the gain is what both take" "979" \
    "$(($(findings pool | sed -n 's/^pool_release estimate //p') / 1000))"
same "pool: the wait that gives memory back is not needless" "" \
    "$(findings pool | grep '^needless_wait ')"

# ---- Virtual memory: 190.2 us of calls ---------------------------------------------------------
planted map allocation estimate
same "map: calls are recorded by name" "24 24 24 24 24 24 24" "$(calls map cuMemAddressReserve \
    cuMemCreate cuMemMap cuMemSetAccess cuMemUnmap cuMemRelease cuMemAddressFree)"
same "map: an iteration makes 7 calls" "7 190200 190200" "$(number map allocation calls) \
$(number map allocation calls_ns) $(number map allocation mapping_ns)"
comes_true map allocation
same "map: they are on the path" 7 "$(on_path map cuMemAddressReserve cuMemCreate cuMemMap \
    cuMemSetAccess cuMemUnmap cuMemRelease cuMemAddressFree)"
like "map: memory is mapped" 'Memory is mapped inside the loop' "$("$miniprof" advise map.mpt)"

# ---- Modules: two iterations load one, 80 us and 3 ms of compiling -----------------------------
planted load code_loading estimate
same "load: 2 of the 23 iterations after the first" "2 267826 260870" \
    "$(number load code_loading iterations) $(number load code_loading loading_ns) \
$(number load code_loading compiling_ns)"
planted lock blocked_calls estimate
like "lock: three launches wait for the module" 'cuLaunchKernel.*100.0 % .*cuModuleLoadData' \
    "$("$miniprof" advise --iterations it lock.mpt | tr '\n' ' ')"
same "lock: 3.08 ms less 2.5 us in 3 of 23 iterations" "401" \
    "$(($(number lock blocked_calls blocked_ns) / 1000))"
same "load: it is on the path" 1 "$(on_path load cuModuleLoadData)"
like "lock: a note says how much of the path late launches are" '9.2[0-9]*ms of the launch' \
    "$("$miniprof" deps lock.mpt)"
finish
