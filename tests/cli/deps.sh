#!/bin/bash
# miniprof deps: the numbers of known_trace.h, worked out by hand from docs/dependency-analysis.md.
#
# Range 1, 1000000 to 2000000, is prolonged to 2070000 by the kernel that runs while range 2 is on.
# Its path, backwards: that kernel 30000; bound by stream order, without a gap, to the one before
# it, 20000, whose launch call had returned before the copy PtoP ended: stream gap 4500, the copy
# 500, stream gap 2000, the copy HtoD 3000, launch latency 9000 back to its call; then the thread:
# host code 985000, launches 6000 and 5000, a copy call 2000, and 1000 of host code between each two
# and before the first.
# Range 2, 2000000 to 3500000: host code 100000, cudaStreamSynchronize 1300000 (the graph it could
# wait for ends after it, so it does not wait), host code 89000, a launch 7000, host code 999, a
# copy call 2001, host code 1000.
. "$SOURCE/tests/tools/cli.sh" || exit 1

trace plain
run deps plain.mpt
code 0
quiet
stdout <"$expected/deps.txt"

run deps --range 1 --csv --parts plain.mpt
code 0
quiet
stdout <<'OUT'
critical_path_percent,critical_ns,waiting_ns,name
92.336449,988000,0,"<host code>"
4.672897,50000,0,"vecAdd(float const*, float const*, float*, int)"
1.028037,11000,0,"cudaLaunchKernel"
0.841121,9000,0,"<launch latency>"
0.607477,6500,0,"<stream gap>"
0.280374,3000,0,"[CUDA memcpy HtoD]"
0.186916,2000,0,"cuMemcpyHtoDAsync"
0.046729,500,0,"[CUDA memcpy PtoP]"
OUT
run deps --range 1 --csv --parts --table latencies plain.mpt
code 0
quiet
stdout <<'OUT'
shortest_ns,p50_ns,p90_ns,examples,step
9000,9000,9000,2,"cuMemcpyHtoDAsync to [CUDA memcpy HtoD]"
0,4500,9360,4,"stream to kernel"
2000,2000,2000,1,"stream to copy"
20000,20000,20000,1,"stream to set"
65433,65433,65433,1,"stream to graph"
OUT

run deps --json plain.mpt
code 0
json 'd["pid"] == 4242 and d["command"] == "./infer --batch 1" and d["quality"]["whole"]'
json 'd["ranges"] == 2 and d["range"] is None and d["window_ns"] == 1070000 + 1500000'
json '[(w["range"], w["begin_ns"], w["end_ns"], w["window_ns"]) for w in d["windows"]] ==
      [(1, 1000000, 2070000, 1070000), (2, 2000000, 3500000, 1500000)]'
json 'sum(r["critical_ns"] for r in d["rows"]) == d["window_ns"]'
json 'sum(d["parts"].values()) == 1194499 and d["parts"]["launch_latency_ns"] == 9000'
json '{r["name"]: r["calls"] for r in d["rows"]}["cudaLaunchKernel"] == 3'
json 'd["unlaunched"] == 4 and d["clamped"] == d["contradicted"] == d["overlapping"] == 0'
json 'not {"activities", "iterations", "what_if", "top"} & set(d)'

run deps --range 1 --trace --json plain.mpt
code 0
json '[(a["number"], a["start_ns"], a["kind"]) for a in d["activities"]] ==
      [(1, 1001000, "call"), (2, 1004000, "call"), (3, 1010000, "call"), (4, 1010000, "copy"),
       (5, 1020000, "kernel"), (6, 2040000, "kernel")]'
json '[a["bound_by"] for a in d["activities"]][3:] == ["D2", "D3", "D3"]'
json '[a["bound_to"] for a in d["activities"]][3:] == [1, 4, None]'
json '[a["critical_ns"] for a in d["activities"]] == [2000, 5000, 6000, 0, 0, 30000]'
json 'all((a["thread"] == 77) == (a["kind"] == "call") for a in d["activities"])'
json 'all((a["stream"] == 13) == (a["kind"] != "call") for a in d["activities"])'

run deps --range 1 --trace plain.mpt
code 0
quiet
stdout_like <"$expected/deps_trace.txt"

# CSV says what JSON says.
eager=$SOURCE/tests/data/resnet50_eager.mpt
run deps --trace --json "$eager"
cp .stdout json.out
run deps --trace --csv "$eager"
code 0
python3 - json.out .stdout <<'END'
import csv, json, sys
document = json.load(open(sys.argv[1]))
begins = {w["range"]: w["begin_ns"] for w in document["windows"]}
rows = list(csv.DictReader(open(sys.argv[2])))
assert len(rows) == len(document["activities"])
for row, activity in zip(rows, document["activities"]):
    assert int(row["offset_ns"]) == max(activity["start_ns"] - begins[activity["range"]], 0), row
    for key in ("number", "duration_ns", "critical_ns", "waiting_ns", "slack_ns"):
        assert int(row[key]) == activity[key], row
    assert row["bound_to"] == str(activity["bound_to"] or ""), row
END
verdict "the times of both are the same" $?

# Slack by the equations of section 6: everything has to end by 3500000, and what is behind the set
# is bound by stream order, so all of that can be as late as the graph, which ends at 3450000.
run deps --range 2 --trace --json plain.mpt
code 0
json '{a["slack_ns"] for a in d["activities"] if a["kind"] == "call"} == {0}'
json '[(a["kind"], a["slack_ns"]) for a in d["activities"] if a["start_ns"] >= 2090000] ==
      [("set", 50000), ("call", 0), ("kernel", 50000), ("graph", 50000)]'

# What-if: without vecAdd both kernels of the path take no time; half a launch call moves
# everything behind it.
run deps --range 1 --what-if 'vecAdd*=0' plain.mpt
code 0
quiet
stdout_like <<'OUT'
==4242== Profiling application: ./infer --batch 1
==4242== Capture range 1 of 2
==4242== What if vecAdd[*]=0 (as recorded):
          Now            New     Difference  Difference(%)  Name
      1.070ms        1.020ms       -50.00us         -4.67%  Total
==4242== *
==4242== *
==4242== *
OUT
# What stays of launches is said where less latency gains nothing.
eager=$SOURCE/tests/data/resnet50_eager.mpt
run deps --what-if launch_latency=0 "$eager"
code 0
grep -q 'Note: the calls that launch stay; launch=0 takes them away too' .stdout
verdict "what stays of launches" $?
run deps --what-if launch=0 "$eager"
code 0
grep -q 'Note: host code between the launches stays, which a CUDA graph saves too' .stdout
verdict "what stays between launches" $?
run deps --what-if gap=0 "$eager"
code 0
! grep -q 'the calls that launch stay' .stdout
verdict "no word of launches" $?
change=(--what-if 'cudaLaunchKernel=0.5x' --what-if 'vecAdd*=-1us' --gains 2)
run deps --range 1 "${change[@]}" --csv plain.mpt
code 0
stdout <<'OUT'
now_ns,new_ns,difference_ns,difference_percent,name
1070000.000000,1062500.000000,-7500,-0.700935,"Total"
OUT
run deps --range 1 "${change[@]}" --csv --table gains plain.mpt
code 0
stdout <<'OUT'
gain_percent,gain_ns,critical_ns,name
2.336449,25000,50000,"vecAdd(float const*, float const*, float*, int)"
0.514019,5500,11000,"cudaLaunchKernel"
OUT
run deps --json --what-if 'memcpy HtoD=1x' --what-if host=1x plain.mpt
code 0
json 'd["what_if"]["changes"] == ["memcpy HtoD=1x", "host=1x"]'
json 'd["what_if"]["new_ns"] == d["window_ns"]'
json '[w["new_ns"] for w in d["what_if"]["windows"]] == [1070000, 1500000]'

# ---- Mistakes: one line each ----

wrong() { # LINE ARGUMENT...
    local line=$1
    shift
    run deps "$@"
    code 2
    stdout </dev/null
    echo "$line" | stderr_like
}

wrong "miniprof deps: 'plain.mpt': there is no capture range 3; the trace has 2" --range=3 plain.mpt
wrong "miniprof deps: 'plain.mpt': *'iteration'*" --iters iteration plain.mpt
wrong "miniprof deps: --slowest needs --iterations=NAME, without --iteration" --slowest 3 plain.mpt
for option in --iters=x --what-if=launch_latency=0 --gains=1; do
    wrong "miniprof deps: --trace goes with none of --iterations, --what-if and --gains" \
        --trace $option plain.mpt
done
for change in '' x =0 launch= launch=x launch=0.5 launch=-x 'launch=-1x' 'launch=1e999x' \
    'launch=nanx' 'launch=10 us' 'launch=10parsecs' 'launch=99999999999999999999s'; do
    wrong "miniprof deps: *" --what-if "$change" missing.mpt
done
wrong "miniprof deps: 'plain.mpt': nothing is called 'gem'; nearest are '*" \
    --what-if 'launch_latency=0' --what-if 'gem=0' plain.mpt
wrong "miniprof deps: 'plain.mpt': nothing is called 'latency'; nearest are *" \
    --what-if 'latency=0' plain.mpt
wrong "miniprof deps: --gains takes a number from 1, not '0'" --gains=0 plain.mpt
wrong "miniprof deps: --top takes a number from 1, not '0'" --top=0 plain.mpt

# ---- Traces that lack something ----

trace empty
run deps empty.mpt
code 0
quiet
head -n 3 .stdout >.head && mv .head .stdout
stdout <<'OUT'
==4242== Profiling application: ./infer --batch 1
==4242== Dependency Analysis:
No activities were profiled.
OUT
for option in --json '--json --trace' --trace --csv --gains=3 '--json --gains=3' --top=3 \
    '--json --top=3'; do
    # shellcheck disable=SC2086
    run deps $option empty.mpt
    code 0
    [ "$option" = --csv ] || quiet
done

trace dropped
run deps dropped.mpt
code 1
quiet
grep -q '^==4242== Warning: .*12 records' <(head -n 1 .stdout)
verdict "the first line warns" $?
grep -q 'No critical path: too many records were lost' .stdout
verdict "and says why nothing follows" $?

trace doubtful
run deps --json doubtful.mpt
code 1
json 'd["quality"]["unknown_times"] == 2 and d["quality"]["reversed_times"] == 1'
json 'sum(r["critical_ns"] for r in d["rows"]) == d["window_ns"] == 2570000'

trace calls
run deps --json calls.mpt
code 0
json 'd["window_ns"] == 5000 and d["rows"][0]["critical_ns"] == 5000'

run deps missing.mpt plain.mpt
code 3
[ "$(grep -c 'Dependency Analysis' .stdout)" -eq 1 ]
verdict "the good trace" $?

# ---- Iterations as iters finds them ----

trace nvtx
run deps --iters=step --json nvtx.mpt
cp .stdout by_name
run deps --iters=auto --json nvtx.mpt
code 0
json 'd["iterations"]["count"] == json.load(open("by_name"))["iterations"]["count"] == 2'
json '[w["begin_ns"] for w in d["windows"]] ==
      [w["begin_ns"] for w in json.load(open("by_name"))["windows"]]'
run deps --iters=requests:nobody nvtx.mpt
code 2
stderr_like <<'END'
miniprof deps: 'nvtx.mpt': there is no thread 'nobody'; there are: *
END

finish
