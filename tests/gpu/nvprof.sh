#!/bin/bash
# The two command lines of nvprof that TensorRT courses teach, unchanged, on ResNet-50 in PyTorch:
# what the log holds, that the program's own output is untouched, and nvprof's files. ITERATIONS=n
# (2): with metrics each of them takes seconds. KEEP=folder keeps the logs.
. "$(dirname "$0")/lib.sh"

have_torch || skip "no PyTorch with CUDA and torchvision"
iterations=${ITERATIONS:-2}
ln -s "$BUILD/miniprof" "$WORK/nvprof"
PATH=$WORK:$PATH
cd "$WORK" || exit 1
infer=(python3 "$SOURCE/samples/torch/resnet50.py" --iterations "$iterations" --warmup 1)

"${infer[@]}" >bare.out 2>bare.err || fail "the program fails by itself: $(cat bare.err)"

# profiled LOG OPTION...: runs the program, checks what it prints, says how long it took.
profiled() {
    local log=$1 begin=$SECONDS
    shift
    nvprof "$@" --log-file "$log" "${infer[@]}" >"$log.out" 2>"$log.err" ||
        fail "$log: exit code $?: $(cat "$log.err")"
    cmp -s bare.out "$log.out" || fail "$log: stdout is not the program's"
    [ ! -s "$log.err" ] || grep -q '^miniprof:' "$log.err" || fail "$log: $(cat "$log.err")"
    echo "$log: $((SECONDS - begin)) s, $(wc -l <"$log") lines"
}

# has LOG SECTION...
has() {
    local log=$1 section
    shift
    for section; do
        grep -q "^==[0-9]*== $section:\$" "$log" || fail "$log has no '$section'"
    done
}

# The lines themselves.
profiled lab1.txt --unified-memory-profiling off --dependency-analysis
has lab1.txt "Profiling result" "NVTX result" "Dependency Analysis"
ok "without metrics"
profiled lab2.txt --unified-memory-profiling off --dependency-analysis \
    --metrics global_load_requests,flop_sp_efficiency,flop_dp_efficiency
has lab2.txt "Profiling result" "NVTX result" "Dependency Analysis" "Metric result"
kernels=$(grep -c '^    Kernel: ' lab2.txt)
[ "$kernels" -gt 10 ] || fail "metrics of $kernels kernels only"
ok "with metrics of $kernels kernels"

# nvprof's file, and the reports of it.
nvprof --unified-memory-profiling off -o lab.nvvp "${infer[@]}" >file.out 2>file.err ||
    fail "-o: $(cat file.err)"
nvprof -i lab.nvvp --dependency-analysis --log-file again.txt || fail "-i: exit code $?"
grep -q '^======== Profiling result:$' again.txt || fail "-i prints no result"
ok "nvprof's file"
echo "lab.nvvp: $(stat -c %s lab.nvvp) bytes, $(grep -c . again.txt) lines of reports"
for log in lab1.txt lab2.txt; do
    echo "== $log"
    grep -A 4 -E '^==[0-9]*== (Profiling|Dependency|Metric)' "$log" | cut -c1-120
done
[ -z "${KEEP:-}" ] || cp lab1.txt lab2.txt again.txt "$KEEP"/
