#!/bin/bash
# Kernels without times: where they are too many, every report says so in its first line and gives
# nothing that rests on them; where they are few, only that they are left out.
. "$SOURCE/tests/tools/cli.sh" || exit 1

# first LINE: stdout's first line is this.
first() {
    [ "$(head -n 1 .stdout)" = "$1" ] || head -n 1 .stdout
    [ "$(head -n 1 .stdout)" = "$1" ]
    verdict "first line" $?
}

says() { # TEXT: somewhere in stdout
    grep -qF -- "$1" .stdout
    verdict "says: $1" $?
}

silent() { # WORDS...: nowhere in stdout
    local word
    for word in "$@"; do
        ! grep -qiF -- "$word" .stdout
        verdict "does not say: $word" $?
    done
}

# The plain trace has 4 kernels, and 100 more stand behind them (known_trace.h).
trace untimed
unknown='busy time, idle causes and gains are not known'
why='50 of 154 kernels have no times (nodes of CUDA graphs, --concurrent-kernels off); record '
why+="without --concurrent-kernels off; $unknown"
for command in summary 'summary --csv' kernels iters 'iters --each' 'iters --csv' deps \
    'deps --csv' 'deps --top 3' advise 'advise --csv' overlap 'overlap --csv' layers \
    'layers --csv'; do
    # shellcheck disable=SC2086
    run $command untimed.mpt
    code 1
    [[ $command == *--csv ]] && mv .stderr .stdout
    first "==4242== Warning: $why."
done
for command in deps 'deps --trace' overlap layers 'layers --by-position'; do
    # shellcheck disable=SC2086
    run $command --csv untimed.mpt
    code 1
    [ "$(wc -l <.stdout)" -eq 1 ]
    verdict "a header row and no others" $?
done

run summary untimed.mpt
silent 'add up'
run iters untimed.mpt
says 'No busy time and no causes of idle time: too many kernels have no times.'
silent 'GPU busy' 'launch-bound' '% of the GPU work' 'number of'
run deps untimed.mpt
says 'No critical path: too many kernels have no times.'
silent 'Critical path(%)'
run advise untimed.mpt
tr -s '\n ' ' ' <.stdout | grep -qF '(too many kernels have no times)'
verdict "the line may fold" $?
silent 'Gain:'
run overlap untimed.mpt
says 'No busy time and no overlap: too many kernels have no times.'
run layers untimed.mpt
says 'No device time of layers: too many kernels have no times.'
trace dependent
run diff dependent.mpt untimed.mpt
says "Warning: B: untimed.mpt: $why"
says 'No counts, kernels, positions and layers: too many kernels have no times.'
silent 'GPU busy' 'Kernels, copies'

for command in summary kernels iters deps advise overlap layers; do
    run $command --json untimed.mpt
    code 1
    json 'd["quality"]["kernels_without_times"] == 50 and d["quality"]["gap"] == "no_kernel_times"'
    json "d['quality']['warning'] == '$why'"
done
run summary --json untimed.mpt
json 'd["kernel_time"] is None'
run iters --each --json untimed.mpt
json 'd["coverage_percent"] is None'
json '{k for k, v in d["statistics"].items() if v} == {"latency_ns", "host_ns", "api_ns"}'
json 'all(row["busy_ns"] is None for row in d["iterations"])'
run deps --json untimed.mpt
json 'd["rows"] is None and d["windows"] is None and d["window_ns"] is None'
run advise --json untimed.mpt
json 'd["findings"] == [] and {r["reason"] for r in d["not_tried"]} == {"no_kernel_times"}'
run overlap --json untimed.mpt
json 'd["devices"] is None and d["kernel_time"] is None'
run layers --json untimed.mpt
json 'd["layers"] is None'
run diff --json dependent.mpt untimed.mpt
json '[d[k] for k in ("kernels", "positions", "layers")] == [None] * 3'
json '[d[s]["runs"][0]["gap"] for s in "ab"] == [None, "no_kernel_times"]'
json '{q["quantity"] for q in d["quantities"]} == {"latency_ns", "host_ns", "api_ns"}'

# The page: what rests on times is a note, and the first view does not know how busy the GPU was.
run html -o page.html untimed.mpt
[ "$(grep -c '"note": "too many kernels have no times"' page.html)" -eq 3 ]
verdict "layers, overlap and deps are notes" $?
grep -q '"busy_ns": *null' page.html
verdict "the page's first view" $?

# All that a graph ran, and few of many: the share of the others does not matter.
trace untimed-node
run summary untimed-node.mpt
first "==4242== Warning: 1 of 105 kernels has no times (nodes of CUDA graphs); $unknown."

# 2 of 106 are under 2 %, 3 of 107 are over it.
trace untimed-few
run iters untimed-few.mpt
first '==4242== Warning: 2 rows without a begin time are left out.'
says 'GPU busy'
run deps --json untimed-few.mpt
json 'd["quality"]["kernels_without_times"] == 2 and "gap" not in d["quality"]'
json 'd["rows"]'
trace untimed-more
run iters untimed-more.mpt
first "==4242== Warning: 3 of 107 kernels have no times; $unknown."
finish
