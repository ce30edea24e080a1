#!/bin/bash
# Compilations of PTX: one for each load without the compute cache; with it one, then loads from it.
# Each lies in the call that loads the module, as the program times it.
. "$(dirname "$0")/lib.sh"

cd "$WORK" || exit 1
compile_cuda "$SOURCE/tests/gpu/jit.cu" ./jit -lcuda ||
    skip "jit.cu does not compile here: $(head -n 3 jit.txt)"

cat >compare.py <<'END'
import collections, csv, subprocess, sys

miniprof, name, *wanted = sys.argv[1:]

def table(which):
    text = subprocess.run([miniprof, "dump", "--table", which, "--csv", name + ".mpt"], check=True,
                          capture_output=True, text=True).stdout
    return list(csv.DictReader(text.splitlines()))

loads = [tuple(map(int, line.split()[1:])) for line in open(name + ".out")]
rows = table("jit")
calls = {row["correlation"]: row["function"] for row in table("call")}
found = collections.Counter(row["operation"] for row in rows)
wrong = []
if sorted(f"{operation}={count}" for operation, count in found.items()) != sorted(wanted):
    wrong.append(f"{dict(found)}, not {wanted}")
for row in rows:
    begin = int(row["start_ns"])
    end = begin + int(row["duration_ns"])
    if not any(first <= begin <= end <= last for first, last in loads):
        wrong.append(f"{row['operation']} from {begin} to {end} lies in no load")
    if not calls.get(row["correlation"], "").startswith("cuModuleLoadData"):
        wrong.append(f"{row['operation']}: of {calls.get(row['correlation'])}")
spent = sum(int(row["duration_ns"]) for row in rows)
took = sum(last - first for first, last in loads)
print(f"{name}: {len(rows)} rows, {spent / 1e6:.2f} of {took / 1e6:.2f} ms in {len(loads)} loads")
if wrong:
    sys.exit("; ".join(wrong))
END

# with NAME OPERATION=COUNT... -- VARIABLE=VALUE...
with() {
    local name=$1 wanted=()
    shift
    while [ "$1" != -- ]; do
        wanted+=("$1")
        shift
    done
    shift
    run_options=(--capture range)
    export "$@"
    run_recorded "$name" ./jit 3 || fail "$name: $(tail -n 3 "$name.err")"
    python3 compare.py "$BUILD/miniprof" "$name" "${wanted[@]}" || fail "$name"
    ok "$name"
}

with uncached compile=3 -- CUDA_CACHE_DISABLE=1
with cached compile=1 cache_store=1 cache_load=2 -- \
    CUDA_CACHE_DISABLE=0 CUDA_CACHE_PATH="$WORK/cache"
