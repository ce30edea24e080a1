# What deb and dist share. The Makefile (packages.mk) sets BUILD, OUT, MACHINE and so on.
set -eu -o pipefail
export LC_ALL=C

# Sizes that a stripped file must not exceed. Unasked, Ubuntu's gcc marks where indirect jumps may
# go (-fcf-protection) and probes the stack (-fstack-clash-protection). For these two the command
# has 12 KB more.
COMMAND_LIMIT=1600000
case $($CC -dM -E -x c /dev/null) in *__CET__*) COMMAND_LIMIT=1615000 ;; esac
LIMITS="miniprof:$COMMAND_LIMIT libminiprof.so:1020000"

# All files get the time of the commit, so that the same source gives the same bytes. In a source
# archive each file has it.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null ||
    stat -c %Y Makefile)}
export SOURCE_DATE_EPOCH

fail() {
    echo "${0##*/}: $*" >&2
    exit 1
}

# split FILE TARGET DEBUG: TARGET is FILE without debugging information, which goes to DEBUG.
split() {
    mkdir -p "$(dirname "$2")" "$(dirname "$3")"
    "${CROSS}objcopy" --only-keep-debug "$1" "$3"
    cp "$1" "$2"
    "${CROSS}strip" --strip-unneeded "$2"
    "${CROSS}objcopy" --add-gnu-debuglink="$3" "$2"
    chmod 644 "$3"
}

# sized FILE...: prints the sizes; fails if one is above its limit.
sized() {
    local file name limit bytes
    for file; do
        name=${file##*/}
        bytes=$(stat -c %s "$file")
        limit=$(tr ' ' '\n' <<<"$LIMITS" | sed -n "s/^$name://p")
        printf '  %-24s %9d bytes%s\n' "$name" "$bytes" "${limit:+, at most $limit}"
        [ -z "$limit" ] || [ "$bytes" -le "$limit" ] || fail "$name is larger than $limit bytes"
    done
}

# needed FILE...: the libraries that they name.
needed() {
    "${CROSS}readelf" -d "$@" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort -u
}

# least_glibc FILE...: the oldest glibc that has all they use.
least_glibc() {
    "${CROSS}objdump" -T "$@" | grep -o 'GLIBC_2[.0-9]*' | sort -uV | tail -n 1 | cut -c 7-
}

# path_of SONAME: where the library is that the command was linked with.
path_of() {
    local path=$SYSROOT/usr/lib/$MACHINE-linux-gnu/$1
    [ -n "$SYSROOT" ] && [ -e "$path" ] || path=$($CC -print-file-name="$1")
    [ -e "$path" ] || fail "cannot find $1"
    echo "$path"
}

# relocatable TREE DEBUG: command and libraries in TREE, which may lie anywhere, and what gdb needs
# in DEBUG. All libraries but glibc's own come along, with their licences.
relocatable() {
    local library soname package copyright
    mkdir -p "$1/lib/miniprof"
    split "$COMMAND" "$1/bin/miniprof" "$2/bin/miniprof.debug"
    for library in libminiprof.so libminiprof_preload.so; do
        split "$BUILD/$library" "$1/lib/$library" "$2/lib/$library.debug"
    done
    for soname in $(needed "$1/bin/miniprof"); do
        case $soname in
        libc.so.6 | libm.so.6 | libpthread.so.0 | libdl.so.2 | ld-linux*) continue ;;
        esac
        cp -L "$(path_of "$soname")" "$1/lib/miniprof/$soname"
        mkdir -p "$1/share/doc/miniprof"
        package=${soname%%.so*}
        [ "$package" != libz ] || package=zlib1g
        for copyright in "$SYSROOT/usr/share/doc/$package"*"/copyright"; do
            [ ! -e "$copyright" ] || cp "$copyright" \
                "$1/share/doc/miniprof/${soname%%.so*}.copyright"
        done
    done
}

# completions SHARE: the command's own, where shells look below /usr/share. A command without them
# leaves the folder as it is.
completions() {
    local shell file
    while read -r shell file; do
        mkdir -p "$(dirname "$1/$file")"
        # shellcheck disable=SC2086
        ${RUNNER:-} "$BUILD/miniprof" completions "$shell" >"$1/$file" 2>/dev/null || {
            rm -f "$1/$file"
            find "$1" -type d -empty -delete
        }
    done <<'END'
bash bash-completion/completions/miniprof
zsh zsh/site-functions/_miniprof
fish fish/vendor_completions.d/miniprof.fish
END
}

# manual SHARE: the manual pages, compressed.
manual() {
    local page
    mkdir -p "$1/man/man1"
    for page in "$BUILD"/man/*.1; do
        gzip -9n <"$page" >"$1/man/man1/${page##*/}.gz"
    done
}

# same_times FOLDER: its files are as old as the commit, and anybody may read it.
same_times() {
    chmod -R u=rwX,go=rX "$1"
    find "$1" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
}
