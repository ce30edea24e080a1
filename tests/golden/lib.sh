# shellcheck shell=bash disable=SC2034
# What run.sh and computed.sh share: where the traces are, and the count of verdicts.
set -u
export LC_ALL=C

source=${SOURCE:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)}
miniprof=${BUILD:-$source/build}/miniprof
data=$source/tests/data
passed=0
failed=0
work=$(mktemp -d "${TMPDIR:-/tmp}/miniprof-golden.XXXXXX")
trap 'rm -rf "$work"' EXIT
# Not the user's recording costs.
export XDG_CACHE_HOME=$work/cache
# Traces that are compared with one another.
pairs="resnet50_eager:resnet50_graph resnet50_graph:resnet50_graph_edges inference:two_streams
    inference:inference two_streams:two_streams"

shopt -s nullglob extglob
# Folders that hold the traces of one job. The zoo's are single ones, which tests/zoo reads.
sets=("$data"/!(zoo)/)
traces=("$data"/*.mpt)
if [ ${#traces[@]} -eq 0 ]; then
    echo "no traces in $data"
    exit 77
fi

# verdict STATUS WHAT: what is wrong stands in $work/log.
verdict() {
    if [ "$1" -eq 0 ]; then
        passed=$((passed + 1))
        echo "ok $2"
    else
        failed=$((failed + 1))
        echo "FAILED $2"
        head -n 30 "$work/log" | sed 's/^/    /'
    fi
}

# The last line, and the exit code.
finish() {
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ]
}

# Messages name a file as it is given.
cd "$data" || exit 1
