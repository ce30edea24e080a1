#!/bin/bash
# The pages of `miniprof html` in headless Chromium: all tests/html/test_*.mjs, over traces of
# tests/data and generated ones. With SCREENSHOTS=FOLDER it makes the pictures of docs/html.md there
# instead. Skipped, not passed, where node, Chromium, playwright-core or uPlot is not there.
set -u
. "$SOURCE/tests/html/lib.sh" || exit 1

make_pages inference eager:resnet50_eager graph:resnet50_graph two_streams
for kind in plain hostile empty calls no-gpu no-api doubtful; do
    "$BUILD/tests/tools/make_trace" "$kind" "$folder/$kind.mpt" || exit 1
    page "$folder/$kind.mpt" "$kind"
done
head -c 1500 "$folder/plain.mpt" >"$folder/cut.mpt"
page "$folder/cut.mpt" cut

if [ -n "${SCREENSHOTS:-}" ]; then
    node "$SOURCE/tests/html/screenshots.mjs"
    exit
fi
passed=0
failed=0
for file in "$SOURCE"/tests/html/test_*.mjs; do
    echo "== $(basename "$file")"
    node "$file" | tee "$folder/log"
    last=$(tail -n 1 "$folder/log")
    if [[ $last =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]]; then
        passed=$((passed + BASH_REMATCH[1]))
        failed=$((failed + BASH_REMATCH[2]))
    else
        echo "not ok $(basename "$file"): no result"
        failed=$((failed + 1))
    fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
