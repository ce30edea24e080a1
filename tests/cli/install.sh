#!/bin/bash
# make install and uninstall: what they put where, and nvprof's name.
. "$SOURCE/tests/tools/cli.sh" || exit 1

# make with the files of this build as they are (-o all; it may have no manual pages), into a
# folder of our own.
do_make() {
    last="make $*"
    env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make --no-print-directory -s -C "$SOURCE" -o all \
        MAN_PAGES= BUILD="$BUILD" SAN="${SAN:-}" DESTDIR="$folder/root" PREFIX=/usr "$@" \
        >.stdout 2>.stderr
    got=$?
}

bin=$folder/root/usr/bin
do_make install
code 0
verdict "the command is there" "$([ -x "$bin/miniprof" ]; echo $?)"
verdict "no nvprof unless it is asked for" "$([ ! -e "$bin/nvprof" ]; echo $?)"
if [ -e "$BUILD/libminiprof.so" ]; then
    verdict "the recorder is there" "$([ -e "$folder/root/usr/lib/libminiprof.so" ]; echo $?)"
    verdict "and what is preloaded" \
        "$([ -e "$folder/root/usr/lib/libminiprof_preload.so" ]; echo $?)"
fi

share=$folder/root/usr/share
completions="$share/bash-completion/completions/miniprof $share/zsh/site-functions/_miniprof
    $share/fish/vendor_completions.d/miniprof.fish"
for file in $completions; do
    verdict "${file#"$share/"} is there" "$([ -s "$file" ]; echo $?)"
done

do_make install NVPROF=1
code 0
verdict "nvprof is a link to it" "$([ "$(readlink "$bin/nvprof")" = miniprof ]; echo $?)"
"$bin/nvprof" -V >.stdout 2>.stderr
got=$?
last="nvprof -V"
code 0
quiet
"$bin/nvprof" --foo >.stdout 2>.stderr
got=$?
last="nvprof --foo"
code 5
stderr <<'END'
======== Error: Encountered invalid option : --foo
======== Use "nvprof --help" to get more information.
END
do_make uninstall
code 0
verdict "uninstall takes the link along" "$([ ! -L "$bin/nvprof" ]; echo $?)"
for file in $completions; do
    verdict "and ${file#"$share/"}" "$([ ! -e "$file" ]; echo $?)"
done

# A real nvprof stays.
mkdir -p "$bin"
echo theirs >"$bin/nvprof"
do_make install NVPROF=1
verdict "install does not replace a file of that name" $((got == 0))
do_make uninstall
verdict "uninstall leaves it" "$([ "$(cat "$bin/nvprof")" = theirs ]; echo $?)"
finish
