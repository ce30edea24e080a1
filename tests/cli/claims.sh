#!/bin/bash
# Numbers in the prose of documents are made again, from traces that come with the source or by what
# docs/measurements.md says of a run on a GPU. tests/tools/claims.py says how a document names where
# a number is from. `claims.sh --update` writes the digits anew: read the difference.
cd "$SOURCE" || exit 1
# What recording costs is the built-in table's, not that of whoever runs this.
export XDG_CACHE_HOME=/nonexistent
export PATH=$BUILD:$PATH
copy=$(mktemp)
trap 'rm -f "$copy"' EXIT

python3 tests/tools/claims.py "$@" README.md docs/guide/*.md \
    docs/{advise,diff,guide,iterations,kernels,layers,reading-a-profile}.md \
    docs/{reading-resnet50,report,tutorial}.md || exit 1

# A wrong digit is noticed, and a number that nobody claims.
right=$(sed -n 's/^"\(.* ms\)" = predicted$/\1/p' README.md)
sed "s/${right:?}/9.99 ms/; \$ a It takes 1.5 ms." README.md >"$copy"
said=$(python3 tests/tools/claims.py "$copy")
for wanted in "'9.99 ms': is now $right" 'nothing says where 1.5 ms is from'; do
    [[ $said == *"${wanted% ms}"* ]] || { echo "FAILED a copy of README.md: no '$wanted'"; exit 1; }
done
