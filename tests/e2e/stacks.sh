#!/bin/bash
# Takes 40 s.
# The stacks of calls from Python: equal to what Python itself tells at each call, with every Python
# that is here, whatever the structure of the program, and harmless whatever happens meanwhile.
. "$SOURCE/tests/e2e/lib.sh" || exit 1

programs=$SOURCE/tests/e2e/stacks
# Python has no sanitizer of its own, and the sanitizer's runtime must come first.
runtime=
case ${SAN-} in
*thread*)
    echo "skipped: Python does not run under the thread sanitizer"
    exit 77
    ;;
*address*) runtime=LD_PRELOAD=$(${CC:-gcc} -print-file-name=libasan.so) ;;
esac
export PYTHONDONTWRITEBYTECODE=1

# One of each version from 3.8 on.
pythons=()
seen=:
for python in python3 /usr/bin/python3 "${PYENV_ROOT:-$HOME/.pyenv}"/versions/*/bin/python3; do
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) ||
        continue
    case $version in 2.* | 3.[0-7]) continue ;; esac
    [[ $seen == *:$version:* ]] || pythons+=("$(command -v "$python")")
    seen=$seen$version:
done

# stacked NAME PYTHON [VAR=VALUE...] -- PROGRAM [ARG...]
stacked() {
    local name=$1 python=$2
    local -a settings command
    shift 2
    split "$@"
    rm -f "$work/$name.mpt"
    profile "$name" MINIPROF_STACKS=python TRUTH="$work/$name.json" \
        ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0 \
        $runtime "${settings[@]}" -- "$python" "$programs/${command[0]}.py" "${command[@]:1}"
}

# all_equal WHAT NAME
all_equal() {
    same "$1: it ran" 0 "$status"
    check "$1: every stack is what Python told" python3 "$programs/compare.py" "$miniprof" \
        "$work/$2.mpt" "$work/$2.json"
    same "$1: nothing lost" 0 "$(counter "$2" dropped_stacks)"
    complete "$1" "$2"
}

has_stack() { # NAME: of how many calls with a truth
    column "$1" call stack | grep -c '[1-9]'
}

# Builds extension.c for that Python; false: it has no headers, or there is no compiler.
extension() {
    local headers
    headers=$("$1" -c 'import sysconfig; print(sysconfig.get_path("include"))')
    [ -e "$headers/Python.h" ] || return 1
    command -v "${CC:-gcc}" >/dev/null || return 1
    ${CC:-gcc} -shared -fPIC -I "$headers" -o "$work/extension.so" "$programs/extension.c"
}

# ---- the same as Python tells ------------------------------------------------------------------
for python in "${pythons[@]}"; do
    version=$("$python" -c 'import platform; print(platform.python_version())')
    stacked structures "$python" -- structures
    all_equal "$version" structures
    stacked reuse "$python" -- reuse 30
    same "$version: addresses of functions are used again" reused "$(cat reuse.out)"
    all_equal "$version, functions that are freed" reuse
    if extension "$python"; then
        stacked extensions "$python" PYTHONPATH="$work" -- extensions
        all_equal "$version, C extensions" extensions
    else
        echo "skipped: $version, C extensions: it has no headers, or there is no compiler"
    fi
    if "$python" -c 'import _xxsubinterpreters' 2>/dev/null ||
        "$python" -c 'import _interpreters' 2>/dev/null; then
        stacked interpreters "$python" -- interpreters
        same "$version, sub-interpreters: said once" "miniprof: MINIPROF_STACKS: Python has \
sub-interpreters: no Python stacks while they are there" "$(said interpreters)"
        same "$version, sub-interpreters: stacks while there are none" 2 "$(has_stack interpreters)"
    fi
    stacked graphs "$python" NODES="$work/nodes.json" MINIPROF_CAPTURE=range -- graphs
    check "$version: nodes of a graph" python3 - "$programs" "$miniprof" <<'END'
import json, sys
sys.argv, folder = ["compare.py", sys.argv[2], "graphs.mpt", "/dev/null"], sys.argv[1]
source = open(folder + "/compare.py").read().rsplit("sys.exit", 1)[0]
exec(source)
text = {row["id"]: row["text"] for row in table(sys.argv[1], "graphs.mpt", "string")}
codes = {row["id"]: (text[row["name"]], text[row["file"]])
         for row in table(sys.argv[1], "graphs.mpt", "code")}
frames = {row["id"]: [*codes[row["code"]], int(row["line"])]
          for row in table(sys.argv[1], "graphs.mpt", "frame")}
known = {"0": []}
for row in table(sys.argv[1], "graphs.mpt", "stack"):
    known[row["id"]] = [frames[row["frame"]]] + known[row["caller"]]
rows = sorted(table(sys.argv[1], "graphs.mpt", "captured"),
              key=lambda row: int(row["graph_node"], 0))
told = json.load(open("nodes.json"))
assert [known[row["stack"]] for row in rows] == told and len(told) == 5, (rows, told)
END
done

# ---- whose lines a finding is about ----------------------------------------------------------
stacked loop python3 -- loop
"$miniprof" advise --json loop.mpt >advise.json
check "advise: the lines that copy, and those that launch" python3 - "$programs/loop.py" <<'END'
import json, sys
lines = {number: text for number, text in enumerate(open(sys.argv[1]), 1)}
callers = {f["rule"]: f["callers"] for f in json.load(open("advise.json"))["findings"]}
first = callers["exposed_copies"][0]
assert (first["function"], first["file"]) == ("load", sys.argv[1]), first
assert "cuMemcpyHtoD" in lines[first["line"]] and first["percent"] == 100, first
assert callers["small_grids"][0]["function"] == "launch", callers
END
like "advise: its text" '100.0 % called from  load \(loop.py:[0-9]+\)' \
    "$("$miniprof" advise loop.mpt)"

# told NAME: the lines of each finding, "host_bound: host_code tokenise, call step > norm"
told() {
    "$miniprof" advise --json "$1.mpt" >advise.json && python3 - <<'END'
import json
for finding in json.load(open("advise.json"))["findings"]:
    print("%s: %s" % (finding["rule"], " > ".join(filter(None, (
        ", ".join("%s %s" % (at["part"], at["function"]) for at in finding["callers"]),
        ", ".join(at["function"] for at in finding["packages"]))))))
END
}
stacked advice python3 MINIPROF_CAPTURE=range -- advice graph
same "advise: work of a graph belongs to where its nodes were made" "call kernel" \
    "$(told advice | sed -n 's/^\(small_grids\|slow_layer\|small_kernels\): //p' | sort -u)"
stacked advice python3 SIMGPU_REAL_TIME=1 -- advice host
same "advise: host code belongs to the function around it" "host_code step" \
    "$(told advice | sed -n 's/^host_bound: //p' | tr , '\n' | sed 's/^ //' | sort -u)"
like "advise: it is called host code" '[0-9] % host code in step \(advice.py:[0-9]+\)' \
    "$("$miniprof" advise advice.mpt)"
if ! sanitized; then
    stacked advice python3 SIMGPU_REAL_TIME=1 MINIPROF_STACKS_GAPS=1000 -- advice host
    # While other processes have the cores, the thread computes nothing, and that time is step's.
    like "advise: samples say which function computed" 'host_code tokenise' \
        "$(told advice | sed -n 's/^host_bound: //p')"
fi
mkdir -p site-packages/torch
: >site-packages/torch/__init__.py # an installed PyTorch would come before a folder without it
printf 'def linear(call, arguments):\n    call(*arguments)\n' >site-packages/torch/nn.py
printf 'import torch.nn\ndef norm(call, arguments):\n    torch.nn.linear(call, arguments)\n' \
    >site-packages/pack.py
stacked advice python3 -- advice package "$work/site-packages"
same "advise: what one line calls in a package, but not PyTorch" "call package > norm" \
    "$(told advice | sed -n 's/^small_kernels: //p')"

# ---- which calls -------------------------------------------------------------------------------
stacked off python3 MINIPROF_STACKS=off -- reuse 30
same "off: no stack and no table of stacks" "0 0" \
    "$(has_stack off) $(every_row off | grep -cE '^"(stack|frame|code)"')"
stacked every python3 MINIPROF_STACKS_EVERY=4 -- reuse 30
same "one call in four" "$(($(has_stack reuse) / 4))" "$(has_stack every)"
stacked range python3 MINIPROF_CAPTURE=range NODES="$work/nodes.json" -- graphs
same "a range: the launch of the graph and the wait for it" 2 "$(has_stack range)"
stacked over python3 MINIPROF_STACKS_OVER=2000000 -- reuse 30
same "only calls that take two seconds: none" 0 "$(has_stack over)"
stacked over python3 MINIPROF_STACKS_OVER=2 -- structures
same "only calls that take 2 us: those" "$("$miniprof" dump over.mpt --table call --csv |
    sed '1d' | awk -F, '/cuLaunchKernel|cuMemcpyHtoD_v2|cuMemsetD8_v2|cuCtxSynchronize/ &&
        $4 >= 2000' | wc -l)" "$(has_stack over)"

# ---- harmless ----------------------------------------------------------------------------------
mkdir -p "$work/modules"
stacked churn python3 -- churn "$work/modules" 2000
same "garbage collection, unloaded modules, threads: it ran" "0 done" "$status $(cat churn.out)"
same "garbage collection: every stack could be walked" 0 "$(counter churn dropped_stacks)"
complete "garbage collection" churn
stacked churn python3 MINIPROF_STACKS=both -- churn "$work/modules" 2000
same "native frames beside unloaded modules: it ran" "0 done" "$status $(cat churn.out)"
same "native frames beside unloaded modules: nothing lost" 0 "$(counter churn dropped_stacks)"
stacked forks python3 MINIPROF_STACKS=both -- forks
all_equal "forks with native frames" forks
stacked forks python3 -- forks
same "forks: it ran" "0 done" "$status $(cat forks.out)"
all_equal forks forks
profile steps MINIPROF_STACKS=python -- "$steps" init stream=0 alpha=1 sync print=done
bare plain -- "$steps" init stream=0 alpha=1 sync print=done
unharmed "a program without Python" steps plain 0
same "a program without Python: nothing is said" "" "$(said steps)"
# A library before Python's can say another version; nothing comes before an executable that has
# Python inside, as Debian's.
if ! sanitized && python3 -c 'import sys
sys.exit(sys.version_info < (3, 11) or "/libpython" not in open("/proc/self/maps").read())'; then
    stacked future python3 LD_PRELOAD="$build/tests/e2e/python_future.so" -- reuse 3
    like "a Python that is not known: said once" \
        '^miniprof: MINIPROF_STACKS: Python [0-9.]* is not known: no Python stacks$' \
        "$(said future)"
    same "a Python that is not known: no stacks" 0 "$(has_stack future)"
else
    echo "skipped: a Python that is not known: only in libpython of 3.11 and later"
fi
if ! sanitized; then
    stacked refused python3 LD_PRELOAD="$build/tests/e2e/no_vm_readv.so" -- reuse 3
    like "no process_vm_readv: said once" 'cannot be walked safely, since process_vm_readv' \
        "$(said refused)"
    same "no process_vm_readv: no stacks" 0 "$(has_stack refused)"
fi

# ---- a program that loads Python late -----------------------------------------------------------
library=$(python3 -c 'import os, sysconfig
print(os.path.join(sysconfig.get_config_var("LIBDIR"), sysconfig.get_config_var("INSTSONAME")))')
if sanitized || ! [[ $library == */libpython*.so* && -e $library ]]; then
    echo "skipped: Python comes late: no libpython that a program could load"
else
    profile late MINIPROF_STACKS=python PYTHONHOME="$(python3 -c 'import sys
print(sys.base_prefix)')" -- "$build/tests/e2e/late_python" "$library"
    same "Python comes late: it ran" 0 "$status"
    stacks=$(has_stack late)
    check "Python comes late: most of its 3,000 calls have stacks ($stacks)" \
        test "$stacks" -gt 1900 -a "$stacks" -le 3000
    like "Python comes late: its function" '"late",' \
        "$("$miniprof" stacks --by function --csv late.mpt)"
    complete "Python comes late" late
fi
finish
