#!/bin/bash
# Takes 15 s.
# miniprof top: a program that goes on, ends, is killed, begins a capture range; the terminal; whom
# it cannot look at. What is shown of all of it is known by construction, what is shown of an
# interval is not compared.
. "$SOURCE/tests/e2e/lib.sh" || exit 1

# json NAME EXPRESSION: of the last line `d`, of all lines `all`.
json() {
    python3 -c 'import json, sys
all = [json.loads(line) for line in open(sys.argv[1])]
d = all[-1]
print(eval("(" + sys.argv[2] + ")"))' "$1" "$2"
}

# steps_of N: N iterations of 5 alpha and 2 beta in two ranges, 10 ms apart at least.
steps_of() {
    local i
    for ((i = 0; i < $1; i++)); do
        echo push=step push=inner alpha=5 pop beta=2 copy-in=4096 sync sleep=10 pop
    done
}

# Until the recorder answers.
reached() {
    await "$miniprof" ctl "$pid" where >where.out 2>&1
}

# ---- a program that goes on and ends -----------------------------------------------------------
read -ra program <<<"$(steps_of 40 | paste -sd' ')"
bare goes.bare -- "$steps" init "${program[@]}" print=done exit=3
start goes SIMGPU_REAL_TIME=1 -- "$steps" init await=go1 "${program[@]}" await=go2 print=done exit=3
reached
same "ctl where: the path" "$work/goes.mpt" "$(cat where.out)"
touch go1
"$miniprof" top --plain --count 2 --interval 200 "$pid" >two.out 2>two.err </dev/null
same "--plain --count 2: exit code, nothing on stderr" "0 " "$? $(cat two.err)"
same "--plain --count 2: two blocks" 2 "$(grep -c "^$pid $steps .* records, 0 dropped" two.out)"
same "--plain: no escape sequences" 0 "$(grep -c $'\033' two.out)"
"$miniprof" top --json --interval 1000 --iterations inner "$pid" >goes.json 2>top.err </dev/null &
top=$!
await test -s goes.json
touch go2
wait "$top"
same "until it ends: exit code, nothing on stderr" "0 " "$? $(cat top.err)"
wait "$pid"
status=$?
unharmed "the program under top" goes goes.bare 3
same "the last line: of all of it" "ended 280 200 80 40 40 163840 0 0" \
    "$(json goes.json 'd["state"], d["kernel_count_all"],
        sum(l["count_all"] for l in d["layers"] if l["name"] == "inner"),
        sum(k["count_all"] for k in d["kernels"] if k["name"] == "beta"),
        d["iterations"]["all"]["count"], d["copies"]["HtoD"]["count_all"],
        d["copies"]["HtoD"]["bytes_all"], d["dropped"], d["unlaunched_all"]' | tr -d "(),'")"
same "the intervals add up" "True True" \
    "$(json goes.json 'sum(l["kernel_count"] for l in all) == 280,
        sum(l["copies"]["HtoD"]["bytes"] for l in all) == 163840' | tr -d '(),')"
same "one line is not the last" True "$(json goes.json 'len(all) > 1 and
        all[0]["state"] == "recording"')"
"$miniprof" top goes.mpt >whole.out 2>&1
same "a complete file: exit code, last line" "0 The program has ended." \
    "$? $(tail -n 1 whole.out)"

# ---- sampled counters --------------------------------------------------------------------------
# alpha has 80 % of the memory's throughput, beta 15 % (tests/simgpu/README.md).
start counted MINIPROF_SAMPLE=dram_active,sm_active,pcie_rx@100kHz -- "$steps" init alpha=400 sync \
    print=ready await=counted1 beta=400 sync print=done await=counted2
await grep -q ready counted.out
"$miniprof" top --json --interval 150 "$pid" >counted.json 2>top.err </dev/null &
top=$!
await grep -q '"dram_active"' counted.json
touch counted1
await grep -q done counted.out
touch counted2
wait "$top"
same "counters: exit code, nothing on stderr" "0 " "$? $(cat top.err)"
wait "$pid"
same "counters: names, units, and what they were at most and at last" \
    "dram_active percent, sm_active percent, pcie_rx bytes_per_second | True" \
    "$(json counted.json '", ".join(c["counter"] + " " + c["unit"]
            for c in d["devices"][0]["counters"][:3]) + " | " + str(
        len(d["devices"]) == 1 and max(c["mean"] for l in all for v in l["devices"]
            for c in v["counters"] if c["counter"] == "dram_active") <= 80.4
        and any(c["mean"] > 1 for l in all for v in l["devices"] for c in v["counters"]
                if c["counter"] == "dram_active"))')"
"$miniprof" top counted.mpt >counted.top 2>&1
like "counters: one line below the GPU" \
    $'% busy, [^\n]*\n        dram_active [0-9.]+%, sm_active [0-9.]+%, pcie_rx [0-9.]+[KMG]?B/s' \
    "$(cat counted.top)"
# The file as a whole is one interval, so means are those of all samples.
"$miniprof" top --json counted.mpt >counted.json
same "counters: of the whole file" "True" "$(json counted.json 'abs(
        next(c["mean"] for c in d["devices"][0]["counters"] if c["counter"] == "dram_active") -
        '"$("$miniprof" counters --csv counted.mpt 2>/dev/null | awk -F, '/dram_active/ { print $6;
            exit }')"') < 0.1')"
same "without samples: no line" 0 "$(grep -c sm_active whole.out)"

# ---- killed ------------------------------------------------------------------------------------
start killed -- "$steps" init alpha=4 sync print=ready await=never
disown "$pid" # the shell would say that it was killed
await grep -q ready killed.out
"$miniprof" top --plain --interval 100 "$pid" >killed.top 2>&1 </dev/null &
top=$!
await grep -q '^Kernels' killed.top
kill -KILL "$pid"
wait "$top"
same "killed: exit code, last line" "0 The program has ended; its trace was not completed." \
    "$? $(tail -n 1 killed.top)"

# ---- the main thread ends before the others ----------------------------------------------------
start headless -- "$build/tests/e2e/headless"
reached
check "its main thread has ended" await grep -q '^State:.*Z' "/proc/$pid/status"
"$miniprof" top --plain --count 2 --interval 50 "$pid" >headless.top 2>&1 </dev/null
same "the main thread alone has ended: exit code, two blocks, no end" "0 2 0" \
    "$? $(grep -c ' records, 0 dropped' headless.top) $(grep -c 'dropped  \[\|The program' \
        headless.top)"
"$miniprof" top --plain --interval 50 "$pid" >headless.ends 2>&1 </dev/null &
top=$!
await grep -q ' records, 0 dropped' headless.ends
touch headless1
wait "$top"
same "the others end: exit code, last line" "0 The program has ended." \
    "$? $(tail -n 1 headless.ends)"
wait "$pid"

# ---- rows for a spreadsheet --------------------------------------------------------------------
start rows -- "$steps" init alpha=9 sync await=rows1 beta=3 sync
reached
"$miniprof" top --csv --interval 50 "$pid" >rows.csv 2>top.err </dev/null &
top=$!
await grep -q '"recording"' rows.csv
touch rows1
wait "$top"
same "CSV: exit code, nothing on stderr" "0 " "$? $(cat top.err)"
wait "$pid"
same "CSV: one head, rows of a width, the last state, a time that does not run back" \
    "1 15 ended True" "$(python3 -c 'import csv, sys
titles, *rows = csv.reader(open("rows.csv"))
times = [float(row[0]) for row in rows]
print(1 + rows.count(titles), *{len(row) for row in rows}, rows[-1][2], times == sorted(times))')"

# ---- capture mode auto: the file is cut back at the first range --------------------------------
start cut -- "$steps" init alpha=9 sync await=cut1 start beta=3 sync stop print=done await=cut2
"$miniprof" ctl "$pid" where >where.out 2>&1
reached
"$miniprof" top --json --interval 50 "$pid" >cut.json 2>top.err </dev/null &
top=$!
# shellcheck disable=SC2317
seen() {
    [ "$(json cut.json 'd["kernel_count_all"]')" = "$1" ]
}
check "before the range: all kernels" await seen 9
touch cut1
check "behind it: those of the range alone" await seen 3
touch cut2
wait "$top"
same "a range begins: exit code, nothing on stderr" "0 " "$? $(cat top.err)"
same "a range begins: kernels by name" "beta 3" \
    "$(json cut.json '" ".join(k["name"] + " %d" % k["count_all"] for k in d["kernels"])')"
wait "$pid"

# ---- the terminal ------------------------------------------------------------------------------
start screen -- "$steps" init alpha=4 sync print=ready await=screen1
await grep -q ready screen.out
leave=$'\033[?7h\033[?25h\033[?1049l'
# on_terminal NAME: top on a pseudo-terminal, with stty before and behind it; stdin of the caller.
# A Ctrl-C reaches the shell too, and not every shell goes on after it.
on_terminal() {
    script -qefc "trap : INT
        stty -a >$1.before
        '$miniprof' top --interval 100 $pid
        echo \$? >$1.code
        stty -a >$1.after" /dev/null >"$1.screen" 2>&1
}
# drawn NAME: at least two refreshes.
# shellcheck disable=SC2317
has_two() {
    [ "$(grep -c 'GPU 0' "$1.screen")" -ge 2 ]
}
drawn() {
    await has_two "$1"
}
# over NAME: the terminal stays open until its shell has said its last.
over() {
    await test -s "$1.after"
}
restored() { # WHAT NAME CODE
    same "$1: exit code" "$3" "$(cat "$2.code")"
    check "$1: the terminal's settings are back" cmp "$2.before" "$2.after"
    check "$1: the screen is back" grep -qF "$leave" "$2.screen"
}
if command -v script >/dev/null; then
    touch q.screen int.screen term.screen
    { drawn q; printf 'xq'; over q; } | on_terminal q
    restored "q" q 0
    { drawn int; printf '\003'; over int; } | on_terminal int
    restored "Ctrl-C" int 0
    {
        drawn term
        kill -TERM "$(pgrep -f "^$miniprof top --interval 100 $pid")"
        over term
    } | on_terminal term
    restored "SIGTERM" term 0
    # A pager has the keyboard for itself.
    script -qefc "stty -a >piped.before
        '$miniprof' top --count 2 --interval 100 $pid |
            { read -r line; stty -a </dev/tty >piped.while; cat; }
        echo over >piped.after" /dev/null >piped.screen 2>&1 < <(over piped)
    check "stdout is a pipe: the terminal's settings stay" cmp piped.before piped.while
    check "stdout is a pipe: blocks come" grep -q 'GPU 0' piped.screen
    # The other way to end: the process does.
    touch end.screen
    { drawn end; touch screen1; over end; } | on_terminal end
    restored "the program ends" end 0
    check "the program ends: said below" grep -q 'The program has ended' end.screen
else
    echo "# no script command: the terminal is left out"
    touch screen1
fi
wait "$pid"
same "the program goes on" "0 ready" "$? $(cat screen.out)"

# ---- whom it cannot look at --------------------------------------------------------------------
fails() { # WHAT CODE LINE ARGUMENT...
    local what=$1 code=$2 line=$3
    shift 3
    "$miniprof" top --plain "$@" >fails.out 2>fails.err </dev/null
    same "$what: exit code, line" "$code $line" "$? $(cat fails.err)"
}
start flight MINIPROF_FLIGHT=10s -- "$steps" init alpha=1 sync print=ready await=flight1
await grep -q ready flight.out
fails "the flight recorder" 1 "miniprof top: process $pid: the flight recorder keeps the trace in \
memory: there is no file to follow" "$pid"
touch flight1
wait "$pid"
fails "a process that has ended" 3 "miniprof top: there is no process $pid" "$pid"
fails "a process that is not recorded" 3 \
    "miniprof top: process $$ is not being recorded, or not in this container" $$
start gone -- "$steps" init alpha=4 sync print=ready await=gone1
await grep -q ready gone.out
"$miniprof" top --plain --interval 100 "$pid" >gone.top 2>top.err </dev/null &
top=$!
await grep -q '^Kernels' gone.top
rm gone.mpt
wait "$top"
same "the file is removed: exit code, line" "3 miniprof top: '$work/gone.mpt' was removed" \
    "$? $(cat top.err)"
touch gone1
wait "$pid"
finish
