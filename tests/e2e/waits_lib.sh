# What the tests of waits share. They run programs by `miniprof run`, which preloads
# libminiprof_preload.so, on a software GPU whose clock is real: a virtual one stands still while
# threads wait.

preload=$build/libminiprof_preload.so
programs=$build/tests/e2e
if [ ! -e "$preload" ]; then
    echo "no stubs for this processor"
    exit 77
fi
# Programs with AddressSanitizer are not preloaded. ThreadSanitizer of gcc 12 does not know all
# functions of these programs, pthread_mutex_clocklock for one, and takes them for errors.
# waits_odd.sh builds programs with sanitizers by itself.
if sanitized; then
    echo "not with a build that has sanitizers"
    exit 77
fi

# waits NAME [VAR=VALUE...] -- [OPTION... --] PROGRAM...: as `profile`, through `miniprof run`.
waits() {
    local name=$1
    local -a settings command
    shift
    split "$@"
    env SIMGPU_REAL_TIME=1 "${settings[@]}" "$miniprof" run --no-summary -o "$work/$name.mpt" \
        "${command[@]}" >"$work/$name.out" 2>"$work/$name.err" </dev/null
    status=$?
}
