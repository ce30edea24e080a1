#!/bin/bash
# Takes 8 s.
# miniprof report: the digest of a loop that is worked out by hand, what it says of traces that lack
# something, of several, and that its command lines work. Every field of its JSON is on its page.
. "$SOURCE/tests/tools/cli.sh" || exit 1

write_trace=$BUILD/tests/tools/write_trace
data=$SOURCE/tests/data

# forged NAME <rows
forged() {
    cat >.rows
    { grep '^header ' .rows; definitions; grep -v '^header ' .rows; } |
        "$write_trace" "$1.mpt" || exit 1
}

# digest NAME ARGUMENT...: report --json, kept for the table of fields.
documents=()
digest() {
    run report --json "${@:2}"
    cp .stdout "$1.json"
    documents+=("$1.json")
}

line() { # NUMBER GLOB: of standard output
    local got
    got=$(sed -n "$1p" .stdout)
    # shellcheck disable=SC2053
    [[ $got == $2 ]]
    verdict "line $1 is '$got', not '$2'" $?
}

# shellcheck disable=SC2317
definitions() {
    cat <<'END'
string id=1 text=cuLaunchKernel
string id=2 text=cuCtxSynchronize
string id=3 text=gemm
string id=4 text=step
string id=5 text=TestGPU
string id=6 text=device_graphs
string id=7 text=conditional_graphs
string id=8 text=baseline_steps
string id=9 text=baseline_unrecorded
string id=10 text=callbacks_taken
thread id=1 tid=77
device id=0 name=5
stream id=1 stream=13 context=1
function id=1 api=2 cbid=1 name=1
function id=2 api=2 cbid=2 name=2
shape id=1 kernel=3 grid_x=1 grid_y=1 grid_z=1 block_x=32 block_y=1 block_z=1
END
}

# loop COUNT [LENGTH]: each iteration is an NVTX range of 70 us, or of LENGTH ns. Its launch begins
# after 1 us and its kernel after 10; the kernel takes 40, the wait for it ends 6 later, and host
# code follows for 14. One begins every 100 us.
loop() {
    local i b
    for ((i = 1; i <= $1; i++)); do
        b=$((i * 100000))
        cat <<END
nvtx thread=1 kind=1 name=4 time=$b
nvtx thread=1 kind=2 time=$((b + ${2:-70000}))
call thread=1 function=1 start=$((b + 1000)) duration=4000 correlation=$((2 * i))
call thread=1 function=2 start=$((b + 6000)) duration=50000 correlation=$((2 * i + 1))
sync thread=1 kind=4 context=1 stream=4294967295 start=$((b + 6000)) duration=50000 \
correlation=$((2 * i + 1))
kernel stream=1 shape=1 start=$((b + 10000)) duration=40000 correlation=$((2 * i))
END
    done
}

# steps RECORDED UNRECORDED: of 70 us, and of 51, 52, 53 ... us
steps() {
    local i
    for ((i = 1; i <= $1; i++)); do
        echo "step thread=1 name=4 recorded=1 start=$((i * 100000)) duration=70000"
    done
    for ((i = 1; i <= $2; i++)); do
        echo "step thread=1 name=4 start=$((i * 100000)) duration=$((50000 + i * 1000))"
    done
}

# ---- By hand -----------------------------------------------------------------------------------
# 20 iterations from 100 us to 2070: 20 / 1.97 ms = 10,152 a second. Of 70 us the kernel takes 40
# (57.1 %), the GPU waits 9 for the launch, 6 for the synchronisation, and 15 for host code.
forged loop < <(echo "header hostname=there"; loop 20)
run report loop.mpt
code 0
quiet
line 1 "An iteration takes 70.00us (P50 of 20), P99 70.00us: 10,152 a second."
line 2 "GPU busy 57.1 % of it, idle 42.9 %, above all waiting for the host (21.4 %)."
line 5 "program     not known, process 4242 on there"
line 6 "GPU         TestGPU"
line 7 "recording   no capture range, 1.970ms; 120 records in * bytes; whole"
line 8 'iterations  20 by NVTX range "step"; 100.0 % of GPU work'
line 9 "cost        of recording: not known; *"
line 11 "Where an iteration goes (mean 70.00us)"
line 12 "  kernels run                   57.1 %    40.00us  ################"
line 13 "  idle: launch-bound            12.9 %    9.000us  ####"
line 14 "  idle: waiting for the host    21.4 %    15.00us  ######"
line 15 "  idle: synchronisation          8.6 %    6.000us  ##"
line 16 ""
grep -q '^  100.0 %    800.0us         20  gemm$' .stdout
verdict "the kernel" $?
digest loop loop.mpt
code 0
json 'd["schema"] == "miniprof-report/2" and len(d["traces"]) == 1 and d["shown"] == 0'
json 'd["latency"]["p50_ns"] == 70000'
json 'abs(d["latency"]["throughput_per_second"] - 20e9 / 1970e3) < 1'
json '{k: v for k, v in d["time"].items() if v} == {"kernel_ns": 40000, "idle_launch_ns": 9000,
    "idle_host_ns": 15000, "idle_sync_ns": 6000, "busy_ns": 40000}'
json 'd["recording"]["gpus"] == [{"device": 0, "name": "TestGPU"}] and not d["notes"]'
json 'd["hot"] == [{"name": "gemm", "calls": 20, "total_ns": 800000, "mean_ns": 40000,
    "percent": 100}]'
json 'd["recording_cost"]["source"] == "unknown"'

# With steps: of 51 to 60 us the P50 is 55; with 3 of a kind nothing is known.
forged baseline < <(echo "header MINIPROF_BASELINE=25%"; loop 20; steps 10 10
    echo "quality name=8 time=9 value=30"; echo "quality name=9 time=9 value=10")
run report baseline.mpt
line 2 "A step 'step' takes 55.0us while it is not recorded (53.0us to 58.0us), 70.00us"
line 3 "  with it: measured in 10 steps. CUPTI stays, at some 0.4us a launch and a node."
line 6 "Note: 10 of 30 steps were not recorded, as --baseline asks."
digest baseline baseline.mpt
json 'd["recording_cost"] == {"source": "not_recorded", "why_not": None, "cost_ns": 15000,
    "of_ns": 70000, "without_ns": 55000, "low_ns": 53000, "high_ns": 58000, "floor_ns": 400,
    "pairs": None, "steps": 10, "step_name": "step"}'
forged few < <(echo "header MINIPROF_BASELINE=25%"; loop 20; steps 10 3)
digest few few.mpt
json '[n["note"] for n in d["notes"]] == ["no_baseline"]'

# Work outside of the ranges: 4 ms beside 0.8 ms.
forged outside < <(loop 20; echo "kernel stream=1 shape=1 start=3000000 duration=4000000")
digest outside --iterations nvtx:step outside.mpt
code 0
json 'd["notes"][0]["note"] == "low_coverage" and "83.3 %" in d["notes"][0]["text"]'
json 'd["iterations"]["asked_for"] and all("nvtx:step" in c["line"] for c in d["commands"][:3])'

# Graphs whose launches the device may hide.
forged graphs < <(loop 20; echo "quality name=6 time=9 value=1"
    echo "quality name=7 time=9 value=2")
digest graphs graphs.mpt
json '[n["note"] for n in d["notes"]] == ["device_graphs", "conditional_graphs"]'

# Another client had CUPTI's callbacks: a note, and what follows from it is no loss.
forged without < <(loop 20; echo "quality name=10 time=9 value=1")
digest without without.mpt
json '[n["note"] for n in d["notes"]] == ["callbacks_taken"] and d["quality"]["whole"]'
run advise --json without.mpt
json '{"rule": "needless_wait", "reason": "no_syncs"} in d["not_tried"]'

# A single launch: all of it is one iteration, and the sentence says so.
forged once < <(loop 1)
digest once once.mpt
json 'd["iterations"]["count"] == 1 and d["latency"]["throughput_per_second"] > 0'
run report --iterations nvtx:step once.mpt
line 1 "The only iteration takes 70.00us."
forged whole < <(loop 1 | grep -v nvtx)
digest whole whole.mpt
json 'd["iterations"]["by"] == "whole" and d["notes"][0]["note"] == "no_iterations"'
run report whole.mpt
line 1 "What was recorded takes 55.00us; no iterations were found in it."

# ---- What is not there -------------------------------------------------------------------------
for kind in empty calls no-api no-gpu; do
    trace $kind
    digest $kind $kind.mpt
    code 0
    json 'd["latency"]["p50_ns"] is None and d["time"]["kernel_ns"] is None and not d["hot"]'
    json 'len(d["notes"]) == 1 and not d["answer"] and d["commands"]'
    run report $kind.mpt
    code 0
    case $kind in
    empty | no-api) line 1 "Nothing was recorded: the trace has no records." ;;
    calls) line 1 "No GPU work in the trace." ;;
    no-gpu) line 1 "No GPU work in the trace: MINIPROF_GPU=off." ;;
    esac
    line 2 ""
    run report --markdown $kind.mpt
    code 0
    ! grep -qi 'nan\|inf[^oe]' .stdout
    verdict "$kind: numbers" $?
done
forged waiting < <(echo "header MINIPROF_CAPTURE=range")
run report waiting.mpt
line 1 "Nothing was recorded: no capture range began (MINIPROF_CAPTURE=range)."

trace layers-no-calls
digest no_calls layers-no-calls.mpt
json 'd["notes"][0]["note"] == "no_calls" and d["time"]["idle_unknown_ns"] > 0'

# ---- What is not whole, or special -------------------------------------------------------------
trace dropped
digest dropped dropped.mpt
code 1
json 'not d["quality"]["whole"] and d["quality"]["dropped"] == 12 and not d["quality"]["damaged"]'
run report dropped.mpt
code 1
line 1 "Warning: 12 records were dropped; busy time, idle causes and gains are not"
run report --markdown dropped.mpt
code 1
line 3 "> \*\*Warning:\*\* 12 records were dropped; busy time, idle causes and gains are not known."

trace flight
digest flight flight.mpt
code 0
json 'd["recording"]["flight"]["reason"] == "slow step" and
      d["recording"]["flight"]["step_ns"] == 61204000'
trace flight-odd
run report flight-odd.mpt
code 0
grep -q $'\033' .stdout
verdict "no control characters" $((! $?))
cp "$data/metrics.mpt" .
digest metrics metrics.mpt
json '"profiled" in [n["note"] for n in d["notes"]] and d["quality"]["profiled_kernels"]'
json '"metrics metrics.mpt" in " ".join(c["line"] for c in d["commands"])'

# Cut anywhere, flipped anywhere: an answer with its warning, or one line.
trace nvtx
bytes=$(wc -c <nvtx.mpt)
for ((at = 40; at < bytes; at += bytes / 40)); do
    head -c "$at" nvtx.mpt >cut.mpt
    run report cut.mpt
    if [ "$got" -eq 1 ]; then
        [[ $(head -n 1 .stdout) == Warning:* ]] || echo "cut at $at: $(head -n 1 .stdout)"
    else
        [ "$got" -eq 3 ] && [ "$(wc -l <.stderr)" -eq 1 ] || echo "cut at $at: exit code $got"
    fi
    cp nvtx.mpt flipped.mpt
    printf '\x5a' | dd of=flipped.mpt bs=1 seek="$at" conv=notrunc status=none
    for form in --iterations=auto --json --markdown; do
        run report $form flipped.mpt
        [ "$got" -le 3 ] || echo "flipped at $at: exit code $got"
        [ "$(wc -l <.stdout)" -le 40 ] || [ $form != --iterations=auto ] ||
            echo "flipped at $at: lines"
    done
done >wrong
[ ! -s wrong ] || cat wrong
[ ! -s wrong ]
verdict "damaged traces" $?

# ---- Several -----------------------------------------------------------------------------------
mkdir job other nothing
for rank in 0 1 2; do trace rank$rank job/rank$rank.mpt; done
run report job
code 0
line 1 "Of 3 traces rank*.mpt is the slowest: P50 *"
line 2 "Trace *Count *P50 *P99 *A second *GPU busy *Whole"
line 5 "rank2.mpt * 0 * - * - * - * - * yes"
line 7 "rank*.mpt:"
digest several job
code 0
json '[t["process"] for t in d["traces"]] == ["rank 0", "rank 1", "rank 2"]'
json 'd["traces"][d["shown"]]["latency_p50_ns"] ==
      max(t["latency_p50_ns"] or 0 for t in d["traces"])'
json 'd["traces"][2]["latency_p50_ns"] is None'
run report --markdown job
grep -q '^In full, because it is the slowest: `rank[01].mpt`\.$' .stdout
verdict "Markdown names the slowest" $?

# The slowest has the longest iterations, in any order; what has none comes behind.
forged slow < <(loop 20 75000)
forged long < <(loop 1 | grep -v nvtx | sed 's/duration=[45]0000/duration=9000000/')
for files in "loop.mpt slow.mpt long.mpt" "slow.mpt long.mpt loop.mpt"; do
    # shellcheck disable=SC2086
    digest "slowest" $files
    json 'd["traces"][d["shown"]]["trace"] == "slow.mpt" and d["latency"]["p50_ns"] == 75000'
    json 'max(t["latency_p50_ns"] for t in d["traces"]) > 8000000'
done

# Two files of one name are told apart by their processes.
trace rank3 other/rank0.mpt
run report job/rank0.mpt other/rank0.mpt
grep -q '^rank 0 ' .stdout && grep -q '^rank 3 \|^rank 0.*' .stdout
verdict "names" $?
! grep -q '^rank0.mpt ' .stdout
verdict "not by the file" $?

# One that cannot be read does not hide the others.
echo nonsense >job/broken.mpt
run report job
code 1
stderr_like <<'END'
miniprof report: *broken.mpt* is not a miniprof trace
END
line 1 "Of 3 traces *"
run report loop.mpt nowhere.mpt
code 3
stderr <<'END'
miniprof report: cannot open 'nowhere.mpt': No such file or directory
END
line 1 "An iteration takes 70.00us *"
run report nothing
code 3
stdout </dev/null
stderr <<'END'
miniprof report: no traces (*.mpt) in the folder 'nothing'
END
trace calls other/calls.mpt
trace no-gpu other/no-gpu.mpt
run report other/calls.mpt other/no-gpu.mpt
line 1 "None of 2 traces has GPU work."

# ---- Options -----------------------------------------------------------------------------------
run report
code 2
stderr <<'END'
miniprof report: which trace? 'miniprof report TRACE.mpt'
END
run report --iterations what loop.mpt
code 2
stderr_like <<'END'
miniprof report: 'loop.mpt': there is no NVTX range 'what'; *
END
run report --iterations nvtx:nope loop.mpt
code 2
stdout </dev/null
stderr_like <<'END'
miniprof report: 'loop.mpt': there is no NVTX range 'nope'; *
END
run report --range 9 nvtx.mpt
code 2
stderr <<'END'
miniprof report: 'nvtx.mpt': there is no capture range 9; the trace has 2
END
digest range --range 2 nvtx.mpt
code 0
json 'd["recording"]["range"] == 2 and all("--range=2" in c["line"] for c in d["commands"])'

# ---- Command lines -----------------------------------------------------------------------------
# As they stand on the screen, also where the file needs quotes and the line does not fit.
folder="it's a folder"
mkdir "$folder"
PATH=$BUILD:$PATH
for name in inference zoo/cupy_streams zoo/stream_alloc zoo/server metrics; do
    file="$folder/$(basename $name) 1.mpt"
    cp "$data/$name.mpt" "$file"
    run report "$file"
    code 0
    awk 'length > 80 { print; wide = 1 } END { exit wide }' .stdout
    verdict "80 columns" $?
    sed '1,/^Look further/d' .stdout | cut -c22- >lines
    [ "$(grep -c '^miniprof ' lines)" -ge 3 ]
    verdict "commands" $?
    bash -e lines >printed 2>complaints || grep -q 'built without' complaints
    verdict "$name: $(cat complaints)" $?
done

# In Markdown too: a bar does not end the cell, nor a backquote the code.
cp loop.mpt 'a|b`c.mpt'
run report --markdown 'a|b`c.mpt'
code 0
grep -qF "| every percentile | \`\` miniprof iters 'a\\|b\`c.mpt' \`\` |" .stdout
verdict "code in a cell" $?

# ---- Ranks ---------------------------------------------------------------------------------------
# The slowest rank is not the late one.
digest ranks "$data/ranks"
code 0
json 'd["job"]["late_rank"] == 1 and d["traces"][d["shown"]]["rank"] == 1'
run report "$data/ranks"
head -n 1 .stdout | grep -q '^The job: 2 ranks; a step takes .* (P50 of 3), P99 .*\.$'
verdict "ranks: the job first" $?
grep -q '^Of 2 traces rank1.mpt is the late rank' .stdout
verdict "ranks: then the late one" $?
run report --markdown "$data/ranks"
grep -q '^\*\*The job: 2 ranks; ' .stdout && grep -q "^In full, .* the late rank's" .stdout
verdict "ranks: the same in Markdown" $?
mkdir strangers
cp "$data/ranks/rank0.mpt" strangers
cp "$data/ranks/rank1.mpt" strangers/other.mpt
head -c 3000 "$data/ranks/rank1.mpt" >strangers/other.mpt
run report strangers
code 1
grep -q '^The job: ' .stdout
[ $? = 1 ]
verdict "ranks that do not match are no job" $?
run report "$data/set"
! grep -q 'The job: \|Ranks of a job' .stdout
verdict "no ranks that communicate: no word of it" $?

# ---- The page ----------------------------------------------------------------------------------
for name in zoo/loader zoo/server zoo/torch_graph zoo/pool_threshold zoo/while_graph; do
    digest "$(basename $name)" "$data/$name.mpt"
done
python3 "$SOURCE/tests/tools/report_fields.py" "$SOURCE/docs/report.md" \
    --unseen job.clock_ratio "${documents[@]}"
verdict "docs/report.md has every field" $?

finish
