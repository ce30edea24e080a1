#!/bin/bash
# What the recorder shows of itself to the process, and of the process in the trace.
. "$SOURCE/tests/e2e/lib.sh" || exit 1

if ! sanitized; then # a sanitizer exports its own symbols and needs its runtime
    check "four entry points exported, libc needed, nothing else" \
        "$SOURCE/tools/dev/tidy" --exports "$lib"
fi

# everything NAME: the trace's bytes, as they are and decompressed.
everything() {
    cat "$work/$1.mpt"
    zstd -dcq "$work/$1.mpt"
}

program=("$steps" init alpha=4 sync print=result)
umask 022
bare bare SECRET=hunter2xyz -- "${program[@]}"
profile secret SECRET=hunter2xyz CUDA_HOME=/hunter2xyz MINIPROF_NOT_A_SETTING=hunter2xyz -- \
    "${program[@]}"
unharmed "secrets" secret bare 0
same "nothing of the environment is in the trace" 0 "$(everything secret | grep -ac hunter2xyz)"
check "the search would find it" [ "$(everything secret | grep -ac alpha)" -ge 1 ]
same "the file is its owner's" 600 "$(stat -c %a secret.mpt)"
( umask 0; profile open -- "${program[@]}" )
same "the file is its owner's, whatever the umask" 600 "$(stat -c %a open.mpt)"
same "the command line is not in the trace" 0 "$(everything secret | grep -ac 'print=result')"
profile argv MINIPROF_ARGV=on -- "${program[@]}"
same "MINIPROF_ARGV=on: the command line" "$steps init alpha=4 sync print=result" \
    "$("$miniprof" info --json argv.mpt | sed -n 's/^    "argv": "\(.*\)",\{0,1\}$/\1/p')"
profile fooled MINIPROF_ARGV=on -- "${program[@]}" print=$'two\nlines=forged\n' exit=0
same "MINIPROF_ARGV=on: a line break forges no key" 0 \
    "$("$miniprof" info --json fooled.mpt | grep -c '^    "lines"')"
check "zstd reads the trace" zstd -tq secret.mpt
same "the pid is the main thread's id" "$("$miniprof" info --json secret.mpt |
    sed -n 's/^    "pid": "\([0-9]*\)",/\1/p')" "$(column secret thread tid)"

# ---- the process -----------------------------------------------------------------------------
start process -- "$steps" init print=here await=seen alpha=1 sync exit=0
await grep -q here process.out
# A thread names itself once it runs.
is_named() { grep -qsx "$1" "/proc/$pid/task/"*/comm; }
await is_named miniprof
await is_named miniprof-flush
same "two threads more, and they say whose they are" "miniprof miniprof-flush" \
    "$(echo $(cat /proc/"$pid"/task/*/comm 2>/dev/null | grep miniprof | sort))"
same "no descriptor of ours reaches a child" 0 "$(for fd in /proc/"$pid"/fd/*; do
    link=$(readlink "$fd") || continue
    case $link in *.mpt | *eventfd*)
        flags=$(sed -n 's/^flags:\t*//p' "/proc/$pid/fdinfo/${fd##*/}")
        [ $((flags & 02000000)) -ne 0 ] || echo "$link" ;;
    esac; done | wc -l)"
touch seen
wait "$pid"
finish
