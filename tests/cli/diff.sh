#!/bin/bash
# Takes 10 s.
# miniprof diff: sides, thresholds, exit codes, bad input.
. "$SOURCE/tests/tools/cli.sh" || exit 1
data=$SOURCE/tests/data

cp "$data/resnet50_eager.mpt" eager.mpt
cp "$data/resnet50_graph.mpt" graph.mpt
cp "$data/resnet50_graph_edges.mpt" edges.mpt

# ---- Thresholds ----

run diff graph.mpt eager.mpt
code 0
quiet

run diff --fail-above 3% graph.mpt eager.mpt
code 1
quiet
grep -q '^======== Failed: B is slower by more than 3%\.$' .stdout
verdict "says why" $?

run diff --fail-above 600 graph.mpt eager.mpt
code 0
grep -q '^======== Passed: B is not surely slower by more than 600%\.$' .stdout
verdict "says that it is fine" $?

run diff --fail-above 0% eager.mpt graph.mpt
code 0

run diff --fail-above 0% eager.mpt eager.mpt
code 0

run diff --json --fail-above 3.5% graph.mpt eager.mpt
code 1
json 'd["iterations"]["failed"] is True and d["iterations"]["allowed_percent"] == 3.5'
json 'd["iterations"]["low_ns"] > 0 and d["iterations"]["change"] == "slower"'
json '[*d] == ["a", "b", "differs", "iterations", "confidence_of_rows", "quantities", "kernels",
               "positions", "layers"]'
json 'len(d["quantities"]) == 24 and d["quantities"][0]["quantity"] == "latency_ns"'

for threshold in 3%% -3 x '' % 3x 0x3 nan inf 1e3 ' 3' '3 %'; do
    run diff --fail-above "$threshold" eager.mpt graph.mpt
    code 2
    stdout </dev/null
    stderr <<END
miniprof diff: --fail-above is a percentage such as 3%, not '$threshold'
END
done

# One iteration a side says nothing of noise: nothing can fail, and that is said.
trace plain
run diff --fail-above 1 plain.mpt plain.mpt
code 0
grep -q 'Note: not known whether B is slower by more than 1%: too few iterations' .stdout
verdict "says that it does not know" $?

# ---- Sides ----

run diff
code 2
stderr <<'END'
miniprof diff: which traces? 'miniprof diff A.mpt B.mpt'
END

run diff eager.mpt
code 2

run diff eager.mpt graph.mpt edges.mpt
code 2
stderr <<'END'
miniprof diff: 3 traces: which are A and which B? 'miniprof diff A... -- B...'
END

run diff eager.mpt --
code 2
stderr <<'END'
miniprof diff: no trace behind '--'
END

run diff -- eager.mpt
code 2
stderr <<'END'
miniprof diff: no trace before '--'
END

run diff eager.mpt -- graph.mpt -- edges.mpt
code 2
stderr <<'END'
miniprof diff: '--' stands once, between the traces of A and those of B
END

run diff --json graph.mpt edges.mpt -- eager.mpt
code 0
json '[len(d[side]["runs"]) for side in "ab"] == [2, 1]'
json 'd["iterations"]["a"]["count"] == 230 and d["iterations"]["samples"] == "iterations"'

# Options may stand behind `--`, too.
run diff graph.mpt edges.mpt -- eager.mpt --json
code 0
json '[len(d[side]["runs"]) for side in "ab"] == [2, 1]'

mkdir before after
another graph.mpt before/%d.mpt 4
another eager.mpt after/%d.mpt 4
run diff --json before after
code 0
json '[len(d[side]["runs"]) for side in "ab"] == [4, 4] and d["iterations"]["samples"] == "runs"'
json 'd["iterations"]["low_ns"] == d["iterations"]["high_ns"] and d["confidence_of_rows"] == 0.95'
run diff before eager.mpt
code 0
grep -q 'the interval is over all iterations' .stdout
verdict "says what the samples are" $?

mkdir empty
run diff before empty
code 3
stderr_like <<'END'
miniprof diff: no traces (?.mpt) in the folder 'empty'
END

# ---- Where they ran ----

trace rank0
trace rank2
run diff rank0.mpt rank2.mpt
code 0
grep -q '^======== Note: host: A node-a; B node-b\.$' .stdout
verdict "hosts" $?
run diff rank0.mpt rank0.mpt
code 0
[ "$(grep -c '^======== Note: [a-zA-Z ]*: A .*; B ' .stdout)" -eq 0 ]
verdict "nothing differs" $?

# ---- Ways ----

run diff --by nvtx:nothing eager.mpt graph.mpt
code 2
stdout </dev/null
stderr_like <<'END'
miniprof diff: 'eager.mpt': there is no NVTX range 'nothing'; there are for example *
END

run diff --by weeks eager.mpt graph.mpt
code 2
stderr_like <<'END'
miniprof diff: 'eager.mpt': there is no NVTX range 'weeks'; there are for example iteration, *
END

run diff --range 9 eager.mpt graph.mpt
code 2

run diff eager.mpt "$data/managed.mpt"
code 0
grep -q "by itself .*managed.mpt' would have iterations by waits of a thread, 'eager.mpt' by NVTX" \
    .stdout
verdict "says that the ways differ" $?
grep -q '^======== Iterations by waits of a thread for its work:$' .stdout
verdict "takes what both have" $?

# ---- Bad input ----

run diff eager.mpt none.mpt
code 3
stderr_like <<'END'
miniprof diff: *none.mpt*
END

echo hello >text.mpt
run diff text.mpt eager.mpt
code 3

head -c 30000 graph.mpt >cut.mpt
run diff --json graph.mpt cut.mpt
code 1
json 'd["a"]["runs"][0]["whole"] and not d["b"]["runs"][0]["whole"]'
run diff graph.mpt cut.mpt
code 1
grep -q '^======== Warning: B: cut.mpt: ' .stdout
verdict "says which one" $?

for kind in empty calls doubtful undefined dropped no-api no-gpu nvtx layers layers-no-calls; do
    trace $kind
    for pair in "plain.mpt $kind.mpt" "$kind.mpt plain.mpt" "$kind.mpt $kind.mpt"; do
        for option in --all --csv --json --shapes; do
            # shellcheck disable=SC2086
            run diff $option $pair
            [ "$got" -le 1 ]
            verdict "can be compared" $?
            [ $option = --csv ] || quiet
            ! grep -qwiE 'nan|inf' .stdout
            verdict "only numbers" $?
        done
    done
done

run diff dropped.mpt plain.mpt
code 1

finish
