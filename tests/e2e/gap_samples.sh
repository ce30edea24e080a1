#!/bin/bash
# Takes 30 s.
# Samples of threads that make no CUDA call for long meet the functions that compute. The program's
# signals, children and threads are what they are without.
. "$SOURCE/tests/e2e/lib.sh" || exit 1

programs=$SOURCE/tests/e2e/stacks
runtime=
case ${SAN-} in
*thread*)
    echo "skipped: Python does not run under the thread sanitizer"
    exit 77
    ;;
*address*) runtime=LD_PRELOAD=$(${CC:-gcc} -print-file-name=libasan.so) ;;
esac
export PYTHONDONTWRITEBYTECODE=1 SIMGPU_REAL_TIME=1

# sampled NAME [VAR=VALUE...] -- PROGRAM [ARG...]
sampled() {
    local name=$1
    local -a settings command
    shift
    split "$@"
    rm -f "$work/$name.mpt"
    profile "$name" MINIPROF_STACKS=python MINIPROF_STACKS_GAPS=1000 TOLD="$work/told.json" \
        ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0 \
        $runtime "${settings[@]}" -- "${python:-python3}" "$programs/${command[0]}.py" \
        "${command[@]:1}"
}

samples() { # NAME: how many
    every_row "$1" | grep -c '^"host_sample"'
}

# ---- what they stand for -----------------------------------------------------------------------
# Whether each function that computes was met, and the sums. timed/sampled_time.sh compares with CPU
# times.
cat >met.py <<'END'
import json
import subprocess
import sys

miniprof, trace, told = sys.argv[1], sys.argv[2], json.load(open(sys.argv[3]))
made = json.loads(subprocess.run([miniprof, "stacks", "--by", "function", "--json", trace],
                                 stdout=subprocess.PIPE, check=True).stdout)
found = {row["function"]: row["sampled_ns"] for row in made["rows"]}
found["deep"] = found.get("<more frames>", 0) or found.get("deep.<locals>.down", 0)
for name in told:
    assert name == "sleeps" or found.get(name, 0) > 0, (name, found)
rows = made["rows"]
assert sum(row["self_sampled_ns"] for row in rows) == made["all"]["sampled_ns"], rows
assert sum(row["self_sampled_ns"] for row in made["tree"]) == made["all"]["sampled_ns"]
END
sampled known -- gaps python_loop collect holds_gil frees_gil sleeps deep launches thread=no_cuda
same "known functions: it ran" "0 done" "$status $(cat known.out)"
check "each function was met" python3 met.py "$miniprof" known.mpt told.json
same "nothing lost" 0 "$(counter known dropped_stacks)"
complete "known functions" known
like "the text has a column of it" 'Sampled +Function' "$("$miniprof" stacks known.mpt)"
like "and says how much of it held the lock" 'Samples: [0-9]+; with Python.s interpreter lock' \
    "$("$miniprof" stacks known.mpt)"
sampled other -- gaps thread=worker
check "a thread that is not the main one" python3 met.py "$miniprof" other.mpt told.json
sampled held -- gaps holds_gil
sampled freed -- gaps frees_gil
same "who holds the interpreter lock" "held free" "$(for name in held freed; do
    "$miniprof" dump --table host_sample --csv $name.mpt | sed 1d | cut -d, -f5 | tr -d '"' |
        sort | uniq -c | sort -rn | awk 'NR == 1 { print $2 }'
done | xargs)"
# Only the preloaded library knows which thread another one has waited for.
if ! sanitized; then
    cat >holder.py <<'END'
import json, subprocess, sys
told = json.load(open(sys.argv[3]))
made = json.loads(subprocess.run([sys.argv[1], "stacks", "--by", "function", "--json", sys.argv[2]],
                                 stdout=subprocess.PIPE, check=True).stdout)
found = {row["function"]: row["sampled_ns"] for row in made["rows"]}.get("hog", 0)
assert (found > 0) == (sys.argv[4] == "held"), (found, told)
print(made["gil_held_ns"] >= found)
END
    sampled holder LD_PRELOAD="$build/libminiprof_preload.so" -- holder
    same "the lock is held by a thread without CUDA: it ran" 0 "$status"
    check "and the lock's holder is sampled" python3 holder.py "$miniprof" holder.mpt told.json held
    sampled unknown -- holder
    check "without the preloaded library it is not known" python3 holder.py "$miniprof" \
        unknown.mpt told.json unknown
    complete "the lock's holder" holder
fi
if ! sanitized; then
    sampled iterations MINIPROF_CAPTURE=range -- gap_ranges
    same "outside of ranges: none" "" "$("$miniprof" stacks --by function iterations.mpt |
        grep outside)"
    check "iters: the host code of iterations is divided by them" python3 - "$miniprof" <<'END'
import json, subprocess, sys
made = json.loads(subprocess.run([sys.argv[1], "iters", "--json", "iterations.mpt"],
                                 stdout=subprocess.PIPE, check=True).stdout)
lines = {}
for row in made["host_code"]:
    lines[row["function"]] = lines.get(row["function"], 0) + row["percent"]
assert lines.get("slow", 0) > 0 and abs(sum(lines.values()) - 100) < 1e-6, lines
END
fi

# ---- when there are none -----------------------------------------------------------------------
sampled off MINIPROF_STACKS_GAPS=0 -- gaps holds_gil
same "off: none" 0 "$(samples off)"
sampled native MINIPROF_STACKS=native -- gaps holds_gil
same "native stacks only: said, and none" "miniprof: MINIPROF_STACKS_GAPS: it needs \
MINIPROF_STACKS=python or both: no samples 0" "$(said native) $(samples native)"
sampled both MINIPROF_STACKS=both -- gaps holds_gil
check "beside native stacks" python3 met.py "$miniprof" both.mpt told.json
sampled played SIMGPU_REAL_TIME=0 -- gaps holds_gil
same "a time that is played: said, and none" "miniprof: MINIPROF_STACKS_GAPS: the software GPU \
plays the time: no samples 0" "$(said played) $(samples played)"
if ! sanitized; then
    sampled refused LD_PRELOAD="$build/tests/e2e/no_vm_readv.so" -- gaps holds_gil
    same "no process_vm_readv: no stacks of samples" "0 1" "$status $("$miniprof" dump --table \
        host_sample --csv refused.mpt | sed 1d | cut -d, -f4 | sort -u | wc -l)"
fi

# ---- signals of the program --------------------------------------------------------------------
sampled handler -- gap_signals handler
same "a program's signals come to the program" "0 before {} after [1, 1] 2" \
    "$status $(xargs <handler.out)"
check "and it is sampled by another one" test "$(samples handler)" -gt 0
sampled every -- gap_signals every
same "all are the program's" "0 {} 0" "$status $(cat every.out) $(samples every)"
like "all are the program's: said" 'the program has all real-time signals: no samples' \
    "$(said every)"
sampled late -- gap_signals late
same "the program takes ours: it gets none of ours any more" "0 {}" "$status $(cat late.out)"
like "the program takes ours: said" 'the program has taken the signal: no samples' "$(said late)"
sampled killed -- gap_signals killed
ours=$status
bare plain ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0 $runtime -- \
    python3 "$programs/gap_signals.py" killed 2>/dev/null
same "somebody else's signal of that number ends the program" "$status" "$ours"
same "and at once" "" "$(cat killed.out)"
sampled waits -- gap_signals waits
same "a thread that awaits signals gets none of ours" "0 None" "$status $(cat waits.out)"
sampled poll -- gap_signals poll
same "no call is interrupted" "0 0" "$status $(cat poll.out)"

# ---- forks, threads, interpreters --------------------------------------------------------------
sampled fork -- gaps fork
same "forks: children end as they would" "0 done" "$status $(cat fork.out)"
check "forks: the parent is sampled" python3 met.py "$miniprof" fork.mpt told.json
complete forks fork
sampled many -- gaps many=30
same "many threads: it ran" "0 done" "$status $(cat many.out)"
same "many threads: nothing said" "" "$(said many)"
complete "many threads" many
if python3 -c 'import _xxsubinterpreters' 2>/dev/null; then
    sampled interpreters -- interpreters
    same "sub-interpreters: it ran" 0 "$status"
fi

# ---- at any moment -----------------------------------------------------------------------------
if ! sanitized; then
    mkdir -p modules
    ticks=$build/tests/e2e/many_ticks.so
    for program in "churn $work/modules 500" "structures" "forks" "gaps python_loop collect"; do
        sampled ticks LD_PRELOAD="$ticks" TRUTH="$work/truth.json" -- $program
        same "many signals, ${program%% *}: it ran" 0 "$status"
        check "many signals, ${program%% *}: there were" grep -qE '^[0-9]{3,} signals$' ticks.err
        check "many signals, ${program%% *}: the trace is readable" "$miniprof" check ticks.mpt
    done
fi
finish
