#!/bin/bash
# miniprof summary: the numbers of known_trace.h in nvprof's layout.
. "$SOURCE/tests/tools/cli.sh" || exit 1

trace plain
run summary plain.mpt
code 0
quiet
stdout <"$expected/summary.txt"

run summary --csv plain.mpt
code 0
stdout <"$expected/summary_csv.txt"

# nvprof's own form of it.
run -i plain.mpt --csv
code 0
stderr <"$expected/nvprof_summary_csv.txt"

run summary --json plain.mpt
code 0
json 'd["pid"] == 4242 and d["command"] == "./infer --batch 1" and d["ranges"] == 2'
json 'd["quality"]["whole"] is True and d["quality"]["warning"] is None'
json '[g["name"] for g in d["groups"]] == ["gpu_activities", "api_calls"]'
json 'd["groups"][0]["total_ns"] == 1234567 + 60000 + 50000 + 4000 + 640 + 500'
json 'd["groups"][0]["rows"][1]["calls"] == 3 and d["groups"][0]["rows"][1]["min_ns"] == 10000'
json 'd["groups"][1]["rows"][2]["mean_ns"] == 2000.5'

run summary --range 1 plain.mpt
code 0
stdout <"$expected/summary_range.txt"

run summary --range=3 plain.mpt
code 2
stdout </dev/null
stderr <<'END'
miniprof summary: 'plain.mpt': there is no capture range 3; the trace has 2
END

run summary --demangling off --csv --range=1 plain.mpt
code 0
stdout_like <<'END'
type,*
"GPU activities",*,"_Z6vecAddPKfS0_Pfi"
"GPU activities",*,"[[]CUDA memcpy HtoD]"
"API calls",*,"cudaLaunchKernel"
"API calls",*,"cuMemcpyHtoDAsync"
END

# Parts of it.
run summary --gpu plain.mpt
code 0
sed '/API calls/,$d' "$expected/summary.txt" | stdout

run summary --api plain.mpt
code 0
{
    sed '/GPU activities/,$d' "$expected/summary.txt"
    sed -n '/API calls/,$p' "$expected/summary.txt"
} | stdout

run summary --gpu --api plain.mpt
code 0
stdout <"$expected/summary.txt"

run summary --per-gpu plain.mpt
code 0
{
    sed -n '1,/Profiling result/p' "$expected/summary.txt"
    echo
    echo '==4242== Device "Tested GPU (0)"'
    sed '1,/Profiling result/d; /API calls/,$d' "$expected/summary.txt"
} | stdout

run summary --per-gpu --json plain.mpt
code 0
json 'd["groups"] == [] and [(g["device"], g["name"]) for g in d["devices"]] == [(0, "Tested GPU")]'
json 'd["devices"][0]["total_ns"] == 1234567 + 60000 + 50000 + 4000 + 640 + 500'

run summary --api --json plain.mpt
code 0
json '[g["name"] for g in d["groups"]] == ["api_calls"] and "devices" not in d'

run summary --api -u us plain.mpt
code 0
stdout_like <<'END'
*
*
            Type *
                        %        us                  us        us        us        us
      API calls:    98.34  *cudaStreamSynchronize
                     1.36  *cudaLaunchKernel
                     0.30  *cuMemcpyHtoDAsync
END

run summary -u years plain.mpt
code 2
stdout </dev/null
stderr <<'END'
miniprof summary: --unit takes s, ms, us, ns, col or auto, not 'years'
END

# Of what was not recorded nothing is said, unless nothing else is asked for.
trace no-api
run summary no-api.mpt
code 0
stdout <<'END'
==4242== Profiling application: ./infer --batch 1
==4242== Profiling result:
No kernels were profiled.
END

trace no-gpu
run summary no-gpu.mpt
code 0
stdout_like <<'END'
==4242== Profiling application: ./infer --batch 1
==4242== Profiling result:
            Type  Time(%)      Time     Calls       Avg       Min       Max    StdDev  Name
      API calls:   100.0%   5.000us         1   5.000us * 5.000us       0ns  cudaLaunchKernel
END

for part in --per-gpu --gpu; do
    run summary $part no-gpu.mpt
    code 0
    stdout <<'END'
==4242== Profiling application: ./infer --batch 1
==4242== Profiling result:
No kernels were profiled.
END
done
run summary --api no-api.mpt
code 0
stdout <<'END'
==4242== Profiling application: ./infer --batch 1
==4242== Profiling result:
No API activities were profiled.
END

trace calls
run summary calls.mpt
code 0
stdout_like <<'END'
==4242== Profiling application: ./infer --batch 1
==4242== Profiling result:
No kernels were profiled.
            Type  Time(%)      Time     Calls       Avg       Min       Max    StdDev  Name
      API calls:   100.0%   5.000us         1   5.000us * 5.000us       0ns  cudaLaunchKernel
END

# In CSV that is no row.
run summary --csv calls.mpt
code 0
stdout <<'END'
type,percent,total_ns,calls,mean_ns,min_ns,max_ns,std_ns,name
"API calls",100.000000,5000,1,5000.000000,5000,5000,0.000000,"cudaLaunchKernel"
END
echo "==4242== No kernels were profiled." | stderr

trace empty
run summary empty.mpt
code 0
stdout <<'END'
==4242== Profiling application: ./infer --batch 1
==4242== Profiling result:
No kernels were profiled.
No API activities were profiled.
END

trace anonymous
run summary anonymous.mpt calls.mpt
code 0
stdout_like <<'END'
======== Profiling result:
            Type *
 GPU activities: *
*
*
*
*
*
      API calls: *
*
*
==4242== Profiling application: ./infer --batch 1
==4242== Profiling result:
No kernels were profiled.
            Type *
      API calls: *
END

finish
