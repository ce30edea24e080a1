# For the scripts of tests/cli: runs the command and compares what it says with what they expect.
#
#     trace plain                     makes plain.mpt (known_trace.h says what is in it)
#     run summary plain.mpt           runs the command; keeps its exit code, stdout and stderr
#     code 0                          expects this exit code
#     stdout <<'END'                  expects exactly this text; long ones stand in $expected
#     stderr_like <<'END'             expects lines that fit these globs
#     quiet                           expects nothing on stderr
#     json 'd["pid"] == 7'             expects this of the document on stdout
#
# Scripts run in an empty folder that goes away. The last line counts, for tests/run.sh.
set -u
shopt -s lastpipe # so that `... | stderr` counts here

miniprof=$BUILD/miniprof
make_trace=$BUILD/tests/tools/make_trace
expected=$SOURCE/tests/cli/expected
passed=0
failed=0
last=

folder=$(mktemp -d) || exit 1
# A child that is killed before it runs its program has the trap of this shell.
trap 'if [ $BASHPID = $$ ]; then rm -rf "$folder"; fi' EXIT
export XDG_CACHE_HOME=$folder/cache

cd "$folder" || exit 1

trace() {
    "$make_trace" "$1" "${2:-$1.mpt}" || exit 1
}

# No script needs site packages, and to look for them takes half of a start.
python3() {
    command python3 -S "$@"
}

# another FILE COPY NUMBER: copies as of other processes (another.py). Plain ones are noticed.
another() {
    python3 "$SOURCE/tests/tools/another.py" "$@" || exit 1
}

run() {
    last="miniprof $*"
    "$miniprof" "$@" >.stdout 2>.stderr </dev/null
    got=$?
}

verdict() { # WHAT STATUS
    if [ "$2" -eq 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "^^^ $last: $1"
    fi
}

# Until it succeeds. The limit is for a test that fails.
await() { # COMMAND...
    local until=$((SECONDS + 120))
    until "$@" 2>/dev/null; do
        [ $SECONDS -lt $until ] || return 1
        sleep 0.02
    done
}

code() {
    [ "$got" -eq "$1" ] || { echo "exit code $got instead of $1"; cat .stderr; }
    verdict "exit code" $((got != $1))
}

# Checks run hundreds of times, so what is as expected starts no process.
same() { # FILE
    local want got IFS= status=0
    mapfile want
    mapfile got <"$1"
    [[ "${want[*]}" == "${got[*]}" ]] ||
        { status=1; printf '%s' "${want[@]}" | diff -u --label expected --label got - "$1"; }
    verdict "${1#.}" $status
}

# Line by line, each a glob; as many lines as expected.
like() { # FILE
    local want got i status=0
    mapfile want
    mapfile got <"$1"
    [ ${#want[@]} -eq ${#got[@]} ] || status=1
    for i in "${!want[@]}"; do
        # shellcheck disable=SC2053
        [[ ${got[i]-} == ${want[i]} ]] || status=1
    done
    [ $status -eq 0 ] ||
        { echo "expected, with wildcards:"; printf '%s' "${want[@]}"; echo "got:"; cat "$1"; }
    verdict "${1#.}" $status
}

stdout() { same .stdout; }
stderr() { same .stderr; }
stdout_like() { like .stdout; }
stderr_like() { like .stderr; }
quiet() { stderr </dev/null; }

# A wrong command line: nothing on stdout, one line that says what to do, exit code 2.
wrong() { # LINE ARGUMENT...
    local line=$1
    shift
    run "$@"
    code 2
    stdout </dev/null
    stderr <<<"$line"
}

# ask WORD CODE: what judge.py answers, in $answer. It starts with the first question.
ask() {
    if [ -z "${JUDGE:-}" ]; then
        coproc JUDGE { exec python3 -S "$SOURCE/tests/tools/judge.py"; }
        exec {to_judge}>&"${JUDGE[1]}" {from_judge}<&"${JUDGE[0]}" # these hold in subshells too
        judge=$JUDGE_PID
    fi
    printf '%s\0' "$PWD" "$1" "$2" >&"$to_judge"
    read -r answer <&"$from_judge" || answer=1
}

# json EXPRESSION: python's value of it, with the document as d, must be true.
json() {
    ask json "$1"
    verdict "json: $1" "$answer"
}

# holds WHAT EXPRESSION: the same of what is in other files; load(FILE) is the document there.
holds() {
    ask holds "$2"
    verdict "$1" "$answer"
}

# define <CODE: what expressions may call
define() {
    ask define "$(cat)"
    [ "$answer" -eq 0 ] || exit 1
}

finish() {
    [ -z "${judge:-}" ] || { kill "$judge"; wait "$judge"; } 2>/dev/null # its CPU time counts
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ]
    exit
}
