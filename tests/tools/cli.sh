# For the scripts of tests/cli: runs the command and compares what it says with what they expect.
#
#     trace plain                     makes plain.mpt (known_trace.h says what is in it)
#     run summary plain.mpt           runs the command; keeps its exit code, stdout and stderr
#     code 0                          expects this exit code
#     stdout <<'END'                  expects exactly this text; long ones stand in $expected
#     stderr_like <<'END'             expects lines that fit these globs
#     quiet                           expects nothing on stderr
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
trap 'rm -rf "$folder"' EXIT
. "$SOURCE/tests/tools/no_costs.sh"
no_costs "$folder/cache"

cd "$folder" || exit 1

trace() {
    "$make_trace" "$1" "${2:-$1.mpt}" || exit 1
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

same() { # FILE
    cat >.expected
    diff -u --label expected .expected --label got "$1"
    verdict "${1#.}" $?
}

# Line by line, each a glob; as many lines as expected.
like() { # FILE
    local line pattern status=0
    cat >.expected
    [ "$(wc -l <.expected)" -eq "$(wc -l <"$1")" ] || status=1
    while IFS= read -r pattern <&3 && IFS= read -r line <&4; do
        # shellcheck disable=SC2053
        [[ $line == $pattern ]] || status=1
    done 3<.expected 4<"$1"
    [ $status -eq 0 ] || { echo "expected, with wildcards:"; cat .expected; echo "got:"; cat "$1"; }
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

# json EXPRESSION: python's value of it, with the document as d, must be true.
json() {
    python3 -c "import json,sys; d = json.load(open('.stdout')); sys.exit(not ($1))"
    verdict "json: $1" $?
}

finish() {
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ]
    exit
}
