# What the end-to-end tests share. A test sources it, profiles programs on the software GPU with
#
#   profile NAME [VAR=VALUE...] -- PROGRAM [ARG...]    with the recorder; trace $work/NAME.mpt
#   bare NAME [VAR=VALUE...] -- PROGRAM [ARG...]       without
#
# which leave $work/NAME.out, $work/NAME.err and the exit code in $status, then checks, and ends
# with `finish`. Every value it compares with is known by construction of the program that was run.
set -u
export LC_ALL=C

build=$BUILD
lib=$build/libminiprof.so
miniprof=$build/miniprof
inference=$build/samples/inference
steps=$build/tests/e2e/steps

for file in "$build/simgpu/libcuda.so.1" "$lib" "$miniprof" "$inference" "$steps"; do
    if [ ! -e "$file" ]; then
        echo "no $file: built without the CUDA headers"
        exit 77
    fi
done

work=$(mktemp -d "${TMPDIR:-/tmp}/miniprof-e2e.XXXXXX")
# A child that is killed before it runs its program has the trap of this shell.
trap 'if [ $BASHPID = $$ ]; then rm -rf "$work"; fi' EXIT
cd "$work" || exit 1
passed=0
failed=0
status=0
# Nothing of the caller's settings, and no other GPU.
for name in $(compgen -e |
    grep -E '^(MINIPROF|SIMGPU|SIMNCCL|NCCL|CUDA_INJECTION|NVTX_INJECTION)'); do
    unset "$name"
done
export LD_LIBRARY_PATH=$build/simgpu
export XDG_CACHE_HOME=$work/cache

ok() {
    passed=$((passed + 1))
    echo "ok $*"
}

bad() {
    failed=$((failed + 1))
    echo "FAILED $*"
}

# check WHAT COMMAND...: the command succeeds.
check() {
    local what=$1
    shift
    if "$@" >"$work/check.log" 2>&1; then
        ok "$what"
    else
        bad "$what: $*"
        sed 's/^/    /' "$work/check.log" | head -n 20
    fi
}

# same WHAT EXPECTED ACTUAL
same() {
    if [ "$2" = "$3" ]; then
        ok "$1"
    else
        bad "$1"
        diff <(printf '%s\n' "$2") <(printf '%s\n' "$3") | head -n 20 | sed 's/^/    /'
    fi
}

# like WHAT PATTERN TEXT: the text matches the extended regular expression.
like() {
    if [[ $3 =~ $2 ]]; then
        ok "$1"
    else
        bad "$1: '$3' is not like '$2'"
    fi
}

# sanitized [NAME]: whether this build has that sanitizer, or any.
sanitized() {
    [[ ${SAN:-} == *${1:-?}* ]]
}

# plays WHAT...: whether CUDA's headers, of which the software GPU is made, have all of these: a
# function of the driver or of CUPTI, or a header.
plays() {
    local what
    for what in "$@"; do
        case $what in
        *.h) [ "${what##*/}" != nvToolsExtPayload.h ] || [ -e "$build/simgpu/libnccl.so.2" ] ;;
        *) nm -D --defined-only "$build"/simgpu/libcuda.so.1 "$build"/simgpu/libcupti.so |
            grep -qE " $what(@|\$)" ;;
        esac || return 1
    done
}

# needs WHAT...: the same for a whole test, which is skipped otherwise.
needs() {
    plays "$@" || { echo "skipped: CUDA's headers have no $*"; exit 77; }
}

# leaves_out WHAT: says that a part of a test is skipped.
leaves_out() {
    echo "skipped: $1: CUDA's headers are too old"
}

finish() {
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ]
    exit
}

# ---- Running programs ------------------------------------------------------------------------

# split ARGUMENT...: sets `settings` and `command`.
split() {
    settings=()
    while [ "$1" != -- ]; do
        settings+=("$1")
        shift
    done
    shift
    command=("$@")
}

bare() {
    local name=$1
    local -a settings command
    shift
    split "$@"
    env "${settings[@]}" "${command[@]}" >"$work/$name.out" 2>"$work/$name.err" </dev/null
    status=$?
}

profile() {
    local name=$1
    shift
    bare "$name" XDG_CACHE_HOME="$work/no-cache" CUDA_INJECTION64_PATH="$lib" \
        MINIPROF_OUTPUT="$work/$name.mpt" "$@"
}

# start NAME [VAR=VALUE...] -- PROGRAM...: the same in the background; sets $pid.
start() {
    local name=$1
    local -a settings command
    shift
    split "$@"
    rm -f "$work/$name.out" "$work/$name.err" # of a run before, for who awaits what it says
    # A job of a script ignores SIGINT unless that is undone.
    env --default-signal=INT,QUIT CUDA_INJECTION64_PATH="$lib" \
        MINIPROF_OUTPUT="$work/$name.mpt" "${settings[@]}" "${command[@]}" \
        >"$work/$name.out" 2>"$work/$name.err" </dev/null &
    pid=$!
}

# hurry N: from here on the recorder's time limits are divided by N, or by a quarter of that in a
# build that is slow; that is $hurry. It is for waits that have to end, not for limits that a slow
# machine must not reach.
hurry=1
hurry() {
    hurry=$1
    ! sanitized && [ "${build##*/}" != qemu ] || hurry=$((($1 + 3) / 4))
    export MINIPROF_TEST_TIME_DIVISOR=$hurry
}

# seconds N: as the recorder says that limit.
seconds() {
    awk -v s="$1" -v by="$hurry" 'BEGIN { printf "%g", s / by }'
}

# leaky COMMAND...: without the leak checker of a build with sanitizers. At the end of a forked
# child it may wait for ever for what another thread held at the fork, and beside a CUPTI that is
# not ours it may crash.
leaky() {
    ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0 "$@"
}

# await COMMAND...: until it succeeds. The limit is for a test that fails.
await() {
    local until=$((SECONDS + 120))
    until "$@" 2>/dev/null; do
        [ $SECONDS -lt $until ] || return 1
        sleep 0.02
    done
}

# ends PID: it has ended, though not been waited for.
ends() {
    [[ ! -e /proc/$1/stat || $(<"/proc/$1/stat") == *") Z "* ]]
}

# has NAME TABLE COUNT [PATTERN]: the trace has at least that many such rows by now.
has() {
    [ "$(count "$1" "$2" "${4:-}")" -ge "$3" ]
}

# ---- Looking at what came out ----------------------------------------------------------------

# said NAME: the recorder's lines on stderr, but the closing one.
said() {
    grep '^miniprof:' "$work/$1.err" | grep -v ' dropped, writer .* CPU$'
}

# closing NAME: the closing line.
closing() {
    grep -E '^miniprof: .* records, .* dropped, writer .* CPU$' "$work/$1.err"
}

# unharmed WHAT NAME BARE STATUS: $status is STATUS, stdout is that of the run BARE, stderr too but
# for the recorder's lines, and what LeakSanitizer says in a forked child.
unharmed() {
    check "$1: stdout as without miniprof" cmp "$work/$3.out" "$work/$2.out"
    unharmed_but_for_stdout "$@"
}

# The same of exit code and stderr alone.
unharmed_but_for_stdout() {
    same "$1: exit code" "$4" "$status"
    same "$1: nothing else on stderr" "$(cat "$work/$3.err")" \
        "$(grep -vE '^miniprof:|^==[0-9]+==Running thread .* was not suspended' "$work/$2.err")"
}

# For sed -E: a thread by its number alone. Its name is the program's, and of a thread that ends
# early it may or may not be known. GPUs have names of this form too, with a capital.
nameless='s/(^|[,"])[a-z][^",]* \(([0-9]+)\)/\1thread \2/g'

# rows NAME TABLE: the table's rows, without heads and quotation marks. A missing table has none.
rows() {
    "$miniprof" dump --csv --table "$2" "$work/$1.mpt" | sed -E "1d;s/\"//g;$nameless"
}

# count NAME TABLE [PATTERN]
count() {
    rows "$1" "$2" | grep -cE -- "${3:-}"
}

# column NAME TABLE COLUMN: one value a line.
column() {
    "$miniprof" dump --csv --table "$2" "$work/$1.mpt" | sed -E "s/\"//g;$nameless" |
        awk -F, -v wanted="$3" '
            NR == 1 { for (i = 1; i <= NF; i++) if ($i == wanted || $i == wanted "_ns") at = i }
            NR > 1 { print $at }'
}

# every_row NAME [TABLE...]: the rows of these or all tables, each behind the quoted name of its
# table.
every_row() {
    local table file=$work/$1.mpt
    shift
    [ $# -gt 0 ] || set -- $("$miniprof" info --csv "$file" | sed '1d;s/^"//;s/".*//')
    for table; do
        "$miniprof" dump --csv --table "$table" "$file" |
            sed -E "1d;s/^/\"$table\",/;$nameless"
    done
}

# tally NAME TABLE COLUMN: "value count" lines, by value.
tally() {
    column "$@" | sort | uniq -c | awk '{ n = $1; sub(/^ *[0-9]+ /, ""); print $0, n }'
}

# counter NAME COUNTER: the last value of one in the table `quality`, 0 when it has no row.
counter() {
    rows "$1" quality | sed -n "s/^$2,[0-9]*,//p" | tail -n 1 | grep . || echo 0
}

# kernels NAME: "name count" lines on one line.
kernels() {
    echo $(tally "$1" kernel shape)
}

# complete WHAT NAME: every checksum is right and the index is there.
complete() {
    check "$1: the trace is complete" "$miniprof" check "$work/$2.mpt"
}

# comparable NAME [TABLE...]: every_row without what may differ between two runs: process and thread
# ids, addresses, the writer's CPU time, and the order in which definitions came up, since the
# writer works in the background.
comparable() {
    every_row "$@" |
        sed -E 's/thread [0-9]+/thread/; s/^"thread",([0-9]+),[0-9]+/"thread",\1/
                s/0x[0-9a-f]{9,}/ADDRESS/g; /^"quality","writer_cpu_ns"/d' >"$work/comparable"
    grep -vE '^"(string|thread|stream|function|shape|node)",' "$work/comparable"
    sed -nE 's/^"(string|stream)",[0-9]+,/"\1",/p
             s/^"(function|shape)",[0-9]+,/"\1",/p' "$work/comparable" | sort
}
