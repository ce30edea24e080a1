#!/bin/bash
# A record of cudaMemcpyBatchAsync stands for many copies: reports count the copies, and share the
# record's time among them. Expected: 64 copies in 6,400 ns, 64 in 6,401 ns, one in 200 ns.
. "$SOURCE/tests/tools/cli.sh" || exit 1

"$BUILD/tests/tools/write_trace" batch.mpt <<'END'
header clock=monotonic
string id=1 text=cudaMemcpyBatchAsync
function id=1 api=1 cbid=1 name=1
thread id=1 tid=7
stream id=1 stream=7 context=1 device=0
call thread=1 function=1 start=990000 duration=2000 correlation=5
copy stream=1 kind=1 bytes=2097152 start=1000000 duration=6400 correlation=5 count=64
call thread=1 function=1 start=1006500 duration=2000 correlation=6
copy stream=1 kind=1 bytes=2097152 start=1010000 duration=6401 correlation=6 count=64
call thread=1 function=1 start=1016500 duration=2000 correlation=7
copy stream=1 kind=1 bytes=32768 start=1020000 duration=200 correlation=7 count=1
END
run summary --json batch.mpt
code 0
json '[(r["calls"], r["total_ns"], r["min_ns"], r["max_ns"]) for g in d["groups"] for r in g["rows"]
       if "memcpy" in r["name"]] == [(129, 13001, 100, 200)]'
run summary --json --range 1 batch.mpt
code 2
run overlap --json batch.mpt
code 0
json '[a["calls"] for v in d["devices"] for a in v["activities"]
       if a["activity"] == "htod"] == [129]'
run iters --json batch.mpt
code 0
json 'd["statistics"]["copies"]["mean"] * d["count"] == 129'
json 'd["statistics"]["bytes_copied"]["mean"] * d["count"] == 2 * 2097152 + 32768'
# The same copies, ten times, in NVTX ranges and as nodes of a graph that was captured in one.
# Expected: 64 copies a range, 640 in all, of 100 ns each.
{
    cat <<'END'
header clock=monotonic
string id=1 text=cudaMemcpyBatchAsync
string id=2 text=load
string id=3 text=part
function id=1 api=1 cbid=1 name=1
thread id=1 tid=7
stream id=1 stream=7 context=1 device=0
path id=1 parent=0 domain=0 name=3
node id=1 graph=1 graph_node=8
captured graph=1 graph_node=8 path=1 thread=1
END
    for ((i = 0; i < 10; i++)); do
        begin=$((1000000 + i * 100000))
        id=$((i + 1))
        echo "nvtx thread=1 kind=1 time=$begin name=2"
        echo "call thread=1 function=1 start=$((begin + 1000)) duration=2000 correlation=$id"
        echo "copy stream=1 kind=1 bytes=2097152 start=$((begin + 5000)) duration=6400" \
            "correlation=$id count=64 node=1"
        echo "nvtx thread=1 kind=2 time=$((begin + 90000))"
    done
} | "$BUILD/tests/tools/write_trace" ranges.mpt
run nvtx --json ranges.mpt
code 0
json '[(r["calls"], r["min_ns"], r["max_ns"]) for ranges in ("nvtx_ranges", "captured_ranges")
       for n in d[ranges] for r in n["gpu_activities"]["rows"]] == [(640, 100, 100)] * 2'
run layers --json ranges.mpt
code 0
json '[layer["copies"] for layer in d["layers"]] == [640, 640]'
json '[work["calls"] for layer in d["layers"] for work in layer["work"]] == [640, 640]'
run diff --json ranges.mpt ranges.mpt
code 0
json '[(row["a_calls"], row["b_calls"]) for row in d["kernels"]] == [(64, 64)]'
finish
