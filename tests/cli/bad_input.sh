#!/bin/bash
# What is not a trace: one clear line and exit code 3, from every command that reads one.
. "$SOURCE/tests/tools/cli.sh" || exit 1

trace plain
: >empty
echo "something else altogether, longer than a header of a trace would be" >text
mkdir folder
# A newer version, with the checksum that its writer would have made.
PYTHONPATH=$SOURCE/tests/readers python3 - <<'END'
import mpt, struct
data = bytearray(open("plain.mpt", "rb").read())
data[16] = 9
end = 32 + struct.unpack_from("<I", data, 24)[0]
struct.pack_into("<Q", data, end, mpt.xxh64(bytes(data[8:end])))
open("newer.mpt", "wb").write(data)
END
cp plain.mpt header.mpt
printf 'X' | dd of=header.mpt bs=1 seek=40 conv=notrunc status=none
head -c 100 header.mpt >cut_header.mpt
head -c 20 plain.mpt >short

for command in report summary deps info check dump; do
    folder_line="cannot read 'folder': it is a directory"
    case $command in
    report | summary | deps | info | check)
        folder_line="no traces (*.mpt) in the folder 'folder'"
        ;;
    esac
    for case in \
        "missing:cannot open 'missing': No such file or directory" \
        "folder:$folder_line" \
        "empty:'empty' is empty" \
        "short:'short' is not a miniprof trace" \
        "text:'text' is not a miniprof trace" \
        "newer.mpt:'newer.mpt' has format version 9, this miniprof reads up to 1: update it" \
        "cut_header.mpt:the header of 'cut_header.mpt' is damaged"; do
        run $command "${case%%:*}"
        code 3
        stdout </dev/null
        stderr <<<"miniprof $command: ${case#*:}"
    done
done

# A damaged header hides nothing that stands behind it.
run dump --table kernel header.mpt
code 1
grep -q "the trace is damaged, its header is lost" .stderr
verdict "the damage is said" $?
cp .stdout damaged.out
run dump --table kernel plain.mpt
cmp -s .stdout damaged.out
verdict "all kernels are there" $?

# Runs a command on a trace: its exit code, and the greatest memory in KB. Sanitizers need memory of
# their own, so it is not compared with them.
stays_below() { # KB, command and arguments
    local most=$1
    shift
    last="miniprof $*"
    python3 - "$miniprof" "$@" >.stdout 2>.stderr <<'END'
import resource, subprocess, sys
status = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(status)
END
    got=$?
    code 1
    [ -n "${SAN:-}" ] || verdict "$(cat .stdout) KB" $(($(cat .stdout) > most))
}

# 7.8 million rows in 17 kB, which no writer makes: reading them takes no more memory than the file
# justifies.
"$BUILD/tests/tools/forge_trace" forged.mpt 120 || exit 1
stays_below 150000 html -o forged.html forged.mpt
stays_below 150000 deps forged.mpt
run check forged.mpt
code 1
grep -q "112 chunks unreadable, 7,340,032 rows lost" .stdout
verdict "check counts what is left out" $?

# Ids of 16 million in 4 kB on disk: a hole in the file justifies no memory for them. Some file
# systems tell nobody where the holes are: there it is not compared.
"$BUILD/tests/tools/forge_trace" sparse.mpt 4 16777216 || exit 1
if python3 - <<'END'; then
import os
trace = os.open("sparse.mpt", os.O_RDONLY)
raise SystemExit(os.lseek(trace, 0, os.SEEK_HOLE) > 1 << 20)
END
    for command in info summary kernels deps dump; do
        stays_below 150000 $command sparse.mpt
    done
    stays_below 150000 html -o forged.html sparse.mpt
fi

# One bad trace among good ones: the others are printed.
run summary missing plain.mpt
code 3
stderr <<'END'
miniprof summary: cannot open 'missing': No such file or directory
END
[ "$(wc -l <.stdout)" -eq 12 ]
verdict "the good trace" $?

# An answer that cannot be written is no answer.
last="miniprof summary >/dev/full"
"$miniprof" summary plain.mpt >/dev/full 2>.stderr
got=$?
code 3
stderr <<'END'
miniprof: cannot write the output: No space left on device
END

# Every cut and every flipped byte: never a signal, never exit code 0 for check unless all was read.
size=$(stat -c %s plain.mpt)
crashed=0
intact=0
for ((at = 0; at < size; at += 61)); do
    head -c $at plain.mpt >cut.mpt
    for command in summary info check "dump --json" "deps --json --trace" \
        "export --to jsonl --analysis on -o -"; do
        # shellcheck disable=SC2086
        "$miniprof" $command cut.mpt >/dev/null 2>&1
        status=$?
        [ $status -le 3 ] || crashed=$((crashed + 1))
        [ $status -ne 0 ] || intact=$((intact + 1))
    done
    cp plain.mpt flipped.mpt
    printf '\xa5' | dd of=flipped.mpt bs=1 seek=$at conv=notrunc status=none
    cmp -s plain.mpt flipped.mpt && continue
    "$miniprof" check flipped.mpt >/dev/null 2>&1
    status=$?
    [ $status -le 3 ] || crashed=$((crashed + 1))
    [ $status -ne 0 ] || intact=$((intact + 1))
done
last="damaged files"
verdict "crashed $crashed times" $((crashed != 0))
verdict "taken for intact $intact times" $((intact != 0))

finish
