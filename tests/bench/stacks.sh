#!/bin/bash
# What it takes to take a Python stack, by its depth: ns, the least of several rounds, for each
# Python given (PYTHONS; python3 without). `loop`: the stack is the same each time. `lines`: it
# comes from 50 lines in turn, each with a function of its own. `both`: with native frames.
library=$BUILD/bench/stacks.so
[ -e "$library" ] || exit 0
for python in ${PYTHONS:-python3}; do for native in '' NATIVE=1; do
    env $native "$python" - "$library" <<'END'
import ctypes, os, sys

library = ctypes.PyDLL(sys.argv[1])
take = library.take_stacks
take.restype = ctypes.c_double
COUNT, ROUNDS = 2000, 30

source = "".join("def leaf%d(count):\n    return take(count)\n" % i for i in range(50))
exec(source + "def leaves():\n    return " + " + ".join("leaf%d(20)" % i for i in range(50)))
chain = "".join("def f%d(call):\n    return f%d(call)\n" % (i, i + 1) for i in range(120))
exec(chain + "def f120(call):\n    return call()\n")


def at(depth, call):
    return globals()["f%d" % (120 - depth)](call)


kind = "both" if "NATIVE" in os.environ else "python"
print("Python %s, %s%14s%14s" % (sys.version.split()[0], kind, "loop", "lines"))
sys.setrecursionlimit(5000)
for depth in (10, 30, 100):
    loop = min(at(depth - 4, lambda: take(COUNT)) / COUNT for _ in range(ROUNDS))
    lines = min(at(depth - 5, leaves) / 1000 for _ in range(ROUNDS))
    print("depth %4d %16.0f%14.0f" % (depth, loop, lines))
END
done; done

# Ten million stacks, while other threads collect garbage, unload modules, free functions and end.
# The GIL is released meanwhile, so they do so at the same time.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for native in '' NATIVE=1; do
    env $native LD_LIBRARY_PATH="$BUILD/simgpu" python3 "$SOURCE/tests/e2e/stacks/churn.py" \
        "$folder" 10000 "$library" || { echo "a walk ended the program"; exit 1; }
    echo "10,000,000 stacks $native beside what makes memory come and go: the program lives"
done

# Bytes a record: 40,000 records, calls and kernels.
for stacks in off python both; do
    LD_LIBRARY_PATH=$BUILD/simgpu "$BUILD/miniprof" run --log none --stacks $stacks \
        -o "$folder/$stacks.mpt" python3 "$SOURCE/tests/bench/stacks_bytes.py" \
        "$SOURCE/tests/e2e/stacks" >"$folder/out" 2>&1 || { cat "$folder/out"; exit 1; }
    bytes=$(stat -c %s "$folder/$stacks.mpt")
    echo "stacks $stacks: $bytes bytes, $((bytes * 1000 / 40000)) / 1000 a record"
done
