#!/bin/bash
# CUDA graphs: the NVTX ranges that were open when a node was captured or added, whatever became of
# the graph since; and launches by the device, which are said to be missing. The programs fix which
# kernel is captured in which range.
. "$SOURCE/tests/e2e/lib.sh" || exit 1

# alpha in layer1, beta in layer2, both in model; gamma in no range.
capture=(capture push=model push=layer1 alpha=1 pop push=layer2 beta=1 pop pop gamma=1
    end-capture=0)
captured="alpha model > layer1
beta model > layer2
gamma -"

# paths NAME [PATTERN]: "kernel path" of each kernel that is a node, in the order in which they ran.
paths() {
    "$miniprof" gpu-trace --json "$work/$1.mpt" 2>/dev/null | grep -E "${2:-.}" | python3 -c '
import json, re, sys
for line in sys.stdin:
    found = re.match(r"\s*(\{.*\"kind\": \"kernel\".*\}),?$", line)
    row = json.loads(found[1]) if found else {}
    if "captured_in" in row:
        print(row["name"], row["captured_in"] or "-")'
}

# clean NAME: the trace is whole and nothing was lost.
clean() {
    complete "$1" "$1"
    same "$1: nothing was lost" "" "$(rows "$1" quality | grep dropped)"
}

# ---- the report, in each format --------------------------------------------------------------
program=(init stream=1 "${capture[@]}" instantiate=0 start push=step launch=0 launch=0 sync pop
    stop launch=0 sync print=done)
bare plain -- "$steps" "${program[@]}"
profile auto -- "$steps" "${program[@]}"
unharmed auto auto plain 0
clean auto
same "auto: each kernel's path" "$captured
$captured" "$(paths auto)"
same "auto: paths as in the table" "1,,,model 2,model,,layer1 3,model,,layer2" \
    "$(echo $(rows auto path))"
same "auto: two nodes have a path" 2 "$(count auto captured)"
same "auto: the ranges of the capture themselves are not in the trace" "step 1" \
    "$(rows auto nvtx | awk -F, '$2 == "push" { print $4, 1 }')"
"$miniprof" nvtx auto.mpt >text 2>&1
like "text: captured ranges" 'Captured ranges: .*"layer1".*alpha.*"layer2".*beta.*"model".*alpha' \
    "$(tr '\n' ' ' <text)"
same "csv: the work of each range" "alpha layer1
alpha model
beta layer2
beta model" "$("$miniprof" nvtx --csv --table captured auto.mpt 2>&1 | sed '1d;s/"//g' |
    awk -F, '{ print $NF, $4 }' | sort)"
same "json: work of each range, with the nodes" "layer1 1 alpha 2
layer2 1 beta 2
model 2 alpha 2, beta 2" "$("$miniprof" nvtx --json auto.mpt | python3 -c '
import json, sys
for entry in json.load(sys.stdin)["captured_ranges"]:
    rows = entry["gpu_activities"]["rows"]
    print(entry["name"], entry["nodes"],
          ", ".join(sorted("%s %d" % (row["name"], row["calls"]) for row in rows)))')"
same "json: times are those of the kernels" \
    "$(rows auto kernel | awk -F, '$2 != "gamma" { sum += $5 } END { print sum }')" \
    "$("$miniprof" nvtx --json auto.mpt | python3 -c '
import json, sys
found = {entry["name"]: entry for entry in json.load(sys.stdin)["captured_ranges"]}
print(found["model"]["gpu_activities"]["total_ns"])')"
same "the range that launched has the same work" "alpha 2 beta 2 gamma 2" \
    "$("$miniprof" nvtx --json auto.mpt | python3 -c '
import json, sys
rows = json.load(sys.stdin)["nvtx_ranges"][0]["gpu_activities"]["rows"]
print(" ".join(sorted("%s %d" % (row["name"], row["calls"]) for row in rows)))')"

# ---- modes that record nothing before the range ----------------------------------------------
profile range MINIPROF_CAPTURE=range -- "$steps" "${program[@]}"
unharmed range range plain 0
clean range
same "range: NVTX is followed outside of ranges" "$captured
$captured" "$(paths range)"
same "range: of the events those in the range are kept" "push step pop -" \
    "$(echo $(rows range nvtx | awk -F, '{ print $2, $4 == "" ? "-" : $4 }'))"
profile lazy MINIPROF_CAPTURE=range -- "$steps" init stream=1 push=before capture push=inside \
    alpha=1 pop end-capture=0 pop push=between instantiate=0 pop start launch=0 sync stop
same "range: a range that is older than the capture is known" "alpha before > inside" \
    "$(paths lazy)"
profile hand MINIPROF_CAPTURE=range -- "$steps" init stream=1 create-graph=0 push=hand \
    node=0:alpha push=deep node=0:beta pop pop instantiate=0 start launch=0 sync stop
same "range: nodes that are added by hand" "alpha hand
beta hand > deep" "$(paths hand)"
profile nvtx MINIPROF_CAPTURE=nvtx:step -- "$steps" "${program[@]}"
same "nvtx:step: as in the others" "$captured
$captured" "$(paths nvtx)"
# A graph that is built by hand is complete when it is instantiated, cloned or destroyed.
profile stops MINIPROF_CAPTURE=range MINIPROF_LOG=debug -- "$steps" init stream=1 create-graph=0 \
    node=0:alpha instantiate=0 create-graph=1 node=1:alpha clone-graph=1:2 create-graph=3 \
    destroy-graph=3 push=late capture alpha=1 end-capture=4 instantiate=4 start launch=4 sync stop
same "range: a range around a capture" "alpha late" "$(paths stops)"

# ---- what becomes of graphs ------------------------------------------------------------------
profile clone -- "$steps" init stream=1 "${capture[@]}" clone-graph=0:1 destroy-graph=0 \
    clone-graph=1:2 instantiate=1 instantiate=2 start launch=1 launch=2 sync stop
clean clone
same "clones: have the paths of their original" "$captured
$captured" "$(paths clone)"
profile child -- "$steps" init stream=1 "${capture[@]}" create-graph=1 push=parent node=1:alpha \
    child=1:0 pop instantiate=1 destroy-graph=0 start launch=1 sync stop
clean child
same "child graphs: nodes keep their paths, the parent's have their own" "alpha model > layer1
alpha parent
beta model > layer2
gamma -" "$(paths child | sort)"
# The driver makes copies and sets anew as it instantiates a graph, with other ids for the nodes.
profile copies -- "$steps" init stream=1 capture push=layer set=64 alpha=1 copy-within=64 pop \
    end-capture=0 create-graph=1 child=1:0 instantiate=1 start launch=1 sync stop
same "child graphs: copies and sets keep their paths, too" \
    "$({ column copies set node; column copies copy node; column copies kernel node; } | sort)" \
    "$(rows copies captured | awk -F, '{ print $1 ":" $2 }' | sort)"
# The executable graph of each is made when that of the one before has just gone.
reuse=(init stream=1 start push=one capture alpha=1 end-capture=1 pop instantiate=1 launch=1)
for n in 2 3; do
    reuse+=(push="again$n" capture alpha=1 "end-capture=$n" pop sync "destroy-exec=$((n - 1))"
        "instantiate=$n" "launch=$n")
done
for setting in 1 0; do
    profile reuse$setting SIMGPU_GRAPH_ID_REUSE=$setting -- "$steps" "${reuse[@]}" sync stop
    clean reuse$setting
    same "ids that are used again ($setting): each graph has its own path" "alpha one
alpha again2
alpha again3" "$(paths reuse$setting)"
done
same "ids that are used again: numbers of the graphs" "2 4294967298 8589934594" \
    "$(echo $(column reuse1 node graph))"
same "ids that are not: numbers of the graphs" "2 4 6" "$(echo $(column reuse0 node graph))"
if "$steps" init create-graph=0 instantiate=0 update-exec=0:0 >/dev/null 2>&1; then
    profile update -- "$steps" init stream=1 push=first capture alpha=1 end-capture=0 pop \
        push=second capture beta=1 end-capture=1 pop instantiate=0 start launch=0 update-exec=0:1 \
        launch=0 sync stop
    clean update
    same "cuGraphExecUpdate: nodes stay those of the first graph" "alpha first
beta first" "$(paths update)"
fi
profile old -- "$steps" init stream=1 "${capture[@]}" instantiate-old=0 start upload=0 \
    launch-ptsz=0 upload-ptsz=0 launch=0 sync stop
clean old
same "cuGraphInstantiate_v2, cuGraphLaunch_ptsz" "$captured
$captured" "$(paths old)"
same "cuGraphLaunch_ptsz: has a row as a launch" 2 \
    "$(rows old sync | awk -F, '$2 == "graph_launch"' | wc -l)"
profile again -- "$steps" init stream=1 "${capture[@]}" instantiate=0 capture push=other alpha=1 \
    pop end-capture=1 destroy-exec=0 instantiate=0 instantiate=1 start launch=0 launch=1 sync stop
clean again
same "a graph that is instantiated twice" "$captured
alpha other" "$(paths again)"

# ---- threads ---------------------------------------------------------------------------------
profile threads -- "$steps" init stream=1 push=mine \
    thread=push=its,capture,alpha=1,end-capture=0,pop range-start=1:both capture beta=1 \
    thread=range-end=1 gamma=1 end-capture=1 pop instantiate=0 instantiate=1 start launch=0 \
    launch=1 sync stop
clean threads
same "threads: ranges of the one that captures; one that another has ended" "alpha its
beta mine > both
gamma mine" "$(paths threads)"
same "threads: who captured" "2" "$(column threads captured thread | sort -u | wc -l)"

# ---- CUPTI comes late ------------------------------------------------------------------------
preload=$build/libminiprof_preload.so
if [ -e "$preload" ] && ! sanitized address; then
    for when in graph range; do
        profile attach_$when LD_PRELOAD="$preload" MINIPROF_ATTACH=$when MINIPROF_CAPTURE=range -- \
            "$steps" "${program[@]}"
        clean attach_$when
    done
    same "MINIPROF_ATTACH=graph: it comes in time for the first capture" "$captured
$captured" "$(paths attach_graph)"
    same "MINIPROF_ATTACH=range: captures before are not known" "6 0" \
        "$(count attach_range kernel) $(count attach_range captured)"
fi

# ---- the flight recorder ---------------------------------------------------------------------
# At once, and in a trace whose graphs were made long before.
start flight MINIPROF_FLIGHT=30s -- "$steps" init stream=1 "${capture[@]}" instantiate=0 \
    make-graph=1 instantiate-for-device=1 launch=0 sync print=one await=go launch=0 sync \
    print=two await=end
for n in one:.mpt two:.2.mpt; do
    await grep -qx "${n%%:*}" flight.out
    kill -USR2 "$pid"
    await [ -e "flight${n##*:}" ]
    touch go
done
touch end
wait "$pid"
same "flight recorder: paths" "$captured" "$(paths flight)"
same "flight recorder, the next trace: paths" "$captured
$captured" "$(paths flight.2)"
same "flight recorder: graphs that were made before count" "device_graphs 1
device_graphs 1" "$(for n in flight flight.2; do
    rows $n quality | awk -F, '/device|dropped/ { print $1, $3 }'
done)"

# ---- where there is nothing to say -----------------------------------------------------------
profile off MINIPROF_NVTX=off -- "$steps" "${program[@]}"
same "MINIPROF_NVTX=off: no paths" "0 0" "$(count off path) $(count off captured)"
profile graph MINIPROF_CUDA_GRAPH=graph -- "$steps" "${program[@]}"
same "graph level: no paths" "0 0 2" \
    "$(count graph path) $(count graph captured) $(count graph graph)"
profile silent SIMGPU_GRAPHNODE_CLONED=0 -- "$steps" "${program[@]}"
clean silent
same "no callbacks GRAPHNODE_CLONED: no paths" 0 "$(count silent captured)"
profile unused -- "$steps" init stream=1 capture alpha=1 end-capture=0 instantiate=0 start \
    launch=0 sync stop
same "no NVTX: no paths" "0 1" "$(count unused captured) $(count unused kernel)"
profile old_cupti SIMGPU_CUPTI_VERSION=18 -- "$steps" "${program[@]}"
clean old_cupti
same "the oldest CUPTI: paths too" "$captured
$captured" "$(paths old_cupti)"

# ---- launches by the device ------------------------------------------------------------------
# notes NAME
notes() {
    "$miniprof" summary "$work/$1.mpt" 2>&1 | sed -n '/kernel times add up/d; s/.*Note: //p'
}

device=(init stream=1 make-graph=0 instantiate-for-device=0 make-graph=1 instantiate-with-params=1
    start launch=0 sync stop)
two="2 CUDA graphs were"
profile device SIMGPU_DEVICE_LAUNCHES=3 -- "$steps" "${device[@]}"
same "device launches, node level: said to be missing" "$two made that the device may launch by \
itself: such launches are not in the trace." "$(notes device)"
same "device launches, node level: a counter, and no loss" "device_graphs 2" \
    "$(rows device quality | awk -F, '/device|dropped/ { print $1, $3 }')"
# From CUDA 12.8 on.
if [ "$("$miniprof" info --json device.mpt | sed -n 's/.*"cupti_version": "\([0-9]*\)".*/\1/p')" \
    -ge 26 ]; then
    profile device_graph SIMGPU_DEVICE_LAUNCHES=3 MINIPROF_CUDA_GRAPH=graph -- "$steps" \
        "${device[@]}"
    same "device launches, graph level: a row each" "1 3" \
        "$(column device_graph graph correlation | awk '$1 { a++ } !$1 { b++ } END { print a, b }')"
    same "device launches, graph level: nothing is said to be missing" "" "$(notes device_graph)"
fi
profile device_off SIMGPU_DEVICE_LAUNCHES=3 MINIPROF_CUDA_GRAPH=graph MINIPROF_DEVICE_GRAPHS=off \
    -- "$steps" "${device[@]}"
same "MINIPROF_DEVICE_GRAPHS=off: no rows, but the note" "1 $two made" \
    "$(count device_off graph) $(notes device_off | cut -d' ' -f1-5)"
profile device_old SIMGPU_DEVICE_LAUNCHES=3 SIMGPU_CUPTI_VERSION=18 MINIPROF_CUDA_GRAPH=graph -- \
    "$steps" "${device[@]}"
same "device launches, an old CUPTI: the note" "$two made" "$(notes device_old | cut -d' ' -f1-5)"
profile conditional SIMGPU_CONDITIONAL_NODES=1 -- "$steps" init stream=1 make-graph=0 \
    instantiate=0 create-graph=1 node=1:alpha instantiate=1 start launch=0 sync stop
same "conditional nodes: what they repeat is said to be missing" "1 CUDA graph was made with \
conditional nodes: what their bodies run again on the device may be missing." "$(notes conditional)"
same "others: no note" "" "$(notes auto)$(notes child)"
finish
