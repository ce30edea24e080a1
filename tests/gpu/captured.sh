#!/bin/bash
# The NVTX ranges in which nodes of CUDA graphs were captured, on a GPU: as tests/e2e/captured.sh
# has them of the software GPU, for graphs that are captured, built by hand, cloned, put into
# others, destroyed and updated.
. "$(dirname "$0")/lib.sh"
steps=$BUILD/tests/e2e/steps
[ -x "$steps" ] || skip "tests/e2e/steps was not built"
cd "$WORK" || exit 1
failed=0

# expect WHAT "kernel path" lines, sorted; then a program, and settings before it.
expect() {
    local what=$1 expected=$2 found
    shift 2
    rm -f trace.mpt
    traced trace.mpt env MINIPROF_LOG=debug "$@" >out.txt 2>err.txt ||
        fail "$what: $(tail -n 3 err.txt)"
    found=$("$BUILD/miniprof" gpu-trace --json trace.mpt | python3 -c '
import json, sys
for row in json.load(sys.stdin)["rows"]:
    if row["kind"] == "kernel":
        print(row["name"].split("(")[0], row.get("captured_in") or "-")' | sort | uniq -c |
        sed 's/^ *//')
    if [ "$found" = "$expected" ]; then
        echo "ok $what"
        return
    fi
    echo "FAILED $what"
    diff <(echo "$expected") <(echo "$found") | sed 's/^/    /'
    grep 'graph ' err.txt | sed 's/^/    /'
    failed=1
}

capture=(capture push=model push=layer1 alpha=1 pop push=layer2 beta=1 pop pop gamma=1
    end-capture=0)
captured="2 alpha model > layer1
2 beta model > layer2
2 gamma -"

for mode in auto range all; do
    expect "captured, $mode" "$captured" MINIPROF_CAPTURE=$mode "$steps" init stream=1 \
        "${capture[@]}" instantiate=0 start launch=0 launch=0 sync stop
done
expect "by hand, range" "1 alpha hand
1 beta hand > deep" MINIPROF_CAPTURE=range "$steps" init stream=1 create-graph=0 push=hand \
    node=0:alpha push=deep node=0:beta pop pop instantiate=0 start launch=0 sync stop
expect "clones" "$captured" "$steps" init stream=1 "${capture[@]}" clone-graph=0:1 destroy-graph=0 \
    clone-graph=1:2 instantiate=1 instantiate=2 start launch=1 launch=2 sync stop
expect "a child graph" "1 alpha model > layer1
1 alpha parent
1 beta model > layer2
1 gamma -" "$steps" init stream=1 "${capture[@]}" create-graph=1 push=parent node=1:alpha \
    child=1:0 pop instantiate=1 destroy-graph=0 start launch=1 sync stop
expect "cuGraphExecUpdate" "1 alpha first
1 beta first" "$steps" init stream=1 push=first capture alpha=1 end-capture=0 pop \
    push=second capture beta=1 end-capture=1 pop instantiate=0 start launch=0 update-exec=0:1 \
    launch=0 sync stop
expect "cuGraphInstantiate_v2, cuGraphLaunch_ptsz" "$captured" "$steps" init stream=1 \
    "${capture[@]}" instantiate-old=0 start upload=0 launch-ptsz=0 upload-ptsz=0 launch=0 sync stop
again=(init stream=1 start)
for n in 1 2 3 4 5 6 7; do
    again+=(push="range$n" capture alpha=1 "end-capture=$n" pop "instantiate=$n" "launch=$n" sync
        "destroy-exec=$n" "destroy-graph=$n")
done
expect "graphs that are made and destroyed" "$(for n in 1 2 3 4 5 6 7; do
    echo "1 alpha range$n"
done)" "$steps" "${again[@]}" stop
echo "ids of these graphs: $("$BUILD/miniprof" dump --csv --table node trace.mpt | tail -n 7 |
    cut -d, -f3 | paste -sd' ')"
expect "samples/inference" "4 add_join res2a
4 add_join res2b
4 conv_layer conv1
4 conv_layer res2b_branch2a
4 gemm_layer res2a_branch1
4 gemm_layer res2b_branch1
4 relu_layer res2a_relu
4 relu_layer res2b_relu" "$BUILD/samples/inference" --graph --iterations 4 --layers 8
exit $failed
