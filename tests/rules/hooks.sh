#!/bin/bash
# Git's hooks refuse what `make lint` would refuse, of what is staged and nothing else.
. "$(dirname "$0")/lib.sh" || exit 1

# Nobody's own hooks and signatures.
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
command -v git >/dev/null || {
    echo "no git"
    exit 77
}

head='/* What a row is, and why it is stored like that. */'
poison='#include "base/poison.h"'
long_subject=$(printf 'é%.0s' {1..73})

put_hooks() { # the checks' own files
    mkdir -p tools/dev
    ln -s "$dev"/{tidy,house,hooks} tools/dev
}

mkdir -p "$work"/tree/src/{base,profile}
cd "$work/tree" || exit 1
git init -q
git config user.name a
git config user.email a@b
put_hooks
cp "$dev/../../.clang-format" .
verdict "installed" 0 "installed .git/hooks/commit-msg" tools/dev/hooks install

why=$'\n\nBecause of this.'
commit() { # NAME STATUS TEXT SUBJECT: commits what is staged, or nothing
    verdict "$1" "$2" "$3" git commit --allow-empty -m "$4"
}

commit "a subject and a body" 0 "a subject" "a subject$why"
commit "a long subject" 1 "the subject has 73 characters; at most 72" "$long_subject$why"
commit "no body" 1 "a body that says why" "a subject"
commit "no empty line" 1 "an empty line" $'a subject\nand more\n\nand more'
commit "one that will be squashed" 0 "fixup" "fixup! a subject"
printf '%s\nint main(void)\n{\n}\n\n%s\n' "$head" "$poison" >src/profile/b.c
git add src/profile/b.c
commit "a clean file" 0 "a file" "a file$why"
printf '%s\nint y [];\nint x; \n' "$head" >src/profile/b.c
commit "what is not staged" 0 "nothing" "nothing$why"
git add src/profile/b.c
printf '%s\nint main(void)\n{\n}\n\n%s\n' "$head" "$poison" >src/profile/b.c
commit "a house rule" 1 "src/profile/b.c:3: space at the end" "a file$why"
if command -v clang-format >/dev/null; then
    commit "the format" 1 "src/profile/b.c:2:6: error: code should be clang-formatted" "a file$why"
fi
git checkout -q HEAD -- src/profile/b.c
printf '%s\n#include "trace/trace.h"\n\n%s\n' "$head" "$poison" >src/base/b.c
git add -A src
commit "a layer" 1 "src/base/b.c:2: base must not see trace" "a file$why"
git worktree add -q "$work/worktree" HEAD
cd "$work/worktree" || exit 1
commit "a worktree without them" 0 "a subject" "a subject"
put_hooks
commit "a worktree" 1 "a body that says why" "a subject"
verdict "installed twice" 0 "installed $work/tree/.git/hooks/pre-commit" \
    tools/dev/hooks install
echo "exit 0" >"$work/tree/.git/hooks/commit-msg"
verdict "somebody else's" 1 "left alone" tools/dev/hooks install
verdict "it is left alone" 0 "exit 0" cat "$work/tree/.git/hooks/commit-msg"
git config core.hooksPath "$work"
verdict "a folder for many repositories" 1 "core.hooksPath" tools/dev/hooks install
cd "$work/tree" || exit 1
rm -rf .git
verdict "no repository" 1 "nothing is installed" tools/dev/hooks install

total
