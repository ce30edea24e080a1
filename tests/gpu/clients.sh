#!/bin/bash
# Other CUPTI clients on a GPU: torch.profiler before, during and after what is recorded, nsys
# around and inside, a second copy of libminiprof.so. Nothing may crash, hang or change what the
# program prints, and kernels may be missing only where a line says so. Prints a table of what each
# has got.
. "$(dirname "$0")/lib.sh"

cd "$WORK" || exit 1
failed=0
program=(python3 "$SOURCE/tests/gpu/clients.py")

# kernels FILE: kernels of clients.py in the trace.
kernels() {
    "$BUILD/miniprof" dump --csv --table kernel "$1" 2>/dev/null | grep -ci "elementwise.*add"
}

# counter FILE NAME
counter() {
    "$BUILD/miniprof" info "$1" 2>/dev/null |
        awk -v name="$2" '$1 == name { n = $2 } END { print n + 0 }'
}

# lines FILE: what the recorder said, but for the closing line.
lines() {
    grep '^miniprof:' "$1" | grep -v ' records, .* dropped'
}

# row WHAT LAUNCHED "SETTING..." PHASE...: a run with the recorder, in a folder of its own. Phases
# add 20 to what the program prints last; torch.profiler sees the 20 kernels of each session.
row() {
    local what=$1 launched=$2 settings=$3 status got lost sum sessions
    shift 3
    sum=$((20 * $#)).0
    sessions=$(($(printf '%s\n' "$@" | grep -cE 'session|long') * 20))
    # shellcheck disable=SC2086  # the settings are words
    traced t.mpt timeout -k 5 120 env $settings "${program[@]}" "$@" >out 2>err
    status=$?
    got=$(kernels t.mpt)
    lost=$(counter t.mpt dropped_taken_over)
    printf '%-46s %6s %3s of %-3s %6s %6s %6s  %s\n' "$what" "$launched" "$(cut -d' ' -f1 out)" \
        "$sessions" "$got" "$lost" "$(counter t.mpt dropped_foreign_times)" \
        "$(lines err | head -n 1 | cut -c 1-100)"
    grep -v '^miniprof:' err | grep -i cupti | head -n 1 | cut -c 1-150
    if [ $status -ne 0 ] || [ "$(cut -d' ' -f2 out)" != "$sum" ]; then
        echo "FAILED: $what: exit code $status, '$(cat out)', not the sum $sum; $(tail -n 2 err)"
    fi
    if [ "$got" -lt "$launched" ] && [ "$lost" = 0 ] && [ -z "$(lines err)" ]; then
        echo "FAILED: $what: kernels are missing without a word"
    fi
}

# All rows at once, since PyTorch takes its time to start; what they say comes in order.
rows=0
begin_row() {
    rows=$((rows + 1))
    mkdir "row$rows"
    (cd "row$rows" && row "$@" >said 2>&1) &
}

end_rows() {
    local i
    wait
    for ((i = 1; i <= rows; i++)); do
        cat "row$i/said"
        ! grep -q '^FAILED' "row$i/said" || failed=1
    done
}

if have_torch; then
    python3 -c 'import torch; print("PyTorch", torch.__version__, "CUDA", torch.version.cuda)'
    printf '%-46s %6s %10s %6s %6s %6s  %s\n' case wanted profiler ours taken clock 'first line'
    begin_row "no session" 40 "" plain plain
    begin_row "a session before, all is recorded" 40 "" session plain
    begin_row "a short session in between" 60 "" plain session plain
    begin_row "a long session in between" 60 "" plain long plain
    begin_row "a long session at the end" 40 "" plain long
    begin_row "three sessions" 140 "" plain session plain long plain session plain
    begin_row "a session, then a range" 20 MINIPROF_CAPTURE=range session range
    begin_row "a range, a session, a range" 40 MINIPROF_CAPTURE=range range session range
    begin_row "a range in a session, then a range" 40 MINIPROF_CAPTURE=range session-range range
    begin_row "a session in between, graph level" 60 MINIPROF_CUDA_GRAPH=graph plain long plain
    end_rows

    # CUPTI before CUDA 13.1 Update 1 may tell wrong ids of graph launches after the first range.
    MINIPROF_CAPTURE=nvtx:iteration traced graph.mpt python3 \
        "$SOURCE/samples/torch/resnet50.py" --mode graph --warmup 1 --iterations 5 >/dev/null 2>&1
    echo "graphs in 6 ranges: $(for table in call kernel; do
        "$BUILD/miniprof" dump --csv --table $table graph.mpt | sed "1d;s/\"//g;s/^/$table,/"
    done | awk -F, '
        $1 == "call" { call[$(NF - 1)] = 1 }
        $1 == "kernel" { kernel[++n] = $NF }
        END {
            for (i = 1; i <= n; i++)
                orphans += !(kernel[i] in call)
            print n + 0, "kernels,", orphans + 0, "whose launch is not in the trace"
        }')"
else
    echo "no PyTorch: torch.profiler is left out"
fi

nsys=$(find_nsys)
sample=("$BUILD/samples/inference" --iterations 5 --layers 8)
# around WHAT COMMAND...: ends in time with the sample's exit code and output.
around() {
    local what=$1 status
    shift
    rm -f ./*.mpt
    timeout -k 5 180 "$@" >out 2>err
    status=$?
    echo "$what: exit code $status, traces: $(find . -name '*.mpt' | wc -l)," \
        "$(lines err | head -n 1)"
    if [ $status -ne 0 ] || ! grep -qxF "$("${sample[@]}")" out; then
        echo "FAILED: $what: $(tail -n 3 err)"
        failed=1
    fi
}
if [ -n "$nsys" ]; then
    around "miniprof inside of nsys" "$nsys" profile -t cuda,nvtx -s none --cpuctxsw=none -o a \
        "$BUILD/miniprof" run --no-summary -- "${sample[@]}"
    around "nsys inside of miniprof" "$BUILD/miniprof" run --no-summary -- "$nsys" profile \
        -t cuda,nvtx -s none --cpuctxsw=none -o b "${sample[@]}"
else
    echo "no nsys: left out"
fi
cp "$BUILD/libminiprof.so" libminiprof_copy.so
around "a second copy for NVTX" env CUDA_INJECTION64_PATH="$BUILD/libminiprof.so" \
    NVTX_INJECTION64_PATH="$WORK/libminiprof_copy.so" "${sample[@]}"
[ $failed = 0 ] || exit 1
echo "ok other clients"
