# What the scripts of this folder share. They run on a machine with an NVIDIA GPU, from `make
# gpu-check` and `make bench-gpu` (environment: BUILD and SOURCE), and skip (77) what the machine
# cannot do.

BUILD=${BUILD:-$PWD/build}
SOURCE=${SOURCE:-$PWD}
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT

skip() {
    echo "$*"
    exit 77
}

fail() {
    echo "FAILED: $*"
    exit 1
}

nvidia-smi -L >/dev/null 2>&1 || skip "no NVIDIA GPU"
[ -e "$BUILD/libminiprof.so" ] || skip "libminiprof.so was not built: no CUDA headers"

# traced FILE COMMAND...: runs the command with the collector injected; its trace is FILE.
traced() {
    local trace=$1
    shift
    CUDA_INJECTION64_PATH=$BUILD/libminiprof.so NVTX_INJECTION64_PATH=$BUILD/libminiprof.so \
        MINIPROF_OUTPUT=$trace "$@"
}

# field FILE KEY: a number from `miniprof info --json`.
field() {
    "$BUILD/miniprof" info --json "$1" |
        python3 -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$2"
}

have_torch() {
    python3 -c 'import torch, torchvision; assert torch.cuda.is_available()' 2>/dev/null
}

# nsys stands in Nsight Systems' own folder, or in Nsight Compute's.
find_nsys() {
    command -v nsys ||
        find /opt/nvidia /usr/local/cuda*/ -name nsys -type f -perm -u+x 2>/dev/null | head -n 1
}

# nsys_profile REPORT COMMAND...: what miniprof records by default, recorded by nsys.
nsys_profile() {
    local report=$1
    shift
    "$nsys" profile -t cuda,nvtx -s none --cpuctxsw=none --cuda-graph-trace=node \
        --capture-range=cudaProfilerApi --capture-range-end=stop -o "$report" "$@"
}
