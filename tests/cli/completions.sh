#!/bin/bash
# miniprof completions: what bash offers is what --help says; zsh and fish read their scripts.
. "$SOURCE/tests/tools/cli.sh" || exit 1

for shell in bash zsh fish; do
    run completions $shell
    code 0
    quiet
    cp .stdout script.$shell
    verdict "no command is left out" \
        $(($(grep -c 'gpu-trace' script.$shell) < 1 || $(grep -c 'overlap' script.$shell) < 1))
    if command -v $shell >/dev/null; then
        $shell -n script.$shell
        verdict "$shell reads it" $?
    fi
done
run completions tcsh
code 2
stderr <<'END'
miniprof completions: for which shell? 'miniprof completions bash', zsh or fish
END
run completions
code 2
run help
! grep -q completions .stdout
verdict "it is not in the list of commands" $?

# offered WORD...: what bash offers for the last of these words, sorted, one a line. As bash does,
# a word with = is three.
offered() {
    last="completion of: $*"
    bash -u -c '. ./script.bash
        words=("$@")
        COMP_WORDS=()
        for word in "${words[@]}"; do
            if [[ $word == --*=* ]]; then
                COMP_WORDS+=("${word%%=*}" =)
                [ -n "${word#*=}" ] && COMP_WORDS+=("${word#*=}")
            else
                COMP_WORDS+=("$word")
            fi
        done
        COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
        _miniprof
        [ ${#COMPREPLY[@]} -eq 0 ] || printf "%s\n" "${COMPREPLY[@]}"' - "$@" 2>.stderr | sort \
        >.stdout
    quiet
}

offered miniprof sum
stdout <<'END'
summary
END
offered miniprof help ove
stdout <<'END'
overlap
END
offered miniprof ''
verdict "all commands, and help" $(($(wc -l <.stdout) !=
    $("$miniprof" help | grep -v '^  miniprof' | grep -c '^  [a-z]')))
offered miniprof summary --na
stdout <<'END'
--names=
END
offered miniprof summary --names=
stdout <<'END'
full
short
END
offered miniprof summary --names=s
stdout <<'END'
short
END
offered miniprof summary --top=
stdout </dev/null
offered miniprof summary plain
stdout </dev/null
offered miniprof summary plain.mpt --cs
stdout <<'END'
--csv
END
offered miniprof run --nvtx=o
stdout <<'END'
off
on
END
offered miniprof run --no-summary program --csv
stdout </dev/null
offered miniprof run -- program --
stdout </dev/null
offered miniprof nothing --
stdout </dev/null

# Every option that --help names is offered, and no other.
for command in summary deps diff top run dump html ctl; do
    "$miniprof" $command --help | sed -n 's/^  \(-., \|    \)--\([a-z-]*\).*/--\2/p' |
        sort -u >help.txt
    offered miniprof $command --
    sed 's/=$//' .stdout | sort -u >.options
    mv .options .stdout
    stdout <help.txt
done
finish
