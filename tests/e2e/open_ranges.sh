#!/bin/bash
# Takes 10 s.
# NVTX ranges that are open where a capture range begins or ends: they are written with it, cut, and
# what is launched in it lies in them.
. "$SOURCE/tests/e2e/lib.sh" || exit 1

# events NAME: kinds and names of NVTX rows, in order; with ~ those that are cut
events() {
    "$miniprof" dump "$1.mpt" --table nvtx --csv | sed '/^$/d' | python3 -c '
import csv, sys
rows = [row for row in csv.DictReader(sys.stdin) if row["kind"].isalpha()]
print(" ".join(("~" if row["cut"] == "1" else "") + row["kind"] +
               (":" + row["name"] if row["name"] else "") for row in rows))'
}

# iterations NAME: how many `miniprof iters` counts by the range `it`, and how many it leaves out
iterations() {
    "$miniprof" iters --iterations nvtx:it --json "$1.mpt" | python3 -c '
import json, sys
found = json.load(sys.stdin)
print(found["count"], found["unfinished"])'
}

nested=(init push=run push=epoch alpha=1 start beta=2 pop gamma=4 stop pop alpha=8 start beta=16
    stop sync)
rows_auto="~push:run ~push:epoch pop ~pop"
for mode in auto range pause; do
    profile "nested_$mode" MINIPROF_CAPTURE=$mode -- "$steps" "${nested[@]}"
    complete "$mode" "nested_$mode"
done
same "auto: the open ranges are written, outermost first, and popped at the end" "$rows_auto" \
    "$(events nested_auto)"
same "range: the same, although nothing is enabled before" "$rows_auto" "$(events nested_range)"
same "pause: a range begins with the process and is not cut" \
    "push:run push:epoch" "$(events nested_pause | cut -d' ' -f1-2)"
for mode in auto range; do
    same "$mode: the rows lie on the capture range's begin and end" 1 "$(
        { rows nested_$mode capture | sed 's/^/c,/'
          "$miniprof" dump nested_$mode.mpt --table nvtx --csv | sed 1d | sed 's/^/n,/'; } |
        python3 -c '
import sys
rows = [line.strip().split(",") for line in sys.stdin]
edges = {row[3] for row in rows if row[0] == "c"}
cut = [row for row in rows if row[0] == "n" and row[11] == "1"]
print(int(len(cut) == 3 and all(row[5] in edges for row in cut)))')"
done

# ---- Attributes, domains, start and end, other threads ----------------------------------------
profile kinds MINIPROF_CAPTURE=range -- "$steps" init push-in=layers:conv range-start=1:request \
    push-registered=layers:deep push-wide=wide push= start alpha=1 stop pop pop pop-in=layers: \
    range-end=1 pop-in=layers: start beta=1 stop sync
same "all kinds, in the order in which they began" "~push:conv ~start:request ~push:deep \
~push:wide ~push ~pop ~pop ~pop ~end ~pop" "$(events kinds)"
same "their domains" "layers,,layers,,,,,layers,,layers" \
    "$(rows kinds nvtx | cut -d, -f3 | paste -sd,)"
profile ends_inside MINIPROF_CAPTURE=range -- "$steps" init range-start=1:request push=a start \
    alpha=1 range-end=1 pop push=b beta=2 pop stop sync
same "ended inside: its own end" "~start:request ~push:a end pop push:b pop" "$(events ends_inside)"
profile thread_end MINIPROF_CAPTURE=range -- "$steps" init range-start=1:request start \
    thread=range-end=1 alpha=1 stop start beta=1 stop sync
same "ended by another thread" "end ~start:request" \
    "$(events thread_end | tr ' ' '\n' | sort | paste -sd' ')"
profile dead MINIPROF_CAPTURE=range -- "$steps" init thread=push=gone thread=range-start=1:kept \
    round start alpha=1 stop range-end=1 start beta=1 stop sync
same "a thread that ended: what it pushed is over, what it started is not" \
    "~start:kept ~end" "$(events dead)"

# ---- Other causes of ranges --------------------------------------------------------------------
profile by_nvtx MINIPROF_CAPTURE=nvtx:step -- "$steps" init push=run push=step alpha=1 pop gamma=1 \
    push=step beta=2 pop pop sync
same "nvtx:step: each step in the run around it" \
    "~push:run push:step pop ~pop ~push:run push:step pop ~pop" "$(events by_nvtx)"
profile schedule MINIPROF_SCHEDULE=wait=1,active=1,repeat=2 MINIPROF_STEP=step -- "$steps" init \
    push=run push=step pop push=step alpha=1 pop push=step pop push=step beta=1 pop pop sync
same "schedule: the same" "~push:run push:step pop ~pop ~push:run push:step pop ~pop" \
    "$(events schedule)"
profile delay MINIPROF_DELAY=1 -- "$steps" init push=run alpha=1 state=recording beta=1 pop \
    gamma=1 sync
same "delay: open when it is over" "~push:run pop" "$(events delay)"
profile before MINIPROF_CAPTURE=range NVTX_INJECTION64_PATH="$lib" -- "$steps" push=early init \
    start alpha=1 stop pop sync
same "pushed before CUDA started, with the variable of NVTX" "~push:early ~pop" "$(events before)"
profile off MINIPROF_CAPTURE=range MINIPROF_NVTX=off -- "$steps" "${nested[@]}"
same "MINIPROF_NVTX=off: none" "" "$(events off)"
profile over MINIPROF_CAPTURE=range MINIPROF_CAPTURE_END=stop -- "$steps" "${nested[@]}"
same "one range only: nothing behind it" "$rows_auto" "$(events over)"

# ---- What the reports make of it ----------------------------------------------------------------
profile layers MINIPROF_CAPTURE=range -- "$steps" init push=run start push=it alpha=1 pop push=it \
    alpha=1 pop gamma=4 push=it alpha=1 stop pop start push=it alpha=1 pop push=it alpha=1 pop \
    stop pop sync
"$miniprof" nvtx layers.mpt >layers.txt 2>&1
check "nvtx: no kernel outside of all ranges" bash -c "! grep -q 'no range' layers.txt"
like "nvtx: how many are cut" "3 of the ranges go on outside of a capture range" \
    "$(cat layers.txt)"
same "iters: the one that goes on behind the capture range is not one of them" "4 1" \
    "$(iterations layers)"
profile midway MINIPROF_CAPTURE=range -- "$steps" init push=it alpha=1 start alpha=2 pop push=it \
    alpha=4 pop push=it alpha=8 pop stop sync
same "iters: nor is the one that began before it" "2 1" "$(iterations midway)"
finish
