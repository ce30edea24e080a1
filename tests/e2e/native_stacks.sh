#!/bin/bash
# Takes 5 s.
# Native stacks: equal to what glibc unwinds at the same place, with libunwind and without, and
# named as gdb names them; Python's frames stand among them where they belong.
. "$SOURCE/tests/e2e/lib.sh" || exit 1

program=$build/tests/e2e/native_stacks

# Callers of the function that calls, by the addresses in their modules.
cat >told.py <<'END'
import csv, io, subprocess, sys
def table(name):
    return list(csv.DictReader(io.StringIO(subprocess.run(
        [sys.argv[1], "dump", sys.argv[2], "--table", name, "--csv", "--raw"], check=True,
        stdout=subprocess.PIPE).stdout.decode())))
frames = {row["id"]: row for row in table("frame")}
stacks = {"0": []}
for row in table("stack"):
    stacks[row["id"]] = [frames[row["frame"]]] + stacks[row["caller"]]
names = {row["id"]: row["text"] for row in table("string")}
functions = {row["id"]: names[row["name"]] for row in table("function")}
calls = [stacks[row["stack"]] for row in table("call") if "Memset" in functions[row["function"]]]
told = [line.split()[1:] for line in open(sys.argv[3]) if line.startswith("call")]
# A sanitizer's qsort compares once more.
assert len(told) == len(calls) >= 6, (len(told), len(calls))
for addresses, stack in zip(told, calls):
    mine = ["%x" % int(frame["address"], 0) for frame in stack[1:]]
    if len(addresses) < 60:
        # Before: where tell returns to, in the function whose next call it is.
        assert addresses[-len(mine):] == mine, (addresses, mine)
        assert 1 <= len(addresses) - len(mine) <= 2, (addresses, mine)
    else:
        assert any(addresses[at:at + 50] == mine[:50] for at in (1, 2)), (addresses[:9], mine[:9])
kinds = [frame["kind"] for frame in max(calls, key=len)]
# The innermost of the 256 are the profiler's and the driver's.
assert 200 < len(kinds) <= 257 and kinds[-1] in ("2", "cut"), len(kinds)
assert all(kind in ("3", "native") for kind in kinds[:-1])
modules = {row["id"]: row for row in table("module")}
with open(sys.argv[4], "w") as file:
    file.write(names[modules[calls[0][0]["module"]]["build_id"]])
END

compared() { # WHAT NAME
    same "$1: it ran" 0 "$status"
    check "$1: every stack is what glibc unwinds" python3 told.py "$miniprof" "$work/$2.mpt" \
        "$work/$2.out" "$work/$2.id"
    same "$1: nothing lost" 0 "$(counter "$2" dropped_stacks)"
    complete "$1" "$2"
}

# A libunwind that cannot be loaded, as if there were none. libunwind ends its threads later than
# the thread sanitizer does, which the sanitizer does not survive.
mkdir none
: >none/libunwind.so.8
! sanitized thread || LD_LIBRARY_PATH=$work/none:$LD_LIBRARY_PATH

profile native MINIPROF_STACKS=native -- "$program"
compared "native stacks" native
profile both MINIPROF_STACKS=both -- "$program"
compared "a program without Python" both
profile glibc MINIPROF_STACKS=native MINIPROF_LOG=info \
    LD_LIBRARY_PATH="$work/none:$LD_LIBRARY_PATH" -- "$program"
compared "without libunwind" glibc
same "without libunwind: said once what it would help" 1 "$(grep -c libunwind8 glibc.err)"
if command -v readelf >/dev/null; then
    same "the build id of the program" \
        "$(readelf -n "$program" | sed -n 's/.*Build ID: //p')" "$(cat native.id)"
fi

# ---- threads with small stacks -------------------------------------------------------------------
# Sanitizers take more of a stack themselves.
low_stacks() { # KIB
    rm -f low.mpt
    "$miniprof" run --no-summary -o low.mpt --stacks native -- \
        "$steps" init low-thread="$1",alpha=3,sync >low.out 2>low.err
    status=$?
}
if ! sanitized; then
    for kib in 5 9 10 11 12; do
        low_stacks $kib
        same "a thread with $kib KiB of stack left: it runs" "0 3" "$status $(count low kernel)"
    done
    low_stacks 5
    same "5 KiB: calls whose stacks are not taken are counted" 4 "$(counter low dropped_stacks)"
    low_stacks 24
    same "24 KiB: the stacks are taken" "0 yes" \
        "$(counter low dropped_stacks) $(has low stack 3 && echo yes)"
fi

# ---- modules that come and go -------------------------------------------------------------------
plugins=$build/tests/e2e/plugins
# Calls of each plugin whose stack is: the program, the plugin twice, the program's callback; with
# the program's _start below.
cat >chains.py <<'END'
import csv, io, subprocess, sys
def table(name):
    return list(csv.DictReader(io.StringIO(subprocess.run(
        [sys.argv[1], "dump", sys.argv[2], "--table", name, "--csv", "--raw"], check=True,
        stdout=subprocess.PIPE).stdout.decode())))
texts = {row["id"]: row["text"].split("/")[-1] for row in table("string")}
modules = {row["id"]: texts[row["path"]] for row in table("module")}
frames = {row["id"]: modules.get(row["module"], "?") for row in table("frame")}
stacks = {"0": []}
for row in table("stack"):
    stacks[row["id"]] = stacks[row["caller"]] + [frames[row["frame"]]]
functions = {row["id"]: texts[row["name"]] for row in table("function")}
calls = [stacks[row["stack"]] for row in table("call") if "Memset" in functions[row["function"]]]
ends = [stack[:1] + stack[-4:] for stack in calls]
print(*(ends.count(["plugins", "plugins", name, name, "plugins"])
        for name in ("plugin_one.so", "plugin_two.so")))
END
take_turns() { # UNWINDER LIBRARIES
    rm -f turns.mpt
    profile turns MINIPROF_STACKS=native MINIPROF_LOG=info LD_LIBRARY_PATH="$2" -- \
        "$plugins" turns "$build/tests/e2e/plugin_one.so" "$build/tests/e2e/plugin_two.so"
    if [ "$(cat turns.out)" = "same place" ]; then
        same "$1: plugins at one place have their own calls" "3 3" \
            "$(python3 chains.py "$miniprof" turns.mpt)"
    else
        echo "skipped: plugins have places of their own here: $(cat turns.out)"
    fi
}
if ! sanitized; then
    take_turns libunwind "$LD_LIBRARY_PATH"
    if [ "$(grep -c libunwind8 turns.err)" = 0 ]; then # it is installed
        same "libunwind: said once that glibc goes on" 1 "$(grep -c 'unloads modules' turns.err)"
    fi
    take_turns glibc "$work/none:$LD_LIBRARY_PATH"
fi
# Nothing that is asked of the linker waits for a constructor.
profile waits MINIPROF_STACKS=both -- timeout 300 "$plugins" waits \
    "$build/tests/e2e/plugin_waits.so"
same "launches while another thread is inside of dlopen" "0 done" "$status $(cat waits.out)"
complete "launches while another thread is inside of dlopen" waits

# ---- names -------------------------------------------------------------------------------------
if [ -n "$(ldconfig -p 2>/dev/null | grep 'libdw\.so\.1')" ] && ! sanitized; then
    "$miniprof" stacks --by function --csv native.mpt >names.csv 2>names.err
    calls_of() {
        awk -F, -v name="\"$1\"" '
            NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i }
            NR > 1 && $column["function"] == name { print $column["calls"] }' names.csv
    }
    same "functions by name, with the calls from there" "6 3 1 4" \
        "$(calls_of leaf) $(calls_of recurse) $(calls_of sorted) $(calls_of main)"

    # The file is not the one that ran: its names would be wrong, so there are none.
    cp "$program" other
    cp "$program" copied
    profile copied MINIPROF_STACKS=native -- "$work/copied"
    objcopy --update-section .note.gnu.build-id=/dev/stdin copied 2>/dev/null \
        < <(printf '\4\0\0\0\24\0\0\0\3\0\0\0GNU\0%20s' other) &&
        like "another build id: no names, and a note" 'first .*copied.*another build id' \
            "$("$miniprof" stacks --all copied.mpt 2>&1 | grep -v ' leaf ')"
    mkfifo fifo
    mv fifo copied
    "$miniprof" stacks copied.mpt >gone.out 2>&1
    like "a file that is none any more: its addresses" 'copied\+0x[0-9a-f]+ \(copied\)' \
        "$(cat gone.out)"
fi
gdb_stack() {
    timeout 300 gdb -nx -batch -iex 'set debuginfod enabled off' -ex 'break cuMemsetD8_v2' \
        -ex run -ex continue -ex bt "$program" 2>/dev/null |
        sed -nE 's/^#[1-9][0-9]* +0x[0-9a-f]+ in ([a-z]+) .* at .*\/([a-z_.]+:[0-9]+)$/\1 (\2)/p'
}
if command -v gdb >/dev/null && ! sanitized && [ -n "$(gdb_stack)" ]; then
    "$miniprof" stacks --tree --csv native.mpt >tree.csv
    same "names and lines as gdb tells them" "$(gdb_stack)" "$(python3 - tree.csv <<'END'
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1])))
stack, found = [], []
for row in rows:
    if not row["depth"]:
        continue
    depth = int(row["depth"])
    stack[depth - 1:] = ["%s (%s:%s)" % (row["function"], row["file"].split("/")[-1], row["line"])]
    names = [frame.split(" ")[0] for frame in stack]
    if names[-1] == "leaf" and names.count("recurse") == 6:
        print("\n".join(stack[names.index("main"):][::-1]))
END
)"
fi

# ---- with Python -------------------------------------------------------------------------------
if ! sanitized && command -v python3 >/dev/null; then
    export PYTHONDONTWRITEBYTECODE=1
    profile python MINIPROF_STACKS=both TRUTH="$work/truth.json" -- \
        python3 "$SOURCE/tests/e2e/stacks/structures.py"
    same "Python: it ran" 0 "$status"
    check "Python's frames among native ones are what Python told" python3 \
        "$SOURCE/tests/e2e/stacks/compare.py" "$miniprof" "$work/python.mpt" "$work/truth.json"
    cat >sorts.py <<'END'
import ctypes, sys
sys.path.insert(0, sys.argv[1])
import truth
truth.start()
compare_type = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
def compare(a, b):
    truth.fill()
    return 0
def sort():
    ctypes.CDLL(None).qsort((ctypes.c_int * 2)(1, 2), 2, 4, compare_type(compare))
sort()
END
    # woven [VAR=VALUE...]: whose frames, in the order of their calls
    woven() {
        rm -f sorts.mpt
        profile sorts MINIPROF_STACKS=both "$@" -- python3 sorts.py "$SOURCE/tests/e2e/stacks"
        python3 - "$miniprof" sorts.mpt <<'END'
import csv, io, subprocess, sys
text = subprocess.run([sys.argv[1], "stacks", "--tree", "--by", "function", "--csv", sys.argv[2]],
                      stdout=subprocess.PIPE, check=True).stdout.decode()
names = [row["function"] or row["frame"].strip() for row in csv.DictReader(io.StringIO(text))]
libc = [name for name in names if name in ("<module>", "sort", "compare", "fill") or
        "sort" in name and "+" not in name or "libc.so.6" in name]
seen = []
for name in libc:
    short = "qsort" if name not in ("<module>", "sort", "compare", "fill") else name
    if not seen or seen[-1] != short:
        seen.append(short)
print(" ".join(seen[seen.index("<module>"):]))
END
    }
    same "Python's frames and qsort's in the order of their calls" \
        "<module> sort qsort compare fill" "$(woven)"
    # As when a compiler or BOLT has split the evaluator.
    if python3 -c 'import sys
sys.exit(sys.version_info < (3, 11) or "/libpython" not in open("/proc/self/maps").read())'; then
        same "an evaluator whose code has no symbol" "<module> sort qsort compare fill" \
            "$(woven LD_PRELOAD="$build/tests/e2e/python_evaluator.so")"
    else
        echo "skipped: an evaluator whose code has no symbol: only in libpython of 3.11 and later"
    fi
fi
finish
