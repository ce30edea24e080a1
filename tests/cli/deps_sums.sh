#!/bin/bash
# Takes 3 s.
# miniprof deps on real traces: what must hold whatever is in them. Every nanosecond of a window is
# in one row; the table of activities has the same sums; unchanged durations change nothing.
. "$SOURCE/tests/tools/cli.sh" || exit 1

data=$SOURCE/tests/data
trace many

define <<'END'
import re

def near(a, b):
    return abs(a - b) <= 1e-6 * max(abs(a), abs(b), 1)

def is_part(name):
    return re.fullmatch(r"(rank\d+:)?<(?!recording>)[a-z ]+>( '.*'| thread \d+)?", name)

def check_rows(d):
    rows = {r["name"]: r for r in d["rows"]}
    assert len(rows) == len(d["rows"])
    assert sum(r["critical_ns"] for r in d["rows"]) == d["window_ns"]
    assert sum(d["parts"].values()) == \
        sum(r["critical_ns"] for name, r in rows.items() if is_part(name))
    assert sum(w["window_ns"] for w in d["windows"]) == d["window_ns"]
    assert all(w["end_ns"] - w["begin_ns"] == w["window_ns"] for w in d["windows"])
    order = [(-r["critical_ns"], -r["waiting_ns"] - r["device_waiting_ns"]) for r in d["rows"]]
    assert order == sorted(order)
    return rows

def check_activities(d, rows):
    acts = d["activities"]
    assert [a["number"] for a in acts] == list(range(1, len(acts) + 1))
    sums = {}
    for a in acts:
        s = sums.setdefault(a["name"], [0, 0, 0])
        s[0] += a["critical_ns"]
        s[1] += a["waiting_ns"]
        s[2] += 1
        assert 0 <= a["critical_ns"] <= a["duration_ns"] or made_up
        assert a["waiting_ns"] <= a["duration_ns"] or a["kind"] != "call"
        assert not a["critical_ns"] or a["slack_ns"] == 0 or made_up
        assert a["bound_to"] is None or acts[a["bound_to"] - 1]["start_ns"] <= a["start_ns"] or \
            a["kind"] == "call"
    for name, (critical, waiting, calls) in sums.items():
        row = rows[name]
        assert (critical, calls) == (row["critical_ns"], row["calls"]), name
        assert waiting == row["waiting_ns"] + row["device_waiting_ns"], name

def check_iterations(d):
    its = d["iterations"]
    lengths = sorted(w["window_ns"] for w in d["windows"])
    n = len(lengths)
    rank = lambda p: lengths[max((n * p + 99) // 100, 1) - 1]
    assert its["count"] == n
    assert (its["p50_ns"], its["p99_ns"]) == (rank(50), rank(99))
    assert (its["min_ns"], its["max_ns"]) == (lengths[0], lengths[-1])
    assert near(its["mean_ns"], sum(lengths) / n)
    assert near(sum(r["mean_ns"] for r in its["rows"]), its["mean_ns"])
    parts = [r["mean_ns"] for r in its["rows"] if is_part(r["name"])]
    assert near(sum(p["mean_ns"] for p in its["parts"]), sum(parts))
    slow = its.get("slowest", [])
    assert [s["window_ns"] for s in slow] == lengths[::-1][:len(slow)]
    for s in slow:
        assert s["median_window_ns"] == its["p50_ns"]
        assert sum(r["critical_ns"] for r in s["rows"]) == s["window_ns"]
        assert sum(r["difference_ns"] for r in s["rows"]) == s["window_ns"] - s["median_window_ns"]

def check_all(d):
    global made_up  # ranges overlap, by work that ran in an order which no stream allows
    made_up = d["pid"] == 4242
    rows = check_rows(d)
    if "activities" in d:
        check_activities(d, rows)
    if "iterations" in d:
        check_iterations(d)
    if "what_if" in d and d["what_if"]["changes"] == ["host=1x"]:
        assert [w["new_ns"] for w in d["what_if"]["windows"]] == \
            [w["now_ns"] for w in d["what_if"]["windows"]]
    return True
END

check() { # OPTION... TRACE
    run deps --json "$@"
    code 0
    quiet
    holds "sums" "check_all(load('.stdout'))"
}

# The column of the text is the same numbers, in nvprof's layout.
text() { # OPTION... TRACE
    run deps "$@"
    code 0
    quiet
    awk '/^==[0-9]*== Shortest latency/ { exit wrong || head != 1 || sum < 99 || sum > 101 }
         /^==/ { next }
         /^Critical path/ { head++; next }
         !/^ *[0-9]+\.[0-9][0-9]%  +[0-9.]+[nums]+  +[0-9.]+[nums]+  ./ ||
             substr($0, 17, 2) != "  " || substr($0, 32, 2) != "  " { wrong = 1; print }
         { sum += $1 }
         END { exit wrong || head != 1 || sum < 99 || sum > 101 }' .stdout
    verdict "layout" $?
}

for path in "$data"/*.mpt many.mpt; do
    check "$path"
    check --trace "$path"
    check --what-if host=1x "$path"
    text "$path"
    text --parts "$path"
done
check --iters step --slowest 2 "$data/branches.mpt"
check --iters step --what-if host=1x "$data/branches.mpt"
for path in "$data"/*.mpt; do
    "$miniprof" nvtx "$path" | grep -q ' Range "iteration"$' || continue # no iterations in it
    check --iterations iteration --slowest 3 "$path"
    check --iterations iteration --what-if host=1x "$path"
    run deps --iterations iteration --slowest 1 "$path"
    code 0
    quiet
    grep -v '^ *-\{0,1\}[0-9.]*[%nums]' .stdout | grep -v '^ *+' >.heads && mv .heads .stdout
    head -n 7 .stdout >.head && mv .head .stdout
    stdout_like <<'OUT'
==*== Profiling application: *
==*== Dependency Analysis of *0 iterations 'iteration':
==*== Length: mean *s, P50 *s, P99 *s, min *s, max *s
Critical path(%)           Mean            P50            P99  Waiting time  Name
==*== The slowest iterations against the median one:
==*== Iteration [0-9]*: *s; the median one ([0-9]*): *s
   Difference  Critical path  In the median  Name
OUT
    for table in "" "--table slowest"; do
        # shellcheck disable=SC2086
        run deps --iterations iteration --slowest 1 --csv $table --range 1 "$path"
        code 0
        quiet
        head -n 1 .stdout
    done >.heads
    mv .heads .stdout
    stdout <<'OUT'
critical_path_percent,mean_ns,p50_ns,p99_ns,waiting_mean_ns,name
iteration,difference_ns,critical_ns,median_critical_ns,name
OUT
    run deps --iterations iteratio "$path"
    code 2
    stdout </dev/null
    stderr_like <<'OUT'
miniprof deps: *'iteratio'*iteration*
OUT
done

finish
