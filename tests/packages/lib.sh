# What the tests of the packages share: makes them into a folder of their own, from what is built.
. "$SOURCE/tests/e2e/lib.sh" || exit 1

command -v scdoc >/dev/null && command -v zstd >/dev/null || {
    echo "no scdoc or zstd: 'make deps' installs them"
    exit 77
}

# make_package deb|dist|wheel: into $work/out. Nothing is built again (-o).
make_package() {
    local packages=${build#"$SOURCE"/}/packages # as the Makefile names it
    env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u CC make --no-print-directory -s -C "$SOURCE" \
        -o all -o programs -o "$packages/miniprof" -o "$packages/libmptrace.so.1" \
        BUILD="$build" PACKAGE_LEVEL=1 PACKAGE_FOLDER="$work/out" \
        "$(case $1 in wheel) echo wheel ;; *) echo "$1-files" ;; esac)" \
        >"$work/make.log" 2>&1
    same "make $1: exit code" 0 $?
    [ -d "$work/out" ] || { cat "$work/make.log"; finish; }
}

# How large the command may be: with the defaults of Ubuntu's gcc a little more
# (tools/packages/lib.sh).
most=1600000
case $(gcc -dM -E -x c /dev/null) in *__CET__*) most=1615000 ;; esac

# within WHAT FILE BYTES: the file is there and not larger.
within() {
    check "$1 has at most $3 bytes" [ "$(stat -c %s "$2" || echo 999999999)" -le "$3" ]
}

# stripped WHAT FILE: no debugging information, no symbols but what the loader needs.
stripped() {
    same "$1: stripped" "" "$(readelf -SW "$2" | grep -E ' \.(debug_info|symtab) ')"
}

# 4 iterations of 20 layers, a kernel each.
four=(--iterations=4)

# records WHAT COMMAND LIBRARY: the command and the library of a package on the software GPU, with
# an environment in which nothing else can be found.
records() {
    local what=$1 command=$2 library=$3
    (cd "$work" && env -i PATH=/usr/bin:/bin LD_LIBRARY_PATH="${LD_LIBRARY_PATH:-}" \
        "$command" run -o run.mpt -- "$inference" "${four[@]}") \
        >"$work/run.out" 2>"$work/run.err"
    same "$what: run" 0 $?
    same "$what: kernels" 80 "$(count run kernel)"
    like "$what: run prints the summary" 'GPU activities:.*gemm_layer' "$(cat "$work/run.err")"
    same "$what: run finds the preloaded library" 1 \
        "$("$miniprof" info --json "$work/run.mpt" | grep -c '"MINIPROF_ATTACH": "graph"')"
    bare injected CUDA_INJECTION64_PATH="$library" MINIPROF_OUTPUT="$work/injected.mpt" \
        -- "$inference" "${four[@]}"
    same "$what: exit code with the library alone" 0 "$status"
    same "$what: kernels with the library alone" "$(kernels run)" "$(kernels injected)"
    complete "$what" run
    rm -f "$work"/*.mpt
}
