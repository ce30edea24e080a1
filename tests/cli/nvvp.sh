#!/bin/bash
# Takes 8 s.
# nvprof's files: what they hold of a trace, that they come back as the trace they were made of, and
# what becomes of those that nvprof wrote. nvvp_convert stands for the front end. With CHECKS=short
# the largest trace does not go there and back.
. "$SOURCE/tests/tools/cli.sh" || exit 1

convert=$BUILD/tests/tools/nvvp_convert
export PYTHONPATH=$SOURCE/tests/readers

run_convert() {
    last="nvvp_convert $*"
    "$convert" "$@" >.stdout 2>.stderr
    got=$?
}

trace plain
run_convert write plain.mpt plain.nvvp
[ "$got" -eq 3 ] && { echo "skipped: built without SQLite"; exit 77; }
code 0
quiet

# ---- there and back ----

reports() { # TRACE
    "$miniprof" summary "$1"
    "$miniprof" summary --json "$1"
    "$miniprof" deps "$1"
    "$miniprof" deps --json "$1"
    "$miniprof" deps --trace --csv "$1"
    "$miniprof" gpu-trace "$1"
    "$miniprof" api-trace "$1"
    "$miniprof" nvtx "$1"
    "$miniprof" dump --json --raw "$1" | LC_ALL=C sort -s -k 2,2 # by table
}

for kind in empty calls doubtful undefined dropped many anonymous; do trace "$kind"; done
for file in "$SOURCE"/tests/data/*.mpt ./*.mpt; do
    name=$(basename "$file" .mpt)
    [ "$name ${CHECKS:-}" != "resnet50_eager short" ] || continue
    last="$name there and back"
    mkdir "$name"
    cp "$file" "$name/trace.mpt"
    (
        cd "$name" || exit 1
        "$convert" write trace.mpt trace.nvvp || exit 1
        reports trace.mpt >before 2>&1
        rm trace.mpt
        "$convert" read trace.nvvp trace.mpt || exit 1
        reports trace.mpt >after 2>&1
        [ "$(wc -l <before)" -gt 10 ] && diff before after | head -n 20
        exit "${PIPESTATUS[0]}"
    )
    verdict "reports and rows are the same" $?
    case $file in
    "$SOURCE"/*)
        python3 "$SOURCE/tests/tools/nvvp_check.py" "$file" "$name/trace.nvvp"
        verdict "nvprof's tables" $?
        ;;
    esac
done

# ---- without the tables of ours: what nvprof could have written ----

for name in inference resnet50_graph; do
    last="$name without MINIPROF_ tables"
    cp "$name/trace.nvvp" "$name.nvvp"
    python3 - "$name.nvvp" <<'END'
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
for table, in db.execute("SELECT name FROM sqlite_master WHERE name LIKE 'MINIPROF_%' AND "
                         "type = 'table'").fetchall():
    db.execute(f"DROP TABLE {table}")
db.execute("UPDATE StringTable SET value = 'not asked for' WHERE value LIKE 'cu%'")
db.commit()
END
    run_convert read "$name.nvvp" "$name.plain.mpt"
    code 0
    quiet
    run summary --json "$name.plain.mpt"
    code 0
    mv .stdout plain.json
    "$miniprof" summary --json "$SOURCE/tests/data/$name.mpt" >ours.json
    # The same kernels, copies and calls, these named by their ids alone.
    python3 - <<'END'
import json, sys
ours, plain = json.load(open("ours.json")), json.load(open("plain.json"))
assert [g["name"] for g in ours["groups"]] == [g["name"] for g in plain["groups"]]
for one, other in zip(ours["groups"], plain["groups"]):
    assert one == other, (one, other)
assert plain["pid"] == ours["pid"]
END
    verdict "the same sums" $?
done

cat >make_plain.py <<'END'
import sqlite3, struct, sys
db = sqlite3.connect(sys.argv[1])
T = 1700000000000000000
db.executescript("""
CREATE TABLE StringTable(_id_ INTEGER PRIMARY KEY AUTOINCREMENT, value TEXT NOT NULL UNIQUE);
CREATE TABLE Version(version INTEGER);
INSERT INTO Version VALUES(9);
INSERT INTO StringTable VALUES(0, '-- null --'), (3, '_Z6vecAddPKfS0_Pfi'), (8, 'step'),
    (9, 'Tesla V100'), (12, 'worker'), (20, 'a domain');
CREATE TABLE CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL(_id_ INTEGER PRIMARY KEY AUTOINCREMENT,
    cacheConfig BLOB NOT NULL, registersPerThread INT NOT NULL, start INT NOT NULL,
    end INT NOT NULL, deviceId INT NOT NULL, contextId INT NOT NULL, streamId INT NOT NULL,
    gridX INT NOT NULL, gridY INT NOT NULL, gridZ INT NOT NULL, blockX INT NOT NULL,
    blockY INT NOT NULL, blockZ INT NOT NULL, correlationId INT NOT NULL, name INT NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(_id_ INTEGER PRIMARY KEY AUTOINCREMENT,
    copyKind INT NOT NULL, srcKind INT NOT NULL, dstKind INT NOT NULL, flags INT NOT NULL,
    bytes INT NOT NULL, start INT NOT NULL, end INT NOT NULL, deviceId INT NOT NULL,
    contextId INT NOT NULL, streamId INT NOT NULL, correlationId INT NOT NULL,
    runtimeCorrelationId INT NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(_id_ INTEGER PRIMARY KEY AUTOINCREMENT,
    cbid INT NOT NULL, start INT NOT NULL, end INT NOT NULL, processId INT NOT NULL,
    threadId INT NOT NULL, correlationId INT NOT NULL, returnValue INT NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_MARKER(_id_ INTEGER PRIMARY KEY AUTOINCREMENT,
    flags INT NOT NULL, timestamp INT NOT NULL, id INT NOT NULL, objectKind INT NOT NULL,
    objectId BLOB NOT NULL, name INT NOT NULL, domain INT NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_MARKER_DATA(_id_ INTEGER PRIMARY KEY AUTOINCREMENT,
    flags INT NOT NULL, id INT NOT NULL, payloadKind INT NOT NULL, payload BLOB NOT NULL,
    color INT NOT NULL, category INT NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_NAME(_id_ INTEGER PRIMARY KEY AUTOINCREMENT,
    objectKind INT NOT NULL, objectId BLOB NOT NULL, name INT NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_METRIC(_id_ INTEGER PRIMARY KEY AUTOINCREMENT, id INT NOT NULL,
    value BLOB NOT NULL, correlationId INT NOT NULL, flags INT NOT NULL);
INSERT INTO CUPTI_ACTIVITY_KIND_METRIC(id, value, correlationId, flags) VALUES(1, x'00', 2, 3);
""")
thread = struct.pack("<3I", 99, 1142654784, 0)
for i in range(5):
    begin = T + 1000000 * i
    db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME(cbid, start, end, processId, threadId, "
               "correlationId, returnValue) VALUES(211, ?, ?, 99, 1142654784, ?, 0)",
               (begin, begin + 5000, 100 + i))
    db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL VALUES(NULL, x'00', 32, ?, ?, 0, "
               "1, 7, 64, 1, 1, 256, 1, 1, ?, 3)", (begin + 8000, begin + 8000 + 1000 * (i + 1),
                                                    100 + i))
    db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES(NULL, 2, 3, 1, 0, ?, ?, ?, 0, 1, 7, "
               "?, 0)", (1 << i, begin + 50000, begin + 50700, 100 + i))
    db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_MARKER VALUES(NULL, 2, ?, ?, 2, ?, 8, 20)",
               (begin - 100, i + 1, thread))
    db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_MARKER VALUES(NULL, 4, ?, ?, 2, ?, 0, 0)",
               (begin + 60000, i + 1, thread))
db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_MARKER_DATA VALUES(NULL, 2, 2, 1, ?, 4278255360, 6)",
           (struct.pack("<Q", 1234),))
db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_NAME VALUES(NULL, 2, ?, 12)", (thread,))
db.commit()
END
python3 make_plain.py known.nvvp
run_convert read known.nvvp known.mpt
code 0
quiet
run summary --json known.mpt
code 0
json 'd["pid"] == 99'
json 'd["groups"][0]["total_ns"] == 15000 + 3500'
json '[(r["name"].split("(")[0], r["total_ns"], r["calls"], r["min_ns"], r["max_ns"])
    for r in d["groups"][0]["rows"]] == [("vecAdd", 15000, 5, 1000, 5000),
    ("[CUDA memcpy DtoH]", 3500, 5, 700, 700)]'
json '[(r["name"], r["total_ns"], r["calls"]) for r in d["groups"][1]["rows"]] == [
    ("cudaLaunchKernel", 25000, 5)]'
json 'd["quality"]["counters"] == {"nvvp_tables_unknown": 1}'
run info --json known.mpt
json 'd["properties"]["nvvp_tables_unknown"] == "CUPTI_ACTIVITY_KIND_METRIC"'
json 'd["properties"]["nvvp_version"] == "9"'
json '{t["table"]: t["rows"] for t in d["tables"]} == {"string": 7, "thread": 1, "stream": 1,
    "function": 1, "shape": 1, "kernel": 5, "copy": 5, "call": 5, "nvtx": 10, "quality": 1}'
run dump --csv --raw --table=nvtx known.mpt
sed -n '4p' .stdout >line
read -r row <line
[ "$row" = '1,1,5,2,1700000000000999900,0,6,0xff00ff00,1,0x4d2,0,0,0' ] || echo "got $row"
verdict "a range with its domain, name, category, color and payload" \
    $([ "$row" = '1,1,5,2,1700000000000999900,0,6,0xff00ff00,1,0x4d2,0,0,0' ]; echo $?)
run dump --csv --table=thread known.mpt
stdout_like <<'END'
id,tid,name
1,1142654784,"worker"
END

# Waits and event records look for their calls in time that does not grow with the product of both.
cat >make_many.py <<'END'
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.executescript("""
CREATE TABLE CUPTI_ACTIVITY_KIND_DRIVER(cbid, start, end, threadId, correlationId, returnValue);
CREATE TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT(correlationId, contextId, streamId, eventId);
CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION(type, start, end, correlationId, cudaEventId);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
INSERT INTO CUPTI_ACTIVITY_KIND_DRIVER SELECT 307, 10 * i, 10 * i + 5, 7, i, 0 FROM n;
INSERT INTO CUPTI_ACTIVITY_KIND_CUDA_EVENT SELECT correlationId, 1, 7, 9
    FROM CUPTI_ACTIVITY_KIND_DRIVER;
INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION SELECT 1, start, end, correlationId, 9
    FROM CUPTI_ACTIVITY_KIND_DRIVER;
""")
db.commit()
END
python3 make_many.py many_calls.nvvp
last="100000 event records and waits"
timeout 300 "$convert" read many_calls.nvvp many_calls.mpt
verdict "read within a minute" $?
run info --json many_calls.mpt
json '{t["table"]: t["rows"] for t in d["tables"]}["sync"] == 200000'

# ---- what cannot be read or written ----

run_convert write plain.mpt plain.nvvp
code 1
stderr <<'END'
nvvp_convert: cannot create 'plain.nvvp': File exists
END
run_convert write plain.mpt plain.mpt/x.nvvp
code 1
stderr <<'END'
nvvp_convert: cannot create 'plain.mpt/x.nvvp': Not a directory
END
run_convert write plain.mpt missing/x.nvvp
code 1
stderr <<'END'
nvvp_convert: cannot create 'missing/x.nvvp': No such file or directory
END
run_convert read missing.nvvp x1.mpt
code 1
stderr <<'END'
nvvp_convert: cannot open 'missing.nvvp': No such file or directory
END
run_convert read plain.mpt x2.mpt
code 1
stderr <<'END'
nvvp_convert: 'plain.mpt' is no file of nvprof's: it is not an SQLite database
END
head -c 30000 plain.nvvp >cut.nvvp
run_convert read cut.nvvp x3.mpt
code 1
stderr_like <<'END'
nvvp_convert: 'cut.nvvp' is damaged: only 30,000 of its * bytes are there
END
run_convert is plain.nvvp
code 0
run_convert is plain.mpt
code 1

# A full disk, played by a limit on the size of files.
last="write with too little room"
large=$SOURCE/tests/data/resnet50_graph.mpt
(trap '' XFSZ; ulimit -f 64; "$convert" write "$large" full.nvvp) 2>.stderr
got=$?
code 1
stderr_like <<'END'
nvvp_convert: cannot * 'full.nvvp': *
END
last="what is left behind"
ls full.nvvp* 2>/dev/null
verdict "nothing" $(($? == 0))

# A name that means something to SQLite is a file like others.
run_convert write plain.mpt :memory:
code 0
run_convert read :memory: x4.mpt
code 0

finish
