#!/bin/bash
# Takes 200 s.
# Stacks with the Pythons of Debian's next release: 3.13, 3.14 and its debug build. Needs root,
# debootstrap and Debian's archive; the programs come from this build.
. "$SOURCE/tests/roots/lib.sh" || exit 1
clean_root forky http://deb.debian.org/debian
check "apt knows its archive, though it may be an old copy" \
    inside apt-get -o Acquire::Check-Valid-Until=false update -q
check "apt installs Pythons" inside apt-get install -y -q --no-install-recommends python3 \
    python3.13-dev python3.14-dev python3.14-dbg gcc libzstd1 libsqlite3-0 libunwind8
for python in python3.13 python3.14 python3.14d; do
    mkdir -p "$root/opt/pythons/$python/versions/$python/bin"
    ln -s "/usr/bin/$python" "$root/opt/pythons/$python/versions/$python/bin/python3"
done

# with_source PYTHON TEST: it runs there with that Python; sets `said`.
with_source() {
    said=$(unshare --mount sh -c 'mkdir -p "$2/source" && mount --bind "$1" "$2/source" &&
        mount -t proc proc "$2/proc" && shift 2 && exec "$@"' sh "$SOURCE" "$root" \
        chroot "$root" env -i PATH="/opt/pythons/$1/versions/$1/bin:/usr/bin:/bin" HOME=/root \
        CC=gcc PYENV_ROOT="/opt/pythons/$1" SOURCE=/source BUILD="/source${build#"$SOURCE"}" \
        bash "/source/tests/e2e/$2.sh" 2>&1)
}
for python in python3.13 python3.14 python3.14d; do
    for name in stacks native_stacks gap_samples operators; do
        with_source $python $name
        like "$python, $name: none failed" '[1-9][0-9]* passed, 0 failed$' "$said"
        grep -aE -A 6 '^FAILED' <<<"$said"
    done
done
finish
