#!/bin/bash
# Host functions by the preloaded library, and by CUPTI alone where it is 13.1 or later; launches
# and edges of graphs that let kernels overlap; gaps that sleep or compute. Each against what the
# program says of itself. Prints what a launch by cudaLaunchKernelExC costs, with and without the
# callback that looks at its attributes.
. "$(dirname "$0")/lib.sh"

nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null)
[ -n "$nvcc" ] || skip "no nvcc"
cd "$WORK" || exit 1
for runtime in shared static; do
    "$nvcc" -arch=native -std=c++14 -cudart $runtime -o hostfn.$runtime \
        "$SOURCE/tests/gpu/hostfn.cu" >nvcc.txt 2>&1 ||
        skip "hostfn.cu does not compile here: $(head -n 3 nvcc.txt)"
done

cat >compare.py <<'END'
import csv, subprocess, sys

miniprof, name, by = sys.argv[1:]

def table(which):
    text = subprocess.run([miniprof, "dump", "--table", which, "--csv", name + ".mpt"], check=True,
                          capture_output=True, text=True).stdout
    return list(csv.DictReader(text.splitlines()))

said = [line.split() for line in open(name + ".out")]
wrong = []

def expect(holds, what):
    if not holds:
        wrong.append(what)

truth = [(what, int(begin), int(end)) for kind, what, *rest in said if kind == "function"
         for begin, end in [rest]]
rows = sorted(table("host_function"), key=lambda row: int(row["start_ns"]))
calls = {row["correlation"]: row["function"] for row in table("call")}
expect(len(rows) == len(truth), f"{len(rows)} host functions, not {len(truth)}")
for row, (what, begin, end) in zip(rows, truth):
    start, stop = int(row["start_ns"]), int(row["start_ns"]) + int(row["duration_ns"])
    expect(begin - 200000 <= start <= begin and end <= stop <= end + 200000,
           f"{what}: {start - begin} ns and {stop - end} ns off")
    expect(bool(row["node"]) == (what == "graph"), f"{what}: node {row['node']}")
    expect("Launch" in calls.get(row["correlation"], "") or "Callback" in
           calls.get(row["correlation"], ""), f"{what}: of call {calls.get(row['correlation'])}")
    expect(bool(row["stream"]), f"{what}: no stream")
    print(by, what, row["name"], row["stream"], row["node"], calls.get(row["correlation"]),
          start - begin, stop - end)
flags = [row["programmatic"] for row in table("shape")]
expect("1" in flags and "0" in flags, f"shapes: {flags}")
edges = sorted(row["programmatic"] for row in table("edge"))
expect(edges.count("1") == 3, f"edges: {edges}")
times = table("host_time")
for kind, what, *rest in said:
    if kind != "gap":
        continue
    field = "computing_ns" if what == "compute" else "blocked"
    for row in times:
        row["blocked"] = int(row["duration_ns"]) - int(row["computing_ns"]) - int(row["ready_ns"])
    best = max((int(row[field]) for row in times), default=0)
    expect(0.95 * int(rest[0]) <= best, f"{what}: {best} of {rest[0]} ns")
    print(by, "gap", what, best)
print(by, "host_time rows", len(times))
for line in wrong:
    print("WRONG", line)
sys.exit(bool(wrong))
END

for runtime in shared static; do
    ./hostfn.$runtime >bare.out || fail "exit code $?"
    grep launch bare.out | sed "s/^/bare $runtime /"
    LD_PRELOAD=$BUILD/libminiprof_preload.so traced preload.$runtime.mpt ./hostfn.$runtime \
        >preload.$runtime.out 2>err.txt || fail "exit code $?: $(head -n 3 err.txt)"
    grep launch preload.$runtime.out | sed "s/^/recorded $runtime /"
    python3 compare.py "$BUILD/miniprof" preload.$runtime "preload $runtime" ||
        fail "preloaded library"
    ok "host functions by the preloaded library, runtime $runtime"
done
traced cupti.mpt ./hostfn.shared >cupti.out 2>err.txt || fail "exit code $?: $(head -n 3 err.txt)"
rows=$("$BUILD/miniprof" dump --table host_function --csv cupti.mpt | wc -l)
if [ "$rows" -le 1 ]; then # the names of the columns
    echo "CUPTI alone tells nothing: $("$BUILD/miniprof" info cupti.mpt | grep -i cupti)"
else
    python3 compare.py "$BUILD/miniprof" cupti cupti || fail "CUPTI alone"
    ok "host functions by CUPTI"
fi
