#!/bin/bash
# Green contexts: two parts of a GPU, and waits that name them by their parent, as CUPTI does.
. "$SOURCE/tests/e2e/lib.sh" || exit 1
needs cuGreenCtxStreamCreate
green=$build/tests/e2e/green

# Two kernels of 100 us and a wait, six times, while a kernel of 2 ms runs in the other part. Then
# one there that waits for the small part, and the same again.
steps=(start prefill=2000 decode=6 chain prefill=300 sync decode=1 prefill=150 free sync stop)
settings=(SIMGPU_NOISE=0)
bare plain -- "$green" "${steps[@]}"
profile both "${settings[@]}" -- "$green" "${steps[@]}"
unharmed "two parts" both plain 0
complete "two parts" both
same "contexts: their parents and SMs" "1 0 0
2 1 16
3 1 112" "$(paste -d' ' <(column both context_info context) <(column both context_info parent) \
    <(column both context_info multiprocessors))"
same "work names the green context, flags name the parent" "14 2 16 3 14 1 16 1" \
    "$(echo $(rows both stream | awk -F, '{ print $2, $3 }' | sort) \
        $(rows both stream_info | awk -F, '{ print $1, $2 }'))"
same "waits name the parent" "1 14 1" "$(rows both sync |
    awk -F, '$2 == "stream_synchronize" { print $3, $4 }' | sort -u) $(rows both sync |
    awk -F, '$2 == "context_synchronize" { print $3 }' | sort -u)"

# ---- how many SMs a kernel could use ---------------------------------------------------------
# An SM holds two of these blocks: each grid has one block for each SM of its part.
same "kernels: SMs, waves, limit" "112 0.500000 grid
16 0.500000 grid" "$("$miniprof" kernels --csv both.mpt 2>/dev/null | python3 -c 'import csv, sys
for row in csv.DictReader(sys.stdin):
    print(row["multiprocessors"], row["waves"], row["limit"])')"
like "kernels: a column of SMs where kernels had some of them only" " SM Count " \
    "$("$miniprof" kernels both.mpt)"
like "advise: grids are compared with their parts" "0.5 waves in the mean" \
    "$("$miniprof" advise both.mpt | tr -s '\n ' ' ')"
same "kineto: waves" "0.5" "$("$miniprof" export --to kineto -o - both.mpt |
    grep -o '"waves": *[0-9.]*' | sed 's/.*: *//' | sort -u)"
same "kineto: priorities, whose rows name the parent" 17 \
    "$("$miniprof" export --to kineto -o - both.mpt | grep -c '"cat": *"kernel".*"priority": *0')"
same "info" "green context 2 16 SMs of device 0 for context 1
green context 3 112 SMs of device 0 for context 1" \
    "$("$miniprof" info both.mpt | grep '^green context ' | tr -s ' ')"
same "overlap: the streams of the parts ran work" "" \
    "$("$miniprof" overlap both.mpt | grep 'ran nothing')"

# ---- what waits for what ---------------------------------------------------------------------
# waits NAME FUNCTION: how long its calls waited, in us.
waits() {
    "$miniprof" deps --csv "$1.mpt" | awk -F, -v name="\"$2\"" '
        { gsub(/"/, "") } $NF == substr(name, 2, length(name) - 2) { print int($3 / 1000) }'
}
profile decode "${settings[@]}" -- "$green" start decode=6 stop
complete "waits for streams" decode
check "waits for streams of a part wait for its kernels, nearly 200 us each" \
    [ "$(waits decode cuStreamSynchronize)" -ge 1150 ]
check "and its kernels are the path" [ "$("$miniprof" deps --csv decode.mpt | awk -F, '
    $NF ~ /spin/ { print int($2 / 1000) }')" -ge 1200 ]

same "the path: 2 ms, 300 us behind it, 200 us of the small part, 150 us of the large one" 2650 \
    "$("$miniprof" deps --csv both.mpt | awk -F, '$NF ~ /spin/ { print int($2 / 1000) }')"
check "cuCtxSynchronize of the parent waits for the parts" \
    [ "$(waits both cuCtxSynchronize)" -gt 1000 ]
check "cuMemFree waits for them in effect" [ "$(waits both cuMemFree)" -ge 150 ]

# ---- older CUPTI -----------------------------------------------------------------------------
for version in 21:0/0,0/0,0/0 22:0/0,1/0,1/0 23:0/0,1/16,1/112; do
    profile old "${settings[@]}" SIMGPU_CUPTI_VERSION="${version%%:*}" -- "$green" start decode=2 \
        stop
    same "CUPTI ${version%%:*}: parents and SMs" "${version#*:}" \
        "$(paste -d/ <(column old context_info parent) <(column old context_info multiprocessors) |
            paste -sd,)"
    rm old.mpt
done
finish
