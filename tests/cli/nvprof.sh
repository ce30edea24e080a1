#!/bin/bash
# nvprof's command line: every option of the table, messages and exit codes, sessions with a
# stand-in for the recorder. What reports hold is tested elsewhere.
. "$SOURCE/tests/tools/cli.sh" || exit 1

# The command in a folder of its own, with a file that passes for the library beside it.
mkdir bin tmp
cp "$miniprof" bin/miniprof
ln -s miniprof bin/nvprof
touch bin/libminiprof.so
miniprof=$PWD/bin/miniprof
nvprof=$PWD/bin/nvprof
export TMPDIR=$PWD/tmp
for name in $(compgen -e | grep -E '^(MINIPROF|CUDA|NVTX)'); do
    unset "$name"
done
trace plain
cp plain.mpt known

nvprof() { # the command by that name
    last="nvprof $*"
    "$nvprof" "$@" >.stdout 2>.stderr </dev/null
    got=$?
}

error() { # CODE LINE ARGUMENT...
    local expected=$1 line=$2
    shift 2
    nvprof "$@"
    code "$expected"
    stdout </dev/null
    echo "======== Error: $line" | stderr
}

last_line() { # GLOB
    # shellcheck disable=SC2053
    [[ $(tail -n 1 .stderr) == $1 ]]
    verdict "the last line is like $1" $?
}

# A program that leaves the known trace where the recorder would.
leave='cp known "${MINIPROF_OUTPUT%/*}/$$.mpt"'

# ---- Which command line it is ----
for words in --csv '--demangling on' -s; do
    # shellcheck disable=SC2086
    run $words
    code 3
    echo '======== Error: no application specified.' | stderr
done
run nosuchcommand
code 2
echo "miniprof: unknown command 'nosuchcommand'; 'miniprof help' lists them" | stderr
for words in ./nosuchprogram '--csv nosuchprogram'; do
    # shellcheck disable=SC2086
    run $words
    code 13
    echo '======== Error: application not found.' | stderr
done
nvprof summary
code 13
cp "$(type -P echo)" here
run here text
code 0
echo text | stdout
run echo text
code 0
echo text | stdout
nvprof -V
code 0
stdout_like <<'END'
nvprof's command line, by miniprof [0-9]*.[0-9]*.[0-9]*
END
nvprof -h
code 0
quiet
cp .stdout help.txt
awk 'length > 79 { print; long = 1 } END { exit long }' help.txt
verdict "lines that fit a terminal" $?
run help nvprof
code 0
stdout <help.txt
run nvprof --help
stdout <help.txt

# ---- Messages and exit codes ----
error 3 'no application specified.'
error 13 'application not found.' ./nosuchprogram
error 13 "cannot run './known': Permission denied" ./known
error 4 'cannot find environment variable "NOPE"' -o '%q{NOPE}' true
error 4 'cannot find environment variable "NOPE"' --log-file 'x%q{NOPE}' true
error 4 'cannot find environment variable "NOPE"' --stream-name '%q{NOPE}%i' true
error 5 'Cannot run an application and import a profile at the same time.' -i known true
needs='--profile-child-processes needs a file for each process'
error 5 "$needs: give --export-profile a name with %p" \
    --profile-child-processes -o file true
error 20 "cannot open 'nosuchfile': No such file or directory" -i nosuchfile
error 20 "'help.txt' is not a miniprof trace" -i help.txt
for word in --foo --print-gpu-trac --no-csv -z -sz; do
    nvprof $word true
    code 5
    stderr <<END
======== Error: Encountered invalid option : $word
======== Use "nvprof --help" to get more information.
END
done

# ---- Every option ----
# name, letter, kind, takes, least, most, state, plain
good_values() {
    case $kind in
    choice) tr '|' '\n' <<<"$takes" ;;
    list) tr , '\n' <<<"$takes"; echo "$takes" ;;
    number) printf '%s\n' "$least" "$most" ;;
    log) printf '%s\n' %1 %2 ;;
    naming) echo 'x %i %p' ;;
    devices) printf '%s\n' all 0 0,1 ;;
    kernels) printf '%s\n' vecAdd 1:7:add:2 ;;
    metrics) printf '%s\n' ipc all ;;
    events) printf '%s\n' all ;;
    files) echo known ;;
    *) echo 'x' ;;
    esac
}

bad_value() {
    case $kind in
    number) echo $((most + 1)) ;;
    text | files) echo ;;
    kernels) echo '(' ;;
    pattern | log | naming) echo '%z' ;;
    *) echo 'no such value' ;;
    esac
}

expected_code() { # VALUE
    if [ "$state" = refused ] && [[ "|$plain|" != *"|$1|"* ]]; then
        echo 5
    elif [ "$kind" = files ]; then
        echo 0
    else
        echo 3
    fi
}

options=0
while IFS=$'\t' read -r name letter kind takes least most state plain; do
    options=$((options + 1))
    case $name in
    help | version | query-*) continue ;; # they act
    esac
    if [ "$kind" = flag ]; then
        nvprof "--$name"
        code "$(expected_code '')"
        error 5 "--$name takes no value" "--$name=1"
        [ "$letter" = - ] || { nvprof "-$letter"; code "$(expected_code '')"; }
    else
        while IFS= read -r value; do
            expected_now=$(expected_code "$value")
            nvprof "--$name" "$value"
            code "$expected_now"
            nvprof "--$name=$value"
            code "$expected_now"
            [ "$letter" != - ] || continue
            nvprof "-$letter" "$value"
            code "$expected_now"
            nvprof "-$letter$value"
            code "$expected_now"
        done < <(good_values)
        nvprof "--$name" "$(bad_value)"
        code 5
        [ "$(wc -l <.stderr)" -eq 1 ] && grep -q "^======== Error: --$name" .stderr
        verdict "one line that names the option" $?
        nvprof "--$name"
        code 5
        stderr <<<"======== Error: --$name needs a value: $takes"
    fi
    if [ "$state" = refused ] && [ "$kind" = flag ]; then
        nvprof "--$name"
        grep -qE -- "--$name is not done here: .*(ncu|nvidia-smi|CUDA_INJECTION)" .stderr
        verdict "it names what does it" $?
    fi
done < <("$BUILD/dev/nvprof_option_list" --plain)
documented=$(sed -n '/^- `--aggregate-mode/,$p' "$SOURCE/docs/nvprof.md" | grep -c '^- `--')
[ "$options" -eq "$documented" ]
verdict "as many options as the document has" $?
nvprof --replay-mode application
stderr <<'END'
======== Warning: --replay-mode application: kernels are replayed, not the application
======== Error: no application specified.
END
nvprof --quiet --replay-mode application
stderr <<'END'
======== Error: no application specified.
END
nvprof --kernels a -m ipc --kernels b -m ipc
stderr <<'END'
======== Warning: --kernels, --devices: the last scope holds for all metrics
======== Error: no application specified.
END

# ---- A session ----
nvprof sh -c 'echo "$0 $*"; echo said >&2' program one two
code 0
echo 'program one two' | stdout
stderr_like <<'END'
==[0-9]*== NVPROF is profiling process [0-9]*, command: sh -c echo* program one two
said
======== Warning: No profile data collected.
                  The program made no CUDA calls, *
END
nvprof sh -c 'env | grep -E "^(CUDA|NVTX|MINIPROF)_" | sort'
sed -i -e "s,$PWD,HERE,g" -e 's/miniprof-[A-Za-z0-9]*/miniprof-X/' .stdout
stdout <<'END'
CUDA_INJECTION64_PATH=HERE/bin/libminiprof.so
MINIPROF_ARGV=on
MINIPROF_CAPTURE=pause
MINIPROF_CHILDREN=off
MINIPROF_CONCURRENT_KERNELS=on
MINIPROF_LOG=quiet
MINIPROF_MEMORY=off
MINIPROF_OUTPUT=HERE/tmp/miniprof-X/%p.mpt
MINIPROF_REPLAY=kernel
MINIPROF_UNIFIED_MEMORY=on
NVTX_INJECTION64_PATH=HERE/bin/libminiprof.so
END
nvprof sh -c 'stat -c %a "${MINIPROF_OUTPUT%/*}"'
echo 700 | stdout
nvprof sh -c "$leave; echo result"
code 0
echo result | stdout
grep -c '^==4242== Profiling \(application: ./infer --batch 1\|result:\)$' .stderr >.count
verdict "the report" $(($(cat .count) != 2))
nvprof --quiet sh -c "$leave; exit 3"
code 9
quiet
[ -z "$(ls tmp)" ]
verdict "nothing is left in TMPDIR" $?

# How it ends.
nvprof sh -c "$leave; exit 3"
code 9
last_line '======== Error: Application returned non-zero code 3'
nvprof sh -c "$leave; kill -SEGV \$\$"
code 9
last_line '======== Error: Application received signal 139'
nvprof sh -c 'exit 139'
last_line '======== Error: Application returned non-zero code 139'
last="SIGTERM"
"$nvprof" sh -c "$leave; trap 'exit 7' TERM; touch started; while :; do sleep 0.02; done" \
    >.stdout 2>.stderr &
pid=$!
await [ -e started ]
kill -TERM $pid
wait $pid
got=$?
code 9
last_line '======== Error: Application returned non-zero code 7'
grep -q '^==4242== Profiling result:' .stderr
verdict "the report all the same" $?
nvprof --timeout 1 sh -c "$leave; sleep 1; kill -TERM \$\$"
code 0
last_line '==*== Warning: the program was ended by --timeout after 1 s'
nvprof --timeout 100 sh -c "$leave; kill -TERM \$\$"
code 9
[ -z "$(ls tmp)" ]
verdict "nothing is left in TMPDIR" $?

# A trace that cannot be read.
nvprof sh -c 'echo text >"${MINIPROF_OUTPUT%/*}/$$.mpt"'
code 4
[ "$(cat "$(sed -n 's/.*What was recorded is left in //p' .stderr)")" = text ]
verdict "it is left where the line says" $?
rm -r tmp/miniprof-*
grep -q '^======== Error: .* is not a miniprof trace' .stderr
verdict "says so" $?
last_line '                  The program made no CUDA calls, *'

# Nobody reads what is said: the program goes on, nothing is left behind.
{
    await [ -e closed ]
    env --default-signal=PIPE "$nvprof" sh -c 'sleep 0.2; touch ran' >/dev/null
    echo $? >.count
} 2>&1 | { exec <&-; touch closed; }
await [ -s .count ]
await [ -e ran ]
[ "$(cat .count)" = 141 ] && [ -e ran ] && [ -z "$(ls tmp)" ]
verdict "a broken pipe" $?
"$nvprof" -o closed.mpt sh -c "$leave; [ ! -e /proc/self/fd/2 ]" >.stdout 2>&-
got=$?
last="closed stderr"
code 0
cmp -s known closed.mpt
verdict "the trace itself, stderr is closed for the program too" $?

# Child processes: a report each, by process id.
nvprof --profile-child-processes sh -c \
    'for p in 900 1000 99; do cp known "${MINIPROF_OUTPUT%/*}/$p.mpt"; done'
code 0
[ "$(grep -c '^==4242== Profiling result:' .stderr)" -eq 3 ]
verdict "three reports" $?
nvprof --profile-child-processes -o 'out.%p.mpt' sh -c \
    'for p in 900 1000 99; do cp known "${MINIPROF_OUTPUT%/*}/$p.mpt"; done'
sed -n "s,$PWD,HERE,;/Generated/p" .stderr >.files && mv .files .stderr
stderr <<'END'
==99== Generated result file: HERE/out.99.mpt
==900== Generated result file: HERE/out.900.mpt
==1000== Generated result file: HERE/out.1000.mpt
END
cmp -s known out.900.mpt
verdict "the trace itself" $?

# ---- Files ----
nvprof -o own.mpt sh -c "$leave"
code 0
stderr_like <<END
==[0-9]*== NVPROF is profiling process *
==[0-9]*== Generated result file: $PWD/own.mpt
END
cmp -s known own.mpt
verdict "the trace itself" $?
touch marker
error 4 "'own.mpt' exists already; -f overwrites it" -o own.mpt rm marker
[ -e marker ]
verdict "the program did not run" $?
echo old >own.mpt
nvprof -f -o own.mpt -s sh -c "$leave"
code 0
cmp -s known own.mpt
verdict "overwritten" $?
grep -q '^==4242== Profiling result:' .stderr
verdict "-s prints the summary with -o" $?
NAME=value nvprof -o '%q{NAME}.%h.%%.mpt' sh -c "$leave"
[ -e "value.$(uname -n).%.mpt" ]
verdict "names are filled in" $?
mkdir full
error 4 "'full' exists already; -f overwrites it" -o full true
error 4 "cannot create files in 'nowhere': No such file or directory" -o nowhere/x.%p.mpt true
nvprof -f -o full.mpt/ sh -c "$leave"
code 4
nvprof -f -o full.mpt sh -c "mkdir full.mpt; $leave; exit 3"
code 9
rm -r tmp/miniprof-* full.mpt
nvprof -f -o full.mpt sh -c "mkdir full.mpt; $leave"
code 4
stderr_like <<'END'
==[0-9]*== NVPROF is profiling process *
======== Error: cannot create 'full.mpt': Is a directory
==[0-9]*== The trace is left in */tmp/miniprof-??????/[0-9]*.mpt
END
cmp -s known "$(sed -n 's/.*is left in //p' .stderr)"
verdict "the trace is left where the line says" $?
rm -r tmp/miniprof-*
# What would fail after the run is found before it.
error 4 "cannot create 'full.mpt': it is a directory" -f -o full.mpt rm marker
long=$(printf 'x%.0s' {1..300})
error 4 "cannot create '$long': File name too long" -o "$long" rm marker
error 5 '--export-profile and --log-file name the same file' -o same --log-file same rm marker
[ -e marker ]
verdict "the program did not run" $?
error 13 'application not found.' ''
# A pipe that nobody reads; the limit is for a failure.
mkfifo pipe
last="-o on a pipe"
timeout -k 1 300 "$nvprof" -f -o pipe sh -c "$leave" >.stdout 2>.stderr
got=$?
code 4
grep -q "cannot create 'pipe': .*; a pipe needs a reader" .stderr
verdict "says so" $?
rm -r tmp/miniprof-*
# One file for several processes keeps the first, the program itself.
nvprof -f -o one.mpt sh -c "$leave; cp known \"\${MINIPROF_OUTPUT%/*}/99.mpt\""
code 4
grep -q "'one.mpt' has the trace of another process already; give --export-profile a name with %p" \
    .stderr
verdict "says so" $?
cmp -s known one.mpt && [ "$(cd tmp && echo miniprof-*/*)" = "$(cd tmp && echo miniprof-*/99.mpt)" ]
verdict "the other one is left, and nothing else" $?
rm -r tmp/miniprof-*
mkdir "$PWD/tmp%p"
# bash, since sh may not know how to replace in a variable.
TMPDIR=$PWD/tmp%p nvprof bash -c 'cp known "$(dirname "${MINIPROF_OUTPUT//%%/%}")/$$.mpt"'
code 0
TMPDIR=$PWD/nowhere nvprof true
code 4
stderr <<<"======== Error: no folder for temporary files: '$PWD/nowhere': No such file or directory"

nvprof --log-file log sh -c "$leave; echo said >&2; exit 1"
code 9
stderr <<<said
grep -q '^==4242== Profiling result:' log && tail -n 1 log | grep -q 'non-zero code 1'
verdict "everything is in the log" $?
touch marker
nvprof --log-file log rm marker
code 4
[ -e marker ]
verdict "a log that exists: the program did not run" $?
nvprof -f --log-file log true
code 0
grep -q 'No profile data' log
verdict "overwritten" $?
nvprof --log-file /dev/null sh -c "$leave; exit 3"
code 9
quiet
nvprof --log-file /dev/full sh -c "$leave"
code 4
stderr_like <<'END'
======== Error: cannot write '/dev/full': *
END
nvprof -i known --log-file /dev/full
code 4
# A process whose log cannot be opened has its report in the program's.
touch log.99
nvprof --log-file log.%p bash -c "$leave; mv \"\${MINIPROF_OUTPUT%/*}\"/{\$\$,99}.mpt; echo \$\$"
code 4
quiet
grep -q "cannot create 'log.99': File exists" "log.$(cat .stdout)" &&
    grep -q '^==4242== Profiling result:' "log.$(cat .stdout)"
verdict "the report is in the program's log" $?
nvprof --log-file %1 sh -c "$leave"
quiet
grep -q '^==4242== Profiling result:' .stdout
verdict "%1 is stdout" $?
nvprof --log-file %2 sh -c "$leave"
stdout </dev/null
nvprof --log-file 'log.%p' sh -c "$leave; echo \$\$"
grep -q '^==4242== Profiling result:' "log.$(cat .stdout)"
verdict "%p" $?
nvprof --log-file nowhere/log true
code 4
stderr_like <<'END'
======== Error: cannot create 'nowhere/log': No such file or directory
END

# A full disk, where one may be made: a part of the file fits.
mkdir disk
if mount -t tmpfs -o size=16k none disk 2>/dev/null; then
    nvprof -i "$SOURCE/tests/data/inference.mpt" -o disk/x.mpt
    left=$(ls disk)
    umount disk
    code 4
    stderr <<<"======== Error: cannot write 'disk/x.mpt': No space left on device"
    [ -z "$left" ]
    verdict "no part of a file is left" $?
fi

# ---- Import ----
nvprof -i plain.mpt
code 0
stdout </dev/null
head -n 2 .stderr >.head && mv .head .stderr
stderr <<'END'
======== Profiling application: ./infer --batch 1
======== Profiling result:
END
nvprof -i plain.mpt -i ./plain.mpt -i known
[ "$(grep -c 'Profiling result' .stderr)" -eq 2 ]
verdict "the same file twice is printed once" $?
nvprof -i nosuchfile -i plain.mpt
code 20
grep -q 'Profiling result' .stderr
verdict "the file that can be read is printed" $?
trace dropped
nvprof -i plain.mpt -o again.mpt
code 0
cmp -s plain.mpt again.mpt
verdict "the same trace" $?
stderr <<<"======== Generated result file: $PWD/again.mpt"
nvprof -i plain.mpt -o again.mpt
code 4
stderr <<<"======== Error: cannot create 'again.mpt': File exists; -f overwrites it"
nvprof -i plain.mpt --quiet
code 0
quiet

# Nothing that is to be read is written over.
ln again.mpt linked.mpt
for name in again.mpt linked.mpt; do
    nvprof -i again.mpt -f -o $name
    code 0
    cmp -s plain.mpt again.mpt
    verdict "its own source: as it was" $?
done
error 4 "'again.mpt' is to be imported: give --log-file another name" \
    -i again.mpt -f --log-file again.mpt
nvprof -i again.mpt -i dropped.mpt -f -o dropped.mpt
code 4
grep -q "'dropped.mpt' is to be imported: give --export-profile another name" .stderr
verdict "says so" $?
nvprof -i again.mpt -i dropped.mpt -f -o both.mpt
code 4
grep -q "'both.mpt' has the trace of another process already" .stderr && cmp -s plain.mpt both.mpt
verdict "the first one's" $?
cmp -s plain.mpt again.mpt
verdict "as it was" $?
nvprof -i dropped.mpt --print-gpu-trace --print-api-summary
code 0
head -n 1 .stderr >.head
grep -c Warning .stderr >.count
mv .head .stderr
stderr <<END
======== Warning: 12 records were dropped; busy time, idle causes and gains are not known.
END
verdict "it is said once" $(($(cat .count) != 1))

# Sections, in their order.
sections() {
    sed -nE 's/^======== ([A-Z].*):$/\1/p' .stderr >.sections && mv .sections .stderr
    stderr
}
trace metrics
nvprof -i metrics.mpt
sections <<'END'
Profiling result
Event result
Metric result
END
nvprof -i metrics.mpt -s --dependency-analysis
sections <<'END'
Profiling result
Dependency Analysis
Event result
Metric result
END
trace nvtx
nvprof -i nvtx.mpt --dependency-analysis
sections <<'END'
Profiling result
NVTX result
Dependency Analysis
END
nvprof -i nvtx.mpt --print-gpu-trace --print-openacc-trace --print-dependency-analysis-trace
sections <<'END'
Profiling result
OpenACC result
Dependency Analysis, each activity
END

# Units of columns: names stand where nvprof has them, behind two spaces.
aligned() { # WIDTH
    awk -v width="$1" '/^ / && !/[^ %numsKMGB]/ { next }
        /^[ 0-9]/ { rows++; bad += substr($0, width + 1, 3) !~ /^  [^ ]/ }
        END { exit bad || rows < 3 }' .stderr
    verdict "names behind $1 characters" $?
}
nvprof -i nvtx.mpt -u col
aligned 75
nvprof -i plain.mpt -u col --print-summary-per-gpu
aligned 75
nvprof -i "$SOURCE/tests/data/managed.mpt" -u col
sed -i '1,/Unified Memory profiling/d; /^Total CPU/d' .stderr
aligned 62

# nvprof's own format, where SQLite was there to build with.
nvprof -i plain.mpt -o plain.nvvp
if [ "$got" -eq 0 ]; then
    head -c 15 plain.nvvp | grep -q 'SQLite format 3'
    verdict "a name without .mpt: SQLite" $?
    nvprof -i plain.mpt --print-gpu-trace -s
    cp .stderr own
    nvprof -i plain.nvvp --print-gpu-trace -s
    code 0
    stderr <own
    nvprof -i plain.nvvp -o back.mpt
    nvprof -i back.mpt --print-gpu-trace -s
    stderr <own
else
    code 20
    stderr_like <<<'*SQLite*'
fi
nvprof -i plain.mpt --process-name 'it is %p'
head -n 1 .stderr >.head && mv .head .stderr
stderr <<<'======== Process name: it is 4242'
for option in --print-openacc-{constructs,summary,trace}; do
    nvprof -i plain.mpt $option
    code 0
    stderr <<'END'
======== Profiling application: ./infer --batch 1
======== OpenACC result:
No OpenACC activities were profiled.
END
done
nvprof -i plain.mpt --print-openmp-summary
stderr <<'END'
======== Profiling application: ./infer --batch 1
======== OpenMP result:
No OpenMP activities were profiled.
END

finish
