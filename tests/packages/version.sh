#!/bin/bash
# The version of the packages: by git's tags, and without git.
. "$SOURCE/tests/tools/cli.sh" || exit 1

export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
mkdir -p source/tools/packages
cp "$SOURCE/tools/packages/version" source/tools/packages
commit() { git -C source add -A && git -C source commit -q --allow-empty -m "$1"; }

# says WHAT GLOB: what the script prints for a source of version 0.1.0.
says() {
    last=$1
    local got
    got=$(source/tools/packages/version 0.1.0)
    # shellcheck disable=SC2053
    [[ $got == $2 ]] || echo "got '$got', expected '$2'"
    verdict "version" "$([[ $got == $2 ]]; echo $?)"
}

# With a repository, as git's tags say.
by_tags() {
    local hash
    git init -q source
    says "no commit" "0.1.0 0.1.0 -"
    commit one
    commit two
    hash=$(git -C source rev-parse --short=10 HEAD)
    says "no tag" "0.1.0 0.1.0~2.g$hash $hash"
    git -C source tag v0.2.0
    says "a tag" "0.2.0 0.2.0 $hash"
    echo >>source/tools/packages/version
    says "a changed file" "0.2.0 0.2.0 $hash-changed"
    commit three
    commit four
    hash=$(git -C source rev-parse --short=10 HEAD)
    says "after a tag" "0.2.0 0.2.0+2.g$hash $hash"
    git -C source tag other
    says "a tag that is no version" "0.2.0 0.2.0+2.g$hash $hash"
    git -C source tag v0.3.0-rc1
    says "a release candidate" "0.3.0~rc1 0.3.0~rc1 $hash"
    mv source/.git .
    says "inside of another repository" "0.1.0 0.1.0 -"
}

says "a source archive" "0.1.0 0.1.0 -"
if command -v git >/dev/null; then
    by_tags
else
    echo "skipped: versions by tags: no git"
fi

if command -v dpkg >/dev/null; then
    last="dpkg's order"
    order=(0.1.0~2.gffffffffff 0.1.0 0.2.0 0.2.0+2.g0000000000 0.3.0~rc1 0.3.0)
    for ((i = 1; i < ${#order[@]}; i++)); do
        dpkg --compare-versions "${order[i - 1]}" lt "${order[i]}"
        verdict "${order[i - 1]} before ${order[i]}" $?
    done
fi
finish
