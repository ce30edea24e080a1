#!/bin/bash
# miniprof diff --html: the page is written or the old one stays, the verdict is printed, exit codes
# are those of the text. What a browser makes of the page: tests/html/test_diff.mjs.
. "$SOURCE/tests/tools/cli.sh" || exit 1
data=$SOURCE/tests/data

cp "$data/resnet50_eager.mpt" eager.mpt
cp "$data/resnet50_graph.mpt" graph.mpt
trace plain

# ---- Wrong usage ----

wrong() { # LINE ARGUMENT...
    local line=$1
    shift
    run diff "$@"
    code 2
    stdout </dev/null
    echo "miniprof diff: $line" | stderr
    [ ! -e page.html ] && ! ls ./*.part 2>/dev/null
    verdict "no file" $?
}

for format in --csv --json; do
    wrong "--html takes the place of --csv and --json" --html page.html $format eager.mpt graph.mpt
done
# Who forgets the name would lose a trace.
cp plain.mpt again.mpt
wrong "the output wants another name: 'plain.mpt' is one of a trace" \
    --html plain.mpt eager.mpt graph.mpt
cmp -s plain.mpt again.mpt
verdict "the trace stays" $?
run diff eager.mpt graph.mpt --html
code 2
stdout </dev/null

rm -f page.html
wrong "which traces? 'miniprof diff A.mpt B.mpt'" --html page.html eager.mpt
wrong "'eager.mpt': there is no NVTX range 'weeks'; there are for example iteration, conv1, \
bn1, relu, maxpool; the trace has 1 capture range, 45,800 kernels and copies" \
    --html page.html --iterations weeks eager.mpt graph.mpt

# ---- The page and what is said beside it ----

run diff --html page.html eager.mpt graph.mpt
code 0
quiet
stdout_like <<'END'
======== Iterations by NVTX range "iteration":
======== Latency of B minus that of A: -6.084ms, -85.61% of A's P50; 95% interval *: B is faster.
======== Note: the interval is over the iterations of one run a side*
END
last="page of eager.mpt and graph.mpt"
[ "$(grep -c '<script type="application/json"' page.html)" -eq 2 ] &&
    grep -q 'id="doc-diff"' page.html && grep -q 'id="doc-latencies"' page.html
verdict "two documents" $?
! grep -oE '(src|href|action|url\()=?["'\'' ]*(https?:)?//[^"'\'' )]*' page.html
verdict "nothing to load" $?
[ "$(stat -c %s page.html)" -lt 1000000 ]
verdict "$(stat -c %s page.html) bytes" $?

cp page.html first.html
run diff --html - eager.mpt graph.mpt
code 0
quiet
cmp -s .stdout first.html
verdict "the same page" $?

run diff --html page.html --fail-above 3% graph.mpt eager.mpt
code 1
grep -q '^======== Failed: B is slower by more than 3%\.$' .stdout
verdict "says why" $?
grep -q '"failed": true' page.html
verdict "a new page" $?
run diff --html page.html --fail-above 600% graph.mpt eager.mpt
code 0

# ---- Sets ----

mkdir before after
another graph.mpt before/%d.mpt 4
another eager.mpt after/%d.mpt 4
run diff --html sets.html before after
code 0
grep -q "^======== The interval is over the runs' medians\.$" .stdout
verdict "says what the samples are" $?
grep -q '"count": 800' sets.html
verdict "all iterations" $?
run diff --html sets.html before/1.mpt before/2.mpt -- after/1.mpt
code 0

# ---- Kernels by position ----

# 43600 kernels in one iteration, the whole trace: the page stays one that a browser can open.
run diff --html many.html eager.mpt "$data/simgpu.mpt"
code 0
last="page of one iteration"
[ "$(stat -c %s many.html)" -lt 5000000 ]
verdict "$(stat -c %s many.html) bytes" $?
left=$(grep -oE '"positions_left_out": [0-9]+' many.html | grep -oE '[0-9]+$')
[ "$(grep -o '"change": "[a-z]*", "a":' many.html | wc -l)" -eq 5000 ] &&
    [ "${left:-0}" -gt 38000 ]
verdict "$left kernels left out" $?

# ---- Where nothing can be read or written the old page stays ----

cp first.html page.html
run diff --html page.html eager.mpt none.mpt
code 3
echo hello >text.mpt
run diff --html page.html text.mpt eager.mpt
code 3
run diff --html page.html --by nvtx:nothing eager.mpt graph.mpt
code 2
cmp -s page.html first.html && ! ls ./*.part 2>/dev/null
verdict "the old page" $?
run diff --html nowhere/page.html eager.mpt graph.mpt
code 3
stdout </dev/null
stderr <<'END'
miniprof diff: cannot write 'nowhere/page.html': No such file or directory
END
mkdir folder.html
run diff --html folder.html eager.mpt graph.mpt
code 3
! ls ./*.part 2>/dev/null
verdict "nothing left" $?
if [ -e /dev/full ]; then
    last="diff --html - >/dev/full"
    "$miniprof" diff --html - eager.mpt graph.mpt >/dev/full 2>.stderr
    [ $? -eq 3 ]
    verdict "exit code" $?
fi

# ---- Traces that lack something, or are damaged ----

for kind in empty calls doubtful undefined dropped no-api no-gpu nvtx layers hostile streams; do
    trace $kind
    for pair in "plain.mpt $kind.mpt" "$kind.mpt $kind.mpt"; do
        # shellcheck disable=SC2086
        run diff --html "$kind.html" $pair
        [ "$got" -le 1 ]
        verdict "can be compared" $?
        quiet
        ! grep -qwiE 'nan|inf' .stdout
        verdict "only numbers" $?
    done
done
last="page of hostile.mpt"
! grep -qE '<img|<svg|<b>|window\.bad=1<' hostile.html
verdict "names are no markup" $?

head -c 30000 graph.mpt >cut.mpt
run diff --html cut.html graph.mpt cut.mpt
code 1
grep -q '^======== Warning: B: cut.mpt: ' .stdout
verdict "says which one" $?

finish
