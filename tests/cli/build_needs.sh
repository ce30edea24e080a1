#!/bin/bash
# make where something is missing: it says what, and that `make deps` brings it. Manual pages that
# cannot be made are left out. BUILD may be absolute. `make compdb` has all files. Nothing is
# compiled here.
. "$SOURCE/tests/tools/cli.sh" || exit 1

do_make() {
    last="make $*"
    env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make --no-print-directory -s -C "$SOURCE" \
        BUILD="$folder/build" "$@" >.stdout 2>.stderr
    got=$?
}

# All programs but scdoc.
mkdir bin
IFS=: read -ra folders <<<"$PATH"
for from in "${folders[@]}"; do
    find "$from" -maxdepth 1 ! -type d ! -name scdoc -exec ln -s -t bin {} + 2>/dev/null
done
PATH=$folder/bin do_make man
code 0
quiet
stdout <<'END'
note: no scdoc ('make deps' installs it): left out the manual pages
END

# A header that everything is built with.
for header in xxhash.h zstd.h; do
    mkdir "without_$header"
    echo "#include <no/such/$header>" >"without_$header/$header"
    do_make CPPFLAGS="-I$folder/without_$header" programs
    code 2
    grep -qx "error: no $header: 'make deps' installs what building needs, or says how" .stderr
    verdict "says which, and what brings it" $?
    verdict "nothing was compiled" "$([ ! -e build/obj/src ]; echo $?)"
done
do_make CC="$folder/no-such-compiler" programs
code 2
grep -qx "error: no compiler '$folder/no-such-compiler':\
 'make deps' installs what building needs, or says how" .stderr
verdict "names the missing compiler" $?

do_make "$folder/build/flags"
code 0
verdict "with all headers the build can begin" "$([ -s build/flags ]; echo $?)"

# A file has one name, however BUILD is written: else make takes a stale one for a source.
for form in elsewhere ./elsewhere/ "$(realpath "$SOURCE")/elsewhere"; do
    do_make -n BUILD="$form" elsewhere/flags
    code 0
done

do_make compdb COMPDB="$folder/compdb"
code 0
quiet
cp compdb .stdout
json '{e["file"] for e in d} == set("""'"$(cd "$SOURCE" &&
    find src tools tests samples -name '*.c')"'""".split())'
json 'all(e["command"].endswith(" -c -o %s %s" % (e["output"], e["file"])) for e in d)'
finish
