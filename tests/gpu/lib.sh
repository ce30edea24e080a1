# shellcheck shell=bash
# What the scripts of this folder share. They run on a machine with an NVIDIA GPU, from `make
# gpu-check` and `make bench-gpu` (environment: BUILD and SOURCE), and skip (77) what the machine
# cannot do. Checks are counted, for the last line.
#
# Measured numbers go into a file of lines that results.py and aims.py read, BENCH_RESULTS if that
# is set: GROUP|ROUND|SIDE|PHASE|KIND|NUMBER.

BUILD=${BUILD:-$PWD/build}
SOURCE=${SOURCE:-$PWD}
WORK=$(mktemp -d)
RESULT_LINES=${BENCH_RESULTS:-$WORK/results.txt}
passed=0
failed=0
# What is to be ended with the script: process ids.
started=()
trap at_end EXIT

at_end() {
    local status=$?
    [ ${#started[@]} -eq 0 ] || kill "${started[@]}" 2>/dev/null
    rm -rf "$WORK"
    [ $status -eq 77 ] || [ $((passed + failed)) -eq 0 ] || echo "$passed passed, $failed failed"
}

# What cannot be measured here, for the table of aims.
not_measured() { # GROUP WHY
    echo "$1: not measured: $2"
    echo "$1|0|-|not measured|${2//|/ }|0" >>"$RESULT_LINES"
}

# BENCH_GROUPS: the groups of results that the script would have written (bench.sh).
skip() {
    local group
    for group in ${BENCH_GROUPS:-}; do
        not_measured "$group" "$*" >/dev/null
    done
    echo "$*"
    exit 77
}

ok() {
    passed=$((passed + 1))
    echo "ok $*"
}

fail() {
    failed=$((failed + 1))
    echo "FAILED: $*"
    exit 1
}

# SIMGPU: the scripts themselves are tried on the software GPU (tests/e2e/measuring.sh).
[ -n "${SIMGPU:-}" ] || nvidia-smi -L >/dev/null 2>&1 || skip "no NVIDIA GPU"
[ -e "$BUILD/libminiprof.so" ] || skip "libminiprof.so was not built: no CUDA headers"
command -v python3 >/dev/null || skip "no python3"

# traced FILE COMMAND...: runs the command with the recorder injected; its trace is FILE.
traced() {
    local trace=$1
    shift
    CUDA_INJECTION64_PATH=$BUILD/libminiprof.so NVTX_INJECTION64_PATH=$BUILD/libminiprof.so \
        MINIPROF_OUTPUT=$trace "$@"
}

# run_recorded NAME COMMAND...: by `miniprof run` with $run_options; the trace is NAME.mpt, what the
# program says NAME.out, the recorder's words NAME.err. The exit status is the program's.
run_options=()
run_recorded() {
    local name=$1
    shift
    timeout "${PROGRAM_SECONDS:-120}" "$BUILD/miniprof" run "${run_options[@]}" --no-summary -f \
        -o "$name.mpt" -- "$@" >"$name.out" 2>"$name.err"
}

# compile_cuda FILE PROGRAM [OPTION...]: by nvcc, for the GPU of this machine; what it says is
# PROGRAM.txt.
compile_cuda() {
    local nvcc
    nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null)
    [ -n "$nvcc" ] || echo "no nvcc" >"$2.txt"
    [ -z "$nvcc" ] || "$nvcc" -O2 -arch=native "${@:3}" -o "$2" "$1" >"$2.txt" 2>&1
    [ -x "$2" ]
}

# field FILE KEY: a number from `miniprof info --json`.
field() {
    "$BUILD/miniprof" info --json "$1" |
        python3 -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$2"
}

have_torch() {
    python3 -c 'import torch, torchvision; assert torch.cuda.is_available()' 2>/dev/null
}

# Where nsys is; nothing until a script has looked for it.
nsys=

# nsys stands in Nsight Systems' own folder, or in Nsight Compute's.
find_nsys() {
    command -v nsys ||
        find /opt/nvidia /usr/local/cuda*/ -name nsys -type f -perm -u+x 2>/dev/null | head -n 1
}

# nsys_profile REPORT COMMAND...: what miniprof records by default, recorded by nsys.
nsys_profile() {
    local report=$1
    shift
    "$nsys" profile -t cuda,nvtx -s none --cpuctxsw=none \
        --cuda-graph-trace=node --capture-range=cudaProfilerApi \
        --capture-range-end=stop -o "$report" "$@"
}

# ---- Rounds --------------------------------------------------------------------------------------

# side GROUP NAME COMMAND...: a side's lines PHASE|KIND|NUMBER become results of this round. What
# the tools say goes to errors.txt; nsys says it on the program's output.
side() {
    local group=$1 name=$2
    shift 2
    "$@" 2>>"$WORK/errors.txt" | grep -E '^[^|]+\|[^|]+\|-?[0-9.]+$' |
        sed "s/^/$group|$round|$name|/" >>"$RESULT_LINES"
    rm -f "$WORK"/*.mpt "$WORK"/n.*
}

# What was said that is not usual, most frequent first.
said() {
    [ ! -e "$WORK/errors.txt" ] || grep -vE '^miniprof: .* records, .* dropped, writer .* CPU$' \
        "$WORK/errors.txt" | sort | uniq -c | sort -rn | head -n 5
}

# All sides of a round, in another order each time, so that none is always the first:
#
#     while another_round SECONDS; do in_turn one_side NAME...; done
#
# Rounds go on as long as one more fits into SECONDS, at least twice and 25 times at most; ROUNDS=n
# makes it n, however long that takes.
round=-1
round_begun=0
longest_round=0
another_round() {
    local share=$1
    [ $round -lt 0 ] || [ $((SECONDS - round_begun)) -le $longest_round ] ||
        longest_round=$((SECONDS - round_begun))
    round=$((round + 1))
    round_begun=$SECONDS
    [ $round -lt "${ROUNDS:-25}" ] || return 1
    [ $round -lt 2 ] || [ -n "${ROUNDS:-}" ] || [ $((SECONDS + longest_round)) -le "$share" ]
}

in_turn() {
    local command=$1 i
    shift
    for ((i = 0; i < $#; i++)); do
        "$command" "${@:((i + round) % $# + 1):1}"
    done
}

# share PERCENT: seconds of BENCH_SECONDS, which bounds all of `make bench-gpu` but the soak.
share() {
    echo $((${BENCH_SECONDS:-500} * $1 / 100))
}

# The tables of groups of this script. A group without a number has the tools' words instead.
print_results() {
    local group
    for group in "$@"; do
        grep -q "^$group|" "$RESULT_LINES" 2>/dev/null ||
            not_measured "$group" "nothing came out: $(said | head -n 1)"
    done
    python3 "$SOURCE/tests/gpu/results.py" "$RESULT_LINES" "$@"
}
