# What the tests in a clean system share: the system, and what is tried in it.
. "$SOURCE/tests/packages/lib.sh" || exit 1

# clean_root SUITE ARCHIVE [KEYRING]: sets `root` to a system that this test may change.
clean_root() {
    local kept=$SOURCE/build/roots/$1.tar script=/usr/share/debootstrap/scripts/$1
    if [ "$(id -u)" != 0 ] || ! command -v debootstrap >/dev/null; then
        echo "no clean system: needs root and debootstrap ('make deps')"
        exit 77
    fi
    # An older debootstrap does not know a newer Ubuntu, whose script is that of the others.
    [ -e "$script" ] || script=/usr/share/debootstrap/scripts/gutsy
    if [ ! -e "$kept" ]; then
        mkdir -p "${kept%/*}"
        # shellcheck disable=SC2086
        if ! debootstrap --variant=minbase ${NO_CHECK_GPG:+--no-check-gpg} ${3:+--keyring="$3"} \
            "$1" "$work/new" "$2" "$script" >"$work/debootstrap.log" 2>&1; then
            echo "no clean $1 from $2: $(tail -n 1 "$work/debootstrap.log")"
            exit 77
        fi
        tar -C "$work/new" -cf "$kept.new" . && mv "$kept.new" "$kept"
        rm -rf "$work/new"
    fi
    root=$work/root
    mkdir "$root"
    tar -C "$root" -xf "$kept"
    cp /etc/resolv.conf "$root/etc/resolv.conf"
    if ! inside true 2>"$work/inside.log"; then
        echo "no clean system: $(tail -n 1 "$work/inside.log")"
        exit 77
    fi
    # How this system reaches the archives and npm's registry.
    local authority
    authority=$(npm config get cafile 2>/dev/null)
    if [ -e "$authority" ]; then
        cp "$authority" "$root/etc/npm-authority.crt"
        echo "cafile=/etc/npm-authority.crt" >"$root/root/.npmrc"
    fi
    [ ! -e /etc/apt/apt.conf ] || cp /etc/apt/apt.conf "$root/etc/apt/apt.conf"
}

# inside COMMAND...: in the clean system, with a /proc and terminals of its own that go away with
# the command.
inside() {
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive LC_ALL=C \
        unshare --mount --pid --fork --mount-proc="$root/proc" sh -c '
            mount -t devpts -o newinstance,ptmxmode=0666 none "$0/dev/pts" 2>/dev/null &&
                ln -sf pts/ptmx "$0/dev/ptmx"
            exec chroot "$0" "$@"' "$root" "$@"
}

# into FOLDER: the source as it is here, uncommitted changes too, in a folder of the clean system.
# A source archive has no list of its files: all but what is built.
into() {
    mkdir -p "$root/$1"
    git -C "$SOURCE" ls-files -z --cached --others --exclude-standard >"$work/files" 2>/dev/null ||
        (cd "$SOURCE" && find . \( -name build -o -name .git \) -prune -o ! -type d -print0) \
            >"$work/files"
    tar -C "$SOURCE" -c --null -T "$work/files" --ignore-failed-read |
        tar -C "$root/$1" -x --no-same-owner
}

# fresh_works COMPONENT...: the newcomer's two commands in a source archive, without git, with the
# CUDA of the system's own archive, which these components of it have.
fresh_works() {
    local log
    sed -i "s/ main.*/ main $*/" "$root/etc/apt/sources.list"
    check "apt knows its archive" inside apt-get update -q
    check "apt installs make" inside apt-get install -y -q --no-install-recommends make
    into source
    for log in demo check; do
        inside make --no-print-directory -C /source $log </dev/null >"$work/$log.log" 2>&1
        same "make $log: exit code" 0 $?
    done
    like "make demo shows what it found" 'GPU activities:.*gemm_layer' "$(cat "$work/demo.log")"
    like "make check tries thousands" '^[0-9]{5} passed, 0 failed$' "$(tail -n 1 "$work/check.log")"
    grep -aE '^skipped' "$work/check.log"
    grep -aE -A 12 '^FAILED' "$work/check.log" | head -n 200
    tail -n 3 "$work/demo.log" "$work/check.log"
}

# What the packages promise, tried there.
packages_work() {
    local name
    make_package deb
    make_package dist
    mkdir "$root/given"
    cp "$work"/out/*.deb "$inference" "$build"/simgpu/lib*.so* "$root/given"
    zstd -dcq "$(ls "$work"/out/*.tar.zst | grep -v debug)" | tar -C "$root/given" -x
    name=$(cd "$root/given" && echo miniprof-*/)

    # The tar needs nothing that such a system lacks.
    check "tar: runs before anything is installed" \
        inside "/given/${name}bin/miniprof" --version
    records_inside tar "/given/${name}bin/miniprof" "/given/${name}lib/libminiprof.so"

    check "apt knows its archive" inside apt-get update -q
    check "apt installs the packages" inside sh -c \
        'apt-get install -y -q --no-install-recommends /given/*.deb'
    same "installed, nothing half" "" "$(inside dpkg --audit)"
    records_inside deb /usr/bin/miniprof /usr/lib/miniprof/libminiprof.so
    check "apt removes them" inside apt-get purge -y -q \
        miniprof libminiprof libmptrace1 libmptrace-dev miniprof-dbg
    same "and nothing of them stays" "" "$(find "$root/usr" "$root/etc" -name '*miniprof*' \
        -o -name '*mptrace*')"
}

# records_inside WHAT COMMAND LIBRARY
records_inside() {
    local what=$1 command=$2 library=$3
    check "$what: run" inside env LD_LIBRARY_PATH=/given "$command" run -o /given/run.mpt -- \
        /given/inference "${four[@]}"
    check "$what: the library alone" inside env LD_LIBRARY_PATH=/given \
        CUDA_INJECTION64_PATH="$library" MINIPROF_OUTPUT=/given/injected.mpt \
        /given/inference "${four[@]}"
    mv "$root"/given/*.mpt "$work"
    same "$what: kernels of both" "80 80" "$(echo $(count run kernel) $(count injected kernel))"
    complete "$what" run
    rm -f "$work"/*.mpt
}

# README.md and the tutorial, typed there as they stand, in a clone: what README says under Install,
# then the commands whose output the documents show, by the build and by the packages.
readme_works() {
    local cuda
    cuda=$(for cuda in "${CUDA_HOME:-}" /usr/local/cuda; do
        [ ! -e "$cuda/include/cupti.h" ] || echo "$cuda"
    done | head -n 1)
    if [ -z "$cuda" ]; then
        echo "no CUDA headers with CUPTI's among them, in CUDA_HOME or /usr/local/cuda"
        exit 77
    fi
    mkdir -p "$root/usr/local/cuda"
    into clone
    tar -C "$cuda/" -ch --exclude=cccl --exclude='*.a' include | tar -C "$root/usr/local/cuda" -x
    sed -n '/^```sh$/,/^```$/{/^```/!p}' "$SOURCE/README.md" >"$root/clone/typed"
    same "README: there is something to type" 5 "$(wc -l <"$root/clone/typed")"
    # Line by line into one shell, as one types; `set -e` stops at what fails.
    inside bash -c 'cd /clone && { echo "set -e"; cat typed; echo "echo PATH=\$PATH >path"; } |
        bash' >"$work/typed.log" 2>&1
    same "README: all that is typed works" 0 $?
    [ -e "$root/clone/path" ] || tail -n 20 "$work/typed.log"
    same "README: the command is found" "PATH=/clone/build:/usr/sbin:/usr/bin:/sbin:/bin" \
        "$(cat "$root/clone/path")"
    like "README: make demo shows what it found" 'GPU activities:.*gemm_layer' \
        "$(cat "$work/typed.log")"
    for built in /clone/build /usr/bin; do
        check "README, tutorial: what they show, by $built" inside env BUILD=$built SOURCE=/clone \
            bash /clone/tests/cli/documents.sh
    done
    check "the packages record" inside env -C /tmp LD_LIBRARY_PATH=/clone/build/simgpu \
        miniprof run -o run.mpt -- /clone/build/samples/inference "${four[@]}"
    check "the packages make pages" inside env -C /tmp miniprof html run.mpt
}
