#!/bin/bash
# What the tests of tools/dev share: verdicts, and a folder to work in.
set -u

dev=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../tools/dev" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0
failed=0

# verdict NAME WANTED_STATUS WANTED_TEXT COMMAND...
verdict() {
    local name=$1 wanted=$2 text=$3 output status
    shift 3
    output=$("$@" 2>&1)
    status=$?
    if [ $status -eq "$wanted" ] && [[ $output == *"$text"* ]]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf 'FAILED %s: status %d instead of %d, wanted "%s" in:\n%s\n' \
            "$name" $status "$wanted" "$text" "$output"
    fi
}

# total: the last line, and the exit status.
total() {
    echo "$passed passed, $failed failed"
    exit $((failed > 0))
}
