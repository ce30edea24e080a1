#!/bin/bash
# Takes 20 s.
# The Debian packages: what is in them, what they depend on, and that they work where they are
# unpacked.
. "$SOURCE/tests/packages/lib.sh" || exit 1

command -v dpkg-deb >/dev/null || {
    echo "no dpkg-deb: not Debian or Ubuntu"
    exit 77
}
make_package deb
arch=$(dpkg --print-architecture)
root=$work/root
for package in miniprof libminiprof libmptrace1 libmptrace-dev miniprof-dbg; do
    file=$(echo "$work/out/${package}"_*_"$arch.deb")
    check "$package is there" dpkg-deb -x "$file" "$root"
    same "$package: no script runs when it is installed" "" \
        "$(dpkg-deb -e "$file" "$work/control-$package" && ls "$work/control-$package" |
            grep -E 'inst|rm')"
    check "$package: sums" env -C "$root" md5sum --quiet -c "$work/control-$package/md5sums"
done

# field PACKAGE NAME
field() { sed -n "s/^$2: //p" "$work/control-$1/control"; }

like "the command needs its libraries, and this recorder" \
    "^libc6 .*libsqlite3-0 .*libstdc\+\+6 .*zlib1g .*libzstd1 .*, libminiprof \(= [^)]*\)\$" \
    "$(field miniprof Depends)"
same "who names native stacks, and who walks them faster, if they are there" "libdw1 libunwind8" \
    "$(field miniprof Suggests) $(field libminiprof Suggests)"
like "the recorder needs libc alone" '^libc6 \(>= 2\.[0-9]+\)$' "$(field libminiprof Depends)"
like "the headers need their library" '^libmptrace1 \(= .*\), libzstd-dev$' \
    "$(field libmptrace-dev Depends)"
# Debian's own way to find out agrees on the names.
if command -v dpkg-shlibdeps >/dev/null; then
    mkdir -p "$work/shlibs/debian"
    printf 'Source: x\n\nPackage: x\nArchitecture: any\n' >"$work/shlibs/debian/control"
    same "dpkg-shlibdeps names the same packages" \
        "$(cd "$work/shlibs" && dpkg-shlibdeps -O "$root/usr/bin/miniprof" 2>/dev/null |
            sed 's/.*Depends=//' | tr , '\n' | awk '{ print $1 }' | sort)" \
        "$(field miniprof Depends | tr , '\n' | awk '$1 != "libminiprof" { print $1 }' | sort)"
fi
if command -v lintian >/dev/null; then
    same "lintian finds nothing" "" \
        "$(lintian --allow-root "$work"/out/*.deb 2>&1 | grep -E '^[EW]:')"
fi

within "the command" "$root/usr/bin/miniprof" "$most"
within "the recorder" "$root/usr/lib/miniprof/libminiprof.so" 1020000
for file in usr/bin/miniprof usr/lib/miniprof/libminiprof.so; do
    stripped "$file" "$root/$file"
    id=$(readelf -n "$root/$file" | sed -n 's/.*Build ID: //p')
    debug=$root/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug
    like "$file: its debugging information is in a file of its own" ' \.debug_info ' \
        "$(readelf -SW "$debug" 2>/dev/null)"
    same "$file: it names that file" "${id:2}.debug" \
        "$(readelf -p .gnu_debuglink "$root/$file" | sed -n 's/^ *\[ *0\] *//p')"
done
same "manual pages" "$(ls "$SOURCE/docs/man" | wc -l)" "$(ls "$root/usr/share/man/man1" | wc -l)"
check "they are compressed" gzip -t "$root"/usr/share/man/man1/*.gz
if "$miniprof" completions bash >"$work/completions" 2>/dev/null; then
    check "completions" cmp "$work/completions" \
        "$root/usr/share/bash-completion/completions/miniprof"
fi
same "--version is the package's" "package  $(field miniprof Version)" \
    "$("$root/usr/bin/miniprof" --version | sed -n 2p)"

records "unpacked" "$root/usr/bin/miniprof" "$root/usr/lib/miniprof/libminiprof.so"

# A program against the headers, with pkg-config's flags.
cat >"$work/reader.c" <<'END'
#include <miniprof/trace.h>
#include <stdio.h>
int main(void)
{
    struct mp_trace *trace;
    struct mp_error error;
    printf("%s\n", mp_trace_open("none", &trace, &error) == MP_ERR_IO ? "none" : "one");
    return 0;
}
END
export PKG_CONFIG_PATH=$(echo "$root"/usr/lib/*/pkgconfig) PKG_CONFIG_SYSROOT_DIR=$root
# shellcheck disable=SC2046
check "a program is built with the headers" gcc -o "$work/reader" "$work/reader.c" \
    $(pkg-config --cflags --libs libmptrace)
same "and runs with the library" none \
    "$(LD_LIBRARY_PATH=$(echo "$root"/usr/lib/*-linux-gnu) "$work/reader")"
finish
