#!/bin/bash
# Takes 8 s.
# The user's guide and the recipes: each command of ours is one that miniprof knows, with options
# that it knows, and each link leads to a file.
. "$SOURCE/tests/tools/cli.sh" || exit 1

cp "$SOURCE/tests/data/resnet50_graph.mpt" run.mpt
cp run.mpt before.mpt
cp run.mpt after.mpt
cp -r "$SOURCE/tests/data/set" job
cd "$SOURCE/docs" || exit 1
pages=(guide.md recipes.md packages.md guide/*.md)
cd "$folder" || exit 1

# Indented lines that begin with miniprof, as one line each; programs are replaced by `true`, and
# what follows a `;` is left to the eye.
for page in "${pages[@]}"; do
    sed -e ':next' -e '/\\$/{N;s/\\\n */ /;b next' -e '}' "$SOURCE/docs/$page" |
        sed -nE 's/^    ([A-Z_]+=[^ ]+ )?(miniprof [a-z-].*)/\2/p' |
        sed -E 's/;.*//; s/ -- .*/ -- true/'
done | sort -u >commands

count=0
while read -r _ line; do
    line=${line//PID/999999999}
    eval "words=($line)"
    run "${words[@]}"
    count=$((count + 1))
    case ${words[0]} in
    run | ctl | top) verdict "its options are known" $((got == 2)) ;; # nothing to record here
    *) verdict "exit code $got" $((got > 1)) ;;
    esac
done <commands
last="the guide"
verdict "there are commands" $((count < 25))

for page in "${pages[@]}"; do
    last=docs/$page
    tr '\n' ' ' <"$SOURCE/docs/$page" | grep -oE '\]\( ?[^)#]+' | sed -E 's/^\]\( *//' |
        grep -v '^http' | sort -u >links
    while read -r link; do
        verdict "link to $link" "$([ -e "$(dirname "$SOURCE/docs/$page")/$link" ]; echo $?)"
    done <links
done
finish
