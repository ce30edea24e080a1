#!/bin/bash
# miniprof info and check on a trace whose rows are known (known_trace.h).
. "$SOURCE/tests/tools/cli.sh" || exit 1

trace plain
size=$(stat -c %s plain.mpt)

run check plain.mpt
code 0
quiet
stdout_like <<'END'
plain.mpt: ok, [0-9]* chunks, 40 rows
END

run info --json plain.mpt
code 0
quiet
json "d['bytes'] == $size and d['records'] == 15 and d['rows'] == 40"
json 'abs(d["bytes_per_record"] - d["bytes"] / 15) < 1e-6'
json 'sum(t["bytes"] for t in d["tables"]) + d["other_bytes"] == d["bytes"]'
json 'sum(t["rows"] for t in d["tables"]) == 40'
json 'sum(t["chunks"] for t in d["tables"]) == d["chunks"]'
json '{t["table"]: t["rows"] for t in d["tables"]}["kernel"] == 4'
json 'd["first_ns"] == 1001000 and d["last_ns"] == 3450000'
json '[list(r.values()) for r in d["ranges"]] == [[1, 1000000, 2000000], [2, 2000000, 3500000]]'
json 'd["properties"]["pid"] == "4242" and d["properties"]["clock"] == "monotonic"'
json 'd["quality"]["whole"] is True and d["quality"]["dropped"] == 0'

run info plain.mpt
code 0
quiet
stdout_like <<END
miniprof                    make_trace 1
pid                         4242
executable                  /opt/infer
argv                        ./infer --batch 1
clock                       monotonic
time span                   2.449ms
capture ranges              2
  range 1                   1.000ms
  range 2                   1.500ms
dropped                     0

Table              Rows   Chunks      Bytes  Bytes/Row  Raw bytes
string               10        1 *
thread                1        1 *
device                1        1 *
stream                1        1 *
function              5        1 *
shape                 3        1 *
kernel                4        2 *
copy                  3        2 *
set                   1        1 *
call                  6        2 *
graph                 1        1 *
capture               4        2 *
all                  40       16 *

records                     15
bytes                       ${size%???},${size: -3}
bytes per record            *
END

run info --csv plain.mpt
code 0
stdout_like <<'END'
table,rows,chunks,bytes,bytes_per_row,raw_bytes
"string",10,1,*
"thread",1,1,*
"device",1,1,*
"stream",1,1,*
"function",5,1,*
"shape",3,1,*
"kernel",4,2,*
"copy",3,2,*
"set",1,1,*
"call",6,2,*
"graph",1,1,*
"capture",4,2,*
END

trace many
run check many.mpt
code 0
stdout_like <<'END'
many.mpt: ok, [0-9]* chunks, 200,040 rows
END
# A folder: each of its traces, copies too; what is no trace, and what is damaged, is told.
mkdir folder none
cp plain.mpt folder/a.mpt
cp plain.mpt folder/b.mpt
head -c 900 plain.mpt >folder/c.mpt
echo text >folder/d.txt
run check folder
code 1
quiet
stdout_like <<'END'
folder/a.mpt: ok, *
folder/b.mpt: ok, *
folder/c.mpt: *
END
echo text >folder/d.mpt
run check folder/ plain.mpt
code 3
stderr_like <<'END'
miniprof check: 'folder/d.mpt' *
END
tail -n 1 .stdout | grep -q '^plain.mpt: ok'
verdict "the others are read" $?
run check none
code 3
stderr <<'END'
miniprof check: no traces (*.mpt) in the folder 'none'
END
run check
code 2
stderr <<'END'
miniprof check: which trace? 'miniprof check TRACE.mpt'
END
run info --json many.mpt
json 'd["records"] == 200015 and d["bytes_per_record"] < 1'

finish
