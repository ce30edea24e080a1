#!/bin/bash
# Takes 12 s.
# The relocatable tar: what is in it, and that it works wherever it lies.
. "$SOURCE/tests/packages/lib.sh" || exit 1

[ -e "$build/packages/miniprof" ] || {
    echo "no $build/packages/miniprof: 'make test-programs' links it"
    exit 77
}
make_package dist
like "the sizes are printed" 'libminiprof\.so +[0-9]+ bytes, at most 1020000' \
    "$(cat "$work/make.log")"
tar=$(ls "$work"/out/*.tar.zst | grep -v debug)
name=$(basename "$tar" .tar.zst)
like "the name says version and processor" "^miniprof-[0-9].*-linux-$(uname -m)\$" "$name"
same "it holds one folder, of nobody in particular" "$name 0/0" \
    "$(zstd -dcq "$tar" | tar -tv --numeric-owner | awk '{ sub("/.*", "", $6); print $6, $2 }' |
        sort -u)"

# unpack FOLDER TAR
unpack() { mkdir -p "$1" && zstd -dcq "$2" | tar -C "$1" --strip-components=1 -x; }

at=$work/here
check "unpacked" unpack "$at" "$tar"
within "the command" "$at/bin/miniprof" "$most"
within "the recorder" "$at/lib/libminiprof.so" 1020000
for file in bin/miniprof lib/libminiprof.so lib/libminiprof_preload.so; do
    stripped "$file" "$at/$file"
done
same "all libraries but glibc's come along" "" "$(ldd "$at/bin/miniprof" |
    grep -vE 'linux-vdso|lib[cm]\.so|ld-linux' | grep -v "=> $at/bin/../lib/miniprof/")"
check "with their licences" ls \
    "$at"/share/doc/miniprof/{LICENSE,libzstd.copyright,libsqlite3.copyright,libz.copyright}
same "manual pages" "$(ls "$SOURCE/docs/man" | wc -l)" "$(ls "$at/share/man/man1" | wc -l)"
like "README says which glibc" 'glibc 2\.[0-9]+ or later' "$(head -n 1 "$at/README")"
records "unpacked" "$at/bin/miniprof" "$at/lib/libminiprof.so"

mkdir "$work/elsewhere"
mv "$at" "$work/elsewhere/miniprof-of-mine"
at=$work/elsewhere/miniprof-of-mine
records "moved" "$at/bin/miniprof" "$at/lib/libminiprof.so"
ln -s "$at/bin/miniprof" "$work/miniprof"
records "by a link" "$work/miniprof" "$at/lib/libminiprof.so"

# nvprof's files need SQLite: that of the tar.
check "SQLite works" "$at/bin/miniprof" -o "$work/sample.nvvp" "$inference" "${four[@]}"
same "a database" "SQLite format 3" "$(head -c 15 "$work/sample.nvvp")"

debug=$(ls "$work"/out/*-debug.tar.zst)
check "debugging information unpacked over it" unpack "$at" "$debug"
for file in bin/miniprof lib/libminiprof.so; do
    same "$file: of the same build" "$(readelf -n "$at/$file" | grep 'Build ID')" \
        "$(readelf -n "$at/$file.debug" 2>/dev/null | grep 'Build ID')"
done
finish
