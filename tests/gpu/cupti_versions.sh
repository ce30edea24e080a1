#!/bin/bash
# One libminiprof.so with every libcupti that the machine has: CUDA's, PyTorch's, Triton's, Nsight
# Compute's.
. "$(dirname "$0")/lib.sh"

# Oldest first; CUPTI before CUDA 11.8 is refused, and a GPU may be newer than an old CUPTI.
libraries=$(find /usr/local/cuda*/ /opt -name 'libcupti.so*' -type f 2>/dev/null |
    grep -E 'libcupti\.so\.(1[1-9]|20)' | xargs -r -n 1 readlink -f | sort -V -u)
[ -n "$libraries" ] || skip "no libcupti found"
worked=0
for library in $libraries; do
    rm -f "$WORK/v.mpt"
    MINIPROF_CUPTI=$library MINIPROF_LOG=warn traced "$WORK/v.mpt" \
        "$BUILD/samples/inference" --iterations 5 --layers 8 >"$WORK/out" 2>"$WORK/err" ||
        fail "$library: the program ended with $?: $(cat "$WORK/err")"
    version="- "
    kernels="- "
    if [ -e "$WORK/v.mpt" ]; then
        version=$("$BUILD/miniprof" info "$WORK/v.mpt" | awk '$1 == "cupti_version" { print $2 }')
        kernels=$("$BUILD/miniprof" info "$WORK/v.mpt" | awk '$1 == "kernel" { print $2 }')
    fi
    echo "$library: version $version, kernels ${kernels:-0} (40 expected):" \
        "$(grep -v ' records, ' "$WORK/err" | head -n 1)"
    [ "${kernels:-0}" = 40 ] && worked=$((worked + 1))
done
[ $worked -gt 0 ] || fail "no libcupti delivered the kernels"
ok "$worked versions deliver all kernels"
