#!/bin/bash
# miniprof nvtx: the ranges of known_nvtx.h in nvprof's layout.
. "$SOURCE/tests/tools/cli.sh" || exit 1

trace nvtx
run nvtx nvtx.mpt
code 0
quiet
stdout <"$expected/nvtx.txt"

run nvtx --all-calls --range 2 --demangling off nvtx.mpt
code 0
stdout_like <<'END'
==4242== Profiling application: ./infer --batch 1
==4242== Capture range 2 of 2
==4242== NVTX result:
==4242==   Thread "worker, "main"" (id = 77)
==4242==     Domain "<unnamed>"
==4242==       Range "open"
            Type *
          Range:   100.0%   1.496ms         1 * open
 GPU activities:   100.0%   20.00us         1 * _Z6vecAddPKfS0_Pfi
      API calls:   99.46%   1.300ms         1 * cudaStreamSynchronize
                    0.54%   7.000us         1 * cudaLaunchKernel

==4242==       Range "step"
            Type *
          Range:   100.0%   1.500ms         1 * step
 GPU activities:   86.96%   20.00us         1 * _Z6vecAddPKfS0_Pfi
                   13.04%   3.000us         1 * [[]CUDA memcpy HtoD]
      API calls:   99.31%   1.300ms         1 * cudaStreamSynchronize
                    0.53%   7.000us         1 * cudaLaunchKernel
                    0.15%   2.001us         1 * cuMemcpyHtoDAsync

==4242== 1 of the ranges has no end and lasts to the end of the capture range.
END

run nvtx --csv nvtx.mpt
code 0
stdout_like <<'END'
tid,thread_name,domain,range,type,percent,total_ns,calls,mean_ns,min_ns,max_ns,name
77,"worker, ""main""","io","load","Range",100.000000,2900,1,2900.000000,2900,2900,"load"
77,"worker, ""main""","io","load","GPU activities",100.000000,1000,1,1000.000000,1000,1000,"[[]CU*"
77,"worker, ""main""","io","load","API calls",100.000000,2000,1,2000.000000,2000,2000,"cuMemcpy*"
77,"worker, ""main""",,"open","Range",*,"open"
77,"worker, ""main""",,"open","GPU activities",*
77,"worker, ""main""",,"open","API calls",*
77,"worker, ""main""",,"step","Range",100.000000,1519000,2,759500.000000,19500,1499500,"step"
77,"worker, ""main""",,"step","GPU activities",93.750000,60000,3,20000.000000,10000,30000,"vecAdd(*"
77,"worker, ""main""",,"step","GPU activities",6.250000,4000,2,*
77,"worker, ""main""",,"step","API calls",*
77,"worker, ""main""",,"step","API calls",*
END
stderr <<'END'
==4242== 1 of the ranges has no end and lasts to the end of the trace.
END

run nvtx -u us nvtx.mpt
code 0
grep -q '^ *% *us *us *us *us$' .stdout
verdict "a row of units" $?

run nvtx --json nvtx.mpt
code 0
json 'd["pid"] == 4242 and d["ranges"] == 2 and d["quality"]["whole"] and d["unfinished"] == 1'
json 'd["no_calls"] is False'
json '[(r["domain"], r["name"], r["instances"]) for r in d["nvtx_ranges"]] ==
      [("io", "load", 1), (None, "open", 1), (None, "step", 2)]'
json 'all(r["thread"] == 1 and r["tid"] == 77 for r in d["nvtx_ranges"])'
json 'd["nvtx_ranges"][2]["total_ns"] == 1519000 and d["nvtx_ranges"][2]["unfinished"] == 0'
json 'd["nvtx_ranges"][2]["gpu_activities"]["total_ns"] == 64000'
json '[r["calls"] for r in d["nvtx_ranges"][2]["api_calls"]["rows"]] == [3, 2]'

trace plain
run nvtx plain.mpt
code 0
stdout <<'END'
==4242== Profiling application: ./infer --batch 1
==4242== No NVTX ranges in the trace.
END

run nvtx --json plain.mpt
code 0
json 'd["nvtx_ranges"] == []'

run nvtx --range 9 nvtx.mpt
code 2
stdout </dev/null
stderr <<'END'
miniprof nvtx: 'nvtx.mpt': there is no capture range 9; the trace has 2
END

run nvtx -u days nvtx.mpt
code 2
stderr <<'END'
miniprof nvtx: --unit takes s, ms, us, ns, col or auto, not 'days'
END

run nvtx
code 2
stderr <<'END'
miniprof nvtx: which trace? 'miniprof nvtx TRACE.mpt'
END

run nvtx nothing.mpt
code 3
stderr_like <<'END'
miniprof nvtx: *'nothing.mpt'*
END

# Cut in the middle: what is left is told, and that it is not all.
head -c $(($(stat -c %s nvtx.mpt) - 150)) nvtx.mpt >cut.mpt
run nvtx cut.mpt
code 1
head -n 1 .stdout | grep -q '^==4242== Warning: '
verdict "a warning first" $?

finish
