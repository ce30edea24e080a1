#!/bin/bash
# Runs tests and counts them.
#
#   run.sh SUITE FILE...          runs each file, JOBS at a time; prints a line for each
#   run.sh --pool                 the same of many suites together; stdin has a line for each test:
#                                 SUITE FILE BUILD SAN
#   run.sh --step SUITE NAME COMMAND...   runs one command as one test
#   run.sh --total FILE           prints the count of a results file
#   run.sh --table FILE           prints a line for each of its tests
#
# T=PATTERN, an extended regular expression, chooses among the tests by SUITE/NAME.
#
# The last line is "N passed, N failed". With RESULTS_FILE set the counts are added to it and a
# suite fails only at --total, so that all suites run. A program counts as what it says itself:
# cmocka's and unittest's totals, or a last line of the same form; else as one. Exit status 77 means
# skipped. A test runs once: what fails has failed. Logs stay in BUILD/check/SUITE/. With TABLE=1 a
# table of the files comes before the last line. A line shows how long a test took, and the CPU time
# of its processes.
#
# The longest tests begin first. A test that takes more than a few seconds says so in its first 12
# lines: "Takes 40 s".
set -u

BUILD=${BUILD:-build}
JOBS=${JOBS:-2}
SOURCE=${SOURCE:-$(cd "$(dirname "$0")/.." && pwd)}
LIMIT=${TEST_SECONDS:-900} # a test that hangs is a failed test
# The same answer to impossible sizes as malloc's own. clang's runtime reads where no memory is when
# a library has TLS, and takes the frames of a cancelled thread for live ones.
asan=allocator_may_return_null=1:detect_leaks=1:intercept_tls_get_addr=0:use_sigaltstack=0
export ASAN_OPTIONS=${ASAN_OPTIONS:-$asan}
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}
export TSAN_OPTIONS=${TSAN_OPTIONS:-suppressions=$SOURCE/tests/tsan.supp:second_deadlock_stack=1}
export FUZZ_SHARE=${FUZZ_SHARE:-0} # seconds of mutation; 0: only what is kept
export BUILD JOBS SOURCE

# total FILE: sums "SUITE NAME PASSED FAILED SKIPPED SECONDS CPU" lines (tab-separated).
total() {
    awk -F '\t' '
        { passed += $3; failed += $4; skipped += $5; if ($4) list = list "  " $1 ": " $2 "\n" }
        END {
            if (!NR) print "no test was chosen" (ENVIRON["T"] ? ": T=" ENVIRON["T"] : "")
            if (skipped) printf "%d skipped\n", skipped
            if (failed) printf "failed:\n%s", list
            printf "%d passed, %d failed\n", passed, failed
            exit failed > 0 || passed == 0
        }' "$1"
}

# table FILE: the same lines, as a table.
table() {
    awk -F '\t' '
        BEGIN { form = "%-30s %7s %7s %7s %8s %8s %8s\n"
                printf form, "name", "checks", "passed", "failed", "skipped", "seconds", "CPU" }
        { printf form, $2, $3 + $4, $3, $4, $5 ? "yes" : "", $6, $7 }' "$1"
}

# counts LOG STATUS: prints "PASSED FAILED SKIPPED".
counts() {
    awk -v status="$2" '
        { sub(/\r$/, "") }
        /^\[  PASSED  \] [0-9]+ test/ { passed += $4; said = 1 }
        /^\[  FAILED  \] [^:]*: [0-9]+ test/ { sub(/.*: /, ""); failed += $1; said = 1 }
        /^Ran [0-9]+ tests? in / { passed += $2; said = 1 } # unittest of Python
        /^(OK|FAILED) \(.*skipped=[0-9]+\)$/ {
            match($0, /skipped=[0-9]+/)
            skipped = substr($0, RSTART + 8, RLENGTH - 8); passed -= skipped
        }
        /^FAILED \(/ {
            bad = 0
            while (match($0, /(failures|errors)=[0-9]+/)) {
                split(substr($0, RSTART, RLENGTH), word, "="); bad += word[2]
                $0 = substr($0, RSTART + RLENGTH)
            }
            failed += bad; passed -= bad
        }
        { last = $0 }
        END {
            if (status == 77) { print 0, 0, 1; exit }
            if (!said && match(last, /^[0-9]+ passed, [0-9]+ failed$/)) {
                split(last, word, " "); passed = word[1]; failed = word[3]; said = 1
            }
            if (!said) passed = status == 0
            if (status != 0 && !failed) failed = 1
            print passed + 0, failed + 0, skipped + 0
        }' "$1"
}

# record SUITE NAME LOG STATUS SECONDS CPU: one line on the terminal, one in the results.
record() {
    local suite=$1 name=$2 log=$3 status=$4 seconds=$5 cpu=$6 passed failed skipped SAN=${SAN:-}
    [ "${BUILD##*/}" != qemu ] || SAN=qemu
    read -r passed failed skipped < <(counts "$log" "$status")
    printf '%s\t%s\t%d\t%d\t%d\t%s\t%s\n' "$suite${SAN:+ ($SAN)}" "$name" "$passed" \
        "$failed" "$skipped" "$seconds" "$cpu" >>"$RESULTS"
    name=$name${SAN:+ [$SAN]}
    if [ "$failed" -gt 0 ]; then
        { printf 'FAILED   %s/%s (%s s, status %d)\n' "$suite" "$name" "$seconds" "$status"
          grep -aE -A 12 '^(FAILED|not ok)' "$log" | head -n 60 | sed 's/^/    /'
          echo "    -- its last lines --"
          tail -n 60 "$log" | sed 's/^/    /'; }
    elif [ "$skipped" -gt 0 ] && [ "$passed" -eq 0 ]; then
        printf 'skipped  %s/%s: %s\n' "$suite" "$name" "$(tail -n 1 "$log")"
    else
        [ "$skipped" -gt 0 ] && skipped="; $skipped skipped" || skipped=
        printf 'ok       %s/%s (%d, %s s, CPU %s s%s)\n' "$suite" "$name" "$passed" "$seconds" \
            "$cpu" "$skipped"
    fi
}

# name_of SUITE FILE
name_of() {
    local name=${2##*/tests/"$1"/}
    name=${name##*/tests/}
    case $1 in
    unit) echo "${name%.*}" ;; # with its folder: several have a test_oom
    tidy | analyzer) echo "$2" ;;
    *) basename "${name%.*}" ;;
    esac
}

# one SUITE FILE
one() {
    local suite=$1 file=$2 name log status
    local -a command=("$file")
    name=$(name_of "$suite" "$file")
    log=$BUILD/check/$suite/${name//\//_}.log
    case $file in
    *.sh) command=(bash "$file") ;;
    *.py) command=(python3 "$file") ;;
    esac
    case $suite in
    fuzz)
        command=("$SOURCE/tests/fuzz/run" "$file" "$FUZZ_SHARE")
        LIMIT=$((FUZZ_SHARE + 300)) ;;
    tidy | analyzer) command=(make -sk lint-files CHECKER="$suite" FOLDER="$file") ;;
    esac
    timed "$log" timeout -k 10 "$LIMIT" "${command[@]}"
    status=$?
    [ $status -eq 124 ] && echo "no end after $LIMIT s" >>"$log"
    record "$suite" "$name" "$log" $status $(seconds_of "$log")
}

# timed LOG COMMAND...: its output in LOG, its times in LOG.time.
timed() {
    local log=$1 TIMEFORMAT='%R %U %S' status
    shift
    { time "$@" </dev/null >"$log" 2>&1; status=$?; } 2>"$log.time"
    return $status
}

# seconds_of LOG: what `timed` found, "SECONDS CPU".
seconds_of() {
    awk '{ printf "%.2f %.2f", $1, $2 + $3 }' "$1.time"
    rm -f "$1.time"
}

# chosen: those of stdin's tests that T matches.
chosen() {
    local suite file rest
    [ -n "${T:-}" ] || { cat; return; }
    while read -r suite file rest; do
        [[ $suite/$(name_of "$suite" "$file") =~ $T ]] && echo "$suite $file $rest"
    done
    return 0
}

# weighed: stdin's tests, the longest first.
weighed() {
    local suite file build san source weight
    while read -r suite file build san; do
        source=$file weight=
        [ "$suite" = unit ] && source=$SOURCE/tests/unit/${file#*/tests/unit/}.c
        [ ! -f "$source" ] ||
            weight=$(sed -nE '1,12s/.*Takes ([0-9]+) s.*/\1/p' "$source" | head -n 1)
        [ "$suite" != fuzz ] || weight=$FUZZ_SHARE
        echo "${weight:-1} $suite $file $build $san"
    done | sort -s -k 1,1nr | cut -d ' ' -f 2-
}

# lane COUNT: runs stdin's tests, COUNT at a time.
lane() {
    xargs -r -d '\n' -n 1 -P "$1" "$0" --one
}

# End-to-end tests wait for processes most of their time, so they hardly take a core from the
# others: they have a lane with two tests for each core.
pool() {
    local tests
    tests=$(chosen | weighed)
    : >>"$RESULTS" # --total says if none was chosen
    [ -n "$tests" ] || return 0
    grep -E '^(e2e|timed) ' <<<"$tests" | lane $((2 * JOBS)) &
    grep -vE '^(e2e|timed) ' <<<"$tests" | lane "$JOBS"
    wait
}

if [ "${1:-}" = --total ]; then
    total "$2"
    exit
fi

if [ "${1:-}" = --table ]; then
    table "$2"
    exit
fi

if [ "${1:-}" = --one ]; then
    read -r suite file BUILD SAN <<<"$2"
    export SAN
    [ -z "$SAN" ] || LIMIT=${TEST_SECONDS:-1500}
    mkdir -p "$BUILD/check/$suite"
    one "$suite" "$file"
    exit 0
fi

# The python3 of a version manager is a script that takes longer than most of what it is asked for.
python=$(python3 -c 'import sys; print(sys.executable)' 2>/dev/null) && PATH=${python%/*}:$PATH

own_results=
if [ -n "${RESULTS_FILE:-}" ]; then
    export RESULTS=$RESULTS_FILE
else
    own_results=$(mktemp)
    export RESULTS=$own_results
    trap 'rm -f "$own_results"' EXIT
fi

if [ "$1" = --step ]; then
    suite=$2 name=$3
    shift 3
    log=$BUILD/check/$suite/${name//[ \/]/_}.log
    mkdir -p "$(dirname "$log")"
    timed "$log" "$@"
    status=$?
    record "$suite" "$name" "$log" $status $(seconds_of "$log")
    exit $((status != 0))
fi

if [ "$1" = --pool ]; then
    pool
    [ -z "$own_results" ] || total "$own_results"
    exit
fi

suite=$1
shift
if [ $# -eq 0 ]; then
    exit 0
fi
mkdir -p "$BUILD/check/$suite"
echo "== $suite${SAN:+ ($SAN)}"
for file; do
    echo "$suite $file $BUILD ${SAN:-}"
done | chosen | weighed | lane "$JOBS"
if [ -n "$own_results" ]; then
    [ -z "${TABLE:-}" ] || table "$own_results"
    total "$own_results"
fi
