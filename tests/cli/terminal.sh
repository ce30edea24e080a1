#!/bin/bash
# Takes 3 s.
# What changes where stdout is a terminal, and what the options for it do: --top, --sort, --names,
# --color, --no-pager. tests/golden/terminal.sh has every command on terminals of two widths.
. "$SOURCE/tests/tools/cli.sh" || exit 1

export LC_ALL=C.UTF-8
inference=$SOURCE/tests/data/inference.mpt
resnet=$SOURCE/tests/data/resnet50_graph.mpt

define <<'END'
sys.path.insert(0, os.environ["SOURCE"] + "/tests/tools")
import on_terminal

def seen(size, keep):
    """The exit code of the command in .command, with the environment in .environment."""
    def of(name):
        with open(name, encoding="utf-8") as file:
            return file.read().split("\0")[:-1]
    os.environ.clear()
    os.environ.update(line.split("=", 1) for line in of(".environment"))
    output, code = on_terminal.run(of(".command"), *map(int, size.split("x")))
    with open(".stdout", "wb") as file:
        file.write(output if keep else on_terminal.plain(output))
    return code

def fits(columns):
    with open(".stdout", encoding="utf-8") as file:
        wide = [line for line in file.read().split("\n") if len(line) > columns]
    print(*wide, sep="\n", end="\n" * bool(wide))
    return not wide
END

# seen SIZE ARGUMENT...: what a person sees of the command on a terminal, in .stdout.
seen() {
    local size=$1
    shift
    last="miniprof $* on $size"
    env -0 >.environment
    printf '%s\0' "$miniprof" "$@" >.command
    ask number "seen('$size', '$keep')"
    got=$answer
}
keep=

is_there() { # TEXT: a line of .stdout has it
    local IFS= text
    mapfile text <.stdout
    [[ "${text[*]}" == *"$1"* ]]
}

has() {
    is_there "$1"
    verdict "'$1' is there" $?
}

lacks() {
    ! is_there "$1"
    verdict "'$1' is not there" $?
}

fits() { # COLUMNS
    holds "no line over $1 columns" "fits($1)"
}

# ---- A terminal and what is none ----

unset NO_COLOR LESS COLUMNS
export TERM=xterm PAGER=cat
run summary "$inference"
code 0
cp .stdout pipe.txt
lacks $'\e'
seen 80x50 summary "$inference"
code 0
fits 80
has "GPU activities:"
edges=$SOURCE/tests/data/resnet50_graph_edges.mpt # few rows, long names
for size in 20x24 10x5 1x1 40x24; do
    for command in summary deps kernels "gpu-trace --no-pager" info advise; do
        # shellcheck disable=SC2086
        seen $size $command "$edges"
        code 0
        fits "$((${size%x*} < 10 ? 10 : ${size%x*}))"
    done
done

# A serial line does not know its size: COLUMNS says it, or 80.
COLUMNS=60 seen 0x0 summary "$inference"
fits 60
COLUMNS=junk seen 0x0 summary "$resnet"
fits 80
grep -q '.\{70\}' .stdout
verdict "80 columns are used" $?

# ---- Columns and names ----

seen 80x50 kernels "$resnet"
has "Columns left out: Min, Max, "
has "A wider terminal, a pipe or"
seen 400x50 kernels "$resnet"
lacks "Columns left out"
seen 80x50 summary --names full "$resnet"
fits 80
python3 - "$resnet" "$miniprof" <<'END'
import json, re, subprocess, sys
document = json.loads(subprocess.run([sys.argv[2], "summary", "--json", sys.argv[1]],
                                     capture_output=True, check=True).stdout)
seen = re.sub(r"\s", "", open(".stdout", encoding="utf-8").read())
names = [row["name"] for group in document["groups"] for row in group["rows"]]
sys.exit(not all(re.sub(r"\s", "", name) in seen for name in names))
END
verdict "whole names" $?
run summary --names short "$resnet"
code 0
fits 130
has "..."
run summary --names full "$inference"
code 0
stdout <pipe.txt
run summary --names long "$inference"
code 2
stderr <<'END'
miniprof summary: --names takes full or short, not 'long'
END

# Rows of 0.00 % are one line, unless --top or --sort asks for rows.
seen 80x50 iters "$resnet"
has "more rows of under 0.01 %"
seen 80x50 iters --top 100 "$resnet"
lacks "more rows of under"

# ---- --top and --sort ----

run summary --top 1 "$inference"
code 0
has conv_layer
lacks gemm_layer
has cuLaunchKernel
lacks cuStreamSynchronize
run summary --csv --sort calls --top 1 "$inference"
code 0
has '"API calls",67.3'
run summary --csv --sort=-Name --top 1 "$inference"
code 0
has relu_layer
has cuStreamWaitEvent
run kernels --csv --sort registers --top 1 "$resnet"
code 0
verdict "a header and one row" $(($(wc -l <.stdout) != 2))
run gpu-trace --sort Duration --top 3 "$resnet"
code 0
verdict "three rows" $(($(grep -c 'us .*' .stdout) != 3))
python3 - "$miniprof" "$resnet" <<'END'
import csv, io, subprocess, sys

def durations(*options):
    text = subprocess.run([sys.argv[1], "gpu-trace", "--csv", *options, sys.argv[2]],
                          capture_output=True, text=True, check=True).stdout
    return [int(row["duration_ns"]) for row in csv.DictReader(io.StringIO(text))]

longest = sorted(durations(), reverse=True)[:5]
sys.exit(durations("--sort", "duration", "--top", "5") != longest)
END
verdict "the longest of all, by Python's sort" $?
for command in iters nvtx overlap deps advise info memory layers "dump --table kernel" metrics; do
    # shellcheck disable=SC2086
    run $command --top 2 "$inference"
    code 0
done
run layers --sort layer --top 1 "$inference"
code 0
run memory --sort "Total Size" --top 1 "$SOURCE/tests/data/memory.mpt"
code 0
has "8.000MiB    8.000MiB"
run layers --tree --sort Total "$inference"
code 2
stderr <<'END'
miniprof layers: --sort does not go with --tree
END
run summary --sort Cals "$inference"
code 2
stdout </dev/null
stderr <<'END'
miniprof summary: no table has a column 'Cals' to sort by; did you mean 'Calls'?
END
run summary --sort colour "$inference"
code 2
stderr_like <<'END'
miniprof summary: no table has a column 'colour' to sort by; there are Type, Time(%), *, Name
END
run summary --json --sort Time "$inference"
code 2
stderr <<'END'
miniprof summary: --sort is for text and CSV: with --json there are all rows
END
run metrics --csv --top 2 "$SOURCE/tests/data/metrics.mpt"
code 2
stderr <<'END'
miniprof metrics: --top and --sort are for text: with --csv there are all rows
END

# In deps --top was what --gains is, and asks for that table too if nothing else does.
run deps --top 2 "$inference"
code 0
has "What if one activity were twice as fast"
lacks conv_layer
run deps --gains 1 "$inference"
code 0
lacks "Waiting time"
run deps --trace --top 2 "$inference"
code 0
lacks "What if"

# ---- Colours ----

keep=-k
seen 80x50 summary "$inference"
has $'\e[1mTime(%)\e[0m'
NO_COLOR=1 seen 80x50 summary "$inference"
lacks $'\e'
NO_COLOR= seen 80x50 summary "$inference"
has $'\e[1m'
NO_COLOR=1 seen 80x50 summary --color always "$inference"
has $'\e[1m'
seen 80x50 summary --color never "$inference"
lacks $'\e'
seen 80x50 summary --json "$inference"
lacks $'\e'
TERM='' seen 80x10 summary "$inference"
code 0
lacks $'\e'

(
    unset TERM
    seen 80x10 summary "$inference"
    ! grep -q $'\e' .stdout
)
verdict "no TERM, no colours" $?
TERM=dumb seen 80x10 summary "$inference"
lacks $'\e'
keep=
run summary --color always "$inference"
code 0
has $'\e[1m'
sed 's/\x1b\[[0-9]*m//g' .stdout >plain.txt
grep -q '^Time(%)  *Time  *Calls' plain.txt
verdict "a table in colours" $?
run summary --color=sometimes "$inference"
code 2
stderr <<'END'
miniprof summary: --color takes auto, always or never, not 'sometimes'
END

# ---- The pager ----

export PAGER="sed s/^/P:/"
seen 80x50 summary "$inference"
lacks P:
seen 80x10 summary "$inference"
has "P:==405== Profiling result:"
verdict "all of it" $(($(grep -c ^P: .stdout) != $(wc -l <.stdout)))
seen 80x10 summary --no-pager "$inference"
lacks P:
seen 80x10 summary --csv "$inference"
has P:type,percent,total_ns
TERM=dumb seen 80x10 summary "$inference"
lacks P:
PAGER='' seen 80x10 summary "$inference"
lacks P:
code 0
PAGER=/nonexistent seen 80x10 summary "$inference"
code 0
has "Profiling result:"
lacks nonexistent
PAGER="head -n 2" seen 80x10 gpu-trace "$resnet"
code 0
verdict "a pager that is left early" $(($(wc -l <.stdout) != 2))
PAGER=false seen 80x10 gpu-trace "$resnet"
code 0
run summary "$inference"
lacks P:
# Complaints stand where they belong.
seen 80x5 summary "$inference" missing.mpt
code 3
has "P:miniprof summary: "
seen 80x24 summary missing.mpt
code 3
has "miniprof summary: "
unset PAGER

# ---- nvprof's bytes ----

"$miniprof" -i "$inference" >pipe.txt 2>&1
seen 80x50 -i "$inference"
code 0
stdout <pipe.txt

# ---- A report that did not reach its reader ----

"$miniprof" summary --color always "$inference" >/dev/full 2>.stderr
got=$?
last="miniprof summary --color always >/dev/full"
code 3
stderr <<'END'
miniprof: cannot write the output: No space left on device
END
finish
