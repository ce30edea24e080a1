#!/bin/bash
# Which line costs what, of a trace whose stacks, calls and work are known (known_stacks.h): the
# list by line, function and file, the tree, CSV and JSON; sums that agree with other reports.
. "$SOURCE/tests/tools/cli.sh" || exit 1

trace stacks
trace stacks-few
trace plain

# 92000 ns in all, of which 5000 have no stack. forward calls itself, and counts once. The first
# wait and its path end with kernel 1005: what launched the node is no launch of a graph here.
run stacks stacks.mpt
code 0
quiet
stdout <<'END'
==4242== Profiling application: ./infer --batch 1
==4242== Who called, by line, with all that was called from there:
Time(%)  GPU time      Self  Calls  Launches   Waiting  Critical  Host code  Function
 94.57%   87.00us       0ns     10         7   275.0us   84.00us    65.00us  <module> (main.py:10)
 90.22%   83.00us   2.000us      8         6   268.0us   80.00us    65.00us  train (main.py:20)
 76.09%   70.00us   70.00us      3         3       0ns   70.00us        0ns  forward (model.py:7)
 11.96%   11.00us   11.00us      1         1       0ns   8.000us        0ns  backward (model.py:9)
  4.35%   4.000us   4.000us      2         1   7.000us   4.000us        0ns  train (main.py:21)
  5.43%   5.000us   5.000us      1         1       0ns   5.000us        0ns  <no stack>
END

run stacks --tree stacks.mpt
code 0
stdout_like <<'END'
==4242== *
==4242== Who called, as a tree, by line, with all that was called from there:
Time(%)  GPU time      Self  Calls  Launches   Waiting  Critical  Host code  Function
 94.57%   87.00us       0ns     10         7 * 65.00us  <module> (main.py:10)
 90.22%   83.00us   2.000us      8         6 * 65.00us    train (main.py:20)
 76.09%   70.00us   60.00us      3         3 *      forward (model.py:7)
 10.87%   10.00us   10.00us      1         1 *        forward (model.py:7)
 11.96%   11.00us   11.00us      1         1 *      backward (model.py:9)
  4.35%   4.000us   4.000us      2         1 * 0ns    train (main.py:21)
  5.43%   5.000us   5.000us      1         1 * <no stack>
END

run stacks --by file --csv stacks.mpt
code 0
cut -d, -f2,3,4,5,8,9,15,16,17,18 .stdout >.cut && mv .cut .stdout
stdout <<'END'
device_ns,self_device_ns,calls,launches,host_ns,frame,self_host_ns,function,file,line
87000,6000,10,7,65000,"/app/main.py",65000,,"/app/main.py",
81000,81000,4,4,0,"/app/model.py",0,,"/app/model.py",
5000,5000,1,1,0,"<no stack>",0,,,
END
run stacks --by function stacks.mpt
code 0
grep -c 'main.py)\|model.py)' .stdout >.cut && mv .cut .stdout
stdout <<'END'
4
END
run stacks --by file:line stacks.mpt
code 0
run stacks --by line stacks.mpt
code 0

# Waits and the path are those of deps.
run stacks --json stacks.mpt
code 0
cp .stdout stacks.json
run deps --json stacks.mpt
code 0
cp .stdout deps.json
python3 - <<'END' >.stdout
import json
stacks, deps = json.load(open("stacks.json")), json.load(open("deps.json"))
print(sum(row["waiting_ns"] or 0 for row in deps["rows"] if row["name"].startswith("cuda")) ==
      stacks["all"]["waiting_ns"] if "rows" in deps else list(deps))
rows = stacks["rows"]
print(deps["parts"]["host_code_ns"] == stacks["all"]["host_ns"])
for key in ("device_ns", "calls", "launches", "waiting_ns", "critical_ns", "host_ns"):
    print(key, sum(row["self_" + key] for row in rows) == stacks["all"][key],
          sum(row["self_" + key] for row in stacks["tree"]) == stacks["all"][key])
print(stacks["without"]["device_ns"], len(stacks["tree"]), stacks["stacks"])
END
stdout <<'END'
True
True
device_ns True True
calls True True
launches True True
waiting_ns True True
critical_ns True True
host_ns True True
5000 7 True
END

# Exports: frames of flame graphs, nsys's call chains, Perfetto's callstacks.
run export --to folded -o - stacks.mpt
code 0
sed 's/<module> (main.py:10);train (main.py:20)/train/; s/(float const[^)]*)//; s/(model.py:/(/g' \
    .stdout >.cut && mv .cut .stdout
stdout <<'END'
train;[CUDA memcpy HtoD] 2000
train;backward (9);vecAdd 11000
train;forward (7);forward (7);void gemm<128> 10000
train;forward (7);vecAdd 10000
train;forward (7);void gemm<128> 50000
<module> (main.py:10);train (main.py:21);vecAdd 4000
vecAdd 5000
END
run export --to folded --frames ranges -o - stacks.mpt
code 0
stdout <<'END'
[CUDA memcpy HtoD] 2000
vecAdd(float const*, float const*, float*, int) 30000
void gemm<128>(float const*, float const*, float*) 60000
END
run export --to folded --frames lines -o - stacks.mpt
code 2
stderr <<'END'
miniprof export: '-': unknown frames 'lines'; there are callers, ranges
END
run export --to jsonl --frames ranges -o - stacks.mpt
code 2
stderr <<'END'
miniprof export: --weight and --frames go with --to folded
END
run export --to nsys-sqlite -o chains.sqlite stacks.mpt
if [ "$got" -eq 0 ]; then
    python3 - <<'END' >.stdout
import sqlite3
for row in sqlite3.connect("chains.sqlite").execute("""
        SELECT r.start, c.stackDepth, s.value, m.value FROM CUPTI_ACTIVITY_KIND_RUNTIME r
        LEFT JOIN CUDA_CALLCHAINS c ON c.id = r.callchainId LEFT JOIN StringIds s ON s.id = c.symbol
        LEFT JOIN StringIds m ON m.id = c.module WHERE r.start IN (4000, 8000) ORDER BY 1, 2"""):
    print(*row)
END
    stdout <<'END'
4000 0 backward (model.py:9) /app/model.py
4000 1 train (main.py:20) /app/main.py
4000 2 <module> (main.py:10) /app/main.py
8000 None None None
END
fi
run export --to perfetto -o stacks.pftrace stacks.mpt
code 0
if command -v protoc >/dev/null; then
    protoc --decode=perfetto.Trace -I "$SOURCE/tests/exports" perfetto.proto <stacks.pftrace |
        tr -d '\n' | grep -o 'callstacks { *iid: 5[^}]*}\|frames { *iid: 4[^}]*}' | tr -s ' ' \
        >.stdout
    stdout <<'END'
frames { iid: 4 function_name_id: 4 source_path_iid: 4 line_number: 9 }
callstacks { iid: 5 frame_ids: 1 frame_ids: 2 frame_ids: 4 }
END
    protoc --decode=perfetto.Trace -I "$SOURCE/tests/exports" perfetto.proto <stacks.pftrace |
        grep -o 'callstack_iid: .*' | sort | uniq -c | tr -s ' ' >.stdout
    stdout <<'END'
 4 callstack_iid: 2
 2 callstack_iid: 3
 1 callstack_iid: 4
 1 callstack_iid: 5
 2 callstack_iid: 6
END
fi

# Samples of the thread: 43 us of CPU time, and 18 of the 65 us of host code say where they were.
trace stacks-sampled
run stacks --sort sampled stacks-sampled.mpt
code 0
awk '{ print $(NF - 3), $(NF - 2), $(NF - 1) }' .stdout | sed -n '3,$p' >.cut && mv .cut .stdout
stdout <<'END'
Host code Sampled
65.00us 23.00us <module>
0ns 20.00us <no
57.00us 10.00us train
10.00us 10.00us forward
8.000us 8.000us train
0ns 0ns backward
that they stand
END
# By time of the GPU and sampled time together: line 21 has 4 and 8 us, backward 11 and 0.
# What has no stack is last.
run stacks --csv stacks-sampled.mpt
code 0
cut -d, -f2,19 .stdout >.cut && mv .cut .stdout
stdout <<'END'
device_ns,sampled_ns
87000,23000
83000,10000
70000,10000
4000,8000
11000,0
5000,20000
END
run stacks --json stacks-sampled.mpt
code 0
python3 - .stdout <<'END' >.cut && mv .cut .stdout
import json, sys
made = json.load(open(sys.argv[1]))
rows, tree = made["rows"], made["tree"]
print(made["samples"], made["gil_held_ns"], made["all"]["sampled_ns"],
      made["without"]["sampled_ns"], sum(row["self_sampled_ns"] for row in rows),
      sum(row["self_sampled_ns"] for row in tree), sum(row["self_host_ns"] for row in rows))
END
stdout <<'END'
4 15000 43000 20000 43000 43000 65000
END

# What is missing is said.
run stacks plain.mpt
code 0
stdout_like <<'END'
==4242== Profiling application: *
==4242== No stacks in the trace: `miniprof run --stacks python`, or *=python, records them.
END
trace stacks-asked
run stacks stacks-asked.mpt
code 0
tail -n 2 .stdout | cut -d' ' -f2- >.cut && mv .cut .stdout
stdout <<'END'
No stacks in the trace: MINIPROF_STACKS=python asked for them, but no recorded call has one.
Note: only calls of 2,000,000 us or more have a stack (MINIPROF_STACKS_OVER).
END
run summary --by line stacks-asked.mpt
code 2
stderr_like <<'END'
*no stacks in the trace: MINIPROF_STACKS=python asked for them, but no recorded call has one
END
run stacks stacks-few.mpt
code 0
tail -n 2 .stdout >.cut && mv .cut .stdout
stdout <<'END'
==4242== Note: one call in 10 of each thread has a stack (MINIPROF_STACKS_EVERY).
==4242== Note: only calls of 5 us or more have a stack (MINIPROF_STACKS_OVER).
END
run stacks --by operator stacks.mpt
code 2
stderr <<'END'
miniprof stacks: --by: there are line, function and file
END
run stacks --by thread stacks.mpt
code 2
stderr <<'END'
miniprof stacks: --by: there are line, function and file
END
run stacks --tree --sort calls stacks.mpt
code 2
stderr <<'END'
miniprof stacks: --sort does not go with --tree
END
run stacks --range 9 stacks.mpt
code 2
run stacks --top 1 --sort calls --csv stacks.mpt
code 0
wc -l <.stdout >.cut && mv .cut .stdout
stdout <<'END'
2
END

# What ran, and what was called, by the line behind it: the same sums as above.
run summary --by file:line --csv stacks.mpt
code 0
cut -d, -f3,4,9- .stdout | grep 'vecAdd\|gemm\|memcpy\|Stream' >.cut && mv .cut .stdout
stdout <<'END'
60000,2,"void gemm<128>(float const*, float const*, float*), from forward (model.py:7)"
11000,2,"vecAdd(float const*, float const*, float*, int), from backward (model.py:9)"
10000,1,"vecAdd(float const*, float const*, float*, int), from forward (model.py:7)"
5000,1,"vecAdd(float const*, float const*, float*, int), from <no stack>"
4000,1,"vecAdd(float const*, float const*, float*, int), from train (main.py:21)"
2000,1,"[CUDA memcpy HtoD], from train (main.py:20)"
283000,2,"cudaStreamSynchronize, from train (main.py:20)"
9000,1,"cudaStreamSynchronize, from train (main.py:21)"
END
run summary --by file --gpu stacks.mpt
code 0
grep -c 'from model.py\|from main.py\|from <no stack>' .stdout >.cut && mv .cut .stdout
stdout <<'END'
5
END
run kernels --by function --by-name --json stacks.mpt
code 0
json 'sorted((k["name"].split(", from ")[1], k["total_ns"]) for k in d["kernels"]) == [
    ("<no stack>", 5000), ("backward (model.py)", 11000), ("forward (model.py)", 10000),
    ("forward (model.py)", 60000), ("train (main.py)", 4000)]'
none='no stacks in the trace: `miniprof run --stacks python` records them'
for command in summary kernels; do
    run $command --by thread stacks.mpt
    code 2
    stderr <<END
miniprof $command: --by: there are line, function, file and operator
END
    run $command --by line plain.mpt
    code 2
    stderr <<END
miniprof $command: 'plain.mpt': $none
END
done
run summary --by line --per-gpu stacks.mpt
code 2

# Native stacks: a shared library calls for the program that called it, unless the program is not on
# the stack. Code without a module is no module without a name.
trace stacks-native
run summary --by function --csv stacks-native.mpt
code 0
cut -d, -f3,4,9- .stdout | grep 'infer\|libwork\|no module' >.cut && mv .cut .stdout
stdout <<'END'
5000,2,"cudaLaunchKernel, from infer+0x10 (infer)"
3000,1,"cudaLaunchKernel, from <no module>+0x30"
END
run stacks stacks-native.mpt
code 0
grep -q 'libdw is not installed\|modules without names: 2, first /opt/infer\.' .stdout
verdict "modules without names" $?

# Iterations end with the three waits. Between the calls: 1 us each in train, forward, train, train,
# train, train; 25 us and 4 us and 40 us in train, all at line 20; 1 us at line 21.
run iters --json stacks.mpt
code 0
json 'sorted((r["function"], r["line"], round(r["mean_ns"] * d["count"]))
    for r in d["host_code"]) == [("forward", 7, 1000), ("train", 20, 74000), ("train", 21, 1000)]'
run iters stacks.mpt
code 0
grep -A2 'Host code of an iteration, by the line' .stdout | tail -n 1 >.cut && mv .cut .stdout
stdout <<'END'
 97.37%   24.67us  train (main.py:20)
END

# The path has the 25 us and the 40 us of them, as the column `Host code` of `stacks` does. By
# iterations: of the second and the third.
run deps --parts stacks.mpt
code 0
grep -A2 'Host code on the critical path, by the line' .stdout >.cut && mv .cut .stdout
stdout <<'END'
==4242== Host code on the critical path, by the line from which its thread went on:
  Share  Critical path  Host code
 100.0%        65.00us  train (main.py:20)
END
run deps --parts --csv --table host_code stacks.mpt
code 0
stdout <<'END'
percent,critical_ns,frame,function,file,line
100.000000,65000,"train (main.py:20)","train","/app/main.py",20
END
run deps --json stacks.mpt
code 0
json 'sum(r["critical_ns"] for r in d["host_code"]) == d["parts"]["host_code_ns"]
    and [(r["function"], r["line"]) for r in d["host_code"]] == [("train", 20)]'
run deps --parts --iterations auto --csv --table host_code stacks.mpt
code 0
stdout <<'END'
percent,mean_ns,frame,function,file,line
100.000000,21666.666667,"train (main.py:20)","train","/app/main.py",20
END
run deps --parts --csv --table host_code plain.mpt
code 0
stdout <<'END'
percent,critical_ns,frame,function,file,line
END
run deps --parts plain.mpt
code 0
! grep -q 'by the line' .stdout
verdict "no lines without stacks" $?
run deps --json plain.mpt
code 0
json '"host_code" not in d'
finish
