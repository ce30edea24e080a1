#!/bin/bash
# Takes 20 s.
# What happens to files and descriptors while a program runs.
. "$SOURCE/tests/e2e/lib.sh" || exit 1
life=$build/tests/e2e/life
# LeakSanitizer needs /proc, a descriptor and a fork that nobody disturbs, which are what is taken
# away here. life_cuda.sh and life_ends.sh look for leaks.
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
hurry 5
fake=$build/tests/e2e/full_disk.so

# lives WHAT NAME STATUS KERNELS STEP...: unharmed, complete, and with these kernels.
lives() {
    local what=$1 name=$2 code=$3 expected=$4
    shift 4
    bare "$name.bare" -- "$life" "$@"
    same "$what: exit code without miniprof" "$code" "$status"
    profile "$name" -- "$life" "$@"
    unharmed "$what" "$name" "$name.bare" "$code"
    complete "$what" "$name"
    same "$what: kernels" "$expected" "$(kernels "$name")"
}

# size WHAT NAME: the closing line tells the file's size.
size() {
    local bytes
    bytes=$(stat -c %s "$2.mpt")
    same "$1: the closing line tells the size" \
        "$(awk "BEGIN { k = $bytes / 1024
            printf \"%.*fKiB\", k < 10 ? 3 : k < 100 ? 2 : 1, k }")" \
        "$(closing "$2" | grep -o '[0-9.]*KiB')"
}

# ---- folders ---------------------------------------------------------------------------------
mkdir relative elsewhere
bare chdir.bare -- "$life" init alpha=2 chdir="$work/elsewhere" alpha=3 sync
( cd relative && profile chdir MINIPROF_OUTPUT=chdir.mpt -- \
    "$life" init alpha=2 chdir="$work/elsewhere" alpha=3 sync; exit "$status" )
status=$?
mv relative/chdir.mpt .
unharmed "chdir after the start" chdir chdir.bare 0
complete "chdir after the start" chdir
same "chdir after the start: kernels" "alpha 5" "$(kernels chdir)"
size "chdir after the start" chdir
( cd relative && profile unused MINIPROF_OUTPUT=unused.mpt -- \
    "$build/tests/e2e/steps" init-only exit=0 )
check "a program that uses no GPU: its empty file is removed" [ ! -e relative/unused.mpt ]

if [ "$(id -u)" -eq 0 ]; then
    mkdir cage
    lives "chroot after the start" chroot 0 "alpha 5" init alpha=2 chroot="$work/cage" alpha=3 sync
    size "chroot after the start" chroot
fi
if [ "$(id -u)" -eq 0 ] && ! sanitized; then # sanitizers need /proc to find their options
    # Nothing in the new root: no /tmp, no /proc, no /dev, no /etc.
    mkdir -p bare_root/out
    for file in $(ldd "$life" "$lib" "$build/simgpu/libcupti.so" | grep -o '/[^ :)]*' | sort -u) \
        "$life" "$lib" "$build"/simgpu/libcupti.so*; do
        mkdir -p "bare_root$(dirname "$file")"
        cp -L "$file" "bare_root$file"
    done
    bare cage.bare -- chroot bare_root "$life" init alpha=4 sync print=ran
    same "no /tmp, /proc, /dev: exit code without miniprof" 0 "$status"
    profile cage MINIPROF_OUTPUT=/out/cage.mpt TMPDIR= -- \
        chroot bare_root "$life" init alpha=4 sync print=ran
    mv bare_root/out/cage.mpt . 2>/dev/null
    unharmed "no /tmp, /proc, /dev" cage cage.bare 0
    complete "no /tmp, /proc, /dev" cage
    same "no /tmp, /proc, /dev: kernels" "alpha 4" "$(kernels cage)"
fi

mkdir vanishing
touch removed
bare vanish.bare -- "$life" init alpha=2 sync print=begun await="$work/removed" alpha=3 sync exit=3
rm removed
start vanish MINIPROF_OUTPUT="$work/vanishing/a.mpt" -- \
    "$life" init alpha=2 sync print=begun await="$work/removed" alpha=3 sync exit=3
await grep -q begun vanish.out
rm -r vanishing
touch removed
wait "$pid"
status=$?
unharmed "the folder is removed while the program runs" vanish vanish.bare 3
like "the folder is removed while the program runs: one line" \
    '^miniprof: .*a.mpt. was removed while the program ran: the trace is lost$' "$(said vanish)"
check "the folder is removed while the program runs: it stays so" [ ! -e vanishing ]

mkdir mounted
if mount -t tmpfs -o size=256k none mounted 2>/dev/null; then
    trap 'umount -l "$work/mounted"; rm -rf "$work"' EXIT
    mount -o remount,ro mounted
    bare ro.bare -- "$life" init alpha=2 sync print=ran
    profile ro MINIPROF_OUTPUT="$work/mounted/a.mpt" -- "$life" init alpha=2 sync print=ran
    unharmed "a read-only file system" ro ro.bare 0
    same "a read-only file system: one line" 1 "$(said ro | wc -l)"
    like "a read-only file system: what it says" \
        'a.mpt.: Read-only file system.*nothing is recorded' \
        "$(said ro)"
fi

# ---- a full disk that has room again ----------------------------------------------------------
# filled NAME STEP...: with writes that fail as FROM, COUNT and ERRNO say.
filled() {
    local name=$1
    shift
    profile "$name" LD_PRELOAD="$fake" FULL_DISK_FROM="$from" FULL_DISK_COUNT="$times" \
        FULL_DISK_ERRNO="${errno:-28}" -- "$life" "$@"
}

# dropped NAME: as the closing line has it.
dropped() {
    closing "$1" | sed 's/.* \([0-9]*\) dropped.*/\1/'
}

if ! sanitized; then
    all=(init alpha=2 sync written alpha=100 sync written beta=7 alpha=9 sync written beta=3)
    bare room.bare -- "$life" "${all[@]}"
    profile room -- "$life" "${all[@]}"
    every=$(closing room | sed 's/.* \([0-9]*\) records.*/\1/')
    # From the header on: the first definitions, all definitions, some events; one write and more.
    for from in 1 2 5 9 12 16 20; do
        for times in 1 3; do
            filled "room$from.$times" "${all[@]}"
            what="the disk is full for $times writes from the ${from}th on"
            unharmed "$what" "room$from.$times" room.bare 0
            complete "$what" "room$from.$times"
            same "$what: one line at most, and how it goes on" "" \
                "$(said "room$from.$times" | sed '1{/records are lost until there is room/d}')"
            same "$what: what is not in the file is counted" "$every" \
                "$(($("$miniprof" info --json "room$from.$times.mpt" |
                    sed -n 's/^  "records": \([0-9]*\),/\1/p') + $(dropped "room$from.$times")))"
            same "$what: nothing refers to what is missing" 0 \
                "$("$miniprof" dump --json "room$from.$times.mpt" | grep -c 'unknown\|undefined')"
            [ "$from" -gt 9 ] || like "$what: and later kernels are there" 'beta [1-9]' \
                "$(kernels "room$from.$times")"
        done
    done
    from=5 times=100000
    filled forever "${all[@]}"
    unharmed "the disk stays full" forever room.bare 0
    same "the disk stays full: one line" 1 "$(said forever | wc -l)"
    check "the disk stays full: the file can be read" zstd -tq forever.mpt
    like "the disk stays full: what is lost is counted" '^[1-9][0-9]*$' "$(dropped forever)"
    errno=5 times=1
    filled broken "${all[@]}"
    unharmed "the disk fails" broken room.bare 0
    same "the disk fails: one line" 1 "$(said broken | wc -l)"
    like "the disk fails: what it says" 'cannot write: Input/output error: recording stops' \
        "$(said broken)"
    # CUPTI before 13.0 Update 1 keeps its records of kernels on.
    SIMGPU_CUPTI_VERSION=130001 filled over init alpha=2 sync said="recording stops" \
        round alpha=5000 sync
    check "the disk fails: later launches are not CUPTI's any more ($(dropped over) dropped)" \
        [ "$(dropped over)" -lt 1000 ]
fi
if mountpoint -q mounted; then # a real one
    mount -o remount,rw,size=64k mounted
    dd if=/dev/zero of=mounted/ballast bs=1k count=48 2>/dev/null
    start disk MINIPROF_TEST_TIME_DIVISOR=1 MINIPROF_OUTPUT="$work/mounted/a.mpt" -- \
        "$life" init beat=3000 said="until there is room" await="$work/room" written \
        alpha=50 sync exit=3
    await grep -q 'until there is room' disk.err
    rm mounted/ballast
    mount -o remount,size=8m mounted
    touch room
    wait "$pid"
    same "a tmpfs that fills up and is emptied: exit code" 3 $?
    cp mounted/a.mpt disk.mpt
    complete "a tmpfs that fills up and is emptied" disk
    check "a tmpfs that fills up and is emptied: some kernels are lost" \
        [ "$(count disk kernel)" -lt 3050 ]
    like "a tmpfs that fills up and is emptied: counted" '^[1-9][0-9]*$' "$(dropped disk)"
    same "a tmpfs that fills up and is emptied: the last kernels" 50 \
        "$(column disk kernel start | tail -n 50 | wc -l)"
fi

# ---- descriptors -----------------------------------------------------------------------------
for fds in 0 1 2 02 12 012; do
    closing=()
    for ((i = 0; i < ${#fds}; i++)); do
        closing+=("${fds:i:1}>&-")
    done
    bare "std$fds.bare" -- bash -c "exec \"\$0\" \"\$@\" ${closing[*]}" \
        "$life" init alpha=4 sync write-standard=text
    expected=$status
    profile "std$fds" -- bash -c "exec \"\$0\" \"\$@\" ${closing[*]}" \
        "$life" init alpha=4 sync written write-standard=text
    unharmed "closed: $fds" "std$fds" "std$fds.bare" "$expected"
    same "closed: $fds: kernels" "alpha 4" "$(kernels "std$fds")"
    check "closed: $fds: nothing else in the file" zstd -tq "std$fds.mpt"
done
lives "no descriptor left" full 0 "alpha 5" init alpha=2 use-up-fds alpha=3 sync
size "no descriptor left" full
for ((i = 4; i <= 9; i++)); do
    ( ulimit -n $i; "$life" init alpha=4 sync print=ran >few.out 2>few.err )
    expected=$?
    ( ulimit -n $i
      CUDA_INJECTION64_PATH=$lib MINIPROF_OUTPUT="$work/few$i.mpt" \
          "$life" init alpha=4 sync print=ran >few.out 2>few.err )
    same "$i descriptors: exit code" "$expected" $?
    same "$i descriptors: one line at most" 1 "$(($(grep -c . few.err) <= 1))"
done
lives "all descriptors closed, their numbers taken" taken 0 "alpha 5 beta 1" \
    init alpha=2 sync close-all="$work/taken.own" alpha=3 sync written beta=1 sync
same "all descriptors closed: nothing of ours in the program's file" 0 \
    "$(stat -c %s taken.own)"

# ---- rights ----------------------------------------------------------------------------------
( umask 777; profile mask -- "$life" init alpha=4 sync )
same "umask 777: the file is its owner's" 600 "$(stat -c %a mask.mpt)"
complete "umask 777" mask
same "umask 777: kernels" "alpha 4" "$(kernels mask)"
finish
