#!/bin/bash
# Takes 13 s.
# Whatever is wrong: the program runs as without the recorder, which says one clear line.
. "$SOURCE/tests/e2e/lib.sh" || exit 1

program=("$steps" init alpha=4 beta=2 sync print=result)

# With a setting that changes what simgpu does, the bare run has it too.
bare_with() {
    bare bare "$@" -- "${program[@]}"
}

# one_line WHAT NAME PATTERN: it said that line, and no other but the closing one.
one_line() {
    same "$1: one line" 1 "$(said "$2" | wc -l)"
    like "$1: what it says" "^miniprof: .*$3" "$(said "$2")"
}

# nothing WHAT NAME [PATTERN]: nothing was recorded, no file was left.
nothing() {
    check "$1: no trace" [ ! -e "$2.mpt" ]
    same "$1: no closing line" 0 "$(closing "$2" | wc -l)"
    [ $# -lt 3 ] || one_line "$1" "$2" "$3"
}

recorded() {
    complete "$1" "$2"
    same "$1: recorded" "alpha 4 beta 2" "$(kernels "$2")"
    same "$1: a closing line" 1 "$(closing "$2" | wc -l)"
}

# ---- CUPTI -----------------------------------------------------------------------------------
bare_with
mkdir only_cuda
cp -L "$build/simgpu/libcuda.so.1" only_cuda
# A toolkit in /usr/local/cuda has one, which is of no use to the software GPU; and as it has been
# loaded, the leak checker crashes in 1 of 100 runs.
leaky profile no_cupti LD_LIBRARY_PATH="$work/only_cuda" CUDA_HOME= CUDA_PATH= -- "${program[@]}"
unharmed "no libcupti" no_cupti bare 0
nothing "no libcupti" no_cupti 'libcupti|CUPTI'
profile wrong_cupti MINIPROF_CUPTI=/nonexistent -- "${program[@]}"
unharmed "MINIPROF_CUPTI=/nonexistent" wrong_cupti bare 0
one_line "MINIPROF_CUPTI=/nonexistent" wrong_cupti "MINIPROF_CUPTI='/nonexistent'.*(search|another)"
recorded "MINIPROF_CUPTI=/nonexistent" wrong_cupti
profile not_cupti MINIPROF_CUPTI="$build/simgpu/libcuda.so.1" -- "${program[@]}"
unharmed "MINIPROF_CUPTI is another library" not_cupti bare 0
one_line "MINIPROF_CUPTI is another library" not_cupti "MINIPROF_CUPTI.*libcuda.so.1"
recorded "MINIPROF_CUPTI is another library" not_cupti
profile this_cupti LD_LIBRARY_PATH="$work/only_cuda" \
    MINIPROF_CUPTI="$build/simgpu/libcupti.so" -- "${program[@]}"
unharmed "MINIPROF_CUPTI names the one to use" this_cupti bare 0
same "MINIPROF_CUPTI names the one to use: nothing to say" "" "$(said this_cupti)"
recorded "MINIPROF_CUPTI names the one to use" this_cupti

profile old SIMGPU_CUPTI_VERSION=13 -- "${program[@]}"
unharmed "an old libcupti" old bare 0
nothing "an old libcupti" old '(version 13|cannot be used)'
profile now -- "${program[@]}"
recorded "this libcupti" now
for version in 18 22 23 26 28 130000; do
    profile "v$version" SIMGPU_CUPTI_VERSION=$version -- "${program[@]}"
    unharmed "CUPTI version $version" "v$version" bare 0
    recorded "CUPTI version $version" "v$version"
    same "CUPTI version $version: nothing to say" "" "$(said "v$version")"
    same "CUPTI version $version: the same kernels, calls, dependencies" \
        "$(comparable now kernel call sync)" "$(comparable "v$version" kernel call sync)"
done
profile taken SIMGPU_CUPTI_SUBSCRIBE_ERROR=39 -- "${program[@]}"
unharmed "another CUPTI client" taken bare 0
nothing "another CUPTI client" taken 'another CUPTI client'
profile refused SIMGPU_CUPTI_SUBSCRIBE_ERROR=15 -- "${program[@]}"
unharmed "CUPTI refuses" refused bare 0
nothing "CUPTI refuses" refused 'CUPTI'

# ---- no GPU ----------------------------------------------------------------------------------
for error in 100 999; do
    bare_with SIMGPU_CUINIT_ERROR=$error
    same "cuInit fails with $error: exit code without miniprof" 1 "$status"
    profile "gpu$error" SIMGPU_CUINIT_ERROR=$error -- "${program[@]}"
    unharmed "cuInit fails with $error" "gpu$error" bare 1
    nothing "cuInit fails with $error" "gpu$error" 'CUDA did not start'
done
bare_with SIMGPU_DEVICES=0
profile devices SIMGPU_DEVICES=0 -- "${program[@]}"
unharmed "no device" devices bare 1
nothing "no device" devices
profile unused -- "$steps" init-only
same "a program that starts CUDA and uses no GPU: no file, no line" "0 " "$status $(cat unused.err)"
nothing "a program that uses no GPU" unused

# ---- bad values of each setting --------------------------------------------------------------
bare_with
number=0
while read -r name value takes; do
    number=$((number + 1))
    mkdir "value$number"
    ( cd "value$number" && profile "value$number" MINIPROF_"$name"="$value" -- "${program[@]}"
      exit "$status" )
    status=$?
    unharmed "MINIPROF_$name=$value" "value$number" bare 0
    one_line "MINIPROF_$name=$value" "value$number" "MINIPROF_$name='.*' .*takes .*$takes"
    # The default of MINIPROF_OUTPUT is a file in the working directory.
    [ "$name" = OUTPUT ] && mv "value$number"/miniprof.*.mpt "value$number.mpt"
    recorded "MINIPROF_$name=$value" "value$number"
done <<'VALUES'
OUTPUT a%x.mpt %p.*process
OUTPUT a%q{NAME %p.*process
OUTPUT %.mpt %p.*process
CAPTURE sometimes auto,.range,.all,.pause,.off.or.nvtx:NAME
CAPTURE Auto auto,.range,.all,.pause,.off.or.nvtx:NAME
CAPTURE nvtx: auto,.range,.all,.pause,.off.or.nvtx:NAME
CAPTURE nvtx:@domain auto,.range,.all,.pause,.off.or.nvtx:NAME
CAPTURE off:now auto,.range,.all,.pause,.off.or.nvtx:NAME
CAPTURE_END 2 repeat,.repeat:N.or.stop
CAPTURE_END repeat:0 repeat,.repeat:N.or.stop
CAPTURE_END repeat:many repeat,.repeat:N.or.stop
DELAY 1.5 0.to.4000000
DURATION -1 0.to.4000000
SCHEDULE 3 active=N
SCHEDULE active=0 active=N
SCHEDULE skip=1,wait=1 active=N
SCHEDULE active=1,active=2 active=N
SCHEDULE active=1,steps=2 active=N
STEP @domain NAME@DOMAIN
FLIGHT 30 1s.to.1h
FLIGHT 999ms 1s.to.1h
FLIGHT 2h 1s.to.1h
FLIGHT -5s 1s.to.1h
FLIGHT off 1s.to.1h
FLIGHT_MB 3 4.to.65536
FLIGHT_MB 64MB 4.to.65536
FLIGHT_FILES 0 1.to.99
FLIGHT_FILES 100 1.to.99
BASELINE 0 1%.*75%
BASELINE 150% 1%.*75%
BASELINE 25%% 1%.*75%
SLOW_STEP 50 50ms.*p99x2
SLOW_STEP 0s 50ms.*p99x2
SLOW_STEP p99x 50ms.*p99x2
SLOW_STEP p100x2 50ms.*p99x2
API lean,all lean,.all,.none
API a,,b lean,.all,.none
ATTACH later init,.graph.or.range
CUDA_GRAPH edge node.or.graph
BUFFER_MB 7 8.to.4096
BUFFER_MB 4097 8.to.4096
BUFFER_MB 64MB 8.to.4096
BUFFER_MB -8 8.to.4096
BUFFER_MB 99999999999999999999 8.to.4096
GPU_BUFFER_MB 15 16.to.1024
GPU_BUFFER_MB 1025 16.to.1024
GPU_BUFFER_MB 128MB 16.to.1024
GPU_BUFFER_MB -16 16.to.1024
GPU_BUFFER_MB 99999999999999999999 16.to.1024
LEVEL 0 1.to.19
LEVEL 20 1.to.19
LEVEL fast 1.to.19
LOG loud debug,.info,.warn
NCCL maybe off,.on.or.nvtx
NVTX yes off.or.on
MEMORY 1 off.or.on
WAITS sometimes off.or.on
ARGV maybe off.or.on
GPU none off.or.on
CONCURRENT_KERNELS serial off.or.on
DEVICE_GRAPHS 1 off.or.on
UNIFIED_MEMORY per-process-device off.or.on
CHILDREN all off.or.on
TIMEOUT -1 0.to.4000000
TIMEOUT 4000001 0.to.4000000
TIMEOUT 1s 0.to.4000000
REPLAY application kernel.or.disabled
QUERY events off,.metrics.or.sampling
SAMPLE default@0Hz from.10Hz.to.200kHz
SAMPLE default@1MHz from.10Hz.to.200kHz
SAMPLE default@ from.10Hz.to.200kHz
STACKS all off,.python,.native.or.both
STACKS_EVERY 0 1.to.1000000
STACKS_EVERY often 1.to.1000000
STACKS_OVER -1us 0.to.4000000
STACKS_OVER 5000000 0.to.4000000
STACKS_GAPS -1 0.to.1000000
STACKS_GAPS 1000001 0.to.1000000
STACKS_GAPS 1ms 0.to.1000000
OPERATORS jax off,.torch.or.modules
VALUES
# Texts take anything: CUPTI is above, the others stand with what they are about.
same "bad values: of every setting but texts" "$("$build/dev/setting_list" |
    sed -n 's/^- `MINIPROF_\([A-Z_]*\)`.*/\1/p' |
    grep -vxE 'CUPTI|METRICS|KERNELS|DEVICES' | sort | paste -sd' ')" \
    "$(sed -n "/^done <<'VALUES'/,/^VALUES/s/^\([A-Z_]*\) .*/\1/p" \
        "$SOURCE/tests/e2e/bad_input.sh" |
        sort -u |
        paste -sd' ')"
profile unknown_call MINIPROF_API=cuNoSuchCall -- "${program[@]}"
unharmed "MINIPROF_API=cuNoSuchCall" unknown_call bare 0
one_line "MINIPROF_API=cuNoSuchCall" unknown_call "MINIPROF_API='cuNoSuchCall'"
recorded "MINIPROF_API=cuNoSuchCall" unknown_call
profile quiet MINIPROF_LOG=none MINIPROF_CAPTURE=sometimes -- "${program[@]}"
unharmed "MINIPROF_LOG=none" quiet bare 0
same "MINIPROF_LOG=none: nothing at all" "" "$(cat quiet.err)"
same "MINIPROF_LOG=none: recorded" "alpha 4 beta 2" "$(kernels quiet)"
profile empty MINIPROF_CAPTURE= MINIPROF_BUFFER_MB= MINIPROF_API= -- "${program[@]}"
same "empty values: as unset" "" "$(said empty)"
recorded "empty values" empty

# ---- the file --------------------------------------------------------------------------------
profile unset 'MINIPROF_OUTPUT=%q{NO_SUCH_VARIABLE}.mpt' -- "${program[@]}"
unharmed "%q of an unset variable" unset bare 0
nothing "%q of an unset variable" unset 'MINIPROF_OUTPUT.*NO_SUCH_VARIABLE'
# recorded_in WHAT NAME FILE: the trace is there, complete; what it said is another matter.
recorded_in() {
    cp "$3" "$2.mpt"
    recorded "$1" "$2"
    rm "$2.mpt"
}
profile folder MINIPROF_OUTPUT="$work/new/and/deep/a.mpt" -- "${program[@]}"
unharmed "folders that are not there" folder bare 0
same "folders that are not there: nothing to say" "" "$(said folder)"
recorded_in "folders that are not there" folder new/and/deep/a.mpt
same "folders that are not there: they are their owner's" "700 700" \
    "$(stat -c %a new new/and/deep | paste -sd' ')"
( umask 777; profile mask_folder MINIPROF_OUTPUT=masked/a.mpt -- "${program[@]}" )
recorded_in "folders that are not there, umask 777" mask_folder masked/a.mpt
# CUPTI makes launches dearer as soon as it is initialised: not for nothing.
profile useful SIMGPU_TELL_CUPTI=1 -- "${program[@]}"
same "CUPTI is initialised where something is recorded" 1 "$(grep -c '^simgpu.*CUPTI' useful.err)"
bare bare SIMGPU_TELL_CUPTI=1 -- "${program[@]}"
for row in no_folder:/proc/none/a.mpt:'cannot create .*/proc/none.*No such file' \
    no_file:/proc/self/a.mpt:'a.mpt.*(denied|No such file|not permitted)' \
    file_in_the_way:"$work/bare.out/a.mpt":'cannot create .*a directory'; do
    IFS=: read -r name file expected <<<"$row"
    profile "$name" SIMGPU_TELL_CUPTI=1 MINIPROF_OUTPUT="$file" -- "${program[@]}"
    unharmed "no place for the trace: $name, and CUPTI is left alone" "$name" bare 0
    nothing "no place for the trace: $name" "$name" "$expected.*nothing is recorded"
done
if ! sanitized; then
    profile no_room SIMGPU_TELL_CUPTI=1 LD_PRELOAD="$build/tests/e2e/full_disk.so" \
        FULL_DISK_COUNT=100000 -- "${program[@]}"
    unharmed "no room for the header, and CUPTI is left alone" no_room bare 0
    nothing "no room for the header" no_room 'no_room.mpt.*No space.*nothing is recorded'
fi
if mkdir locked && chmod 500 locked && ! touch locked/probe 2>/dev/null; then
    profile locked MINIPROF_OUTPUT="$work/locked/a.mpt" -- "${program[@]}"
else # root may write everywhere but here
    profile locked MINIPROF_OUTPUT=/proc/1/a.mpt -- "${program[@]}"
fi
unharmed "an unwritable folder" locked bare 0
nothing "an unwritable folder" locked 'a.mpt.*(denied|No such file|not permitted)'
echo precious >exists.mpt
for number in 1 2; do
    profile exists -- "${program[@]}"
    unharmed "the file exists" exists bare 0
    one_line "the file exists" exists "exists.mpt. exists.*exists.$number.mpt"
    same "the file exists: untouched" precious "$(cat exists.mpt)"
    cp exists.$number.mpt taken.mpt
    complete "the file exists: the trace has the next free name, $number" taken
    same "the file exists: kernels, $number" "alpha 4 beta 2" "$(kernels taken)"
done
eval "touch exists.{3..9998}.mpt"
profile exists -- "${program[@]}"
unharmed "9,998 files exist" exists bare 0
one_line "9,998 files exist" exists "exists.mpt. exists.*exists.9999.mpt"
profile exists -- "${program[@]}"
unharmed "9,999 files exist" exists bare 0
one_line "9,999 files exist" exists "exists.mpt. exists, and so do all its names up to number 9999 \
.*: nothing is recorded"
rm exists.*.mpt
echo precious >target
ln -s target link.mpt
profile link -- "${program[@]}"
unharmed "a symbolic link" link bare 0
one_line "a symbolic link" link 'link.mpt'
same "a symbolic link: its target is untouched" precious "$(cat target)"
ln -s nowhere dangling.mpt
profile dangling -- "${program[@]}"
unharmed "a dangling link" dangling bare 0
check "a dangling link: its target was not made" [ ! -e nowhere ]
mkdir directory.mpt
profile directory -- "${program[@]}"
unharmed "a directory" directory bare 0
one_line "a directory" directory 'directory.mpt'
profile long MINIPROF_OUTPUT="$(printf 'x%.0s' {1..300}).mpt" -- "${program[@]}"
unharmed "a name too long" long bare 0
nothing "a name too long" long 'cannot create .xxx'
profile tidy MINIPROF_OUTPUT='%p-%h-%q{USERLIKE}-100%%.mpt' USERLIKE=me -- "${program[@]}"
check "patterns: process id, host, variable, percent" \
    [ -e "$(echo [0-9]*-"$(hostname)"-me-100%.mpt)" ]

# ---- a full disk -----------------------------------------------------------------------------
# limited NAME KIB PROGRAM...: RLIMIT_FSIZE; output goes through pipes, which have no limit.
limited() {
    local name=$1 limit=$2
    shift 2
    {
        { ( ulimit -f "$limit"
            CUDA_INJECTION64_PATH="$lib" MINIPROF_OUTPUT="$work/$name.mpt" exec "$@" ) 2>&3
          echo $? >&4; } | cat >"$name.out"
    } 3> >(cat >"$name.err") 4>"$name.status"
    await grep -q . "$name.status"
    status=$(cat "$name.status")
    [ ! -e "$name.mpt" ] || await grep -q 'records' "$name.err"
}

bare bare -- "$inference" --iterations 300
for limit in 2 4 8; do
    limited "full$limit" $limit "$inference" --iterations 300
    unharmed "disk full after $limit KiB" "full$limit" bare 0
    one_line "disk full after $limit KiB" "full$limit" "full$limit.mpt.*cannot write.*too large"
    like "disk full after $limit KiB: the closing line counts what is lost" \
        ', [1-9][0-9,]* dropped,' "$(closing "full$limit")"
    kept=$("$miniprof" info --json "full$limit.mpt" | sed -n 's/^  "records": \([0-9]*\),/\1/p')
    like "disk full after $limit KiB: and what is kept" ", $kept records," \
        "$(closing "full$limit" | sed 's/\([0-9]\),\([0-9]\)/\1\2/g')"
    check "disk full after $limit KiB: the file is not larger" \
        [ "$(stat -c %s "full$limit.mpt")" -le $((limit * 1024)) ]
    output=$("$miniprof" check "full$limit.mpt" 2>&1)
    same "disk full after $limit KiB: complete chunks, no index" "1 1" \
        "$? $(grep -c 'no index.*intact' <<<"$output")"
    check "disk full after $limit KiB: a whole number of frames" zstd -tq "full$limit.mpt"
done
limited full0 0 "$inference" --iterations 300
unharmed "disk full from the start" full0 bare 0
nothing "disk full from the start" full0 'full0.mpt.*cannot write'
mkdir disk
if mount -t tmpfs -o size=8k none disk 2>/dev/null; then
    profile tmpfs MINIPROF_OUTPUT="$work/disk/a.mpt" MINIPROF_CAPTURE=all -- \
        "$inference" --iterations 300 --threads 2
    cp disk/a.mpt tmpfs.mpt
    umount disk
    bare two -- "$inference" --iterations 300 --threads 2
    unharmed "a full file system" tmpfs two 0
    one_line "a full file system" tmpfs 'a.mpt.*cannot write.*No space left'
    # Small chunks and the index may find room where large ones do not.
    check "a full file system: a whole number of frames" zstd -tq tmpfs.mpt
    like "a full file system: the summary's first line says so" \
        '^==[0-9]+== Warning: .*(records were dropped|no index)' \
        "$("$miniprof" summary tmpfs.mpt 2>&1)"
    like "a full file system: the closing line counts what is lost" ', [1-9][0-9,]* dropped,' \
        "$(closing tmpfs)"
else
    echo "# no right to mount: a full tmpfs is left out"
fi

# ---- records that are lost or make no sense --------------------------------------------------
# The writer gets no time while the program launches: both are kept to one CPU, on which the
# writer only runs when nothing else does.
# What runs at a time is less than the overflow buffers hold.
batches=$(printf 'alpha=40000 sync %.0s' {1..10})
# shellcheck disable=SC2206 # words
many=("$steps" init written print=ready await=go1 $batches print=done await=go2 written)
cpu=$(taskset -cp $$ | sed 's/.*: *//; s/[-,].*//')
writer() {
    grep -lx miniprof /proc/"$pid"/task/*/comm | cut -d/ -f5
}
has_writer() { [ -n "$(writer)" ]; }
# starve NAME [VAR=VALUE...]
starve() {
    rm -f go1 go2
    start "$1" MINIPROF_BUFFER_MB=8 "${@:2}" -- taskset -c "$cpu" "${many[@]}"
    await grep -q ready "$1.out"
    await has_writer
    chrt --idle --pid 0 "$(writer)"
    touch go1
    await grep -q 'done' "$1.out"
    chrt --other --pid 0 "$(writer)"
    touch go2
    wait "$pid"
    status=$?
}
touch go1 go2
bare many.bare -- "${many[@]}"
starve many
unharmed "buffers run out" many many.bare 0
complete "buffers run out" many
dropped=$(closing many | tr -d , | sed -E 's/.* ([0-9]+) dropped.*/\1/')
kept=$(closing many | tr -d , | sed -E 's/.* ([0-9]+) records.*/\1/')
check "buffers run out: records were dropped" [ "$dropped" -gt 0 ]
# 400000 launches and kernels, cuModuleLoadData, cuMemAlloc, ten times cuCtxSynchronize; rows of
# memory and overhead; the synchronisations' rows of sync.
if plays cuptiActivityEnableDriverApi; then
    same "buffers run out: none is lost without being counted" 800024 $((dropped + kept))
else # before 12.5 cuModuleGetFunction is recorded too, and counted where it is thrown away
    check "buffers run out: none is lost without being counted" \
        [ $((dropped + kept - 800024)) -ge 0 -a $((dropped + kept - 800024)) -le 10 ]
fi
same "buffers run out: CUPTI had a buffer for each record" "dropped_overflow $dropped" \
    "$(rows many quality | awk -F, '$1 ~ /^dropped/ { print $1, $3 }')"
like "buffers run out: the first line of the summary says it" \
    "^==[0-9]+== Warning: $dropped records were dropped" \
    "$("$miniprof" summary many.mpt 2>&1 | sed '1s/,//g')"
same "buffers run out: so does its JSON" "$dropped" "$("$miniprof" summary --json many.mpt |
    sed -n 's/^ *"dropped": \([0-9]*\),/\1/p')"

# CUPTI before 12.9 crashes where it gets no buffer.
starve many26 SIMGPU_CUPTI_VERSION=26
unharmed "buffers run out, CUPTI of CUDA 12.8" many26 many.bare 0
like "buffers run out, CUPTI of CUDA 12.8: records were dropped" ', [1-9][0-9,]* dropped,' \
    "$(closing many26)"
like "buffers run out, CUPTI of CUDA 12.8: counted by the record" '^dropped_overflow [1-9][0-9]*$' \
    "$(rows many26 quality | awk -F, '$1 ~ /^dropped/ { print $1, $3 }')"
rm many.mpt many26.mpt

bare bare -- "${program[@]}"
profile zero SIMGPU_TIMESTAMP_ZERO=2 -- "${program[@]}"
unharmed "times of zero" zero bare 0
complete "times of zero" zero
same "times of zero: 3 of 6 kernels, counted" "3 3" \
    "$(rows zero kernel | awk -F, '$4 == 0' | wc -l) $(rows zero quality |
        awk -F, '$1 == "zero_timestamps" { print $3 }')"
like "times of zero: the summary's first line" \
    '^==[0-9]+== Warning: 3 of 6 kernels have no times; busy time, idle causes and gains are' \
    "$("$miniprof" summary zero.mpt 2>&1)"
profile reversed SIMGPU_TIMESTAMP_REVERSED=3 -- "${program[@]}"
unharmed "reversed times" reversed bare 0
complete "reversed times" reversed
same "reversed times: 2 of 6 kernels, as they came, counted" "2 2" \
    "$(rows reversed kernel | awk -F, '$5 < 0' | wc -l) $(rows reversed quality |
        awk -F, '$1 == "reversed_timestamps" { print $3 }')"
like "reversed times: the summary's first line" '^==[0-9]+== Warning: 2 rows that end before' \
    "$("$miniprof" summary reversed.mpt 2>&1)"
finish
