#!/bin/bash
# The time from cudaProfilerStop to a complete, closed file, after a range of a million kernels that
# are launched one by one: miniprof, torch.profiler and nsys, in turn. `make bench-close`.
#
# The program ends right after the call. A file is complete when its tool has written to it for the
# last time; torch.profiler's when export_chrome_trace has returned. `miniprof check` has to find
# every kernel. The filesystem's clock has steps of 4 ms.
#
#     CLOSE_KERNELS=1000000  of a range
#     CLOSE_SECONDS=220      in all: five rounds, or fewer if that is over (ROUNDS=n: n)
#     TMPDIR                 needs room for 2 GB
. "$(dirname "$0")/lib.sh"

kernels=${CLOSE_KERNELS:-1000000}
program=$SOURCE/tests/gpu/close_time.py
nsys=$(find_nsys)
cd "$WORK" || exit 1

# seconds FROM TO: of two times in ns.
seconds() {
    local ns=$(($2 - $1))
    [ $ns -ge 0 ] || ns=0
    printf '%d.%09d' $((ns / 1000000000)) $((ns % 1000000000))
}

# said_by NAME: what close_time.py said.
said_by() {
    sed -n "s/^$1|\([0-9]*\)\$/\1/p" made
}

# measure FILES COMMAND...: runs it and prints the lines of a side. The first of FILES that is there
# is what the tool wrote.
measure() {
    local files=$1 file complete
    shift
    timeout "${PROGRAM_SECONDS:-90}" bash -c '"$@"' measure "$@" >made 2>said
    echo "exit status $?" >>said
    file=$(for file in $files; do [ ! -s "$file" ] || echo "$file"; done | head -n 1)
    if [ -z "$(said_by returned)" ] || [ -z "$file" ]; then
        { grep -v '|' made; cat said; } | tail -n 3 >&2
        return
    fi
    complete=$(said_by complete)
    [ -n "$complete" ] || complete=$(date +%s%N -r "$file")
    echo "the call, s|$kernels kernels|$(seconds "$(said_by stop)" "$(said_by returned)")"
    echo "complete file, s|$kernels kernels|$(seconds "$(said_by stop)" "$complete")"
    stat -c %s "$file" | awk -v what="$kernels kernels" '{ printf "MB|%s|%.3f\n", what, $1 / 1e6 }'
    case $file in
    *.mpt) echo "kernels in it|$kernels kernels|$(recorded "$file")" ;;
    *.json) echo "kernels in it|$kernels kernels|$(grep -c '"cat": "kernel"' "$file")" ;;
    esac
}

# recorded FILE: the kernels of a trace that is whole.
recorded() {
    "$BUILD/miniprof" check "$1" >checked 2>&1 || { cat checked >&2; return; }
    "$BUILD/miniprof" info --json "$1" | python3 -c 'import json, sys
print(sum(t["rows"] for t in json.load(sys.stdin)["tables"] if t["table"] == "kernel"))'
}

# one NAME: a run of that side.
one() {
    rm -f made said c.* n.*
    case $1 in
    miniprof) side close "$1" measure c.mpt traced c.mpt python3 "$program" range "$kernels" ;;
    torch.profiler) side close "$1" measure c.json python3 "$program" torch "$kernels" c.json ;;
    nsys) side close "$1" measure "n.nsys-rep n.qdstrm" nsys_profile n \
        python3 "$program" range "$kernels" ;;
    esac
}

export BUILD nsys
export -f traced nsys_profile
# Kineto stops at 128 MB of CUPTI's records otherwise, which are fewer kernels than these.
export KINETO_CONFIG=$WORK/kineto.conf
echo "ACTIVITIES_MAX_GPU_BUFFER_SIZE_MB=4096" >"$KINETO_CONFIG"
sides=(miniprof)
if python3 -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null; then
    sides+=(torch.profiler)
else
    echo "torch.profiler: not measured: no PyTorch with CUDA"
fi
if [ -n "$nsys" ]; then
    sides+=(nsys)
else
    echo "nsys: not measured: there is none"
fi
while [ $round -lt $((${ROUNDS:-5} - 1)) ] && another_round "${CLOSE_SECONDS:-220}"; do
    in_turn one "${sides[@]}"
done
said
whole=$(grep -cE "^close\|[0-9]+\|miniprof\|kernels in it\|.*\|$kernels\$" "$RESULT_LINES")
rounds=$(grep '^close|' "$RESULT_LINES" | cut -d'|' -f2 | sort -u | wc -l)
[ -z "$nsys" ] || echo "nsys: $("$nsys" --version 2>/dev/null | tail -n 1)"
echo "From cudaProfilerStop on; median of $rounds rounds (least to greatest):"
print_results close
[ "$rounds" -gt 0 ] && [ "$whole" -eq "$rounds" ] ||
    fail "miniprof's file was whole, with all kernels, in $whole of $rounds rounds"
ok "miniprof's file was whole, with all kernels, in each round"
