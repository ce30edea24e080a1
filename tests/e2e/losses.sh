#!/bin/bash
# Takes 10 s.
# What is lost is counted for each capture range, also records that CUPTI loses without counting
# them, and --range says whether its range is whole. Many ranges in quick succession lose nothing.
. "$SOURCE/tests/e2e/lib.sh" || exit 1

# truth NAME: "RANGE MISSING" of each capture range that lacks kernels, from the rows alone:
# launches and kernels by correlation id, ranges by the ids of their begins and ends.
truth() {
    "$miniprof" dump --json "$1.mpt" 2>/dev/null | python3 -c '
import json, sys
launched, ran, begins, ends = set(), set(), {}, {}
for line in sys.stdin:
    row = json.loads(line)
    if row["table"] == "call" and "LaunchKernel" in row["function"] and not row["result"]:
        launched.add(row["correlation"])
    elif row["table"] == "kernel":
        ran.add(row["correlation"])
    elif row["table"] == "capture":
        (begins if row["kind"] == "begin" else ends)[row["range"]] = row["correlation"]
for number, begin in sorted(begins.items()):
    missing = sum(begin < at < ends.get(number, 1 << 64) for at in launched - ran)
    if missing:
        print(number, missing)'
}

# said_by_info NAME: the same, by miniprof info
said_by_info() {
    "$miniprof" info --json "$1.mpt" | python3 -c '
import json, sys
for row in json.load(sys.stdin)["ranges"]:
    if "unanswered_launches" in row:
        print(row["range"], row["unanswered_launches"])'
}

first_line() { # NAME [OPTION...]
    "$miniprof" summary "${@:2}" "$1.mpt" 2>&1 | head -n 1
}

# ---- Lost without a word ----------------------------------------------------------------------
three=(init start alpha=10 stop gamma=6 sync start beta=4 stop start alpha=7 beta=6 stop sync)
for mode in auto range pause; do
    bare three.bare -- "$steps" "${three[@]}"
    profile "three_$mode" MINIPROF_CAPTURE=$mode SIMGPU_LOSE_KERNELS=8 -- "$steps" "${three[@]}"
    unharmed "$mode" "three_$mode" three.bare 0
    same "$mode: what is missing, by capture range" "$(truth "three_$mode")" \
        "$(said_by_info "three_$mode")"
    check "$mode: something is" [ -n "$(truth "three_$mode")" ]
    lost=$(truth "three_$mode" | awk '{ sum += $2 } END { print sum }')
    like "$mode: the first line of a report" \
        "Warning: $lost launched kernels? ha(s|ve) no record; .*capture range" \
        "$(first_line "three_$mode")"
done
same "auto: every eighth kernel that CUPTI recorded" "1 1
3 2" "$(truth three_auto)"
like "--range 1: one is missing" "Warning: 1 kernel launched in this capture range has no record" \
    "$(first_line three_auto --range 1)"
like "--range 3: two are" "Warning: 2 kernels launched in this capture range have no record" \
    "$(first_line three_auto --range 3)"
like "--range 2 is whole, and says nothing" "Profiling application" \
    "$(first_line three_auto --range 2)"
for range in 1 2 3; do
    for command in summary kernels deps nvtx overlap memory gpu-trace; do
        "$miniprof" $command --range $range three_auto.mpt >/dev/null 2>&1
        same "$command --range $range: exit code" "$((range != 2))" $?
    done
done
profile whole -- "$steps" "${three[@]}"
same "nothing is lost: nothing is said" "" "$(truth whole)$(said_by_info whole)$(
    rows whole loss)"
profile late SIMGPU_LATE_MS=3000 -- "$steps" init start alpha=5 stop start alpha=5 stop \
    pass=9000000 beta=1 sync written
same "records that come late are there" "" "$(truth late)$(said_by_info late)"

# ---- What has no kernel is not missing ----------------------------------------------------------
profile silent MINIPROF_CAPTURE=range -- "$steps" init stream=1 start capture alpha=3 \
    end-capture=0 instantiate=0 launch=0 copy-in=1 set=1 alpha=1 sync stop
same "launches into a capture, copies, sets and graphs" "" "$(said_by_info silent)"
profile no_gpu MINIPROF_GPU=off -- "$steps" "${three[@]}"
same "MINIPROF_GPU=off" "" "$(said_by_info no_gpu)"
profile no_calls MINIPROF_API=none SIMGPU_LOSE_KERNELS=8 -- "$steps" "${three[@]}"
same "without calls nobody knows" "" "$(said_by_info no_calls)"
profile wrap SIMGPU_CORRELATION=4294967290 SIMGPU_LOSE_KERNELS=8 -- "$steps" "${three[@]}"
same "ids that run over" "1 1
3 2" "$(said_by_info wrap)"

# ---- A thousand ranges in quick succession ------------------------------------------------------
program=(init)
for ((i = 0; i < 1000; i++)); do program+=(start alpha=2 stop beta=1); done
program+=(sync)
for mode in auto range; do
    profile "many_$mode" MINIPROF_CAPTURE=$mode -- "$steps" "${program[@]}"
    complete "$mode, 1,000 ranges" "many_$mode"
    same "$mode, 1,000 ranges: two kernels each, none of those between" \
        "alpha 2000 1000" "$(kernels "many_$mode") $(rows "many_$mode" capture | grep -c end)"
    same "$mode, 1,000 ranges: no buffer was short" "" "$(counter "many_$mode" buffers_exhausted |
        grep -vx 0)"
done
profile many_lost MINIPROF_CAPTURE=range SIMGPU_LOSE_KERNELS=5 -- "$steps" "${program[@]}"
same "1,000 ranges, every fifth kernel lost: each range says so" "$(truth many_lost)" \
    "$(said_by_info many_lost)"
profile linger MINIPROF_CAPTURE=range -- "$steps" "${program[@]}" unrecorded alpha=50 sync start \
    alpha=1 stop sync
same "and later nothing is enabled between ranges" "alpha 2001" "$(kernels linger)"
finish
