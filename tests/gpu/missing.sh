#!/bin/bash
# Work of which CUPTI's records tell less than all: the copies of a batch are counted, and where
# kernels launch kernels each report says that their work is missing, and claims nothing.
. "$(dirname "$0")/lib.sh"

cd "$WORK" || exit 1
for variant in plain children; do
    options=(-rdc=true -lcudadevrt)
    [ $variant = plain ] || options+=(-DCHILDREN)
    compile_cuda "$SOURCE/tests/gpu/missing.cu" ./$variant "${options[@]}" ||
        skip "missing.cu does not compile here: $(head -n 3 $variant.txt)"
done

# by HOW PROGRAM...: recorded by the variable, by `miniprof run`, or by that with CUPTI that comes
# late; the trace is it.mpt.
by() {
    rm -f it.mpt
    case $1 in
    variable) traced it.mpt timeout 60 "${@:2}" >it.out 2>it.err ;;
    run) run_options=() && run_recorded it "${@:2}" ;;
    late) run_options=(--capture range) && run_recorded it "${@:2}" ;;
    esac
}

for how in variable run late; do
    by $how ./plain batch 40 64
    case $? in
    0)
        for way in DtoH HtoD; do
            "$BUILD/miniprof" summary --csv it.mpt | grep "memcpy $way" >row
            [ "$(cut -d, -f4 row)" = "$(cat it.out)" ] || fail "batch, $how: $(cat row)"
        done
        ok "batch, $how: $(cat it.out) copies each way"
        ;;
    77) echo "batch: needs CUDA 13.0" ;;
    *) fail "batch, $how: $(head -n 3 it.err)" ;;
    esac
    by $how ./plain children 50 || fail "plain, $how: $(head -n 3 it.err)"
    "$BUILD/miniprof" report it.mpt >report || fail "plain, $how: $(head -n 2 report)"
    ok "plain, $how: a program that only links the device runtime is whole"
    by $how ./children children 50 || fail "children, $how: $(head -n 3 it.err)"
    "$BUILD/miniprof" report it.mpt >report && fail "children, $how: the report is whole"
    grep -q 'kernels launch kernels' report || fail "children, $how: $(head -n 3 report)"
    ! grep -qE 'GPU busy|First finding' report || fail "children, $how: $(cat report)"
    ok "children, $how: reports say that work is missing"
done
