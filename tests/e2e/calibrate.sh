#!/bin/bash
# `miniprof calibrate` on the software GPU, which charges known costs for what is recorded: whether
# it finds them, keeps them, and what it says where it cannot measure or keep. Takes 20 s.
. "$SOURCE/tests/e2e/lib.sh" || exit 1

kept=$XDG_CACHE_HOME/miniprof/recording-costs
rm "$kept"
# The times of kernels without noise, or their mean would differ from graph to graph.
export SIMGPU_NOISE=0

# calibrate NAME [VAR=VALUE...] -- [OPTION...]: its probe leaves events and graphs to the end of its
# process.
calibrate() {
    local name=$1
    local -a settings command
    shift
    split "$@"
    leaky bare "$name" "${settings[@]}" -- "$miniprof" calibrate "${command[@]}"
}

# refused WHAT STATUS LINE NAME: exit code, one line on stderr, and nothing kept or left behind.
refused() {
    same "$1: exit code" "$2" "$status"
    same "$1: one line" "$3" "$(cat "$work/$4.err")"
    check "$1: nothing is kept" test ! -e "$kept"
    same "$1: nothing is left" "" "$(ls "$work/tmp")"
}

mkdir "$work/tmp"
export TMPDIR=$work/tmp

# ---- Where it cannot measure ----

calibrate rounds -- --rounds 0
same "no rounds: exit code" 2 "$status"
like "no rounds: the line" "--rounds" "$(cat "$work/rounds.err")"
calibrate many -- --rounds 100
refused "too many rounds" 2 "miniprof calibrate: --rounds takes a number from 1 to 99" many
calibrate odd -- --device none
refused "an odd device" 2 \
    "miniprof calibrate: --device takes a number from 0 on, not 'none'" odd
calibrate unknown -- --faster
same "an unknown option: exit code" 2 "$status"
like "an unknown option: the line" "faster" "$(cat "$work/unknown.err")"
calibrate argument -- trace.mpt
refused "an argument" 2 "miniprof calibrate: takes no arguments, only options" argument
calibrate hidden -- --probe
refused "the child's option alone" 2 "miniprof calibrate: unknown option '--probe'" hidden
# An empty file is no driver, whatever driver the machine has.
mkdir "$work/no-driver"
: >"$work/no-driver/libcuda.so.1"
calibrate driver LD_LIBRARY_PATH="$work/no-driver" --
refused "no driver" 3 "miniprof calibrate: there is no CUDA driver (libcuda.so.1)" driver
calibrate devices SIMGPU_DEVICES=0 --
refused "no GPU" 3 "miniprof calibrate: there is no GPU that the CUDA driver can use" devices
calibrate ordinal -- --device 1
refused "no such GPU" 3 "miniprof calibrate: there is no device 1: the driver has 1, from 0 on" \
    ordinal
calibrate library -- --library "$work/none.so"
refused "no library" 3 \
    "miniprof calibrate: cannot find $work/none.so; --library=FILE names it" library
calibrate folder TMPDIR="$work/none" --
refused "no folder for temporary files" 3 \
    "miniprof calibrate: cannot make a temporary folder: No such file or directory" folder
# An empty file is no library: the driver goes on without it, and there is no trace.
: >"$work/libminiprof.so"
calibrate empty -- --library "$work/libminiprof.so"
same "a library that is none: exit code" 3 "$status"
like "a library that is none: the line" "^miniprof calibrate: the recorder wrote no trace" \
    "$(cat "$work/empty.err")"
calibrate lossy SIMGPU_LOSE_KERNELS=100 --
same "lost records: exit code" 3 "$status"
like "lost records: the line" "^miniprof calibrate: the recorded probe cannot be used: " \
    "$(cat "$work/lossy.err")"
check "lost records: nothing is kept" test ! -e "$kept"

# ---- What it finds ----

# found WHAT NAME TOLERANCE COST=NS...: in its JSON document.
found() {
    check "$1" python3 - "$work/$2.out" "$3" "${@:4}" <<'END'
import json, sys
document = json.load(open(sys.argv[1]))
costs = {cost["name"]: cost for cost in document["costs"]}
assert len(costs) == 15, costs.keys()
for expected in sys.argv[3:]:
    name, ns = expected.split("=")
    cost = costs[name]
    assert abs(cost["ns"] - int(ns)) <= int(sys.argv[2]), (expected, cost)
    assert cost["least_ns"] <= cost["ns"] <= cost["greatest_ns"], cost
END
}

# The recorder itself reads the clock once or twice for a call, for 20 ns each. Twice in a row that
# also makes the clock of the probe: 40 ns is what cannot be told.
known=(SIMGPU_COST_IN=700 SIMGPU_COST_AROUND=300 SIMGPU_COST_NODE=90 SIMGPU_COST_GAP=448
    SIMGPU_COST_START=640 SIMGPU_COST_FINISH=640)
calibrate known "${known[@]}" -- --json --no-keep --rounds 2
same "known costs: exit code" 0 "$status"
found "known costs are found" known 40 launch_in=700 launch_around=300 copy_in=700 copy_around=300 \
    call_in=700 call_around=300 graph_in=700 graph_around=300 node_in=90 kernel_gap=448 \
    copy_gap=448 node_gap=448 start=640 graph_start=640 finish=640
check "--no-keep keeps nothing" test ! -e "$kept"
same "--no-keep says so" null "$(python3 -c 'import json, sys
print(json.dumps(json.load(sys.stdin)["kept_in"]))' <"$work/known.out")"

calibrate free -- --json --rounds 1
same "no costs: exit code" 0 "$status"
found "what costs nothing is not found" free 40 launch_in=0 launch_around=0 copy_in=0 \
    copy_around=0 call_in=0 call_around=0 graph_in=0 graph_around=0 node_in=0 kernel_gap=0 \
    copy_gap=0 node_gap=0 start=0 graph_start=0 finish=0
same "nothing is left of it" "" "$(ls "$work/tmp")"

# The script for a GPU that does it three times.
leaky bare script SIMGPU=1 ROUNDS=1 "${known[@]}" -- bash "$SOURCE/tests/gpu/calibrate.sh"
same "the script for a GPU: exit code" 0 "$status"
same "the script for a GPU: a cost" "ok launch_in: 700 700 700 ns" \
    "$(grep launch_in "$work/script.out")"

# ---- What it keeps ----

value() { sed -n "s/^$1=//p" "$kept"; }
same "whose costs are kept" gpu=SimGPU "$(head -n 1 "$kept")"
same "kept for the user alone" 600 "$(stat -c %a "$kept")"
same "kept: no cost" 0.0 "$(value launch_in)"
calibrate second SIMGPU_COST_IN=700 -- --rounds 1
same "a second run: exit code" 0 "$status"
like "a second run: the first line" \
    "^What recording adds, each time: SimGPU, driver [0-9.]+, CUPTI [0-9]+; one round$" \
    "$(head -n 1 "$work/second.out")"
same "a second run: the last line" "Kept in $kept" "$(tail -n 1 "$work/second.out")"
like "a second run replaces the first" "^(699|700)\.[0-9]$" "$(value launch_in)"
same "one block for one GPU" 1 "$(grep -c '^gpu=' "$kept")"

# A recorder's settings in the environment are not those that are measured.
calibrate settings SIMGPU_COST_IN=700 MINIPROF_CUDA_GRAPH=graph MINIPROF_API=none \
    MINIPROF_OUTPUT=/none/x.mpt -- --rounds 1 --csv --no-keep
same "settings of others: exit code" 0 "$status"
same "settings of others: the columns" name,ns,least_ns,greatest_ns,what \
    "$(head -n 1 "$work/settings.out")"
like "settings of others: the table" '"launch_in",(699|700)\.' "$(cat "$work/settings.out")"

# ---- In a trace ----

property() { "$miniprof" info "$work/$1.mpt" | sed -n 's/^recording_costs *//p'; }
profile with XDG_CACHE_HOME="$XDG_CACHE_HOME" -- "$inference" --iterations 2
same "a trace has the user's costs" "$(tr '\n' ';' <"$kept")" "$(property with)"
bare plain -- "$inference" --iterations 2
profile without XDG_CACHE_HOME="$work/none" -- "$inference" --iterations 2
same "without a file no property" "" "$(property without)"
unharmed "a trace with costs" with plain 0
printf 'gpu=\033[2J\n' >"$kept"
profile binary XDG_CACHE_HOME="$XDG_CACHE_HOME" -- "$inference" --iterations 2
same "a file that is no text is left out" "" "$(property binary)"
unharmed "a file that is no text" binary plain 0
head -c 20000 /dev/zero | tr '\0' x >"$kept"
profile huge XDG_CACHE_HOME="$XDG_CACHE_HOME" -- "$inference" --iterations 2
same "a huge file is left out" "" "$(property huge)"
unharmed "a huge file" huge plain 0
rm "$kept"
mkfifo "$kept"
profile fifo XDG_CACHE_HOME="$XDG_CACHE_HOME" -- "$inference" --iterations 2
same "a pipe is left out" "" "$(property fifo)"
unharmed "a pipe" fifo plain 0
rm "$kept"

# ---- Where it cannot keep ----

: >"$work/file"
calibrate unkept XDG_CACHE_HOME="$work/file" -- --rounds 1
same "no folder: exit code" 1 "$status"
same "no folder: all costs are printed" 17 "$(wc -l <"$work/unkept.out")"
like "no folder: the line" \
    "^miniprof calibrate: the costs could not be kept: cannot create the folder" \
    "$(cat "$work/unkept.err")"
leaky bare homeless -- env -u XDG_CACHE_HOME -u HOME "$miniprof" calibrate --rounds 1
same "no home: exit code" 1 "$status"
same "no home: the line" "miniprof calibrate: the costs could not be kept: neither XDG_CACHE_HOME \
nor HOME is the path of a folder" "$(cat "$work/homeless.err")"
finish
