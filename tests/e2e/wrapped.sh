#!/bin/bash
# What libminiprof_preload.so stands in front of is called as without it: by the same name, as
# often, with the same results. Programs of glibc and musl, whose functions are their own, a linked
# library's, the user's LD_PRELOAD's or libc's, with both kinds of hash table. Takes 5 s
. "$SOURCE/tests/e2e/lib.sh" || exit 1
. "$SOURCE/tests/e2e/waits_lib.sh" || exit 1

sources=$SOURCE/tests/e2e
flags=(-D_GNU_SOURCE -std=gnu17 -O1 -w -fPIC -fno-builtin)

# compile LIBC COMPILER NAME SOURCE [OPTION...]: LIBC.NAME.o.
compile() {
    check "$1: $4.c" "$2" "${flags[@]}" "${@:5}" -c "$sources/$4.c" -o "$1.$3.o"
}

# link LIBC STYLE COMPILER [LIBRARY...]: LIBC.PLACE.STYLE for each place of the functions.
link() {
    local libc=$1 style=$2 compiler=("$3" "-Wl,--hash-style=$2")
    local counted=$work/$libc.counted.$style.so
    shift 3
    "${compiler[@]}" -shared $libc.library.o -o "$counted" &&
        "${compiler[@]}" -rdynamic $libc.wrapped.o $libc.counted.o "$@" -o $libc.own.$style &&
        "${compiler[@]}" $libc.wrapped.o -Wl,--no-as-needed "$counted" -Wl,--as-needed "$@" \
            -o $libc.linked.$style &&
        "${compiler[@]}" $libc.wrapped.o "$@" -o $libc.libc.$style &&
        ln -s $libc.libc.$style $libc.preload.$style
}

# passes WHAT NAME [SETTING...] -- COMMAND...: alone and under miniprof: the same calls and results.
passes() {
    local what=$1 name=$2
    shift 2
    bare "$name.bare" SIMGPU_REAL_TIME=1 "$@"
    same "$what: alone" 5 "$status"
    waits "$name" "$@"
    same "$what: exit code" 5 "$status"
    check "$what: calls and results" cmp "$name.bare.out" "$name.out"
}

# matrix LIBC WAY: programs of that libc with hash tables of each style, started in one WAY.
matrix() {
    local libc=$1 way=$2 place style name user
    local -a command
    for style in gnu sysv; do
        for place in own linked preload libc; do
            name=$libc.$place.$style
            user=
            [ $place != preload ] || user=$work/$libc.counted.$style.so
            case $way in
            recorded) command=(${user:+LD_PRELOAD="$user"} MINIPROF_CAPTURE=all -- "./$name" gpu) ;;
            shell) command=(-- sh -c "LD_PRELOAD=$user:\$LD_PRELOAD ./$name; exit \$?") ;;
            alone) command=(${user:+LD_PRELOAD="$user"} -- "./$name") ;;
            esac
            passes "$name, $way" "$name.$way" "${command[@]}"
            [ $way != recorded ] ||
                same "$name: waits with wakers" \
                    "barrier condition futex join mutex poll read rwlock semaphore" \
                    "$(echo $(rows "$name.$way" wait | awk -F, '$6 { print $2 }' | sort -u))"
        done
    done
}

# ---- glibc -----------------------------------------------------------------------------------
compile glibc "${CC:-cc}" wrapped programs/wrapped \
    $(grep -o -- '-isystem [^ ]*' "$build/flags") # CUDA's headers
compile glibc "${CC:-cc}" counted preload/counted
compile glibc "${CC:-cc}" library preload/counted -DIN_LIBRARY
for style in gnu sysv; do
    check "glibc, $style" link glibc $style "${CC:-cc}" "$build/simgpu/libcuda.so.1" -lpthread -ldl
done
matrix glibc alone
matrix glibc recorded
# The two are what the rest rests on.
counted=glibc.linked.gnu.recorded.bare.out
# But for launches of kernels, which have more arguments, and what NVTX alone calls.
same "each function of the library is counted" miniprof_preload \
    "$(nm -D --defined-only "$preload" | awk '{ print $3 }' | sort |
        grep -vE '^(cuLaunch(Kernel|Cooperative)|InitializeInjectionNvtx)' |
        comm -23 - <(awk '/^counted/ { print $2 }' $counted | sort))"
same "each function of libc that the library stands in front of is called" "" \
    "$(nm -D --defined-only "$preload" | awk '$3 !~ /^cu/ { print $3 }' | sort |
        comm -12 - <(awk '/^counted/ && !$3 { print $2 }' $counted | grep -v ^cu | sort))"

# ---- musl ------------------------------------------------------------------------------------
# `miniprof run` leaves the library out of a program of musl. One that a shell starts has it.
if command -v musl-gcc >/dev/null; then
    compile musl musl-gcc wrapped programs/wrapped
    compile musl musl-gcc counted preload/counted
    ln -s musl.counted.o musl.library.o
    for style in gnu sysv; do
        check "musl, $style" link musl $style musl-gcc
    done
    waits direct -- ./musl.libc.gnu
    same "musl: started without the library" "5 0" "$status $(grep -c preload direct.err)"
    matrix musl shell
else
    echo "not tried: no musl-gcc"
fi

finish
