#!/bin/bash
# miniprof dump: rows as text, CSV and JSON lines, references in words or raw.
. "$SOURCE/tests/tools/cli.sh" || exit 1

trace plain
run dump --table kernel plain.mpt
code 0
quiet
stdout <<'END'
stream  shape                                            node    start  duration  correlation
0:1:13  vecAdd(float const*, float const*, float*, int)  -     1020000     10000          102
0:1:13  vecAdd(float const*, float const*, float*, int)  -     2040000     30000          103
0:1:13  vecAdd(float const*, float const*, float*, int)  -     2020000     20000          203
0:1:13  void gemm<128>(float const*, float const*, float*)  -     2100000   1234567          204
END

run dump --table kernel --raw --csv plain.mpt
code 0
stdout <<'END'
stream,shape,node,start_ns,duration_ns,correlation
1,1,0,1020000,10000,102
1,2,0,2040000,30000,103
1,1,0,2020000,20000,203
1,3,0,2100000,1234567,204
END

run dump --table call --json plain.mpt
code 0
stdout <"$expected/dump_call_json.txt"

run dump --table capture plain.mpt
stdout <<'END'
range  kind      time  correlation  reason
    1  begin  1000000          100  profiler_api
    1  end    2000000          106  profiler_api
    2  begin  2000000          200  profiler_api
    2  end    3500000          300  profiler_api
END

run dump --table memory --csv plain.mpt
code 0
stdout_like <<'END'
thread,operation,kind,*,bytes,address,time_ns,*,pool_used_bytes,pool_size_bytes,*
END

# All tables: each row of the file once.
run dump --json plain.mpt
code 0
python3 - <<'END'
import collections, json, sys
rows = collections.Counter(json.loads(line)["table"] for line in open(".stdout"))
sys.exit(rows != {"string": 10, "thread": 1, "device": 1, "stream": 1, "function": 5, "shape": 3,
                  "kernel": 4, "copy": 3, "set": 1, "call": 6, "graph": 1, "capture": 4})
END
verdict "rows of each table" $?
run dump plain.mpt
code 0
grep -c ': ' .stdout >/dev/null
[ "$(grep -cE '^[a-z_]+: [A-Z]' .stdout)" -eq 12 ]
verdict "headings" $?
run dump --csv plain.mpt
code 2
stdout </dev/null
stderr <<END
miniprof dump: --csv prints one table, such as --table=kernel ('miniprof info' lists them); --json \
prints all
END
run dump --jsonl --table set plain.mpt
code 0
cp .stdout as-lines.txt
run dump --json --table set plain.mpt
stdout <as-lines.txt

# A shape that is not in the file keeps its number.
trace undefined
run dump --table kernel --csv undefined.mpt
code 0
[ "$(tail -n 1 .stdout)" = '"0:1:13","#9",,2600000,777,0' ]
verdict "undefined shape" $?

# Memory does not grow with the rows: 200000 of them under a limit of 64 MiB of address space.
if [ -z "${SAN:-}" ]; then
    trace many
    last="dump under a memory limit"
    (ulimit -v 65536; "$miniprof" dump --json --table kernel many.mpt 2>/dev/null | wc -l) >.rows
    [ "$(cat .rows)" -eq 200004 ]
    verdict "rows" $?
fi

finish
